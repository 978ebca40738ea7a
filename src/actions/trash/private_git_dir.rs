//! Finds the private git directory of a worktree: [`PrivateGitDir`]; and detaches HEAD in that of a
//! worktree in the trash: its branch may go, or be used by others.

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Strategy;
use crate::disk::files;
use crate::disk::trash_bin::TRASH;
use crate::git::process::Git;
use crate::record::worktree::TrashStamp;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::admin_dir::worktree_of;
use crate::worktree::gitdir::TRASHED_GIT_DIR;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The file HEAD of before, in the record.
pub(super) const HEAD_BEFORE: &str = "head-before";

/// Says where the private git directory of a worktree is.
pub enum PrivateGitDir {
    /// Among those of all worktrees, where git finds it.
    Registered(Utf8PathBuf),
    /// In the record.
    InRecord(Utf8PathBuf),
    /// In the worktree, as that is a clone.
    InWorktree,
    /// Nowhere.
    Gone,
}

impl PrivateGitDir {
    /// Finds it.
    pub fn find(worktree: &Worktree) -> Self {
        let record = &worktree.record;
        let in_record = worktree.dir.join(TRASHED_GIT_DIR);
        match record.strategy {
            Strategy::Clone => Self::InWorktree,
            Strategy::Worktree if files::is_directory(&in_record) => Self::InRecord(in_record),
            Strategy::Worktree if is_registered(worktree) => {
                Self::Registered(record.admin_dir.clone())
            }
            Strategy::Worktree => Self::Gone,
        }
    }
}

/// True if the private git directory that is recorded is there, and not of another worktree by now.
fn is_registered(worktree: &Worktree) -> bool {
    let record = &worktree.record;
    if !files::is_directory(&record.admin_dir) {
        return false;
    }
    match worktree_of(&record.admin_dir) {
        Some(path) if path != record.path => {
            !files::exists(&path.join(".git")) || is_in_trash(&path)
        }
        Some(_) | None => true,
    }
}

/// True for the directory of an entry of the trash: there an older version made it lead.
fn is_in_trash(path: &Utf8Path) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(TRASH))
}

/// Makes HEAD name the commit that it is on, if it names a branch. The private git directory is in
/// the record.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn detach_head(
    repository: &Repository,
    worktree: &Worktree,
    stamp: &TrashStamp,
) -> Result<(), Error> {
    let PrivateGitDir::InRecord(git_dir) = PrivateGitDir::find(worktree) else {
        return Ok(());
    };
    let Some(head) = &stamp.head else {
        return Ok(());
    };
    let git = repository.git.on(&git_dir, None);
    let copy = worktree.dir.join(HEAD_BEFORE);
    if stamp.on.is_none() || files::exists(&copy) && git.symbolic_ref_head()?.is_none() {
        return Ok(());
    }
    if !files::exists(&copy)
        && let Some(text) = files::read(&git_dir.join("HEAD"))?
    {
        files::write(&copy, &text)?;
    }
    detach_head_in(&git, &git_dir, head)
}

/// Makes HEAD in a private git directory name a commit.
///
/// # Errors
/// Fails when the disk or git does.
pub(super) fn detach_head_in(git: &Git, git_dir: &Utf8Path, head: &CommitId) -> Result<(), Error> {
    set_head(git, git_dir, &format!("{head}\n"))
}

/// Makes HEAD in a private git directory what it was, as the file `copy` says. Nothing is to be
/// done where that is not there, or was done already.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub(super) fn put_head_back(
    git: &Git,
    git_dir: &Utf8Path,
    copy: &Utf8Path,
    stamp: &TrashStamp,
) -> Result<(), Error> {
    let Some(text) = files::read(copy)? else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&text);
    if is_reftable(&text) {
        set_head(git, git_dir, &head_of(stamp))?;
    } else {
        set_head(git, git_dir, &text)?;
    }
    Ok(files::remove_file(copy)?)
}

/// What the file HEAD had.
fn head_of(stamp: &TrashStamp) -> String {
    if let Some(on) = &stamp.on {
        return format!("ref: {on}\n");
    }
    match &stamp.head {
        Some(head) => format!("{head}\n"),
        None => String::new(),
    }
}

/// True if a HEAD file stands in for one in a reftable (gitformat-reftable(5)).
fn is_reftable(head: &str) -> bool {
    head.starts_with("ref: refs/heads/.invalid")
}

/// Sets HEAD to what its file would hold, without an entry in its log.
fn set_head(git: &Git, git_dir: &Utf8Path, head: &str) -> Result<(), Error> {
    let file = git_dir.join("HEAD");
    let current = files::read(&file)?.unwrap_or_default();
    if is_reftable(&String::from_utf8_lossy(&current)) {
        return Ok(git.set_head(head.trim_end())?);
    }
    Ok(files::write(&file, head.as_bytes())?)
}
