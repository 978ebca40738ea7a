//! Decides how a restore is undone, and what refuses that: work that is newer stays.

use std::collections::BTreeSet;

use crate::actions::restore::plan::{RestoreFacts, blocking, require_movable_branch};
use crate::actions::restore::refusal::RestoreRefusal;
use crate::actions::saved::{SavedPath, SavedRestore};
use crate::answer::shapes::BranchMove;
use crate::words::entry::Entry;
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, shell_path, shell_word};

/// A path that was restored, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNow {
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

impl PathNow {
    /// True if it was worked on since. A restore that was killed has left it as it was, or taken it
    /// away; what is not there holds no work.
    fn is_newer(&self) -> bool {
        let has_work = self.disk_changed && self.disk.is_some() && self.disk != self.saved.disk;
        let has_staged =
            self.index_changed && !self.index.is_empty() && self.index != self.saved.index;
        has_work || has_staged
    }
}

/// What `restore --undo` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// What is brought back, sorted; none of it holds anything newer.
    pub paths: Vec<PathNow>,
    /// From where the branch goes back to where.
    pub branch: Option<BranchMove>,
}

impl UndoPlan {
    /// True if all is as it was before the restore.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.branch.is_none()
    }
}

/// Decides how a restore is undone: `now` are its paths, `tip` is where the branch is.
///
/// # Errors
/// Refuses when the branch went on, or a path was worked on, since the restore.
pub fn plan_undo(
    facts: &RestoreFacts<'_>,
    saved: &SavedRestore,
    mut now: Vec<PathNow>,
    tip: Option<&CommitId>,
) -> Result<UndoPlan, RestoreRefusal> {
    let branch = plan_branch_undo(facts, saved, tip)?;
    require_nothing_newer(facts, saved, &now)?;
    now.retain(|path| path.disk != path.saved.disk || path.index != path.saved.index);
    Ok(UndoPlan { paths: now, branch })
}

/// Decides how the branch goes back; none where it stays, as the restore made no commit or the
/// branch is back already.
fn plan_branch_undo(
    facts: &RestoreFacts<'_>,
    saved: &SavedRestore,
    tip: Option<&CommitId>,
) -> Result<Option<BranchMove>, RestoreRefusal> {
    let Some(made) = &saved.made else {
        return Ok(None);
    };
    if tip == Some(made) {
        require_movable_branch(facts)?;
        return Ok(Some(BranchMove {
            from: made.clone(),
            to: saved.previous.clone(),
        }));
    }
    if tip == Some(&saved.previous) {
        return Ok(None);
    }
    let name = &facts.record.name;
    let path = shell_word(facts.record.path.as_str());
    let branch = &facts.record.branch;
    let current = tip.map_or("nothing", CommitId::short);
    let onto = saved.previous.short();
    let upstream = made.short();
    Err(RestoreRefusal::Branch {
        message: format!(
            "cannot undo the restore of worktree `{name}`: `{branch}` has moved since, to \
                {current}"
        ),
        help: format!(
            "take what it did back, and keep what came since: git -C {path} rebase --onto {onto} \
                {upstream}"
        ),
    })
}

/// Refuses to undo where a path was worked on since the restore, or another stands in its way.
fn require_nothing_newer(
    facts: &RestoreFacts<'_>,
    saved: &SavedRestore,
    now: &[PathNow],
) -> Result<(), RestoreRefusal> {
    let mut at_risk: BTreeSet<&RepoPath> = BTreeSet::new();
    for path_now in now {
        if path_now.is_newer() {
            at_risk.insert(&path_now.saved.path);
        }
        if path_now.saved.disk.is_some() {
            at_risk.extend(blocking(&path_now.saved.path, &facts.others_on_disk));
        }
    }
    let Some(first) = at_risk.first() else {
        return Ok(());
    };
    let name = &facts.record.name;
    let root = shell_word(facts.record.path.as_str());
    let rescue = &saved.rescue;
    let file = shell_path(first);
    let items: String = at_risk.iter().map(|path| format!("\n  {path}")).collect();
    Err(RestoreRefusal::Undo {
        message: format!("cannot undo the restore of worktree `{name}`: changed since:{items}"),
        help: format!("see what was saved: git -C {root} diff {rescue} -- {file}"),
    })
}
