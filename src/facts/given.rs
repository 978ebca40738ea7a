//! Reads the arguments of commands that take a worktree and paths of it: `[<name>] [--] [<path>...]`.

use std::ffi::{OsStr, OsString};

use bstr::{BString, ByteSlice, ByteVec};
use camino::Utf8PathBuf;

use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::plan::refusal::Refusal;
use crate::scope::EntryKind;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Takes the worktree's name off the words, if the first one is the name of a worktree; else the
/// worktree is the one that we are in.
///
/// # Errors
/// Fails when we are in none and no name was given, or it cannot be loaded.
pub fn take_name(
    repository: &Repository,
    words: &mut Vec<OsString>,
) -> Result<Worktree, WorktreeError> {
    let name = words.first().and_then(|word| known_name(repository, word));
    if name.is_some() {
        words.remove(0);
        return Worktree::of(repository, name.as_deref());
    }
    let unknown = words
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    match (Worktree::of(repository, None), unknown) {
        // outside of any worktree the first word can only have been meant as a name
        (Err(_), Some(text)) => Worktree::of(repository, Some(&text)),
        (known, _) => known,
    }
}

fn known_name(repository: &Repository, word: &OsStr) -> Option<String> {
    let name = WorktreeName::parse(word.to_str()?).ok()?;
    Worktree::load(repository, &name)
        .ok()
        .map(|_| name.to_string())
}

/// The bytes of a word.
#[must_use]
pub fn bytes_of(word: OsString) -> BString {
    Vec::from_os_string(word)
        .unwrap_or_else(|word| word.to_string_lossy().into_owned().into())
        .into()
}

/// Where relative paths begin: the directory that we are in, below the worktree's root.
#[must_use]
pub fn prefix(repository: &Repository, worktree: Option<&Utf8PathBuf>) -> Vec<u8> {
    let root = worktree.filter(|path| repository.start.starts_with(path));
    let root = root.or(repository.toplevel.as_ref());
    let below = root.and_then(|root| repository.start.strip_prefix(root).ok());
    below
        .map(|below| below.as_str().as_bytes().to_vec())
        .unwrap_or_default()
}

/// Reads one path. A trailing slash means a directory, as for `git check-ignore`; an absolute
/// path is one of the first root that it is in.
///
/// # Errors
/// Refuses what is outside of the repository, or no path.
pub fn parse(
    below: &[u8],
    roots: &[&Utf8PathBuf],
    given: &BString,
) -> Result<(RepoPath, EntryKind), Refusal> {
    let (text, kind) = match given.strip_suffix(b"/") {
        Some(text) => (text, EntryKind::Directory),
        None => (given.as_slice(), EntryKind::File),
    };
    let in_root = |root: &&Utf8PathBuf| text.strip_prefix(format!("{root}/").as_bytes());
    let (below, text) = match roots.iter().find_map(in_root) {
        Some(inside) => (&b""[..], inside),
        None => (below, text),
    };
    let mut parts: Vec<&[u8]> = below
        .split_str("/")
        .filter(|part| !part.is_empty())
        .collect();
    let mut outside = text.starts_with(b"/");
    for part in text.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." => outside |= parts.pop().is_none(),
            part => parts.push(part),
        }
    }
    let bad = |why: &str| Refusal::BadPath {
        text: crate::path::escape_for_terminal(given),
        why: why.to_owned(),
    };
    if outside {
        return Err(bad("it is outside the repository"));
    }
    let path = RepoPath::parse(parts.join(&b'/')).map_err(|error| bad(&error.to_string()))?;
    Ok((path, kind))
}
