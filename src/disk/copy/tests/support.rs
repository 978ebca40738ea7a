//! Makes a source, a destination and a place to stage in.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::copy::content::stage;
use crate::disk::copy::move_in::{MovedIn, move_in};
use crate::disk::copy::staging::{CopyItem, Source, Staged, Staging};
use crate::disk::stat::stat_of;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::words::error::{Error, Interrupted};
use crate::words::path::RepoPath;
use crate::words::progress::Progress;

/// Represents two worktrees in a temporary directory, which is removed with it.
pub struct Ground {
    _held: Option<tempfile::TempDir>,
    root: Utf8PathBuf,
}

impl Ground {
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    pub fn within(directory: &Path) -> Self {
        let held = tempfile::tempdir_in(directory).expect("a directory");
        let root = held.path().canonicalize().expect("it is there");
        let root = Utf8PathBuf::from_path_buf(root).expect("it is UTF-8");
        for directory in ["from", "to", "own"] {
            std::fs::create_dir(root.join(directory)).expect("a directory");
        }
        Self {
            _held: Some(held),
            root,
        }
    }

    /// One that another process made.
    pub fn at(root: Utf8PathBuf) -> Self {
        Self { _held: None, root }
    }

    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    pub fn from(&self) -> Utf8PathBuf {
        self.root.join("from")
    }

    pub fn to(&self) -> Utf8PathBuf {
        self.root.join("to")
    }

    pub fn staging(&self) -> Utf8PathBuf {
        self.root.join("own/.placing")
    }

    /// Writes a file of the source, and the directories above it.
    #[track_caller]
    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        put(&self.from().join(path), bytes)
    }

    /// Writes a file of the destination, and the directories above it.
    #[track_caller]
    pub fn put_there(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        put(&self.to().join(path), bytes)
    }

    /// Everything below the source, as items.
    pub fn items(&self) -> Vec<CopyItem> {
        let mut items = Vec::new();
        collect(
            self.from().as_std_path(),
            self.from().as_std_path(),
            &mut items,
        );
        items
    }

    pub fn stage(&self, items: &[CopyItem]) -> Result<Vec<Staged>, Error> {
        self.stage_until(items, &|| false)
    }

    pub fn stage_until(
        &self,
        items: &[CopyItem],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Staged>, Error> {
        let staging = Staging {
            source: &self.from(),
            directory: &self.staging(),
            progress: &Progress::default(),
            stop: &|| {
                if stop() {
                    return Err(Interrupted { signal: 2 }.into());
                }
                Ok(())
            },
        };
        stage(&staging, items)
    }

    pub fn move_in(&self, staged: Vec<Staged>) -> Result<MovedIn, Error> {
        self.settle_over(staged, &[])
    }

    /// Settles, and may replace these paths as they are now.
    pub fn settle_over(&self, staged: Vec<Staged>, over: &[&str]) -> Result<MovedIn, Error> {
        let over = over.iter();
        let over = over.map(|path| (repo_path(path), lstat(self.to().join(path))));
        self.settle_seen(staged, &over.collect())
    }

    /// Settles, and may replace what was seen.
    pub fn settle_seen(
        &self,
        staged: Vec<Staged>,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<MovedIn, Error> {
        self.settle_into(staged, over, &Placed::default())
    }

    /// Settles into directories that were placed before.
    pub fn settle_into(
        &self,
        staged: Vec<Staged>,
        over: &BTreeMap<RepoPath, Stat>,
        ours: &Placed,
    ) -> Result<MovedIn, Error> {
        let staging = Staging {
            source: &self.from(),
            directory: &self.staging(),
            progress: &Progress::default(),
            stop: &|| Ok(()),
        };
        move_in(&staging, &self.to(), staged, over, ours)
    }

    /// Copies all of the source into the destination.
    #[track_caller]
    pub fn place(&self) -> MovedIn {
        let staged = self.stage(&self.items()).expect("it is staged");
        self.move_in(staged).expect("it is settled")
    }

    /// Whether nothing of the staging is left.
    #[track_caller]
    pub fn require_no_staging(&self) {
        let own = std::fs::read_dir(self.root.join("own")).expect("a directory");
        let left: Vec<_> = own.map(|entry| entry.expect("an entry").path()).collect();
        assert!(left.is_empty(), "the staging directory is left: {left:?}");
    }
}

#[track_caller]
pub fn put(file: &Utf8Path, bytes: impl AsRef<[u8]>) -> PathBuf {
    let directory = file.parent().expect("it is in a directory");
    std::fs::create_dir_all(directory).expect("a directory");
    std::fs::write(file, bytes).expect("a file");
    file.as_std_path().to_owned()
}

pub fn repo_path(path: &str) -> RepoPath {
    RepoPath::parse(path).expect("a path")
}

#[track_caller]
pub fn lstat(path: impl AsRef<Path>) -> Stat {
    stat_of(&std::fs::symlink_metadata(path).expect("it is there"))
}

fn collect(root: &Path, directory: &Path, items: &mut Vec<CopyItem>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let metadata = std::fs::symlink_metadata(&path).expect("it is there");
        let kind = if metadata.is_dir() {
            collect(root, &path, items);
            PlacedKind::Directory
        } else if metadata.is_symlink() {
            PlacedKind::Link
        } else {
            PlacedKind::File
        };
        let below = path.strip_prefix(root).expect("it is below");
        items.push(CopyItem {
            path: RepoPath::parse(below.as_os_str().as_bytes()).expect("a path"),
            from: Source::File(kind, stat_of(&metadata)),
            bits: metadata.mode() & 0o7777,
        });
    }
}

/// Everything below a directory, a line each: path, kind and bits, time, content.
pub fn listing(root: &Utf8Path) -> String {
    let mut lines = Vec::new();
    list(root.as_std_path(), root.as_std_path(), &mut lines);
    lines.sort();
    lines.concat()
}

fn list(root: &Path, directory: &Path, lines: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let stat = lstat(&path);
        let content = match stat.mode >> 12 {
            0o12 => std::fs::read_link(&path)
                .expect("a link")
                .display()
                .to_string(),
            0o10 => blake3::hash(&std::fs::read(&path).expect("a file")).to_string(),
            _ => String::new(),
        };
        let below = path.strip_prefix(root).expect("it is below").display();
        lines.push(format!(
            "{below} {:o} {} {content}\n",
            stat.mode, stat.mtime
        ));
        if stat.mode >> 12 == 0o4 {
            list(root, &path, lines);
        }
    }
}

/// The paths of a listing.
pub fn names(listing: &str) -> Vec<String> {
    let names = listing.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}
