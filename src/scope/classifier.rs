//! Holds [`Classifier`], which answers for many paths and remembers what it found for directories.

use crate::scope::compiled::Scope;
use crate::scope::descent::{Descent, EntryPath};
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

/// The deciding rule of each list: the one that matches the nearest level (the path itself, then
/// its parents), there the last one. The lists stand in the order in which they win: the built-in
/// rules, then exclude, write, read: the first that has a rule decides, for the path and for all
/// below.
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

    /// True if a file of this path is excluded: absent on purpose.
    pub fn excludes_file(&mut self, path: &RepoPath) -> bool {
        self.verdict(path, EntryKind::File).access == Access::Excluded
    }

    /// Returns the access of a path, and the rule that decided.
    pub fn verdict(&mut self, path: &RepoPath, kind: EntryKind) -> Verdict<'s> {
        let scope = self.scope;
        let (entry, directory) = self.descent.enter(path.as_bstr(), |above, directory| {
            let decision = scope.decide(above, directory, EntryKind::Directory);
            let near = scope.near(&above.near, directory);
            JudgedDirectory { decision, near }
        });
        let decision = scope.decide(directory, entry, kind);
        let deciding = decision.into_iter().flatten().next();
        let rule = deciding.map(|place| &scope.rules[place]);
        Verdict {
            access: rule.map_or(Access::Excluded, |rule| rule.list.into()),
            rule,
        }
    }
}

impl Scope {
    /// The deciding rule of each list for an entry of a directory.
    fn decide(
        &self,
        directory: &JudgedDirectory,
        entry: EntryPath<'_>,
        kind: EntryKind,
    ) -> RuleDecision {
        let matching = self.last_matches(directory, entry, kind);
        let mut decision = RuleDecision::default();
        for list in 0..decision.len() {
            decision[list] = matching[list].or(directory.decision[list]);
        }
        decision
    }

    /// The last rule of each list that matches the entry itself.
    fn last_matches(
        &self,
        directory: &JudgedDirectory,
        entry: EntryPath<'_>,
        kind: EntryKind,
    ) -> RuleDecision {
        let mut matching = RuleDecision::default();
        for place in self.candidates(&directory.near, entry) {
            let list = self.precedence(place);
            let is_later = matching[list] < Some(place);
            if is_later && self.patterns[place].matches(entry.path, entry.name_start, kind) {
                matching[list] = Some(place);
            }
        }
        matching
    }

    /// The index in a [`RuleDecision`] of the list that a rule is in.
    fn precedence(&self, place: usize) -> usize {
        if place >= self.user_rules {
            return 0;
        }
        match self.rules[place].list {
            RuleList::Exclude => 1,
            RuleList::Write => 2,
            RuleList::Read => 3,
        }
    }

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
