//! Reads `.agentwt/config.toml` into a valid [`Config`], or reports every mistake in it at once.
//!
//! It reads text, never a file. It carries the patterns of a scope with their lines and does not
//! judge them, `scope` does; those of `file_sync` are checked here, by `sync`. [`Settings`] puts
//! the layers above the file on it.
//!
//! ```
//! use git_agentwt::config::Config;
//! let text = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"/src/**\"]\n";
//! let config = Config::parse(".agentwt/config.toml", text).expect("it is valid");
//! let write = config.scopes["default"].write.as_ref().expect("it has a write list");
//! assert_eq!((write[0].value.as_str(), write[0].line), ("/src/**", 3));
//! ```

mod error;
mod read;
mod settings;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Deserializer};

pub use error::{ConfigError, Mistake};
pub use settings::{
    DEFAULT_BRANCH_PREFIX, DEFAULT_PROFILE, SetBy, Setting, SettingFlags, Settings,
};
pub(crate) use value::toml_string;
pub use value::{Choice, Client, OnViolation, Strategy};

/// Where the config is, relative to the root of the main worktree.
pub const CONFIG_PATH: &str = ".agentwt/config.toml";

/// The only `schema_version` that is read and written.
pub const SCHEMA_VERSION: &str = "1.0";

/// What the limits count in: 1 MB is 1,048,576 bytes.
pub const BYTES_PER_MB: u64 = 1024 * 1024;

/// Carries a value with the place that it was written at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "toml::Spanned<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct Located<T> {
    /// What was written.
    pub value: T,
    /// Its line in the file, from 1.
    pub line: u32,
    /// Its bytes in the file (quotes included), without a byte order mark.
    pub span: Range<usize>,
}

impl<T> From<toml::Spanned<T>> for Located<T> {
    /// The line is counted later, by what has the text.
    fn from(spanned: toml::Spanned<T>) -> Self {
        Self {
            line: 0,
            span: spanned.span(),
            value: spanned.into_inner(),
        }
    }
}

/// Holds what a config file says, and nothing that it does not say: defaults of `[worktree]` are
/// filled in by [`Settings`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `[worktree]`.
    pub worktree: WorktreeConfig,
    /// `[worktree.file_sync]`.
    pub file_sync: FileSyncConfig,
    /// `[scope.<profile>]`, by name.
    pub scopes: BTreeMap<String, ScopeProfile>,
}

/// Holds `[worktree]`: how worktrees are created. Each value was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorktreeConfig {
    /// What worktrees start from.
    pub base: Option<Located<String>>,
    /// What stands before the name in the branch.
    pub branch_prefix: Option<Located<String>>,
    /// What a worktree is.
    pub strategy: Option<Located<String>>,
    /// The agent program.
    pub client: Option<Located<String>>,
    /// What the hooks do about a violation.
    pub on_violation: Option<Located<String>>,
    /// `[worktree.file_sync]`, until the config takes it.
    file_sync: FileSyncConfig,
}

/// Holds `[worktree.file_sync]`: which untracked files are copied into a new worktree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileSyncConfig {
    /// Whether files are copied at all; they are unless the file says no.
    pub enabled: bool,
    /// Globs that must each match something.
    pub patterns: Vec<Located<String>>,
    /// Globs that may match nothing.
    pub optional_patterns: Vec<Located<String>>,
    /// The most that one file may have, in megabytes of [`BYTES_PER_MB`]; 100 by default.
    #[serde(deserialize_with = "limit")]
    pub max_file_size_mb: u64,
    /// The most that all files may have together, in the same unit; 500 by default.
    #[serde(deserialize_with = "limit")]
    pub max_total_size_mb: u64,
}

/// Reads a positive number of megabytes whose bytes can be counted.
fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    const MAX: u64 = u64::MAX / BYTES_PER_MB;
    let number = i128::deserialize(deserializer)?;
    let limit = u64::try_from(number)
        .ok()
        .filter(|mb| (1..=MAX).contains(mb));
    let message = || format!("{number} is not a number of megabytes from 1 to {MAX}");
    limit.ok_or_else(|| serde::de::Error::custom(message()))
}

impl Default for FileSyncConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            patterns: Vec::new(),
            optional_patterns: Vec::new(),
            max_file_size_mb: 100,
            max_total_size_mb: 500,
        }
    }
}

impl FileSyncConfig {
    /// The most that one file may have, in bytes.
    pub const fn max_file_bytes(&self) -> u64 {
        self.max_file_size_mb.saturating_mul(BYTES_PER_MB)
    }

    /// The most that all files may have together, in bytes.
    pub const fn max_total_bytes(&self) -> u64 {
        self.max_total_size_mb.saturating_mul(BYTES_PER_MB)
    }
}

/// Holds `[scope.<profile>]`: three lists of patterns. A list that is absent was not written; one
/// that is empty was, on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScopeProfile {
    /// The line that its name first stands on, from 1.
    #[serde(skip)]
    pub line: u32,
    /// What may be seen.
    pub read: Option<Vec<Located<String>>>,
    /// What may be edited.
    pub write: Option<Vec<Located<String>>>,
    /// What is absent.
    pub exclude: Option<Vec<Located<String>>>,
}
