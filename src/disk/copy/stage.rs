//! Makes everything in the staging directory: directories from above, their entries by several
//! threads, then modes and times of the directories from below.
//!
//! A thread has one directory at a time, with a descriptor of the source's and one of the staged
//! one: each is opened once, from the one above it and never through a link, and two threads
//! seldom wait for the same directory.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, chmodat, fchmod, fstat, mkdirat, openat, statat, utimensat,
};

use super::entry::{Copier, mtime};
use super::error::{Cause, CopyError};
use super::queue::Queue;
use super::tree::{Is, Tree};
use super::{From as Origin, Item, Staged, Staging};
use crate::disk::files;
use crate::disk::stat::stat_from;
use crate::placed::PlacedKind;

pub(super) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What a directory may hold so that one thread does it alone.
const SHARE: usize = 256;

/// Holds a directory that is open: the source's, unless nothing of it is from there, and ours.
pub(super) struct Pair {
    pub source: Option<OwnedFd>,
    pub staged: OwnedFd,
}

struct Task {
    /// The pair of the directory above; for a part of a directory, its own.
    pair: Arc<Pair>,
    node: usize,
    /// Which of its entries; none for the directory as a whole.
    part: Option<std::ops::Range<usize>>,
}

/// Copies all items into the staging directory, each under its own path. Returns what was made
/// of each, sorted by path; directories that items need and that are none are made too.
///
/// The copy of a file has exactly the bits that are given, without those that would lend
/// somebody's rights (setuid, setgid): it belongs to who copies.
///
/// # Errors
/// Fails when a source is not what was chosen or cannot be read, when the disk refuses, and when
/// it is stopped; the staging directory is removed then.
pub fn stage(staging: &Staging<'_>, items: &[Item]) -> Result<Vec<Staged>, CopyError> {
    let failed = |error| Cause::disk("make the directory", staging.directory, error);
    mkdirat(
        CWD,
        staging.directory.as_std_path(),
        Mode::from_raw_mode(0o777),
    )
    .map_err(failed)?;
    fill(staging, items).map_err(|error| error.with(drop_staging(staging.directory)))
}

/// Removes a staging directory; what fails is a warning.
pub(super) fn drop_staging(directory: &Utf8Path) -> Vec<String> {
    match files::remove_directory(directory) {
        Ok(()) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}

fn fill(staging: &Staging<'_>, items: &[Item]) -> Result<Vec<Staged>, CopyError> {
    let tree = Tree::new(items.iter().map(|item| (&item.path, is(item))));
    let failed = |error| Cause::disk("open", staging.directory, error);
    let root = openat(
        CWD,
        staging.directory.as_std_path(),
        DIRECTORY,
        Mode::empty(),
    );
    let root = root.map_err(failed)?;
    let umask = own(&root).map_err(failed)?;
    let source = openat(
        CWD,
        staging.source.as_std_path(),
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|error| Cause::disk("open", staging.source, error))?;
    let work = Work {
        staging,
        items,
        needs: needs_source(&tree, items),
        ways: tree.nodes().iter().map(|_| AtomicU32::new(0o777)).collect(),
        tree,
        umask,
        failed: Mutex::new(None),
    };
    let mut staged = work.entries(Pair {
        source: Some(source),
        staged: root
            .try_clone()
            .map_err(|error| Cause::disk("open", staging.directory, error))?,
    })?;
    staged.extend(work.directories(&root)?);
    staged.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(staged)
}

fn is(item: &Item) -> Is {
    match item.from {
        Origin::Source(PlacedKind::Directory, _) => Is::Directory,
        Origin::Source(PlacedKind::File | PlacedKind::Link, _) | Origin::Text(_) => Is::Entry,
    }
}

/// Closes the new directory for others, and returns what the umask leaves of all bits.
fn own(root: &OwnedFd) -> rustix::io::Result<Mode> {
    let made = Mode::from_raw_mode(fstat(root)?.st_mode);
    // what is inherited with the group (setgid) goes on to what is made in it
    fchmod(root, (made & Mode::SGID) | Mode::RWXU)?;
    Ok(made & Mode::from_raw_mode(0o777))
}

/// For each directory, whether something below it is from the source.
fn needs_source(tree: &Tree<'_>, items: &[Item]) -> Vec<bool> {
    let from_source = |place: &usize| matches!(items[*place].from, Origin::Source(..));
    let mut needs = vec![false; tree.nodes().len()];
    for (at, node) in tree.nodes().iter().enumerate().rev() {
        needs[at] = node.item.iter().chain(&node.entries).any(from_source)
            || node.directories.iter().any(|below| needs[*below]);
    }
    needs
}

struct Work<'a> {
    staging: &'a Staging<'a>,
    items: &'a [Item],
    tree: Tree<'a>,
    needs: Vec<bool>,
    /// The bits that the source's directories have.
    ways: Vec<AtomicU32>,
    umask: Mode,
    failed: Mutex<Option<CopyError>>,
}

impl Work<'_> {
    /// Makes the directories, and copies what is in them.
    fn entries(&self, root: Pair) -> Result<Vec<Staged>, CopyError> {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
        let queue = Queue::new(Task {
            pair: Arc::new(root),
            node: 0,
            part: None,
        });
        let copier = Copier::new(self.staging);
        let staged = std::thread::scope(|scope| {
            let thread = || {
                let mut staged = Vec::new();
                let mut copy = copier.thread();
                queue.work(|task| {
                    if let Err(error) = self.task(&queue, task, &mut copy, &mut staged) {
                        queue.close();
                        self.fail(error);
                    }
                });
                staged
            };
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
            let mut staged = Vec::with_capacity(self.items.len());
            for handle in handles {
                let part = handle.join();
                staged.extend(part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            staged
        });
        let failed = self
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        failed.map_or(Ok(staged), Err)
    }

    /// Keeps the first error, and rather a failure than a stop.
    fn fail(&self, error: CopyError) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(CopyError::is_stop) {
            *failed = Some(error);
        }
    }

    fn task(
        &self,
        queue: &Queue<Task>,
        task: Task,
        copy: &mut super::entry::Thread<'_>,
        staged: &mut Vec<Staged>,
    ) -> Result<(), CopyError> {
        let node = &self.tree.nodes()[task.node];
        let (pair, part) = match task.part {
            Some(part) => (task.pair, part),
            None => {
                copy.go_on()?;
                let pair = Arc::new(self.open(&task.pair, task.node)?);
                let rest = self.spread(queue, &pair, task.node)?;
                (pair, rest)
            }
        };
        for place in &node.entries[part] {
            staged.push(copy.item(&pair, &self.items[*place])?);
        }
        Ok(())
    }

    /// Opens a directory from the one above it.
    fn open(&self, above: &Pair, at: usize) -> Result<Pair, CopyError> {
        let node = &self.tree.nodes()[at];
        if at == 0 {
            let again = |fd: &OwnedFd| {
                fd.try_clone()
                    .map_err(|error| Cause::disk("open", self.staging.directory, error))
            };
            return Ok(Pair {
                source: above.source.as_ref().map(again).transpose()?,
                staged: again(&above.staged)?,
            });
        }
        let path = || node.repo_path();
        let source = match &above.source {
            Some(above) if self.needs[at] => {
                let open = openat(above, node.name(), DIRECTORY, Mode::empty());
                Some(open.map_err(|error| Cause::source(&path(), error))?)
            }
            Some(_) | None => None,
        };
        if let Some(source) = &source {
            let now = fstat(source).map_err(|error| Cause::source(&path(), error))?;
            let now = stat_from(&now);
            self.ways[at].store(now.mode & 0o777, Ordering::Relaxed);
            match node.item.map(|item| &self.items[item].from) {
                // what is in it may have become more or less: what was chosen is copied
                Some(Origin::Source(_, chosen)) if now.inode != chosen.inode => {
                    return Err(Cause::Changed(path()).into());
                }
                Some(Origin::Source(..) | Origin::Text(_)) | None => {}
            }
        }
        let staged = openat(&above.staged, node.name(), DIRECTORY, Mode::empty());
        let staged = staged.map_err(|error| Cause::disk("open", path(), error))?;
        Ok(Pair { source, staged })
    }

    /// Makes the directories in one, and gives them and, where it is large, parts of its entries
    /// to whoever is free. Returns the entries that are left.
    fn spread(
        &self,
        queue: &Queue<Task>,
        pair: &Arc<Pair>,
        at: usize,
    ) -> Result<std::ops::Range<usize>, CopyError> {
        let node = &self.tree.nodes()[at];
        for below in &node.directories {
            let below = &self.tree.nodes()[*below];
            // with its own bits it need not get them later; nobody else comes this far
            let bits = below.item.map_or(0, |item| self.items[item].bits & 0o777);
            let mode = Mode::from_raw_mode(bits as _) | Mode::RWXU;
            mkdirat(&pair.staged, below.name(), mode)
                .map_err(|error| Cause::disk("make the directory", below.repo_path(), error))?;
        }
        let task = |node, part| Task {
            pair: Arc::clone(pair),
            node,
            part,
        };
        let all = node.entries.len();
        let parts = (SHARE..all)
            .step_by(SHARE)
            .map(|start| task(at, Some(start..all.min(start + SHARE))));
        let directories = node
            .directories
            .iter()
            .rev()
            .map(|below| task(*below, None));
        queue.add(parts.chain(directories));
        Ok(0..all.min(SHARE))
    }

    /// Gives the directories their modes and times, those below first. The staging directory is
    /// nobody else's, so paths in it are as we made them.
    fn directories(&self, root: &OwnedFd) -> Result<Vec<Staged>, CopyError> {
        let mut staged = Vec::new();
        for (at, node) in self.tree.nodes().iter().enumerate().skip(1).rev() {
            let done = match node.item.map(|item| &self.items[item]) {
                Some(item) => finish_directory(root, item).map(|made| staged.push(made)),
                None => self.finish_way(root, at),
            };
            done.map_err(|error| Cause::disk("make the directory", node.repo_path(), error))?;
        }
        Ok(staged)
    }

    /// Gives a directory that only others need the bits of the source's that the umask leaves,
    /// so that it opens nothing that was closed.
    fn finish_way(&self, root: &OwnedFd, at: usize) -> rustix::io::Result<()> {
        let path = self.tree.nodes()[at].path.as_bytes();
        let there = Mode::from_raw_mode(self.ways[at].load(Ordering::Relaxed) as _);
        let now = statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let inherited = Mode::from_raw_mode(now.st_mode) & Mode::SGID;
        let mode = (there & self.umask) | Mode::RWXU | inherited;
        chmodat(root, path, mode, AtFlags::empty())
    }
}

fn finish_directory(root: &OwnedFd, item: &Item) -> rustix::io::Result<Staged> {
    let path = item.path.as_bstr().as_bytes();
    if let Origin::Source(_, stat) = &item.from {
        utimensat(root, path, &mtime(stat), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    let mode = Mode::from_raw_mode((item.bits & 0o3777) as _);
    let mut stat = statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if Mode::from_raw_mode(stat.st_mode) != mode {
        chmodat(root, path, mode, AtFlags::empty())?;
        stat = statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    let stat = stat_from(&stat);
    Ok(Staged {
        path: item.path.clone(),
        kind: PlacedKind::Directory,
        digest: None,
        stat,
    })
}
