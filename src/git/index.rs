//! Reads the index (gitformat-index(5)) through `gix`, split indexes included.
//!
//! Only names, modes, ids and flags are taken: its stat data can be forged and decide nothing.

mod raw;
mod split;

use camino::Utf8Path;
use gix::index::decode::Options;
use gix::index::entry::{Flags, Mode as IndexMode, Stage as IndexStage};
use gix::index::{File, State};

use super::error::GitError;
use super::objects::ObjectFormat;
use super::process::Git;
use super::repo::require_file;
use crate::entry::{Entry, Mode, ObjectId};
use crate::manifest::IndexStat;
use crate::path::RepoPath;

pub(super) use raw::checksum_of;
pub use raw::{NotRaw, RawEntry, RawIndex};

/// Says which side of a conflict an entry is (git-read-tree(1), "3-Way Merge").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No conflict.
    Normal,
    /// The common ancestor.
    Ancestor,
    /// Ours.
    Ours,
    /// Theirs.
    Theirs,
}

/// Holds one entry of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Its path.
    pub path: RepoPath,
    /// What it names.
    pub entry: Entry,
    /// Its side of a conflict.
    pub stage: Stage,
    /// Whether git takes it as absent from the disk on purpose.
    pub skip_worktree: bool,
    /// Whether git was told to take it as unchanged.
    pub assume_unchanged: bool,
    /// Whether it only announces a file (`git add -N`).
    pub intent_to_add: bool,
}

impl IndexEntry {
    /// The same, as [`RawIndex`] gives it; without stat data.
    #[must_use]
    pub fn raw(&self) -> RawEntry<'_> {
        RawEntry {
            at: 0,
            path: self.path.as_bstr(),
            entry: self.entry,
            stage: self.stage,
            skip_worktree: self.skip_worktree,
            assume_unchanged: self.assume_unchanged,
            stat: IndexStat::default(),
        }
    }
}

/// Reads an index file; a missing one is an empty index, as it is for git.
///
/// # Errors
/// Fails when it is damaged, of an unknown version, or has entries that no index may have.
pub fn read_index(file: &Utf8Path, format: ObjectFormat) -> Result<Vec<IndexEntry>, GitError> {
    let index = open(file, format)?;
    entries_of(&index).map_err(unreadable(file))
}

fn open(file: &Utf8Path, format: ObjectFormat) -> Result<File, GitError> {
    require_file(file)?;
    if let Some(index) = split::without_base(file, format).map_err(unreadable(file))? {
        return Ok(index);
    }
    let options = Options::default();
    File::at_or_default(file.as_std_path(), kind_of(format), false, options)
        .map_err(|error| unreadable(file)(error.to_string()))
}

fn unreadable(file: &Utf8Path) -> impl Fn(String) -> GitError {
    let what = format!("the index {file}");
    move |detail| {
        let what = what.clone();
        GitError::Read { what, detail }
    }
}

/// Reads the paths of an index file; none when whole directories stand in it as one entry
/// (`index.sparse`, git-config(1)), so that only git knows them.
///
/// # Errors
/// Fails as [`read_index`] does.
pub fn read_paths(
    file: &Utf8Path,
    format: ObjectFormat,
) -> Result<Option<Vec<RepoPath>>, GitError> {
    let index = open(file, format)?;
    if index.is_sparse() {
        return Ok(None);
    }
    let path = |entry: &gix::index::Entry| RepoPath::parse(entry.path(&index));
    let paths: Result<Vec<_>, _> = index.entries().iter().map(path).collect();
    paths
        .map(Some)
        .map_err(|error| unreadable(file)(error.to_string()))
}

/// Reads the paths of an index file with the sizes that the files had when git last looked; none
/// where [`read_paths`] gives none. For an estimate: the sizes can be forged.
///
/// # Errors
/// Fails as [`read_index`] does.
pub fn read_sizes(
    file: &Utf8Path,
    format: ObjectFormat,
) -> Result<Option<Vec<(RepoPath, u32)>>, GitError> {
    let index = open(file, format)?;
    if index.is_sparse() {
        return Ok(None);
    }
    let sized = |entry: &gix::index::Entry| {
        RepoPath::parse(entry.path(&index)).map(|path| (path, entry.stat.size))
    };
    let paths: Result<Vec<_>, _> = index.entries().iter().map(sized).collect();
    paths
        .map(Some)
        .map_err(|error| unreadable(file)(error.to_string()))
}

/// Parses the bytes of an index file, without the file that a split one names.
///
/// # Errors
/// Says what is wrong when [`read_index`] would fail; the checksum is not looked at.
pub fn parse_index(bytes: &[u8], format: ObjectFormat) -> Result<Vec<IndexEntry>, String> {
    let state = State::from_bytes(
        bytes,
        std::time::UNIX_EPOCH.into(),
        kind_of(format),
        Options::default(),
    );
    let (state, _) = state.map_err(|error| error.to_string())?;
    entries_of(&state)
}

const fn kind_of(format: ObjectFormat) -> gix::hash::Kind {
    match format {
        ObjectFormat::Sha1 => gix::hash::Kind::Sha1,
        ObjectFormat::Sha256 => gix::hash::Kind::Sha256,
    }
}

fn entries_of(index: &State) -> Result<Vec<IndexEntry>, String> {
    let mut entries = Vec::with_capacity(index.entries().len());
    for entry in index.entries() {
        let path = RepoPath::parse(entry.path(index)).map_err(|error| error.to_string())?;
        let Some(mode) = mode_of(entry.mode) else {
            return Err(format!("{path} has mode {:o}", entry.mode.bits()));
        };
        let id = ObjectId::from_bytes(entry.id.as_bytes())
            .expect("because gix knows no other ids than these two");
        entries.push(IndexEntry {
            path,
            entry: Entry { mode, id },
            stage: stage_of(entry.stage()),
            skip_worktree: entry.flags.contains(Flags::SKIP_WORKTREE),
            assume_unchanged: entry.flags.contains(Flags::ASSUME_VALID),
            intent_to_add: entry.flags.contains(Flags::INTENT_TO_ADD),
        });
    }
    Ok(entries)
}

fn stage_of(stage: IndexStage) -> Stage {
    match stage {
        IndexStage::Unconflicted => Stage::Normal,
        IndexStage::Base => Stage::Ancestor,
        IndexStage::Ours => Stage::Ours,
        IndexStage::Theirs => Stage::Theirs,
    }
}

fn mode_of(mode: IndexMode) -> Option<Mode> {
    if mode == IndexMode::FILE {
        Some(Mode::File)
    } else if mode == IndexMode::FILE_EXECUTABLE {
        Some(Mode::Executable)
    } else if mode == IndexMode::SYMLINK {
        Some(Mode::Link)
    } else if mode == IndexMode::COMMIT {
        Some(Mode::Gitlink)
    } else {
        None
    }
}

impl Git {
    /// Returns the paths of the index, sorted.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn ls_files(&self) -> Result<Vec<RepoPath>, GitError> {
        let output = self.output("list what is tracked", &["ls-files", "-z"])?;
        let names = output.split(|byte| *byte == 0);
        Ok(names
            .filter_map(|name| RepoPath::parse(name).ok())
            .collect())
    }
}
