//! Reads what says that a checkout may write other bytes than git stores (gitattributes(5)): the
//! settings, and every file of attributes, wherever git looks for one.

use bstr::{BString, ByteSlice};
use camino::Utf8PathBuf;

use super::add::Listing;
use crate::disk::files;
use crate::entry::Entry;
use crate::git::Git;
use crate::path::RepoPath;
use crate::plan::checkout::converts;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// A file of attributes: its name, and what it says.
pub type Attributes = (String, Vec<u8>);

/// Whether what a commit has may be written otherwise than it is stored, by whatever says so now.
/// What is replaced by another object is (git-replace(1)).
///
/// It is asked when a worktree is made, and never later: what somebody put into the shared
/// configuration since must hide no edit.
///
/// # Errors
/// Fails when git or the disk does.
pub fn possible(own: &Repository, git: &Git, listing: &Listing) -> Result<bool, WorktreeError> {
    if !git.for_each_ref(&["refs/replace/"])?.is_empty() {
        return Ok(true);
    }
    Ok(possible_beside(own, git)? || converts(&[], &tracked(own, listing)?, false))
}

/// Whether anything but the files of a commit says that.
fn possible_beside(own: &Repository, git: &Git) -> Result<bool, WorktreeError> {
    let settings = git.config_list()?.into_iter();
    let settings: Vec<_> = settings.map(|(_, key, value)| (key, value)).collect();
    match beside(own, git, &settings, git.system_attributes()?) {
        Ok(files) => Ok(converts(
            &settings,
            &files,
            git.reads_attributes_elsewhere(),
        )),
        // git passes over what it cannot read; whoever cannot tell says yes
        Err(WorktreeError::Disk(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The attributes that no commit has: of the repository, of the user, of the machine. `settings`
/// are all that this git sees, keys in lower case; `system` is where those of the machine are.
///
/// # Errors
/// Fails when git or the disk does.
pub fn beside(
    own: &Repository,
    git: &Git,
    settings: &[(String, BString)],
    system: Vec<Utf8PathBuf>,
) -> Result<Vec<Attributes>, WorktreeError> {
    let is_named = settings.iter().any(|(key, _)| key == "core.attributesfile");
    let users = if is_named {
        git.config_get_path("core.attributesFile")?
    } else {
        Git::default_attributes_file()
    };
    let mut beside = vec![own.common_dir.join("info/attributes")];
    // set to nothing, it is no file
    let users = users.filter(|file| !file.as_str().is_empty());
    beside.extend(users.map(|file| git.dir().join(file)));
    beside.extend(system);
    let mut all = Vec::new();
    for file in beside {
        if let Some(text) = files::read(&file)? {
            all.push((file.into_string(), text));
        }
    }
    Ok(all)
}

/// The attributes that a commit has, at any depth.
///
/// # Errors
/// Fails when one of them cannot be read.
pub fn tracked(own: &Repository, listing: &Listing) -> Result<Vec<Attributes>, WorktreeError> {
    let is_attributes = |path: &RepoPath| path.file_name() == ".gitattributes";
    let mut found = listing
        .entries
        .iter()
        .filter(|(path, entry)| is_attributes(path) && !entry.mode.is_directory())
        .peekable();
    if found.peek().is_none() {
        return Ok(Vec::new());
    }
    let objects = own.objects()?;
    let text = |(path, entry): &(RepoPath, Entry)| {
        let name = path.as_bstr().to_str_lossy().into_owned();
        Ok((name, objects.blob(&entry.id)?))
    };
    found.map(text).collect()
}
