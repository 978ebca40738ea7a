//! Holds [`Coverage`]: how many tracked paths each rule matches, and what looks like a mistake.
//! That counts what a rule's own pattern matches, whatever other rules say of the path, because an
//! author asks whether a line does anything.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::scope::compiled::Scope;
use crate::scope::descent::{Descent, DirectoryLevel};
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

#[derive(Clone, Debug, Default)]
struct Tally {
    matches: usize,
    is_in_root: bool,
    /// The first path that matches below the root.
    below: Option<RepoPath>,
}

/// What is known of the directories above a path.
#[derive(Clone, Debug)]
struct Above {
    near: Near,
    /// The rules that match one of them, and whether the first such directory is in the root.
    matched: Arc<[(usize, bool)]>,
}

impl Scope {
    /// Counts the tracked paths that each rule matches and looks for likely mistakes. Sorted paths
    /// are fast.
    pub fn coverage<P: Borrow<RepoPath>>(
        &self,
        tracked: impl IntoIterator<Item = (P, EntryKind)>,
    ) -> Coverage {
        let root = Above {
            near: self.near_root(),
            matched: Arc::default(),
        };
        let mut tallies = vec![Tally::default(); self.users];
        let mut descent = Descent::new(self.case, root);
        for (path, kind) in tracked {
            let path = path.borrow();
            let enter = |above: &Above, directory: DirectoryLevel<'_>| above.enter(self, directory);
            let (level, above) = descent.enter(path.as_bstr(), enter);
            let matched = above.matched.iter().copied();
            for (place, is_in_root) in matched.chain(above.more(self, level, kind)) {
                let tally = &mut tallies[place];
                tally.matches += 1;
                tally.is_in_root |= is_in_root;
                if !is_in_root && tally.below.is_none() {
                    tally.below = Some(path.clone());
                }
            }
        }
        let rules = self.rules().iter().zip(&self.patterns).zip(&tallies);
        Coverage {
            advice: rules
                .filter_map(|((rule, pattern), tally)| advice(rule, pattern, tally))
                .collect(),
            matches: tallies.iter().map(|tally| tally.matches).collect(),
        }
    }
}

impl Above {
    fn enter(&self, scope: &Scope, directory: DirectoryLevel<'_>) -> Self {
        let mut more = (self.more(scope, directory, EntryKind::Directory)).peekable();
        let matched = if more.peek().is_none() {
            Arc::clone(&self.matched)
        } else {
            self.matched.iter().copied().chain(more).collect()
        };
        Self {
            near: scope.near(&self.near, directory.path),
            matched,
        }
    }

    /// The user's rules that match this path itself, and no directory above it.
    fn more<'n>(
        &'n self,
        scope: &'n Scope,
        level: DirectoryLevel<'n>,
        kind: EntryKind,
    ) -> impl Iterator<Item = (usize, bool)> + 'n {
        let candidates = scope.candidates(&self.near, level);
        let users = candidates.filter(|place| *place < scope.users);
        let is_new = move |place: &usize| {
            scope.patterns[*place].matches(level.path, level.name, kind)
                && !self.matched.iter().any(|(known, _)| known == place)
        };
        users
            .filter(is_new)
            .map(move |place| (place, level.name == 0))
    }
}

/// The likely mistake of a rule.
fn advice(rule: &ScopeRule, pattern: &ScopePattern, tally: &Tally) -> Option<String> {
    if matches!(rule.origin, RuleOrigin::Default | RuleOrigin::BuiltIn) {
        return None;
    }
    let text = escape_for_rule(&rule.pattern);
    let what = if tally.matches > 0 {
        let is_meant_for_root = tally.is_in_root
            && rule.list == RuleList::Write
            && !pattern.is_anchored
            && !pattern.is_everything();
        let example = tally.below.as_ref().filter(|_| is_meant_for_root)?;
        format!("also matches below the root (`{example}`); write `/{text}` for the root only")
    } else if pattern.line.contains('{') && pattern.line.contains(',') {
        "matches no tracked file: braces do not expand in these patterns; write one for each".into()
    } else if pattern
        .line
        .trim_start_matches(['*', '/'])
        .starts_with(".git/")
    {
        // git tracks no such path, and it means nothing in any list
        return None;
    } else {
        "matches no tracked file".to_owned()
    };
    Some(format!(
        "{}: the {} pattern `{text}` {what}",
        rule.origin, rule.list
    ))
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
        assert_eq!(scope.coverage(tracked()).matches, [2, 4, 2, 1]);
    }

    #[test]
    fn likely_mistakes_are_named() {
        let scope = scope(&[
            (Write, "*.{rs,toml}"),
            (Write, "package.json"),
            (Write, "/package.json"),
            (Write, "*.rs"),
            (Read, "package.json"),
            (Write, "*"),
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
                "--exclude: the exclude pattern `secret/` matches no tracked file",
            ]
        );
    }
}
