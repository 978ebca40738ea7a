//! Fills a worktree that git has registered: with our own code where that comes to the same, with
//! git elsewhere.

use camino::Utf8Path;

use super::register::check_sparse;
use crate::disk::checkout::{Checkout, CheckoutError, Created, LockedFile, Task};
use crate::disk::files;
use crate::disk::mode::WriteBits;
use crate::entry::{Entry, Mode, ObjectId};
use crate::error::Error;
use crate::facts::add::Listing;
use crate::facts::{FactsError, Repository};
use crate::git::index::{IndexEntry, Stage, read_index};
use crate::git::index_write::{IndexStat, NewEntry};
use crate::git::{Git, GitError, reset};
use crate::manifest::OnDisk;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind, Scope};

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
    /// What is checked out.
    pub listing: &'a Listing,
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
    pub fn by_ourselves(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<CheckedOut, Error> {
        let entries = &self.listing.entries;
        let bits = self.bits();
        let tasks: Vec<Task<'_>> = entries.iter().zip(&bits).filter_map(task).collect();
        let locked = LockedFile::take(&self.admin_dir.join("index"))?;
        let objects = self.own.objects()?;
        let blobs = objects.blobs();
        let reader = || -> crate::disk::checkout::Reader<'_, GitError> {
            let reader = blobs.reader();
            Box::new(move |id: &ObjectId, buffer| reader.read(id, buffer))
        };
        let checkout = Checkout {
            root: self.path,
            tasks: &tasks,
            // the index is not older than its lock, so that no entry looks as if its file could
            // have been changed at the moment at which the index was written ("racy git")
            time: locked.time - 1_000_000_000,
            reader: &reader,
            stop,
        };
        let created = checkout.make().map_err(|error| self.failed(error))?;
        let mut created = created.into_iter();
        let disk: Vec<Option<Created>> = bits
            .iter()
            .map(|bits| bits.and_then(|_| created.next()))
            .collect();
        let new: Vec<NewEntry<'_>> = entries.iter().zip(&disk).map(new_entry).collect();
        let tree = objects.commit(&self.listing.commit)?.tree;
        locked.commit(&objects.new_index(&tree, &new)?)?;
        self.leave_traces()?;
        Ok(CheckedOut {
            index: entries.iter().zip(&disk).map(index_entry).collect(),
            disk: Some(entries.iter().zip(&disk).map(on_disk).collect()),
        })
    }

    /// The write bits of each entry; none for what is left out.
    fn bits(&self) -> Vec<Option<WriteBits>> {
        let mut classifier = self.scope.classifier();
        let mut bits = |(path, entry): &(RepoPath, Entry)| {
            let kind = if entry.mode.is_directory() {
                EntryKind::Directory
            } else {
                EntryKind::File
            };
            match classifier.verdict(path, kind).access {
                Access::Excluded => None,
                Access::Read => Some(WriteBits::Cleared),
                Access::Write => Some(WriteBits::Owner),
            }
        };
        self.listing.entries.iter().map(&mut bits).collect()
    }

    fn leave_traces(&self) -> Result<(), Error> {
        let (log, orig_head) = reset::traces(self.admin_dir);
        let head = &self.listing.commit;
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

    fn failed(&self, error: CheckoutError<GitError>) -> Error {
        match error {
            CheckoutError::Disk(error) => error.into(),
            CheckoutError::Content(error) => FactsError::from(error).into(),
            CheckoutError::Stopped => Error::Interrupted(2),
        }
    }
}

fn task<'a>(
    ((path, entry), bits): (&'a (RepoPath, Entry), &Option<WriteBits>),
) -> Option<Task<'a>> {
    let (entry, bits) = (*entry, (*bits)?);
    Some(Task { path, entry, bits })
}

fn new_entry<'a>(((path, entry), disk): (&'a (RepoPath, Entry), &Option<Created>)) -> NewEntry<'a> {
    let disk = disk.map(|disk| IndexStat {
        stat: disk.stat,
        device: disk.device,
        uid: disk.uid,
        gid: disk.gid,
    });
    NewEntry {
        path,
        entry: *entry,
        disk,
    }
}

fn index_entry(((path, entry), disk): (&(RepoPath, Entry), &Option<Created>)) -> IndexEntry {
    IndexEntry {
        path: path.clone(),
        entry: *entry,
        stage: Stage::Normal,
        skip_worktree: disk.is_none(),
        assume_unchanged: false,
        intent_to_add: false,
    }
}

/// What a walk would find of what was just created.
fn on_disk(((_, entry), disk): (&(RepoPath, Entry), &Option<Created>)) -> Option<OnDisk> {
    let stat = disk.as_ref()?.stat;
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
