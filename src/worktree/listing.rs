//! Lists what a commit has, and the access that a scope gives to each entry.

use super::Repository;
use crate::answer::shapes::AccessCounts;
use crate::entry::Entry;
use crate::error::Error;
use crate::git::trees::{CachedTree, TreeListing};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind, Scope};

/// Represents what a commit has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The commit.
    pub commit: CommitId,
    /// Every entry of its tree, sorted by path.
    pub entries: Vec<(RepoPath, Entry)>,
    /// The directories of its tree.
    pub trees: CachedTree,
}

impl Listing {
    /// Reads a commit.
    ///
    /// # Errors
    /// Fails when the commit cannot be read.
    pub fn read(repository: &Repository, commit: &CommitId) -> Result<Self, Error> {
        let objects = repository.objects()?;
        let TreeListing { entries, trees } = objects.listing(&objects.commit(commit)?.tree)?;
        let commit = commit.clone();
        Ok(Self {
            commit,
            entries,
            trees,
        })
    }

    /// Reads the text of each attribute file of the commit.
    ///
    /// # Errors
    /// Fails when one cannot be read.
    pub fn attributes(&self, repository: &Repository) -> Result<Vec<Vec<u8>>, Error> {
        let objects = repository.objects()?;
        let files = self.entries.iter().filter(|(path, entry)| {
            path.file_name() == ".gitattributes" && !entry.mode.is_directory()
        });
        let texts = files.map(|(_, entry)| objects.blob(&entry.id));
        Ok(texts.collect::<Result<_, _>>()?)
    }

    /// The paths, and how patterns match each.
    pub fn kinds(&self) -> Vec<(RepoPath, EntryKind)> {
        let entries = self.entries.iter();
        let kind = |(path, entry): &(RepoPath, Entry)| (path.clone(), EntryKind::of(entry.mode));
        entries.map(kind).collect()
    }

    /// The access that a scope gives to each entry.
    pub fn classify(&self, scope: &Scope) -> Classified<'_> {
        let mut classifier = scope.classifier();
        let access = |(path, entry): &(RepoPath, Entry)| {
            classifier.verdict(path, EntryKind::of(entry.mode)).access
        };
        Classified {
            listing: self,
            accesses: self.entries.iter().map(access).collect(),
        }
    }

    /// The number of entries that each rule matches, in the order of the rules, and advice for the
    /// author of the scope.
    pub fn coverage(&self, scope: &Scope) -> (Vec<usize>, Vec<String>) {
        let entries = self.entries.iter();
        let coverage =
            scope.coverage(entries.map(|(path, entry)| (path, EntryKind::of(entry.mode))));
        (coverage.matches, coverage.advice)
    }
}

/// Represents a listing with the access to each entry.
#[derive(Clone, Debug)]
pub struct Classified<'a> {
    /// The listing.
    pub listing: &'a Listing,
    /// The access to each entry, in their order.
    pub accesses: Vec<Access>,
}

impl<'a> Classified<'a> {
    /// Each entry with its access.
    pub fn entries(&self) -> impl Iterator<Item = (&'a RepoPath, Entry, Access)> {
        let entries = self.listing.entries.iter().zip(&self.accesses);
        entries.map(|((path, entry), access)| (path, *entry, *access))
    }

    /// The number of files by access.
    pub fn counts(&self) -> AccessCounts {
        let count = |access| self.accesses.iter().filter(|one| **one == access).count();
        AccessCounts {
            write: count(Access::Write),
            read: count(Access::Read),
            excluded: count(Access::Excluded),
        }
    }

    /// What may be written, and how patterns match it.
    pub fn writable(&self) -> Vec<(RepoPath, EntryKind)> {
        let writable = self.entries().filter(|entry| entry.2 == Access::Write);
        writable
            .map(|(path, entry, _)| (path.clone(), EntryKind::of(entry.mode)))
            .collect()
    }
}
