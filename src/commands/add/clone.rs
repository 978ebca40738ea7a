//! Finds the repository that keeps the record of a new worktree, and clones the URL of `--repo`.

use camino::Utf8Path;

use crate::actions::create::clone::FetchedClone;
use crate::commands::add::arguments::Add;
use crate::commands::{Session, is_nowhere};
use crate::disk::files;
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::refusal::Refusal;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::repository::{PARENT_HOME, Repository};

/// Finds the repository that keeps the record of the new worktree: without `--repo`, the one
/// around, which has the commits too.
///
/// With `--repo` it is that of `--parent`, else the one around, else that of the library's parent
/// directory. Those of a parent directory only keep records.
pub(super) fn find_home(
    session: &Session,
    name: &WorktreeName,
    options: &Add,
) -> Result<Repository, Error> {
    if options.repo.is_none() {
        let repository = session.repository_to_change()?;
        let only_keeps_records = repository.common_dir == repository.root.join(PARENT_HOME);
        if only_keeps_records {
            let name = name.to_string();
            let dir = repository.root;
            return Err(Refusal::NeedsRepo { name, dir }.into());
        }
        // refuses a bare repository, unless we are in a worktree of it
        return session.repository_with_checkout();
    }
    if let Some(parent) = &options.parent {
        return repository_of_records(session, &session.resolve(parent));
    }
    let found_around = session.repository_to_change();
    let failure = found_around.as_ref().err().and_then(Error::find);
    let Some(GitError::NoRepository { dir }) = failure else {
        return found_around;
    };
    let Some(parent) = &session.parent_dir else {
        return Err(Refusal::NoParentDir { dir: dir.clone() }.into());
    };
    repository_of_records(session, &session.resolve(parent))
}

/// Finds the repository in a directory that only keeps records, and creates it where the directory
/// is in no repository.
fn repository_of_records(session: &Session, directory: &Utf8Path) -> Result<Repository, Error> {
    if !files::is_directory(directory) {
        let path = directory.to_string();
        return Err(Refusal::NoDirectory { path }.into());
    }
    let dir = files::canonical(directory)?;
    let own = dir.join(PARENT_HOME);
    let mut repository = session.repository_at(&dir);
    if repository.as_ref().is_err_and(is_nowhere) {
        let git = Git::unchecked(&dir, session.runner.clone());
        git.version()?;
        let what = format!("create {own}");
        git.perform(&what, "init --quiet --bare --", &[own.as_str()])?;
        repository = session.repository_at(&dir);
    }
    let home = repository?;
    if home.common_dir != own {
        let root = home.root;
        return Err(Refusal::ParentInRepository { dir, root }.into());
    }
    Ok(home)
}

/// Clones a URL for the worktree of this name; whatever fails, nothing is left behind.
///
/// # Errors
/// Fails when git does, a signal came, or the repository has another object format than the one
/// around.
pub(super) fn fetch(
    session: &Session,
    home: &Repository,
    name: &WorktreeName,
    url: &str,
) -> Result<FetchedClone, Error> {
    let clone = FetchedClone::begin(home, name)?;
    let cloned = clone.fetch(home, url, &session.start);
    session.check()?;
    cloned?;
    let layout = home.git.at(&clone.directory).layout()?;
    if layout.is_some_and(|layout| layout.format != home.format) {
        let name = name.to_string();
        let url = url.to_owned();
        return Err(Refusal::OtherFormat { name, url }.into());
    }
    Ok(clone)
}
