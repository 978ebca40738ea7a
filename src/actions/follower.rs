//! Says who follows an action while it goes on, and what stops it.

use std::fmt::Display;

use crate::git::runner::{Trace, TraceEvent};
use crate::words::error::Error;
use crate::words::progress::Progress;

/// Who follows an action: a person who reads its steps, and a signal that may stop it.
#[derive(Clone, Copy)]
pub struct Follower<'a> {
    /// Counts what is copied.
    pub progress: &'a Progress,
    /// Is told of each step (`-v`).
    pub trace: &'a Trace,
    /// Fails when a signal asked to stop.
    pub stop: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

impl Follower<'_> {
    /// Fails when a signal asked to stop.
    ///
    /// # Errors
    /// The signal.
    pub fn check(&self) -> Result<(), Error> {
        (self.stop)()
    }

    /// Names a step.
    pub fn tell_step(&self, step: &str) {
        self.trace.report(&TraceEvent::Step(step));
    }

    /// Names each of these paths.
    pub fn tell_each<P: Display>(&self, what: &str, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            self.tell_step(&format!("{what} {path}"));
        }
    }
}
