//! Holds [`WorktreeName`], [`BranchName`] and [`CommitId`]: names that were checked once.
//!
//! A worktree's name is a path component, the last part of a branch and a word on a command line,
//! so it must be fit for all three on every system. Branch names are git's business: the command
//! that makes one asks `git check-ref-format`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a worktree: `[A-Za-z0-9._-]{1,100}`, not starting with `-` or `.`, without `..`, not
/// ending in `.` or `.lock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct WorktreeName(String);

/// Returns eight letters that tell apart names which look alike when they are shortened: the digest
/// FNV-1a. Worktrees have it in their names, so that it stays the same in each version.
pub fn name_digest(text: &str) -> String {
    let mut digest = 0x811c_9dc5_u32;
    for byte in text.bytes() {
        digest = (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    format!("{digest:08x}")
}

/// Says that a text is not a [`WorktreeName`]; git would refuse some of them as a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a name has 1 to 100 of the letters A-Z and a-z, digits, `.`, `_` and `-`, \
     does not start with `-` or `.`, and has no `..` and no `.` or `.lock` at its end"
)]
pub struct NameError;

impl WorktreeName {
    /// Parses a name.
    ///
    /// # Errors
    /// Fails when the text breaks one of the rules.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let is_valid = (1..=100).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && !text.starts_with(['-', '.'])
            && !text.contains("..")
            && !text.ends_with('.')
            && !text.to_ascii_lowercase().ends_with(".lock");
        if !is_valid {
            return Err(NameError);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorktreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WorktreeName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Names a local branch without `refs/heads/`, as git accepted it.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct BranchName(String);

/// Returns the name of a branch without `refs/heads/`; any other name as it is.
pub fn branch_of(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}

impl BranchName {
    /// Takes a name that git has accepted or given (`git check-ref-format`, gitrevisions(7)).
    pub fn from_git(short: impl Into<String>) -> Self {
        Self(short.into())
    }

    /// Returns the short name (`agentwt/task-5`).
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the full reference (`refs/heads/agentwt/task-5`).
    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a commit by its full object id in lower-case hexadecimal: 40 digits for SHA-1
/// repositories, 64 for SHA-256 ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommitId(String);

/// Says that a text is not a full object id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object id has 40 or 64 hexadecimal digits")]
pub struct CommitIdError;

impl CommitId {
    /// Returns the zeros that git writes for a commit that cannot be named any more.
    pub fn unknown() -> Self {
        Self("0".repeat(40))
    }

    /// True if it is a commit, and not [`CommitId::unknown`].
    pub fn is_known(&self) -> bool {
        self.0.bytes().any(|byte| byte != b'0')
    }

    /// Parses a full object id.
    ///
    /// # Errors
    /// Fails on anything but 40 or 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, CommitIdError> {
        let is_hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !is_hex || !matches!(text.len(), 40 | 64) {
            return Err(CommitIdError);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns all digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for CommitId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_not_be_a_branch_or_a_directory_are_refused() {
        for text in [
            "",
            "..",
            "-x",
            ".hidden",
            "a b",
            "a/b",
            "t\u{e2}che",
            "a..b",
            "a.",
            "a.lock",
            "a.LOCK",
            &"x".repeat(101),
        ] {
            assert_eq!(WorktreeName::parse(text), Err(NameError), "{text:?}");
        }
        for text in ["task-5", "A", "1.2_3", &"x".repeat(100)] {
            assert!(WorktreeName::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_commit_id_is_a_full_hexadecimal_id() {
        assert!(CommitId::parse(&"a".repeat(40)).is_ok());
        assert!(CommitId::parse(&"0".repeat(64)).is_ok());
        assert!(CommitId::parse("HEAD").is_err());
        assert!(CommitId::parse(&"A".repeat(40)).is_err());
    }
}
