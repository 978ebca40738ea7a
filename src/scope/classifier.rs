//! Holds [`Classifier`], which answers for many paths and remembers what it found for directories.

use crate::scope::compiled::Scope;
use crate::scope::descent::{Descent, DirectoryLevel};
use crate::scope::near::Near;
use crate::scope::rule::{Access, EntryKind, RuleList, ScopeRule};
use crate::words::path::RepoPath;

/// What a scope makes of a path. No rule means that no list matches: the path is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'s> {
    /// The access.
    pub access: Access,
    /// The rule that decided: of the deciding list the one that matches the nearest level (the path
    /// itself, then its parents), there the last one, as `git check-ignore -v` reports it.
    pub rule: Option<&'s ScopeRule>,
}

/// Answers like [`Scope::verdict`] for a stream of paths. Any order is right; in sorted order each
/// directory is judged once.
#[derive(Clone, Debug)]
pub struct Classifier<'s> {
    scope: &'s Scope,
    descent: Descent<JudgedDirectory>,
}

/// The verdict on a directory.
#[derive(Clone, Debug)]
struct JudgedDirectory {
    decision: RuleDecision,
    near: Near,
}

/// The deciding rule of each list: the nearest level's, there the last one. The built-in rules
/// come first, then exclude, write, read; a list after a decided one has none, neither for the path
/// nor for anything below.
type RuleDecision = [Option<usize>; 4];

impl<'s> Classifier<'s> {
    fn new(scope: &'s Scope) -> Self {
        let root = JudgedDirectory {
            decision: RuleDecision::default(),
            near: scope.near_root(),
        };
        let descent = Descent::new(scope.case, root);
        Self { scope, descent }
    }

    /// Returns the access of a path, and the rule that decided.
    pub fn verdict(&mut self, path: &RepoPath, kind: EntryKind) -> Verdict<'s> {
        let scope = self.scope;
        let judge = |above: &JudgedDirectory, directory: DirectoryLevel<'_>| JudgedDirectory {
            decision: scope.decide(above, directory, EntryKind::Directory),
            near: scope.near(&above.near, directory.path),
        };
        let (level, above) = self.descent.enter(path.as_bstr(), judge);
        let decision = scope.decide(above, level, kind);
        let place = decision.into_iter().flatten().next();
        let rule = place.map(|place| &scope.rules[place]);
        Verdict {
            access: rule.map_or(Access::Excluded, |rule| rule.list.into()),
            rule,
        }
    }
}

impl Scope {
    fn decide(
        &self,
        above: &JudgedDirectory,
        level: DirectoryLevel<'_>,
        kind: EntryKind,
    ) -> RuleDecision {
        let mut last = RuleDecision::default();
        for place in self.candidates(&above.near, level) {
            let rank = match self.rules[place].list {
                _ if place >= self.users => 0,
                RuleList::Exclude => 1,
                RuleList::Write => 2,
                RuleList::Read => 3,
            };
            let is_later = last[rank].is_none_or(|known| known < place);
            if is_later && self.patterns[place].matches(level.path, level.name, kind) {
                last[rank] = Some(place);
            }
        }
        let mut decision = RuleDecision::default();
        for rank in 0..decision.len() {
            decision[rank] = last[rank].or(above.decision[rank]);
            if decision[rank].is_some() {
                break;
            }
        }
        decision
    }
}

impl Scope {
    /// Returns the access of one path, and the rule that decided.
    pub fn verdict(&self, path: &RepoPath, kind: EntryKind) -> Verdict<'_> {
        self.classifier().verdict(path, kind)
    }

    /// True if a file of this path is excluded: absent on purpose.
    pub fn excludes_file(&self, path: &RepoPath) -> bool {
        self.verdict(path, EntryKind::File).access == Access::Excluded
    }

    /// Returns what answers the same for many paths, fast when they are sorted.
    pub fn classifier(&self) -> Classifier<'_> {
        Classifier::new(self)
    }
}
