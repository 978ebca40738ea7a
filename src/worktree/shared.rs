//! Holds [`Shared`]: what a worktree shares with others, as it was at `add`.
//!
//! Hooks and settings are recorded anew by `verify --accept-shared`. Only digests are kept: a
//! setting can hold a password.

use serde::{Deserialize, Serialize};

/// Represents what was beside a worktree when it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// [`super::record::VERSION`].
    pub version: u32,
    /// The hooks that git ran in the main worktree, sorted.
    pub hooks: Vec<HookFile>,
    /// The settings of the repository, sorted.
    pub settings: Vec<Setting>,
    /// Files of the main worktree that were not as committed, sorted; none when there is no main
    /// worktree.
    pub main: Option<Vec<MainFile>>,
    /// What lets a later look at the main worktree be short; none where git has to be asked.
    #[serde(default)]
    pub since: Option<MainSince>,
}

/// Holds from when on changes in the main worktree count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainSince {
    /// The file system's time before the files were listed, nanoseconds since the epoch.
    pub time: i64,
    /// Its directories with nothing tracked in them that were not ignored, escaped as paths are.
    pub directories: Vec<String>,
}

/// Holds a hook: a file that git would start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookFile {
    /// Its path, as messages show it (`@git/hooks/pre-commit`, `@main/.husky/_/pre-commit`).
    pub place: String,
    /// The object id of its bytes as a blob, of a link of its text.
    pub digest: String,
}

/// Holds a setting of the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its key, as git lists it.
    pub key: String,
    /// A digest of all its values in order.
    pub digest: String,
}

/// Holds a file of the main worktree, as it stood on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainFile {
    /// Its path, with other bytes than printable ASCII escaped.
    pub path: String,
    /// Its kind, size and time; empty when it is not there.
    pub stamp: String,
}
