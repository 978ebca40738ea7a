//! Says what a worktree is compared with, and what a failure to read means.

use std::cell::RefCell;
use std::fmt;

use camino::Utf8PathBuf;

use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Says what a worktree is compared with, and what a failure to read means.
#[derive(Debug, Default)]
pub struct SurveyOptions {
    /// Another base than the recorded one.
    pub base: Option<CommitId>,
    /// Whether reading goes on without what cannot be read.
    pub read_policy: ReadPolicy,
    /// Which large files are read although their size tells that they are changed.
    pub large_files: LargeFiles,
    /// Another index than the worktree's own: the one that a hook was given (`GIT_INDEX_FILE`,
    /// githooks(5)), with what is to be committed.
    pub index: Option<Utf8PathBuf>,
    /// Another commit than the worktree's branch and HEAD name: the one that they are to be moved
    /// to.
    pub head: Option<CommitId>,
}

/// Says which large files are read although their size tells that they are changed: a person
/// accepts a file by its content.
#[derive(Clone, Debug, Default)]
pub enum LargeFiles {
    /// None of them.
    #[default]
    Unread,
    /// Those at these paths, and below them.
    ReadBelow(Vec<RepoPath>),
    /// All of them.
    ReadAll,
}

impl LargeFiles {
    /// Whether the file at a path is read.
    pub fn reads(&self, path: &RepoPath) -> bool {
        match self {
            Self::Unread => false,
            Self::ReadBelow(paths) => paths
                .iter()
                .any(|asked| path == asked || path.is_below(asked.as_bstr())),
            Self::ReadAll => true,
        }
    }
}

/// Decides what a failure to read means: the end, or with [`ReadPolicy::best`] that it is noted.
#[derive(Debug, Default)]
pub struct ReadPolicy(Option<RefCell<Vec<String>>>);

impl ReadPolicy {
    /// Goes on without what cannot be read (`--best-effort`).
    pub fn best() -> Self {
        Self(Some(RefCell::default()))
    }

    /// Gives what was read; or, if that failed and reading goes on, what stands in for it.
    ///
    /// # Errors
    /// Fails as the reading did, unless with the best effort.
    pub fn or<T, E: Into<Error>>(
        &self,
        read: Result<T, E>,
        instead: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        match (read.map_err(Into::into), &self.0) {
            (Err(error), Some(_)) => {
                self.note(&error);
                Ok(instead())
            }
            (read, _) => read,
        }
    }

    /// Remembers what is missing where nothing failed for it: damage that is part of the answer.
    pub fn note(&self, missing: &dyn fmt::Display) {
        let text = missing.to_string();
        if let Some(all) = &self.0
            && !all.borrow().contains(&text)
        {
            all.borrow_mut().push(text);
        }
    }

    /// What is missing, in the words of the failures; nothing when the answer is whole.
    pub fn missing(&self) -> Vec<String> {
        let all = self.0.as_ref();
        all.map(|all| all.borrow().clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::error::GitError;

    fn failure() -> Result<u8, GitError> {
        Err(GitError::Read {
            what: "a tree".into(),
            detail: "it is gone".into(),
        })
    }

    #[test]
    fn a_failure_ends_a_strict_reading_and_only_that() {
        assert!(ReadPolicy::default().or(failure(), || 1).is_err());
        let best = ReadPolicy::best();
        assert_eq!(best.or(failure(), || 1).ok(), Some(1));
        assert_eq!(best.or(Ok::<_, GitError>(2), || 1).ok(), Some(2));
        assert_eq!(best.or(failure(), || 3).ok(), Some(3));
        assert_eq!(best.missing(), ["cannot read a tree: it is gone"]);
    }
}
