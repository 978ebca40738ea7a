//! Holds the settings that are one word out of a few: [`Strategy`], [`Client`], [`OnViolation`].
//!
//! ```
//! use git_agentwt::config::{Choice, Client};
//! assert_eq!(Client::parse("codex"), Some(Client::Codex));
//! ```

use serde::{Deserialize, Serialize};

/// Is implemented by a setting whose value is one of a few words.
pub trait Choice: Copy + Sized + 'static {
    /// What one of them is called in messages (`strategy`).
    const NOUN: &'static str;
    /// Every value, the usual one first.
    const ALL: &'static [Self];

    /// The word, as it stands in the config, in variables and on the command line.
    fn as_str(self) -> &'static str;

    /// Finds the value that has exactly this word.
    #[must_use]
    fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|choice| choice.as_str() == word)
    }
}

/// Says what an agent's directory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A linked worktree, as `git worktree add` makes it.
    #[default]
    Worktree,
    /// A full, separate repository at the same path.
    Clone,
}

impl Choice for Strategy {
    const NOUN: &'static str = "strategy";
    const ALL: &'static [Self] = &[Self::Worktree, Self::Clone];

    fn as_str(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Clone => "clone",
        }
    }
}

/// Names the agent program that will work in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Aider.
    Aider,
    /// opencode.
    Opencode,
}

impl Choice for Client {
    const NOUN: &'static str = "client";
    const ALL: &'static [Self] = &[
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Aider,
        Self::Opencode,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Aider => "aider",
            Self::Opencode => "opencode",
        }
    }
}

/// Says what the hooks do when a commit breaks the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnViolation {
    /// They say so after the commit.
    #[default]
    Report,
    /// They refuse the commit.
    Block,
}

impl Choice for OnViolation {
    const NOUN: &'static str = "`on_violation`";
    const ALL: &'static [Self] = &[Self::Report, Self::Block];

    fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Block => "block",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_words<C: Choice + Serialize + PartialEq + std::fmt::Debug>() {
        for choice in C::ALL {
            assert_eq!(C::parse(choice.as_str()), Some(*choice));
            let json = serde_json::to_string(choice).expect("a unit variant has a JSON form");
            assert_eq!(json, format!("\"{}\"", choice.as_str()), "records agree");
        }
    }

    #[test]
    fn every_choice_has_one_word_everywhere() {
        assert_words::<Strategy>();
        assert_words::<Client>();
        assert_words::<OnViolation>();
        assert_eq!(Strategy::parse("Clone"), None, "case counts");
    }
}
