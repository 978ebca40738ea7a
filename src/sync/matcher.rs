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
    /// For each pattern two globs: the pattern, and everything below what it matches.
    patterns: GlobSet,
    /// True if a pattern selects directories only, by its place.
    directories_only: Vec<bool>,
    include: Option<Gitignore>,
    /// The directories on the way to what can match.
    ways: GlobSet,
    /// Those of them that a pattern names without `*` and `?`.
    named: GlobSet,
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
        let mut globs = GlobSetBuilder::new();
        let mut directories_only = Vec::new();
        let mut ways_in = Vec::new();
        for pattern in patterns {
            let text = pattern.text();
            globs.add(build(text.trim_end_matches('/'), case)?);
            globs.add(build(&below(text), case)?);
            directories_only.push(text.ends_with('/'));
            ways_in.extend(ways_of(text));
        }
        for rule in include.unwrap_or_default().lines() {
            ways_in.extend(ways_of_rule(rule));
        }
        let mut ways = GlobSetBuilder::new();
        let mut named = GlobSetBuilder::new();
        for way in ways_in {
            let glob = build(&way, case)?;
            if !way.contains(['*', '?']) {
                named.add(glob.clone());
            }
            ways.add(glob);
        }
        Ok(Self {
            patterns: globs.build()?,
            directories_only,
            include: include.and_then(|include| rules(include, case)),
            ways: ways.build()?,
            named: named.build()?,
        })
    }

    /// What selects a path: a directory that is selected selects everything below.
    pub fn selected(&self, path: &RepoPath, kind: EntryKind) -> Selected {
        let mut patterns = BTreeSet::new();
        for glob in self.patterns.matches_candidate(&candidate(path)) {
            let is_below = glob % 2 == 1;
            if is_below || kind == EntryKind::Directory || !self.directories_only[glob / 2] {
                patterns.insert(glob / 2);
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
        self.ways.is_match_candidate(&candidate)
            || self.patterns.is_match_candidate(&candidate)
            || self.is_included(directory, EntryKind::Directory)
    }

    /// True if a pattern names a path as a directory on the way to what the pattern selects.
    pub fn names_as_directory(&self, path: &RepoPath) -> bool {
        self.named.is_match_candidate(&candidate(path))
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
fn ways_of_rule(line: &[u8]) -> Vec<String> {
    let text = line.to_str_lossy();
    let rule = text.trim_end();
    if rule.is_empty() || rule.starts_with(['#', '!']) {
        return Vec::new();
    }
    if rule.trim_end_matches('/').contains('/') {
        ways_of(rule.trim_start_matches('/'))
    } else {
        vec!["**".to_owned()]
    }
}

/// Globs of the directories in which a glob can match: those on the way to it, and all from the
/// first `**` on. Where a brace or a class goes over a `/`, too much is entered.
fn ways_of(glob: &str) -> Vec<String> {
    let parts: Vec<&str> = glob.trim_end_matches('/').split('/').collect();
    let mut ways = Vec::new();
    let mut way = String::new();
    for (at, part) in parts.iter().enumerate() {
        let count = |c: char| part.matches(c).count();
        let is_whole = count('{') == count('}') && count('[') <= count(']');
        if part.contains("**") || !is_whole || part.ends_with('\\') {
            ways.push(format!("{way}**"));
            break;
        }
        if at + 1 < parts.len() {
            ways.push(format!("{way}{part}"));
            way.push_str(part);
            way.push('/');
        }
    }
    ways
}
