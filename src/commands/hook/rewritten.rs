//! Gives the files that git has just rewritten their write bits back, and looks at no others.
//!
//! Git creates a file anew where its content changes, with the write bits of the umask, and writes the
//! change time of each such file into the index. Files that were there when the index was last read here
//! are older than that index. As a write bit changes the change time in turn, git would read the file
//! again: so the new change time goes into the index.

use camino::Utf8Path;

use crate::disk::files::{self, Durable};
use crate::disk::locked_file::LockedFile;
use crate::disk::mode::{Applied, Doing, Seen, set_write_bits};
use crate::error::Error;
use crate::git::GitError;
use crate::git::index::OpenIndex;
use crate::manifest::{IndexStat, Stat};
use crate::path::RepoPath;
use crate::scope::EntryKind;
use crate::worktree::scope_edit::write_bits;
use crate::worktree::{Repository, Worktree};

/// The file in the record with the time and the inode number of the index that was last read here.
const READ_BEFORE: &str = "bits";
/// How much older than that index a file may be and is looked at all the same: clocks of file systems
/// tick in hundredths of a second.
const MARGIN: i64 = 1_000_000_000;

/// Gives the write bits back.
///
/// # Errors
/// Fails when the index cannot be read, or the worktree cannot be opened.
pub fn put_back(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let record = &known.record;
    let (file, noted) = (record.admin_dir.join("index"), known.dir.join(READ_BEFORE));
    let Some(written) = files::stat(&file) else {
        return Ok(());
    };
    let note = |index: Stat| format!("{} {}\n", index.mtime, index.inode);
    let before = files::read(&noted).ok().flatten().unwrap_or_default();
    if before == note(written).as_bytes() {
        return Ok(());
    }
    let before = std::str::from_utf8(&before).ok();
    let before = before.and_then(|text| text.split_once(' ')?.0.parse::<i64>().ok());
    let comparable = files::on_one_file_system(&record.path, &record.admin_dir);
    let since = before.filter(|_| comparable).map(|time| time - MARGIN);
    let index = OpenIndex::read(&file, repository.format)?;
    let odd = |detail| GitError::Read {
        what: format!("the index {file}"),
        detail,
    };
    let mut classifier = known.scope.classifier();
    let (mut bits, mut seen) = (Vec::new(), Vec::new());
    for (number, entry) in index.entries().enumerate() {
        let entry = entry.map_err(odd)?;
        // a merge leaves entries without stat data
        let is_older = entry.stat.ctime != 0 && since.is_some_and(|since| entry.stat.ctime < since);
        if is_older || !entry.entry.mode.is_regular() || entry.skip_worktree {
            continue;
        }
        let path = RepoPath::parse(entry.path).map_err(|error| odd(error.to_string()))?;
        let access = classifier.verdict(&path, EntryKind::File).access;
        let is_new = bits.last().is_none_or(|(last, _)| *last != path);
        // a conflict has up to three entries of a path
        if let Some(wanted) = write_bits(access).filter(|_| is_new) {
            bits.push((path, wanted));
            seen.push((number, entry.stat));
        }
    }
    let applied = set_write_bits(&record.path, &bits, Doing::Change)?;
    let paths = bits.iter().map(|(path, _)| path);
    let ctimes = ctimes(paths.zip(seen), &applied);
    if !ctimes.is_empty() {
        match index.with_ctimes(&ctimes) {
            Some(bytes) => replace(&file, written, &bytes),
            // if the index is locked, git is not done with it; it is no event for the user's hooks
            None => drop(known.hardened_git(repository).update_index_refresh()),
        }
    }
    // that of the file as we leave it, unless git has written another since
    let now = files::stat(&file).filter(|now| now.mtime == written.mtime);
    if let Some(now) = now {
        files::write_beside(&noted, note(now).as_bytes(), Durable::No)?;
    }
    Ok(())
}

/// Replaces the index, unless git has it locked, or has written it meanwhile: then the index stays, and
/// git reads the files again, once.
fn replace(file: &Utf8Path, written: Stat, bytes: &[u8]) {
    if let Ok(locked) = LockedFile::take(file)
        && files::stat(file) == Some(written)
    {
        let _ = locked.commit_as_of_before(bytes);
    }
}

/// The new change times, by number, of files of which the index knows that they are as git created them.
fn ctimes<'p>(
    files: impl Iterator<Item = (&'p RepoPath, (usize, IndexStat))>,
    applied: &Applied,
) -> Vec<(usize, i64)> {
    // both are sorted, and each that was changed is one of the files
    let mut files = files;
    let changed = applied.changed.iter().zip(&applied.seen);
    let ctime = |(path, Seen { before, after }): (&RepoPath, &Seen)| {
        let (_, (number, stat)) = files.find(|(one, _)| *one == path)?;
        let alone = Stat {
            ctime: before.ctime,
            mode: before.mode,
            ..*after
        };
        (stat.is_of(before) && alone == *before).then_some((number, after.ctime))
    };
    changed.filter_map(ctime).collect()
}
