//! Gives a command in a fence a git directory of its own: [`PrivateGit`].
//!
//! The git directory of a worktree has files beside its index that run code at the next `git
//! status` of the user (`config.worktree`, `commondir`), so a fenced command must not write there.
//! It works on a *private git directory* in the record: a whole repository with its own HEAD,
//! index, refs and settings, whose objects are those of the common repository, read only, and its
//! own. After the command, its commits are fetched from there; no git is ever run on its settings
//! (`docs/decisions/0039-private-git-directory.md`).
//!
//! ```text
//! <record>/private/run.toml  the state of the run (`worktree/run_state.rs`)
//! <record>/private/git       the git directory; removed after a run that left nothing in it
//! <record>/private/git.new   a git directory that is being written or removed
//! <record>/private/dotgit    the `.git` file of the worktree inside of the fence
//! <record>/private/snapshot  the refs that the run began with, as packed-refs
//! <record>/private/index     the index of the worktree at the beginning of the run, or since its import
//! <record>/private/shallow   where history ends for a command without the excluded files
//! <record>/private/index.*   copies of an index: one that is being moved to other commits, one to be put back
//! <record>/damaged<n>        a git directory that was moved out of the way of the next run
//! ```
//!
//! The command can replace each entry of the git directory by a link or a pipe, but not the
//! directory itself. So pipes, and links that lead out of the git directory, are removed after the
//! command.

mod entries;
mod given;
mod mend;
mod packed_refs;
mod result;
pub mod settings;
mod write;

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8PathBuf;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::refs::Ref;
use crate::record::run::{Run, RunObjects};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::admin_dir::git_dirs_below;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;
use crate::worktree::run_state::RunFile;

/// The ref in the git directory of a run that names the commit that the branch has in the
/// repository. A command that we print names it: it is where the branch is when that command is
/// typed.
pub const BRANCH_REF: &str = "refs/agentwt/branch";
/// The directory in the record.
const PRIVATE: &str = "private";
/// A git directory that is not whole: it is being written or removed.
const NEW: &str = "git.new";
/// The file with the refs that the run began with.
const SNAPSHOT: &str = "snapshot";
/// What a git directory is called that was moved out of the way, before its number.
const DAMAGED: &str = "damaged";

/// The private git directory of the runs of one worktree.
#[derive(Clone, Debug)]
pub struct PrivateGit {
    /// Its directory in the record, which also has what else a run needs.
    pub dir: Utf8PathBuf,
}

/// What a run left.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// The commit of HEAD; none where HEAD cannot be read.
    pub head: Option<CommitId>,
    /// The commit of the worktree's branch.
    pub branch: Option<CommitId>,
    /// The ref that HEAD names; none where HEAD is detached.
    pub head_ref: Option<String>,
    /// What the refs of the repository named when the run began, without those that runs leave for
    /// a time.
    pub began: BTreeSet<CommitId>,
    /// The branches, tags and other refs that the run made or moved; not what a remote has.
    pub others: Vec<(BString, CommitId)>,
    /// The remote-tracking refs that a fetch of the run has moved.
    pub fetched: Vec<BString>,
    /// The remote-tracking refs that a push of the run has moved, but not that of its own branch.
    pub pushed: Vec<Ref>,
    /// What it stashed.
    pub stashes: Vec<CommitId>,
    /// Where HEAD was, as its reflog says, the newest first.
    pub been_on: Vec<CommitId>,
    /// The command of git that is in progress.
    pub operation: Option<&'static str>,
}

/// What the import before this run saw of the branch and of the index of the worktree.
#[derive(Clone, Debug, Default)]
pub struct ImportedBefore {
    /// The commit of the branch: what the user commits since then counts as done during the run.
    pub branch_commit: Option<CommitId>,
    /// The index of the worktree, as the run may take it.
    pub index: WorktreeIndex,
}

/// Says whether the index of the worktree becomes that of a run that goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorktreeIndex {
    /// The run goes on with its own.
    #[default]
    Stays,
    /// The user staged something while the run has no commits of its own: where HEAD is on the
    /// branch, the run gets that.
    FitsRun,
}

impl PrivateGit {
    /// The one of a worktree, whether there or not.
    pub fn new(worktree: &Worktree) -> Self {
        Self {
            dir: worktree.dir.join(PRIVATE),
        }
    }

    /// The git directory.
    pub fn git_dir(&self) -> Utf8PathBuf {
        self.dir.join("git")
    }

    /// The index.
    pub fn index(&self) -> Utf8PathBuf {
        self.git_dir().join("index")
    }

    /// The index of the worktree when the run began, or since its import.
    pub fn begun_index(&self) -> Utf8PathBuf {
        self.dir.join("index")
    }

    /// The file with the state of the run.
    pub fn run_file(&self) -> RunFile {
        RunFile::new(&self.dir)
    }

    /// True if a run left something: it was killed, or something of it cannot be imported.
    pub fn is_there(&self) -> bool {
        files::exists(&self.git_dir())
    }

    /// Reads the state of the run; none where no run left anything.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn run(&self) -> Result<Option<Run>, DiskError> {
        if !self.is_there() {
            return Ok(None);
        }
        self.run_file().read().map(Some)
    }

    /// Says which objects the command of the run finds.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn objects(&self) -> Result<RunObjects, DiskError> {
        Ok(self.run_file().read()?.objects)
    }

    /// Keeps the index of the worktree: git writes a new file in the place of the old one, which
    /// stays here.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn link_index(&self, worktree: &Worktree) -> Result<(), DiskError> {
        let index = worktree.record.admin_dir.join("index");
        files::link_or_copy(&index, &self.begun_index())
    }

    /// Moves the git directory out of the way of the next run, and returns where it is now.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn set_apart(&self, worktree: &Worktree) -> Result<Utf8PathBuf, DiskError> {
        let mut number = 0;
        loop {
            let place = worktree.dir.join(format!("{DAMAGED}{number}"));
            if !files::exists(&place) {
                files::rename(&self.git_dir(), &place)?;
                return Ok(place);
            }
            number += 1;
        }
    }

    /// Finds the git directories of runs that were moved out of the way.
    ///
    /// # Errors
    /// Fails when the record cannot be listed.
    pub fn find_damaged(worktree: &Worktree) -> Result<Vec<Utf8PathBuf>, Error> {
        let mut damaged = Vec::new();
        for name in files::names(&worktree.dir)? {
            if name.starts_with(DAMAGED) {
                damaged.push(worktree.dir.join(name));
            }
        }
        Ok(damaged)
    }

    /// True if a command made worktrees or submodules of its own.
    pub fn has_repositories(&self) -> bool {
        for name in ["worktrees", "modules"] {
            let directory = self.git_dir().join(name);
            if !files::is_directory(&directory) {
                continue;
            }
            // a clone that failed leaves empty directories; what cannot be listed may be work
            match git_dirs_below(&directory) {
                Ok(git_dirs) if git_dirs.is_empty() => {}
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }

    /// Removes it, after a run that left nothing in it.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove(&self) -> Result<(), DiskError> {
        // by a rename, so that a kill leaves the whole of it or none
        files::remove_directory(&self.dir.join(NEW))?;
        files::rename(&self.git_dir(), &self.dir.join(NEW))?;
        files::remove_directory(&self.dir)
    }
}

/// The ref of the commits of a run, until the branch is there.
pub fn incoming_ref(worktree: &Worktree) -> String {
    format!("refs/agentwt/incoming/{}", worktree.record.name)
}

/// True if a ref is where the branch of a worktree is on a remote, under its own name.
fn is_branch_on_remote(worktree: &Worktree, name: &BStr) -> bool {
    let ending = format!("/{}", worktree.record.branch);
    name.starts_with(b"refs/remotes/") && name.ends_with_str(&ending)
}

/// The refs of what else runs made or left, below which each names its object.
pub fn run_refs(worktree: &Worktree) -> String {
    format!("refs/agentwt/run/{}/", worktree.record.name)
}

/// Reads the refs of what the runs of a worktree made and its branch does not have.
///
/// # Errors
/// Fails when git does.
pub fn read_run_refs(repository: &Repository, worktree: &Worktree) -> Result<Vec<Ref>, Error> {
    let incoming = incoming_ref(worktree);
    let below = run_refs(worktree);
    let git = repository.git.with_mode(GitMode::Hardened);
    Ok(git.for_each_ref(&[&incoming, &below])?)
}
