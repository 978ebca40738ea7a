//! Makes the private git directory ready for the next command: what an earlier one left is imported
//! first, and what cannot be imported is moved out of the way.

use camino::Utf8Path;

use crate::actions::bring::kept_ref;
use crate::actions::import::import;
use crate::actions::import::kept::keep_all;
use crate::actions::import::outcome::{ImportFailure, Imported};
use crate::actions::import::plan::UserIndex;
use crate::answer::shapes::BranchMove;
use crate::commands::Session;
use crate::commands::exec::checks::not_fenced;
use crate::fence::error::FenceError;
use crate::fence::shim::PRIVATE_GIT;
use crate::judge::change::INDEX_LOCK;
use crate::record::run::{ImportConflict, Leftover, RunObjects};
use crate::system::families;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::{ImportedBefore, PrivateGit, WorktreeIndex};
use crate::worktree::repository::Repository;

/// A worktree whose next command is prepared. The lock of its name is held.
pub(super) struct Preparation<'a> {
    /// The repository of the worktree.
    pub repository: &'a Repository,
    /// The worktree, as it is under the lock.
    pub worktree: &'a Worktree,
    /// The git directory of its runs.
    pub private: &'a PrivateGit,
    /// Our own program.
    pub binary: &'a Utf8Path,
    /// Which objects the next command finds.
    pub objects: RunObjects,
}

impl Preparation<'_> {
    /// Writes the git directory for the next command.
    ///
    /// 1. What an earlier command left running ends.
    /// 2. What it left is imported: the branch moves, or its commits are kept by refs.
    /// 3. Its git directory is reused if it is still there; else a new one is written.
    ///
    /// Returns how the branch moved in that import.
    ///
    /// # Errors
    /// Fails when something of the earlier run is in the way, or git or the disk refuses.
    pub fn prepare(&self, notes: &mut Vec<String>) -> Result<Option<BranchMove>, Error> {
        let private = self.private;
        if !private.is_there() {
            self.write_new()?;
            return Ok(None);
        }
        // 1
        end_processes(private)?;
        // 2
        notes.push("what an earlier command left is imported first".to_owned());
        let now = Session::now();
        let imported = match import(self.repository, self.worktree, private, &now) {
            Ok(imported) => imported,
            Err(ImportFailure::Stopped(error)) => return Err(error),
            Err(ImportFailure::UnreadableRun(_)) => {
                notes.push(self.set_unreadable_apart()?);
                self.write_new()?;
                return Ok(None);
            }
        };
        let before = ImportedBefore {
            branch_commit: imported.branch_commit.clone(),
            index: index_for(&imported),
        };
        let moved = imported.moved.clone();
        self.keep_conflicting_commits(imported, notes)?;
        if let Some(moved) = &moved {
            let branch = &self.worktree.record.branch;
            let commit = moved.to.short();
            notes.push(format!("verified, {branch} moved to {commit}"));
        }
        // 3; the import removes a git directory in which nothing is left
        if private.is_there() {
            self.reuse(&before)?;
        } else {
            self.write_new()?;
        }
        Ok(moved)
    }

    /// Keeps commits of the earlier run by refs if they do not fit what the user did meanwhile: the
    /// next command then begins on the branch. A merge or rebase in progress is left as it is, and
    /// the next command goes on with it.
    ///
    /// # Errors
    /// Refuses the next command while the lock of the worktree's index is the conflict.
    fn keep_conflicting_commits(
        &self,
        imported: Imported,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let Some(conflict) = imported.conflict_with_commits() else {
            return Ok(());
        };
        if imported.left.contains(&Leftover::Operation) {
            return Ok(());
        }
        let worktree = self.worktree;
        if conflict == ImportConflict::IndexLocked {
            // the user's git is at work, so the commits may fit when it ends
            let lock = shell_word(worktree.record.admin_dir.join(INDEX_LOCK).as_str());
            let help = format!("wait for its end; if no git runs there: rm {lock}");
            return Err(not_fenced(worktree, &conflict.to_string(), &help));
        }
        keep_all(self.repository, worktree)?;
        if imported.is_needed() {
            let place = self.private.set_apart(worktree)?;
            notes.push(format!("its git directory is kept at {place}"));
        } else {
            self.private.remove()?;
        }
        if let Some(tip) = &imported.stays_away {
            notes.push(self.note_of_conflict(tip, conflict));
        }
        if imported.left.contains(&Leftover::Stash) {
            let name = &worktree.record.name;
            notes.push(format!(
                "its stashes are kept by refs, and `git stash list` does not show them: git log \
                 --glob=refs/agentwt/kept/{name}; to apply one: git stash apply <commit>"
            ));
        }
        notes.extend(imported.notes);
        Ok(())
    }

    fn note_of_conflict(&self, tip: &CommitId, conflict: ImportConflict) -> String {
        let branch = &self.worktree.record.branch;
        let kept = kept_ref(self.worktree, tip);
        format!(
            "{branch} is without the commits of an earlier command, as {conflict} meanwhile: \
             git log {kept}"
        )
    }

    /// Moves a git directory that cannot be read out of the way, with what could be read kept by
    /// refs.
    fn set_unreadable_apart(&self) -> Result<String, Error> {
        keep_all(self.repository, self.worktree)?;
        let place = self.private.set_apart(self.worktree)?;
        let name = &self.worktree.record.name;
        Ok(format!(
            "its git directory is damaged, and kept at {place}; the commits that could be read: \
             git log --glob=refs/agentwt/kept/{name}"
        ))
    }

    fn write_new(&self) -> Result<(), Error> {
        self.private
            .write_new(self.repository, self.worktree, self.binary, self.objects)
    }

    /// Makes the git directory of the earlier run the one of the next command.
    fn reuse(&self, before: &ImportedBefore) -> Result<(), Error> {
        let has_all = self.private.objects()? == RunObjects::Shared;
        if has_all && self.objects == RunObjects::Withheld {
            let name = &self.worktree.record.name;
            let help = format!("finish that first, without --withhold: git agentwt exec {name}");
            let why = "an earlier command had all objects, and left something";
            return Err(not_fenced(self.worktree, why, &help));
        }
        self.private
            .write_for_next_run(self.repository, self.worktree, self.binary, before)
    }
}

/// Ends the processes that an earlier command left, whose `exec` was killed.
fn end_processes(private: &PrivateGit) -> Result<(), FenceError> {
    let pids = families::end_started_with(PRIVATE_GIT, private.git_dir().as_str());
    if pids.is_empty() {
        Ok(())
    } else {
        Err(FenceError::Leftover { pids })
    }
}

/// Says whether the next command gets the index of the worktree.
fn index_for(imported: &Imported) -> WorktreeIndex {
    if imported.index == UserIndex::Restaged && imported.stays_away.is_none() {
        WorktreeIndex::FitsRun
    } else {
        WorktreeIndex::Stays
    }
}
