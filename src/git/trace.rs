//! Reports what git is asked to do, for `-v` and `-vv`. The receiver prints.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Reports each call of git to a function.
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Receiver>>);

type Receiver = dyn Fn(&TraceEvent<'_>) + Send + Sync;

/// Holds one event.
#[derive(Clone, Copy, Debug)]
pub enum TraceEvent<'a> {
    /// What is attempted, as a verb phrase, before the attempt.
    Step(&'a str),
    /// The arguments of a call that has ended, and the time it took.
    Command(&'a [OsString], Duration),
}

impl Trace {
    /// Reports every event to this function.
    pub fn to(receiver: impl Fn(&TraceEvent<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    /// Reports an event.
    pub fn report(&self, event: &TraceEvent<'_>) {
        if let Some(receiver) = &self.0 {
            receiver(event);
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({})", self.0.is_some())
    }
}
