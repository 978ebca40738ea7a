//! Holds [`Answer`]: what was read for certain, or that git has to be asked.

use super::Own;
use crate::git::run::Git;

/// Says that git has to be asked: something is odd, or not known for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskGit;

/// Holds what git would answer.
pub type Answer<T> = Result<T, AskGit>;

impl From<std::io::Error> for AskGit {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

impl Git {
    /// What the repository's own files say; none where git has to be asked. With objects of a
    /// quarantine it always is.
    pub(in crate::git) fn without_git<T>(&self, read: impl FnOnce(&Own) -> Answer<T>) -> Option<T> {
        let own = self.own().filter(|_| !self.has_quarantine())?;
        read(&own).ok()
    }
}
