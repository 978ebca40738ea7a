//! Reads what upstream had since a worktree left it: a commit of the base branch that was taken over by
//! itself is no change made here, also after the base branch went on.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::objects::Objects;
use crate::judge::change::{Change, Content};
use crate::judge::compare::Delta;
use crate::truth::ground::{Compared, Ground};
use crate::truth::heads::{Heads, Tips};
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Holds the states that upstream had of each path since HEAD left it.
#[derive(Debug, Default)]
pub struct Passed(BTreeMap<RepoPath, BTreeSet<Option<Entry>>>);

/// How many commits of upstream are looked at that HEAD does not have.
const SINCE: usize = 1000;

impl Passed {
    /// Leaves out the changes of which all that is there now is a state that upstream had.
    pub fn without(&self, mut changes: Vec<Change>) -> Vec<Change> {
        changes.retain(|change| !self.has(change));
        changes
    }

    fn has(&self, change: &Change) -> bool {
        let Some(path) = change.place.path() else {
            return false;
        };
        let mut now = change.now.iter();
        !change.now.is_empty()
            && now.all(|now| match now {
                Content::Entry(entry) => self.is_state(path, *entry),
                Content::Value { .. } => false,
            })
    }

    /// Whether upstream had this entry at a path.
    pub fn is_state(&self, path: &RepoPath, entry: Option<Entry>) -> bool {
        self.0
            .get(path)
            .is_some_and(|states| states.contains(&entry))
    }
}

impl Ground<'_> {
    /// Reads the states that upstream had of each path since HEAD left it.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn passed(&self, tips: &Tips, heads: &Heads, compared: &Compared) -> Result<Passed, Error> {
        let current: Vec<&CommitId> = tips.current.iter().collect();
        let known: Vec<&CommitId> = heads.head.iter().collect();
        let since = self.git.rev_list(&current, &known)?;
        let since: BTreeSet<CommitId> = since.into_iter().collect();
        let mut passed = Passed::default();
        for tip in current {
            let deltas = walk_back(&self.objects, tip, SINCE, &|id| since.contains(id))?;
            for (path, entry) in deltas.into_iter().flatten() {
                passed.0.entry(path).or_default().insert(entry);
            }
        }
        // what upstream took back since would come again with a merge
        let at_tip = compared.tip.as_ref().unwrap_or(compared.reference());
        let reference = compared.reference();
        passed
            .0
            .retain(|path, _| at_tip.get(path) != reference.get(path));
        Ok(passed)
    }
}

/// Reads how each commit differs from its first parent, the newest first: at most so many, and as long
/// as they are wanted.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn walk_back(
    objects: &Objects,
    from: &CommitId,
    most: usize,
    is_wanted: &dyn Fn(&CommitId) -> bool,
) -> Result<Vec<Delta>, Error> {
    let mut deltas = Vec::new();
    let mut next = Some(from.clone());
    while let Some(id) = next.filter(|id| deltas.len() < most && is_wanted(id)) {
        let commit = objects.commit(&id)?;
        next = commit.parents.into_iter().next();
        // a shallow clone ends with a commit whose parent is not there
        let parent = next.as_ref().map(|parent| objects.commit(parent));
        let Ok(parent) = parent.transpose() else {
            break;
        };
        let before = parent.as_ref().map(|parent| &parent.tree);
        deltas.push(objects.difference(before, Some(&commit.tree))?);
    }
    Ok(deltas)
}
