//! Decides which edited files are brought back to the main worktree, and which copies are removed;
//! pure. What is copied in is decided by [`crate::sync::plan`].

use std::collections::{BTreeMap, BTreeSet};

use crate::path::RepoPath;
use crate::placed::{Drift, Here, Origin, Placed, PlacedFile, PlacedKind, There};
use crate::sync::SyncRefusal;
use crate::sync::refusal::list;

/// Holds what pulling is decided on.
pub struct PullFacts<'a> {
    /// The worktree's name.
    pub name: &'a str,
    /// The paths that were named: each means itself and everything below.
    pub asked: &'a [RepoPath],
    /// What was placed.
    pub placed: &'a Placed,
    /// How each of those is now, in their order.
    pub drift: &'a [Drift],
    /// What stands in the worktree where something was placed.
    pub kinds: &'a BTreeMap<RepoPath, PlacedKind>,
    /// What the main worktree tracks by now, sorted.
    pub tracked_there: &'a [RepoPath],
    /// Whether a file that the main worktree has changed is saved and replaced, and not refused.
    pub force: bool,
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

/// Decides what is pulled.
///
/// # Errors
/// Refuses a path that was not synced, one that is gone, and one that the main worktree has
/// changed too.
pub fn plan_pull(facts: &PullFacts<'_>) -> Result<PullPlan, SyncRefusal> {
    let mut plan = PullPlan::default();
    let mut newer = Vec::new();
    for at in chosen(facts)? {
        let (file, drift) = (&facts.placed.files()[at], facts.drift[at]);
        match drift.here {
            Here::Same => plan.unchanged += 1,
            Here::Missing if facts.asked.contains(&file.path) => {
                return Err(nothing_to_pull(facts, &file.path, "it is gone there"));
            }
            Here::Missing => {}
            Here::Edited => {
                require_replaceable(facts, file)?;
                let is_newer = drift.there == There::Newer;
                if is_newer && !facts.force {
                    newer.push(file.path.clone());
                    continue;
                }
                plan.save.extend(is_newer.then(|| file.path.clone()));
                plan.pull.push(file.path.clone());
            }
        }
    }
    let (name, Some(first)) = (facts.name, newer.first()) else {
        return Ok(plan);
    };
    let files = list(&newer);
    Err(SyncRefusal::Edited {
        message: format!(
            "cannot pull {files} from worktree `{name}`: the main worktree has changed it as well"
        ),
        help: format!(
            "compare {first} with \"$(git agentwt path {name})/{first}\"; to replace the main worktree's, saved first: git agentwt sync {name} --force --pull {first}"
        ),
        paths: newer,
    })
}

/// The places of the synced files and links that were named, or stand below what was named.
fn chosen(facts: &PullFacts<'_>) -> Result<BTreeSet<usize>, SyncRefusal> {
    let is_synced = |file: &PlacedFile| file.origin == Origin::Synced;
    let mut chosen = BTreeSet::new();
    for asked in facts.asked {
        let is_meant = |file: &PlacedFile| {
            is_synced(file)
                && file.kind != PlacedKind::Directory
                && (file.path == *asked || file.path.is_below(asked.as_bstr()))
        };
        let all = facts.placed.files().iter().enumerate();
        let meant: Vec<usize> = all.filter(|(_, f)| is_meant(f)).map(|(at, _)| at).collect();
        if meant.is_empty() && !facts.placed.get(asked).is_some_and(is_synced) {
            return Err(nothing_to_pull(facts, asked, "it was not synced"));
        }
        chosen.extend(meant);
    }
    Ok(chosen)
}

fn nothing_to_pull(facts: &PullFacts<'_>, path: &RepoPath, reason: &str) -> SyncRefusal {
    let name = facts.name;
    SyncRefusal::blocked(
        format!("cannot pull {path} from worktree `{name}`: {reason}"),
        format!(
            "see what was synced: git agentwt sync {name} --status; to copy it in again: git agentwt sync {name}"
        ),
    )
}

/// A tracked file is git's to change, and a link where a file was is not an edit of that file.
fn require_replaceable(facts: &PullFacts<'_>, file: &PlacedFile) -> Result<(), SyncRefusal> {
    let (name, path) = (facts.name, &file.path);
    let refused = |why: &str, help| {
        let message = format!("cannot pull {path} from worktree `{name}`: {why}");
        Err(SyncRefusal::blocked(message, help))
    };
    if facts.tracked_there.binary_search(path).is_ok() {
        let help = format!(
            "compare them: git diff --no-index {path} \"$(git agentwt path {name})/{path}\""
        );
        return refused("the main worktree tracks it by now", help);
    }
    let found = facts.kinds.get(path).copied();
    if found == Some(file.kind) || found == Some(PlacedKind::Link) && facts.force {
        return Ok(());
    }
    let (found, placed) = (found.map_or("nothing", in_words), in_words(file.kind));
    let why = format!("it is {found} there, and was placed as {placed}");
    let help = format!(
        "look at it: ls -ld \"$(git agentwt path {name})/{path}\"; to pull it all the same: git agentwt sync {name} --force --pull {path}"
    );
    refused(&why, help)
}

const fn in_words(kind: PlacedKind) -> &'static str {
    match kind {
        PlacedKind::File => "a file",
        PlacedKind::Link => "a link",
        PlacedKind::Directory => "a directory",
    }
}

/// Holds what becomes of the synced files when the copies that nobody edited are removed.
#[derive(Debug, Default)]
pub struct CleanPlan<'p> {
    /// What is removed, directories too, which go when they are empty.
    pub remove: Vec<&'p PlacedFile>,
    /// What is gone already.
    pub missing: BTreeSet<&'p RepoPath>,
    /// Files that the main worktree does not have any more: these are the last copies.
    pub last: Vec<RepoPath>,
    /// Files that were edited in the worktree.
    pub edited: Vec<RepoPath>,
}

/// Decides what is removed. Context stays: it is of no use elsewhere.
pub fn plan_clean<'p>(placed: &'p Placed, drift: &[Drift]) -> CleanPlan<'p> {
    let mut plan = CleanPlan::default();
    let synced = placed.files().iter().zip(drift);
    for (file, drift) in synced.filter(|(file, _)| file.origin == Origin::Synced) {
        let is_directory = file.kind == PlacedKind::Directory;
        match drift.here {
            Here::Same if !is_directory && drift.there == There::Gone => {
                plan.last.push(file.path.clone());
            }
            Here::Same => plan.remove.push(file),
            Here::Edited if is_directory => {}
            Here::Edited => plan.edited.push(file.path.clone()),
            Here::Missing => {
                plan.missing.insert(&file.path);
            }
        }
    }
    plan
}
