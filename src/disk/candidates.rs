//! Walks where something may be selected, and nowhere else.
//!
//! What is entered and selected is said by [`Rules`]; this knows neither patterns nor git, but it
//! enters no directory in which another repository is. Directories are opened from the one above
//! without following links, and only what is selected is looked at with `lstat`. Several threads
//! take directories from each other.

mod directory;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use camino::Utf8Path;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::error::DiskError;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::sync::CandidateKind;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Says where to walk and what to select.
pub trait Rules: Sync {
    /// What is known of a directory that is entered.
    type Place: Send + Sync;
    /// What is noted of something selected.
    type Mark: Send;

    /// The only names to look at in a directory; none if it has to be listed.
    fn names(&self, place: &Self::Place) -> Option<Vec<Vec<u8>>>;

    /// What is done with an entry of a directory.
    fn entry(
        &self,
        place: &Self::Place,
        path: &RepoPath,
        kind: EntryKind,
    ) -> Verdict<Self::Place, Self::Mark>;
}

/// Says what an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// Says what is done with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<P, M> {
    /// It is selected, with this mark; a directory only if it is entered.
    pub select: Option<M>,
    /// Whether it is entered, if it is a directory.
    pub enter: Enter<P>,
}

/// Says whether a directory is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enter<P> {
    /// Nothing is looked for in it.
    No,
    /// Something would be, but it is another's: it is listed.
    Closed,
    /// It is.
    Yes(P),
}

/// Holds something that is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected<M> {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: CandidateKind,
    /// Its stat data.
    pub stat: Stat,
    /// What was noted.
    pub mark: M,
}

/// Holds what a walk found; everything sorted by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<M> {
    /// What is selected; a directory before what is in it.
    pub selected: Vec<Selected<M>>,
    /// Directories that were not entered as they are another's.
    pub closed: Vec<RepoPath>,
}

/// A directory to be entered.
struct Directory<P, M> {
    path: Option<RepoPath>,
    above: Arc<OwnedFd>,
    place: P,
    select: Option<M>,
}

struct Queue<P, M> {
    waiting: Vec<Directory<P, M>>,
    /// How many threads have nothing to do; when all have, it is done.
    idle: usize,
    failed: Option<(Option<RepoPath>, DiskError)>,
}

/// What the threads share. Each has directories of its own, and gives some away when another has
/// none.
struct Shared<P, M> {
    queue: Mutex<Queue<P, M>>,
    wake: Condvar,
    threads: usize,
    /// How many threads want a directory and none waits for them.
    hungry: AtomicUsize,
    stopped: AtomicBool,
}

type Entered<R> = Directory<<R as Rules>::Place, <R as Rules>::Mark>;
type Below<R> = Vec<Entered<R>>;

impl<P, M> Shared<P, M> {
    fn lock(&self) -> MutexGuard<'_, Queue<P, M>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a directory; none when there will be no more.
    fn next(&self) -> Option<Directory<P, M>> {
        let mut queue = self.lock();
        queue.idle += 1;
        loop {
            if queue.failed.is_none()
                && let Some(directory) = queue.waiting.pop()
            {
                queue.idle -= 1;
                self.note_hungry(&queue);
                return Some(directory);
            }
            if queue.idle == self.threads || queue.failed.is_some() {
                drop(queue);
                self.wake.notify_all();
                return None;
            }
            self.note_hungry(&queue);
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives half of a thread's directories, those nearest to the root, to the others.
    fn give(&self, own: &mut Vec<Directory<P, M>>) {
        let mut queue = self.lock();
        let half = own.len() / 2;
        queue.waiting.extend(own.drain(..half).rev());
        self.note_hungry(&queue);
        let wake = half.min(queue.idle);
        drop(queue);
        (0..wake).for_each(|_| self.wake.notify_one());
    }

    fn note_hungry(&self, queue: &Queue<P, M>) {
        let hungry = queue.idle.saturating_sub(queue.waiting.len());
        self.hungry.store(hungry, Ordering::Relaxed);
    }
}

/// Walks the tree at a root.
///
/// # Errors
/// Fails when a directory that is entered cannot be read, or something selected not be looked at.
pub fn walk<R: Rules>(
    root: &Utf8Path,
    start: R::Place,
    rules: &R,
) -> Result<Found<R::Mark>, DiskError> {
    let open = openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty())
        .map_err(|error| DiskError::new(format!("open {root}"), error))?;
    let first = Directory {
        path: None,
        above: Arc::new(open),
        place: start,
        select: None,
    };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let shared = Shared {
        queue: Mutex::new(Queue {
            waiting: vec![first],
            idle: 0,
            failed: None,
        }),
        wake: Condvar::new(),
        threads,
        hungry: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
    };
    let worker = || {
        let found = Found {
            selected: Vec::new(),
            closed: Vec::new(),
        };
        Worker { root, rules, found }.run(&shared)
    };
    let parts: Vec<Found<R::Mark>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let mut parts = vec![worker()];
        parts.extend(others.into_iter().map(join));
        parts
    });
    let queue = shared.queue.into_inner();
    let queue = queue.unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = queue.failed {
        return Err(error);
    }
    let mut all = Found {
        selected: Vec::new(),
        closed: Vec::new(),
    };
    for part in parts {
        all.selected.extend(part.selected);
        all.closed.extend(part.closed);
    }
    all.selected.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all.closed.sort_unstable();
    all.closed.dedup();
    Ok(all)
}

struct Worker<'a, R: Rules> {
    root: &'a Utf8Path,
    rules: &'a R,
    found: Found<R::Mark>,
}

/// What stopped the look at one directory: at this path, this.
type Stopped = (Option<RepoPath>, Errno);

impl<R: Rules> Worker<'_, R> {
    fn run(mut self, shared: &Shared<R::Place, R::Mark>) -> Found<R::Mark> {
        let mut own: Below<R> = Vec::new();
        while let Some(directory) = own.pop().or_else(|| shared.next()) {
            match self.directory(directory) {
                Ok(below) => own.extend(below),
                Err(stopped) => self.stop(shared, stopped),
            }
            if shared.stopped.load(Ordering::Relaxed) {
                own.clear();
            }
            if own.len() > 1 && shared.hungry.load(Ordering::Relaxed) > 0 {
                shared.give(&mut own);
            }
        }
        self.found
    }

    /// Ends the walk; of several errors that of the first path is told.
    fn stop(&self, shared: &Shared<R::Place, R::Mark>, (path, error): Stopped) {
        shared.stopped.store(true, Ordering::Relaxed);
        let mut queue = shared.lock();
        queue.waiting.clear();
        if queue.failed.as_ref().is_none_or(|(other, _)| path < *other) {
            let shown = path
                .as_ref()
                .map_or(String::new(), |path| format!("/{path}"));
            let attempt = format!("look for files to sync in {}{shown}", self.root);
            queue.failed = Some((path, DiskError::new(attempt, error)));
        }
    }
}
