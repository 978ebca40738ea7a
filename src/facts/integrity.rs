//! Looks at what surrounds a worktree: its `.git` file, what HEAD names, and the files of git's
//! that decide what git reports.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::error::FactsError;
use super::repository::Repository;
use crate::change::{Change, Kind, Place, Seen};
use crate::disk::files;
use crate::git::objects::ObjectFormat;
use crate::git::settings_file::meaning;
use crate::record::{Fingerprint, Record, WatchedFile};

/// Takes the digests of all watched files as they are now.
pub fn fingerprints(
    common_dir: &Utf8Path,
    admin_dir: &Utf8Path,
    format: ObjectFormat,
) -> Result<Vec<Fingerprint>, FactsError> {
    let take = |file: WatchedFile| {
        let path = watched_path(file, common_dir, admin_dir);
        let bytes = files::read(&path)?.map(|bytes| match file {
            // git itself writes it anew now and then: what it says counts
            WatchedFile::ConfigWorktree => meaning(&bytes),
            WatchedFile::SparseCheckout
            | WatchedFile::HooksConfig
            | WatchedFile::HooksBinary
            | WatchedFile::InfoExclude
            | WatchedFile::InfoAttributes
            | WatchedFile::InfoGrafts => bytes,
        });
        let digest = bytes.map(|bytes| {
            format
                .hash_blob(bytes.len() as u64, &mut bytes.as_slice())
                .map(|id| id.to_string())
                .map_err(|error| crate::disk::DiskError::new(format!("read {path}"), error))
        });
        Ok(Fingerprint {
            file,
            digest: digest.transpose()?,
        })
    };
    WatchedFile::ALL.into_iter().map(take).collect()
}

fn watched_path(file: WatchedFile, common_dir: &Utf8Path, admin_dir: &Utf8Path) -> Utf8PathBuf {
    let directory = match place_of(file) {
        Place::Admin(_) => admin_dir,
        Place::Git(_) | Place::Path(_) | Place::Head | Place::Worktree | Place::Main(_) => {
            common_dir
        }
    };
    directory.join(name_of(file))
}

const fn name_of(file: WatchedFile) -> &'static str {
    match file {
        WatchedFile::SparseCheckout => "info/sparse-checkout",
        WatchedFile::ConfigWorktree => "config.worktree",
        WatchedFile::HooksConfig => "agentwt/hooks/config",
        WatchedFile::HooksBinary => "agentwt/bin",
        WatchedFile::InfoExclude => "info/exclude",
        WatchedFile::InfoAttributes => "info/attributes",
        WatchedFile::InfoGrafts => "info/grafts",
    }
}

fn place_of(file: WatchedFile) -> Place {
    let name = name_of(file).into();
    match file {
        WatchedFile::SparseCheckout
        | WatchedFile::ConfigWorktree
        | WatchedFile::HooksConfig
        | WatchedFile::HooksBinary => Place::Admin(name),
        WatchedFile::InfoExclude | WatchedFile::InfoAttributes | WatchedFile::InfoGrafts => {
            Place::Git(name)
        }
    }
}

/// Finds which watched files are not as they were recorded.
pub fn changed_files(repository: &Repository, record: &Record) -> Result<Vec<Change>, FactsError> {
    let now = fingerprints(&repository.common_dir, &record.admin_dir, repository.format)?;
    let differs = |now: &&Fingerprint| !record.integrity.contains(now);
    let change = |now: &Fingerprint| {
        let kind = match now.file {
            WatchedFile::InfoGrafts => Kind::Integrity,
            WatchedFile::SparseCheckout
            | WatchedFile::ConfigWorktree
            | WatchedFile::HooksConfig
            | WatchedFile::HooksBinary
            | WatchedFile::InfoExclude
            | WatchedFile::InfoAttributes => Kind::Config,
        };
        plain(
            place_of(now.file),
            kind,
            Some("it was changed since `add`".to_owned()),
        )
    };
    Ok(now.iter().filter(differs).map(change).collect())
}

const NOT_OURS: &str = "its .git file and its private git directory do not name each other";

/// Finds what is wrong with the worktree's own `.git` file and its private git directory.
pub fn broken_links(record: &Record) -> Vec<Change> {
    let dot_git = files::read(&record.path.join(".git")).unwrap_or_default();
    let back = files::read(&record.admin_dir.join("gitdir")).unwrap_or_default();
    let names_us = back.is_some_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        // relative where `worktree.useRelativePaths` is set
        let path = record.admin_dir.join(text);
        files::canonical(&path).is_ok_and(|path| path == record.path.join(".git"))
    });
    let whole = dot_git.is_some_and(|bytes| bytes == record.dot_git.as_bytes()) && names_us;
    if whole {
        Vec::new()
    } else {
        vec![plain(
            Place::Worktree,
            Kind::Integrity,
            Some(NOT_OURS.to_owned()),
        )]
    }
}

/// Makes a change of something that is no path of the repository, or is more than a change.
#[must_use]
pub fn plain(place: Place, kind: Kind, detail: Option<String>) -> Change {
    Change {
        place,
        kind,
        seen: BTreeSet::from([Seen::Disk]),
        is_directory: false,
        detail,
    }
}
