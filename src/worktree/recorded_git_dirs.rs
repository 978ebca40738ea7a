//! Knows which private git directories a record names: [`RecordedGitDirs`].
//!
//! Each verdict asks. To read each record for each verdict would be quadratic in their number, so
//! one reading counts for a command, until a record comes or goes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::inventory::manifest::Stat;
use crate::words::error::Error;
use crate::worktree::gitdir::{TRASHED_GIT_DIR, read_gitdir};

/// Younger stat data of a directory do not show each change of it: clocks of file systems are
/// coarse.
const RACY: Duration = Duration::from_secs(2);

/// Where records and worktrees are.
#[derive(Clone, Debug)]
pub struct RecordPlaces {
    /// The directories of the records, and of the records in the trash.
    pub records: [Utf8PathBuf; 2],
    /// The directory of the worktrees.
    pub worktrees: Utf8PathBuf,
    /// The directory of the private git directories.
    pub linked: Utf8PathBuf,
}

/// What was read of all records, for all copies of one `Repository`.
#[derive(Clone, Debug, Default)]
pub struct RecordedGitDirs(Arc<Mutex<Option<Reading>>>);

/// One reading of all records.
#[derive(Clone, Debug)]
struct Reading {
    /// The directories of the records, and those of the trash, as they were before.
    directories: [Option<Stat>; 2],
    /// The names of the private git directories.
    names: BTreeSet<String>,
}

impl RecordedGitDirs {
    /// Lists the names of the private git directories that a record names, of the trash too, and of
    /// worktrees that are being made.
    ///
    /// # Errors
    /// Fails when the records cannot be listed.
    pub fn names(&self, places: &RecordPlaces) -> Result<BTreeSet<String>, Error> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let directories = places.records.each_ref().map(files::stat);
        if let Some(reading) = &*last
            && reading.directories == directories
        {
            return Ok(reading.names.clone());
        }
        let is_settled = directories.iter().flatten().all(is_old);
        let records = read_records(places)?;
        let mut names = records.git_dirs;
        if records.unfinished.is_empty() && is_settled {
            let names = names.clone();
            *last = Some(Reading { directories, names });
        } else {
            *last = None;
            names.extend(git_dirs_of(&records.unfinished, &places.linked)?);
        }
        Ok(names)
    }
}

/// True if a later change of a directory would show in its stat data.
fn is_old(stat: &Stat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let racy = now.unwrap_or_default().saturating_sub(RACY);
    u128::try_from(stat.mtime).is_ok_and(|changed| changed < racy.as_nanos())
}

/// What all records say.
#[derive(Default)]
struct RecordTexts {
    /// The names of the private git directories that they name.
    git_dirs: BTreeSet<String>,
    /// The `.git` files of worktrees that are being made, and have no record yet.
    unfinished: BTreeSet<Utf8PathBuf>,
}

/// Reads all records, those in the trash too.
fn read_records(places: &RecordPlaces) -> Result<RecordTexts, Error> {
    let mut texts = RecordTexts::default();
    let [_in_place, in_trash] = &places.records;
    for records in &places.records {
        for name in files::names(records)? {
            let record = records.join(&name);
            let Some(text) = files::read(&record.join("record.toml")).ok().flatten() else {
                if files::exists(&record.join("intent.toml")) {
                    let dot_git = places.worktrees.join(&name).join(".git");
                    texts.unfinished.insert(dot_git);
                }
                continue;
            };
            // its git directory is in the trash: another worktree may have the name by now
            if records == in_trash && files::exists(&record.join(TRASHED_GIT_DIR)) {
                continue;
            }
            texts.git_dirs.extend(named_git_dir(&text));
        }
    }
    Ok(texts)
}

/// The names of the private git directories that belong to these `.git` files.
fn git_dirs_of(
    dot_git_files: &BTreeSet<Utf8PathBuf>,
    linked: &Utf8Path,
) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for name in files::names(linked)? {
        if let Ok(Some(dot_git)) = read_gitdir(&linked.join(&name))
            && dot_git_files.contains(&dot_git)
        {
            names.push(name);
        }
    }
    Ok(names)
}

/// The name of the private git directory in the text of a record. The text is not parsed as TOML:
/// that takes long for hundreds of records.
fn named_git_dir(record: &[u8]) -> Option<String> {
    let mut lines = record.lines();
    let value = lines.find_map(|line| line.strip_prefix(b"admin_dir = "))?;
    let quotes: &[char] = &['"', '\''];
    let path = value.to_str().ok()?.trim_matches(quotes);
    Some(Utf8Path::new(path).file_name()?.to_owned())
}
