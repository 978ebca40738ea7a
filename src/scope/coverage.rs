//! Holds [`Coverage`]: how many tracked paths each rule matches, and what looks like a mistake.
//! That counts what a rule's own pattern matches, whatever other rules say of the path, because an
//! author asks whether a line does anything.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::scope::compiled::Scope;
use crate::scope::descent::{Descent, EntryPath};
use crate::scope::near::Near;
use crate::scope::pattern::ScopePattern;
use crate::scope::rule::{EntryKind, RuleList, RuleOrigin, ScopeRule};
use crate::words::path::{RepoPath, escape_for_rule};

/// What the rules of a scope match among the tracked paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// How many tracked paths each rule of [`Scope::rules`] matches, in its order, those below a
    /// matching directory included.
    pub matches: Vec<usize>,
    /// One line for each likely mistake, in the order of the rules, which are valid all the same.
    pub advice: Vec<String>,
}

/// What one rule matches.
#[derive(Clone, Debug, Default)]
struct Tally {
    matches: usize,
    is_in_root: bool,
    /// The first path that matches below the root.
    first_below_root: Option<RepoPath>,
}

/// A rule that matches a path or a directory above the path.
#[derive(Clone, Copy, Debug)]
struct RuleMatch {
    place: usize,
    /// Whether the entry that the rule's pattern matches is in the root.
    is_in_root: bool,
}

/// The directory of a path.
#[derive(Clone, Debug)]
struct CoveredDirectory {
    near: Near,
    /// The rules that match the directory or one above.
    matched: Arc<[RuleMatch]>,
}

impl Scope {
    /// Counts the tracked paths that each of the user's rules matches, and looks for likely
    /// mistakes. Sorted paths are fast.
    pub fn coverage<P: Borrow<RepoPath>>(
        &self,
        tracked: impl IntoIterator<Item = (P, EntryKind)>,
    ) -> Coverage {
        let root = CoveredDirectory {
            near: self.near_root(),
            matched: Arc::default(),
        };
        let mut tallies = vec![Tally::default(); self.user_rules];
        let mut descent = Descent::new(self.case, root);
        for (tracked_path, kind) in tracked {
            let path = tracked_path.borrow();
            let (entry, parent) =
                descent.enter(path.as_bstr(), |above, inner| above.child(self, inner));
            for matched in parent.matched.iter() {
                tallies[matched.place].add(path, *matched);
            }
            for matched in parent.new_matches(self, entry, kind) {
                tallies[matched.place].add(path, matched);
            }
        }
        let mut coverage = Coverage {
            matches: Vec::new(),
            advice: Vec::new(),
        };
        for (place, tally) in tallies.iter().enumerate() {
            coverage.matches.push(tally.matches);
            let advice = advice(&self.rules[place], &self.patterns[place], tally);
            coverage.advice.extend(advice);
        }
        coverage
    }
}

impl Tally {
    fn add(&mut self, path: &RepoPath, matched: RuleMatch) {
        self.matches += 1;
        if matched.is_in_root {
            self.is_in_root = true;
        } else if self.first_below_root.is_none() {
            self.first_below_root = Some(path.clone());
        }
    }
}

impl CoveredDirectory {
    /// A directory in this one.
    fn child(&self, scope: &Scope, directory: EntryPath<'_>) -> Self {
        let new_matches: Vec<RuleMatch> = self
            .new_matches(scope, directory, EntryKind::Directory)
            .collect();
        let matched = if new_matches.is_empty() {
            Arc::clone(&self.matched)
        } else {
            [&self.matched, new_matches.as_slice()].concat().into()
        };
        Self {
            near: scope.near(&self.near, directory),
            matched,
        }
    }

    /// The user's rules that match an entry of this directory, but not the directory or one above.
    fn new_matches<'n>(
        &'n self,
        scope: &'n Scope,
        entry: EntryPath<'n>,
        kind: EntryKind,
    ) -> impl Iterator<Item = RuleMatch> + 'n {
        scope
            .candidates(&self.near, entry)
            .filter(|place| *place < scope.user_rules)
            .filter(move |place| scope.patterns[*place].matches(entry.path, entry.name_start, kind))
            .filter(|place| self.matched.iter().all(|matched| matched.place != *place))
            .map(move |place| RuleMatch {
                place,
                is_in_root: entry.name_start == 0,
            })
    }
}

/// The line on the likely mistake of a rule, if it seems to have one.
fn advice(rule: &ScopeRule, pattern: &ScopePattern, tally: &Tally) -> Option<String> {
    if matches!(rule.origin, RuleOrigin::Default | RuleOrigin::BuiltIn) {
        return None;
    }
    let text = escape_for_rule(&rule.pattern);
    let mistake = if tally.matches == 0 {
        missing_match(&pattern.line)?.to_owned()
    } else {
        let example = unexpected_match(rule, pattern, tally)?;
        format!("also matches below the root (`{example}`); write `/{text}` for the root only")
    };
    Some(format!(
        "{}: the {} pattern `{text}` {mistake}",
        rule.origin, rule.list
    ))
}

/// What to say of a pattern that matches no tracked file.
fn missing_match(pattern: &str) -> Option<&'static str> {
    if pattern.contains('{') && pattern.contains(',') {
        return Some(
            "matches no tracked file: braces do not expand in these patterns; write one for each",
        );
    }
    if pattern.trim_start_matches(['*', '/']).starts_with(".git/") {
        // git tracks no such path, and it means nothing in any list
        return None;
    }
    Some("matches no tracked file")
}

/// A path below the root, of a write rule that seems to be meant for a file of the root.
fn unexpected_match<'t>(
    rule: &ScopeRule,
    pattern: &ScopePattern,
    tally: &'t Tally,
) -> Option<&'t RepoPath> {
    let is_meant_for_root =
        tally.is_in_root && rule.list == RuleList::Write && !pattern.is_anchored;
    if !is_meant_for_root {
        return None;
    }
    tally.first_below_root.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::rule::Case;

    fn scope(rules: &[(RuleList, &str)]) -> Scope {
        let flag = |list: &RuleList| RuleOrigin::Flag(format!("--{list}"));
        let rules = rules
            .iter()
            .map(|(list, pattern)| ScopeRule::new(*list, *pattern, flag(list)));
        Scope::compile(rules.collect(), Case::Sensitive).expect("the rules are valid")
    }

    fn tracked() -> Vec<(RepoPath, EntryKind)> {
        [
            "a/x/package.json",
            "package.json",
            "src/lib.rs",
            "src/main.rs",
            "z/package.json",
        ]
        .map(|path| {
            (
                RepoPath::parse(path).expect("it is normal"),
                EntryKind::File,
            )
        })
        .into()
    }

    use RuleList::{Exclude, Read, Write};

    #[test]
    fn every_rule_is_counted_by_its_own_pattern() {
        let scope = scope(&[
            (Exclude, "*.rs"),
            (Read, "**"),
            (Write, "/src"),
            (Write, "x/"),
        ]);
        assert_eq!(scope.coverage(tracked()).matches, [2, 5, 2, 1]);
    }

    #[test]
    fn built_in_rules_are_not_counted() {
        let paths = [".agentwt/config.toml", ".agentwt/memory/a"];
        let tracked = paths.map(|path| {
            let path = RepoPath::parse(path).expect("it is normal");
            (path, EntryKind::File)
        });
        assert_eq!(scope(&[(Read, "**")]).coverage(tracked).matches, [2]);
    }

    #[test]
    fn a_rule_that_nobody_wrote_is_no_mistake() {
        let rule = ScopeRule::new(Write, "lib/**", RuleOrigin::Default);
        let scope = Scope::compile(vec![rule], Case::Sensitive).expect("the rule is valid");
        assert!(scope.coverage(tracked()).advice.is_empty());
    }

    #[test]
    fn likely_mistakes_are_named() {
        let scope = scope(&[
            (Write, "*.{rs,toml}"),
            (Write, "package.json"),
            (Write, "/package.json"),
            (Write, "*.rs"),
            (Read, "package.json"),
            (Write, "**/package.json"),
            (Write, "*"),
            (Exclude, "{secret}"),
            (Exclude, "secret,"),
            (Exclude, "secret/"),
            (Exclude, ".git/**"),
        ]);
        assert_eq!(
            scope.coverage(tracked()).advice,
            [
                "--write: the write pattern `*.{rs,toml}` matches no tracked file: braces do \
                 not expand in these patterns; write one for each",
                "--write: the write pattern `package.json` also matches below the root \
                 (`a/x/package.json`); write `/package.json` for the root only",
                "--exclude: the exclude pattern `{secret}` matches no tracked file",
                "--exclude: the exclude pattern `secret,` matches no tracked file",
                "--exclude: the exclude pattern `secret/` matches no tracked file",
            ]
        );
    }
}
