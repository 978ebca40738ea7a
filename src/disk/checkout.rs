//! Creates the files of a checkout, each once and as it stays: content, mode and time.
//!
//! Several threads take the work in pieces that end where a directory does. A directory is made
//! and opened from the one above it without following a link, a file must not be there yet, so
//! that nothing outside of the worktree is ever written. Where the content comes from is handed
//! in: nothing here knows git.

mod create;
mod locked;
mod original;

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, statat};
use rustix::io::Errno;

use super::error::DiskError;
use super::mode::WriteBits;
use crate::entry::{Entry, ObjectId};
use crate::manifest::Stat;
use crate::path::RepoPath;

pub use locked::LockedFile;
pub use original::{Known, Originals, Reads};

/// Gives the content of objects, to one thread.
pub trait Content {
    /// Why it cannot.
    type Error: Send;

    /// How long an object is.
    ///
    /// # Errors
    /// Fails when it is missing or damaged.
    fn size(&mut self, id: &ObjectId) -> Result<u64, Self::Error>;

    /// All of it, in this buffer or elsewhere.
    ///
    /// # Errors
    /// Fails when it is missing or damaged.
    fn read<'b>(&mut self, id: &ObjectId, buffer: &'b mut Vec<u8>)
    -> Result<&'b [u8], Self::Error>;

    /// Whether these bytes, so many of them, can be read and are what an object with this id has; not
    /// whether there is one.
    fn is(&self, id: &ObjectId, size: u64, bytes: &mut dyn Read) -> bool;
}

/// Holds one thing that is to be created.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Where.
    pub path: &'a RepoPath,
    /// What: a file, a link, or the empty directory of a submodule.
    pub entry: Entry,
    /// The write bits of a file.
    pub bits: WriteBits,
}

/// Holds the stat data of what was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// What a manifest has of them.
    pub stat: Stat,
    /// The device, owner and group, which the index has besides.
    pub device: u64,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// Holds a checkout that is to be made.
pub struct Checkout<'a, C> {
    /// The worktree, in which nothing of it stands yet.
    pub root: &'a Utf8Path,
    /// What to create, sorted by path.
    pub tasks: &'a [Task<'a>],
    /// The modification time of files and links, nanoseconds since the epoch.
    pub time: i64,
    /// Makes what gives the content, one for each thread.
    pub content: &'a (dyn Fn() -> C + Sync),
    /// Where some of it can be had more cheaply.
    pub originals: Option<Originals<'a>>,
    /// Whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Says why a checkout was not made.
#[derive(Debug)]
pub enum CheckoutError<E> {
    /// The disk refused.
    Disk(DiskError),
    /// The content cannot be had.
    Content(E),
    /// Somebody asked to stop.
    Stopped,
}

/// Where a piece of the work begins, and what came of it.
type Piece = (usize, Vec<Option<Created>>);

/// How many things a piece of the work has, about.
const PIECE: usize = 256;

impl<'a, C: Content> Checkout<'a, C> {
    /// Creates everything; the stat data of each, in the order of the tasks, none for a file that is
    /// too large to be held in memory and was not created.
    ///
    /// # Errors
    /// Fails at the first thing that cannot be created; what was created by then stays.
    pub fn make(&'a self) -> Result<Vec<Option<Created>>, CheckoutError<C::Error>> {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
        let pieces = pieces(self.tasks);
        let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let parts: Vec<_> = std::thread::scope(|scope| {
            let work = || scope.spawn(|| self.work(&pieces, &next, &over));
            let threads = threads.min(pieces.len());
            let handles: Vec<_> = (0..threads).map(|_| work()).collect();
            let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
                let joined = handle.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            handles.into_iter().map(join).collect()
        });
        let mut done: Vec<Piece> = Vec::with_capacity(pieces.len());
        for part in parts {
            done.extend(part?);
        }
        done.sort_unstable_by_key(|(start, _)| *start);
        let mut all = Vec::with_capacity(self.tasks.len());
        all.extend(done.into_iter().flat_map(|(_, created)| created));
        Ok(all)
    }

    fn work(
        &'a self,
        pieces: &[Range<usize>],
        next: &AtomicUsize,
        over: &AtomicBool,
    ) -> Result<Vec<Piece>, CheckoutError<C::Error>> {
        let mut done = Vec::new();
        let mut worker = create::Worker::new(self)?;
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut created = Vec::with_capacity(piece.len());
            for at in piece.clone() {
                if over.load(Ordering::Relaxed) {
                    return Ok(done);
                }
                match worker.create(at) {
                    Ok(one) => created.push(one),
                    Err(error) => {
                        over.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            done.push((piece.start, created));
        }
        Ok(done)
    }
}

/// Whether a file system takes names that differ in case for one, or may: asked of the `.git` of a
/// worktree.
#[must_use]
pub fn folds_case(worktree: &Utf8Path) -> bool {
    let stands = |name| {
        statat(
            CWD,
            worktree.join(name).as_std_path(),
            AtFlags::SYMLINK_NOFOLLOW,
        )
    };
    let there = (stands(".git").map_err(drop), stands(".gIT"));
    !matches!(there, (Ok(_), Err(Errno::NOENT)))
}

/// Cuts the tasks where the directory changes, so that two threads seldom work in one; a directory
/// with very many is cut all the same.
fn pieces(tasks: &[Task<'_>]) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(tasks.len() / PIECE + 1);
    let mut start = 0;
    for at in 1..tasks.len() {
        let length = at - start;
        let above = |at: usize| tasks[at].path.parents().next();
        if length >= 4 * PIECE || (length >= PIECE && above(at) != above(at - 1)) {
            pieces.push(start..at);
            start = at;
        }
    }
    if start < tasks.len() {
        pieces.push(start..tasks.len());
    }
    pieces
}
