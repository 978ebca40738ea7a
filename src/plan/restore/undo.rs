//! Decides what `restore --undo` brings back, and when it would lose what was done since; pure.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::Standing;
use super::refusal::RestoreRefusal;
use super::saved::SavedPath;
use crate::entry::{Entry, Mode};
use crate::name::CommitId;
use crate::path::RepoPath;

/// Holds what a rescue commit of a restore says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRestore {
    /// Its ref.
    pub rescue: String,
    /// Where HEAD was.
    pub previous: CommitId,
    /// Where the restore moved the branch, if it did.
    pub made: Option<CommitId>,
    /// How the paths were.
    pub paths: Vec<SavedPath>,
}

/// Holds a path that was restored, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// How it was.
    pub saved: SavedPath,
    /// What stands on disk.
    pub disk: Option<Entry>,
    /// Its entries in the index.
    pub index: Vec<(u8, Entry)>,
    /// Whether the disk is not as in the base.
    pub disk_changed: bool,
    /// Whether the index is not as in the base.
    pub index_changed: bool,
}

/// Holds what `restore --undo` looks at.
#[derive(Clone, Debug)]
pub struct UndoFacts {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its branch, and where HEAD is.
    pub standing: Standing,
    /// Where the branch is.
    pub tip: Option<CommitId>,
    /// Whether the previous HEAD is an ancestor of where the branch was moved.
    pub is_ancestor: bool,
    /// What was saved.
    pub saved: SavedRestore,
    /// How the paths are now.
    pub now: Vec<Now>,
    /// Other paths that stand on disk and are not as in the base.
    pub others: BTreeSet<RepoPath>,
}

/// Holds what `restore --undo` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// What is brought back, sorted; none of it holds anything newer.
    pub paths: Vec<SavedPath>,
    /// From where the branch goes back to where.
    pub branch: Option<(CommitId, CommitId)>,
    /// FIFOs, sockets and devices, which are not brought back.
    pub lost: Vec<RepoPath>,
}

impl Now {
    fn is_as_saved(&self) -> bool {
        self.disk == self.saved.disk && self.index == self.saved.index
    }

    /// Whether somebody has worked on it since. A restore that was killed has left it as it was,
    /// or taken it away; what is not there holds no work.
    fn is_newer(&self) -> bool {
        let disk = self.disk_changed && self.disk.is_some() && self.disk != self.saved.disk;
        let staged = self.index_changed && !self.index.is_empty();
        disk || staged && self.index != self.saved.index
    }
}

/// Decides.
///
/// # Errors
/// Refuses when the branch went on, or a path was worked on, since the restore.
pub fn plan(facts: &UndoFacts) -> Result<UndoPlan, RestoreRefusal> {
    let branch = branch(facts)?;
    let names: BTreeSet<&RepoPath> = facts.now.iter().map(|now| &now.saved.path).collect();
    let newer = facts.now.iter().filter(|now| now.is_newer());
    let mut newer: Vec<&RepoPath> = newer.map(|now| &now.saved.path).collect();
    let others = facts.others.iter().filter(|path| !names.contains(path));
    let stands = facts.now.iter().filter(|now| now.saved.disk.is_some());
    let stands: Vec<&RepoPath> = stands.map(|now| &now.saved.path).collect();
    newer.extend(others.filter(|other| {
        let blocks =
            |path: &&RepoPath| other.is_below(path.as_bstr()) || path.is_below(other.as_bstr());
        stands.iter().any(blocks)
    }));
    newer.sort_unstable();
    newer.dedup();
    if !newer.is_empty() {
        return Err(RestoreRefusal::ChangedSince {
            name: facts.name.clone(),
            items: newer.iter().map(ToString::to_string).collect(),
            path: facts.path.clone(),
            rescue: facts.saved.rescue.clone(),
        });
    }
    let is_special =
        |saved: &SavedPath| saved.disk.is_some_and(|entry| entry.mode == Mode::Special);
    let different = facts.now.iter().filter(|now| !now.is_as_saved());
    let paths: Vec<SavedPath> = different.map(|now| now.saved.clone()).collect();
    let lost = paths.iter().filter(|saved| is_special(saved));
    Ok(UndoPlan {
        lost: lost.map(|saved| saved.path.clone()).collect(),
        paths,
        branch,
    })
}

fn branch(facts: &UndoFacts) -> Result<Option<(CommitId, CommitId)>, RestoreRefusal> {
    let previous = &facts.saved.previous;
    let Some(made) = &facts.saved.made else {
        return Ok(None);
    };
    let (name, path) = (facts.name.clone(), facts.path.clone());
    let branch = facts.standing.branch.clone();
    if facts.tip.as_ref() == Some(previous) {
        return Ok(None);
    }
    if facts.tip.as_ref() != Some(made) {
        let now = facts.tip.as_ref().map_or("nothing", CommitId::short);
        return Err(RestoreRefusal::BranchMoved {
            name,
            path,
            branch,
            now: now.to_owned(),
            command: if facts.is_ancestor {
                format!("revert {}", made.short())
            } else {
                format!("rebase --onto {} {}", previous.short(), made.short())
            },
        });
    }
    if let Some(operation) = facts.standing.operation {
        return Err(RestoreRefusal::InProgress {
            name,
            path,
            operation,
        });
    }
    if let Some(elsewhere) = facts.standing.elsewhere.clone() {
        return Err(RestoreRefusal::Elsewhere {
            name,
            path,
            branch,
            elsewhere,
        });
    }
    Ok(Some((made.clone(), previous.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::ObjectId;

    fn file(byte: u8) -> Entry {
        let id = ObjectId::from_bytes(&[byte; 20]).expect("20 bytes");
        let mode = Mode::File;
        Entry { mode, id }
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("it is normal")
    }

    /// `a` had content 1; its base has 9.
    fn now(disk: Option<Entry>, disk_changed: bool) -> Now {
        Now {
            saved: SavedPath {
                path: path("a"),
                disk: Some(file(1)),
                permissions: None,
                index: Vec::new(),
            },
            disk,
            index: Vec::new(),
            disk_changed,
            index_changed: false,
        }
    }

    fn commit(digit: &str) -> CommitId {
        CommitId::parse(&digit.repeat(40)).expect("40 digits")
    }

    fn facts(now: Now) -> UndoFacts {
        UndoFacts {
            name: "t".into(),
            path: "/w".into(),
            standing: Standing {
                branch: "b".into(),
                elsewhere: None,
                operation: None,
            },
            tip: Some(commit("b")),
            is_ancestor: true,
            saved: SavedRestore {
                rescue: "r".into(),
                previous: commit("a"),
                made: Some(commit("b")),
                paths: Vec::new(),
            },
            now: vec![now],
            others: BTreeSet::new(),
        }
    }

    #[test]
    fn what_is_as_the_restore_left_it_is_brought_back() {
        let plan = plan(&facts(now(Some(file(9)), false))).expect("nothing is lost");
        assert_eq!(plan.paths.len(), 1);
        assert_eq!(plan.branch, Some((commit("b"), commit("a"))));
    }

    #[test]
    fn what_was_changed_since_is_never_overwritten() {
        let refused = plan(&facts(now(Some(file(2)), true)));
        assert!(matches!(refused, Err(RestoreRefusal::ChangedSince { .. })));
        let mut in_the_way = facts(now(Some(file(9)), false));
        in_the_way.others.insert(path("a/b"));
        let refused = plan(&in_the_way);
        assert!(matches!(refused, Err(RestoreRefusal::ChangedSince { .. })));
    }

    #[test]
    fn what_a_killed_restore_left_as_it_was_is_no_newer_work() {
        let kept = plan(&facts(now(Some(file(1)), true))).expect("nothing is lost");
        assert_eq!(kept.paths, []);
        let taken_away = plan(&facts(now(None, true))).expect("nothing is lost");
        assert_eq!(taken_away.paths.len(), 1);
    }

    #[test]
    fn a_branch_that_went_on_is_refused_and_one_that_never_moved_stays() {
        let mut moved = facts(now(Some(file(9)), false));
        moved.tip = Some(commit("c"));
        assert!(matches!(
            plan(&moved),
            Err(RestoreRefusal::BranchMoved { .. })
        ));
        moved.tip = Some(commit("a"));
        assert_eq!(plan(&moved).expect("nothing is lost").branch, None);
    }
}
