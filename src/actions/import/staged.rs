//! Compares the indexes of a run and of the worktree, and moves what is staged.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use crate::actions::import::kept::keep;
use crate::actions::import::plan::UserIndex;
use crate::actions::import::run::RunToImport;
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::index::{IndexEntry, OpenIndex, Stage};
use crate::git::process::Git;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// What an index says of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StagedEntry {
    path: BString,
    entry: Entry,
    stage: Stage,
    /// Whether git takes the file as absent on purpose.
    skip_worktree: bool,
}

impl StagedEntry {
    fn new(entry: &IndexEntry<&BStr>) -> Self {
        Self {
            path: entry.path.to_owned(),
            entry: entry.entry,
            stage: entry.stage,
            skip_worktree: entry.skip_worktree,
        }
    }
}

/// Says whether the user staged files or switched in the worktree: the entries are compared, as git
/// can have written the index anew without a change.
pub fn compare_user_index(run: &RunToImport<'_>) -> UserIndex {
    let index = run.worktree.record.admin_dir.join("index");
    // the second: an import that was stopped has written that of the run
    let indexes_of_run = [run.private.begun_index(), run.private.index()];
    for of_run in &indexes_of_run {
        if is_same_file(of_run, &index) {
            return UserIndex::AsInRun;
        }
    }
    let entries = read_entries(run, &index);
    if entries.is_empty() {
        // it may be damaged: nobody knows what was staged
        return UserIndex::Restaged;
    }
    for of_run in &indexes_of_run {
        if read_entries(run, of_run) == entries {
            return UserIndex::AsInRun;
        }
    }
    UserIndex::Restaged
}

/// True if two names are of one file, or of none.
fn is_same_file(one: &Utf8Path, other: &Utf8Path) -> bool {
    let inode = files::stat(one).map(|stat| stat.inode);
    inode == files::stat(other).map(|stat| stat.inode)
}

/// Makes the bytes of the index of the worktree, moved from one commit to another
/// (git-read-tree(1), "Two Tree Merge"): what the user staged stays. None where that does not fit,
/// or git fails. The index itself is not changed.
///
/// # Errors
/// Fails when the disk refuses.
pub fn move_index(
    run: &RunToImport<'_>,
    from: &CommitId,
    to: &CommitId,
) -> Result<Option<Vec<u8>>, Error> {
    let moved = run.private.dir.join("index.moved");
    // the lock of a git that was killed
    files::remove_file(&moved.with_extension("moved.lock"))?;
    // as a link it is the index itself, until git puts a new file in its place
    files::link_or_copy(&run.worktree.record.admin_dir.join("index"), &moved)?;
    let begun = read_entries(run, &run.private.begun_index());
    let of_user = read_entries(run, &moved);
    let of_run = read_entries(run, &run.private.index());
    let changed = of_user.difference(&begun).chain(of_run.difference(&begun));
    if has_path_below_path(changed) {
        // git would take one of the two without an error
        return Ok(None);
    }
    let git = run.worktree.git(run.repository).with_index(&moved);
    let commits = [from.as_str(), to.as_str()];
    if git
        .perform("move the index", "read-tree -m -i", &commits)
        .is_err()
    {
        return Ok(None);
    }
    mark_absent(&git, of_run.difference(&begun));
    Ok(files::read(&moved)?)
}

/// Marks in an index what the run has marked as absent: `git read-tree -i` leaves the sparse
/// patterns out.
fn mark_absent<'a>(git: &Git, of_run: impl Iterator<Item = &'a StagedEntry>) {
    let mut absent = Vec::new();
    for staged in of_run {
        if staged.skip_worktree {
            absent.push(&staged.path);
        }
    }
    if absent.is_empty() {
        return;
    }
    let what = "mark what is absent";
    let command = "update-index --skip-worktree -z --stdin";
    // git marks none where one of them is only staged, which no commit has
    let _ = git.perform_with(what, command, &[], &bstr::join(b"\0", absent));
}

/// True if one path is a directory of another: of a file and a directory of one name, git takes one
/// without an error.
fn has_path_below_path<'a>(entries: impl Iterator<Item = &'a StagedEntry>) -> bool {
    let mut directories = BTreeSet::new();
    for staged in entries {
        directories.insert([staged.path.as_slice(), b"/"].concat());
    }
    let below = directories.iter().skip(1);
    let mut pairs = directories.iter().zip(below);
    pairs.any(|(above, path)| path.starts_with(above))
}

/// Keeps by a ref which of these paths the run staged, as its index does not become that of the
/// worktree. Returns what the user should know.
///
/// # Errors
/// Fails when the repository cannot be read or written.
pub fn keep_staged(run: &RunToImport<'_>, paths: &[RepoPath]) -> Result<Option<String>, Error> {
    let begun = read_entries(run, &run.private.begun_index());
    let of_run = read_entries(run, &run.private.index());
    let mut changes = Vec::new();
    for staged in of_run.difference(&begun) {
        let found = paths.binary_search_by(|path| path.as_bstr().cmp(staged.path.as_bstr()));
        if found.is_ok() {
            changes.push((&staged.path, Some(staged.entry)));
        }
    }
    let Some(parent) = run.tip.as_ref().or(run.before.as_ref()) else {
        return Ok(None);
    };
    if changes.is_empty() {
        return Ok(None);
    }
    let objects = run.repository.objects()?;
    let parent_tree = objects.commit(parent)?.tree;
    let tree = objects.write_tree(Some(&parent_tree), changes)?;
    let commit = objects.write_commit_on(parent, &tree)?;
    let git = run.repository.git.with_mode(GitMode::Hardened);
    let kept = keep(&git, run.worktree, &commit)?;
    Ok(kept.map(|kept| format!("what the command staged is kept: git show {kept}")))
}

/// Reads what an index says; nothing of a damaged one.
fn read_entries(run: &RunToImport<'_>, file: &Utf8Path) -> BTreeSet<StagedEntry> {
    let Ok(index) = OpenIndex::read(file, run.repository.format) else {
        return BTreeSet::new();
    };
    let mut entries = BTreeSet::new();
    for entry in index.entries() {
        match entry {
            Ok(entry) => entries.insert(StagedEntry::new(&entry)),
            Err(_) => return BTreeSet::new(),
        };
    }
    entries
}
