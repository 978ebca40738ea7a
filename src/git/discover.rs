//! Finds the repository of a directory as git does (`setup_git_directory_gently_1`, git's setup.c).
//!
//! What is usual is found here: a `.git` directory, or a `.git` file that leads to one. Git itself
//! is asked where it may refuse or look closer: a file of another owner, another file system on the
//! way up, a directory that is a git directory, and no repository at all (of `core.worktree`, the
//! caller asks).
//! `GIT_CEILING_DIRECTORIES` does not count, as no git that we start inherits it.
#![expect(clippy::disallowed_methods, reason = "looks at .git before all else")]

use std::fs::{Metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt as _;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::GitError;
use crate::git::git_dir::{common_dir, read_path, refuse_special_file, refuse_special_files};

/// A usual repository that was found from a directory.
pub(super) struct Discovered {
    /// The directory in which `.git` stands.
    pub toplevel: Utf8PathBuf,
    /// The private git directory, absolute.
    pub git_dir: Utf8PathBuf,
}

/// Finds the usual repository of a directory, in it or above; none if git has to be asked.
pub(super) fn discover(directory: &Utf8Path) -> Result<Option<Discovered>, GitError> {
    // a variable of git's own tests
    if std::env::var_os("GIT_TEST_ASSUME_DIFFERENT_OWNER").is_some() {
        return Ok(None);
    }
    let Ok(start) = directory.canonicalize_utf8() else {
        return Ok(None);
    };
    let start_device = device(&start);
    for level in start.ancestors() {
        let dot_git = level.join(".git");
        refuse_special_file(&dot_git)?;
        // git stops where another file system begins
        if device(level) != start_device {
            return Ok(None);
        }
        if let Some(found) = metadata(&dot_git) {
            return usual_repository(level, &dot_git, &found);
        }
        // git takes a bare repository as well
        if metadata(&level.join("HEAD")).is_some() {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Returns the repository to which `.git` leads; none if a file or link on the way belongs to another
/// user, or something that git looks for is missing: git has to be asked then. `metadata` is of
/// `.git` itself, also where that is a link.
fn usual_repository(
    toplevel: &Utf8Path,
    dot_git: &Utf8Path,
    metadata: &Metadata,
) -> Result<Option<Discovered>, GitError> {
    let target = if metadata.is_dir() {
        Some(dot_git.to_owned())
    } else {
        read_path(dot_git, b"gitdir: ")
    };
    let Some(target) = target else {
        return Ok(None);
    };
    let Ok(git_dir) = toplevel.join(target).canonicalize_utf8() else {
        return Ok(None);
    };
    refuse_special_files(&git_dir)?;
    let belongs_to_us = is_ours(toplevel) && is_ours(dot_git) && is_ours(&git_dir);
    if !belongs_to_us || !has_head(&git_dir) || !has_objects_and_refs(&git_dir) {
        return Ok(None);
    }
    Ok(Some(Discovered {
        toplevel: toplevel.to_owned(),
        git_dir,
    }))
}

fn metadata(path: &Utf8Path) -> Option<Metadata> {
    symlink_metadata(path).ok()
}

fn device(path: &Utf8Path) -> Option<u64> {
    metadata(path).map(|metadata| metadata.dev())
}

/// True if a path belongs to the user of this process.
fn is_ours(path: &Utf8Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    metadata(path).is_some_and(|metadata| metadata.uid() == user)
}

/// True if git can read HEAD: it takes no other directory for a repository.
fn has_head(git_dir: &Utf8Path) -> bool {
    let head = std::fs::read(git_dir.join("HEAD")).unwrap_or_default();
    if head.starts_with(b"ref: refs/") {
        return true;
    }
    let id = head.trim();
    id.len() >= 40 && id.iter().all(u8::is_ascii_hexdigit)
}

fn has_objects_and_refs(git_dir: &Utf8Path) -> bool {
    match common_dir(git_dir) {
        Some(common) => common.join("objects").is_dir() && common.join("refs").is_dir(),
        None => false,
    }
}
