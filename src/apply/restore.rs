//! Puts paths back: saves first, then moves the branch, the disk and the index, in this order.
//!
//! Whatever fails or is killed, what was there is on disk or in the rescue commit. A second
//! restore goes on from there, `restore --undo` goes back.

use std::collections::BTreeSet;

use bstr::BStr;

use super::rescue::Rescue;
use super::rewrite::{self, Rewritten};
use super::saved::{Bench, check_unchanged, save, targets};
use super::{sparse, write_bits};
use crate::disk::DiskError;
use crate::disk::directory_modes::DirectoryModes;
use crate::disk::mode::Doing;
use crate::disk::put_back::put_back;
use crate::disk::{files, put};
use crate::error::Error;
use crate::facts::changes::Survey;
use crate::facts::restore as facts;
use crate::facts::{Repository, Worktree};
use crate::git::index_edit::nul_ended;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::{PlacedFile, PlacedKind};
use crate::plan::restore::saved::SavedPath;
use crate::plan::restore::{RestorePlan, Violation};
use crate::worktree::PLACED;

/// Holds what was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Where all that was put back is saved; none when there was nothing to lose.
    pub rescue: Option<Rescue>,
    /// The commit that undoes what was committed.
    pub commit: Option<CommitId>,
    /// What became of commits that were made anew.
    pub rewritten: Option<Rewritten>,
}

/// Does what a plan says. `asked` are the paths that the user named, `time` becomes part of the
/// ref.
///
/// # Errors
/// Fails when git or the disk does. Once something was saved, the error says where.
pub fn restore(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    plan: &RestorePlan,
    asked: &[RepoPath],
    time: &str,
) -> Result<Done, Error> {
    let bench = Bench::new(repository, known);
    let mut done = Done::default();
    let mut saved = Vec::new();
    let head = &survey.changes.head;
    let mut tip = head.clone();
    if plan.rewrite {
        let rewritten = rewrite::rewrite(&bench, survey, asked)?;
        tip = rewritten.tip.clone();
        done.rewritten = Some(rewritten);
    }
    done.commit = undoing_commit(&bench, survey, plan, &tip)?;
    let tip = done.commit.as_ref().unwrap_or(&tip);
    let moved = (tip != head).then_some(tip);
    if !plan.paths.is_empty() || moved.is_some() {
        let (rescue, paths) = save(&bench, survey, plan, moved, time)?;
        done.rescue = Some(rescue);
        saved = paths;
    }
    match change(&bench, head, plan, &saved, moved) {
        Ok(()) => Ok(done),
        Err(error) => Err(half(known, done.rescue, error)),
    }
}

/// Says where everything is saved.
pub(super) fn half(known: &Worktree, rescue: Option<Rescue>, error: Error) -> Error {
    match rescue {
        Some(rescue) => Error::HalfRestored {
            error: Box::new(error),
            name: known.record.name.to_string(),
            rescue: rescue.name,
        },
        None => error,
    }
}

/// A commit that gives the paths what they get back, if what is committed has anything else.
fn undoing_commit(
    bench: &Bench<'_>,
    survey: &Survey,
    plan: &RestorePlan,
    tip: &CommitId,
) -> Result<Option<CommitId>, Error> {
    let committed: Vec<&Violation> = plan.committed().collect();
    if committed.is_empty() {
        return Ok(None);
    }
    let info = targets(committed.iter().copied(), bench.digits);
    let tree = bench.tree(Some(tip.as_str()), &info)?;
    let before = bench.repository.objects()?.commit(tip)?.tree;
    if tree == before.to_string() {
        return Ok(None);
    }
    let count = committed.len();
    let paths = if count == 1 { "path" } else { "paths" };
    let nearest = survey.nearest.as_ref().unwrap_or(&survey.changes.base);
    let mut message = format!("Restore {count} {paths} to {}\n\n", nearest.short());
    for violation in committed {
        message.push_str(&format!("  {}\n", violation.path));
    }
    // as the user: it is a commit like any other
    let git = bench.known.git(bench.repository);
    Ok(Some(git.commit_tree(&tree, &message, &[tip])?))
}

fn change(
    bench: &Bench<'_>,
    head: &CommitId,
    plan: &RestorePlan,
    saved: &[SavedPath],
    moved: Option<&CommitId>,
) -> Result<(), Error> {
    let (repository, known) = (bench.repository, bench.known);
    if let Some(tip) = moved {
        let branch = known.record.branch.full_ref();
        let reason = "agentwt restore: put back what was out of scope";
        // hooks of the user's may refuse: then nothing was changed yet
        let git = known.git(repository);
        git.update_ref(&branch, tip, Some(head), reason)?;
    }
    if plan.sparse {
        let index = facts::index(repository, known)?;
        sparse::put_back(repository, known, &sparse::patterns(known, &index))?;
    }
    let directories = directories(known, plan.paths.iter().map(|violation| &violation.path))?;
    let written = write_files(bench, head, plan, saved).and_then(|()| replace(bench, plan));
    let left_open = directories.close(&known.record.path);
    written?;
    if let Some(what) = left_open.into_iter().next() {
        return Err(DiskError::new("put all back", std::io::Error::other(what)).into());
    }
    set_index(bench, plan)?;
    let restored = |path: &RepoPath| plan.paths.binary_search_by(|v| v.path.cmp(path)).is_ok();
    let drifted = |path: &RepoPath| plan.permissions.binary_search(path).is_ok();
    let mut index = facts::index(repository, known)?;
    index.retain(|entry| restored(&entry.path) || drifted(&entry.path));
    let (root, scope) = (&known.record.path, &known.scope);
    write_bits::apply(root, scope, &index, Doing::Change)?;
    if !plan.permissions.is_empty() {
        let placed = known.placed()?;
        let placed = placed.files().iter().filter(|file| drifted(&file.path));
        write_bits::apply_to_placed(root, scope, placed, Doing::Change)?;
    }
    Ok(known.hardened_git(repository).update_index_refresh()?)
}

/// The permissions that the placed directories above these paths have, or get back: they are
/// opened on the way.
pub(super) fn directories<'p>(
    known: &Worktree,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<DirectoryModes, Error> {
    let placed = known.placed()?;
    let above = paths.flat_map(RepoPath::parents);
    let above: BTreeSet<&BStr> = above.collect();
    let all = placed.files().iter();
    let all = all.filter(|file| file.kind == PlacedKind::Directory);
    let ours: Vec<&PlacedFile> = all
        .filter(|file| above.contains(file.path.as_bstr()))
        .collect();
    let mut modes = DirectoryModes::of(&known.record.path, ours.iter().map(|file| &file.path))?;
    for file in ours {
        modes.add(file.path.clone(), file.stat.permissions());
    }
    Ok(modes)
}

/// Takes away what is there, and lets git write what is to be there: with the conversions that a
/// checkout does. Attributes come first, as they say which.
fn write_files(
    bench: &Bench<'_>,
    head: &CommitId,
    plan: &RestorePlan,
    saved: &[SavedPath],
) -> Result<(), Error> {
    let root = &bench.known.record.path;
    let objects = bench.repository.objects()?;
    let pairs = plan.paths.iter().zip(saved);
    let differs = |v: &Violation| v.disk != v.wanted();
    let pairs: Vec<_> = pairs.filter(|(v, _)| differs(v)).collect();
    for (violation, saved) in pairs.iter().rev().filter(|(v, _)| v.disk.is_some()) {
        // git may have taken away what the sparse patterns leave out
        if !(plan.sparse && violation.excluded) {
            check_unchanged(bench, &objects, saved)?;
        }
        if violation.from_source() {
            // the directory that it is in has its own permissions
            put::remove_alone(root, &violation.path)?;
        } else {
            put::remove_entry(root, &violation.path)?;
        }
    }
    let different = pairs.into_iter().map(|(violation, _)| violation);
    let wanted: Vec<&Violation> = different.filter(|v| v.wanted().is_some()).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    // all of HEAD, for attributes in files that are absent
    bench.tree(
        Some(head.as_str()),
        &targets(plan.paths.iter(), bench.digits),
    )?;
    let is_attributes = |v: &&&Violation| v.path.file_name() == ".gitattributes";
    let attributes = wanted.iter().filter(is_attributes);
    let others = wanted.iter().filter(|v| !is_attributes(v));
    for round in [
        attributes.copied().collect::<Vec<_>>(),
        others.copied().collect(),
    ] {
        for violation in &round {
            put::make_way(root, &violation.path)?;
        }
        if !round.is_empty() {
            let paths = round.iter().map(|violation| &violation.path);
            bench.git.checkout_index(&nul_ended(paths))?;
        }
    }
    for violation in wanted {
        let relative = violation.path.to_os_path();
        let there = relative.is_ok_and(|path| files::stands(&root.as_std_path().join(path)));
        if !there {
            let error = std::io::Error::other("git did not write it");
            return Err(DiskError::new(format!("put back {}", violation.path), error).into());
        }
    }
    Ok(())
}

/// Puts placed files back from their sources, and writes the list anew with their stat data.
fn replace(bench: &Bench<'_>, plan: &RestorePlan) -> Result<(), Error> {
    if !plan.paths.iter().any(Violation::from_source) {
        return Ok(());
    }
    let known = bench.known;
    let root = &known.record.path;
    let placed = known.placed()?;
    let mut renewed = Vec::new();
    let back = plan.paths.iter().filter(|v| v.from_source());
    let back: BTreeSet<&RepoPath> = back.map(|violation| &violation.path).collect();
    // a directory comes back with the empty ones in it
    let comes = |file: &&PlacedFile| {
        let mut above = file.path.parents();
        back.contains(&file.path)
            || file.kind == PlacedKind::Directory
                && above.any(|above| back.iter().any(|path| path.as_bstr() == above))
    };
    for file in placed.files().iter().filter(comes) {
        let source = known.source_of(bench.repository, file);
        let stat = put_back(root, &source, &placed, file)?;
        renewed.push(PlacedFile {
            stat,
            ..file.clone()
        });
    }
    let newest = renewed.iter().map(|file| file.stat.ctime).max();
    let settled = files::settled_time(root, newest.unwrap_or(0))?;
    let placed = placed.replaced_by(renewed, settled);
    Ok(files::write(&known.dir.join(PLACED), &placed.to_bytes())?)
}

/// Gives the index what the paths get back, and nothing else. Their flags go with the old
/// entries; what the scope excludes is absent on purpose.
fn set_index(bench: &Bench<'_>, plan: &RestorePlan) -> Result<(), Error> {
    if plan.paths.is_empty() {
        return Ok(());
    }
    let git = bench.known.hardened_git(bench.repository);
    git.update_index_info(&targets(plan.paths.iter(), bench.digits))?;
    let absent = plan
        .paths
        .iter()
        .filter(|v| v.excluded && v.target.is_some());
    let absent = nul_ended(absent.map(|violation| &violation.path));
    if !absent.is_empty() {
        git.update_index_skip_worktree(&absent)?;
    }
    Ok(())
}
