//! Puts paths back: saves first, then moves the branch, the disk and the index, in this order.
//!
//! After a failure or a kill, what was there is on disk or in the rescue commit. A second restore
//! goes on from there, `restore --undo` goes back.

use std::collections::BTreeSet;

use bstr::BStr;

use super::facts;
use super::plan::{RestorePlan, Violation};
use super::rewrite::{Rewritten, rewrite};
use crate::apply::{sparse, write_bits};
use crate::disk::directory_modes::DirectoryModes;
use crate::disk::mode::Doing;
use crate::disk::put_back::put_back;
use crate::disk::{DiskError, files, put};
use crate::entry::{Entry, ObjectId};
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::git::GitMode;
use crate::git::index_edit::{index_info, nul_ended};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::{PlacedFile, PlacedKind};
use crate::truth::Survey;
use crate::worktree::PLACED;
use crate::worktree::saved::{Rescue, SavedPath, SavedRestore, Saving, read_entry, rescue_ref};

/// Holds what was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreDone {
    /// Where all that was put back is saved; none when there was nothing to lose.
    pub rescue: Option<Rescue>,
    /// The commit that undoes what was committed.
    pub commit: Option<CommitId>,
    /// What became of commits that were rewritten.
    pub rewritten: Option<Rewritten>,
}

/// A restore on its way: the worktree, what is saved, and what the paths get.
struct Restoring<'a> {
    repository: &'a Repository,
    known: &'a Worktree,
    plan: &'a RestorePlan,
    saving: &'a Saving<'a>,
    head: &'a CommitId,
    saved: Vec<SavedPath>,
}

/// Does what a plan says. `asked` are the paths that the user named, `time` becomes part of the
/// ref.
///
/// # Errors
/// Fails when git or the disk does. Once something was saved, the error says where.
pub(super) fn restore(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    plan: &RestorePlan,
    asked: &[RepoPath],
    time: &str,
) -> Result<RestoreDone, Error> {
    let (name, head) = (&known.record.name, &survey.changes.head);
    let saving = Saving::begin(repository, name)?;
    let mut done = RestoreDone::default();
    if plan.rewrite {
        let objects = saving.scratch.objects();
        done.rewritten = Some(rewrite(repository, known, survey, objects, asked)?);
    }
    let rewritten = done.rewritten.as_ref().map(|rewritten| &rewritten.tip);
    let tip = rewritten.unwrap_or(head);
    done.commit = undoing_commit(repository, known, survey, plan, &saving, tip)?;
    let tip = done.commit.as_ref().unwrap_or(tip);
    let moved = (tip != head).then_some(tip);
    let mut restoring = Restoring {
        repository,
        known,
        plan,
        saving: &saving,
        head,
        saved: Vec::new(),
    };
    if !plan.paths.is_empty() || moved.is_some() {
        let restore = SavedRestore {
            rescue: rescue_ref(name, time),
            previous: head.clone(),
            made: moved.cloned(),
            paths: restoring.saved_paths()?,
            directories: Vec::new(),
        };
        let (root, scope) = (&known.record.path, &known.scope);
        done.rescue = Some(saving.save_restore(&restore, root, scope)?);
        restoring.saved = restore.paths;
    }
    let changed = restoring.change(moved);
    match (changed, &done.rescue) {
        (Err(error), Some(rescue)) => Err(half_restored(known, &rescue.name, error)),
        (Err(error), None) => Err(error),
        (Ok(()), _) => Ok(done),
    }
}

/// Says where everything is saved.
pub(super) fn half_restored(known: &Worktree, rescue: &str, error: Error) -> Error {
    Error::HalfRestored {
        error: Box::new(error),
        name: known.record.name.to_string(),
        rescue: rescue.to_owned(),
    }
}

/// Makes a commit that gives the paths what they get back, if what is committed differs.
fn undoing_commit(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    plan: &RestorePlan,
    saving: &Saving<'_>,
    tip: &CommitId,
) -> Result<Option<CommitId>, Error> {
    let committed: Vec<&Violation> = plan.committed().collect();
    if committed.is_empty() {
        return Ok(None);
    }
    let objects = saving.scratch.objects();
    let before = objects.commit(tip)?.tree;
    let targets: Vec<_> = committed.iter().map(|v| v.change()).collect();
    let tree = objects.write_tree(Some(&before), &targets)?;
    if tree == before {
        return Ok(None);
    }
    let count = committed.len();
    let paths = if count == 1 { "path" } else { "paths" };
    let nearest = survey.nearest.as_ref().unwrap_or(&survey.changes.base);
    let mut message = format!("Restore {count} {paths} to {}\n\n", nearest.short());
    for violation in committed {
        message.push_str(&format!("  {}\n", violation.path));
    }
    saving.scratch.migrate()?;
    // as the user: it is a commit like any other
    let git = known.git(repository);
    Ok(Some(git.commit_tree(
        &tree.to_string(),
        &message,
        &[tip],
    )?))
}

impl Restoring<'_> {
    /// Reads and stores every path from the disk and the index.
    fn saved_paths(&self) -> Result<Vec<SavedPath>, Error> {
        let index = facts::index(self.repository, self.known)?;
        let stages = facts::stages(&index);
        let mut saved = Vec::new();
        for violation in &self.plan.paths {
            let (root, path) = (&self.known.record.path, &violation.path);
            let in_index = stages.get(path).cloned().unwrap_or_default();
            let read = self.saving.save_path(root, path, violation.disk, in_index);
            saved.push(read?);
        }
        if index.iter().any(|entry| entry.intent_to_add) {
            // the empty file that such an entry stands for need not be in the repository
            let objects = self.saving.scratch.objects();
            objects.write_blob(0, &mut std::io::empty())?;
        }
        Ok(saved)
    }

    fn change(&self, moved: Option<&CommitId>) -> Result<(), Error> {
        let (repository, known, plan) = (self.repository, self.known, self.plan);
        if let Some(tip) = moved {
            let branch = known.record.branch.full_ref();
            let reason = "agentwt restore: put back what was out of scope";
            // hooks of the user's may refuse: then nothing was changed yet
            let git = known.git(repository);
            git.update_ref(&branch, tip, Some(self.head), reason)?;
        }
        if plan.sparse {
            let index = facts::index(repository, known)?;
            sparse::put_back(repository, known, &sparse::patterns(known, &index))?;
        }
        let opened = directory_modes(known, plan.paths.iter().map(|v| &v.path))?;
        let written = self.write_files().and_then(|()| self.put_placed_back());
        let left_open = opened.close(&known.record.path);
        written?;
        if let Some(what) = left_open.into_iter().next() {
            return Err(DiskError::new("put all back", std::io::Error::other(what)).into());
        }
        self.set_index()?;
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

    /// Removes what is there, and lets git write what is to be there: with the conversions of a
    /// checkout. Attributes come first, as they say which.
    fn write_files(&self) -> Result<(), Error> {
        let (plan, root) = (self.plan, &self.known.record.path);
        let pairs = plan.paths.iter().zip(&self.saved);
        let pairs: Vec<_> = pairs.filter(|(v, _)| v.disk != v.wanted()).collect();
        for (violation, saved) in pairs.iter().rev().filter(|(v, _)| v.disk.is_some()) {
            // git may have removed what the sparse patterns leave out
            if !(plan.sparse && violation.excluded) {
                self.check_unchanged(saved)?;
            }
            if violation.from_source() {
                // the directory that it is in has its own permissions
                put::remove_alone(root, &violation.path)?;
            } else {
                put::remove_entry(root, &violation.path)?;
            }
        }
        let wanted = pairs.into_iter().map(|(violation, _)| violation);
        let wanted: Vec<&Violation> = wanted.filter(|v| v.wanted().is_some()).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        // in a temporary index all of HEAD, for attributes in files that are absent; git reads the
        // settings of the main worktree, as the worktree's own could have been planted
        let git = self.repository.git.with_mode(GitMode::Hardened);
        let index = self.saving.scratch.index();
        let git = git.on_files(&self.repository.common_dir, root, &index);
        git.read_tree(self.head.as_str())?;
        git.update_index_info(&self.targets())?;
        let (attributes, others): (Vec<&Violation>, Vec<_>) = wanted
            .iter()
            .partition(|violation| violation.path.file_name() == ".gitattributes");
        for round in [attributes, others].iter().filter(|all| !all.is_empty()) {
            for violation in round {
                put::make_way(root, &violation.path)?;
            }
            let paths = round.iter().map(|violation| &violation.path);
            git.checkout_index(&nul_ended(paths))?;
        }
        for violation in wanted {
            let relative = violation.path.to_os_path();
            let stands = relative.is_ok_and(|path| files::stands(&root.as_std_path().join(path)));
            if !stands {
                let error = std::io::Error::other("git did not write it");
                return Err(DiskError::new(format!("put back {}", violation.path), error).into());
            }
        }
        Ok(())
    }

    /// Fails when what stands at a path is not what was saved: somebody works there.
    fn check_unchanged(&self, saved: &SavedPath) -> Result<(), Error> {
        let (root, path) = (&self.known.record.path, &saved.path);
        let failed = |error| DiskError::new(format!("put back {path}"), error);
        let has_content = |entry: &Entry| entry.mode.git_octal().is_some();
        if !saved.disk.as_ref().is_some_and(has_content) {
            return Ok(());
        }
        let format = self.repository.format;
        let now = read_entry(root, path, |size, content| -> Result<ObjectId, _> {
            Ok(format.hash_blob(size, content).map_err(failed)?)
        })?;
        if now == saved.disk {
            return Ok(());
        }
        Err(failed(std::io::Error::other(
            "it was changed while it was put away",
        ))
        .into())
    }

    /// Puts placed files back from their sources, and writes the list anew with their stat data.
    fn put_placed_back(&self) -> Result<(), Error> {
        let known = self.known;
        let back = self.plan.paths.iter().filter(|v| v.from_source());
        let back: BTreeSet<&RepoPath> = back.map(|violation| &violation.path).collect();
        if back.is_empty() {
            return Ok(());
        }
        let root = &known.record.path;
        let placed = known.placed()?;
        // a directory comes back with the empty ones in it
        let comes = |file: &&PlacedFile| {
            let mut above = file.path.parents();
            back.contains(&file.path)
                || file.kind == PlacedKind::Directory
                    && above.any(|above| back.iter().any(|path| path.as_bstr() == above))
        };
        let mut renewed = Vec::new();
        for file in placed.files().iter().filter(comes) {
            let source = known.source_of(self.repository, file);
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
    fn set_index(&self) -> Result<(), Error> {
        if self.plan.paths.is_empty() {
            return Ok(());
        }
        let git = self.known.hardened_git(self.repository);
        git.update_index_info(&self.targets())?;
        let paths = self.plan.paths.iter();
        let absent = paths.filter(|v| v.excluded && v.target.is_some());
        let absent = nul_ended(absent.map(|violation| &violation.path));
        if !absent.is_empty() {
            git.update_index_skip_worktree(&absent)?;
        }
        Ok(())
    }

    /// The lines that give the paths in an index what they get back.
    fn targets(&self) -> Vec<u8> {
        let digits = self.repository.format.length() * 2;
        let mut info = Vec::new();
        for violation in &self.plan.paths {
            let (path, target) = violation.change();
            index_info(&mut info, path, target, 0, digits);
        }
        info
    }
}

/// The permissions that the placed directories above these paths have, or get back: they are
/// opened on the way.
pub(super) fn directory_modes<'p>(
    known: &Worktree,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<DirectoryModes, Error> {
    let placed = known.placed()?;
    let above: BTreeSet<&BStr> = paths.flat_map(RepoPath::parents).collect();
    let ours: Vec<&PlacedFile> = placed
        .files()
        .iter()
        .filter(|file| file.kind == PlacedKind::Directory && above.contains(file.path.as_bstr()))
        .collect();
    let mut modes = DirectoryModes::of(&known.record.path, ours.iter().map(|file| &file.path))?;
    for file in ours {
        modes.add(file.path.clone(), file.stat.permissions());
    }
    Ok(modes)
}
