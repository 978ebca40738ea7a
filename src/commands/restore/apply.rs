//! Puts paths back: saves first, then changes the branch, the disk and the index, in this order.
//!
//! After a failure or a kill, what was there is on disk or in the rescue commit. A second restore
//! goes on from there, `restore --undo` goes back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use bstr::BStr;
use camino::Utf8Path;

use crate::actions::placing::{Destination, Placing, staging};
use crate::actions::saved::{SavedPath, SavedRestore, Saving, write_entry};
use crate::actions::scope_edit::{set_bits, sparse_patterns};
use crate::answer::shapes::{PathField, SavedField};
use crate::commands::Session;
use crate::commands::restore::answer::{RestoreAnswer, RestoredPath};
use crate::commands::restore::plan::{PathNow, UndoPlan, read_own_index, read_raw, stages};
use crate::disk::copy::content::make_staging;
use crate::disk::copy::staging::{CopyItem, Source};
use crate::disk::entries::{NewEntry, stat_entries};
use crate::disk::error::DiskError;
use crate::disk::mode::{BitsChange, DirectoryModes};
use crate::disk::{entries, files};
use crate::git::environment::GitMode;
use crate::git::plumbing::{index_info, nul_ended};
use crate::inventory::placed::{PlacedFile, PlacedKind, PlacedOrigin};
use crate::record::worktree::WatchedFile;
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::text::count;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// A restore on its way: the worktree, what is saved, and what the paths get.
struct Restoring<'a> {
    session: &'a Session,
    repository: &'a Repository,
    known: &'a Worktree,
    plan: &'a RestoreAnswer,
    saving: &'a Saving<'a>,
    head: &'a CommitId,
    saved: Vec<SavedPath>,
}

/// Does what the answer says, and completes it.
///
/// # Errors
/// Fails when git or the disk does. Once something was saved, the error says where.
pub(super) fn restore(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    answer: &mut RestoreAnswer,
) -> Result<(), Error> {
    let name = &known.record.name;
    let head = &survey.changes.head;
    let saving = Saving::begin(repository, name)?;
    answer.commit = undoing_commit(repository, known, survey, answer, &saving)?;
    let moved = answer.commit.as_ref();
    // a large file takes long, and nothing was changed: a signal ends it, and the next call removes
    // what was stored
    let saved = session.waiting(|| saved_paths(repository, known, &saving, &answer.restored))?;
    if !saved.is_empty() || moved.is_some() {
        let time = Session::now().replace([':', '-'], "");
        let rescue = saving.save_restore((head, moved), &saved, known, &time)?;
        answer.rescue = Some(SavedField::from(&rescue));
    }
    let restoring = Restoring {
        session,
        repository,
        known,
        plan: answer,
        saving: &saving,
        head,
        saved,
    };
    let changed = restoring.change(moved);
    changed.map_err(|error| match &answer.rescue {
        Some(rescue) => half_restored(known, &rescue.reference, error),
        None => error,
    })
}

/// Says where everything is saved.
fn half_restored(known: &Worktree, rescue: &str, error: Error) -> Error {
    let name = &known.record.name;
    error.leaving(vec![format!(
        "all replaced files are saved in {rescue}; to undo: git agentwt restore {name} \
            --undo={rescue}; to continue: git agentwt restore {name}"
    )])
}

/// Makes a commit that gives the paths what they get back, if what is committed differs.
fn undoing_commit(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    plan: &RestoreAnswer,
    saving: &Saving<'_>,
) -> Result<Option<CommitId>, Error> {
    let head = &survey.changes.head;
    let committed = plan.restored.iter().filter(|one| one.committed);
    let committed: Vec<&RestoredPath> = committed.collect();
    let objects = saving.scratch.objects();
    let before = objects.commit(head)?.tree;
    let targets = committed.iter();
    let targets = targets.map(|one| (&**one.path.as_bstr(), one.target));
    let tree = objects.write_tree(Some(&before), targets)?;
    if tree == before {
        return Ok(None);
    }
    let number = count(committed.len(), "path", "paths");
    let nearest = survey.states.references.nearest.as_ref();
    let nearest = nearest.unwrap_or(&survey.changes.base);
    let mut message = format!("Restore {number} to {}\n\n", nearest.short());
    for one in committed {
        message.push_str(&format!("  {}\n", one.path));
    }
    saving.scratch.migrate()?;
    // as the user: it is a commit like any other
    let git = known.git(repository);
    let commit = git.commit_tree(&tree.to_string(), &message, &[head])?;
    Ok(Some(commit))
}

/// Reads and stores every path from the disk and the index.
fn saved_paths(
    repository: &Repository,
    known: &Worktree,
    saving: &Saving<'_>,
    restored: &[RestoredPath],
) -> Result<Vec<SavedPath>, Error> {
    let index = read_own_index(repository, known)?;
    let stages = stages(&index);
    let root = &known.record.path;
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

/// Moves the branch, writes the files of these paths while their directories are open, and gives
/// the index what it gets, and nothing else; flags go with the old entries. Git is told of what is
/// not on disk on purpose.
fn change(
    repository: &Repository,
    known: &Worktree,
    branch: Option<(&CommitId, &CommitId, &str)>,
    targets: &[SavedPath],
    directories: &[(RepoPath, u32)],
    write: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    known.replace_links()?;
    if let Some((from, to, reason)) = branch {
        // hooks of the user's may refuse: then nothing was changed yet
        let name = known.record.branch.full_ref();
        let git = known.git(repository);
        git.update_ref(&name, to, Some(from), reason)?;
    }
    let root = &known.record.path;
    let modes = directory_modes(known, targets, directories)?;
    let written = write();
    let left_open = modes.close(root);
    written?;
    if let Some(what) = left_open.into_iter().next() {
        return Err(DiskError::new("put all back", io::Error::other(what)).into());
    }
    let git = known.hardened_git(repository);
    if !targets.is_empty() {
        git.update_index_info(&index_lines(repository, targets))?;
    }
    let is_absent = |target: &&SavedPath| {
        let is_only_staged = target.disk.is_none() && !target.index.is_empty();
        is_only_staged && known.scope.excludes_file(&target.path)
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
    known: &Worktree,
    targets: &[SavedPath],
    saved: &[(RepoPath, u32)],
) -> Result<DirectoryModes, Error> {
    let paths = targets.iter().map(|target| &target.path);
    let parents = |path: &RepoPath| std::iter::successors(path.parent(), RepoPath::parent);
    let above: BTreeSet<RepoPath> = paths.clone().flat_map(parents).collect();
    let mut modes = DirectoryModes::of(&known.record.path, above.iter())?;
    let touched: BTreeSet<&RepoPath> = paths.chain(&above).collect();
    let placed = known.placed()?;
    let placed = placed.files().iter();
    let placed = placed.filter(|file| file.kind == PlacedKind::Directory);
    let placed = placed.map(|file| (&file.path, file.stat.permissions()));
    let saved = saved.iter().map(|(path, mode)| (path, *mode));
    for (path, mode) in saved.chain(placed) {
        if touched.contains(path) {
            modes.add(path.clone(), mode);
        }
    }
    Ok(modes)
}

/// Makes a directory that may be there already.
fn put_directory(known: &Worktree, path: &RepoPath, mode: u32) -> Result<(), DiskError> {
    let root = &known.record.path;
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
        let targets = self.plan.restored.iter().map(|one| SavedPath {
            path: one.path.clone(),
            disk: one.wanted(),
            permissions: None,
            index: one.target.iter().map(|entry| (0, *entry)).collect(),
        });
        targets.collect()
    }

    fn change(&self, moved: Option<&CommitId>) -> Result<(), Error> {
        let repository = self.repository;
        let known = self.known;
        let plan = self.plan;
        let reason = "agentwt restore: put back what was out of scope";
        let branch = moved.map(|tip| (self.head, tip, reason));
        change(repository, known, branch, &self.targets(), &[], || {
            if plan.patterns {
                let index = read_own_index(repository, known)?;
                let patterns = sparse_patterns(&known.scope, &index);
                known.set_sparse(repository, &patterns)?;
            }
            self.write_files()?;
            self.put_placed_back()
        })?;
        let bits: HashSet<&[u8]> = plan.write_bits.iter().map(PathField::bytes).collect();
        let mut touched = bits.clone();
        touched.extend(plan.restored.iter().map(|one| &**one.path.as_bstr()));
        let mut index = read_own_index(repository, known)?;
        index.retain(|entry| touched.contains(&**entry.path.as_bstr()));
        let root = &known.record.path;
        let scope = &known.scope;
        let placed = known.placed()?;
        let placed = placed.files().iter();
        let placed = placed.filter(|file| bits.contains(&**file.path.as_bstr()));
        set_bits(root, scope, &index, placed, BitsChange::Apply)?;
        Ok(known.hardened_git(repository).update_index_refresh()?)
    }

    /// Lets git write what is to be there, with the conversions of a checkout, and removes what is
    /// there.
    fn write_files(&self) -> Result<(), Error> {
        let plan = self.plan;
        let root = &self.known.record.path;
        let pairs = plan.restored.iter().zip(&self.saved);
        let pairs: Vec<_> = pairs.filter(|(one, _)| one.disk != one.wanted()).collect();
        let wanted = pairs.iter().filter(|(one, _)| one.wanted().is_some());
        let wanted: Vec<&RepoPath> = wanted.map(|(one, _)| &one.path).collect();
        let hardened = self.repository.git.with_mode(GitMode::Hardened);
        let write = |directory: &Utf8Path, paths: &[&RepoPath]| -> Result<(), Error> {
            for path in paths {
                entries::make_way(directory, path);
            }
            // git reads the settings of the main worktree, as the worktree's own could have been
            // planted, and the attributes of files that are absent from a temporary index of HEAD
            let git = hardened.on(&self.repository.common_dir, Some(directory));
            let git = git.with_index(&self.saving.scratch.index());
            git.read_tree(self.head.as_str())?;
            git.update_index_info(&index_lines(self.repository, &self.targets()))?;
            // git removes links on the way instead of following them
            let command = "checkout-index --force -z --stdin";
            let paths = paths.iter().copied();
            git.perform_with("write the files", command, &[], &nul_ended(paths))?;
            Ok(())
        };
        replace_files(root, &wanted, write, || {
            for (one, saved) in pairs.iter().rev().filter(|(one, _)| one.disk.is_some()) {
                // git may have removed what the sparse patterns leave out
                if !(plan.patterns && one.excluded) {
                    self.check_unchanged(saved)?;
                }
                // the directory that a placed file is in has its own permissions
                if one.from_source() {
                    entries::remove_alone(root, &one.path)?;
                } else {
                    entries::remove_entry(root, &one.path)?;
                }
            }
            Ok(())
        })
    }

    /// Fails when what stands at a path is not what was saved: a process works there.
    fn check_unchanged(&self, saved: &SavedPath) -> Result<(), Error> {
        let has_content = |entry: Entry| entry.mode.git_octal().is_some();
        if saved.disk.is_some_and(has_content)
            && read_raw(self.repository, self.known, &saved.path)? != saved.disk
        {
            return Err(failed(&saved.path, "it was changed while it was put away").into());
        }
        Ok(())
    }

    /// Puts placed files back from their sources, read-only: `restore` leaves alone what may be
    /// edited. Directories come back with the empty ones in them.
    fn put_placed_back(&self) -> Result<(), Error> {
        let known = self.known;
        let repository = self.repository;
        let back = self.plan.restored.iter().filter(|one| one.from_source());
        let back: BTreeSet<&BStr> = back.map(|one| one.path.as_bstr()).collect();
        if back.is_empty() {
            return Ok(());
        }
        let placed = known.placed()?;
        let is_directory = |file: &&PlacedFile| file.kind == PlacedKind::Directory;
        let is_back = |file: &&PlacedFile| back.contains(file.path.as_bstr());
        let (directories, files): (Vec<_>, Vec<_>) = placed.files().iter().partition(is_directory);
        let files: Vec<&PlacedFile> = files.into_iter().filter(is_back).collect();
        let above: BTreeSet<&BStr> = files.iter().flat_map(|file| file.path.parents()).collect();
        for file in directories {
            let mut parents = file.path.parents();
            if is_back(&file)
                || above.contains(file.path.as_bstr())
                || parents.any(|above| back.contains(above))
            {
                // another umask than that of the source's owner must not open it
                put_directory(known, &file.path, file.stat.mode & 0o777)?;
            }
        }
        let items = files.into_iter().map(|file| self.item(file));
        let placing = Placing {
            items: items.collect::<Result<_, _>>()?,
            over: BTreeMap::new(),
            before: placed.clone(),
        };
        let stop = || Ok(());
        let to = Destination::new(repository, known, &self.session.progress, &stop);
        let renew = known.config_is_as_recorded(repository)?;
        let placed = to.place(&placing)?;
        if placed.changed_config && renew {
            known.renew_digests(repository, |file| file == WatchedFile::ConfigWorktree)?;
        }
        let _ = placed.keep();
        Ok(())
    }

    fn item(&self, file: &PlacedFile) -> Result<CopyItem, DiskError> {
        let source = self.known.source_of(self.repository, file);
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
/// Fails when git or the disk does; what was saved stays saved.
pub(super) fn undo(
    repository: &Repository,
    known: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let branch = plan.branch.as_ref();
    let branch = branch.map(|branch| (&branch.from, &branch.to, "agentwt restore: undo"));
    let targets: Vec<SavedPath> = plan.paths.iter().map(|now| now.saved.clone()).collect();
    let directories = &saved.directories;
    let changed = change(repository, known, branch, &targets, directories, || {
        write_saved(repository, known, saved, plan)
    });
    let git = known.hardened_git(repository);
    let changed = changed.and_then(|()| Ok(git.update_index_refresh()?));
    changed.map_err(|error| half_restored(known, &saved.rescue, error))
}

/// Writes what was saved, and takes away what stands there.
fn write_saved(
    repository: &Repository,
    known: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let root = &known.record.path;
    let objects = repository.objects()?;
    // a file with the same content may have other permissions
    let is_file = |entry: Entry| entry.mode.is_regular();
    let differs = |now: &&PathNow| now.disk != now.saved.disk || now.disk.is_some_and(is_file);
    let differs = plan.paths.iter().filter(differs);
    let paths: Vec<&SavedPath> = differs.map(|now| &now.saved).collect();
    let has_content = |entry: Entry| is_file(entry) || entry.mode == Mode::Link;
    let files = paths.iter();
    let files = files.filter(|saved| saved.disk.is_some_and(has_content));
    let contents: BTreeMap<_, _> = files.map(|saved| (&saved.path, *saved)).collect();
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
    replace_files(root, &wanted, write, || take_away(known, saved, &paths))
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
        let mut left = wanted.to_vec();
        left.retain(|path| !entries::move_entry(&staging, root, path));
        Some(left)
            .filter(|left| !left.is_empty())
            .map_or(Ok(()), |left| write(root, &left))
    };
    let replaced = replace();
    let removed = files::remove_directory(&staging);
    replaced.and_then(|()| Ok(removed?))
}

/// Removes what stands at these paths, and makes the directories that were there.
fn take_away(known: &Worktree, saved: &SavedRestore, paths: &[&SavedPath]) -> Result<(), Error> {
    let root = &known.record.path;
    let is_any = |test: &dyn Fn(&RepoPath) -> bool| paths.iter().any(|saved| test(&saved.path));
    for file in known.placed()?.files().iter().rev() {
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
            put_directory(known, path, *mode | 0o700)?;
        }
    }
    Ok(())
}
