//! Reads what surrounds a worktree: its links, git's files beside it, the journal of what was done
//! to refs from there, and what it shares with others.

use std::collections::BTreeSet;
use std::io::Read as _;

use bstr::BString;
use camino::Utf8Path;

use crate::change::{
    Cause, Change, ChangeSet, INDEX_LOCK, IndexFlag, Kind, Place, Seen, SharedChange,
};
use crate::config::Strategy;
use crate::disk::{DiskError, files};
use crate::git::config::meaning;
use crate::git::hooks::journal::{self, Journal};
use crate::git::objects::ObjectFormat;
use crate::name::CommitId;
use crate::truth::ground::Effort;
use crate::truth::heads::Heads;
use crate::truth::index::IndexState;
use crate::truth::tips::{Tips, recorded_tips};
use crate::truth::{shared, tips};
use crate::worktree::repository::Repository;
use crate::worktree::{Fingerprint, Lost, Record, WatchedFile, Worktree, WorktreeError};

/// Holds what surrounds a worktree.
pub struct Surroundings {
    /// What is wrong with it and its private git directory.
    pub wrong: Vec<Change>,
    /// What is not as it was of what it shares.
    pub shared: Vec<SharedChange>,
    /// Which commits count as work of others.
    pub tips: Tips,
    /// Where HEAD and the worktree's branch have been, as the journal says.
    pub been_on: Vec<CommitId>,
}

impl Surroundings {
    /// Reads everything.
    pub fn read(
        repository: &Repository,
        known: &Worktree,
        heads: &Heads,
        effort: &Effort,
    ) -> Result<Self, WorktreeError> {
        let record = &known.record;
        let mut wrong = broken_links(repository, record);
        if known.is_without(repository) {
            // nothing of it can be held against what was recorded
            return Ok(Self {
                wrong,
                shared: Vec::new(),
                tips: recorded_tips(record),
                been_on: Vec::new(),
            });
        }
        let files = changed_files(repository, record);
        let files = effort.or(files, ChangedFiles::default)?;
        wrong.extend(files.own);
        let pipes = pipes(record);
        let journal = if pipes.contains(&journal::FILE) {
            None
        } else {
            effort.or(known.journal(), || None)?
        };
        wrong.extend(pipes.into_iter().map(|name| {
            let detail = "a pipe stands in its place: git would wait for it".to_owned();
            plain(Place::Admin(name.into()), Kind::Integrity, Some(detail))
        }));
        wrong.extend(past_the_hooks(record, journal.as_ref(), heads));
        let journal = journal.unwrap_or_default();
        let own = record.branch.full_ref();
        let been_on = journal
            .places(b"HEAD")
            .chain(journal.places(own.as_bytes()));
        let been_on = been_on.cloned().collect();
        let made_here = heads.made_here();
        let rewired = effort.or(shared::rewired_remotes(repository, known), Vec::new)?;
        let leads_elsewhere = |name: &str| tips::tracks_any(&rewired, name);
        let tips = tips::find(repository, record, &made_here, &journal, &leads_elsewhere);
        let tips = effort.or(tips, || recorded_tips(record))?;
        let is_made_here = |commit: &CommitId| made_here.contains(commit);
        let found = shared::changes(repository, known, &journal, &is_made_here);
        let found = effort.or(found, Vec::new)?;
        let mut shared = files.shared;
        shared.extend(unexplained(&tips, &found));
        shared.extend(found);
        Ok(Self {
            wrong,
            shared,
            tips,
            been_on,
        })
    }
}

/// Refs that a base follows and that moved, of which nothing else is said.
fn unexplained(tips: &Tips, found: &[SharedChange]) -> Vec<SharedChange> {
    let mut all = Vec::new();
    for name in &tips.untrusted {
        let place = Place::Git(name.as_str().into());
        if !found.iter().any(|one| one.change.place == place) {
            let said = "it moved, and git's logs do not show by whom".to_owned();
            let change = plain(place, Kind::Ref, Some(said));
            let cause = Cause::Unknown;
            all.push(SharedChange { change, cause });
        }
    }
    all
}

/// Takes the digests of all watched files as they are now.
pub fn fingerprints(
    common_dir: &Utf8Path,
    admin_dir: &Utf8Path,
    format: ObjectFormat,
) -> Result<Vec<Fingerprint>, WorktreeError> {
    let take = |file: WatchedFile| fingerprint(file, common_dir, admin_dir, format);
    WatchedFile::ALL.into_iter().map(take).collect()
}

/// Takes the digest of one watched file as it is now.
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
    let digest = content(file, &path)?.map(|bytes| {
        format
            .hash_blob(bytes.len() as u64, &mut bytes.as_slice())
            .map(|id| id.to_string())
            .map_err(|error| DiskError::new(format!("read {path}"), error))
    });
    let digest = digest.transpose()?;
    Ok(Fingerprint { file, digest })
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
    ];
    let all = all.into_iter().chain(["MERGE_HEAD", journal::FILE]);
    all.filter(|name| files::is_pipe(&record.admin_dir.join(name)))
        .collect()
}

/// What counts of a watched file; none when it is not there, or a pipe.
fn content(file: WatchedFile, path: &Utf8Path) -> Result<Option<Vec<u8>>, WorktreeError> {
    if files::is_pipe(path) {
        return Ok(None);
    }
    Ok(match file {
        // git itself writes it anew now and then: what it says counts
        WatchedFile::ConfigWorktree => files::read(path)?.map(|bytes| meaning(&bytes)),
        WatchedFile::HooksScripts => scripts(path)?,
        WatchedFile::SparseCheckout
        | WatchedFile::HooksConfig
        | WatchedFile::HooksBinary
        | WatchedFile::InfoExclude
        | WatchedFile::InfoAttributes
        | WatchedFile::InfoGrafts
        | WatchedFile::Alternates => files::read(path)?,
    })
}

/// The name, the kind and the text of every script of ours.
fn scripts(directory: &Utf8Path) -> Result<Option<Vec<u8>>, WorktreeError> {
    let mut all = Vec::new();
    for directory in [directory, &directory.join("agentwt.d")] {
        for name in files::names(directory)? {
            let file = directory.join(&name);
            let failed = |error| DiskError::new(format!("read {file}"), error);
            // the configuration is watched by itself, and the scripts write the note
            if matches!(name.as_str(), "config" | "warned" | "agentwt.d") {
                continue;
            }
            let (kind, text) = match files::open_entry(file.as_std_path()).map_err(failed)? {
                files::Opened::File {
                    executable,
                    mut content,
                    ..
                } => {
                    let mut text = Vec::new();
                    let read = content.read_to_end(&mut text).is_ok();
                    let kind = if executable { "script" } else { "other" };
                    (kind, read.then_some(text))
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

/// Holds which watched files are not as they were recorded.
#[derive(Debug, Default)]
pub struct ChangedFiles {
    /// Those of the private git directory.
    pub own: Vec<Change>,
    /// Those that other worktrees share.
    pub shared: Vec<SharedChange>,
}

/// Finds which watched files are not as they were recorded.
pub fn changed_files(
    repository: &Repository,
    record: &Record,
) -> Result<ChangedFiles, WorktreeError> {
    let now = fingerprints(&repository.common_dir, &record.admin_dir, repository.format)?;
    let mut found = ChangedFiles::default();
    let gone = has_hooks(record) && !files::is_directory(&record.admin_dir.join("agentwt"));
    if gone {
        let said = "the directory of our hooks was removed";
        let place = Place::Admin("agentwt".into());
        found
            .own
            .push(plain(place, Kind::Integrity, Some(said.to_owned())));
    }
    for file in now
        .iter()
        .filter(|now| !record.integrity.contains(now))
        .map(|now| now.file)
    {
        let said = Some("it was changed since `add`".to_owned());
        let name = name_of(file).into();
        match file {
            WatchedFile::HooksConfig | WatchedFile::HooksBinary | WatchedFile::HooksScripts
                if gone => {}
            WatchedFile::SparseCheckout
            | WatchedFile::ConfigWorktree
            | WatchedFile::HooksConfig
            | WatchedFile::HooksBinary => {
                found
                    .own
                    .push(plain(Place::Admin(name), Kind::Config, said));
            }
            WatchedFile::HooksScripts => {
                found
                    .own
                    .push(plain(Place::Admin(name), Kind::Integrity, said));
            }
            WatchedFile::InfoExclude
            | WatchedFile::InfoAttributes
            | WatchedFile::InfoGrafts
            | WatchedFile::Alternates => found.shared.push(shared(file, name, said)),
        }
    }
    Ok(found)
}

fn shared(file: WatchedFile, name: BString, said: Option<String>) -> SharedChange {
    let (kind, cause) = match file {
        WatchedFile::InfoGrafts => (Kind::Integrity, Cause::Hides),
        // `git repack` and `clone --dissociate` write it as well
        WatchedFile::Alternates => (Kind::Integrity, Cause::Unknown),
        WatchedFile::InfoExclude
        | WatchedFile::InfoAttributes
        | WatchedFile::SparseCheckout
        | WatchedFile::ConfigWorktree
        | WatchedFile::HooksConfig
        | WatchedFile::HooksBinary
        | WatchedFile::HooksScripts => (Kind::Config, Cause::Hides),
    };
    let change = plain(Place::Git(name), kind, said);
    SharedChange { change, cause }
}

/// Says of a worktree that its record was removed: what it changed can no longer be told.
#[must_use]
pub fn without_record(lost: &Lost) -> ChangeSet {
    let said = "the record was removed: what was changed can no longer be told".to_owned();
    let place = Place::Git(format!("agentwt/worktrees/{}", lost.name).into());
    let head = lost.head.clone().unwrap_or_else(CommitId::unknown);
    ChangeSet {
        integrity: vec![plain(place, Kind::Integrity, Some(said))],
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
        let said = Some("the journal of refs was removed".to_owned());
        let gone = !files::is_directory(&record.admin_dir.join("agentwt"));
        let change = plain(Place::Admin(journal::FILE.into()), Kind::Integrity, said);
        return (!gone).then_some(change);
    };
    let known = journal.objects();
    let made = heads.made_here();
    let silent: Vec<&CommitId> = made.iter().filter(|id| !known.contains(id)).collect();
    let said = match silent.as_slice() {
        [] => return None,
        [one] => format!("commit {} was made without our hooks", one.short()),
        [newest, ..] => {
            let count = silent.len();
            format!(
                "{count} commits were made without our hooks, the newest is {}",
                newest.short()
            )
        }
    };
    Some(plain(Place::Head, Kind::Integrity, Some(said)))
}

/// Finds the lock of the worktree's index, if it is there. A git that runs now may hold it.
pub fn lock(record: &Record) -> Option<Change> {
    let file = record.admin_dir.join(INDEX_LOCK);
    let said = "it keeps git from changing the index; if no git runs there, remove it".to_owned();
    let place = Place::Admin(INDEX_LOCK.into());
    files::exists(&file).then(|| plain(place, Kind::Integrity, Some(said)))
}

/// Finds the marks with which an index hides paths from git.
pub fn index_marks(index: &IndexState) -> Option<Change> {
    let mut all: Vec<String> = Vec::new();
    for flag in [IndexFlag::AssumeUnchanged, IndexFlag::SkipWorktree] {
        let marked = index.hidden.iter().filter(|(_, has)| **has == flag);
        let paths: Vec<String> = marked.map(|(path, _)| path.to_string()).collect();
        let Some(first) = paths.first() else {
            continue;
        };
        let word = Seen::Hidden(flag);
        let others = match paths.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        all.push(format!("{first}{others}: marked {}", word.as_str()));
    }
    let place = Place::Admin("index".into());
    let change = plain(place, Kind::Integrity, Some(all.join("; ")));
    (!all.is_empty()).then_some(change)
}

const NOT_OURS: &str = "its .git file and its private git directory do not name each other";

const NOT_A_CLONE: &str =
    "its .git is not the repository any more that `add` made: what was committed cannot be told";

/// Finds what is wrong with the worktree's own `.git` file and its private git directory.
pub fn broken_links(repository: &Repository, record: &Record) -> Vec<Change> {
    let wrong = |said: &str| {
        let (place, said) = (Place::Worktree, Some(said.to_owned()));
        vec![plain(place, Kind::Integrity, said)]
    };
    if record.strategy == Strategy::Clone {
        let is_whole = repository.is_clone();
        return if is_whole {
            Vec::new()
        } else {
            wrong(NOT_A_CLONE)
        };
    }
    let dot_git = files::read(&record.path.join(".git")).unwrap_or_default();
    let back = files::read(&record.admin_dir.join("gitdir")).unwrap_or_default();
    let names_us = back.is_some_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        // relative where `worktree.useRelativePaths` is set
        let path = record.admin_dir.join(text);
        files::canonical(&path).is_ok_and(|path| path == record.path.join(".git"))
    });
    let common = files::read(&record.admin_dir.join("commondir")).unwrap_or_default();
    let leads_back = common.is_some_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        let path = files::canonical(&record.admin_dir.join(text));
        let here = files::canonical(&repository.common_dir);
        path.is_ok_and(|path| here.is_ok_and(|here| path == here))
    });
    let whole =
        leads_back && dot_git.is_some_and(|bytes| bytes == record.dot_git.as_bytes()) && names_us;
    if whole { Vec::new() } else { wrong(NOT_OURS) }
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
