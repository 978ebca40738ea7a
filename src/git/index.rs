//! Reads the index (gitformat-index(5)) through `gix`, split indexes included.
//!
//! Only names, modes, ids and flags are taken: its stat data can be forged and decide nothing.

mod raw;

use camino::Utf8Path;
use gix::index::decode::Options;
use gix::index::entry::{Flags, Stage as IndexStage};
use gix::index::{File, State};

use super::error::GitError;
use super::objects::ObjectFormat;
use super::process::Git;
use super::repo::read_file;
use crate::entry::{Entry, ObjectId};
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

/// Represents an index that was read, with a checksum that is that of its bytes.
pub struct OpenIndex(State);

impl OpenIndex {
    /// Reads an index file; a missing one is an empty index, as it is for git.
    ///
    /// # Errors
    /// Fails when it is damaged or of an unknown version.
    pub fn read(file: &Utf8Path, format: ObjectFormat) -> Result<Self, GitError> {
        open(file, format).map(Self)
    }

    /// The entries, in order of path and stage; none for one that no index may have.
    pub fn entries(&self) -> impl Iterator<Item = Option<RawEntry<'_>>> {
        self.0.entries().iter().map(|entry| {
            Some(RawEntry {
                at: 0,
                path: entry.path(&self.0),
                entry: Entry {
                    mode: raw::mode_of(entry.mode.bits()).ok()?,
                    id: ObjectId::from_bytes(entry.id.as_bytes())?,
                },
                stage: stage_of(entry.stage()),
                skip_worktree: entry.flags.contains(Flags::SKIP_WORKTREE),
                assume_unchanged: entry.flags.contains(Flags::ASSUME_VALID),
                stat: IndexStat::default(),
            })
        })
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

/// Reads the index as git does: a split index whose base is named by zeros (`index.skipHash`) has
/// none, whatever file has that name.
fn open(file: &Utf8Path, format: ObjectFormat) -> Result<State, GitError> {
    let options = Options::default();
    let Some(bytes) = read_file(file)? else {
        return Ok(State::new(format.kind()));
    };
    if !raw::is_whole(&bytes, format) {
        return Err(unreadable(file)(
            "its checksum is not that of its bytes".to_owned(),
        ));
    }
    let failed = |error: gix::Error| unreadable(file)(error.to_string());
    let epoch = std::time::UNIX_EPOCH.into();
    let (state, _) = State::from_bytes(&bytes, epoch, format.kind(), options).map_err(failed)?;
    let base = state.link().map(|link| link.shared_index_checksum);
    if base.is_none_or(|base| base.is_null()) {
        return Ok(state);
    }
    let whole = File::at(file.as_std_path(), format.kind(), false, options);
    whole
        .map(File::into_parts)
        .map(|(state, _)| state)
        .map_err(failed)
}

fn unreadable(file: &Utf8Path) -> impl Fn(String) -> GitError {
    let what = format!("the index {file}");
    move |detail| {
        let what = what.clone();
        GitError::Read { what, detail }
    }
}

/// Reads the paths of an index file with the sizes that the files had when git last looked, which
/// can be forged; none when whole directories stand in it as one entry (`index.sparse`,
/// git-config(1)), so that only git knows them.
///
/// # Errors
/// Fails as [`read_index`] does.
pub fn read_paths(
    file: &Utf8Path,
    format: ObjectFormat,
) -> Result<Option<Vec<(RepoPath, u32)>>, GitError> {
    let index = open(file, format)?;
    if index.is_sparse() {
        return Ok(None);
    }
    let sized = |entry: &gix::index::Entry| {
        let path = RepoPath::parse(entry.path(&index));
        let path = path.map_err(|error| unreadable(file)(error.to_string()))?;
        Ok((path, entry.stat.size))
    };
    index
        .entries()
        .iter()
        .map(sized)
        .collect::<Result<_, _>>()
        .map(Some)
}

fn entries_of(index: &State) -> Result<Vec<IndexEntry>, String> {
    let mut entries = Vec::with_capacity(index.entries().len());
    for entry in index.entries() {
        let path = RepoPath::parse(entry.path(index)).map_err(|error| error.to_string())?;
        let bits = entry.mode.bits();
        let mode = raw::mode_of(bits).map_err(|_| format!("{path} has mode {bits:o}"))?;
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
