//! Holds [`Classifier`], which answers for many paths and remembers what it found for directories.

use super::descent::{Descent, Level};
use super::{Access, Compiled, EntryKind, Scope, Verdict};
use crate::path::RepoPath;

/// Answers like [`Scope::verdict`] for a stream of paths. Any order is right; in sorted order each
/// directory is judged once.
#[derive(Clone, Debug)]
pub struct Classifier<'s> {
    scope: &'s Scope,
    descent: Descent<Decision>,
}

/// Holds the deciding rule of each list, as an index: the nearest level's, there the last one. A
/// list below a decided one is not asked, neither here nor for anything below a directory.
#[derive(Clone, Copy, Debug, Default)]
struct Decision {
    built_in: Option<usize>,
    exclude: Option<usize>,
    write: Option<usize>,
    read: Option<usize>,
}

impl<'s> Classifier<'s> {
    pub(super) fn new(scope: &'s Scope) -> Self {
        Self {
            scope,
            descent: Descent::new(scope.case, Decision::default()),
        }
    }

    /// The access of a path, and the rule that decided.
    pub fn verdict(&mut self, path: &RepoPath, kind: EntryKind) -> Verdict<'s> {
        let scope = self.scope;
        let (level, parent) = self.descent.enter(path.as_bstr(), |parent, directory| {
            decide(scope, *parent, directory, EntryKind::Directory)
        });
        let decision = decide(scope, *parent, level, kind);
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

fn decide(scope: &Scope, parent: Decision, level: Level<'_>, kind: EntryKind) -> Decision {
    let nearest = |list: &[Compiled], inherited: Option<usize>| {
        let own = |c: &&Compiled| c.pattern.matches(level.path, level.name, kind);
        list.iter().rev().find(own).map(|c| c.rule).or(inherited)
    };
    let mut decision = Decision {
        built_in: nearest(&scope.built_in, parent.built_in),
        ..Decision::default()
    };
    if decision.built_in.is_none() {
        decision.exclude = nearest(&scope.exclude, parent.exclude);
    }
    if decision.built_in.or(decision.exclude).is_none() {
        decision.write = nearest(&scope.write, parent.write);
        if decision.write.is_none() {
            decision.read = nearest(&scope.read, parent.read);
        }
    }
    decision
}
