//! Finds the changes that do no harm, each with the reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::files::Temporary;
use crate::judge::change::{Change, Content, Kind, Seen};
use crate::judge::compare::Delta;
use crate::scope::rule::{Access, EntryKind};
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::content::files_of_tree;
use crate::truth::layers::converted::{Filters, is_attributes, put_aside};
use crate::truth::layers::index::IndexState;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Finds the changes that do no harm, each with the reason as its detail: a file in a conflict that
/// is changed on disk alone, and a file of the base that git converted anew, by the base's own
/// attributes.
///
/// # Errors
/// Fails when git, an object or the disk does.
pub fn find_harmless(
    inputs: &SurveyInputs<'_>,
    filters: Filters,
    index: &IndexState,
    changes: &[Change],
) -> Result<Vec<Change>, Error> {
    let converted_anew = find_converted_anew(inputs, filters, changes)?;
    let mut harmless = Vec::new();
    for change in changes {
        let Some(path) = change.place.path() else {
            continue;
        };
        let is_only_on_disk = change.seen.iter().all(|seen| *seen == Seen::Disk);
        let reason = if index.conflicts.contains(path) && is_only_on_disk {
            "in a conflict, and not committed"
        } else if converted_anew.contains(path) {
            "git converted the base's file anew, as .gitattributes says"
        } else {
            continue;
        };
        harmless.push(Change {
            detail: Some(reason.to_owned()),
            ..change.clone()
        });
    }
    Ok(harmless)
}

/// Finds the changed files that have what `git add` would make of the base's file by the base's
/// attributes (gitattributes(5), `text` and `filter`).
fn find_converted_anew(
    inputs: &SurveyInputs<'_>,
    filters: Filters,
    changes: &[Change],
) -> Result<BTreeSet<RepoPath>, Error> {
    let candidates = conversion_candidates(inputs, changes);
    if candidates.is_empty() || filters == Filters::Refused {
        return Ok(BTreeSet::new());
    }
    // the manifest of `inputs` can lack what no commit touched
    let whole_base = inputs.worktree.manifest()?;
    let no_difference = Delta::new();
    let attributes = files_of_tree(&whole_base, &no_difference, is_attributes);
    if attributes.is_empty() {
        return Ok(BTreeSet::new());
    }
    // git converts the base's files in a directory that has nothing but them and their attributes
    let dir = Temporary::new()?;
    for (path, entry) in attributes {
        put_aside(&inputs.objects, path, &entry.id, &dir)?;
    }
    let mut paths = Vec::new();
    for (path, candidate) in &candidates {
        put_aside(&inputs.objects, path, &candidate.base.id, &dir)?;
        paths.push(*path);
    }
    let common_dir = &inputs.repository.common_dir;
    let git = inputs.repository.git.on(common_dir, Some(dir.path()));
    // if a filter fails, every change stays a change
    let converted_ids = git.hash_files(&paths).unwrap_or_default();
    let mut converted_anew = BTreeSet::new();
    for (path, id) in paths.into_iter().zip(converted_ids) {
        let candidate = &candidates[path];
        let converted = Entry {
            id,
            ..candidate.base
        };
        let mut now = candidate.now.iter();
        if now.all(|content| **content == Content::Entry(Some(converted))) {
            converted_anew.insert(path.clone());
        }
    }
    Ok(converted_anew)
}

/// A file of the base that is modified, and that the scope does not let be written.
struct Candidate<'c> {
    /// What the base has.
    base: Entry,
    /// The contents of the file in all states that are changed.
    now: Vec<&'c Content>,
}

/// Lists the files of the base that are modified and that the scope does not let be written.
fn conversion_candidates<'c>(
    inputs: &SurveyInputs<'_>,
    changes: &'c [Change],
) -> BTreeMap<&'c RepoPath, Candidate<'c>> {
    let mut classifier = inputs.worktree.scope.classifier();
    let mut candidates: BTreeMap<&RepoPath, Candidate> = BTreeMap::new();
    for change in changes {
        if change.kind != Kind::Modified {
            continue;
        }
        let Some(path) = change.place.path() else {
            continue;
        };
        // git is given the paths by lines
        if path.as_bstr().contains(&b'\n') {
            continue;
        }
        let Some(entry) = inputs.manifest.base(path) else {
            continue;
        };
        let access = classifier.verdict(path, EntryKind::File).access;
        if entry.mode.is_regular() && access != Access::Write {
            let candidate = Candidate {
                base: entry,
                now: Vec::new(),
            };
            candidates.insert(path, candidate);
        }
    }
    // a placed file at the path is a change of its own: that state, too, must have the file converted
    for change in changes {
        if let Some(path) = change.place.path()
            && let Some(candidate) = candidates.get_mut(path)
        {
            candidate.now.extend(&change.now);
        }
    }
    candidates
}
