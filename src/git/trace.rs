//! Tells what git is asked, for `-v` and `-vv`. Whoever listens prints.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Tells somebody what git is asked, as it is asked.
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Tell>>);

type Tell = dyn Fn(&Asked<'_>) + Send + Sync;

/// Holds what is told of one call.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// What is attempted, as a verb phrase, before it is.
    Step(&'a str),
    /// The arguments of a call that has ended, and how long it took.
    Command(&'a [OsString], Duration),
}

impl Trace {
    /// Tells everything to a function.
    pub fn to(tell: impl Fn(&Asked<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Tells it.
    pub fn tell(&self, asked: &Asked<'_>) {
        if let Some(tell) = &self.0 {
            tell(asked);
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Trace(on)"
        } else {
            "Trace(off)"
        })
    }
}
