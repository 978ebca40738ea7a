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

/// Holds what was read of all records, for all copies of one `Repository`.
#[derive(Clone, Debug, Default)]
pub struct RecordedGitDirs(Arc<Mutex<Option<Reading>>>);

/// Holds one reading of all records.
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
        let (names, are_all_finished) = read(places)?;
        *last = (is_settled && are_all_finished).then(|| Reading {
            directories,
            names: names.clone(),
        });
        Ok(names)
    }
}

fn is_old(stat: &Stat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let racy = now.unwrap_or_default().saturating_sub(RACY);
    u128::try_from(stat.mtime).is_ok_and(|changed| changed < racy.as_nanos())
}

/// Reads all records: the names, and whether no worktree is being made.
fn read(places: &RecordPlaces) -> Result<(BTreeSet<String>, bool), Error> {
    let mut all = BTreeSet::new();
    let mut unfinished = BTreeSet::new();
    let [_in_place, in_trash] = &places.records;
    for records in &places.records {
        for name in files::names(records)? {
            let file = records.join(&name).join("record.toml");
            let text = files::read(&file).ok().flatten();
            if text.is_none() && files::exists(&records.join(&name).join("intent.toml")) {
                unfinished.insert(places.worktrees.join(&name).join(".git"));
            }
            // that of a removed worktree is not there: another one may have its name by now
            let is_unregistered =
                records == in_trash && files::exists(&records.join(&name).join(TRASHED_GIT_DIR));
            if !is_unregistered {
                all.extend(text.as_deref().and_then(named_git_dir));
            }
        }
    }
    if unfinished.is_empty() {
        return Ok((all, true));
    }
    for id in files::names(&places.linked)? {
        let dot_git = read_gitdir(&places.linked.join(&id)).ok().flatten();
        if dot_git.is_some_and(|dot_git| unfinished.contains(&dot_git)) {
            all.insert(id);
        }
    }
    Ok((all, false))
}

/// The name of the private git directory in the text of a record. Reading all of it takes long
/// where there are hundreds.
fn named_git_dir(record: &[u8]) -> Option<String> {
    let mut lines = record.lines();
    let value = lines.find_map(|line| line.strip_prefix(b"admin_dir = "))?;
    let quotes: &[char] = &['"', '\''];
    let path = value.to_str().ok()?.trim_matches(quotes);
    Some(Utf8Path::new(path).file_name()?.to_owned())
}
