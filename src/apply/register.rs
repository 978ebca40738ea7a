//! Writes what `add` knows of a worktree: manifest, refs, ignore rules, and at last the record.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::drift::Proof;
use crate::disk::files;
use crate::disk::scan::{Believe, Found, Walk, scan};
use crate::entry::Entry;
use crate::error::Error;
use crate::facts::add::Listing;
use crate::facts::{Repository, Worktree};
use crate::git::checkout::read_conversions;
use crate::manifest::{Item, Manifest, OnDisk};
use crate::path::RepoPath;
use crate::placed::Placed;
use crate::truth::{integrity, shared};
use crate::worktree::RecordState;
use crate::worktree::excluding::read_users_rules;
use crate::worktree::repository::joined;
use crate::worktree::{Owner, Record, WatchedFile, to_text};

/// Holds what is to be registered; the record's digests and `conversions` are filled in here.
pub struct Registration<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Where the record goes.
    pub dir: Utf8PathBuf,
    /// The record.
    pub record: Record,
    /// The commit that is checked out.
    pub head: &'a Listing,
    /// What was placed there, which has a list of its own.
    pub placed: Placed,
    /// Whether git has just written the files, so that they need not be read.
    pub fresh: Fresh,
}

/// Says how much of the disk is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// We have just created everything, and nobody else anything; what stands on disk for each
    /// entry of the commit.
    Created(Vec<Option<OnDisk>>),
    /// Git has just checked everything out.
    Yes,
    /// Somebody has worked there.
    No,
}

impl Registration<'_> {
    /// Takes the manifest and writes everything; the record itself comes last, so that a
    /// worktree is known only when all else is there.
    ///
    /// # Errors
    /// Fails when git or the disk does; the caller removes the directory.
    pub fn write(mut self) -> Result<Record, Error> {
        let repository = self.repository;
        if let RecordState::Incomplete(intent) = RecordState::read(repository, &self.record.name)? {
            self.record.owner = intent.owner;
        }
        self.record.conversions = self.conversions()?;
        std::thread::scope(|threads| {
            let manifest = threads.spawn(|| self.write_manifest());
            let rest = self.write_rest();
            joined(manifest)?;
            rest
        })?;
        let admin_dir = &self.record.admin_dir;
        self.record.integrity =
            integrity::fingerprints(&repository.common_dir, admin_dir, repository.format)?;
        files::write(
            &self.dir.join("record.toml"),
            to_text(&self.record).as_bytes(),
        )?;
        files::remove_file(&self.dir.join("intent.toml"))?;
        Ok(self.record)
    }

    fn write_manifest(&self) -> Result<(), Error> {
        let manifest = self.manifest()?;
        Ok(files::write(
            &self.dir.join("manifest"),
            &manifest.to_bytes(),
        )?)
    }

    /// Writes what is known of all else; the disk takes it together with the manifest.
    fn write_rest(&self) -> Result<(), Error> {
        files::write(&self.dir.join("refs"), &refs(self.repository)?)?;
        self.ignore_rules()?;
        let shared = shared::take(self.repository)?;
        let file = self.dir.join("shared.toml");
        Ok(files::write(&file, to_text(&shared).as_bytes())?)
    }

    /// Whether a file on disk may differ from what git stores, by whatever says so now: what is put
    /// into the shared configuration later must hide no edit. A replaced object is such a difference
    /// (git-replace(1)).
    fn conversions(&self) -> Result<bool, Error> {
        let replaced = self.repository.git.for_each_ref(&["refs/replace/"])?;
        let attributes = self.head.attributes(self.repository)?;
        let conversions = read_conversions(&self.record.admin_dir, attributes)?;
        Ok(!replaced.is_empty() || conversions.possible)
    }

    fn manifest(&self) -> Result<Manifest, Error> {
        match &self.fresh {
            Fresh::Created(disk) => self.manifest_of(disk),
            Fresh::Yes | Fresh::No => self.manifest_of_walk(),
        }
    }

    /// Nothing was written there but what is known.
    fn manifest_of(&self, disk: &[Option<OnDisk>]) -> Result<Manifest, Error> {
        let mut items = items_of(self.head);
        for (item, disk) in items.iter_mut().zip(disk) {
            item.disk = *disk;
        }
        let newest = disk.iter().flatten().map(|disk| disk.stat.ctime).max();
        let settled = files::settled_time(&self.record.path, newest.unwrap_or(0))?;
        Ok(Manifest::new(items, settled))
    }

    fn manifest_of_walk(&self) -> Result<Manifest, Error> {
        let expected = Manifest::new(items_of(self.head), 0);
        let (expected, placed) = self.placed.clone().laid_over(expected, &|_| false);
        let source = Some(self.repository.root.as_path());
        let proof = Proof {
            placed: &placed,
            source,
        };
        let format = self.repository.format;
        let hash = |size, content: &mut dyn std::io::Read| format.hash_blob(size, content);
        let believe = match (&self.fresh, self.record.conversions) {
            (Fresh::Yes | Fresh::Created(_), false) => Believe::Checkout,
            (Fresh::Yes | Fresh::Created(_), true) | (Fresh::No, _) => Believe::Nothing,
        };
        let submodules = BTreeSet::new();
        let root = self.record.path.as_path();
        let walk = Walk {
            root,
            manifest: &expected,
            placed: Some(proof),
            submodules: Some(&submodules),
            believe,
            names: None,
            unread_above: None,
            hash: &hash,
        };
        let scan = scan(&walk)?;
        let newest = scan
            .found
            .iter()
            .map(|found| found.stat.ctime)
            .max()
            .unwrap_or(0);
        let settled = files::settled_time(root, newest)?;
        let mut items = items_of(self.head);
        let tracked = items.len();
        let ours = |found: &Found| placed.get(&found.path).is_some();
        for found in scan.found.into_iter().filter(|found| !ours(found)) {
            let disk = Some(OnDisk {
                entry: found.entry,
                stat: found.stat,
            });
            match items[..tracked].binary_search_by(|item| item.path.cmp(&found.path)) {
                Ok(at) => items[at].disk = disk,
                Err(_) => items.push(Item {
                    path: found.path,
                    base: None,
                    disk,
                }),
            }
        }
        Ok(Manifest::new(items, settled))
    }

    /// Keeps the ignore rules that are outside the tree, as the worktree could change them.
    fn ignore_rules(&self) -> Result<(), Error> {
        let directory = self.dir.join("ignore");
        let rules = files::read(&self.repository.common_dir.join("info/exclude"))?;
        if let Some(rules) = rules {
            files::write(&directory.join("info-exclude"), &rules)?;
        }
        if let Some(rules) = read_users_rules(&self.repository.home().git)? {
            files::write(&directory.join("excludes-file"), &rules)?;
        }
        Ok(())
    }
}

/// What a commit has, as items of which nothing is known on disk; sorted by path.
fn items_of(listing: &Listing) -> Vec<Item> {
    let entries = listing.entries.iter();
    let item = |(path, entry): &(RepoPath, Entry)| Item {
        path: path.clone(),
        base: Some(*entry),
        disk: None,
    };
    entries.map(item).collect()
}

/// All refs, one a line, for telling later what was there.
fn refs(repository: &Repository) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    for found in repository.git.for_each_ref(&[])? {
        text.extend_from_slice(found.id.as_str().as_bytes());
        text.push(b' ');
        text.extend_from_slice(&found.name);
        text.push(b'\n');
    }
    Ok(text)
}

/// The text of a worktree's `.git` file.
///
/// # Errors
/// Fails when it is missing or cannot be read.
pub fn dot_git(worktree: &Utf8Path) -> Result<String, Error> {
    let file = worktree.join(".git");
    let bytes = files::read(&file)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Records hooks, settings and git's files that all worktrees share anew, after a change of the
/// user's own.
///
/// # Errors
/// Fails when git or the disk does.
pub fn accept_shared(repository: &Repository, known: &Worktree) -> Result<Worktree, Error> {
    let shared = shared::take(repository)?;
    files::write(&known.dir.join("shared.toml"), to_text(&shared).as_bytes())?;
    renew(repository, known, WatchedFile::is_shared)
}

/// Writes down who works there from now on.
///
/// # Errors
/// Fails when the disk refuses.
pub fn renew_owner(known: &Worktree, owner: Owner) -> Result<(), Error> {
    let mut record = known.record.clone();
    record.owner = Some(owner);
    let file = known.dir.join("record.toml");
    Ok(files::write(&file, to_text(&record).as_bytes())?)
}

/// Takes the digests of the watched files anew, after a change that we made ourselves.
///
/// # Errors
/// Fails when the disk refuses.
pub fn renew_fingerprints(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    renew(repository, known, WatchedFile::is_of_our_hooks).map(drop)
}

/// Takes the digests of the hooks' own files anew, after they were installed again as they were.
/// That of `config.worktree` stays: what else came into it is still found.
///
/// # Errors
/// Fails when the disk refuses.
pub fn renew_hook_files(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let is_hook_file =
        |file: WatchedFile| file.is_of_our_hooks() && file != WatchedFile::ConfigWorktree;
    renew(repository, known, is_hook_file).map(drop)
}

/// Takes the digest of the worktree's own configuration anew, after we changed it.
///
/// # Errors
/// Fails when the disk refuses.
pub fn renew_config(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let is_config = |file: WatchedFile| file == WatchedFile::ConfigWorktree;
    renew(repository, known, is_config).map(drop)
}

/// Whether `config.worktree` is as it was recorded: only then may its digest be taken anew.
///
/// # Errors
/// Fails when it cannot be read.
pub fn config_is_as_recorded(repository: &Repository, record: &Record) -> Result<bool, Error> {
    let file = WatchedFile::ConfigWorktree;
    let (common_dir, admin_dir) = (&repository.common_dir, &record.admin_dir);
    let now = integrity::fingerprint(file, common_dir, admin_dir, repository.format)?;
    Ok(record.integrity.contains(&now))
}

fn renew(
    repository: &Repository,
    known: &Worktree,
    which: fn(WatchedFile) -> bool,
) -> Result<Worktree, Error> {
    let mut record = known.record.clone();
    for file in WatchedFile::ALL.into_iter().filter(|file| which(*file)) {
        let (common_dir, admin_dir) = (&repository.common_dir, &record.admin_dir);
        let now = integrity::fingerprint(file, common_dir, admin_dir, repository.format)?;
        record
            .integrity
            .retain(|recorded| recorded.file != now.file);
        record.integrity.push(now);
    }
    files::write(&known.dir.join("record.toml"), to_text(&record).as_bytes())?;
    Ok(Worktree {
        record,
        ..known.clone()
    })
}
