//! Reads the arguments of commands that take a worktree and paths in it: `[<name>] [--]
//! [<path>...]`.

use std::ffi::{OsStr, OsString};

use bstr::{BString, ByteSlice, ByteVec};
use camino::Utf8PathBuf;

use crate::scope::rule::EntryKind;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::path;
use crate::words::path::RepoPath;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Removes the name of the worktree from the words, if the first word is the name of a worktree;
/// else the worktree is the one that the command started in.
///
/// # Errors
/// Fails when no worktree is named and the command started in none, or it cannot be loaded.
pub fn load_named(repository: &Repository, words: &mut Vec<OsString>) -> Result<Worktree, Error> {
    let first = words.first().cloned();
    let known_name = |word: &OsStr| {
        let name = WorktreeName::parse(word.to_str()?).ok()?;
        Worktree::load(repository, &name).ok()
    };
    if let Some(known) = first.as_deref().and_then(known_name) {
        words.remove(0);
        return Ok(known);
    }
    match (Worktree::of(repository, None), first) {
        // outside of any worktree the first word can only have been meant as a name
        (Err(_), Some(word)) => Worktree::of(repository, Some(&word.to_string_lossy())),
        (known, _) => known,
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
    let below = prefix(repository, Some(worktree));
    let roots = [worktree, &repository.root];
    let mut paths = Vec::new();
    for word in words {
        let (path, _) = parse(&below, &roots, &bytes_of(word.clone()))?;
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

/// Parses a path. A trailing slash means a directory, as for `git check-ignore`; an absolute path
/// is below the first root that it is in.
///
/// # Errors
/// Fails when the path is outside of the repository, or is not a path.
pub fn parse(
    below: &[u8],
    roots: &[&Utf8PathBuf],
    given: &BString,
) -> Result<(RepoPath, EntryKind), Error> {
    let (text, kind) = match given.strip_suffix(b"/") {
        Some(text) => (text, EntryKind::Directory),
        None => (given.as_slice(), EntryKind::File),
    };
    let in_root = |root: &&Utf8PathBuf| text.strip_prefix(format!("{root}/").as_bytes());
    let (start, relative) = match roots.iter().find_map(in_root) {
        Some(inside) => (&b""[..], inside),
        None => (below, text),
    };
    let mut parts: Vec<&[u8]> = start
        .split_str("/")
        .filter(|part| !part.is_empty())
        .collect();
    let mut is_outside = relative.starts_with(b"/");
    for part in relative.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." => is_outside |= parts.pop().is_none(),
            part => parts.push(part),
        }
    }
    let bad = |why: String| {
        let text = path::escape_for_terminal(given);
        Error::from(WorktreeFault::BadPath { text, why })
    };
    if is_outside {
        return Err(bad("it is outside the repository".to_owned()));
    }
    let path = RepoPath::parse(parts.join(&b'/')).map_err(|error| bad(error.to_string()))?;
    Ok((path, kind))
}
