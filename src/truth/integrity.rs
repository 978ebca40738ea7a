//! Reads what surrounds a worktree: its links, git's files beside it, the journal of what was done
//! to refs from there.

use std::io::Read as _;

use camino::Utf8Path;

use crate::change::{Cause, Change, ChangeSet, INDEX_LOCK, Kind, Place, Seen, SharedChange};
use crate::config::Strategy;
use crate::disk::{DiskError, files};
use crate::git::config::meaning;
use crate::git::hooks::journal::{self, Journal};
use crate::git::objects::ObjectFormat;
use crate::name::CommitId;
use crate::truth::heads::Heads;
use crate::truth::index::IndexState;
use crate::worktree::repository::Repository;
use crate::worktree::{Fingerprint, Lost, Record, WatchedFile, WorktreeError};

/// Takes the digests of all watched files as they are now.
///
/// # Errors
/// Fails when the disk does.
pub fn fingerprints(
    common_dir: &Utf8Path,
    admin_dir: &Utf8Path,
    format: ObjectFormat,
) -> Result<Vec<Fingerprint>, WorktreeError> {
    let take = |file: WatchedFile| fingerprint(file, common_dir, admin_dir, format);
    WatchedFile::ALL.into_iter().map(take).collect()
}

/// Takes the digest of one watched file as it is now; none where there is none, or a pipe.
///
/// # Errors
/// Fails when the disk does.
pub fn fingerprint(
    file: WatchedFile,
    common_dir: &Utf8Path,
    admin_dir: &Utf8Path,
    format: ObjectFormat,
) -> Result<Fingerprint, WorktreeError> {
    let directory = if file.is_shared() {
        common_dir
    } else {
        admin_dir
    };
    let path = directory.join(name_of(file));
    let content = match file {
        _ if files::is_pipe(&path) => None,
        // git itself writes it anew now and then: what it says counts
        WatchedFile::ConfigWorktree => files::read(&path)?.map(|bytes| meaning(&bytes)),
        WatchedFile::HooksScripts => scripts(&path)?,
        _ => files::read(&path)?,
    };
    let digest = content.map(|bytes| format.hash_blob(bytes.len() as u64, &mut bytes.as_slice()));
    let digest = digest.transpose();
    let digest = digest.map_err(|error| DiskError::new(format!("read {path}"), error))?;
    Ok(Fingerprint {
        file,
        digest: digest.map(|id| id.to_string()),
    })
}

/// Names the files of the private git directory in whose place a pipe stands: whoever opens one
/// waits for ever.
pub fn pipes(record: &Record) -> Vec<&'static str> {
    let all = [
        "HEAD",
        "index",
        "logs/HEAD",
        "config.worktree",
        "commondir",
        "gitdir",
        "MERGE_HEAD",
        journal::FILE,
    ];
    let all = all.into_iter();
    all.filter(|name| files::is_pipe(&record.admin_dir.join(name)))
        .collect()
}

/// The name, the kind and the text of every script of ours.
fn scripts(directory: &Utf8Path) -> Result<Option<Vec<u8>>, WorktreeError> {
    let mut all = Vec::new();
    for directory in [directory, &directory.join("agentwt.d")] {
        for name in files::names(directory)? {
            // the configuration is watched by itself, and the scripts write the note
            if matches!(name.as_str(), "config" | "warned" | "agentwt.d") {
                continue;
            }
            let file = directory.join(&name);
            let failed = |error| DiskError::new(format!("read {file}"), error);
            let (kind, text) = match files::open_entry(file.as_std_path()).map_err(failed)? {
                files::Opened::File {
                    executable,
                    mut content,
                    ..
                } => {
                    let mut text = Vec::new();
                    let is_read = content.read_to_end(&mut text).is_ok();
                    let kind = if executable { "script" } else { "other" };
                    (kind, is_read.then_some(text))
                }
                files::Opened::Link(_) | files::Opened::Other => {
                    ("other", files::read(&file).ok().flatten())
                }
            };
            all.extend_from_slice(format!("{kind} {name}\0").as_bytes());
            all.extend(text.unwrap_or_default());
            all.push(0);
        }
    }
    Ok((!all.is_empty()).then_some(all))
}

const fn name_of(file: WatchedFile) -> &'static str {
    match file {
        WatchedFile::SparseCheckout => "info/sparse-checkout",
        WatchedFile::ConfigWorktree => "config.worktree",
        WatchedFile::HooksConfig => "agentwt/hooks/config",
        WatchedFile::HooksBinary => "agentwt/bin",
        WatchedFile::HooksScripts => "agentwt/hooks",
        WatchedFile::InfoExclude => "info/exclude",
        WatchedFile::InfoAttributes => "info/attributes",
        WatchedFile::InfoGrafts => "info/grafts",
        WatchedFile::Alternates => "objects/info/alternates",
    }
}

/// Finds which watched files are not as they were recorded: those of the private git directory, and
/// those that other worktrees share.
///
/// # Errors
/// Fails when the disk does.
pub fn changed_files(
    repository: &Repository,
    record: &Record,
) -> Result<(Vec<Change>, Vec<SharedChange>), WorktreeError> {
    let now = fingerprints(&repository.common_dir, &record.admin_dir, repository.format)?;
    let (mut own, mut shared) = (Vec::new(), Vec::new());
    let gone = has_hooks(record) && !files::is_directory(&record.admin_dir.join("agentwt"));
    if gone {
        let said = "the directory of our hooks was removed";
        own.push(integrity(Place::Admin("agentwt".into()), said));
    }
    let changed = now.iter().filter(|now| !record.integrity.contains(now));
    for file in changed.map(|now| now.file) {
        let name = name_of(file);
        if gone && name.starts_with("agentwt/") {
            continue;
        }
        let (kind, cause) = match file {
            WatchedFile::HooksScripts | WatchedFile::InfoGrafts => (Kind::Integrity, Cause::Hides),
            // `git repack` and `clone --dissociate` write it as well
            WatchedFile::Alternates => (Kind::Integrity, Cause::Unknown),
            _ => (Kind::Config, Cause::Hides),
        };
        let said = "it was changed since `add`";
        if file.is_shared() {
            shared.push(SharedChange::new(
                Place::Git(name.into()),
                kind,
                said,
                cause,
            ));
        } else {
            own.push(Change::detailed(Place::Admin(name.into()), kind, said));
        }
    }
    Ok((own, shared))
}

/// Says of a worktree that its record was removed: what it changed can no longer be told.
pub fn without_record(lost: &Lost) -> ChangeSet {
    let said = "the record was removed: what was changed can no longer be told";
    let place = Place::Git(format!("agentwt/worktrees/{}", lost.name).into());
    let head = lost.head.clone().unwrap_or_else(CommitId::unknown);
    ChangeSet {
        integrity: vec![integrity(place, said)],
        ..ChangeSet::new(CommitId::unknown(), head, Vec::new())
    }
}

/// Whether our hooks were installed when the record was last written.
fn has_hooks(record: &Record) -> bool {
    let config = |print: &&Fingerprint| print.file == WatchedFile::HooksConfig;
    let print = record.integrity.iter().find(config);
    print.is_some_and(|print| print.digest.is_some())
}

/// Finds commits that were made here and that the journal does not have: no hook ran for them.
/// A worktree without hooks has no journal, and nothing is missing.
pub fn past_the_hooks(record: &Record, journal: Option<&Journal>, heads: &Heads) -> Option<Change> {
    if !has_hooks(record) {
        return None;
    }
    let Some(journal) = journal else {
        let gone = !files::is_directory(&record.admin_dir.join("agentwt"));
        let place = Place::Admin(journal::FILE.into());
        return (!gone).then(|| integrity(place, "the journal of refs was removed"));
    };
    let known = journal.objects();
    let made = heads.made_here();
    let silent: Vec<&CommitId> = made.iter().filter(|id| !known.contains(id)).collect();
    let newest = silent.first()?.short();
    let said = match silent.len() {
        1 => format!("commit {newest} was made without our hooks"),
        count => format!("{count} commits were made without our hooks, the newest is {newest}"),
    };
    Some(integrity(Place::Head, said))
}

/// Finds the lock of the worktree's index, if it is there. A git that runs now may hold it.
pub fn lock(record: &Record) -> Option<Change> {
    let file = record.admin_dir.join(INDEX_LOCK);
    let said = "it keeps git from changing the index; if no git runs there, remove it";
    files::exists(&file).then(|| integrity(Place::Admin(INDEX_LOCK.into()), said))
}

/// Finds the marks with which an index hides paths from git.
pub fn index_marks(index: &IndexState) -> Option<Change> {
    let mut all: Vec<String> = Vec::new();
    for flag in [Seen::AssumeUnchanged, Seen::SkipWorktree] {
        let mut marked = index.hidden.iter().filter(|(_, has)| **has == flag);
        let Some((first, _)) = marked.next() else {
            continue;
        };
        let others = match marked.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        all.push(format!("{first}{others}: marked {}", flag.as_str()));
    }
    let place = Place::Admin("index".into());
    (!all.is_empty()).then(|| integrity(place, all.join("; ")))
}

const NOT_OURS: &str = "its .git file and its private git directory do not name each other";

const NOT_A_CLONE: &str =
    "its .git is not the repository any more that `add` made: what was committed cannot be told";

/// Finds what is wrong with the worktree's own `.git` file and its private git directory.
pub fn broken_links(repository: &Repository, record: &Record) -> Option<Change> {
    let (is_whole, said) = match record.strategy {
        Strategy::Clone => (repository.is_clone(), NOT_A_CLONE),
        Strategy::Worktree => (has_whole_links(repository, record), NOT_OURS),
    };
    (!is_whole).then(|| integrity(Place::Worktree, said))
}

fn has_whole_links(repository: &Repository, record: &Record) -> bool {
    // relative where `worktree.useRelativePaths` is set
    let named = |file: &str| {
        let text = files::read(&record.admin_dir.join(file)).ok()??;
        let text = String::from_utf8_lossy(text.trim_ascii_end());
        files::canonical(&record.admin_dir.join(&*text)).ok()
    };
    let dot_git = record.path.join(".git");
    let text = files::read(&dot_git).unwrap_or_default();
    let common_dir = files::canonical(&repository.common_dir).ok();
    text.is_some_and(|bytes| bytes == record.dot_git.as_bytes())
        && named("gitdir") == Some(dot_git)
        && common_dir.is_some()
        && named("commondir") == common_dir
}

/// Says what is wrong with something beside the paths.
pub fn integrity(place: Place, said: impl Into<String>) -> Change {
    Change::detailed(place, Kind::Integrity, said)
}
