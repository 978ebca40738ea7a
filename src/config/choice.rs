//! Holds the settings that are one word out of a few: [`Strategy`], [`Client`], [`OnViolation`].
//!
//! ```
//! use git_agentwt::config::{Choice, Client};
//! assert_eq!(Client::parse("codex").map(Client::as_str), Some("codex"));
//! assert_eq!(Client::parse("none"), Some(Client::NONE));
//! ```

use serde::{Deserialize, Serialize};

use crate::client;

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

/// Names the agent program that will work in the directory: one of [`client::ALL`], or `none`,
/// which takes back what a lower layer of the settings says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client(usize);

impl Client {
    /// No program: no context is written.
    pub const NONE: Self = Self(client::ALL.len());

    /// The program.
    #[must_use]
    pub fn program(self) -> Option<&'static dyn client::Client> {
        client::ALL.get(self.0).copied()
    }
}

/// Every value: those of the registry, then [`Client::NONE`].
const CLIENTS: [Client; client::ALL.len() + 1] = {
    let mut all = [Client::NONE; client::ALL.len() + 1];
    let mut at = 0;
    while at < all.len() {
        all[at] = Client(at);
        at += 1;
    }
    all
};

impl Choice for Client {
    const NOUN: &'static str = "client";
    const ALL: &'static [Self] = &CLIENTS;

    fn as_str(self) -> &'static str {
        self.program()
            .map_or("none", |program| program.about().name)
    }
}

impl Serialize for Client {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
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
