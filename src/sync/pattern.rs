//! Holds [`Pattern`]: a glob that selects files to sync, checked before anything is read.
//!
//! It is a globset glob relative to the root of the repository, in which `*` does not match `/`
//! and does match a leading dot. A trailing `/` means directories only, and a pattern that matches
//! a directory selects everything below.
//!
//! ```
//! use git_agentwt::sync::PatternOrigin;
//! use git_agentwt::sync::pattern::Pattern;
//! let parse = |glob| Pattern::parse(glob, PatternOrigin::Flag("--sync"));
//! assert_eq!(parse("config/*.json").expect("it is fine").text(), "config/*.json");
//! assert!(parse("config/{a,..}/x").is_err());
//! ```

use globset::{Glob, GlobBuilder, GlobSetBuilder};

use crate::scope::rule::Case;
use crate::sync::PatternOrigin;
use crate::words::path::escape_for_terminal;

/// The untracked files of the memory bank, which are always synced.
const MEMORY_BANK: &str = ".agentwt/memory/**";
/// The most bytes that a pattern may have.
const MOST_BYTES: usize = 4096;

/// A glob that selects files to sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    origin: PatternOrigin,
    is_optional: bool,
}

/// Reports a sync pattern that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error(
    "cannot use `{}` as a sync pattern ({origin}): {what}",
    shown_pattern(text)
)]
#[diagnostic(code(agentwt::sync::pattern), help("{help}"))]
pub struct PatternError {
    /// The pattern as it was written.
    pub text: String,
    /// Where it was written.
    pub origin: PatternOrigin,
    /// What is wrong with it.
    pub what: String,
    /// What to write instead.
    pub help: &'static str,
}

/// What is wrong, and what to write instead.
type Wrong = (String, &'static str);

/// It is not a glob, in these words.
pub(super) fn not_a_glob(words: impl std::fmt::Display) -> Wrong {
    let help = "`\\` before `*`, `?`, `[`, `{` or `\\` makes it stand for itself";
    let words = shown_pattern(&words.to_string());
    (format!("it is not a glob: {words}"), help)
}

impl Pattern {
    /// Checks a glob, which must match something; see [`Pattern::optional`].
    ///
    /// # Errors
    /// Says what is wrong with it; nothing is read for that.
    pub fn parse(glob: &str, origin: PatternOrigin) -> Result<Self, PatternError> {
        let text = glob.to_owned();
        match check(glob).and_then(|()| require_glob(glob)) {
            Ok(()) => Ok(Self {
                text,
                origin,
                is_optional: false,
            }),
            Err((what, help)) => Err(PatternError {
                text,
                origin,
                what,
                help,
            }),
        }
    }

    /// The same pattern, which may match nothing.
    pub fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// The pattern of the memory bank, which may be absent.
    pub fn memory_bank() -> Self {
        let pattern = Self::parse(MEMORY_BANK, PatternOrigin::BuiltIn);
        pattern.expect("because a test parses it").optional()
    }

    /// The glob as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who wrote it.
    pub const fn origin(&self) -> &PatternOrigin {
        &self.origin
    }

    /// True if it may match nothing (`optional_patterns`).
    pub const fn is_optional(&self) -> bool {
        self.is_optional
    }
}

/// Refuses what is not a glob, or too large to be compiled.
fn require_glob(glob: &str) -> Result<(), Wrong> {
    compile(glob).map_err(|error| not_a_glob(error.kind()))
}

fn compile(glob: &str) -> Result<(), globset::Error> {
    build(glob.trim_end_matches('/'), Case::Sensitive)?;
    let mut set = GlobSetBuilder::new();
    set.add(build(&below(glob), Case::Sensitive)?);
    set.build()?;
    Ok(())
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

const FROM_ROOT: &str = "write the path from the repository's root, such as `.env`";

fn refused(what: &str, help: &'static str) -> Result<(), Wrong> {
    Err((what.to_owned(), help))
}

/// Refuses what matches no path of the repository, so that a mistake is named as that.
fn check(glob: &str) -> Result<(), Wrong> {
    if glob.len() > MOST_BYTES {
        return Err(not_a_glob(format!("it has more than {MOST_BYTES} bytes")));
    }
    if glob.starts_with('!') {
        return refused(
            "it begins with `!`, and a sync pattern only selects",
            "to keep files out of a worktree, put them into `exclude` of the scope; \
             `\\!` is a `!` in a name",
        );
    }
    let plain = without_escapes(glob);
    if plain.trim_start_matches('{').is_empty() {
        return refused("it is empty", FROM_ROOT);
    }
    let has_absolute_alternate =
        plain.starts_with('{') && (plain.contains("{/") || plain.contains(",/"));
    if plain.starts_with('/') || has_absolute_alternate {
        return refused(
            "it begins with `/`, and files outside the repository are not synced",
            FROM_ROOT,
        );
    }
    check_components(&plain)
}

/// Refuses components that no path has, or that must not be copied, and names the first check that
/// fails. A brace counts as the end of a component here, which refuses more than it has to:
/// `a{..,b}`. What is copied is decided where files are listed: this only words a clear refusal.
fn check_components(plain: &str) -> Result<(), Wrong> {
    // of each component the parts between braces and commas: `a/{b,c}` is [["a"], ["", "b", "c", ""]]
    let mut components: Vec<Vec<&str>> = Vec::new();
    for component in plain.split('/') {
        components.push(component.split(['{', ',', '}']).collect());
    }
    let ends_with_slash = components.last().is_some_and(|last| *last == [""]);
    let whole = components.len() - usize::from(ends_with_slash);
    if components[0].iter().any(|part| part.starts_with('~')) {
        return refused(
            "it begins with `~`, and files outside the repository are not synced",
            FROM_ROOT,
        );
    }
    if has_component(&components, "..") {
        return refused(
            "it has a `..` component, with which it could leave the repository",
            "write the path from the repository's root; a name such as `a..b` is fine",
        );
    }
    if plain.contains('\0') {
        return refused("it has a NUL byte, which no path has", FROM_ROOT);
    }
    if has_component(&components, ".") {
        return refused("it has a `.` component, which no path has", FROM_ROOT);
    }
    if components[..whole].iter().any(|parts| *parts == [""]) {
        return refused(
            "it has an empty component (`//`), which no path has",
            FROM_ROOT,
        );
    }
    if has_component(&components, ".git") {
        return refused(
            "it names `.git`, which is git's own and never copied",
            "remove it: each worktree has git's files of its own",
        );
    }
    if let [first, second, ..] = components.as_slice()
        && *first == [".agentwt"]
        && *second != ["memory"]
    {
        return refused(
            "of `.agentwt` only `memory` is ever copied",
            "write `.agentwt/memory/**`, or remove it: that is always synced",
        );
    }
    Ok(())
}

/// True if one of the components, or of their alternates, is this name.
fn has_component(components: &[Vec<&str>], name: &str) -> bool {
    let mut parts = components.iter().flatten();
    parts.any(|part| part.eq_ignore_ascii_case(name))
}

/// Returns a glob without its backslashes, in which a class of one character is that character.
fn without_escapes(glob: &str) -> String {
    let mut plain = glob.replace('\\', "");
    while let Some(at) = plain.find('[') {
        let mut class = plain[at + 1..].chars();
        let first = class.next();
        if let Some(only) = first
            && class.next() == Some(']')
        {
            plain.replace_range(at..at + 2 + only.len_utf8(), &only.to_string());
        } else {
            plain.replace_range(at..=at, "?");
        }
    }
    plain
}

/// Shows a pattern in a message, not more than people read.
pub fn shown_pattern(text: &str) -> String {
    match text.char_indices().nth(200) {
        None => escape_for_terminal(text.as_bytes()),
        Some((end, _)) => format!("{}…", escape_for_terminal(&text.as_bytes()[..end])),
    }
}
