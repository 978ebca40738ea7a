//! Defines the journal of a command: the steps by which it changes a repository, and what undoes
//! each of them.
//!
//! A step is written down before it is taken, so that a kill at any moment leaves no change that
//! the journal does not name. Whether a step was taken is decided by what stands where it works,
//! and what another process changed since is never touched. This file knows no disk and no git:
//! `worktree/journal.rs` writes and reads, `actions/journal/` looks and acts.
//!
//! A new kind of step is a variant of [`Step`], a row in [`Step::undo`], and a file in
//! `actions/journal/` that looks at what stands where the step works, and reverts the step.
//!
//! ```toml
//! version = 4
//! process = 4711
//! started = "0d3a… 88112"
//!
//! [[step]]
//! kind = "created-branch"
//! name = "agentwt/task-5"
//! at = "af82e40edf386d673bb6f4292ab3a4faea3c91e5"
//! ```

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::words::name::{BranchName, CommitId, WorktreeName};

/// A journal: who writes it, and the steps in the order in which they are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalFile {
    /// The process that takes the steps.
    pub process: u32,
    /// What only this very process has, as long as its number means it; none where the system does
    /// not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The command that takes the steps.
    #[serde(default, skip_serializing_if = "JournaledCommand::is_default")]
    pub command: JournaledCommand,
    /// The steps, as they were written.
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A command that writes a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournaledCommand {
    /// `add`; journals that name no command are of an `add`, too.
    #[default]
    Add,
    /// `restore`.
    Restore,
    /// `restore --undo`, which is brought to its end.
    UndoRestore,
    /// `scope`, where it changes a scope.
    Scope,
    /// `reapply`, which is brought to its end.
    Reapply,
    /// `land`.
    Land,
}

impl JournaledCommand {
    /// True for the command of a journal that names none.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the name, as a user types it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Restore => "restore",
            Self::UndoRestore => "restore --undo",
            Self::Scope => "scope",
            Self::Reapply => "reapply",
            Self::Land => "land",
        }
    }

    /// Says what state is there once the steps are undone.
    pub const fn undone(self) -> &'static str {
        match self {
            Self::Add => "nothing of it is left",
            Self::Restore | Self::UndoRestore => "all is as it was before the restore",
            Self::Scope => "the scope is the former one",
            Self::Reapply => "the scope is applied",
            Self::Land => "nothing is merged",
        }
    }
}

/// One step of a command that changes a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A directory is created where nothing stood; what comes into it belongs to the step.
    CreatedDirectory {
        /// The directory.
        path: Utf8PathBuf,
    },
    /// Git registers a worktree: it creates a private git directory that names the path.
    CreatedWorktree {
        /// The directory of the worktree.
        path: Utf8PathBuf,
    },
    /// A branch is created where there was none.
    CreatedBranch {
        /// The branch.
        name: BranchName,
        /// The commit at which it is created.
        at: CommitId,
    },
    /// A file changes that git and other commands write as well.
    ChangedSharedFile(SharedFileChange),
    /// The rule is written that makes git ignore our worktrees; all worktrees need it.
    AddedIgnoreRule(SharedFileChange),
    /// Paths of a worktree change, and its branch: what was there is saved under a ref.
    RestoredPaths {
        /// The worktree.
        worktree: WorktreeName,
        /// The ref.
        rescue: String,
    },
    /// The scope of a worktree is applied, after another one was recorded.
    AppliedScope {
        /// The worktree.
        worktree: WorktreeName,
        /// The record before; none where it does not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<KeptFile>,
    },
    /// Git brings the worktree that has a branch checked out forward, with index and files.
    BroughtForward(ForwardMove),
    /// Git moves a branch that no worktree has checked out. What it moved stays where it is.
    MovedBranch {
        /// The branch.
        name: BranchName,
    },
    /// The step before this one was not taken, and changed nothing.
    NotTaken,
}

/// How git brings a worktree forward. What it replaces stands in the directory of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardMove {
    /// The branch.
    pub into: BranchName,
    /// The worktree that has it checked out.
    pub checkout: Utf8PathBuf,
    /// The commit of both before.
    pub before: CommitId,
    /// The commit that they get.
    pub commit: CommitId,
}

/// How a step changes a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedFileChange {
    /// The file.
    pub path: Utf8PathBuf,
    /// What it held before; none where there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<KeptFile>,
    /// The digest of what it holds afterwards; none while only the git that writes it knows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A file as it was, which stands in the directory of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptFile {
    /// Its name there.
    pub name: String,
    /// The digest of its content.
    pub digest: String,
}

/// What stands now where a step works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Nothing,
    /// The directory that was created, git's entry of the worktree, or the worktree whose scope is
    /// applied.
    Directory,
    /// A branch.
    Branch {
        /// Where it is.
        at: CommitId,
        /// Its reflog, the newest entry first; none where it has none.
        log: Option<Vec<LogEntry>>,
    },
    /// A file with this digest.
    File(String),
    /// The ignore rule, while there is another worktree that needs it.
    Needed,
    /// What the step replaces is saved.
    Saved,
    /// What the step replaces was saved, and is no longer there.
    NotSaved,
    /// What git has written of a worktree that it brings forward.
    HalfWritten(HalfWritten),
}

/// How far a worktree is that git was bringing forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HalfWritten {
    /// Nothing is to be put back: the branch moved, or the worktree is on another one, or gone.
    Over,
    /// The branch did not move, and each file is as before, or as git writes it.
    AsGitLeft,
    /// The branch did not move, and the user changed these paths since.
    Changed(Vec<String>),
    /// The branch did not move, and the user staged something since.
    Staged,
}

/// An entry of a branch's reflog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Where the branch went.
    pub at: CommitId,
    /// Why.
    pub reason: String,
}

/// What undoes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Nothing: the step was not taken, or what it did is undone or needed.
    Nothing,
    /// What the step did is reverted.
    Revert,
    /// What stands there stays, for this reason.
    Keep(&'static str),
    /// It has to wait until somebody looks at what stands there, for this reason; the journal
    /// stays.
    Wait(&'static str),
}

/// Returns what git and we write into the reflog of a branch that is created at a commit.
pub fn reason_of_creation(at: &CommitId) -> String {
    format!("branch: Created from {at}")
}

impl Step {
    /// Decides what undoes the step, by what stands now where it works.
    pub fn undo(&self, now: &Now) -> Undo {
        match self {
            Self::CreatedDirectory { .. }
            | Self::CreatedWorktree { .. }
            | Self::AppliedScope { .. } => {
                if *now == Now::Directory {
                    return Undo::Revert;
                }
            }
            Self::CreatedBranch { at, .. } => {
                if let Now::Branch { at: tip, log } = now {
                    return undo_branch(at, tip, log.as_deref());
                }
            }
            Self::ChangedSharedFile(change) | Self::AddedIgnoreRule(change) => {
                if matches!(now, Now::Nothing | Now::File(_)) {
                    return change.undo(now);
                }
            }
            Self::RestoredPaths { .. } => {
                if *now == Now::Saved {
                    return Undo::Revert;
                }
                if *now == Now::NotSaved {
                    return Undo::Keep("it was deleted");
                }
            }
            Self::BroughtForward(_) => {
                if let Now::HalfWritten(state) = now {
                    return state.undo();
                }
            }
            // the branch stays, and nothing is looked at
            Self::MovedBranch { .. } => {}
            Self::NotTaken => return Undo::Nothing,
        }
        // nothing stands there, or what this step does not make
        match now {
            Now::Nothing | Now::Needed => Undo::Nothing,
            Now::Directory
            | Now::Branch { .. }
            | Now::File(_)
            | Now::HalfWritten(_)
            | Now::Saved
            | Now::NotSaved => Undo::Keep("something else stands there now"),
        }
    }

    /// Returns the file that the step changes, if it changes one.
    pub fn file_change(&self) -> Option<&SharedFileChange> {
        match self {
            Self::ChangedSharedFile(change) | Self::AddedIgnoreRule(change) => Some(change),
            Self::CreatedDirectory { .. }
            | Self::CreatedWorktree { .. }
            | Self::CreatedBranch { .. }
            | Self::RestoredPaths { .. }
            | Self::AppliedScope { .. }
            | Self::BroughtForward(_)
            | Self::MovedBranch { .. }
            | Self::NotTaken => None,
        }
    }

    /// Returns the branch that the step creates, if it creates one.
    pub const fn created_branch(&self) -> Option<&BranchName> {
        match self {
            Self::CreatedBranch { name, .. } => Some(name),
            Self::CreatedDirectory { .. }
            | Self::CreatedWorktree { .. }
            | Self::ChangedSharedFile(_)
            | Self::AddedIgnoreRule(_)
            | Self::RestoredPaths { .. }
            | Self::AppliedScope { .. }
            | Self::BroughtForward(_)
            | Self::MovedBranch { .. }
            | Self::NotTaken => None,
        }
    }
}

impl HalfWritten {
    /// Decides what undoes what git has written.
    const fn undo(&self) -> Undo {
        match self {
            Self::Over => Undo::Nothing,
            Self::AsGitLeft => Undo::Revert,
            Self::Changed(_) => Undo::Wait("files changed there since"),
            Self::Staged => Undo::Wait("its index changed since"),
        }
    }
}

impl SharedFileChange {
    /// Decides what undoes the change, by what the file holds now.
    fn undo(&self, now: &Now) -> Undo {
        let digest_now = match now {
            Now::File(digest) => Some(digest),
            _nothing => None,
        };
        let digest_before = self.before.as_ref().map(|kept| &kept.digest);
        if digest_now == digest_before {
            return Undo::Nothing;
        }
        if digest_now == self.after.as_ref() && digest_now.is_some() {
            return Undo::Revert;
        }
        Undo::Keep("another process changed it since")
    }
}

/// Decides whether a branch is as the step created it: at that commit, with no other commit in its
/// reflog, and created by an entry like ours.
fn undo_branch(created_at: &CommitId, tip: &CommitId, log: Option<&[LogEntry]>) -> Undo {
    if tip != created_at {
        return Undo::Keep("it has moved since");
    }
    let entries = log.unwrap_or_default();
    if entries.iter().any(|entry| entry.at != *created_at) {
        return Undo::Keep("it has moved since");
    }
    match entries.last() {
        Some(oldest) if oldest.reason != reason_of_creation(created_at) => {
            Undo::Keep("another process created it")
        }
        Some(_) | None => Undo::Revert,
    }
}

/// Returns the steps that were taken, or begun: the last entry of each file counts, and a step that
/// was not taken is left out.
pub fn begun(entries: &[Step]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for entry in entries {
        if *entry == Step::NotTaken {
            steps.pop();
            continue;
        }
        let path = entry.file_change().map(|change| &change.path);
        let same_file = steps
            .iter_mut()
            .find(|step| path.is_some() && step.file_change().map(|change| &change.path) == path);
        match same_file {
            Some(step) => *step = entry.clone(),
            None => steps.push(entry.clone()),
        }
    }
    steps
}

/// Returns the whole steps of a journal whose last one may have been cut off while it was written:
/// a step that is not whole was not taken.
pub fn without_cut_step(text: &str) -> &str {
    match text.rfind("\n[[step]]") {
        Some(at) => &text[..=at],
        None => text,
    }
}

/// The name of a step's subject, for a person.
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CreatedDirectory { path } => write!(f, "{path}"),
            Self::CreatedWorktree { path } => write!(f, "git's entry of {path}"),
            Self::CreatedBranch { name, .. } | Self::MovedBranch { name } => {
                write!(f, "branch {name}")
            }
            Self::ChangedSharedFile(change) | Self::AddedIgnoreRule(change) => {
                write!(f, "{}", change.path)
            }
            Self::AppliedScope { worktree, .. } => write!(f, "the scope of {worktree}"),
            Self::RestoredPaths { rescue, .. } => write!(f, "what is saved in {rescue}"),
            Self::BroughtForward(step) => write!(f, "{}", step.checkout),
            Self::NotTaken => write!(f, "nothing"),
        }
    }
}

/// Returns the directory of the journal, below that of the worktree's record.
pub fn directory(record_dir: &Utf8Path) -> Utf8PathBuf {
    record_dir.join("journal")
}

#[cfg(test)]
mod tests;
