//! Holds [`Log`]: where a command reports, line by line, what it does while it does it.

use std::fmt;
use std::sync::Arc;

type Listener = dyn Fn(&str) + Send + Sync;

/// The listener; by default there is none.
#[derive(Clone, Default)]
pub struct Log(Option<Arc<Listener>>);

impl Log {
    /// Tells everything to this function, a line at a time, without its newline.
    pub fn to(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Tells one line.
    pub fn tell(&self, line: &str) {
        if let Some(listener) = &self.0 {
            listener(line);
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Log(..)" } else { "Log" })
    }
}
