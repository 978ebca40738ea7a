//! Decides which edited files are brought back to the main worktree; pure.

use std::collections::{BTreeMap, BTreeSet};

use super::Force;
use super::refusal::SyncRefusal;
use crate::path::RepoPath;
use crate::placed::{Drift, Here, Origin, Placed, PlacedFile, PlacedKind, There};

/// Holds what pulling is decided on.
pub struct PullFacts<'a> {
    /// The worktree's name.
    pub name: &'a str,
    /// The paths that were named: each means itself and all below it.
    pub asked: &'a [RepoPath],
    /// What was placed.
    pub placed: &'a Placed,
    /// How each of those is now, in their order.
    pub drift: &'a [Drift],
    /// What stands in the worktree where something was placed.
    pub kinds: &'a BTreeMap<RepoPath, PlacedKind>,
    /// Whether the main worktree tracks a path by now.
    pub is_tracked_there: &'a dyn Fn(&RepoPath) -> bool,
}

/// Holds what is pulled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullPlan {
    /// Files that were edited in the worktree.
    pub pull: Vec<RepoPath>,
    /// Which of them replace something that the main worktree has had since; saved first.
    pub save: Vec<RepoPath>,
    /// Files that were named and are as they were placed.
    pub unchanged: usize,
}

/// Decides.
///
/// # Errors
/// Refuses a path that was not synced, one that is gone, and one that the main worktree has
/// changed as well.
pub fn plan(facts: &PullFacts<'_>, force: Force) -> Result<PullPlan, SyncRefusal> {
    let name = || facts.name.to_owned();
    let mut chosen = BTreeSet::new();
    for asked in facts.asked {
        let before = chosen.len();
        let all = facts.placed.files().iter().enumerate();
        chosen.extend(
            all.filter(|(_, file)| is_meant(file, asked))
                .map(|(at, _)| at),
        );
        let is_known = facts.placed.get(asked).is_some_and(is_synced);
        if chosen.len() == before && !is_known {
            let path = asked.to_string();
            return Err(SyncRefusal::NotSynced { name: name(), path });
        }
    }
    let mut plan = PullPlan::default();
    let mut newer = Vec::new();
    for at in chosen {
        let (file, drift) = (&facts.placed.files()[at], facts.drift[at]);
        if drift.here == Here::Edited {
            may_replace(facts, file, force)?;
        }
        match (drift.here, drift.there) {
            (Here::Same, _) => plan.unchanged += 1,
            (Here::Missing, _) if facts.asked.contains(&file.path) => {
                let path = file.path.to_string();
                return Err(SyncRefusal::NothingToPull { name: name(), path });
            }
            (Here::Missing, _) => {}
            (Here::Edited, There::Newer) if force == Force::No => newer.push(file.path.to_string()),
            (Here::Edited, There::Newer) => {
                plan.save.push(file.path.clone());
                plan.pull.push(file.path.clone());
            }
            (Here::Edited, There::Same | There::Gone | There::None) => {
                plan.pull.push(file.path.clone());
            }
        }
    }
    if newer.is_empty() {
        Ok(plan)
    } else {
        Err(SyncRefusal::NewerThere {
            name: name(),
            paths: newer,
        })
    }
}

/// A tracked file is git's to change, and a link where a file was is no edit of it.
fn may_replace(facts: &PullFacts<'_>, file: &PlacedFile, force: Force) -> Result<(), SyncRefusal> {
    let (name, path) = (facts.name.to_owned(), file.path.to_string());
    if (facts.is_tracked_there)(&file.path) {
        return Err(SyncRefusal::TrackedThere { name, path });
    }
    let found = facts.kinds.get(&file.path).copied();
    let same = found.is_some_and(|found| found == file.kind);
    if same || found == Some(PlacedKind::Link) && force == Force::Yes {
        return Ok(());
    }
    Err(SyncRefusal::KindChanged {
        name,
        path,
        found: found.map_or("nothing", in_words),
        placed: in_words(file.kind),
    })
}

const fn in_words(kind: PlacedKind) -> &'static str {
    match kind {
        PlacedKind::File => "a file",
        PlacedKind::Link => "a link",
        PlacedKind::Directory => "a directory",
    }
}

fn is_synced(file: &PlacedFile) -> bool {
    file.origin == Origin::Synced
}

/// Whether a placed file is named by a path, or stands below it. Directories have nothing to pull.
fn is_meant(file: &PlacedFile, asked: &RepoPath) -> bool {
    is_synced(file)
        && file.kind != PlacedKind::Directory
        && (file.path == *asked || file.path.is_below(asked.as_bstr()))
}
