//! Holds [`Shared`]: what a worktree shares with others, as it was at `add`.
//!
//! Hooks and settings are recorded anew by `verify --accept-shared`. Only digests are kept: a
//! setting can hold a password.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Represents what was beside a worktree when it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// [`super::record::VERSION`].
    pub version: u32,
    /// The hooks that git ran in the main worktree, by their paths as messages show them
    /// (`@git/hooks/pre-commit`, `@main/.husky/_/pre-commit`).
    pub hooks: Digests,
    /// The settings of the repository, by their keys as git lists them.
    pub settings: Digests,
}

/// The object ids of contents as blobs, by name.
pub type Digests = BTreeMap<String, String>;
