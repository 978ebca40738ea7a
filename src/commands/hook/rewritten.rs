//! Gives the files that git has just rewritten their write bits back, and looks at no others.
//!
//! Git makes a file anew where its content changes, with the write bits of the umask. Which files
//! those are, the index says: git writes down the change time of each that it makes. What was there
//! when the index was last gone through is older than that index was then. A write bit changes the
//! change time in turn, and git would take the file for an edited one and read it again: so the new
//! one goes into the index.

use camino::Utf8Path;

use crate::disk::DiskError;
use crate::disk::files::{self, Durable};
use crate::disk::locked_file::LockedFile;
use crate::disk::mode::{Applied, Doing, Seen, WriteBits, set_write_bits};
use crate::error::Error;
use crate::git::index::{RawIndex, read_index};
use crate::manifest::{IndexStat, Stat};
use crate::path::RepoPath;
use crate::scope::EntryKind;
use crate::worktree::scope_edit::{set_bits_of_index, write_bits};
use crate::worktree::{Repository, Worktree};

/// The file in the record that holds when the index was written that was last gone through.
const GONE_THROUGH: &str = "bits";
/// How much older than that a file may be and is looked at all the same: clocks of file systems
/// tick in hundredths of a second.
const MARGIN: i64 = 1_000_000_000;

/// Holds a file that git may have rewritten.
struct Rewritten {
    path: RepoPath,
    at: usize,
    stat: IndexStat,
}

/// Gives them back.
///
/// # Errors
/// Fails when the index cannot be read, or the worktree cannot be opened.
pub fn put_back(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let record = &known.record;
    let file = record.admin_dir.join("index");
    let written = files::stat(&file);
    let before = gone_through(known);
    if written.is_some() && before == written.map(Written::from) {
        return Ok(());
    }
    let comparable = files::on_one_file_system(&record.path, &record.admin_dir);
    let index = match before.filter(|_| comparable) {
        Some(before) => raw(repository, &file)?.map(|index| (index, before.mtime - MARGIN)),
        None => None,
    };
    match (index, written) {
        (Some((index, since)), Some(written)) => {
            let read = Read {
                file: &file,
                written,
                index,
            };
            some(repository, known, &read, since)?;
        }
        (None, _) | (_, None) => all(repository, known)?,
    }
    // that of the file as we leave it, unless git has written another since
    let now = files::stat(&file).map(Written::from);
    let now = now.filter(|now| written.is_some_and(|written| written.mtime == now.mtime));
    if let Some(Written { mtime, inode }) = now {
        let text = format!("{mtime} {inode}\n");
        files::write_beside(&known.dir.join(GONE_THROUGH), text.as_bytes(), Durable::No)?;
    }
    Ok(())
}

/// Says which index file it was, and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    mtime: i64,
    inode: u64,
}

impl From<Stat> for Written {
    fn from(stat: Stat) -> Self {
        Self {
            mtime: stat.mtime,
            inode: stat.inode,
        }
    }
}

/// Holds the index as it was read.
struct Read<'a> {
    file: &'a Utf8Path,
    /// The stat data of the file from before it was read.
    written: Stat,
    index: RawIndex,
}

/// The index that was last gone through.
fn gone_through(known: &Worktree) -> Option<Written> {
    let bytes = files::read(&known.dir.join(GONE_THROUGH)).ok()??;
    let (mtime, inode) = std::str::from_utf8(&bytes)
        .ok()?
        .trim_end()
        .split_once(' ')?;
    Some(Written {
        mtime: mtime.parse().ok()?,
        inode: inode.parse().ok()?,
    })
}

/// The index, where its entries can be read as they stand.
fn raw(repository: &Repository, file: &Utf8Path) -> Result<Option<RawIndex>, Error> {
    let bytes = files::read(file)?;
    Ok(bytes.and_then(|bytes| RawIndex::new(bytes, repository.format.length()).ok()))
}

/// Goes through every file.
fn all(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let index = read_index(&known.record.admin_dir.join("index"), repository.format)?;
    let applied = set_bits_of_index(&known.record.path, &known.scope, &index, Doing::Change)?;
    if !applied.changed.is_empty() {
        // if the index is locked, git is not done with it; it is no event for the user's hooks
        let _ = known.hardened_git(repository).update_index_refresh();
    }
    Ok(())
}

/// Goes through those that were made since then.
fn some(
    repository: &Repository,
    known: &Worktree,
    read: &Read<'_>,
    since: i64,
) -> Result<(), Error> {
    let mut rewritten: Vec<Rewritten> = Vec::new();
    let mut is_plain = true;
    let each = read.index.each(|entry| {
        // a merge leaves entries without stat data
        let is_older = entry.stat.ctime != 0 && entry.stat.ctime < since;
        if is_older || !entry.entry.mode.is_regular() || entry.skip_worktree {
            return;
        }
        match entry.repo_path() {
            Some(path) => rewritten.push(Rewritten {
                path,
                at: entry.at,
                stat: entry.stat,
            }),
            None => is_plain = false,
        }
    });
    if each.is_err() || !is_plain {
        return all(repository, known);
    }
    // of a conflict there are up to three
    rewritten.dedup_by(|one, other| one.path == other.path);
    let bits = bits_of(known, &rewritten);
    let set = || set_write_bits(&known.record.path, &bits, Doing::Change);
    // git has just made them as the umask says
    let are_wrong = bits.iter().any(|(_, bits)| *bits == WriteBits::Cleared);
    if are_wrong && let Some(locked) = lock(read) {
        return restat(repository, read, &rewritten, locked, set);
    }
    let applied = set()?;
    if !applied.changed.is_empty()
        && let Some(locked) = lock(read)
    {
        return restat(repository, read, &rewritten, locked, || Ok(applied));
    }
    Ok(())
}

fn bits_of(known: &Worktree, rewritten: &[Rewritten]) -> Vec<(RepoPath, WriteBits)> {
    let mut classifier = known.scope.classifier();
    let mut bits = |one: &Rewritten| {
        let access = classifier.verdict(&one.path, EntryKind::File).access;
        write_bits(access).map(|bits| (one.path.clone(), bits))
    };
    rewritten.iter().filter_map(&mut bits).collect()
}

/// The lock of the index; none where git has it, or has written it meanwhile: it stays then, and git
/// reads the files that we change again, once.
fn lock(read: &Read<'_>) -> Option<LockedFile> {
    let locked = LockedFile::take(read.file).ok()?;
    // who has the lock puts a new file in its place
    (files::stat(read.file) == Some(read.written)).then_some(locked)
}

/// Sets the write bits while the index is written, with the change times that come of it.
fn restat(
    repository: &Repository,
    read: &Read<'_>,
    rewritten: &[Rewritten],
    locked: LockedFile,
    set: impl FnOnce() -> Result<Applied, DiskError>,
) -> Result<(), Error> {
    let index = &read.index;
    let mut done = Ok(());
    let patches = || {
        let applied = set().map_err(|error| done = Err(error)).ok()?;
        let ctimes = ctimes(rewritten, &applied);
        let any = !ctimes.is_empty();
        any.then(|| index.with_ctimes(&ctimes, repository.format))?
    };
    // a lock that cannot be written is given back
    let _ = locked.commit_as_of_before(index.content(), patches);
    Ok(done?)
}

/// The new change times, of files of which the index knows that they are as git made them.
fn ctimes(rewritten: &[Rewritten], applied: &Applied) -> Vec<(usize, i64)> {
    // both are sorted, and each that was changed is one of them
    let mut all = rewritten.iter();
    let changed = applied.changed.iter().zip(&applied.seen);
    let ctime = |(path, Seen { before, after }): (&RepoPath, &Seen)| {
        let one = all.find(|one| one.path == *path)?;
        let alone = Stat {
            ctime: before.ctime,
            mode: before.mode,
            ..*after
        };
        (one.stat.is_of(before) && alone == *before).then_some((one.at, after.ctime))
    };
    changed.filter_map(ctime).collect()
}
