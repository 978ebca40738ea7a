//! Creates the private repository of a worktree with strategy `clone`.
//!
//! Git clones the repository on this machine, so that a `gc` there removes nothing here. What a
//! linked worktree would share is then created alike: branches, tags and remote-tracking refs under
//! the same names, the same remotes, and the settings that decide what is in a file
//! (`docs/decisions/0017-clones.md`). With `--repo` the clone is of a URL, and comes before
//! anything is planned: what is to be created can only be read from it.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::error::GitError;
use crate::git::refs::Ref;
use crate::git::remote::carried;
use crate::record::worktree::Record;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::repository::{Repository, WORKTREES};

/// The refs that a clone has.
const SHARED: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// The name that git gives to where it cloned from.
const ORIGIN: &str = "remote.origin";

/// A clone of a URL that is beside the worktrees until it becomes a worktree, and is removed if it
/// does not.
pub struct FetchedClone {
    /// The clone, seen from the repository around.
    pub repository: Repository,
    /// Its directory.
    pub directory: Utf8PathBuf,
}

impl Drop for FetchedClone {
    fn drop(&mut self) {
        let _ = files::remove_directory(&self.directory);
        let above = self.directory.ancestors().skip(1).take(2);
        above.for_each(files::remove_if_empty);
    }
}

impl FetchedClone {
    /// Begins a clone for the worktree of this name, whose lock is held: what stands in its place
    /// was left by a killed command.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn begin(home: &Repository, name: &WorktreeName) -> Result<Self, Error> {
        let directory = home.root.join(WORKTREES).join(format!(".cloning-{name}"));
        files::remove_directory(&directory)?;
        Ok(Self {
            repository: home.clone_at(&directory, home.format),
            directory,
        })
    }

    /// Lets git clone the URL; a relative path is relative to the directory `start`.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn fetch(&self, home: &Repository, url: &str, start: &Utf8Path) -> Result<(), GitError> {
        home.git.at(start).clone_no_checkout(url, &self.directory)
    }

    /// Moves the clone to the place of the worktree, and begins its branch; the refs stay as git
    /// made them.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn move_in(&self, home: &Repository, record: &Record) -> Result<Repository, Error> {
        files::rename(&self.directory, &record.path)?;
        let own = home.clone_at(&record.path, home.format);
        let new = Vec::from_iter(new_branch(record));
        own.git.replace_refs(&[], &new, "clone: from its URL")?;
        own.git.begin_on(&record.branch.full_ref())?;
        Ok(own)
    }
}

/// Clones the repository without any file, with all refs that a linked worktree would share;
/// returns the clone, seen from the repository.
///
/// # Errors
/// Fails when git or the disk does; the caller removes what is there by then.
pub fn create(home: &Repository, record: &Record) -> Result<Repository, Error> {
    let from = &home.common_dir;
    let path = &record.path;
    // read before the clone, which then has every commit that they name
    let mut refs_to_create = home.git.for_each_ref(&SHARED)?;
    refs_to_create.retain(|shared| !shared.is_symbolic());
    // by the directory alone: git would take GIT_WORK_TREE for that of the clone
    let git = home.git.at(&home.root);
    git.clone_no_checkout(from.as_str(), path)?;
    let own = home.clone_at(path, home.format);
    let origin = origin_of(home)?;
    let cloned_branch = own.git.symbolic_ref_head()?;
    let mut refs_to_delete = own.git.for_each_ref(&["refs/"])?;
    if origin == OriginOwner::Repository {
        // what git has fetched from the repository keeps the names that git gave it
        refs_to_delete.retain(|of_git| !of_git.name.starts_with(b"refs/remotes/origin/"));
    }
    let reason = format!("clone: from {from}");
    if files::exists(&own.common_dir.join("shallow")) {
        // the clone may not have what the refs name: a fetch brings both
        own.git.replace_refs(&refs_to_delete, &[], &reason)?;
        fetch_all_refs(&own, from, record)?;
        refs_to_delete.clear();
        refs_to_create.clear();
    }
    refs_to_create.extend(new_branch(record));
    own.git
        .replace_refs(&refs_to_delete, &refs_to_create, &reason)?;
    own.git.begin_on(&record.branch.full_ref())?;
    if origin == OriginOwner::User {
        remove_remote_of_git(&own, cloned_branch.as_deref())?;
    }
    // last: the user's `origin` comes in the place of git's
    copy_settings(home, &own)?;
    Ok(own)
}

/// Whose remote `origin` is in a clone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OriginOwner {
    /// The one that the repository has.
    User,
    /// The repository itself: it has none.
    Repository,
}

/// Finds out whose remote `origin` is: a setting of the repository says that it has one.
fn origin_of(home: &Repository) -> Result<OriginOwner, Error> {
    for (scope, key, _) in home.git.config_list()? {
        if scope == "local" && key == "remote.origin.url" {
            return Ok(OriginOwner::User);
        }
    }
    Ok(OriginOwner::Repository)
}

/// Fetches all refs, and the base, into the clone of a shallow repository: it has only what was
/// sent.
fn fetch_all_refs(own: &Repository, from: &Utf8Path, record: &Record) -> Result<(), Error> {
    let refspecs = SHARED.map(|prefix| format!("+{prefix}*:{prefix}*"));
    let mut args = vec![from.as_str()];
    args.extend(refspecs.iter().map(String::as_str));
    args.push(record.checked_out.as_str());
    let command = "fetch --quiet --no-tags --no-write-fetch-head --update-shallow \
         --update-head-ok --refmap= --no-auto-maintenance --";
    let what = format!("fetch from {from}");
    own.git.perform(&what, command, &args)?;
    Ok(())
}

/// Removes the remote that git has set in a clone, and what the branch that it checked out tracks.
fn remove_remote_of_git(own: &Repository, cloned_branch: Option<&str>) -> Result<(), Error> {
    let config = own.common_dir.join("config");
    let branch = cloned_branch.and_then(|name| name.strip_prefix("refs/heads/"));
    if let Some(branch) = branch {
        let section = format!("branch.{branch}");
        let key = format!("{section}.remote");
        if !own.git.config_file_get_all(&config, &key)?.is_empty() {
            remove_section(own, &config, &section)?;
        }
    }
    remove_section(own, &config, ORIGIN)
}

fn remove_section(own: &Repository, config: &Utf8Path, section: &str) -> Result<(), Error> {
    let what = "change the clone's configuration";
    let args = [config.as_str(), "--remove-section", section];
    own.git.perform(what, "config --file", &args)?;
    Ok(())
}

/// The branch that the worktree begins; none where it goes on with one that is there.
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
