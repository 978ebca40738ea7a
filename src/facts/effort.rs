//! Says whether reading goes on without what cannot be read: [`Effort`].
//!
//! Usually it does not: a failure is the answer. A caller that must not stop asks for the best
//! effort; what is missing is then remembered, in the words of the failure, and the answer can
//! never be taken for a whole one.

use std::cell::RefCell;
use std::fmt;

use crate::worktree::WorktreeError;

/// Decides what a failure to read means, and remembers what is missing.
#[derive(Debug, Default)]
pub struct Effort {
    missing: Option<RefCell<Vec<String>>>,
}

impl Effort {
    /// Every failure ends the reading.
    #[must_use]
    pub const fn strict() -> Self {
        Self { missing: None }
    }

    /// Goes on without what cannot be read (`--best-effort`).
    #[must_use]
    pub const fn best() -> Self {
        Self {
            missing: Some(RefCell::new(Vec::new())),
        }
    }

    /// Gives what was read; or, if that failed and reading goes on, what stands in for it.
    ///
    /// # Errors
    /// Fails as the reading did, under [`Effort::strict`].
    pub fn or<T, E: Into<WorktreeError>>(
        &self,
        read: Result<T, E>,
        instead: impl FnOnce() -> T,
    ) -> Result<T, WorktreeError> {
        match read {
            Ok(read) => Ok(read),
            Err(error) => {
                let error = error.into();
                if self.missing.is_none() {
                    return Err(error);
                }
                self.note(&error);
                Ok(instead())
            }
        }
    }

    /// Remembers what is missing where nothing failed for it: damage that is part of the answer.
    pub fn note(&self, missing: &dyn fmt::Display) {
        if let Some(all) = &self.missing {
            let text = missing.to_string();
            let mut all = all.borrow_mut();
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }

    /// What is missing, in the words of the failures; nothing when the answer is whole.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let all = self.missing.as_ref();
        all.map(|all| all.borrow().clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::GitError;

    fn failure() -> Result<u8, GitError> {
        Err(GitError::Read {
            what: "a tree".into(),
            detail: "it is gone".into(),
        })
    }

    #[test]
    fn a_failure_ends_a_strict_reading_and_only_that() {
        assert!(Effort::strict().or(failure(), || 1).is_err());
        let best = Effort::best();
        assert_eq!(best.or(failure(), || 1).ok(), Some(1));
        assert_eq!(best.or(Ok::<_, GitError>(2), || 1).ok(), Some(2));
        assert_eq!(best.or(failure(), || 3).ok(), Some(3));
        assert_eq!(best.missing(), ["cannot read a tree: it is gone"]);
    }
}
