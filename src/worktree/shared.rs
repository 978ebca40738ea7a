//! Holds [`Shared`]: what a worktree shares with others, as it was at `add`.
//!
//! Hooks and settings are recorded anew by `verify --accept-shared`. Only digests are kept: a
//! setting can hold a password.

use serde::{Deserialize, Serialize};

/// Represents what was beside a worktree when it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// [`super::record::VERSION`].
    pub version: u32,
    /// The hooks that git ran in the main worktree, sorted.
    pub hooks: Vec<HookFile>,
    /// The settings of the repository, sorted.
    pub settings: Vec<Setting>,
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
