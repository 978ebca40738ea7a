//! Fills a worktree that git has registered: with our own code where that comes to the same, with
//! git elsewhere.

use std::io::Read;

use camino::Utf8Path;

use super::register::{check_sparse, disagreement};
use crate::disk::checkout::{
    Checkout, CheckoutError, Content, Created, Known as Original, LockedFile, Originals, Reads,
    Task,
};
use crate::disk::files;
use crate::disk::mode::WriteBits;
use crate::entry::{Entry, Mode, ObjectId};
use crate::error::Error;
use crate::facts::add::Classified;
use crate::facts::{Main, Repository, WorktreeError};
use crate::git::blobs::BlobReader;
use crate::git::index::{IndexEntry, Stage, looked, read_index};
use crate::git::index_edit::nul_ended;
use crate::git::index_write::{IndexStat, NewEntry};
use crate::git::objects::{ObjectFormat, Objects};
use crate::git::sparse_rules::SparseRules;
use crate::git::{Git, GitError, reset};
use crate::manifest::OnDisk;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind, Scope};
use crate::worktree::repository::joined;

/// Where files cannot be cloned, and there are so many, those of the main worktree are only read that
/// the system holds in memory: from a disk their objects come more quickly, which stand side by side.
const READ_AT_MOST: usize = 20_000;

/// Holds a worktree that is to be filled.
pub struct Filling<'a> {
    /// The repository, as the worktree sees it.
    pub own: &'a Repository,
    /// Git, on the worktree by its private git directory.
    pub git: &'a Git,
    /// The private git directory.
    pub admin_dir: &'a Utf8Path,
    /// The worktree.
    pub path: &'a Utf8Path,
    /// What may be what.
    pub scope: &'a Scope,
    /// The same, as the lines of the sparse-checkout file.
    pub patterns: &'a [u8],
    /// What is checked out.
    pub classified: &'a Classified<'a>,
    /// What is needed to do it here, if somebody has read it already.
    pub ready: Option<Result<Ready<'a>, Error>>,
}

/// Holds what is to be created, from what, and what is left out: all that a checkout of ours needs
/// and that does not depend on the worktree being there.
pub struct Ready<'a> {
    /// The write bits of each entry; none for what is left out.
    bits: Vec<Option<WriteBits>>,
    tasks: Vec<Task<'a>>,
    /// What the main worktree has unchanged of the tasks, if it has anything.
    known: Option<Vec<Option<Original>>>,
}

impl<'a> Ready<'a> {
    /// Reads and decides it; nothing is changed.
    ///
    /// # Errors
    /// Fails when git would leave out other entries than the scope does.
    pub fn read(
        repository: &Repository,
        patterns: &[u8],
        classified: &Classified<'a>,
    ) -> Result<Self, Error> {
        std::thread::scope(|threads| {
            let known = threads.spawn(|| originals(repository, classified));
            let bits = bits(patterns, classified);
            let known = joined(known);
            let bits = bits?;
            let entries = classified.listing.entries.iter();
            let tasks = entries.zip(&bits).filter_map(task).collect();
            Ok(Self { bits, tasks, known })
        })
    }
}

/// Gives the content of blobs.
struct Reader {
    blobs: BlobReader,
    format: ObjectFormat,
}

impl Content for Reader {
    type Error = GitError;

    fn size(&mut self, id: &ObjectId) -> Result<u64, GitError> {
        self.blobs.size(id)
    }

    fn read<'b>(&mut self, id: &ObjectId, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], GitError> {
        self.blobs.read(id, buffer)
    }

    fn is(&self, id: &ObjectId, size: u64, bytes: &mut dyn Read) -> bool {
        let hashed = self.format.hash_blob(size, bytes);
        hashed.is_ok_and(|hashed| hashed == *id)
    }
}

/// Holds what was checked out.
pub struct CheckedOut {
    /// The index.
    pub index: Vec<IndexEntry>,
    /// What stands on disk for each entry of the listing, where we made it; its write bits are as
    /// the scope says.
    pub disk: Option<Vec<Option<OnDisk>>>,
}

impl Filling<'_> {
    /// Lets git do it. Its own sparse-checkout decides what is left out, and is held against the
    /// scope.
    ///
    /// # Errors
    /// Fails when git does, or disagrees with the scope.
    pub fn by_git(&self) -> Result<CheckedOut, Error> {
        self.git.reset_hard()?;
        let index = read_index(&self.admin_dir.join("index"), self.own.format)?;
        check_sparse(self.scope, &index)?;
        Ok(CheckedOut { index, disk: None })
    }

    /// Does it here, and leaves what git would: files, index, `ORIG_HEAD` and the log of HEAD.
    ///
    /// # Errors
    /// Fails when an object cannot be read or the disk refuses; what is there by then stays.
    /// A signal looks like a failure.
    pub fn by_ourselves(mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<CheckedOut, Error> {
        let entries = &self.classified.listing.entries;
        let ready = match self.ready.take() {
            Some(ready) => ready,
            None => Ready::read(self.own, self.patterns, self.classified),
        };
        let Ready { bits, tasks, known } = ready?;
        let locked = LockedFile::take(&self.admin_dir.join("index"))?;
        let objects = self.own.objects()?;
        // the index is not older than its lock, so that no entry looks as if its file could have
        // been changed at the moment at which the index was written ("racy git")
        let time = locked.time - 1_000_000_000;
        let created = self.create(&tasks, known, &objects, time, stop)?;
        drop(tasks);
        let each = || each(entries, &bits, &created);
        let new = objects.new_index(&self.classified.listing.trees, each().map(new_entry))?;
        locked.commit(&new)?;
        drop(new);
        self.leave_traces()?;
        let large = each().filter(|one| one.bits.is_some() && one.created.is_none());
        let large = nul_ended(large.map(|one| one.path));
        let disk = if large.is_empty() {
            Some(each().map(on_disk).collect())
        } else {
            // piece by piece, which is git's to do
            self.git.checkout_index(&large)?;
            None
        };
        drop(created);
        let index = entries.iter().zip(&bits).map(index_entry).collect();
        Ok(CheckedOut { index, disk })
    }

    /// Creates the files.
    fn create(
        &self,
        tasks: &[Task<'_>],
        known: Option<Vec<Option<Original>>>,
        objects: &Objects,
        time: i64,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Option<Created>>, Error> {
        let read = if tasks.len() < READ_AT_MOST {
            Reads::All
        } else {
            Reads::InMemory
        };
        let blobs = objects.blobs();
        let checkout = Checkout {
            root: self.path,
            tasks,
            time,
            content: &|| Reader {
                blobs: blobs.reader(),
                format: self.own.format,
            },
            originals: known.map(|known| Originals::new(&self.own.root, known, read)),
            stop,
        };
        checkout.make().map_err(Self::failed)
    }

    fn leave_traces(&self) -> Result<(), Error> {
        let (log, orig_head) = reset::traces(self.admin_dir);
        let head = &self.classified.listing.commit;
        let lines = files::read(&log)?;
        let line = lines.and_then(|lines| reset::log_line(&lines, head));
        // refs that are no files have other places for both
        match line {
            Some(line) => {
                files::append(&log, &line)?;
                Ok(files::append(&orig_head, format!("{head}\n").as_bytes())?)
            }
            None => Ok(self.git.reset_soft()?),
        }
    }

    fn failed(error: CheckoutError<GitError>) -> Error {
        match error {
            CheckoutError::Disk(error) => error.into(),
            CheckoutError::Content(error) => WorktreeError::from(error).into(),
            CheckoutError::Stopped => Error::Interrupted(2),
        }
    }
}

/// The write bits of each entry; none for what is left out. What git would leave out by the
/// patterns is held against it, as every later command of git's goes by them.
fn bits(patterns: &[u8], classified: &Classified<'_>) -> Result<Vec<Option<WriteBits>>, Error> {
    let mut rules = SparseRules::new(patterns);
    let mut bits = Vec::with_capacity(classified.accesses.len());
    for (path, entry, access) in classified.entries() {
        let excluded = access == Access::Excluded;
        // of a directory git asks the disk (see `scope/sparse.rs`)
        if EntryKind::of(entry.mode) == EntryKind::File && rules.leaves_out(path) != excluded {
            return Err(disagreement(path, access));
        }
        bits.push(match access {
            Access::Excluded => None,
            Access::Read => Some(WriteBits::Cleared),
            Access::Write => Some(WriteBits::Owner),
        });
    }
    Ok(bits)
}

/// What the main worktree has unchanged of what is not left out, as its index says.
fn originals(
    repository: &Repository,
    classified: &Classified<'_>,
) -> Option<Vec<Option<Original>>> {
    if repository.main == Main::Bare {
        return None;
    }
    let index = repository.common_dir.join("index");
    let known: Result<Vec<_>, _> = looked(&index, repository.format, |all| {
        let mut looked = all.iter().peekable();
        let mut known = |path: &RepoPath, entry: Entry| {
            let path = path.as_bstr();
            while looked.next_if(|one| one.path < path).is_some() {}
            let same = looked.next_if(|one| one.path == path)?;
            (same.entry == entry).then_some(Original {
                size: same.size,
                modified: same.modified,
                changed: same.changed,
                inode: same.inode,
            })
        };
        let wanted = classified.entries();
        let wanted = wanted.filter(|(_, _, access)| *access != Access::Excluded);
        wanted.map(|(path, entry, _)| known(path, entry)).collect()
    });
    known.ok()
}

fn task<'a>(
    ((path, entry), bits): (&'a (RepoPath, Entry), &Option<WriteBits>),
) -> Option<Task<'a>> {
    let (entry, bits) = (*entry, (*bits)?);
    Some(Task { path, entry, bits })
}

/// Holds an entry of the listing, and what came of it.
#[derive(Clone, Copy)]
struct One<'a> {
    path: &'a RepoPath,
    entry: &'a Entry,
    /// None for what is left out.
    bits: Option<WriteBits>,
    /// None where nothing was created.
    created: Option<&'a Created>,
}

/// Each entry of the listing; `created` has one for each that is not left out.
fn each<'a>(
    entries: &'a [(RepoPath, Entry)],
    bits: &'a [Option<WriteBits>],
    created: &'a [Option<Created>],
) -> impl Iterator<Item = One<'a>> + Clone {
    let mut created = created.iter();
    entries.iter().zip(bits).map(move |((path, entry), bits)| {
        let created = bits.and_then(|_| created.next()?.as_ref());
        One {
            path,
            entry,
            bits: *bits,
            created,
        }
    })
}

/// An entry of the index; of what is still to be created nothing is known.
fn new_entry(one: One<'_>) -> NewEntry<'_> {
    let known = |disk: &Created| IndexStat {
        stat: disk.stat,
        device: disk.device,
        uid: disk.uid,
        gid: disk.gid,
    };
    NewEntry {
        path: one.path,
        entry: *one.entry,
        disk: one.bits.map(|_| one.created.map(known).unwrap_or_default()),
    }
}

fn index_entry(((path, entry), bits): (&(RepoPath, Entry), &Option<WriteBits>)) -> IndexEntry {
    IndexEntry {
        path: path.clone(),
        entry: *entry,
        stage: Stage::Normal,
        skip_worktree: bits.is_none(),
        assume_unchanged: false,
        intent_to_add: false,
    }
}

/// What a walk would find of what was just created.
fn on_disk(one: One<'_>) -> Option<OnDisk> {
    let (entry, stat) = (one.entry, one.created?.stat);
    let entry = match entry.mode {
        // the disk says by the owner's bit which of the two it is
        Mode::File | Mode::Executable if stat.mode & 0o100 == 0 => Entry {
            mode: Mode::File,
            ..*entry
        },
        Mode::File | Mode::Executable => Entry {
            mode: Mode::Executable,
            ..*entry
        },
        Mode::Link => *entry,
        Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => Entry {
            mode: Mode::EmptyDirectory,
            id: ObjectId::none(),
        },
    };
    Some(OnDisk { entry, stat })
}
