//! Defines the words of a scope: [`ScopeRule`] and its parts, [`Access`], [`EntryKind`] and
//! [`Case`].

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::entry::Mode;
use crate::words::path::escape_for_rule;

/// What an agent may do with a path. More access is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Absent from the worktree.
    Excluded,
    /// Present, not to be edited.
    Read,
    /// Present, and the agent's to edit.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Excluded => "excluded",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl From<RuleList> for Access {
    fn from(list: RuleList) -> Self {
        match list {
            RuleList::Exclude => Self::Excluded,
            RuleList::Read => Self::Read,
            RuleList::Write => Self::Write,
        }
    }
}

/// What a path is, as far as patterns care: one with a trailing slash matches directories only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A file or a symbolic link (also one to a directory).
    File,
    /// A directory or a gitlink, which git matches like a directory.
    Directory,
}

impl EntryKind {
    /// What an entry of this mode is.
    pub const fn of(mode: Mode) -> Self {
        if mode.is_directory() {
            Self::Directory
        } else {
            Self::File
        }
    }
}

/// Whether `a` matches `A`: `core.ignoreCase` of the repository. Only ASCII letters fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// `core.ignoreCase=false`.
    Sensitive,
    /// `core.ignoreCase=true`.
    Insensitive,
}

impl Case {
    /// The case of a repository with this `core.ignoreCase`.
    pub const fn of(ignore_case: bool) -> Self {
        if ignore_case {
            Self::Insensitive
        } else {
            Self::Sensitive
        }
    }
}

/// One of a scope's three lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleList {
    /// What the agent may not see.
    Exclude,
    /// What the agent may see.
    Read,
    /// What the agent may see and edit.
    Write,
}

impl fmt::Display for RuleList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclude => "exclude",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Where a rule was written. In a record it is `{ file = { path = "…", line = 12 } }`,
/// `{ flag = "--write" }`, `"default"` or `"built-in"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOrigin {
    /// A line of a file.
    File {
        /// The file, as messages name it.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// An option on the command line, with its dashes (`--write`).
    Flag(String),
    /// The user did not write it: the list has a default.
    Default,
    /// A rule above all lists that no one can change.
    BuiltIn,
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Default => f.write_str("default"),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// One pattern of a scope as it was written; it may still be invalid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScopeRule {
    /// The list it is in.
    pub list: RuleList,
    /// The gitignore(5) pattern, relative to the repository's root.
    pub pattern: String,
    /// Where it was written.
    pub origin: RuleOrigin,
}

impl ScopeRule {
    /// Puts a rule together.
    pub fn new(list: RuleList, pattern: impl Into<String>, origin: RuleOrigin) -> Self {
        Self {
            list,
            pattern: pattern.into(),
            origin,
        }
    }
}

/// A rule of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleText {
    /// `write`, `read` or `exclude`.
    pub list: String,
    /// The pattern.
    pub pattern: String,
    /// Where the rule was written: file and line, an option, `default` or `built-in`.
    pub origin: String,
}

impl RuleText {
    /// The rule for people: `read ** (default)`.
    pub fn text(&self) -> String {
        let pattern = escape_for_rule(&self.pattern);
        format!("{} {pattern} ({})", self.list, self.origin)
    }
}

impl From<&ScopeRule> for RuleText {
    fn from(rule: &ScopeRule) -> Self {
        Self {
            list: rule.list.to_string(),
            pattern: rule.pattern.clone(),
            origin: rule.origin.to_string(),
        }
    }
}
