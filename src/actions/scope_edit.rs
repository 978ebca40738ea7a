//! Says what a scope makes of a commit's entries, and sets the write bits of files.

use camino::Utf8Path;

use crate::answer::shapes::{AccessCounts, Exclusion};
use crate::disk::error::DiskError;
use crate::disk::mode::{BitsChange, ChangedBits, WriteBits, set_write_bits};
use crate::git::index::IndexEntry;
use crate::git::trees::{CachedTree, TreeListing};
use crate::inventory::placed::{PlacedFile, PlacedKind};
use crate::scope::compiled::Scope;
use crate::scope::coverage::Coverage;
use crate::scope::rule::{Access, EntryKind, RuleText, ScopeRule};
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::repository::Repository;

/// What a commit has.
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
        Ok(Self {
            commit: commit.clone(),
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

    /// What excludes entries of the commit.
    pub fn exclusions(&self, scope: &Scope) -> Vec<Exclusion> {
        let mut classifier = scope.classifier();
        let mut excluded_by: Vec<(Option<&ScopeRule>, usize)> = Vec::new();
        for (path, entry) in &self.entries {
            let verdict = classifier.verdict(path, EntryKind::of(entry.mode));
            if verdict.access != Access::Excluded {
                continue;
            }
            match excluded_by
                .iter_mut()
                .find(|(rule, _)| *rule == verdict.rule)
            {
                Some((_, files)) => *files += 1,
                None => excluded_by.push((verdict.rule, 1)),
            }
        }
        let field = |(rule, files): (Option<&ScopeRule>, usize)| Exclusion {
            rule: rule.map(RuleText::from),
            files,
        };
        excluded_by.into_iter().map(field).collect()
    }

    /// What the rules of a scope match.
    pub fn coverage(&self, scope: &Scope) -> Coverage {
        let entries = self.entries.iter();
        scope.coverage(entries.map(|(path, entry)| (path, EntryKind::of(entry.mode))))
    }
}

/// A listing with the access to each entry.
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
        let count = |access| {
            self.accesses
                .iter()
                .filter(|entry| **entry == access)
                .count()
        };
        AccessCounts {
            write: count(Access::Write),
            read: count(Access::Read),
            excluded: count(Access::Excluded),
        }
    }
}

/// The sparse patterns of a scope, for a worktree with this index.
pub fn sparse_patterns(scope: &Scope, index: &[IndexEntry]) -> Vec<u8> {
    let is_gitlink = |entry: &&IndexEntry| entry.entry.mode == Mode::Gitlink;
    let gitlinks = index.iter().filter(is_gitlink).map(|entry| &entry.path);
    scope.sparse_patterns(gitlinks)
}

/// The write bits that an access asks for; none for what is absent.
pub const fn write_bits(access: Access) -> Option<WriteBits> {
    match access {
        Access::Excluded => None,
        Access::Read => Some(WriteBits::Cleared),
        Access::Write => Some(WriteBits::Owner),
    }
}

/// Sets (or only looks for) the write bits of tracked and of placed files: none on tracked files
/// that are only to be read and on placed files that may not be edited, the owner's on tracked
/// files that may be edited. A placed file that may be edited keeps the bits that it was placed
/// with. Directories, links, submodules and tracked files that the scope excludes are left alone.
///
/// # Errors
/// Fails when the worktree cannot be opened.
pub fn set_bits<'f>(
    worktree: &Utf8Path,
    scope: &Scope,
    index: &[IndexEntry],
    placed: impl IntoIterator<Item = &'f PlacedFile>,
    change: BitsChange,
) -> Result<ChangedBits, DiskError> {
    let mut classifier = scope.classifier();
    let mut files: Vec<(RepoPath, WriteBits)> = Vec::with_capacity(index.len());
    for IndexEntry { path, .. } in index.iter().filter(|entry| entry.entry.mode.is_regular()) {
        // a conflict has up to three entries of a path
        if files.last().is_none_or(|(last, _)| last != path) {
            let bits = write_bits(classifier.verdict(path, EntryKind::File).access);
            files.extend(bits.map(|bits| (path.clone(), bits)));
        }
    }
    let is_file = |file: &&PlacedFile| file.kind == PlacedKind::File;
    for PlacedFile { path, .. } in placed.into_iter().filter(is_file) {
        if classifier.verdict(path, EntryKind::File).access != Access::Write {
            files.push((path.clone(), WriteBits::Cleared));
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files.dedup_by(|a, b| a.0 == b.0);
    set_write_bits(worktree, &files, change)
}
