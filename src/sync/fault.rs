//! Holds [`PatternError`]: a sync pattern that is refused, why, and what to write instead.

use std::fmt;

use super::PatternOrigin;
use crate::path::escape_for_terminal;

/// The most bytes that a pattern may have.
pub(super) const MOST_BYTES: usize = 4096;
/// The most patterns that the braces of one may stand for.
pub(super) const MOST_ALTERNATIVES: usize = 1000;

/// Says which sync pattern is refused and why; whoever knows the file can underline it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot use `{}` as a sync pattern ({origin}): {fault}",
    shown_pattern(text)
)]
pub struct PatternError {
    /// The pattern as it was written.
    pub text: String,
    /// Where it was written.
    pub origin: PatternOrigin,
    /// What is wrong with it.
    pub fault: PatternFault,
}

/// Says what is wrong with a sync pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// Nothing is written, or nothing is left of it when a brace is empty.
    #[error("it is empty, or one of its braces leaves nothing")]
    Empty,
    /// It has a NUL byte.
    #[error("it has a NUL byte, which no path has")]
    Nul,
    /// It is longer than any path.
    #[error("it has {0} bytes, and {MOST_BYTES} are the most")]
    Long(usize),
    /// It begins with `!`.
    #[error("it begins with `!`, and a sync pattern only selects")]
    Negation,
    /// It begins with `/`.
    #[error("it begins with `/`, and files outside the repository are not synced")]
    Absolute,
    /// It begins with `~`.
    #[error("it begins with `~`, and files outside the repository are not synced")]
    Home,
    /// A component is `..`, also after braces, escapes and classes are read.
    #[error("it has a `..` component, with which it could leave the repository")]
    Parent,
    /// A component is `.`.
    #[error("it has a `.` component, which no path has")]
    Current,
    /// A component is empty.
    #[error("it has an empty component (`//`), which no path has")]
    EmptyComponent,
    /// A `/` stands in a `[…]`.
    #[error("a `/` stands in a `[…]`, which matches within one component only")]
    SlashInClass,
    /// A character beyond ASCII stands in a `[…]`, which would be taken byte by byte.
    #[error("a character beyond ASCII stands in a `[…]`")]
    ClassBeyondAscii,
    /// It names git's own directory.
    #[error("it names `.git`, which is git's own and never copied")]
    Git,
    /// It names what `.agentwt` has beside the memory bank.
    #[error("of `.agentwt` only `memory` is ever copied")]
    Agentwt,
    /// Its braces stand for too many patterns.
    #[error("its braces stand for more than {MOST_ALTERNATIVES} patterns")]
    Alternatives,
    /// It is no glob, in the words of globset.
    #[error("it is no glob: {}", shown_pattern(.0))]
    Glob(String),
}

impl PatternFault {
    /// The code of the diagnostic.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "agentwt::sync::empty",
            Self::Nul => "agentwt::sync::nul",
            Self::Long(_) => "agentwt::sync::long",
            Self::Negation => "agentwt::sync::negation",
            Self::Absolute => "agentwt::sync::absolute",
            Self::Home => "agentwt::sync::home",
            Self::Parent => "agentwt::sync::parent",
            Self::Current => "agentwt::sync::current",
            Self::EmptyComponent => "agentwt::sync::empty_component",
            Self::SlashInClass => "agentwt::sync::slash_in_class",
            Self::ClassBeyondAscii => "agentwt::sync::class_beyond_ascii",
            Self::Git => "agentwt::sync::git",
            Self::Agentwt => "agentwt::sync::agentwt",
            Self::Alternatives => "agentwt::sync::alternatives",
            Self::Glob(_) => "agentwt::sync::glob",
        }
    }

    /// What to write instead of this pattern.
    #[must_use]
    pub fn help(&self, pattern: &str) -> String {
        match self {
            Self::Empty => {
                "write a path from the repository's root, as `.env`, or remove it".into()
            }
            Self::Nul => "write `?` for any one byte of a name".into(),
            Self::Long(_) => "split it into several patterns".into(),
            Self::Negation => format!(
                "to keep files out of a worktree, put `{}` into `exclude` of the scope; `\\!` is a `!` in a name",
                shown_pattern(pattern.trim_start_matches('!'))
            ),
            Self::Home => "write the path from the repository's root".into(),
            Self::Absolute => format!(
                "write the path from the repository's root{}",
                better(pattern.trim_start_matches('/'))
            ),
            Self::Parent => {
                "write the path from the repository's root; a name such as `a..b` is fine".into()
            }
            Self::Current | Self::EmptyComponent => better(pattern).strip_prefix(": ").map_or_else(
                || "write the path from the repository's root".into(),
                |rest| format!("write {rest}"),
            ),
            Self::SlashInClass => {
                "write the `/` outside of the brackets, or use braces: `{a/b,c}`".into()
            }
            Self::ClassBeyondAscii => "write braces, as `{\u{e4},\u{f6}}`".into(),
            Self::Git => "remove it: each worktree has git's files of its own".into(),
            Self::Agentwt => {
                "write `.agentwt/memory/**`, or remove it: that is always synced".into()
            }
            Self::Alternatives => "write `*`, or several patterns".into(),
            Self::Glob(_) => {
                "`\\` before `*`, `?`, `[`, `{` or `\\` makes it stand for itself".into()
            }
        }
    }
}

impl miette::Diagnostic for PatternError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.fault.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.fault.help(&self.text)))
    }
}

/// The pattern without what no path has, as `` : `x` ``; nothing where that is not what was meant.
fn better(pattern: &str) -> String {
    let parts = pattern.split('/');
    let parts: Vec<&str> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
    let odd = |part: &&str| *part == ".." || part.contains(['{', '}', '[', '\\', '\0']);
    if parts.is_empty() || parts.iter().any(odd) {
        return String::new();
    }
    format!(": `{}`", shown_pattern(&parts.join("/")))
}

/// Shows a pattern in a message, not more than people read.
#[must_use]
pub fn shown_pattern(text: &str) -> String {
    let most = text
        .char_indices()
        .nth(200)
        .map_or(text.len(), |(at, _)| at);
    let rest = if most < text.len() { "…" } else { "" };
    format!("{}{rest}", escape_for_terminal(&text.as_bytes()[..most]))
}
