//! Reads `.agentwt/config.toml` into a valid [`Config`], or reports every mistake in it at once.
//!
//! It reads text, never a file. It carries the patterns of a scope with their lines and does not
//! judge them, `scope` does; those of `file_sync` are checked here, by `sync`. `Settings` puts
//! the layers above the file on it.
//!
//! ```
//! use git_agentwt::config::Config;
//! let text = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"/src/**\"]\n";
//! let config = Config::parse(".agentwt/config.toml", text).expect("it is valid");
//! let write = config.scopes["default"].write.as_ref().expect("it has a write list");
//! assert_eq!((write[0].value.as_str(), write[0].line), ("/src/**", 3));
//! ```

pub mod installers;
pub mod read;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod value;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::config::value::{Client, Fence, OnViolation, Strategy};
use crate::words::path::escape_for_terminal;

/// Where the config is, relative to the root of the main worktree.
pub const CONFIG_PATH: &str = ".agentwt/config.toml";

/// The only `schema_version` that is read and written.
pub const SCHEMA_VERSION: &str = "1.0";

/// What the limits count in: 1 MB is 1,048,576 bytes.
pub const BYTES_PER_MB: u64 = 1024 * 1024;

/// A value with the place that it was written at.
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

/// What a config file says, and nothing that it does not say: defaults of `[worktree]` are
/// filled in by `Settings`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// `[worktree]`.
    pub worktree: WorktreeConfig,
    /// `[worktree.file_sync]`.
    pub file_sync: FileSyncConfig,
    /// `[setup]`.
    pub setup: SetupConfig,
    /// `[teardown]`.
    pub teardown: TeardownConfig,
    /// `[fence]`.
    pub fence: FenceConfig,
    /// `[scope.<profile>]`, by name.
    pub scopes: BTreeMap<String, ScopeProfile>,
}

/// `[setup]`: what prepares a new worktree for work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupConfig {
    /// The commands, in order; they run only if the user trusts them.
    pub commands: Vec<Located<String>>,
    /// True if the submodules of the main worktree are checked out too.
    pub submodules: bool,
}

/// `[teardown]`: what runs before a worktree is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TeardownConfig {
    /// The commands, in order; they run only if the user trusts them.
    pub commands: Vec<Located<String>>,
}

/// `[fence]`: how `exec` and `run` fence a command in. As the file is committed, what it says can
/// only narrow what the user's own settings allow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FenceConfig {
    /// The weakest fence that will do.
    pub kind: Option<Located<Fence>>,
    /// The network, as `Net::parse` reads it.
    pub net: Option<Located<String>>,
    /// Paths that a command should be able to write beside the scope; the user's settings must name
    /// them.
    pub rw: Vec<Located<String>>,
    /// `[fence.container]`.
    pub container: ContainerConfig,
}

/// `[fence.container]`, in the words of podman-run(1).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContainerConfig {
    /// The image; the user's settings must name it as well.
    pub image: Option<Located<String>>,
    /// The most memory, as `4g`.
    pub memory: Option<Located<String>>,
    /// The most processors.
    pub cpus: Option<f64>,
    /// The user inside, never root.
    pub user: Option<Located<String>>,
}

/// `[worktree]`: how worktrees are created. Each value was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorktreeConfig {
    /// What worktrees start from.
    pub base: Option<Located<String>>,
    /// What stands before the name in the branch.
    pub branch_prefix: Option<Located<String>>,
    /// What a worktree is.
    pub strategy: Option<Located<Strategy>>,
    /// The agent program.
    pub client: Option<Located<Client>>,
    /// What the hooks do about a violation.
    pub on_violation: Option<Located<OnViolation>>,
    /// `[worktree.file_sync]`, until the config takes it.
    file_sync: FileSyncConfig,
}

/// `[worktree.file_sync]`: which untracked files are copied into a new worktree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileSyncConfig {
    /// True if files are copied at all; they are unless the file says no.
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

/// `[scope.<profile>]`: three lists of patterns. A list that is absent was not written; one
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

/// All mistakes of one file, or of the settings around it, in the order of the file.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(code(agentwt::config::mistake))]
pub struct ConfigError {
    /// What was attempted, and the mistake, or how many there are.
    pub message: String,
    /// The file; none for variables and flags.
    #[source_code]
    source_text: Option<Arc<NamedSource<String>>>,
    /// The place in the file, if there is one mistake.
    #[label]
    pub span: Option<SourceSpan>,
    /// What to write, if there is one mistake.
    #[help]
    pub help: Option<String>,
    /// The mistakes, if there are several; each with its own lines, underline and help.
    #[related]
    pub mistakes: Vec<Mistake>,
}

/// One mistake: what it is, where it is, and what to write in its place.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(code(agentwt::config::mistake))]
pub struct Mistake {
    /// The fact: lower case, one line, escaped for a terminal.
    pub message: String,
    /// The bytes to underline, in the text without its byte order mark; none for a variable or a
    /// flag.
    #[label]
    pub span: Option<SourceSpan>,
    /// What to write.
    #[help]
    pub help: String,
}

impl ConfigError {
    /// Collects the mistakes of a file; `text` is what the spans point into.
    fn in_file(name: &str, text: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.span.map(|span| span.offset()));
        let name = escape_for_terminal(name.as_bytes());
        let source = Arc::new(NamedSource::new(&name, printable(text)));
        Self {
            source_text: Some(source),
            ..Self::collect(&format!("cannot read {name}"), mistakes)
        }
    }

    /// Collects the mistakes of variables and flags.
    fn in_settings(mistakes: Vec<Mistake>) -> Self {
        Self::collect("cannot use the settings", mistakes)
    }

    fn collect(attempt: &str, mistakes: Vec<Mistake>) -> Self {
        let (message, span, help, mistakes) = match <[Mistake; 1]>::try_from(mistakes) {
            Ok([one]) => (one.message, one.span, Some(one.help), Vec::new()),
            Err(several) => (format!("{} mistakes", several.len()), None, None, several),
        };
        Self {
            message: format!("{attempt}: {message}"),
            source_text: None,
            span,
            help,
            mistakes,
        }
    }
}

/// Replaces what could act on a terminal, byte for byte, so that the underlines stay right.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let line_end = c == '\n' || c == '\r' && chars.peek() == Some(&'\n');
        let mut bytes = [0; 4];
        let shown = c.encode_utf8(&mut bytes);
        if line_end || c == '\t' || c == '\\' || escape_for_terminal(shown.as_bytes()) == *shown {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n('?', c.len_utf8()));
        }
    }
    out
}
