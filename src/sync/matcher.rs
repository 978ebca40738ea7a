//! Holds [`Matcher`]: what patterns and `.worktreeinclude` select, and where they can match at all.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use globset::{Candidate, GlobSet, GlobSetBuilder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::scope::rule::{Case, EntryKind};
use crate::sync::PatternOrigin;
use crate::sync::pattern::{Pattern, PatternError, below, build, not_a_glob};
use crate::words::path::RepoPath;

/// Patterns and the rules of `.worktreeinclude`, ready to be matched.
pub struct Matcher {
    /// Two globs for each pattern, in order: what it matches, and everything below that.
    patterns: GlobSet,
    /// For each pattern, whether it selects directories only.
    directories_only: Vec<bool>,
    /// The rules of `.worktreeinclude`.
    include: Option<Gitignore>,
    /// The directories on the way to what can match.
    on_the_way: GlobSet,
    /// Those of them that a pattern names without `*` and `?`.
    named_on_the_way: GlobSet,
}

/// What selects a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The places of the patterns, sorted.
    pub patterns: Vec<usize>,
    /// True if `.worktreeinclude` does.
    pub is_included: bool,
}

impl Selected {
    /// True if anything does.
    pub fn any(&self) -> bool {
        self.is_included || !self.patterns.is_empty()
    }
}

impl Matcher {
    /// Compiles the patterns, and the text of `.worktreeinclude`, if it counts.
    ///
    /// # Errors
    /// Fails when the globs are too large together.
    pub fn new(
        patterns: &[Pattern],
        include: Option<&[u8]>,
        case: Case,
    ) -> Result<Self, PatternError> {
        Self::compile(patterns, include, case).map_err(|error| {
            let texts: Vec<&str> = patterns.iter().map(Pattern::text).collect();
            let first = patterns.first();
            let (what, help) = not_a_glob(error.kind());
            PatternError {
                text: texts.join(", "),
                origin: first.map_or(PatternOrigin::BuiltIn, |first| first.origin().clone()),
                what,
                help,
            }
        })
    }

    fn compile(
        patterns: &[Pattern],
        include: Option<&[u8]>,
        case: Case,
    ) -> Result<Self, globset::Error> {
        let mut directories = Vec::new();
        for pattern in patterns {
            directories.extend(directories_on_the_way(pattern.text()));
        }
        for rule in include.unwrap_or_default().lines() {
            directories.extend(directories_of_rule(rule));
        }
        let mut named = directories.clone();
        named.retain(|directory| !directory.contains(['*', '?']));
        Ok(Self {
            patterns: pattern_globs(patterns, case)?,
            directories_only: patterns
                .iter()
                .map(|pattern| pattern.text().ends_with('/'))
                .collect(),
            include: include.and_then(|include| rules(include, case)),
            on_the_way: glob_set(&directories, case)?,
            named_on_the_way: glob_set(&named, case)?,
        })
    }

    /// What selects a path: a directory that is selected selects everything below.
    pub fn selected(&self, path: &RepoPath, kind: EntryKind) -> Selected {
        let mut patterns = BTreeSet::new();
        for glob in self.patterns.matches_candidate(&candidate(path)) {
            // each pattern has two globs
            let pattern = glob / 2;
            let is_below = glob % 2 == 1;
            if is_below || kind == EntryKind::Directory || !self.directories_only[pattern] {
                patterns.insert(pattern);
            }
        }
        Selected {
            patterns: patterns.into_iter().collect(),
            is_included: self.is_included(path, kind),
        }
    }

    /// True if something can be selected in a directory.
    pub fn enters(&self, directory: &RepoPath) -> bool {
        let candidate = candidate(directory);
        self.on_the_way.is_match_candidate(&candidate)
            || self.patterns.is_match_candidate(&candidate)
            || self.is_included(directory, EntryKind::Directory)
    }

    /// True if a pattern names a path as a directory on the way to what the pattern selects.
    pub fn names_as_directory(&self, path: &RepoPath) -> bool {
        self.named_on_the_way.is_match_candidate(&candidate(path))
    }

    /// As gitignore(5) ignores: what is below an ignored directory cannot be taken out again.
    fn is_included(&self, path: &RepoPath, kind: EntryKind) -> bool {
        let Some(rules) = &self.include else {
            return false;
        };
        if selects(rules, path.as_bstr(), kind) {
            return true;
        }
        path.parents()
            .any(|parent| selects(rules, parent, EntryKind::Directory))
    }
}

/// Two globs for each pattern, in order: what it matches, and everything below that.
fn pattern_globs(patterns: &[Pattern], case: Case) -> Result<GlobSet, globset::Error> {
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        let text = pattern.text();
        globs.add(build(text.trim_end_matches('/'), case)?);
        globs.add(build(&below(text), case)?);
    }
    globs.build()
}

fn glob_set(texts: &[String], case: Case) -> Result<GlobSet, globset::Error> {
    let mut globs = GlobSetBuilder::new();
    for text in texts {
        globs.add(build(text, case)?);
    }
    globs.build()
}

/// True if the rules of `.worktreeinclude` select a path.
fn selects(rules: &Gitignore, path: &[u8], kind: EntryKind) -> bool {
    let is_directory = kind == EntryKind::Directory;
    let matched = rules.matched(path.to_path_lossy(), is_directory);
    matched.is_ignore()
}

fn candidate(path: &RepoPath) -> Candidate<'_> {
    Candidate::from_bytes(path.as_bstr().as_bytes())
}

/// The rules of `.worktreeinclude`; a line that is not a rule selects nothing.
fn rules(text: &[u8], case: Case) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(".");
    let _ = builder.case_insensitive(case == Case::Insensitive);
    for line in text.lines() {
        let _ = builder.add_line(None, &line.to_str_lossy());
    }
    builder.build().ok()
}

/// Globs of the directories in which a rule of `.worktreeinclude` can match.
fn directories_of_rule(line: &[u8]) -> Vec<String> {
    let text = line.to_str_lossy();
    let rule = text.trim_end();
    if rule.is_empty() || rule.starts_with(['#', '!']) {
        return Vec::new();
    }
    if rule.trim_end_matches('/').contains('/') {
        directories_on_the_way(rule.trim_start_matches('/'))
    } else {
        vec!["**".to_owned()]
    }
}

/// Globs of the directories in which a glob can match: those on the way to it, and all from the
/// first `**` on. Where a brace or a class goes over a `/`, too much is entered.
fn directories_on_the_way(glob: &str) -> Vec<String> {
    let parts: Vec<&str> = glob.trim_end_matches('/').split('/').collect();
    let mut directories = Vec::new();
    let mut above = String::new();
    for (at, part) in parts.iter().enumerate() {
        let count = |c: char| part.matches(c).count();
        let is_whole = count('{') == count('}') && count('[') <= count(']');
        if part.contains("**") || !is_whole || part.ends_with('\\') {
            directories.push(format!("{above}**"));
            break;
        }
        if at + 1 < parts.len() {
            directories.push(format!("{above}{part}"));
            above.push_str(part);
            above.push('/');
        }
    }
    directories
}
