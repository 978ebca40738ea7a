//! Clones a repository from elsewhere (`--repo`), before anything is planned: what is to be made
//! can only be read from it.

use camino::{Utf8Path, Utf8PathBuf};

use super::super::Session;
use crate::disk::files;
use crate::error::Error;
use crate::facts::{Repository, WorktreeError};
use crate::git::{Git, GitError};
use crate::name::WorktreeName;
use crate::plan::refusal::Refusal;
use crate::worktree::git_error;
use crate::worktree::repository::{PARENT_HOME, WORKTREES};

/// Holds a clone that stands beside the worktrees until it becomes one, and goes if it does not.
pub(super) struct Fetched {
    /// It, seen from the repository around.
    pub repository: Repository,
    staged: Staged,
}

/// Finds the repository around, or with `--parent`, or where a program that uses the library has
/// named a directory for this and none is around, makes one that only keeps records.
pub(super) fn home(session: &Session, options: &crate::cli::Add) -> Result<Repository, Error> {
    let parent = options.parent.as_ref();
    let parent = match (parent, session.parent_dir.as_ref()) {
        (Some(parent), _) => parent,
        (None, by_default) => {
            let found = session.repository_to_change();
            match (found.as_ref().err().and_then(git_error), by_default) {
                (Some(GitError::NoRepository { dir }), None) => {
                    return Err(Refusal::NoParentDir { dir: dir.clone() }.into());
                }
                (Some(GitError::NoRepository { .. }), Some(parent)) => parent,
                _other => return found,
            }
        }
    };
    let parent = session.resolve(parent);
    if !files::is_directory(&parent) {
        return Err(Refusal::NoParent {
            path: parent,
            name: options.name.clone(),
            url: options.repo.clone().unwrap_or_default(),
        }
        .into());
    }
    let parent = files::canonical(&parent)?;
    let find = || session.repository_at(&parent);
    match find() {
        Ok(found) if found.common_dir == parent.join(PARENT_HOME) => Ok(found),
        Ok(found) => Err(Refusal::ParentInRepository {
            dir: parent,
            root: found.root,
        }
        .into()),
        Err(WorktreeError::Git(GitError::NoRepository { .. })) => {
            let git = Git::unchecked(&parent, session.runner.clone()).checked()?;
            git.init_bare(&parent.join(PARENT_HOME))?;
            Ok(find()?)
        }
        Err(other) => Err(other.into()),
    }
}

/// Finds the repository whose own worktree is to be made: a directory for clones has none.
pub(super) fn here(session: &Session, name: &WorktreeName) -> Result<Repository, Error> {
    let found = session.repository_to_change()?;
    if found.common_dir == found.root.join(PARENT_HOME) {
        let (name, dir) = (name.to_string(), found.root);
        return Err(Refusal::NeedsRepo { name, dir }.into());
    }
    session.repository_with_checkout()
}

/// Removes a directory that nobody took.
struct Staged(Utf8PathBuf);

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = files::remove_directory(&self.0);
        for above in self.0.ancestors().skip(1).take(2) {
            files::remove_if_empty(above);
        }
    }
}

impl Fetched {
    /// Clones; whatever fails, nothing stays.
    pub fn new(
        session: &Session,
        home: &Repository,
        name: &WorktreeName,
        url: &str,
    ) -> Result<Self, Error> {
        let directory = home.root.join(WORKTREES).join(format!(".cloning-{name}"));
        // we hold the lock of the name: what is there was left by a killed one
        files::remove_directory(&directory)?;
        let staged = Staged(directory);
        // a relative path is one of where we stand
        let git = home.git.at(&session.start);
        if let Err(error) = git.clone_no_checkout(url, &staged.0) {
            session.check()?;
            return Err(error.into());
        }
        session.check()?;
        let layout = git.at(&staged.0).layout()?;
        if layout.is_some_and(|layout| layout.format != home.format) {
            let (name, url) = (name.to_string(), url.to_owned());
            return Err(Refusal::OtherFormat { name, url }.into());
        }
        let repository = home.clone_at(&staged.0, home.format);
        Ok(Self { repository, staged })
    }

    /// Puts it where the worktree is to be.
    pub fn settle(&self, path: &Utf8Path) -> Result<(), Error> {
        Ok(files::rename(&self.staged.0, path)?)
    }
}
