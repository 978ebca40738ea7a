//! Finds worktrees of ours whose record was removed: [`LostWorktree`].

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::trash_bin::TRASH;
use crate::git::environment::GitMode;
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::loaded::in_private;
use crate::worktree::repository::{Repository, WORKTREES};

/// A worktree of ours whose record was removed: its private git directory still has our hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWorktree {
    /// Its name.
    pub name: WorktreeName,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// The commit it is on, as far as git can tell.
    pub head: Option<CommitId>,
}

/// Finds the worktrees whose record was removed.
///
/// # Errors
/// Fails when the private git directories cannot be read.
pub fn lost_worktrees(repository: &Repository) -> Result<Vec<LostWorktree>, Error> {
    let mut all_lost = Vec::new();
    let recorded = repository
        .recorded_git_dirs
        .names(&repository.record_places())?;
    for WorktreeGitDir {
        name,
        path,
        git_dir,
    } in git_dirs(repository)?
    {
        // one that was moved has another name than its record
        let id = git_dir.file_name().unwrap_or_default();
        if recorded.contains(id) || !is_unrecorded(repository, name.as_str(), &git_dir) {
            continue;
        }
        let git = repository.git.on(&git_dir, None);
        let head = git.with_mode(GitMode::Hardened).rev_parse_commit("HEAD");
        // a removal may have ended since we looked: it deletes the git directory, then the record
        if files::is_directory(&git_dir.join("agentwt")) {
            let head = in_private(repository, head)?;
            all_lost.push(LostWorktree { name, path, head });
        }
    }
    Ok(all_lost)
}

/// True if a git directory has our hooks, and nothing is recorded of this name.
fn is_unrecorded(repository: &Repository, name: &str, git_dir: &Utf8Path) -> bool {
    let record = repository.records_dir().join(name);
    files::is_directory(&git_dir.join("agentwt"))
        && !files::exists(&record.join("record.toml"))
        && !files::exists(&record.join("intent.toml"))
}

/// The private git directory of a linked worktree, or the git directory of a clone.
struct WorktreeGitDir {
    name: WorktreeName,
    path: Utf8PathBuf,
    git_dir: Utf8PathBuf,
}

impl WorktreeGitDir {
    /// Finds the worktree by its `.git`; none if it is in the trash, which has its record, or if
    /// `add` did not make it.
    fn new(git_dir: Utf8PathBuf, dot_git: &Utf8Path) -> Option<Self> {
        let path = dot_git.parent()?;
        // the repository may have been moved since, so only the end of the path is compared
        let is_in_trash = path
            .parent()?
            .ends_with(Utf8Path::new(WORKTREES).join(TRASH));
        if is_in_trash || dot_git.file_name() != Some(".git") {
            return None;
        }
        Some(Self {
            name: WorktreeName::parse(path.file_name()?).ok()?,
            path: path.to_owned(),
            git_dir,
        })
    }
}

/// Lists the private git directories of linked worktrees, and the git directories of clones, which
/// git does not list.
fn git_dirs(repository: &Repository) -> Result<Vec<WorktreeGitDir>, Error> {
    let mut git_dirs = Vec::new();
    let linked = repository.common_dir.join("worktrees");
    for id in files::names(&linked)? {
        let git_dir = linked.join(&id);
        match read_gitdir(&git_dir) {
            Ok(Some(dot_git)) => git_dirs.extend(WorktreeGitDir::new(git_dir, &dot_git)),
            Err(error) if is_unrecorded(repository, &id, &git_dir) => return Err(error.into()),
            // verification reports the error of a recorded worktree
            Ok(None) | Err(_) => {}
        }
    }
    let worktrees = repository.root.join(WORKTREES);
    for name in files::names(&worktrees)? {
        let dot_git = worktrees.join(name).join(".git");
        git_dirs.extend(WorktreeGitDir::new(dot_git.clone(), &dot_git));
    }
    Ok(git_dirs)
}
