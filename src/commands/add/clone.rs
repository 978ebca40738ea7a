//! Creates the private repository of a worktree with strategy `clone`.
//!
//! Git clones the repository on this machine, so that a `gc` there removes nothing here. What a
//! linked worktree would share is then created alike: branches, tags and remote-tracking refs under
//! the same names, the same remotes, and the settings that decide what is in a file
//! (`docs/decisions/0017-clones.md`). With `--repo` the clone is of a URL, and comes before
//! anything is planned: what is to be created can only be read from it.

use camino::Utf8PathBuf;

use crate::commands::add::arguments::Add;
use crate::commands::{Session, is_nowhere};
use crate::disk::files;
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::git::refs::Ref;
use crate::git::remote::carried;
use crate::record::worktree::Record;
use crate::refusal::Refusal;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::repository::{PARENT_HOME, Repository, WORKTREES};

/// The refs that a clone has.
const SHARED: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// The name that git gives to where it cloned from.
const ORIGIN: &str = "remote.origin";

/// Finds the repository that keeps the record: with `--repo` the one around, or one in `--parent`
/// that only keeps records.
pub(super) fn find_home(
    session: &Session,
    name: &WorktreeName,
    options: &Add,
) -> Result<Repository, Error> {
    if options.repo.is_none() {
        let found = session.repository_to_change()?;
        if found.common_dir == found.root.join(PARENT_HOME) {
            let name = name.to_string();
            let dir = found.root;
            return Err(Refusal::NeedsRepo { name, dir }.into());
        }
        return session.repository_with_checkout();
    }
    let parent = match &options.parent {
        Some(parent) => parent,
        None => {
            let found = session.repository_to_change();
            let nowhere = found.as_ref().err().and_then(Error::find);
            match (nowhere, &session.parent_dir) {
                (Some(GitError::NoRepository { .. }), Some(parent)) => parent,
                (Some(GitError::NoRepository { dir }), None) => {
                    return Err(Refusal::NoParentDir { dir: dir.clone() }.into());
                }
                _other => return found,
            }
        }
    };
    let path = session.resolve(parent);
    if !files::is_directory(&path) {
        let path = path.into_string();
        return Err(Refusal::NoDirectory { path }.into());
    }
    let dir = files::canonical(&path)?;
    let mut found = session.repository_at(&dir);
    if found.as_ref().is_err_and(is_nowhere) {
        let git = Git::unchecked(&dir, session.runner.clone());
        git.version()?;
        let own = dir.join(PARENT_HOME);
        let what = format!("create {own}");
        git.perform(&what, "init --quiet --bare --", &[own.as_str()])?;
        found = session.repository_at(&dir);
    }
    let found = found?;
    if found.common_dir != dir.join(PARENT_HOME) {
        let root = found.root;
        return Err(Refusal::ParentInRepository { dir, root }.into());
    }
    Ok(found)
}

/// Holds a clone of a URL that is beside the worktrees until it becomes a worktree, and is removed
/// if it does not.
pub(super) struct FetchedClone {
    /// The clone, seen from the repository around.
    pub repository: Repository,
    directory: Utf8PathBuf,
}

impl Drop for FetchedClone {
    fn drop(&mut self) {
        let _ = files::remove_directory(&self.directory);
        let above = self.directory.ancestors().skip(1).take(2);
        above.for_each(files::remove_if_empty);
    }
}

impl FetchedClone {
    /// Clones; whatever fails, nothing is left behind.
    pub fn create(
        session: &Session,
        home: &Repository,
        name: &WorktreeName,
        url: &str,
    ) -> Result<Self, Error> {
        let directory = home.root.join(WORKTREES).join(format!(".cloning-{name}"));
        // we hold the lock of the name: what is there was left by a killed one
        files::remove_directory(&directory)?;
        // a relative path is relative to where the command started
        let git = home.git.at(&session.start);
        let cloned = git.clone_no_checkout(url, &directory);
        let clone = Self {
            repository: home.clone_at(&directory, home.format),
            directory,
        };
        session.check()?;
        cloned?;
        let layout = git.at(&clone.directory).layout()?;
        if layout.is_some_and(|layout| layout.format != home.format) {
            let name = name.to_string();
            let url = url.to_owned();
            return Err(Refusal::OtherFormat { name, url }.into());
        }
        Ok(clone)
    }

    /// Moves the clone to the place of the worktree, and begins its branch; the refs stay as git
    /// made them.
    pub fn move_in(&self, home: &Repository, record: &Record) -> Result<Repository, Error> {
        files::rename(&self.directory, &record.path)?;
        let own = home.clone_at(&record.path, home.format);
        let new = Vec::from_iter(new_branch(record));
        own.git.replace_refs(&[], &new, "clone: from its URL")?;
        own.git.begin_on(&record.branch.full_ref())?;
        Ok(own)
    }
}

/// Clones the repository without any file; returns the clone, seen from the repository.
///
/// # Errors
/// Fails when git or the disk does; the caller removes what is there by then.
pub(super) fn create(home: &Repository, record: &Record) -> Result<Repository, Error> {
    let from = &home.common_dir;
    let path = &record.path;
    // by the directory alone: git would take GIT_WORK_TREE for that of the clone
    let git = home.git.at(&home.root);
    git.clone_no_checkout(from.as_str(), path)?;
    let own = home.clone_at(path, home.format);
    let settings = home.git.config_list()?;
    let is_origin =
        |(scope, key, _): &(String, String, _)| scope == "local" && key == "remote.origin.url";
    let has_origin = settings.iter().any(is_origin);
    // git wrote what its branch would track
    let head = own.git.symbolic_ref_head()?.filter(|_| has_origin);
    let track = head.and_then(|name| Some(format!("branch.{}", name.strip_prefix("refs/heads/")?)));
    let mut there = own.git.for_each_ref(&["refs/"])?;
    if !has_origin {
        // then the repository itself is the origin of the clone
        there.retain(|one| !one.name.starts_with(b"refs/remotes/origin/"));
    }
    let reason = format!("clone: from {from}");
    let mut wanted = Vec::new();
    if files::exists(&own.common_dir.join("shallow")) {
        // the clone of a shallow repository has only what was sent: all refs, and the base
        own.git.replace_refs(&there, &[], &reason)?;
        there.clear();
        let same = SHARED.map(|prefix| format!("+{prefix}*:{prefix}*"));
        let mut args = vec![from.as_str()];
        args.extend(same.iter().map(String::as_str));
        args.push(record.checked_out.as_str());
        let command = "fetch --quiet --no-tags --no-write-fetch-head --update-shallow \
             --update-head-ok --refmap= --no-auto-maintenance --";
        own.git
            .perform(&format!("fetch from {from}"), command, &args)?;
    } else {
        wanted = home.git.for_each_ref(&SHARED)?;
        wanted.retain(|one| !one.is_symbolic());
    }
    wanted.extend(new_branch(record));
    own.git.replace_refs(&there, &wanted, &reason)?;
    own.git.begin_on(&record.branch.full_ref())?;
    let mut gone: Vec<&str> = track.iter().map(String::as_str).collect();
    gone.extend(has_origin.then_some(ORIGIN));
    let config = own.common_dir.join("config");
    for section in gone {
        let key = format!("{section}.remote");
        if section == ORIGIN || !own.git.config_file_get_all(&config, &key)?.is_empty() {
            let what = "change the clone's configuration";
            let args = [config.as_str(), "--remove-section", section];
            own.git.perform(what, "config --file", &args)?;
        }
    }
    copy_settings(home, &own)?;
    Ok(own)
}

fn new_branch(record: &Record) -> Option<Ref> {
    let name = record.branch.full_ref();
    let id = record.checked_out.clone();
    record.branch_made.then(|| Ref::new(name, id))
}

/// Gives a clone the settings and the rules beside the tree that a linked worktree would share.
fn copy_settings(home: &Repository, own: &Repository) -> Result<(), Error> {
    let config = own.common_dir.join("config");
    let mut text = files::read(&config)?.unwrap_or_default();
    text.extend(carried(&home.git.config_list()?, &home.root));
    files::write(&config, &text)?;
    for name in ["info/exclude", "info/attributes"] {
        if let Some(rules) = files::read(&home.common_dir.join(name))? {
            files::write(&own.common_dir.join(name), &rules)?;
        }
    }
    Ok(())
}
