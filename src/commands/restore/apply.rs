//! Puts paths back: saves first, then changes the branch, the disk and the index, in this order.
//!
//! After a kill, what was there is on disk or in the rescue commit: a second restore goes on from
//! there, `restore --undo` goes back. After a failure the command itself goes back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use bstr::BStr;
use camino::Utf8Path;

use crate::actions::placing::{Destination, Placing, staging};
use crate::actions::saved::{SavedPath, SavedRestore, Saving, write_entry};
use crate::actions::scope_edit::{set_bits, sparse_patterns};
use crate::answer::shapes::SavedWork;
use crate::commands::Session;
use crate::commands::restore::answer::{RestoreAnswer, RestoredPath};
use crate::commands::restore::plan::{UndoPlan, read_own_index, read_raw, stages};
use crate::disk::copy::content::make_staging;
use crate::disk::copy::staging::{CopyItem, Source};
use crate::disk::entries::{NewEntry, stat_entries};
use crate::disk::error::DiskError;
use crate::disk::mode::{BitsChange, DirectoryModes};
use crate::disk::{entries, files};
use crate::git::environment::GitMode;
use crate::git::plumbing::{index_info, nul_ended};
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::record::worktree::WatchedFile;
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::path_text::PathText;
use crate::words::text::count;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// A restore that failed.
pub(super) struct FailedRestore {
    /// Why.
    pub error: Error,
    /// The ref of what was saved before anything changed; none where nothing had changed yet.
    pub rescue: Option<String>,
}

impl<E: Into<Error>> From<E> for FailedRestore {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            rescue: None,
        }
    }
}

/// A restore on its way: the worktree, what is saved, and what the paths get.
struct Restoring<'a> {
    session: &'a Session,
    repository: &'a Repository,
    worktree: &'a Worktree,
    plan: &'a RestoreAnswer,
    saving: &'a Saving<'a>,
    head: &'a CommitId,
    saved: Vec<SavedPath>,
}

/// Does what the answer says, and completes it.
///
/// # Errors
/// Fails when git or the disk does; where something was saved by then, it may be half restored.
pub(super) fn restore(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    answer: &mut RestoreAnswer,
) -> Result<(), FailedRestore> {
    let name = &worktree.record.name;
    let head = &survey.changes.head;
    let saving = Saving::begin(repository, name)?;
    answer.commit = undoing_commit(repository, worktree, survey, answer, &saving)?;
    let moved = answer.commit.as_ref();
    // a large file takes long, and nothing was changed: a signal ends it, and the next call removes
    // what was stored
    let saved = session.waiting(|| saved_paths(repository, worktree, &saving, &answer.restored))?;
    if !saved.is_empty() || moved.is_some() {
        let time = Session::now().replace([':', '-'], "");
        let rescue = saving.save_restore((head, moved), &saved, worktree, &time)?;
        answer.rescue = Some(SavedWork::from(&rescue));
    }
    let restoring = Restoring {
        session,
        repository,
        worktree,
        plan: answer,
        saving: &saving,
        head,
        saved,
    };
    restoring.change(moved).map_err(|error| FailedRestore {
        error,
        rescue: answer.rescue.as_ref().map(|saved| saved.reference.clone()),
    })
}

/// Returns the error with where everything is saved.
pub(super) fn half_restored(worktree: &Worktree, rescue: &str, error: Error) -> Error {
    let name = &worktree.record.name;
    error.leaving(vec![format!(
        "all replaced files are saved in {rescue}; to undo: git agentwt restore {name} \
            --undo={rescue}; to continue: git agentwt restore {name}"
    )])
}

/// Makes a commit that gives the paths what they get back, if what is committed differs.
fn undoing_commit(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    plan: &RestoreAnswer,
    saving: &Saving<'_>,
) -> Result<Option<CommitId>, Error> {
    let head = &survey.changes.head;
    let committed: Vec<&RestoredPath> = plan
        .restored
        .iter()
        .filter(|restored| restored.committed)
        .collect();
    let targets = committed
        .iter()
        .map(|restored| (&**restored.path.as_bstr(), restored.target));
    let objects = saving.scratch.objects();
    let before = objects.commit(head)?.tree;
    let tree = objects.write_tree(Some(&before), targets)?;
    if tree == before {
        return Ok(None);
    }
    let number = count(committed.len(), "path", "paths");
    let nearest = match &survey.states.references.nearest {
        Some(nearest) => nearest,
        None => &survey.changes.base,
    };
    let mut message = format!("Restore {number} to {}\n\n", nearest.short());
    for restored in committed {
        message.push_str(&format!("  {}\n", restored.path));
    }
    saving.scratch.migrate()?;
    // as the user: it is a commit like any other
    let commit = worktree
        .git(repository)
        .commit_tree(&tree.to_string(), &message, &[head])?;
    Ok(Some(commit))
}

/// Reads and stores every path from the disk and the index.
fn saved_paths(
    repository: &Repository,
    worktree: &Worktree,
    saving: &Saving<'_>,
    restored: &[RestoredPath],
) -> Result<Vec<SavedPath>, Error> {
    let index = read_own_index(repository, worktree)?;
    let stages = stages(&index);
    let root = &worktree.record.path;
    let objects = saving.scratch.objects();
    let mut saved = Vec::new();
    for RestoredPath { path, disk, .. } in restored {
        let entry = write_entry(objects, root, path)?;
        saved.push(SavedPath {
            path: path.clone(),
            // what has no content is what the walk found there
            disk: entry.or(disk.filter(|entry| entry.mode.git_octal().is_none())),
            permissions: entries::permissions(root, path)?,
            index: stages.get(path).cloned().unwrap_or_default(),
        });
    }
    if index.iter().any(|entry| entry.intent_to_add) {
        // the empty file that such an entry stands for need not be in the repository
        objects.write_blob(0, &mut io::empty())?;
    }
    Ok(saved)
}

/// A move of the worktree's branch.
#[derive(Clone, Copy)]
struct MovedBranch<'a> {
    from: &'a CommitId,
    to: &'a CommitId,
    reason: &'static str,
}

/// Moves the branch, writes the files of these paths while their directories are open, and gives
/// the index what it gets, and nothing else; flags go with the old entries. Git is told of what is
/// not on disk on purpose.
fn change(
    repository: &Repository,
    worktree: &Worktree,
    branch: Option<MovedBranch<'_>>,
    targets: &[SavedPath],
    directories: &[(RepoPath, u32)],
    write: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    worktree.replace_links()?;
    if let Some(MovedBranch { from, to, reason }) = branch {
        // hooks of the user's may refuse: then nothing was changed yet
        let name = worktree.record.branch.full_ref();
        worktree
            .git(repository)
            .update_ref(&name, to, Some(from), reason)?;
    }
    let root = &worktree.record.path;
    let modes = directory_modes(worktree, targets, directories)?;
    let written = write();
    let left_open = modes.close(root);
    written?;
    if let Some(what) = left_open.into_iter().next() {
        return Err(DiskError::new("put all back", io::Error::other(what)).into());
    }
    let git = worktree.hardened_git(repository);
    if !targets.is_empty() {
        git.update_index_info(&index_lines(repository, targets))?;
    }
    let is_absent = |target: &&SavedPath| {
        let is_only_staged = target.disk.is_none() && !target.index.is_empty();
        is_only_staged && worktree.scope.excludes_file(&target.path)
    };
    let absent = nul_ended(targets.iter().filter(is_absent).map(|target| &target.path));
    if !absent.is_empty() {
        let what = "mark what the scope excludes";
        let command = "update-index --skip-worktree -z --stdin";
        git.perform_with(what, command, &[], &absent)?;
    }
    Ok(())
}

/// The lines for the index: all stages go, then those that are to be there come.
fn index_lines(repository: &Repository, targets: &[SavedPath]) -> Vec<u8> {
    let digits = repository.format.length() * 2;
    let mut info = Vec::new();
    for target in targets {
        index_info(&mut info, target.path.as_bstr(), None, 0, digits);
    }
    for SavedPath { path, index, .. } in targets {
        for (stage, entry) in index {
            index_info(&mut info, path.as_bstr(), Some(*entry), *stage, digits);
        }
    }
    info
}

/// The permissions that the directories above these paths have, or had, or were placed with: they
/// are opened on the way. Also those that paths had that were directories.
fn directory_modes(
    worktree: &Worktree,
    targets: &[SavedPath],
    saved: &[(RepoPath, u32)],
) -> Result<DirectoryModes, Error> {
    let mut above = BTreeSet::new();
    let mut touched = BTreeSet::new();
    for target in targets {
        touched.insert(&target.path);
        above.extend(std::iter::successors(
            target.path.parent(),
            RepoPath::parent,
        ));
    }
    touched.extend(&above);
    let mut modes = DirectoryModes::of(&worktree.record.path, above.iter())?;
    for (path, mode) in saved {
        if touched.contains(path) {
            modes.add(path.clone(), *mode);
        }
    }
    for file in worktree.placed()?.files() {
        if file.kind == PlacedKind::Directory && touched.contains(&file.path) {
            modes.add(file.path.clone(), file.stat.permissions());
        }
    }
    Ok(modes)
}

/// Makes a directory that may be there already.
fn put_directory(worktree: &Worktree, path: &RepoPath, mode: u32) -> Result<(), DiskError> {
    let root = &worktree.record.path;
    let directory = NewEntry {
        kind: Mode::EmptyDirectory,
        bytes: b"",
        permissions: Some(mode),
    };
    match entries::put_entry(root, path, directory) {
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

impl Restoring<'_> {
    /// What the paths get.
    fn targets(&self) -> Vec<SavedPath> {
        let mut targets = Vec::new();
        for restored in &self.plan.restored {
            targets.push(SavedPath {
                path: restored.path.clone(),
                disk: restored.wanted(),
                permissions: None,
                index: restored.target.iter().map(|entry| (0, *entry)).collect(),
            });
        }
        targets
    }

    fn change(&self, moved: Option<&CommitId>) -> Result<(), Error> {
        let repository = self.repository;
        let worktree = self.worktree;
        let plan = self.plan;
        let branch = moved.map(|tip| MovedBranch {
            from: self.head,
            to: tip,
            reason: "agentwt restore: put back what was out of scope",
        });
        change(repository, worktree, branch, &self.targets(), &[], || {
            if plan.patterns {
                let index = read_own_index(repository, worktree)?;
                let patterns = sparse_patterns(&worktree.scope, &index);
                worktree.set_sparse(repository, &patterns)?;
            }
            self.write_files()?;
            self.put_placed_back()
        })?;
        self.set_write_bits()?;
        Ok(worktree.hardened_git(repository).update_index_refresh()?)
    }

    /// Sets the write bits of what was restored, and of what had got write bits alone.
    fn set_write_bits(&self) -> Result<(), Error> {
        let worktree = self.worktree;
        let plan = self.plan;
        let made_writable: HashSet<&[u8]> = plan.write_bits.iter().map(PathText::bytes).collect();
        let mut touched = made_writable.clone();
        touched.extend(
            plan.restored
                .iter()
                .map(|restored| &**restored.path.as_bstr()),
        );
        let mut index = read_own_index(self.repository, worktree)?;
        index.retain(|entry| touched.contains(&**entry.path.as_bstr()));
        let placed = worktree.placed()?;
        let placed_files = placed
            .files()
            .iter()
            .filter(|file| made_writable.contains(&**file.path.as_bstr()));
        let root = &worktree.record.path;
        set_bits(
            root,
            &worktree.scope,
            &index,
            placed_files,
            BitsChange::Apply,
        )?;
        Ok(())
    }

    /// Lets git write what is to be there, with the conversions of a checkout, and removes what is
    /// there.
    fn write_files(&self) -> Result<(), Error> {
        let plan = self.plan;
        let root = &self.worktree.record.path;
        let mut differing = Vec::new();
        let mut wanted = Vec::new();
        for (restored, saved) in plan.restored.iter().zip(&self.saved) {
            if restored.disk == restored.wanted() {
                continue;
            }
            differing.push((restored, saved));
            if restored.wanted().is_some() {
                wanted.push(&restored.path);
            }
        }
        let hardened = self.repository.git.with_mode(GitMode::Hardened);
        let write = |directory: &Utf8Path, paths: &[&RepoPath]| -> Result<(), Error> {
            for path in paths {
                entries::make_way(directory, path);
            }
            // git reads the settings of the main worktree, as the worktree's own could have been
            // planted, and the attributes of files that are absent from a temporary index of HEAD
            let git = hardened
                .on(&self.repository.common_dir, Some(directory))
                .with_index(&self.saving.scratch.index());
            git.read_tree(self.head.as_str())?;
            git.update_index_info(&index_lines(self.repository, &self.targets()))?;
            // git removes links on the way instead of following them
            let command = "checkout-index --force -z --stdin";
            let paths = paths.iter().copied();
            git.perform_with("write the files", command, &[], &nul_ended(paths))?;
            Ok(())
        };
        replace_files(root, &wanted, write, || {
            for (restored, saved) in differing.iter().rev() {
                if restored.disk.is_none() {
                    continue;
                }
                // git may have removed what the sparse patterns leave out
                if !(plan.patterns && restored.excluded) {
                    self.check_unchanged(saved)?;
                }
                // the directory that a placed file is in has its own permissions
                if restored.from_source() {
                    entries::remove_alone(root, &restored.path)?;
                } else {
                    entries::remove_entry(root, &restored.path)?;
                }
            }
            Ok(())
        })
    }

    /// Fails when what stands at a path is not what was saved: a process works there.
    fn check_unchanged(&self, saved: &SavedPath) -> Result<(), Error> {
        let has_content = |entry: Entry| entry.mode.git_octal().is_some();
        if saved.disk.is_some_and(has_content)
            && read_raw(self.repository, self.worktree, &saved.path)? != saved.disk
        {
            return Err(failed(&saved.path, "it was changed while it was put away").into());
        }
        Ok(())
    }

    /// Puts placed files back from their sources, read-only: `restore` leaves alone what may be
    /// edited. Directories come back with the empty ones in them.
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
        let stop = || Ok(());
        let to = Destination::new(repository, worktree, &self.session.progress, &stop);
        let renew = worktree.config_is_as_recorded(repository)?;
        let placed_now = to.place(&placing)?;
        if placed_now.changed_config && renew {
            worktree.renew_digests(repository, |file| file == WatchedFile::ConfigWorktree)?;
        }
        let _ = placed_now.keep();
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
                // another umask than that of the source's owner must not open it
                put_directory(self.worktree, &file.path, file.stat.mode & 0o777)?;
            }
        }
        Ok(())
    }

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
        let gone = || failed(&file.path, "its source is not what was placed any more");
        Ok(CopyItem {
            path: file.path.clone(),
            from: from.ok_or_else(gone)?,
            bits: file.stat.mode & 0o777 & !0o222,
        })
    }
}

fn failed(path: &RepoPath, why: &str) -> DiskError {
    DiskError::new(format!("put back {path}"), io::Error::other(why.to_owned()))
}

/// Brings all back. The raw bytes come back as they were, without any conversion.
///
/// # Errors
/// Fails when git or the disk does: it may be half undone, and what was saved stays saved.
pub(super) fn undo(
    repository: &Repository,
    worktree: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let branch = plan.branch.as_ref().map(|branch| MovedBranch {
        from: &branch.from,
        to: &branch.to,
        reason: "agentwt restore: undo",
    });
    let targets: Vec<SavedPath> = plan.paths.iter().map(|now| now.saved.clone()).collect();
    let directories = &saved.directories;
    change(repository, worktree, branch, &targets, directories, || {
        write_saved(repository, worktree, saved, plan)
    })?;
    Ok(worktree.hardened_git(repository).update_index_refresh()?)
}

/// Writes what was saved, and takes away what stands there.
fn write_saved(
    repository: &Repository,
    worktree: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let root = &worktree.record.path;
    let objects = repository.objects()?;
    // a file with the same content may have other permissions
    let is_file = |entry: Entry| entry.mode.is_regular();
    let has_content = |entry: Entry| is_file(entry) || entry.mode == Mode::Link;
    let mut paths = Vec::new();
    let mut contents = BTreeMap::new();
    for now in &plan.paths {
        if now.disk == now.saved.disk && !now.disk.is_some_and(is_file) {
            continue;
        }
        paths.push(&now.saved);
        if now.saved.disk.is_some_and(has_content) {
            contents.insert(&now.saved.path, &now.saved);
        }
    }
    let wanted: Vec<&RepoPath> = contents.keys().copied().collect();
    let write = |directory: &Utf8Path, paths: &[&RepoPath]| -> Result<(), Error> {
        for saved in paths.iter().map(|path| contents[path]) {
            let Entry { mode, id } = saved.disk.expect("it was selected for its content");
            let content = objects.blob(&id)?;
            let entry = NewEntry {
                kind: mode,
                bytes: &content,
                permissions: saved.permissions,
            };
            entries::put_entry(directory, &saved.path, entry)?;
        }
        Ok(())
    };
    replace_files(root, &wanted, write, || take_away(worktree, saved, &paths))
}

/// Writes every file beside the worktree before anything is taken away, so that nowhere is half a
/// file, nor anything missing for want of room; what a killed restore left there goes first.
fn replace_files(
    root: &Utf8Path,
    wanted: &[&RepoPath],
    write: impl Fn(&Utf8Path, &[&RepoPath]) -> Result<(), Error>,
    take_away: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let staging = staging(root);
    files::remove_directory(&staging)?;
    let replace = || {
        // where nothing can be made beside the worktree, each is written in its place
        if !wanted.is_empty() && make_staging(&staging).is_ok() {
            write(&staging, wanted)?;
        }
        take_away()?;
        let mut unmoved = wanted.to_vec();
        unmoved.retain(|path| !entries::move_entry(&staging, root, path));
        if unmoved.is_empty() {
            return Ok(());
        }
        write(root, &unmoved)
    };
    let replaced = replace();
    let removed = files::remove_directory(&staging);
    replaced.and_then(|()| Ok(removed?))
}

/// Removes what stands at these paths, and makes the directories that were there.
fn take_away(worktree: &Worktree, saved: &SavedRestore, paths: &[&SavedPath]) -> Result<(), Error> {
    let root = &worktree.record.path;
    let is_any = |test: &dyn Fn(&RepoPath) -> bool| paths.iter().any(|saved| test(&saved.path));
    for file in worktree.placed()?.files().iter().rev() {
        let is_below = |above: &RepoPath| file.path.is_below(above.as_bstr());
        if file.kind == PlacedKind::Directory && is_any(&is_below) {
            // one with something in it goes once that has gone, or a later step says why not
            let _ = entries::remove_alone(root, &file.path);
        }
    }
    for saved in paths.iter().rev() {
        entries::remove_entry(root, &saved.path)?;
    }
    for (path, mode) in &saved.directories {
        if is_any(&|at| at == path || at.is_below(path.as_bstr())) {
            put_directory(worktree, path, *mode | 0o700)?;
        }
    }
    Ok(())
}
