//! Says whether a fence works here, and if not, why.

use serde::Serialize;

use crate::config::value::Fence;

/// Says whether a fence works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The fence.
    pub fence: Fence,
    /// What is there (`Landlock ABI 7`), or why it does not work.
    pub result: Result<String, ProbeFailure>,
}

/// Says why a fence does not work, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{what}: {said}")]
pub struct ProbeFailure {
    /// What was tried.
    pub what: String,
    /// What the system said.
    pub said: String,
    /// What to do.
    pub remedy: String,
}

impl ProbeFailure {
    pub fn new(what: impl Into<String>, said: impl Into<String>, remedy: &str) -> Self {
        Self {
            what: what.into(),
            said: said.into(),
            remedy: remedy.to_owned(),
        }
    }
}
