//! Reads `.agentwt/config.toml` into a valid [`Config`], or tells every mistake in it at once.
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

mod choice;
mod error;
mod layers;
mod nearest;
mod raw;
mod section;
mod settings;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::ops::Range;

pub use choice::{Choice, Client, OnViolation, Strategy};
pub use error::{ConfigError, Mistake, MistakeKind, MistakePlace};
pub use settings::{
    DEFAULT_BRANCH_PREFIX, DEFAULT_PROFILE, SetBy, Setting, SettingFlags, Settings,
};

pub(crate) use value::toml_string;

use raw::{Reader, Table};
use section::Section;

/// Where the config is, relative to the root of the main worktree.
pub const CONFIG_PATH: &str = ".agentwt/config.toml";

/// The only `schema_version` that is read and written.
pub const SCHEMA_VERSION: &str = "1.0";

/// What the limits count in: 1 MB is 1,048,576 bytes.
pub const BYTES_PER_MB: u64 = 1024 * 1024;

/// Carries a value with the place that it was written at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// What was written.
    pub value: T,
    /// Its line in the file, from 1.
    pub line: u32,
    /// Its bytes in the file (quotes included), without a byte order mark.
    pub span: Range<usize>,
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

/// Holds `[worktree]`: how worktrees are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
}

/// Holds `[worktree.file_sync]`: which untracked files are copied into a new worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSyncConfig {
    /// Whether files are copied at all; they are unless the file says no.
    pub enabled: bool,
    /// Globs that must each match something.
    pub patterns: Vec<Located<String>>,
    /// Globs that may match nothing.
    pub optional_patterns: Vec<Located<String>>,
    /// The most that one file may have, in megabytes of [`BYTES_PER_MB`]; 100 by default.
    pub max_file_size_mb: u64,
    /// The most that all files may have together, in the same unit; 500 by default.
    pub max_total_size_mb: u64,
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
    #[must_use]
    pub const fn max_file_bytes(&self) -> u64 {
        self.max_file_size_mb.saturating_mul(BYTES_PER_MB)
    }

    /// The most that all files may have together, in bytes.
    #[must_use]
    pub const fn max_total_bytes(&self) -> u64 {
        self.max_total_size_mb.saturating_mul(BYTES_PER_MB)
    }
}

/// Holds `[scope.<profile>]`: three lists of patterns. A list that is absent is none of the
/// user's saying; one that is empty is said on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeProfile {
    /// The line that its name first stands on, from 1.
    pub line: u32,
    /// What may be seen.
    pub read: Option<Vec<Located<String>>>,
    /// What may be edited.
    pub write: Option<Vec<Located<String>>>,
    /// What is absent.
    pub exclude: Option<Vec<Located<String>>>,
}

impl Config {
    /// Parses the text of a config file; the name is only shown. CRLF line ends and a byte order
    /// mark are accepted.
    ///
    /// # Errors
    /// Returns every mistake of the file in one value. A syntax error alone hides the others.
    pub fn parse(source_name: &str, text: &str) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader::new(text);
        let document = reader.document();
        let config = document.map(|document| Self::read(&mut reader, &document));
        if reader.mistakes.is_empty() {
            return Ok(config.unwrap_or_default());
        }
        Err(ConfigError::in_file(source_name, text, reader.mistakes))
    }

    /// As [`Config::parse`], of a file's bytes.
    ///
    /// # Errors
    /// Returns every mistake, or the one that it is not UTF-8.
    pub fn parse_bytes(source_name: &str, bytes: &[u8]) -> Result<Self, ConfigError> {
        let at = match std::str::from_utf8(bytes) {
            Ok(text) => return Self::parse(source_name, text),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(bytes);
        let mut reader = Reader::new(&text);
        let span = at..at + '\u{fffd}'.len_utf8();
        let message = "not TOML: it is not UTF-8".to_owned();
        let help = "save the file as UTF-8".to_owned();
        reader.add(MistakeKind::Syntax, message, span, "here", help);
        Err(ConfigError::in_file(source_name, &text, reader.mistakes))
    }

    fn read(reader: &mut Reader<'_>, document: &toml::de::DeTable<'_>) -> Self {
        let top = Table {
            section: Section::Top,
            entries: document,
        };
        reader.check_keys(top);
        check_schema_version(reader, top);
        let mut config = Self::default();
        if let Some(table) = reader.table(top, "worktree", Section::Worktree) {
            config.worktree = WorktreeConfig::read(reader, table);
            if let Some(table) = reader.table(table, "file_sync", Section::FileSync) {
                config.file_sync = FileSyncConfig::read(reader, table);
            }
        }
        if let Some(scopes) = reader.table(top, "scope", Section::Scope) {
            config.scopes = read_profiles(reader, scopes);
        }
        config
    }
}

fn check_schema_version(reader: &mut Reader<'_>, top: Table<'_>) {
    let help = || format!("write `schema_version = \"{SCHEMA_VERSION}\"`");
    if !top.has_nearly("schema_version") {
        let kind = MistakeKind::MissingSchemaVersion;
        let help = format!("{} in the first line", help());
        let message = "`schema_version` is missing".into();
        reader.add(kind, message, 0..0, "it belongs here", help);
    }
    let version = reader.string(top, "schema_version", |text| Ok(text.to_owned()));
    if let Some(version) = version.filter(|v| v.value != SCHEMA_VERSION) {
        let kind = MistakeKind::SchemaVersion;
        let shown = value::quoted(&version.value);
        let message = format!("`schema_version` is {shown}, which this program does not read");
        reader.add(kind, message, version.span, "not supported", help());
    }
}

fn read_profiles(reader: &mut Reader<'_>, scopes: Table<'_>) -> BTreeMap<String, ScopeProfile> {
    let mut profiles = BTreeMap::new();
    for key in scopes.entries.keys() {
        let name: &str = key.get_ref();
        if let Err(fault) = value::profile_name(name) {
            reader.fault(&fault, Section::Scope, key.span());
        }
        if let Some(table) = reader.table(scopes, name, Section::Profile(name)) {
            reader.check_keys(table);
            let profile = ScopeProfile {
                line: reader.located((), key.span()).line,
                read: reader.strings(table, "read"),
                write: reader.strings(table, "write"),
                exclude: reader.strings(table, "exclude"),
            };
            profiles.insert(name.to_owned(), profile);
        }
    }
    profiles
}

impl WorktreeConfig {
    fn read(reader: &mut Reader<'_>, table: Table<'_>) -> Self {
        reader.check_keys(table);
        Self {
            base: reader.string(table, "base", value::base),
            branch_prefix: reader.string(table, "branch_prefix", value::branch_prefix),
            strategy: reader.string(table, "strategy", value::choice),
            client: reader.string(table, "client", value::choice),
            on_violation: reader.string(table, "on_violation", value::choice),
        }
    }
}

impl FileSyncConfig {
    fn read(reader: &mut Reader<'_>, table: Table<'_>) -> Self {
        reader.check_keys(table);
        let default = Self::default();
        let enabled = reader.boolean(table, "enabled");
        let patterns = reader.checked_strings(table, "patterns", value::sync_pattern);
        let optional = reader.checked_strings(table, "optional_patterns", value::sync_pattern);
        let max_file = reader.limit(table, "max_file_size_mb");
        let max_total = reader.limit(table, "max_total_size_mb");
        Self {
            enabled: enabled.unwrap_or(default.enabled),
            patterns: patterns.unwrap_or_default(),
            optional_patterns: optional.unwrap_or_default(),
            max_file_size_mb: max_file.unwrap_or(default.max_file_size_mb),
            max_total_size_mb: max_total.unwrap_or(default.max_total_size_mb),
        }
    }
}
