//! Checks single values, wherever they were written: in the file, a variable or a flag.

use std::borrow::Cow;

use super::choice::Choice;
use super::error::MistakeKind;
use super::nearest::nearest;
use crate::path::escape_for_terminal;
use crate::sync::{Need, Pattern, PatternOrigin, shown_pattern};

/// Says what is wrong with a value, before it is known where the value stands.
pub(super) struct Fault {
    pub(super) kind: MistakeKind,
    /// What the value is (``unknown strategy `clon` ``).
    pub(super) subject: String,
    /// Why that is wrong, if the subject does not say it.
    pub(super) reason: Option<Cow<'static, str>>,
    /// What stands under the underline.
    pub(super) label: &'static str,
    /// What may be written.
    pub(super) allowed: String,
    /// A value that is right.
    pub(super) example: String,
    /// Whether that value was surely meant.
    pub(super) meant: bool,
}

impl Fault {
    /// The message, once the place is known.
    pub(super) fn message(&self, place: &str) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        format!("{} {place}{}", self.subject, reason.unwrap_or_default())
    }

    /// What to write.
    pub(super) fn help(&self) -> String {
        if self.meant {
            format!("did you mean {}? {}", quoted(&self.example), self.allowed)
        } else {
            self.allowed.clone()
        }
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

/// Reads one of a few words.
pub(super) fn choice<C: Choice>(word: &str) -> Result<C, Fault> {
    C::parse(word).ok_or_else(|| {
        let words: Vec<_> = C::ALL.iter().map(|choice| choice.as_str()).collect();
        let near = nearest(word, words.iter().copied());
        Fault {
            kind: MistakeKind::UnknownValue,
            subject: format!("unknown {} {}", C::NOUN, quoted(word)),
            reason: None,
            label: "not one of the values",
            allowed: format!("write {}", listed(&words, "or")),
            example: near.or(words.first().copied()).unwrap_or_default().into(),
            meant: near.is_some(),
        }
    })
}

/// Reads a base: any name of a commit, which only git can look up.
pub(super) fn base(text: &str) -> Result<String, Fault> {
    not_empty(text, "base", "main", "write a branch, tag or commit")
}

/// Reads the name of a scope profile where one is asked for.
pub(super) fn scope(text: &str) -> Result<String, Fault> {
    let allowed = "write the name of a scope profile";
    not_empty(text, "scope profile name", "default", allowed)
}

fn not_empty(text: &str, noun: &str, example: &str, allowed: &str) -> Result<String, Fault> {
    if text.is_empty() {
        return Err(Fault {
            kind: MistakeKind::EmptyValue,
            subject: format!("empty {noun}"),
            reason: None,
            label: "empty",
            allowed: allowed.into(),
            example: example.into(),
            meant: false,
        });
    }
    Ok(text.into())
}

/// Reads the name of a scope profile where one is defined.
pub(super) fn profile_name(text: &str) -> Result<String, Fault> {
    let reason = if text.trim().is_empty() {
        "a scope profile needs a name"
    } else if text.contains(char::is_control) {
        "a name has no control characters"
    } else {
        return Ok(text.into());
    };
    Err(Fault {
        kind: MistakeKind::ProfileName,
        subject: format!("bad profile name {}", quoted(text)),
        reason: Some(reason.into()),
        label: "not a name",
        allowed: "write for example `[scope.docs]`".into(),
        example: "docs".into(),
        meant: false,
    })
}

/// Reads a branch prefix: `<prefix><name>` must be a branch for every worktree name.
pub(super) fn branch_prefix(text: &str) -> Result<String, Fault> {
    let Some(reason) = refused_prefix(text) else {
        return Ok(text.into());
    };
    Err(Fault {
        kind: MistakeKind::BranchPrefix,
        subject: format!("bad branch prefix {}", quoted(text)),
        reason: Some(reason.into()),
        label: "git would refuse the branch",
        allowed: "write a prefix like `agentwt/`, or an empty one".into(),
        example: "agentwt/".into(),
        meant: false,
    })
}

/// Checks a glob of `[worktree.file_sync]`.
pub(super) fn sync_pattern(text: &str) -> Result<String, Fault> {
    // where it stands and what it needs changes nothing
    let Err(fault) = Pattern::parse(text, PatternOrigin::File(0), Need::Optional) else {
        return Ok(text.into());
    };
    Err(Fault {
        kind: MistakeKind::SyncPattern,
        subject: format!("bad sync pattern `{}`", shown_pattern(text)),
        reason: Some(fault.to_string().into()),
        label: "not a sync pattern",
        allowed: fault.help(text),
        example: ".env*".into(),
        meant: false,
    })
}

/// Git refuses `.lock`; on a filesystem that ignores case `.LOCK` is the same file.
fn is_lock(part: &str) -> bool {
    part.rsplit_once('.')
        .is_some_and(|(_, end)| end.eq_ignore_ascii_case("lock"))
}

/// The rules of git-check-ref-format(1) (and of its `--branch`, for the leading `-`), as far as
/// a worktree's name behind the prefix cannot change the answer.
fn refused_prefix(text: &str) -> Option<&'static str> {
    let parts: Vec<_> = text.split('/').collect();
    let (_, closed) = parts.split_last()?;
    if text.contains(|c: char| c.is_ascii_control() || c == ' ') {
        Some("a branch name has no spaces or control characters")
    } else if text.contains(['~', '^', ':', '?', '*', '[', '\\']) {
        Some("a branch name has none of `~^:?*[\\`")
    } else if text.starts_with('-') {
        Some("a branch name does not start with `-`")
    } else if text.contains("..") || text.contains("@{") {
        Some("a branch name has no `..` or `@{`")
    } else if closed.iter().any(|part| part.is_empty()) {
        Some("a branch name does not start with `/` and has no `//`")
    } else if parts.iter().any(|part| part.starts_with('.')) {
        Some("no part of a branch name starts with `.`")
    } else if closed.iter().any(|part| is_lock(part)) {
        Some("no part of a branch name ends with `.lock`")
    } else {
        None
    }
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
}
