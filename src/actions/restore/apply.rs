//! Puts paths back: saves first, then changes the branch, the disk and the index, in this order.
//!
//! The step in the journal names the ref under which all is saved, before anything changes. After a
//! failure, or a kill, the journal brings all back from there.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use bstr::BStr;
use camino::Utf8Path;

use crate::actions::journal::Undoing;
use crate::actions::placing::{Destination, Placing};
use crate::actions::restore::change::{
    BranchUpdate, change, index_lines, put_directory, replace_files,
};
use crate::actions::restore::facts::{announced, read_own_index, require_unchanged, stages};
use crate::actions::restore::plan::{PlannedPath, RestorePlan};
use crate::actions::saved::{HeadMove, Rescue, SavedPath, Saving, write_entry};
use crate::actions::scope_edit::{set_bits, sparse_patterns};
use crate::disk::copy::staging::{CopyItem, Source};
use crate::disk::entries::stat_entries;
use crate::disk::error::DiskError;
use crate::disk::mode::{BitsChange, RefusedBits};
use crate::disk::{entries, files};
use crate::git::environment::GitMode;
use crate::git::plumbing::nul_ended;
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::record::journal;
use crate::record::journal::{JournaledCommand, Step};
use crate::record::worktree::WatchedFile;
use crate::truth::survey::Survey;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::progress::Progress;
use crate::words::text::count;
use crate::worktree::journal::StepJournal;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// A restore on its way: the worktree, what its paths get, and where new objects are written.
pub struct Restoring<'a> {
    /// The repository of the worktree.
    pub repository: &'a Repository,
    /// The worktree, whose lock is held.
    pub worktree: &'a Worktree,
    /// What is put back.
    pub plan: &'a RestorePlan,
    /// The survey on which the plan was decided.
    pub survey: &'a Survey,
    /// Where new objects are, until a commit needs them.
    pub saving: Saving<'a>,
    /// Counts what is copied.
    pub progress: &'a Progress,
}

/// What was there before a restore.
#[derive(Default)]
pub struct Before {
    /// The commit that undoes what was committed; none where the branch stays.
    pub commit: Option<CommitId>,
    /// What stood at each path.
    pub paths: Vec<SavedPath>,
    /// Where all of it is saved; none where there was nothing to lose.
    pub rescue: Option<Rescue>,
}

impl Restoring<'_> {
    /// Makes the commit that undoes, on top of HEAD, what commits have changed at the paths; none
    /// where HEAD has that already. No branch is moved, and nothing in the worktree is changed.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn write_commit(&self) -> Result<Option<CommitId>, Error> {
        let head = &self.survey.changes.head;
        let mut undone: Vec<&PlannedPath> = Vec::new();
        for restored in &self.plan.restored {
            if restored.committed {
                undone.push(restored);
            }
        }
        let objects = self.saving.scratch.objects();
        let head_tree = objects.commit(head)?.tree;
        let targets = undone
            .iter()
            .map(|restored| (&**restored.path.as_bstr(), restored.target));
        let tree = objects.write_tree(Some(&head_tree), targets)?;
        if tree == head_tree {
            return Ok(None);
        }
        // git finds the tree only in the repository
        self.saving.scratch.migrate()?;
        // as the user: it is a commit like any other
        let git = self.worktree.git(self.repository);
        let message = self.commit_message(&undone);
        Ok(Some(git.commit_tree(
            &tree.to_string(),
            &message,
            &[head],
        )?))
    }

    fn commit_message(&self, undone: &[&PlannedPath]) -> String {
        let nearest = match &self.survey.states.references.nearest {
            Some(nearest) => nearest,
            None => &self.survey.changes.base,
        };
        let number = count(undone.len(), "path", "paths");
        let mut message = format!("Restore {number} to {}\n\n", nearest.short());
        for restored in undone {
            message.push_str(&format!("  {}\n", restored.path));
        }
        message
    }

    /// Reads and stores every path from the disk and the index. Changes nothing in the worktree.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn read_paths(&self) -> Result<Vec<SavedPath>, Error> {
        let index = read_own_index(self.repository, self.worktree)?;
        let stages = stages(&index);
        let announced = announced(&index);
        let root = &self.worktree.record.path;
        let objects = self.saving.scratch.objects();
        let mut saved = Vec::new();
        for PlannedPath { path, disk, .. } in &self.plan.restored {
            let entry = write_entry(objects, root, path)?;
            saved.push(SavedPath {
                path: path.clone(),
                // what has no content is what the walk found there
                disk: entry.or(disk.filter(|walked| walked.mode.git_octal().is_none())),
                permissions: entries::permissions(root, path)?,
                index: stages.get(path).cloned().unwrap_or_default(),
                intent_to_add: announced.contains(path),
            });
        }
        if index.iter().any(|entry| entry.intent_to_add) {
            // the empty file that such an entry stands for need not be in the repository
            objects.write_blob(0, &mut io::empty())?;
        }
        Ok(saved)
    }

    /// Saves what was there under a ref, if there is anything to lose. `now` is the present time.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn save(
        &self,
        commit: Option<CommitId>,
        paths: Vec<SavedPath>,
        now: &str,
    ) -> Result<Before, Error> {
        let mut before = Before {
            commit,
            paths,
            rescue: None,
        };
        if !before.paths.is_empty() || before.commit.is_some() {
            let moved = HeadMove {
                from: &self.survey.changes.head,
                to: before.commit.as_ref(),
            };
            let time = now.replace([':', '-'], "");
            let rescue = self
                .saving
                .save_restore(moved, &before.paths, self.worktree, &time)?;
            before.rescue = Some(rescue);
        }
        Ok(before)
    }

    /// Puts the paths back. When a step fails, the journal undoes it. Returns the files whose write
    /// bits cannot be set.
    ///
    /// # Errors
    /// Fails when git or the disk does; what could not be undone is named.
    pub fn apply(&self, before: &Before) -> Result<RefusedBits, Error> {
        let mut journal = StepJournal::begin(
            journal::directory(&self.worktree.dir),
            JournaledCommand::Restore,
        )?;
        match self.take_steps(before, &mut journal) {
            Ok(refused) => {
                journal.end();
                Ok(refused)
            }
            Err(error) => Err(self.undo(before, &journal, error)),
        }
    }

    fn take_steps(&self, before: &Before, journal: &mut StepJournal) -> Result<RefusedBits, Error> {
        if let Some(rescue) = &before.rescue {
            journal.add(Step::RestoredPaths {
                worktree: self.worktree.record.name.clone(),
                rescue: rescue.name.clone(),
            })?;
        }
        self.change(before)
    }

    /// Undoes the steps; returns the error with what is left.
    fn undo(&self, before: &Before, journal: &StepJournal, error: Error) -> Error {
        let undone = journal.undo(Undoing {
            repository: self.repository.home(),
            since: &journal.file(),
        });
        let is_half = !undone.failed.is_empty() || !undone.waits.is_empty();
        match &before.rescue {
            Some(rescue) if is_half => half_restored(self.worktree, &rescue.name, error),
            Some(_) | None => error.leaving(undone.stays),
        }
    }

    /// What the paths get.
    fn targets(&self) -> Vec<SavedPath> {
        let mut targets = Vec::new();
        for restored in &self.plan.restored {
            targets.push(SavedPath {
                path: restored.path.clone(),
                disk: restored.wanted(),
                permissions: None,
                index: restored.target.iter().map(|entry| (0, *entry)).collect(),
                intent_to_add: false,
            });
        }
        targets
    }

    /// Changes branch, disk and index; write bits and the stat data in the index last.
    fn change(&self, before: &Before) -> Result<RefusedBits, Error> {
        let repository = self.repository;
        let worktree = self.worktree;
        let plan = self.plan;
        let branch = before.commit.as_ref().map(|commit| BranchUpdate {
            from: &self.survey.changes.head,
            to: commit,
            reason: "agentwt restore: put back what was out of scope",
        });
        change(repository, worktree, branch, &self.targets(), &[], || {
            if plan.patterns {
                let index = read_own_index(repository, worktree)?;
                let patterns = sparse_patterns(&worktree.scope, &index);
                worktree.set_sparse(repository, &patterns)?;
            }
            self.write_files(&before.paths)?;
            self.put_placed_back()
        })?;
        let refused = self.set_write_bits()?;
        worktree.hardened_git(repository).update_index_refresh()?;
        Ok(refused)
    }

    /// Sets the write bits, as the scope says, of the tracked files that were restored, and of all
    /// files of which nothing but the write bits had changed. Returns the files that refuse.
    fn set_write_bits(&self) -> Result<RefusedBits, Error> {
        let worktree = self.worktree;
        let plan = self.plan;
        let mut made_writable: HashSet<&[u8]> = HashSet::new();
        for path in &plan.write_bits {
            made_writable.insert(path.as_bstr());
        }
        let mut touched = made_writable.clone();
        for planned in &plan.restored {
            touched.insert(planned.path.as_bstr());
        }
        let mut index = read_own_index(self.repository, worktree)?;
        index.retain(|entry| touched.contains(&**entry.path.as_bstr()));
        let placed = worktree.placed()?;
        // those that were restored got theirs in `put_placed_back`
        let placed_files = placed
            .files()
            .iter()
            .filter(|file| made_writable.contains(&**file.path.as_bstr()));
        let root = &worktree.record.path;
        let bits = set_bits(
            root,
            &worktree.scope,
            &index,
            placed_files,
            BitsChange::Apply,
        )?;
        Ok(bits.refused)
    }

    /// Replaces what stands at the paths by what is to be there.
    fn write_files(&self, saved: &[SavedPath]) -> Result<(), Error> {
        let mut replaced = Vec::new();
        let mut wanted = Vec::new();
        for (planned, saved_path) in self.plan.restored.iter().zip(saved) {
            if planned.disk == planned.wanted() {
                continue;
            }
            replaced.push((planned, saved_path));
            if planned.wanted().is_some() {
                wanted.push(&planned.path);
            }
        }
        replace_files(
            self.repository,
            self.worktree,
            &wanted,
            |directory, paths| self.check_out(directory, paths),
            || self.take_away(&replaced),
        )
    }

    /// Lets git write the files of these paths into a directory, converted as in a checkout.
    fn check_out(&self, directory: &Utf8Path, paths: &[&RepoPath]) -> Result<(), Error> {
        for path in paths {
            entries::make_way(directory, path);
        }
        // git reads the settings of the main worktree, as the worktree's own could have been
        // planted, and the attributes of files that are absent from a temporary index of HEAD
        let git = self
            .repository
            .git
            .with_mode(GitMode::Hardened)
            .on(&self.repository.common_dir, Some(directory))
            .with_index(&self.saving.scratch.index());
        git.read_tree(self.survey.changes.head.as_str())?;
        git.update_index_info(&index_lines(self.repository, &self.targets()))?;
        // git removes links on the way instead of following them
        let command = "checkout-index --force -z --stdin";
        let input = nul_ended(paths.iter().copied());
        git.perform_with("write the files", command, &[], &input)?;
        Ok(())
    }

    /// Removes what stands at these paths, if it is what was saved: what is in a directory before
    /// what stands in the place of the directory.
    fn take_away(&self, replaced: &[(&PlannedPath, &SavedPath)]) -> Result<(), Error> {
        let root = &self.worktree.record.path;
        for (planned, saved) in replaced.iter().rev() {
            // where the sparse patterns were put back, git has removed and brought back files
            let may_be_of_git = self.plan.patterns && (planned.excluded || planned.disk.is_none());
            if !may_be_of_git {
                require_unchanged(self.repository, self.worktree, &saved.path, saved.disk)?;
            }
            if planned.disk.is_none() {
                continue;
            }
            // the directory that a placed file is in has its own permissions
            if planned.from_source() {
                entries::remove_alone(root, &planned.path)?;
            } else {
                entries::remove_entry(root, &planned.path)?;
            }
        }
        Ok(())
    }

    /// Copies the placed files that are restored from their sources again, once
    /// [`write_files`](Self::write_files) has removed what stood there. A directory comes back with
    /// the empty ones in it. Where something fails, the journal of the restore undoes all of it.
    fn put_placed_back(&self) -> Result<(), Error> {
        let worktree = self.worktree;
        let repository = self.repository;
        let mut from_source: BTreeSet<&BStr> = BTreeSet::new();
        for restored in &self.plan.restored {
            if restored.from_source() {
                from_source.insert(restored.path.as_bstr());
            }
        }
        if from_source.is_empty() {
            return Ok(());
        }
        let placed = worktree.placed()?;
        self.put_placed_directories(&placed, &from_source)?;
        let mut items = Vec::new();
        for file in placed.files() {
            let is_directory = file.kind == PlacedKind::Directory;
            if !is_directory && from_source.contains(file.path.as_bstr()) {
                items.push(self.item(file)?);
            }
        }
        let placing = Placing {
            items,
            over: BTreeMap::new(),
            before: placed,
        };
        // no signal stops this: half a restore would have to be undone
        let never_stop = || Ok(());
        let destination = Destination::new(repository, worktree, self.progress, &never_stop);
        // asked before the files are placed, which changes the settings: what was planted there
        // stays a finding
        let may_renew = worktree.config_is_as_recorded(repository)?;
        let placed_now = destination.place(&placing)?;
        if placed_now.changed_config() && may_renew {
            worktree.renew_digests(repository, |file| file == WatchedFile::ConfigWorktree)?;
        }
        // they are about remains beside the worktree, which the next call clears
        let _warnings = placed_now.keep();
        Ok(())
    }

    /// Makes the placed directories that are restored, that a restored file is in, or that are in a
    /// restored directory.
    fn put_placed_directories(
        &self,
        placed: &Placed,
        from_source: &BTreeSet<&BStr>,
    ) -> Result<(), Error> {
        let mut above: BTreeSet<&BStr> = BTreeSet::new();
        for file in placed.files() {
            if file.kind != PlacedKind::Directory && from_source.contains(file.path.as_bstr()) {
                above.extend(file.path.parents());
            }
        }
        for file in placed.files() {
            let path = file.path.as_bstr();
            let is_wanted = from_source.contains(path)
                || above.contains(path)
                || file
                    .path
                    .parents()
                    .any(|parent| from_source.contains(parent));
            if file.kind == PlacedKind::Directory && is_wanted {
                // with its own mode: one from the umask may let others read it
                put_directory(self.worktree, &file.path, file.stat.mode & 0o777)?;
            }
        }
        Ok(())
    }

    /// What is copied again for a placed file, read-only.
    fn item(&self, file: &PlacedFile) -> Result<CopyItem, DiskError> {
        let source = self.worktree.source_of(self.repository, file);
        let from = match file.origin {
            PlacedOrigin::Setup => None,
            PlacedOrigin::Synced => {
                let stands = stat_entries(&source, [&file.path].into_iter())?.entries;
                let stat = stands.get(&file.path);
                stat.map(|stat| Source::File(file.kind, *stat))
            }
            PlacedOrigin::Context => {
                files::read(&source.join(file.path.to_string()))?.map(Source::Text)
            }
        };
        let Some(from) = from else {
            let why = io::Error::other("its source is not what was placed any more");
            return Err(DiskError::new(format!("put back {}", file.path), why));
        };
        Ok(CopyItem {
            path: file.path.clone(),
            from,
            bits: file.stat.mode & 0o777 & !0o222,
        })
    }
}

/// Returns the error of a restore that could not be undone, with where everything is saved.
pub fn half_restored(worktree: &Worktree, rescue: &str, error: Error) -> Error {
    let name = &worktree.record.name;
    error.leaving(vec![format!(
        "all replaced files are saved in {rescue}; the next command on `{name}` brings them back, \
            as this one does: git agentwt restore {name} --undo={rescue}"
    )])
}
