//! Holds [`Pattern`]: a glob that selects files to sync, checked before anything is read.
//!
//! It is a globset glob relative to the root of the repository, in which `*` does not match `/`
//! and does match a leading dot. A trailing `/` means directories only, and a pattern that matches
//! a directory selects everything below.
//!
//! ```
//! use git_agentwt::sync::{Pattern, PatternFault, PatternOrigin};
//! let parse = |glob| Pattern::parse(glob, PatternOrigin::Flag("--sync"));
//! assert_eq!(parse("config/*.json").expect("it is fine").text(), "config/*.json");
//! assert_eq!(parse("config/{a,..}/x"), Err(PatternFault::Parent));
//! ```
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: fields that only messages show"
)]

use globset::{Glob, GlobBuilder, GlobSetBuilder};

use super::PatternOrigin;
use crate::path::escape_for_terminal;
use crate::scope::Case;

/// The untracked files of the memory bank, which are always synced.
const MEMORY_BANK: &str = ".agentwt/memory/**";
/// The most bytes that a pattern may have.
const MOST_BYTES: usize = 4096;

/// Represents a glob that selects files to sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    origin: PatternOrigin,
    is_optional: bool,
}

/// Reports a sync pattern that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error(
    "cannot use `{}` as a sync pattern ({origin}): {fault}",
    shown_pattern(text)
)]
#[diagnostic(code(agentwt::sync::pattern), help("{}", fault.help()))]
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
    /// Nothing is written.
    #[error("it is empty")]
    Empty,
    /// It begins with `!`.
    #[error("it begins with `!`, and a sync pattern only selects")]
    Negation,
    /// It begins with `/` or `~`.
    #[error("it begins with `{0}`, and files outside the repository are not synced")]
    Outside(char),
    /// A component is `..`.
    #[error("it has a `..` component, with which it could leave the repository")]
    Parent,
    /// It has something that no path has.
    #[error("it has {0}, which no path has")]
    NoPath(&'static str),
    /// It names git's own directory.
    #[error("it names `.git`, which is git's own and never copied")]
    Git,
    /// It names something of `.agentwt` beside the memory bank.
    #[error("of `.agentwt` only `memory` is ever copied")]
    Agentwt,
    /// It is not a glob, in the words of globset.
    #[error("it is not a glob: {}", shown_pattern(.0))]
    Glob(String),
}

impl PatternFault {
    /// What to write instead.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Negation => {
                "to keep files out of a worktree, put them into `exclude` of the scope; `\\!` is a `!` in a name"
            }
            Self::Parent => {
                "write the path from the repository's root; a name such as `a..b` is fine"
            }
            Self::Git => "remove it: each worktree has git's files of its own",
            Self::Agentwt => "write `.agentwt/memory/**`, or remove it: that is always synced",
            Self::Glob(_) => "`\\` before `*`, `?`, `[`, `{` or `\\` makes it stand for itself",
            Self::Empty | Self::Outside(_) | Self::NoPath(_) => {
                "write the path from the repository's root, such as `.env`"
            }
        }
    }
}

impl Pattern {
    /// Checks a glob, which must match something; see [`Pattern::optional`].
    ///
    /// # Errors
    /// Says what is wrong with it; nothing is read for that.
    pub fn parse(glob: &str, origin: PatternOrigin) -> Result<Self, PatternFault> {
        check(glob)?;
        let failed = |error: globset::Error| PatternFault::Glob(error.kind().to_string());
        build(glob.trim_end_matches('/'), Case::Sensitive).map_err(failed)?;
        // what is too large to be compiled is refused here too
        let mut set = GlobSetBuilder::new();
        set.add(build(&below(glob), Case::Sensitive).map_err(failed)?);
        set.build().map_err(failed)?;
        Ok(Self {
            text: glob.to_owned(),
            origin,
            is_optional: false,
        })
    }

    /// The same pattern, which may match nothing.
    #[must_use]
    pub fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// The pattern of the memory bank, which may be absent.
    #[must_use]
    pub fn memory_bank() -> Self {
        let pattern = Self::parse(MEMORY_BANK, PatternOrigin::BuiltIn);
        pattern.expect("because a test parses it").optional()
    }

    /// The glob as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who wrote it.
    #[must_use]
    pub const fn origin(&self) -> &PatternOrigin {
        &self.origin
    }

    /// Whether it may match nothing (`optional_patterns`).
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        self.is_optional
    }
}

/// The glob that matches everything below what a glob matches.
pub(super) fn below(glob: &str) -> String {
    format!("{}/**", glob.trim_end_matches('/'))
}

/// Builds a glob as all patterns are meant.
pub(super) fn build(glob: &str, case: Case) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .case_insensitive(case == Case::Insensitive)
        .build()
}

/// Refuses what matches no path of the repository, so that a mistake is named as that. A brace
/// counts as the end of a component here, which refuses more than it has to: `a{..,b}`.
fn check(glob: &str) -> Result<(), PatternFault> {
    let alternatives = glob.starts_with('{') && (glob.contains("{/") || glob.contains(",/"));
    match glob.trim_start_matches(['{', '\\', '[']).chars().next() {
        None => return Err(PatternFault::Empty),
        Some('!') if glob.starts_with('!') => return Err(PatternFault::Negation),
        Some('/') => return Err(PatternFault::Outside('/')),
        Some(_) if alternatives => return Err(PatternFault::Outside('/')),
        Some(_) => {}
    }
    if glob.contains('\0') {
        return Err(PatternFault::NoPath("a NUL byte"));
    }
    if glob.len() > MOST_BYTES {
        return Err(PatternFault::Glob(format!(
            "it has more than {MOST_BYTES} bytes"
        )));
    }
    let components = components(glob);
    let has = |name: &str| {
        let mut parts = components.iter().flatten();
        parts.any(|part| part.eq_ignore_ascii_case(name))
    };
    if components[0].iter().any(|part| part.starts_with('~')) {
        return Err(PatternFault::Outside('~'));
    }
    if has("..") {
        return Err(PatternFault::Parent);
    }
    if has(".") {
        return Err(PatternFault::NoPath("a `.` component"));
    }
    let all = components.strip_suffix(&[vec![String::new()]]);
    if all
        .unwrap_or(&components)
        .iter()
        .any(|parts| *parts == [""])
    {
        return Err(PatternFault::NoPath("an empty component (`//`)"));
    }
    if has(".git") {
        return Err(PatternFault::Git);
    }
    match components.as_slice() {
        [first, second, ..] if *first == [".agentwt"] && *second != ["memory"] => {
            Err(PatternFault::Agentwt)
        }
        _ => Ok(()),
    }
}

/// The components of a glob, each as the literal texts between its braces and commas. A class of
/// one character is that character.
fn components(glob: &str) -> Vec<Vec<String>> {
    let mut all = vec![vec![String::new()]];
    let mut chars = glob.chars();
    while let Some(next) = chars.next() {
        let Some(parts) = all.last_mut() else { break };
        let text = match next {
            '/' => {
                all.push(vec![String::new()]);
                continue;
            }
            '{' | ',' | '}' => {
                parts.push(String::new());
                continue;
            }
            '\\' => chars.next().into_iter().collect(),
            '[' => {
                let mut class = String::new();
                for next in chars.by_ref() {
                    if next == ']' && !matches!(class.as_str(), "" | "!" | "^") {
                        break;
                    }
                    class.push(next);
                }
                if class.chars().count() == 1 {
                    class
                } else {
                    "?".to_owned()
                }
            }
            other => other.to_string(),
        };
        if let Some(part) = parts.last_mut() {
            part.push_str(&text);
        }
    }
    all
}

/// Shows a pattern in a message, not more than people read.
#[must_use]
pub fn shown_pattern(text: &str) -> String {
    let most = text.char_indices().nth(200);
    let most = most.map_or(text.len(), |(at, _)| at);
    let rest = if most < text.len() { "…" } else { "" };
    format!("{}{rest}", escape_for_terminal(&text.as_bytes()[..most]))
}
