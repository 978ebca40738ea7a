//! Reads the arguments of commands that take a worktree and paths in it: `[<name>] [--]
//! [<path>...]`.

use std::ffi::OsString;
use std::fmt::Display;

use bstr::{BString, ByteSlice, ByteVec};
use camino::Utf8PathBuf;

use crate::scope::rule::EntryKind;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::path;
use crate::words::path::RepoPath;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree};
use crate::worktree::repository::Repository;

/// Removes the name of the worktree from the words, if the first word is the name of a worktree,
/// also of one that is incomplete or damaged; else the worktree is the one that the command started
/// in.
///
/// # Errors
/// Fails when no worktree is named and the command started in none, or it cannot be loaded.
pub fn load_named(repository: &Repository, words: &mut Vec<OsString>) -> Result<Worktree, Error> {
    let Some(first) = words.first() else {
        return Worktree::of(repository, None);
    };
    if let Ok(name) = WorktreeName::parse(&first.to_string_lossy())
        && !matches!(
            RecordState::read(repository, &name),
            Ok(RecordState::Missing)
        )
    {
        let worktree = Worktree::load(repository, &name)?;
        words.remove(0);
        return Ok(worktree);
    }
    match Worktree::of(repository, None) {
        Ok(worktree) => Ok(worktree),
        // outside of any worktree the first word can only have been meant as a name
        Err(_) => Worktree::of(repository, Some(&first.to_string_lossy())),
    }
}

/// The bytes of a word.
pub fn bytes_of(word: OsString) -> BString {
    match Vec::from_os_string(word) {
        Ok(bytes) => bytes.into(),
        Err(word) => word.to_string_lossy().into_owned().into(),
    }
}

/// Parses paths of a worktree: relative ones begin where the command started, inside the worktree
/// or in the main worktree.
///
/// # Errors
/// Fails when one is outside of the repository, or is not a path.
pub fn parse_all(
    repository: &Repository,
    worktree: &Utf8PathBuf,
    words: &[OsString],
) -> Result<Vec<RepoPath>, Error> {
    let start = prefix(repository, Some(worktree));
    let roots = [worktree, &repository.root];
    let mut paths = Vec::new();
    for word in words {
        let (path, _) = parse(&start, &roots, &bytes_of(word.clone()))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Where relative paths begin: the directory that the command started in, below the root of the
/// worktree.
pub fn prefix(repository: &Repository, worktree: Option<&Utf8PathBuf>) -> Vec<u8> {
    let start = &repository.start;
    let root = match worktree {
        Some(worktree) if start.starts_with(worktree) => Some(worktree),
        Some(_) | None => repository.toplevel.as_ref(),
    };
    match root.and_then(|root| start.strip_prefix(root).ok()) {
        Some(below) => below.as_str().as_bytes().to_vec(),
        None => Vec::new(),
    }
}

/// Parses a path that a user typed: a relative one begins in the directory `start` below the root,
/// an absolute one is in the first of the roots that it is in. A trailing slash means a directory,
/// as for `git check-ignore`.
///
/// # Errors
/// Fails when the path is outside of the repository, or is not a path; also when it is empty, as a
/// shell makes it of a variable without a value: git takes no empty pathspec either.
pub fn parse(
    start: &[u8],
    roots: &[&Utf8PathBuf],
    given: &BString,
) -> Result<(RepoPath, EntryKind), Error> {
    if given.is_empty() {
        return Err(bad_path(given, &"it is empty"));
    }
    let kind = if given.ends_with(b"/") {
        EntryKind::Directory
    } else {
        EntryKind::File
    };
    let text = given.strip_suffix(b"/").unwrap_or(given);
    let in_root = roots.iter().find_map(|root| path_in(root, text));
    let joined = match in_root {
        Some(in_root) => join(b"", in_root),
        None => join(start, text),
    };
    let Some(joined) = joined else {
        return Err(bad_path(given, &"it is outside the repository"));
    };
    if joined.is_empty() {
        return Err(bad_path(given, &"it is the root: name what is in it"));
    }
    match RepoPath::parse(joined) {
        Ok(path) => Ok((path, kind)),
        Err(error) => Err(bad_path(given, &error)),
    }
}

/// The path below a root that an absolute path names; empty for the root itself.
fn path_in<'t>(root: &Utf8PathBuf, absolute: &'t [u8]) -> Option<&'t [u8]> {
    let below = absolute.strip_prefix(root.as_str().as_bytes())?;
    if below.is_empty() {
        return Some(below);
    }
    below.strip_prefix(b"/")
}

fn bad_path(given: &BString, why: &dyn Display) -> Error {
    WorktreeFault::BadPath {
        text: path::escape_for_terminal(given),
        why: why.to_string(),
    }
    .into()
}

/// Joins a path to the directory below the root in which it begins, without `.` and `..`; none if
/// the path is absolute, or leads out of the root.
fn join(directory: &[u8], path: &[u8]) -> Option<Vec<u8>> {
    if path.starts_with(b"/") {
        return None;
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in directory.split_str("/").chain(path.split_str("/")) {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}
