//! Holds [`Trash`]: what is known of a worktree that was removed, beside what is saved of it.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::config::Strategy;
use crate::name::{BranchName, CommitId, WorktreeName};

/// Represents a worktree as it was when it was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trash {
    /// [`super::record::VERSION`].
    pub version: u32,
    /// Its name.
    pub name: WorktreeName,
    /// When it was removed, RFC 3339 in UTC.
    pub removed: String,
    /// The commit whose files the list is a difference from.
    pub head: CommitId,
    /// The ref that HEAD named; none when it named a commit by itself.
    pub on: Option<String>,
    /// Whether that ref had no commit yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unborn: bool,
    /// Its branch.
    pub branch: BranchName,
    /// Where the branch was; none when it was gone.
    pub tip: Option<CommitId>,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// What it was.
    #[serde(default)]
    pub strategy: Strategy,
    /// Whether what is saved has its whole history: that of a clone of another repository.
    #[serde(default)]
    pub whole: bool,
    /// Files of the private git directory that only their owner may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
    /// The permissions of what the list does not name.
    pub usual: Usual,
}

/// Holds the permission bits that most files and directories had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usual {
    /// Of files that may be edited.
    pub write: u32,
    /// Of files that may only be read.
    pub read: u32,
    /// Of executable files that may be edited.
    pub write_executable: u32,
    /// Of executable files that may only be read.
    pub read_executable: u32,
    /// Of directories.
    pub directory: u32,
}

impl Usual {
    /// Those of a file.
    #[must_use]
    pub const fn of(&self, may_edit: bool, executable: bool) -> u32 {
        match (may_edit, executable) {
            (true, false) => self.write,
            (false, false) => self.read,
            (true, true) => self.write_executable,
            (false, true) => self.read_executable,
        }
    }
}
