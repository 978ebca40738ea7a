//! Walks where something may be selected, and nowhere else.
//!
//! What is entered and selected is said by [`Rules`]; this knows neither patterns nor git, but it
//! enters no directory in which another repository is. Directories are opened from the one above
//! without following links, and only what is selected is looked at with `lstat`. Several threads
//! share one stack of directories.

mod directory;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

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
    busy: usize,
    failed: Option<(Option<RepoPath>, DiskError)>,
}

type Entered<R> = Directory<<R as Rules>::Place, <R as Rules>::Mark>;
type Below<R> = Vec<Entered<R>>;
type Shared<P, M> = (Mutex<Queue<P, M>>, Condvar);

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
    let queue = Queue {
        waiting: vec![first],
        busy: 0,
        failed: None,
    };
    let shared = (Mutex::new(queue), Condvar::new());
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
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
    let queue = shared
        .0
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
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
    fn run(mut self, (queue, wake): &Shared<R::Place, R::Mark>) -> Found<R::Mark> {
        let mut state = queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(directory) = state.waiting.pop() {
                state.busy += 1;
                drop(state);
                let below = self.directory(directory);
                state = queue.lock().unwrap_or_else(PoisonError::into_inner);
                match below {
                    Ok(below) if state.failed.is_none() => state.waiting.extend(below),
                    Ok(_) => {}
                    Err(stopped) => self.stop(&mut state, stopped),
                }
                state.busy -= 1;
                wake.notify_all();
            } else if state.busy == 0 {
                return self.found;
            } else {
                state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Ends the walk; of several errors that of the first path is told.
    fn stop(&self, queue: &mut Queue<R::Place, R::Mark>, (path, error): Stopped) {
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
