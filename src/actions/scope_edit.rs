//! Says what a scope makes of a commit's entries, and gives a worktree its sparse patterns and
//! write bits.

use camino::Utf8Path;

use crate::answer::shapes::{AccessCounts, Exclusion};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::mode::{BitsChange, ChangedBits, WriteBits, set_write_bits};
use crate::disk::remains::remove_dead_locks;
use crate::git::index::{IndexEntry, read_index};
use crate::git::trees::{CachedTree, TreeListing};
use crate::inventory::placed::{PlacedFile, PlacedKind};
use crate::judge::change::{INDEX_LOCK, SPARSE_LOCK};
use crate::record::worktree::WatchedFile;
use crate::scope::compiled::Scope;
use crate::scope::coverage::Coverage;
use crate::scope::rule::{Access, EntryKind, RuleText, ScopeRule};
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The file of a record that says that the scope is being applied: a kill in between leaves it
/// there.
const APPLYING: &str = "applying-scope";
/// The locks that a git that is killed while it applies a scope leaves in the private git
/// directory.
const LOCKS: [&str; 3] = [SPARSE_LOCK, "config.worktree.lock", INDEX_LOCK];

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

/// Sets (or only looks for) the write bits of tracked and of placed files: none on what is only to
/// be read, the owner's on tracked files that may be edited. A placed file that may be edited keeps
/// the bits that it was placed with. Directories, links and submodules are left alone.
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

/// Says what was set anew in a worktree, or would be.
#[derive(Clone, Debug, Default)]
pub struct Reapplied {
    /// Whether the sparse patterns were other ones, or switched off.
    pub patterns: bool,
    /// The excluded files that were on disk.
    pub present: Vec<RepoPath>,
    /// The excluded files that stay on disk, as they are changed.
    pub stays: Vec<RepoPath>,
    /// The write bits.
    pub bits: ChangedBits,
}

impl Reapplied {
    /// What a person should know of files that stay.
    pub fn notes(&self) -> Vec<String> {
        let note = |path: &RepoPath| {
            format!(
                "{path} is excluded and stays on disk, because it is changed: save or revert it"
            )
        };
        self.stays.iter().map(note).collect()
    }
}

impl Worktree {
    /// Sets sparse patterns and write bits as the scope says, or only looks for what differs.
    ///
    /// # Errors
    /// Fails when git or the disk does; to do the same again finishes it.
    pub fn reapply(&self, repository: &Repository, change: BitsChange) -> Result<Reapplied, Error> {
        if change == BitsChange::Preview {
            return self.apply_scope(repository, change);
        }
        self.begin_applying()?;
        let reapplied = self.apply_scope(repository, change)?;
        self.end_applying()?;
        Ok(reapplied)
    }

    /// Notes that the scope is being applied. An earlier note stays: what a killed git left is
    /// newer.
    fn begin_applying(&self) -> Result<(), DiskError> {
        let note = self.dir.join(APPLYING);
        if files::exists(&note) {
            return Ok(());
        }
        files::write(&note, b"")
    }

    fn end_applying(&self) -> Result<(), DiskError> {
        files::remove_file(&self.dir.join(APPLYING))
    }

    /// Checks that the scope is applied. While it is not, the disk says nothing of what the agent
    /// did.
    ///
    /// # Errors
    /// Fails while a command applies the scope, and after one that was killed.
    pub fn require_applied_scope(&self) -> Result<(), WorktreeFault> {
        if !files::exists(&self.dir.join(APPLYING)) {
            return Ok(());
        }
        let name = self.record.name.to_string();
        Err(WorktreeFault::ScopeNotApplied { name })
    }

    fn apply_scope(&self, repository: &Repository, change: BitsChange) -> Result<Reapplied, Error> {
        let record = &self.record;
        let index_file = record.admin_dir.join("index");
        let index = read_index(&index_file, repository.format)?;
        let patterns = sparse_patterns(&self.scope, &index);
        let mut reapplied = Reapplied {
            patterns: !self.is_sparse_by(repository, &patterns)?,
            present: self.excluded_on_disk(&index),
            ..Reapplied::default()
        };
        // looked for first: our own hook puts them back as soon as git has moved a file
        let placed = self.placed()?;
        let set_bits = |index: &[IndexEntry], change| {
            set_bits(&record.path, &self.scope, index, placed.files(), change)
        };
        let mut bits = set_bits(&index, BitsChange::Preview)?;
        if change == BitsChange::Apply {
            self.remove_verification()?;
            self.set_sparse(repository, &patterns)?;
            let index_now = read_index(&index_file, repository.format)?;
            let set = set_bits(&index_now, BitsChange::Apply)?;
            bits.changed.extend(set.changed);
            bits.refused = set.refused;
            self.hardened_git(repository).update_index_refresh()?;
            reapplied.stays = self.excluded_on_disk(&index_now);
        }
        bits.changed.sort_unstable();
        bits.changed.dedup();
        reapplied.bits = bits;
        Ok(reapplied)
    }

    /// Gives the worktree the scope that this value has. The record comes first, with the digest
    /// that the sparse patterns will have: a kill leaves the new scope, and `reapply` finishes.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn change_scope(mut self, repository: &Repository) -> Result<Reapplied, Error> {
        let is_recorded = self.config_is_as_recorded(repository)?;
        let index = read_index(&self.record.admin_dir.join("index"), repository.format)?;
        let patterns = sparse_patterns(&self.scope, &index);
        for print in &mut self.record.integrity {
            if print.file == WatchedFile::SparseCheckout {
                print.digest = Some(repository.format.blob_id(&patterns).to_string());
            }
        }
        self.begin_applying()?;
        self.write_record(&self.record)?;
        let reapplied = self.apply_scope(repository, BitsChange::Apply)?;
        self.renew_digests(repository, |file| {
            is_recorded && file == WatchedFile::ConfigWorktree
        })?;
        self.end_applying()?;
        Ok(reapplied)
    }

    /// Whether sparse-checkout is on, with exactly these patterns.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn is_sparse_by(&self, repository: &Repository, patterns: &[u8]) -> Result<bool, Error> {
        let file = self.record.admin_dir.join("info/sparse-checkout");
        let git = self.hardened_git(repository);
        let on = git.config_get_bool("core.sparseCheckout")? == Some(true);
        Ok(on && !files::is_behind_link(&file) && files::read(&file)?.as_deref() == Some(patterns))
    }

    /// Lists the excluded tracked files that are on disk.
    pub fn excluded_on_disk(&self, index: &[IndexEntry]) -> Vec<RepoPath> {
        let mut classifier = self.scope.classifier();
        let root = self.record.path.as_std_path();
        let mut stands = |entry: &&IndexEntry| {
            let is_excluded = entry.entry.mode != Mode::Gitlink
                && classifier.verdict(&entry.path, EntryKind::File).access == Access::Excluded;
            let path = entry.path.to_os_path();
            is_excluded && path.is_ok_and(|path| files::exists(&root.join(path)))
        };
        let there = index.iter().filter(&mut stands);
        there.map(|entry| entry.path.clone()).collect()
    }

    /// Replaces links among the files of the private git directory by what they lead to: git writes
    /// there.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn replace_links(&self) -> Result<(), Error> {
        let admin_dir = &self.record.admin_dir;
        let names = "info info/sparse-checkout config.worktree index logs logs/HEAD";
        let files = names.split(' ').map(|name| admin_dir.join(name));
        for link in files.filter(|file| files::is_link(file)) {
            let text = files::read(&link).ok().flatten();
            files::remove_file(&link)?;
            text.map_or(Ok(()), |text| files::write(&link, &text))?;
        }
        Ok(())
    }

    /// Sets the sparse patterns, and removes what else switches them off. Git removes excluded
    /// files without changes, and brings others back.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn set_sparse(&self, repository: &Repository, patterns: &[u8]) -> Result<(), Error> {
        let _shared = Lock::wait(&repository.shared_lock())?;
        self.replace_links()?;
        // hooks and file watchers could have been planted in the shared configuration
        let git = self.hardened_git(repository);
        if let Err(error) = git.sparse_checkout_set(patterns) {
            let locks = LOCKS.map(|lock| self.record.admin_dir.join(lock));
            if !locks.iter().any(files::exists) {
                return Err(error.into());
            }
            // by a git that was killed together with the command that this one finishes
            remove_dead_locks(&locks, &self.dir.join(APPLYING));
            git.sparse_checkout_set(patterns)?;
        }
        // `git sparse-checkout disable` leaves it behind
        let unset = ["--unset-all", "index.sparse"];
        let config = self.record.admin_dir.join("config.worktree");
        Ok(git.config_file_unset(&config, &unset)?)
    }
}
