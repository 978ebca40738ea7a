//! Checks single values, wherever they were written: in the file, a variable or a flag.
//!
//! ```
//! use git_agentwt::config::value::{Choice, Client};
//! assert_eq!(Client::parse("codex"), Some(Client::Codex));
//! ```

use serde::{Deserialize, Serialize};

use crate::sync::PatternOrigin;
use crate::sync::pattern::{Pattern, shown_pattern};
use crate::words::path::escape_for_terminal;

/// Is implemented by a setting whose value is one of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// What one of them is called in messages (`strategy`).
    const NOUN: &'static str;
    /// Every value with its word in the config, in variables and on the command line; the usual one
    /// first.
    const ALL: &'static [(&'static str, Self)];

    /// The word.
    fn as_str(self) -> &'static str {
        let word = Self::ALL.iter().find(|(_, choice)| *choice == self);
        word.map_or("", |(word, _)| word)
    }

    /// Finds the value that has exactly this word.
    fn parse(word: &str) -> Option<Self> {
        let choice = Self::ALL.iter().find(|(known, _)| *known == word);
        choice.map(|(_, choice)| *choice)
    }

    /// Every word.
    fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|(word, _)| *word).collect()
    }
}

/// What an agent's directory is.
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
    const ALL: &'static [(&'static str, Self)] =
        &[("worktree", Self::Worktree), ("clone", Self::Clone)];
}

/// The agent program that will work in the directory, or `none`, which takes back what a
/// lower layer of the settings says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// aider.
    Aider,
    /// opencode.
    Opencode,
    /// Cursor.
    Cursor,
    /// GitHub Copilot CLI.
    Copilot,
    /// No program: no context is written.
    None,
}

impl Choice for Client {
    const NOUN: &'static str = "client";
    const ALL: &'static [(&'static str, Self)] = &[
        ("claude-code", Self::ClaudeCode),
        ("codex", Self::Codex),
        ("gemini", Self::Gemini),
        ("aider", Self::Aider),
        ("opencode", Self::Opencode),
        ("cursor", Self::Cursor),
        ("copilot", Self::Copilot),
        ("none", Self::None),
    ];
}

/// What the hooks do when a commit breaks the scope.
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
    const NOUN: &'static str = "on_violation";
    const ALL: &'static [(&'static str, Self)] =
        &[("report", Self::Report), ("block", Self::Block)];
}

/// A fence, the weakest first, or `auto`: the strongest that works here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fence {
    /// Nothing is enforced.
    None,
    /// The write bits of the files, as `add` sets them.
    Perms,
    /// Landlock (landlock(7)) and seccomp(2), without other namespaces.
    Landlock,
    /// The sandbox of macOS (sandbox-exec(1)).
    Seatbelt,
    /// Namespaces by bubblewrap (bwrap(1)), with Landlock and seccomp inside.
    Mount,
    /// A container of podman or docker.
    Container,
    /// The strongest that works here, and none below [`Fence::Landlock`].
    Auto,
}

impl Choice for Fence {
    const NOUN: &'static str = "fence";
    const ALL: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("mount", Self::Mount),
        ("landlock", Self::Landlock),
        ("container", Self::Container),
        ("seatbelt", Self::Seatbelt),
        ("perms", Self::Perms),
        ("none", Self::None),
    ];
}

/// Which network a command in a fence has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Net {
    /// That of the host.
    #[default]
    Host,
    /// None.
    None,
    /// TCP connections to these ports.
    Ports(Vec<u16>),
}

impl Net {
    /// Reads `host`, `none` or `ports:443,22`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "host" => return Some(Self::Host),
            "none" => return Some(Self::None),
            _ => {}
        }
        let mut ports = Vec::new();
        for number in text.strip_prefix("ports:")?.split(',') {
            let port: u16 = number.trim().parse().ok()?;
            if port == 0 {
                return None;
            }
            ports.push(port);
        }
        Some(Self::Ports(ports))
    }

    /// True if this lets a command reach no more than the other does.
    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Host) | (Self::None, _) => true,
            (Self::Ports(own), Self::Ports(others)) => own.iter().all(|port| others.contains(port)),
            (Self::Host | Self::Ports(_), _) => false,
        }
    }
}

/// What is wrong with a value, before the place of the value is known.
pub(super) struct ValueFault {
    /// What the value is (``unknown strategy `clon` ``).
    subject: String,
    /// Why that is wrong, if the subject does not say it.
    reason: String,
    /// What to write.
    pub(super) help: String,
}

impl ValueFault {
    pub(super) fn new(subject: String, reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            subject,
            reason: reason.into(),
            help: help.into(),
        }
    }

    /// A word that is none of those that are allowed.
    pub(super) fn one_of(subject: String, word: &str, words: &[&str], or: &str) -> Self {
        let near = nearest(word, words.iter().copied());
        let meant = near.map(|near| format!("did you mean {}? ", quoted(near)));
        let allowed = listed(words, "or");
        let help = format!("{}write {allowed}{or}", meant.unwrap_or_default());
        Self::new(subject, "", help)
    }

    /// The message, once the place is known.
    pub(super) fn message(&self, place: &str) -> String {
        let colon = if self.reason.is_empty() { "" } else { ": " };
        format!("{} {place}{colon}{}", self.subject, self.reason)
    }
}

/// Shows any text in a message.
pub(super) fn shown(text: &str) -> String {
    escape_for_terminal(text.as_bytes())
}

/// Shows any text in a message, as a word of its own.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", shown(text))
}

/// Writes text as a TOML basic string of one line; what could act on a terminal or hide in an
/// editor is escaped.
pub(crate) fn toml_string(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("\"");
    for c in text.chars() {
        let mut bytes = [0; 4];
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ if shown(c.encode_utf8(&mut bytes)).starts_with('\\') => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Writes a list of words as people do: `a`, `b` or `c`.
pub(super) fn listed(words: &[&str], last: &str) -> String {
    let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// The header of a profile, with quotes where TOML wants them.
pub(super) fn profile_header(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !name.is_empty() && name.chars().all(bare) {
        format!("[scope.{name}]")
    } else {
        format!("[scope.{}]", toml_string(name))
    }
}

/// Reads one of a few words.
pub(super) fn choice<C: Choice>(word: &str) -> Result<C, ValueFault> {
    C::parse(word).ok_or_else(|| {
        let subject = format!("unknown {} {}", C::NOUN, quoted(word));
        ValueFault::one_of(subject, word, &C::words(), "")
    })
}

/// Reads a base: any name of a commit, which only git can look up.
pub(super) fn base(text: &str) -> Result<String, ValueFault> {
    not_empty(text, "base", "write a branch, tag or commit")
}

/// Reads a network.
pub(super) fn net(text: &str) -> Result<Net, ValueFault> {
    let fault = || {
        let help = "write `host`, `none`, or `ports:` and numbers, for example `ports:443,22`";
        ValueFault::new(format!("unknown network {}", quoted(text)), "", help)
    };
    Net::parse(text).ok_or_else(fault)
}

/// Reads the user of a container.
pub(super) fn user(text: &str) -> Result<String, ValueFault> {
    let name = text.split(':').next().unwrap_or_default();
    if name == "root" || name.parse() == Ok(0_u32) {
        let help = "write the name or the number of an ordinary user";
        let subject = format!("bad user {}", quoted(text));
        return Err(ValueFault::new(subject, "no command runs as root", help));
    }
    not_empty(text, "user", "write the name or the number of a user")
}

/// Reads the name of a scope profile where one is asked for.
pub(super) fn scope(text: &str) -> Result<String, ValueFault> {
    let help = "write the name of a scope profile";
    not_empty(text, "scope profile name", help)
}

/// Reads a command for `sh -c`.
pub(super) fn command(text: &str) -> Result<String, ValueFault> {
    if text.contains('\0') {
        let help = "no command can have a NUL";
        return Err(ValueFault::new(
            format!("bad command {}", quoted(text)),
            "",
            help,
        ));
    }
    not_empty(
        text.trim(),
        "command",
        "write a line for `sh -c`, for example \"npm ci\"",
    )
}

fn not_empty(text: &str, noun: &str, help: &str) -> Result<String, ValueFault> {
    if text.is_empty() {
        return Err(ValueFault::new(format!("empty {noun}"), "", help));
    }
    Ok(text.into())
}

/// Checks the name of a scope profile where one is defined.
pub(super) fn profile_name(text: &str) -> Result<(), ValueFault> {
    let reason = if text.trim().is_empty() {
        "a scope profile needs a name"
    } else if text.contains(char::is_control) {
        "a name has no control characters"
    } else {
        return Ok(());
    };
    let subject = format!("bad profile name {}", quoted(text));
    let help = "write for example `[scope.docs]`";
    Err(ValueFault::new(subject, reason, help))
}

/// Reads a branch prefix: `<prefix><name>` must be a branch for every worktree name.
pub(super) fn branch_prefix(text: &str) -> Result<String, ValueFault> {
    if is_branch_prefix(text) {
        return Ok(text.into());
    }
    let subject = format!("bad branch prefix {}", quoted(text));
    let help = "write a prefix like `agentwt/`, or an empty one";
    let reason = "git allows no such branch name";
    Err(ValueFault::new(subject, reason, help))
}

/// Checks the rules of git-check-ref-format(1) (and of its `--branch`, for the leading `-`), as far
/// as a worktree's name behind the prefix cannot change the answer.
fn is_branch_prefix(text: &str) -> bool {
    let is_forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    if text.contains(is_forbidden)
        || text.starts_with(['-', '.'])
        || ["..", "@{", "/."]
            .iter()
            .any(|sequence| text.contains(sequence))
    {
        return false;
    }
    // what stands before the last slash are whole components of the branch's name
    let Some((directories, _)) = text.rsplit_once('/') else {
        return true;
    };
    for component in directories.split('/') {
        // git refuses `.lock`; on a file system that ignores case `.LOCK` is the same file
        if component.is_empty() || component.to_ascii_lowercase().ends_with(".lock") {
            return false;
        }
    }
    true
}

/// Checks a glob of `[worktree.file_sync]`.
pub(super) fn sync_pattern(text: &str) -> Result<(), ValueFault> {
    // where it stands and what it needs changes nothing
    let Err(error) = Pattern::parse(text, PatternOrigin::File(0)) else {
        return Ok(());
    };
    let subject = format!("bad sync pattern `{}`", shown_pattern(text));
    Err(ValueFault::new(subject, error.what, error.help))
}

/// Finds the known word nearest to what was typed, if one is near enough to be worth a question.
///
/// Case does not count, nor does `-` against `_`. Near is one edit (a swap of two neighbours is
/// one), or one in three letters of longer words, or a word that was not typed to its end.
pub(super) fn nearest<'k>(
    typed: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let typed = fold(typed);
    known
        .into_iter()
        .filter_map(|word| distance(&typed, word).map(|distance| (distance, word)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How far the words are apart, or nothing if that is too far.
fn distance(typed: &str, word: &str) -> Option<usize> {
    let word = fold(word);
    let letters = typed.chars().count().max(word.chars().count());
    let distance = strsim::osa_distance(typed, &word);
    let unfinished = typed.chars().count() >= 3 && word.starts_with(typed);
    (unfinished || distance <= (letters / 3).max(1)).then_some(distance)
}

fn fold(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_from_its_toml_string() {
        for text in [
            "",
            "a\"b\\",
            "\u{1b}\n\t\0",
            "'",
            "caf\u{e9} \u{202e}",
            "\u{fffd}\u{9b}",
        ] {
            let written = format!("x = {}", toml_string(text));
            let read: toml::Table = written.parse().expect("it is TOML");
            assert_eq!(read["x"].as_str(), Some(text), "{written}");
            assert!(
                !written.contains(['\u{1b}', '\n', '\u{202e}', '\u{9b}']),
                "{written}"
            );
        }
    }

    #[test]
    fn a_prefix_that_git_would_refuse_is_refused() {
        for text in [
            "a b/", "a\t/", "a~", "a^", "a:", "a?", "a*", "a[", "a\\", "-a/", "a..b/", "@{", "/a",
            "a//", ".a/", "a/.b", "a.lock/", "/", "\u{7f}",
        ] {
            assert!(branch_prefix(text).is_err(), "{text:?}");
        }
        for text in [
            "",
            "agentwt/",
            "a/b/",
            "agent-",
            "a.",
            "@",
            "caf\u{e9}/",
            "a.lock",
            "a]",
        ] {
            assert!(branch_prefix(text).is_ok(), "{text:?}");
        }
    }

    #[track_caller]
    fn assert_words<C: Choice + Serialize + PartialEq + std::fmt::Debug>() {
        for (_, choice) in C::ALL {
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

    #[test]
    fn a_word_is_offered_only_when_it_is_near() {
        let known = ["read", "write", "exclude", "branch_prefix", "claude-code"];
        for (typed, expected) in [
            ("wirte", Some("write")),
            ("Write", Some("write")),
            ("exlude", Some("exclude")),
            ("excluded", Some("exclude")),
            ("branch-prefix", Some("branch_prefix")),
            ("branch", Some("branch_prefix")),
            ("claude", Some("claude-code")),
            ("red", Some("read")),
            ("re", None),
            ("", None),
            ("frobnicate", None),
        ] {
            assert_eq!(nearest(typed, known), expected, "{typed:?}");
        }
    }
}
