//! Lays over a checkout what was not as a checkout gives it.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::{Reviving, content};
use crate::disk::below::open_below;
use crate::disk::directory_modes::DirectoryModes;
use crate::disk::drift::at_source;
use crate::disk::permissions::set_permissions;
use crate::disk::put::{self, Content};
use crate::disk::standing::standing;
use crate::disk::{DiskError, files};
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::trash::RECORD;
use crate::git::objects::Objects;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile, There};
use crate::plan::trash::list::{Listed, Stood};
use crate::scope::{Access, EntryKind, Scope};
use crate::worktree::PLACED;

/// Holds what stands now, for the record.
pub(super) struct Laid {
    /// What stands at every path, with its stat data.
    pub stands: BTreeMap<RepoPath, Stat>,
    /// The raw bytes of what a checkout or we wrote, as far as they are known.
    pub written: BTreeMap<RepoPath, Entry>,
    /// The file system's time at which all of it was there.
    pub settled: i64,
    /// What was placed, as it was saved.
    pub placed: Option<Placed>,
    /// What could not be brought back.
    pub notes: Vec<String>,
}

/// Lays the list over a checkout of HEAD.
pub(super) fn lay(
    reviving: &Reviving<'_>,
    objects: &Objects,
    scope: &Scope,
    head: &[(RepoPath, Entry)],
) -> Result<Laid, Error> {
    let (saved, root) = (reviving.saved, reviving.plan.path.as_path());
    let placed = match saved.file(&format!("{RECORD}{PLACED}")) {
        Some(id) => Placed::from_bytes(&objects.blob(&id)?).ok(),
        None => None,
    };
    let mut classifier = scope.classifier();
    let mut written: BTreeMap<RepoPath, Entry> = BTreeMap::new();
    let mut gitlinks = BTreeSet::new();
    for (path, entry) in head {
        if entry.mode == Mode::Gitlink {
            gitlinks.insert(path.clone());
        } else if classifier.verdict(path, EntryKind::File).access != Access::Excluded {
            written.insert(path.clone(), *entry);
        }
    }
    let mut notes = Vec::new();
    take_away(root, &saved.list, &gitlinks)?;
    for one in &saved.list {
        (reviving.check)()?;
        let entry = match one.stood {
            Stood::AsCheckedOut | Stood::Directory => continue,
            Stood::Content(entry) | Stood::Placed(entry) => {
                let bytes = objects.blob(&entry.id)?;
                put::put_entry(root, &one.path, &content(entry.mode, bytes), one.bits)?;
                Some(entry)
            }
            Stood::AtSource => {
                let file = placed.as_ref().and_then(|placed| placed.get(&one.path));
                if !copy(reviving, file, one)? {
                    let path = &one.path;
                    notes.push(format!(
                        "{path} is not in the main worktree as it was placed: it stays away"
                    ));
                }
                None
            }
            Stood::Special => {
                notes.push(format!(
                    "{} was a FIFO, socket or device: it stays away",
                    one.path
                ));
                None
            }
            Stood::Nothing => None,
        };
        match entry {
            Some(entry) => drop(written.insert(one.path.clone(), entry)),
            None => drop(written.remove(&one.path)),
        }
    }
    let directories_of_list = || {
        let of_list = saved.list.iter();
        of_list
            .filter(|one| one.stood == Stood::Directory)
            .map(|one| &one.path)
    };
    let there = standing(root, directories_of_list())?.entries;
    for path in directories_of_list().filter(|path| !there.contains_key(path)) {
        // one that is inside of another makes that too
        if standing(root, std::iter::once(path))?.entries.is_empty() {
            put::put_entry(root, path, &Content::Directory, None)?;
        }
    }
    permissions(reviving, scope, &written)?;
    let stands = standing(
        root,
        written.keys().chain(saved.list.iter().map(|one| &one.path)),
    );
    let stands = stands?.entries;
    let newest = stands.values().map(|stat| stat.ctime).max().unwrap_or(0);
    let settled = files::settled_time(root, newest)?;
    directories(reviving, &written)?;
    Ok(Laid {
        stands,
        written,
        settled,
        placed,
        notes,
    })
}

/// Takes away what a checkout wrote and was not there.
fn take_away(root: &Utf8Path, list: &[Listed], gitlinks: &BTreeSet<RepoPath>) -> Result<(), Error> {
    for one in list.iter().rev() {
        let stays = match one.stood {
            Stood::AsCheckedOut => true,
            Stood::Directory => gitlinks.contains(&one.path),
            Stood::Nothing
            | Stood::Content(_)
            | Stood::Placed(_)
            | Stood::AtSource
            | Stood::Special => false,
        };
        if stays {
            continue;
        }
        match put::remove_entry(root, &one.path) {
            // it has something in it, and is to be one
            Err(_) if one.stood == Stood::Directory => {}
            other => other?,
        }
    }
    Ok(())
}

/// Copies a placed file that is at its source as it was placed.
fn copy(reviving: &Reviving<'_>, file: Option<&PlacedFile>, one: &Listed) -> Result<bool, Error> {
    let source = &reviving.repository.root;
    let Some(file) = file.filter(|file| at_source(source, file) == There::Same) else {
        return Ok(false);
    };
    let failed = |error| DiskError::new(format!("copy {}", file.path), error);
    let content = match open_below(source, &file.path).map_err(failed)? {
        files::Opened::File { mut content, .. } => {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut content, &mut bytes).map_err(failed)?;
            Content::File(bytes)
        }
        files::Opened::Link(text) => Content::Link(text.into()),
        files::Opened::Other => return Ok(false),
    };
    put::put_entry(&reviving.plan.path, &one.path, &content, one.bits)?;
    Ok(true)
}

/// Gives every file the permissions that it had.
fn permissions(
    reviving: &Reviving<'_>,
    scope: &Scope,
    written: &BTreeMap<RepoPath, Entry>,
) -> Result<(), Error> {
    let saved = reviving.saved;
    let listed: BTreeMap<&RepoPath, u32> = saved
        .list
        .iter()
        .filter_map(|one| Some((&one.path, one.bits?)))
        .collect();
    let mut classifier = scope.classifier();
    let files = written.iter().filter(|(_, entry)| entry.mode.is_regular());
    let bits = files.map(|(path, entry)| {
        let access = classifier.verdict(path, EntryKind::File).access;
        let executable = entry.mode == Mode::Executable;
        let usual = saved.trash.usual.of(access == Access::Write, executable);
        (path.clone(), listed.get(path).copied().unwrap_or(usual))
    });
    let bits: Vec<(RepoPath, u32)> = bits.collect();
    Ok(set_permissions(&reviving.plan.path, &bits)?)
}

/// Gives every directory the permissions that it had, the innermost first.
fn directories(reviving: &Reviving<'_>, written: &BTreeMap<RepoPath, Entry>) -> Result<(), Error> {
    let (saved, root) = (reviving.saved, &reviving.plan.path);
    let usual = saved.trash.usual.directory;
    let mut modes: BTreeMap<RepoPath, u32> = BTreeMap::new();
    let all = written.keys().chain(saved.list.iter().map(|one| &one.path));
    for path in all {
        let mut next = path.parent();
        while let Some(directory) = next.filter(|path| !modes.contains_key(path)) {
            next = directory.parent();
            modes.insert(directory, usual);
        }
    }
    for one in saved
        .list
        .iter()
        .filter(|one| one.stood == Stood::Directory)
    {
        modes.insert(one.path.clone(), one.bits.unwrap_or(usual));
    }
    match DirectoryModes::new(modes.into_iter())
        .close(root)
        .into_iter()
        .next()
    {
        None => Ok(()),
        Some(what) => Err(DiskError::new("bring all back", std::io::Error::other(what)).into()),
    }
}
