//! Reads what surrounds a worktree: its links, git's files beside it, the journal of what was done
//! to refs from there.

use camino::Utf8Path;

use crate::config::value::Strategy;
use crate::disk::files;
use crate::fence::shim::PRIVATE_GIT;
use crate::git::hooks::journal;
use crate::git::hooks::journal::Journal;
use crate::git::settings_file::meaning;
use crate::judge::change::{Change, ChangeSet, INDEX_LOCK, Kind, Place, SPARSE_LOCK, Seen};
use crate::record::worktree::{Fingerprint, Record, WatchedFile};
use crate::system::environment;
use crate::truth::attribution::commits_past_hooks;
use crate::truth::head::{OPENED, WorktreeHead};
use crate::truth::layers::index::IndexState;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::first_of;
use crate::worktree::loaded::Lost;
use crate::worktree::repository::Repository;

/// Takes the digests of all watched files as they are now.
///
/// # Errors
/// Fails when the disk does.
pub fn fingerprints(
    repository: &Repository,
    admin_dir: &Utf8Path,
) -> Result<Vec<Fingerprint>, Error> {
    let take = |file: WatchedFile| fingerprint(file, repository, admin_dir);
    WatchedFile::ALL.into_iter().map(take).collect()
}

/// Takes the digest of one watched file as it is now; none where there is none. A pipe or a device
/// counts as another content.
///
/// # Errors
/// Fails when the disk does.
pub fn fingerprint(
    file: WatchedFile,
    repository: &Repository,
    admin_dir: &Utf8Path,
) -> Result<Fingerprint, Error> {
    let path = admin_dir.join(name_of(file));
    let content = match file {
        _ if files::is_endless(&path) => Some(b"a pipe or a device".to_vec()),
        // git would write to where it leads
        _ if files::is_behind_link(&path) => Some(b"a link".to_vec()),
        // git itself writes it anew now and then: what it says counts
        WatchedFile::ConfigWorktree => files::read(&path)?.map(|bytes| meaning(&bytes)),
        WatchedFile::HooksScripts => scripts(&path)?,
        _ => files::read(&path)?,
    };
    let digest = content.map(|bytes| repository.format.blob_id(&bytes).to_string());
    Ok(Fingerprint { file, digest })
}

/// Finds links in the place of files of the private git directory: git reads what they lead to, and
/// writes there.
pub fn links(record: &Record) -> impl Iterator<Item = Change> {
    let all = OPENED.split(' ').filter(|name| *name != "config.worktree");
    let all = all.filter(|name| files::is_behind_link(&record.admin_dir.join(name)));
    all.map(|name| {
        let said = "a link stands in its place, or in that of its directory";
        integrity(Place::Admin(name.into()), said)
    })
}

/// The name, the kind and the text of every script of ours.
fn scripts(directory: &Utf8Path) -> Result<Option<Vec<u8>>, Error> {
    let mut all = Vec::new();
    for directory in [directory, &directory.join("agentwt.d")] {
        for name in files::names(directory)? {
            // the configuration is watched by itself, and the scripts write the note
            if matches!(name.as_str(), "config" | "warned" | "agentwt.d") {
                continue;
            }
            let file = directory.join(&name);
            let stat = files::stat(&file);
            // a regular file that its owner may execute (inode(7))
            let is_script = stat.is_some_and(|stat| stat.mode & 0o170_100 == 0o100_100);
            let kind = if is_script { "script" } else { "other" };
            all.extend_from_slice(format!("{kind} {name}\0").as_bytes());
            all.extend(files::read(&file).ok().flatten().unwrap_or_default());
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
    }
}

/// Finds which watched files of the private git directory are not as they were recorded.
///
/// # Errors
/// Fails when the disk does.
pub fn changed_files(repository: &Repository, record: &Record) -> Result<Vec<Change>, Error> {
    let now = fingerprints(repository, &record.admin_dir)?;
    let mut found = Vec::new();
    let gone = has_hooks(record) && !files::is_directory(&record.admin_dir.join("agentwt"));
    if gone {
        let said = "the directory of our hooks was removed";
        found.push(integrity(Place::Admin("agentwt".into()), said));
    }
    // a record from before a file was watched has nothing of it
    let is_watched = |now: &&Fingerprint| record.integrity.iter().any(|one| one.file == now.file);
    let changed = now.iter().filter(is_watched);
    for now in changed.filter(|now| !record.integrity.contains(now)) {
        let (name, said) = (name_of(now.file), "it was changed since `add`");
        if gone && name.starts_with("agentwt/") {
            continue;
        }
        let kind = match now.file {
            WatchedFile::HooksScripts => Kind::Integrity,
            _ => Kind::Config,
        };
        let change = Change::detailed(Place::Admin(name.into()), kind, said);
        found.push(change.with(now.digest.clone()));
    }
    Ok(found)
}

/// Says of a worktree that its record was removed: what it changed can no longer be determined.
pub fn without_record(lost: &Lost) -> ChangeSet {
    let said = "the record was removed: what was changed can no longer be determined";
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
pub fn past_the_hooks(
    record: &Record,
    journal: Option<&Journal>,
    head: &WorktreeHead,
) -> Option<Change> {
    if !has_hooks(record) {
        return None;
    }
    let Some(journal) = journal else {
        let gone = !files::is_directory(&record.admin_dir.join("agentwt"));
        let place = Place::Admin(journal::FILE.into());
        return (!gone).then(|| integrity(place, "the journal of refs was removed"));
    };
    let branch = record.branch.full_ref();
    let head_ref = head.symbolic.as_deref();
    let silent = commits_past_hooks(&head.reflog, head_ref, &branch, journal);
    let newest = silent.first()?.short();
    let detail = match silent.len() - 1 {
        0 => format!("commit {newest} was made without our hooks"),
        more => format!("commit {newest} and {more} before it were made without our hooks"),
    };
    let ids: Vec<&str> = silent.iter().map(CommitId::as_str).collect();
    Some(integrity(Place::Head, detail).with(Some(ids.join(" "))))
}

/// Finds the locks of the worktree's index and sparse patterns that are there. A git that runs now may
/// hold them.
pub fn locks(record: &Record) -> Vec<Change> {
    let mut found = Vec::new();
    for (lock, guarded) in [(INDEX_LOCK, "index"), (SPARSE_LOCK, "sparse patterns")] {
        if files::exists(&record.admin_dir.join(lock)) {
            let said = format!(
                "it keeps git from changing the {guarded}; if no git runs there, remove it"
            );
            found.push(integrity(Place::Admin(lock.into()), said));
        }
    }
    found
}

/// Finds the marks with which an index hides paths from git.
pub fn index_marks(index: &IndexState) -> Option<Change> {
    let mut all: Vec<String> = Vec::new();
    for flag in [Seen::AssumeUnchanged, Seen::SkipWorktree] {
        let marked = index.hidden.iter().filter(|(_, has)| **has == flag);
        let paths = first_of(marked.map(|(path, _)| path), 1);
        if !paths.is_empty() {
            all.push(format!("{paths}: marked {}", flag.as_str()));
        }
    }
    let place = Place::Admin("index".into());
    (!all.is_empty()).then(|| integrity(place, all.join("; ")))
}

/// Finds what is wrong with the worktree's own `.git` file and its private git directory.
pub fn broken_links(repository: &Repository, record: &Record) -> Option<Change> {
    let (is_whole, said) = match record.strategy {
        Strategy::Clone => (
            repository.is_clone(),
            "its .git is not the repository any more that `add` made: what was committed cannot be determined",
        ),
        Strategy::Worktree => (
            has_whole_links(repository, record),
            "its .git file and its private git directory do not name each other",
        ),
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
    // in the fence `mount`, that of the run is there
    let private = repository.record_dir(&record.name).join("private/git");
    let is_fenced = environment::variable(PRIVATE_GIT).is_some_and(|path| *path == *private);
    let in_fence = is_fenced.then(|| format!("gitdir: {private}\n"));
    let mut known = in_fence.iter().chain([&record.dot_git]);
    text.is_some_and(|bytes| known.any(|one| bytes == one.as_bytes()))
        && named("gitdir") == Some(dot_git)
        && common_dir.is_some()
        && named("commondir") == common_dir
}

/// Says what is wrong with something beside the paths.
pub fn integrity(place: Place, said: impl Into<String>) -> Change {
    Change::detailed(place, Kind::Integrity, said)
}
