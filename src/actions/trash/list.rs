//! Lists what is in the trash, and where it is.

use camino::Utf8PathBuf;

use crate::actions::trash::entry::{REFS, REMOVING, Trashed, id, shown};
use crate::disk::files;
use crate::git::refs::Ref;
use crate::record::worktree::Removal;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::gitdir::read_if_whole;
use crate::worktree::loaded::{Worktree, load_record, names};
use crate::worktree::repository::{Repository, trash_records};

/// The record in the trash.
pub(super) fn record_of(repository: &Repository, id: &str) -> Utf8PathBuf {
    trash_records(repository).join(id)
}

/// The directory in the trash.
pub(super) fn place_of(repository: &Repository, id: &str) -> Utf8PathBuf {
    repository.root.join(shown(id))
}

/// The directory of an entry, if it is there.
pub fn directory_of(repository: &Repository, entry: &Trashed) -> Option<Utf8PathBuf> {
    let path = repository.root.join(entry.directory.as_ref()?);
    files::exists(&path).then_some(path)
}

/// Lists all that is in the trash, by name, the oldest first.
///
/// # Errors
/// Fails when git or the disk does; an entry that cannot be read is left out.
pub fn list(repository: &Repository) -> Result<Vec<Trashed>, Error> {
    let mut entries = Vec::new();
    for id in files::names(&trash_records(repository))? {
        entries.extend(read_entry(repository, &id));
    }
    for kept in repository.git.for_each_ref(&[REFS])? {
        add_ref(&mut entries, kept);
    }
    entries.sort_by_key(|entry| (entry.name.clone(), entry.order()));
    Ok(entries)
}

/// Adds a ref that keeps commits (`<REFS><name>/<time>`) to its entry, or as an entry without a
/// directory.
fn add_ref(entries: &mut Vec<Trashed>, kept: Ref) {
    let reference = kept.name.to_string();
    let below = reference.strip_prefix(REFS);
    let Some((name, time)) = below.and_then(|below| below.split_once('/')) else {
        return;
    };
    for entry in entries.iter_mut() {
        if entry.name.as_str() == name && entry.time == time {
            entry.reference = Some(reference);
            entry.commit = Some(kept.id);
            return;
        }
    }
    if let Ok(name) = WorktreeName::parse(name) {
        entries.push(Trashed {
            directory: None,
            time: time.to_owned(),
            reference: Some(reference),
            commit: Some(kept.id),
            name,
            removal: None,
        });
    }
}

/// Reads the entry of this id; none where there is none, or it cannot be read.
pub(super) fn read_entry(repository: &Repository, id: &str) -> Option<Trashed> {
    let removal: Removal = read_if_whole(&record_of(repository, id).join(REMOVING))?;
    let time = removal.trash.as_ref()?.time.clone();
    let name = id.strip_suffix(&time)?.strip_suffix('-')?;
    Some(Trashed {
        directory: Some(shown(id)),
        time,
        reference: None,
        commit: None,
        name: WorktreeName::parse(name).ok()?,
        removal: Some(removal),
    })
}

/// The record of a worktree in the trash; none where there is none, as for commits and for what a
/// killed `add` left.
///
/// # Errors
/// Fails when it is damaged or cannot be read.
pub fn load(repository: &Repository, entry: &Trashed) -> Result<Option<Worktree>, Error> {
    load_record(repository, &entry.name, &record_of(repository, &entry.id()))
}

/// The names of the directories in the trash for which an interrupted removal or undo accounts.
pub fn ids_of_pending_removals(repository: &Repository) -> Vec<String> {
    let mut ids = Vec::new();
    for name in names(repository).unwrap_or_default() {
        let file = repository.record_dir(&name).join(REMOVING);
        let removal = read_if_whole::<Removal>(&file);
        if let Some(stamp) = removal.and_then(|removal| removal.trash) {
            ids.push(id(&name, &stamp.time));
        }
    }
    ids
}

/// Returns a time that nothing in the trash has for this name; `now` is RFC 3339 in UTC.
///
/// # Errors
/// Fails when git does.
pub fn free_time(repository: &Repository, name: &WorktreeName, now: &str) -> Result<String, Error> {
    let second = now.replace([':', '-'], "");
    let mut time = second.clone();
    for number in 2_u32.. {
        let id = id(name, &time);
        let reference = format!("{REFS}{name}/{time}");
        if !files::exists(&record_of(repository, &id))
            && !files::exists(&place_of(repository, &id))
            && repository.git.rev_parse_commit(&reference)?.is_none()
        {
            break;
        }
        time = format!("{second}-{number}");
    }
    Ok(time)
}
