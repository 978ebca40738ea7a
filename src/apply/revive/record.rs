//! Writes the record of a worktree that was brought back: the same, with what is other now.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::files::Laid;
use super::{Reviving, put_file};
use crate::config::Strategy;
use crate::disk::files as disk;
use crate::error::Error;
use crate::facts::trash::{MANIFEST, RECORD};
use crate::facts::{Worktree, WorktreeError};
use crate::git::objects::Objects;
use crate::manifest::{Item, Manifest, Stat};
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile};
use crate::plan::trash::list::{Listed, Stood};
use crate::scope::Scope;
use crate::truth::integrity;
use crate::worktree::PLACED;
use crate::worktree::register::read_dot_git;
use crate::worktree::{Record, WatchedFile, to_text};

/// Writes everything; the record itself last.
pub(super) fn write(
    reviving: &Reviving<'_>,
    objects: &Objects,
    scope: &Scope,
    laid: &Laid,
    mut record: Record,
    admin: &Utf8Path,
    changed: &[WatchedFile],
) -> Result<(), Error> {
    let (repository, saved) = (reviving.repository, reviving.saved);
    let dir = repository.record_dir(&saved.trash.name);
    for (path, entry) in saved.below(RECORD) {
        if path.as_bstr() != "record.toml" {
            put_file(objects, &dir, &path, entry, false)?;
        }
    }
    admin.clone_into(&mut record.admin_dir);
    record.path.clone_from(&reviving.plan.path);
    record.dot_git = match record.strategy {
        Strategy::Worktree => read_dot_git(&record.path)?,
        // a directory
        Strategy::Clone => String::new(),
    };
    // whoever worked there does so no more, and the claim was given back
    record.owner = None;
    record.claim = None;
    for file in changed {
        let common = match record.strategy {
            Strategy::Worktree => &repository.common_dir,
            Strategy::Clone => &record.admin_dir,
        };
        let now = integrity::fingerprint(*file, common, admin, repository.format)?;
        record.integrity.retain(|recorded| recorded.file != *file);
        record.integrity.push(now);
    }
    let known = Worktree {
        record,
        scope: scope.clone(),
        dir,
        walking: repository.walking,
    };
    let listed: BTreeMap<&RepoPath, &Listed> =
        saved.list.iter().map(|one| (&one.path, one)).collect();
    let manifest = manifest(reviving, objects, &known, laid, &listed)?;
    disk::write(&known.dir.join(MANIFEST), &manifest.to_bytes())?;
    if let Some(placed) = &laid.placed {
        let placed = renewed(placed, laid, &listed);
        disk::write(&known.dir.join(PLACED), &placed.to_bytes())?;
    }
    let file = known.dir.join("record.toml");
    Ok(disk::write(&file, to_text(&known.record).as_bytes())?)
}

/// The manifest as it was, with the stat data of what is again what it was: it need not be read
/// at every verification.
fn manifest(
    reviving: &Reviving<'_>,
    objects: &Objects,
    known: &Worktree,
    laid: &Laid,
    listed: &BTreeMap<&RepoPath, &Listed>,
) -> Result<Manifest, Error> {
    let damaged = |detail: String| WorktreeError::Damaged {
        name: known.record.name.to_string(),
        file: "the saved manifest".to_owned(),
        detail,
    };
    let id = reviving.saved.file(MANIFEST);
    let id = id.ok_or_else(|| damaged("it is missing".to_owned()))?;
    let other = Manifest::from_bytes(&objects.blob(&id)?);
    let other = other.map_err(|error| damaged(error.to_string()))?;
    let told = known.unproven_manifest(objects)?.into_items();
    let mut items: BTreeMap<RepoPath, Item> = told
        .into_iter()
        .map(|item| (item.path.clone(), item))
        .collect();
    items.extend(
        other
            .into_items()
            .into_iter()
            .map(|item| (item.path.clone(), item)),
    );
    let conversions = known.record.conversions;
    for item in items.values_mut() {
        let Some(disk) = &mut item.disk else { continue };
        disk.stat = Stat::default();
        let one = listed.get(&item.path);
        let is_ours = one.is_some_and(|one| matches!(one.stood, Stood::Content(_)));
        // what a checkout converts has other bytes than git stores
        let is_known = is_ours || !conversions;
        let is_same = is_known && laid.written.get(&item.path) == Some(&disk.entry);
        if let Some(stat) = laid.stands.get(&item.path).filter(|_| is_same) {
            disk.stat = as_recorded(*stat, one.copied());
        }
    }
    Ok(Manifest::new(items.into_values().collect(), laid.settled))
}

/// The stat data of what is as it was; where it had got a write bit, with the mode before that.
fn as_recorded(mut stat: Stat, one: Option<&Listed>) -> Stat {
    if let Some(mode) = one.and_then(|one| one.recorded) {
        stat.mode = mode;
    }
    stat
}

/// The list of placed files, with the stat data of those that are as they were placed.
fn renewed(placed: &Placed, laid: &Laid, listed: &BTreeMap<&RepoPath, &Listed>) -> Placed {
    let renew = |file: &PlacedFile| {
        let one = listed.get(&file.path)?;
        let is_same = match one.stood {
            Stood::Placed(_) | Stood::AtSource => true,
            Stood::Nothing
            | Stood::AsCheckedOut
            | Stood::Content(_)
            | Stood::Directory
            | Stood::Special => false,
        };
        let stat = laid.stands.get(&file.path).filter(|_| is_same)?;
        let stat = as_recorded(*stat, Some(one));
        Some(PlacedFile {
            stat,
            ..file.clone()
        })
    };
    let new = placed.files().iter().filter_map(renew).collect();
    placed.replaced_by(new, laid.settled)
}
