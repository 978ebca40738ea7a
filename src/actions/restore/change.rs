//! Changes a worktree, forth and back: first the branch, then the disk, then the index.

use std::collections::BTreeSet;
use std::io;

use camino::Utf8Path;

use crate::actions::placing::staging;
use crate::actions::restore::facts::{changed_meanwhile, read_raw};
use crate::actions::saved::SavedPath;
use crate::disk::copy::content::make_staging;
use crate::disk::entries::{EntryMove, NewEntry};
use crate::disk::error::DiskError;
use crate::disk::mode::DirectoryModes;
use crate::disk::{entries, files};
use crate::git::plumbing::{index_info, nul_ended};
use crate::git::process::Git;
use crate::inventory::placed::PlacedKind;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// How `git update-ref` moves the worktree's branch.
#[derive(Clone, Copy)]
pub struct BranchUpdate<'a> {
    /// Where it is.
    pub from: &'a CommitId,
    /// Where it goes.
    pub to: &'a CommitId,
    /// What its reflog says.
    pub reason: &'static str,
}

/// Moves the branch, has `write` change the files, and gives these paths new entries in the index.
/// Directories that are opened to write there get their permissions back, also where it fails.
///
/// # Errors
/// Fails when git or the disk does: it may be half done.
pub fn change(
    repository: &Repository,
    worktree: &Worktree,
    branch: Option<BranchUpdate<'_>>,
    targets: &[SavedPath],
    directories: &[(RepoPath, u32)],
    write: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    worktree.replace_links()?;
    if let Some(BranchUpdate { from, to, reason }) = branch {
        // before the files, as hooks of the user's may refuse it
        let name = worktree.record.branch.full_ref();
        let git = worktree.git(repository);
        git.update_ref(&name, to, Some(from), reason)?;
    }
    // before anything is opened
    let modes = directory_modes(worktree, targets, directories)?;
    let written = write();
    let left_open = modes.close(&worktree.record.path);
    written?;
    if let Some(what) = left_open.into_iter().next() {
        return Err(DiskError::new("put all back", io::Error::other(what)).into());
    }
    replace_in_index(repository, worktree, targets)
}

/// Replaces the entries of these paths in the index. The new ones have no flags, so two are set
/// again: `--intent-to-add` (git-add(1)), and `--skip-worktree` (git-update-index(1)) for what the
/// scope keeps off the disk.
fn replace_in_index(
    repository: &Repository,
    worktree: &Worktree,
    targets: &[SavedPath],
) -> Result<(), Error> {
    if targets.is_empty() {
        return Ok(());
    }
    let git = worktree.hardened_git(repository);
    git.update_index_info(&index_lines(repository, targets))?;
    let mut intended = Vec::new();
    let mut kept_off_disk = Vec::new();
    for target in targets {
        // git takes only a file or a link that is there
        let is_file = target
            .disk
            .is_some_and(|entry| entry.mode.is_regular() || entry.mode == Mode::Link);
        if target.intent_to_add && is_file {
            intended.push(&target.path);
        }
        let is_in_index_alone = target.disk.is_none() && !target.index.is_empty();
        if is_in_index_alone && worktree.scope.excludes_file(&target.path) {
            kept_off_disk.push(&target.path);
        }
    }
    if !intended.is_empty() {
        set_intent_to_add(&git, &nul_ended(intended))?;
    }
    if !kept_off_disk.is_empty() {
        let what = "mark what the scope excludes";
        let command = "update-index --skip-worktree -z --stdin";
        git.perform_with(what, command, &[], &nul_ended(kept_off_disk))?;
    }
    Ok(())
}

/// Says in the index that these files, which are there, will be added (git-add(1),
/// `--intent-to-add`).
fn set_intent_to_add(git: &Git, paths: &[u8]) -> Result<(), Error> {
    // an entry that is there already would stay as it is
    let remove = "update-index --force-remove -z --stdin";
    git.perform_with("change the index", remove, &[], paths)?;
    let add = "--literal-pathspecs add --intent-to-add --force --sparse \
        --pathspec-from-file=- --pathspec-file-nul";
    git.perform_with("change the index", add, &[], paths)?;
    Ok(())
}

/// The lines for the index: all stages go, then those that are to be there come.
pub fn index_lines(repository: &Repository, targets: &[SavedPath]) -> Vec<u8> {
    let digits = repository.format.length() * 2;
    let mut info = Vec::new();
    for target in targets {
        index_info(&mut info, target.path.as_bstr(), None, 0, digits);
    }
    for SavedPath { path, index, .. } in targets {
        for (stage, entry) in index {
            index_info(&mut info, path.as_bstr(), Some(*entry), *stage, digits);
        }
    }
    info
}

/// The permissions that directories get in the end. One above these paths keeps those of now. One
/// that is gone, or is itself one of these paths, gets those that were saved of it, or else those
/// that it was placed with.
fn directory_modes(
    worktree: &Worktree,
    targets: &[SavedPath],
    saved: &[(RepoPath, u32)],
) -> Result<DirectoryModes, Error> {
    let mut above = BTreeSet::new();
    for target in targets {
        let mut next = target.path.parent();
        while let Some(directory) = next {
            next = directory.parent();
            above.insert(directory);
        }
    }
    let mut touched: BTreeSet<&RepoPath> = above.iter().collect();
    for target in targets {
        touched.insert(&target.path);
    }
    let mut modes = DirectoryModes::of(&worktree.record.path, above.iter())?;
    for (path, mode) in saved {
        if touched.contains(path) {
            modes.add_if_missing(path.clone(), *mode);
        }
    }
    for file in worktree.placed()?.files() {
        if file.kind == PlacedKind::Directory && touched.contains(&file.path) {
            modes.add_if_missing(file.path.clone(), file.stat.permissions());
        }
    }
    Ok(modes)
}

/// Makes a directory that may be there already.
///
/// # Errors
/// Fails when the disk refuses.
pub fn put_directory(worktree: &Worktree, path: &RepoPath, mode: u32) -> Result<(), DiskError> {
    let root = &worktree.record.path;
    let directory = NewEntry {
        kind: Mode::EmptyDirectory,
        bytes: b"",
        permissions: Some(mode),
    };
    match entries::put_entry(root, path, directory) {
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Replaces files, so that nowhere is half a file, nor anything missing for want of room: `write`
/// writes the `wanted` files into a directory, and `take_away` removes what stands in the worktree.
/// What a killed restore left beside the worktree goes first.
///
/// # Errors
/// Fails when git or the disk does, or a process writes a file where one comes: that file stays.
pub fn replace_files(
    repository: &Repository,
    worktree: &Worktree,
    wanted: &[&RepoPath],
    write: impl Fn(&Utf8Path, &[&RepoPath]) -> Result<(), Error>,
    take_away: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let root = &worktree.record.path;
    let staging = staging(root);
    files::remove_directory(&staging)?;
    let replaced = replace_through(&staging, repository, root, wanted, write, take_away);
    let removed = files::remove_directory(&staging);
    replaced?;
    Ok(removed?)
}

/// Replaces files by what is first written into the directory `staging`, beside the worktree. Where
/// that cannot be created, or a file cannot be moved from there, files are written in their place.
fn replace_through(
    staging: &Utf8Path,
    repository: &Repository,
    root: &Utf8Path,
    wanted: &[&RepoPath],
    write: impl Fn(&Utf8Path, &[&RepoPath]) -> Result<(), Error>,
    take_away: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    if !wanted.is_empty() && make_staging(staging).is_ok() {
        write(staging, wanted)?;
    }
    take_away()?;
    let unmoved = move_in(repository, staging, root, wanted)?;
    if unmoved.is_empty() {
        return Ok(());
    }
    write(root, &unmoved)
}

/// Moves files into the worktree; returns those that cannot be moved.
fn move_in<'p>(
    repository: &Repository,
    staging: &Utf8Path,
    root: &Utf8Path,
    paths: &[&'p RepoPath],
) -> Result<Vec<&'p RepoPath>, Error> {
    let mut unmoved = Vec::new();
    for path in paths {
        match entries::move_entry(staging, root, path) {
            EntryMove::Moved => {}
            EntryMove::Impossible => unmoved.push(*path),
            EntryMove::Occupied => {
                // where the sparse patterns were put back, git has brought the same file back
                let new = read_raw(repository, staging, path)?;
                if read_raw(repository, root, path)? != new {
                    return Err(changed_meanwhile(path).into());
                }
            }
        }
    }
    Ok(unmoved)
}
