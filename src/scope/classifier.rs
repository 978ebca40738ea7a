//! Holds [`Classifier`], which answers for many paths and remembers what it found for directories.

use super::descent::{Descent, Level};
use super::lookup::{Inside, Place};
use super::{Access, EntryKind, RuleList, Scope, Verdict};
use crate::path::RepoPath;

/// Answers like [`Scope::verdict`] for a stream of paths. Any order is right; in sorted order each
/// directory is judged once.
#[derive(Clone, Debug)]
pub struct Classifier<'s> {
    scope: &'s Scope,
    descent: Descent<Judged>,
}

/// Holds what was found out about a directory.
#[derive(Clone, Debug)]
struct Judged {
    decision: Decision,
    inside: Inside,
}

/// Holds the deciding rule of each list, as an index: the nearest level's, there the last one. A
/// list below a decided one has none, neither here nor for anything below a directory.
#[derive(Clone, Copy, Debug, Default)]
struct Decision {
    built_in: Option<usize>,
    exclude: Option<usize>,
    write: Option<usize>,
    read: Option<usize>,
}

impl<'s> Classifier<'s> {
    pub(super) fn new(scope: &'s Scope) -> Self {
        let root = Judged {
            decision: Decision::default(),
            inside: scope.lookup.root(),
        };
        Self {
            scope,
            descent: Descent::new(scope.case, root),
        }
    }

    /// The access of a path, and the rule that decided.
    pub fn verdict(&mut self, path: &RepoPath, kind: EntryKind) -> Verdict<'s> {
        let scope = self.scope;
        let (level, parent) = self
            .descent
            .enter(path.as_bstr(), |parent, directory| Judged {
                decision: decide(scope, parent, directory, EntryKind::Directory),
                inside: scope.lookup.enter(&parent.inside, directory),
            });
        let decision = decide(scope, parent, level, kind);
        let rule = match decision.built_in {
            Some(index) => scope.built_in_rules.get(index),
            None => (decision.exclude.or(decision.write).or(decision.read))
                .and_then(|index| scope.rules.get(index)),
        };
        Verdict {
            access: rule.map_or(Access::Excluded, |rule| rule.list.into()),
            rule,
        }
    }
}

fn decide(scope: &Scope, parent: &Judged, level: Level<'_>, kind: EntryKind) -> Decision {
    let last = scope.last_matches(level, kind, &parent.inside);
    let above = parent.decision;
    let mut decision = Decision {
        built_in: last.built_in.or(above.built_in),
        ..Decision::default()
    };
    if decision.built_in.is_none() {
        decision.exclude = last.exclude.or(above.exclude);
    }
    if decision.built_in.or(decision.exclude).is_none() {
        decision.write = last.write.or(above.write);
        if decision.write.is_none() {
            decision.read = last.read.or(above.read);
        }
    }
    decision
}

impl Scope {
    /// The last rule of each list that matches this very path.
    fn last_matches(&self, level: Level<'_>, kind: EntryKind, inside: &Inside) -> Decision {
        let mut last = Decision::default();
        let ask = |place: Place| {
            let pattern = &self.patterns[place as usize];
            pattern.matches(level.path, level.name, kind)
        };
        self.lookup.matches(level, kind, inside, ask, |place| {
            let place = place as usize;
            let (of_list, rule) = match self.rules.get(place).map(|rule| rule.list) {
                None => (&mut last.built_in, place - self.rules.len()),
                Some(RuleList::Exclude) => (&mut last.exclude, place),
                Some(RuleList::Write) => (&mut last.write, place),
                Some(RuleList::Read) => (&mut last.read, place),
            };
            *of_list = Some(rule).max(*of_list);
        });
        last
    }
}
