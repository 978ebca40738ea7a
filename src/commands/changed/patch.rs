//! Makes patches of what a worktree changed, without writing into its repository.
//!
//! What is on disk becomes a tree in a temporary git directory, and git prints the patch
//! between two trees. The agent's index and its attributes take no part: attributes are those of
//! the reference that the files are compared with.

use bstr::ByteSlice;

use crate::compare::{Delta, entry_in};
use crate::disk::below::open_below;
use crate::disk::files::Opened;
use crate::disk::{DiskError, files};
use crate::entry::{Entry, Mode, ObjectId};
use crate::git::objects::ObjectFormat;
use crate::git::{Git, GitMode};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind};
use crate::truth::Survey;
use crate::truth::commits::OwnCommit;
use crate::worktree::apart::{Apart, quoted};
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

/// Holds a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The commit that it applies to.
    pub onto: CommitId,
    /// The patch, as git prints it; empty when nothing differs.
    pub text: Vec<u8>,
    /// Paths that are not in it: those that no patch can hold (FIFOs, what is below a `.git`,
    /// edited submodules), those that we placed, and those that are on disk as in the commit, whatever is staged or
    /// committed.
    pub left_out: Vec<RepoPath>,
}

/// Makes patches of one worktree.
pub struct Patches<'a> {
    known: &'a Worktree,
    survey: &'a Survey,
    format: ObjectFormat,
    git: Git,
    reference: CommitId,
    apart: Apart,
}

impl<'a> Patches<'a> {
    /// Prepares a temporary git directory with the objects of the repository's as alternates.
    /// The attributes that count are those of `reference`: what an agent puts into the shared
    /// `info/attributes` or the shared configuration runs no program.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn new(
        repository: &Repository,
        known: &'a Worktree,
        survey: &'a Survey,
        reference: &CommitId,
    ) -> Result<Self, WorktreeError> {
        let apart = Apart::new(repository, &settings(repository, known)?)?;
        let work = apart.directory().join("work");
        files::create_directories(&work)?;
        let git = repository.git.on(&apart.git_dir, Some(&work));
        let git = git.with_mode(GitMode::Hardened);
        let git = git.with_index(&apart.directory().join("attributes"));
        git.read_tree(reference.as_str())?;
        Ok(Self {
            known,
            survey,
            format: repository.format,
            git,
            reference: reference.clone(),
            apart,
        })
    }

    /// The patch from a commit to what is on disk now, of these paths only.
    ///
    /// # Errors
    /// Fails when a file cannot be read, or git fails.
    pub fn to_disk<'p>(
        &self,
        onto: &CommitId,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Patch, WorktreeError> {
        let mut left_out = Vec::new();
        let mut now = Delta::new();
        let mut converted = Vec::new();
        for path in paths {
            match self.now(path)? {
                Now::Entry(entry) => {
                    now.insert(path.clone(), entry);
                }
                Now::Converted(entry) => {
                    now.insert(path.clone(), Some(entry));
                    converted.push(path.clone());
                }
                Now::Unspeakable => left_out.push(path.clone()),
            }
        }
        self.convert(&converted, &mut now)?;
        let before = self.tree_of(onto);
        let same =
            |path: &RepoPath, entry| entry_in(&self.survey.states.manifest, before, path) == entry;
        let unchanged = now.iter().filter(|(path, entry)| same(path, **entry));
        left_out.extend(unchanged.map(|(path, _)| path.clone()));
        left_out.sort_unstable();
        let to = self.tree(onto, &now)?;
        Ok(Patch {
            text: self.git.diff_tree_patch(onto.as_str(), &to)?,
            onto: onto.clone(),
            left_out,
        })
    }

    /// The patch of a commit against its first parent; of a merge, only of what it has otherwise
    /// than every parent.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn of_commit(&self, commit: &OwnCommit) -> Result<Vec<u8>, WorktreeError> {
        let id = commit.commit.as_str();
        Ok(match commit.parents.as_slice() {
            [] => self.git.diff_tree_patch(empty_tree(self.format), id)?,
            [parent] => self.git.diff_tree_patch(parent.as_str(), id)?,
            [first, ..] => {
                let to = self.tree(first, &commit.entries)?;
                self.git.diff_tree_patch(first.as_str(), &to)?
            }
        })
    }

    /// The tree of the reference, or of HEAD.
    fn tree_of(&self, onto: &CommitId) -> &Delta {
        let states = &self.survey.states;
        if *onto == self.reference {
            &states.reference
        } else {
            &states.head
        }
    }

    /// A commit's tree with these entries in it.
    fn tree(&self, onto: &CommitId, entries: &Delta) -> Result<String, WorktreeError> {
        let gone = "0".repeat(onto.as_str().len());
        let mut info = Vec::new();
        for (path, entry) in entries {
            let held = entry.and_then(|e| Some((e.mode.git_octal()?, e.id.to_string())));
            let (mode, id) = held.unwrap_or(("0", gone.clone()));
            info.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            info.extend_from_slice(path.as_bstr());
            info.push(0);
        }
        let git = self.git.with_index(&self.apart.directory().join("index"));
        Ok(git.tree_with(onto.as_str(), &info)?)
    }

    /// What stands at a path now, as a tree would have it.
    fn now(&self, path: &RepoPath) -> Result<Now, WorktreeError> {
        let states = &self.survey.states;
        // it is nothing that a commit is to have
        if states.placed.get(path).is_some() {
            return Ok(Now::Unspeakable);
        }
        let manifest = &states.manifest;
        let head = entry_in(manifest, &states.head, path);
        let staged = states.index.deltas.first();
        let staged = staged.map_or(head, |delta| entry_in(manifest, delta, path));
        let there = matches!(states.disk.get(path), Some(Some(_)));
        if !there && self.is_excluded(path) {
            // it is absent on purpose: what is staged or committed of it is all there is
            return Ok(Now::of(staged));
        }
        let Some(entry) = entry_in(manifest, &states.disk, path) else {
            return Ok(Now::Entry(None));
        };
        if is_hidden_from_git(path) {
            return Ok(Now::Unspeakable);
        }
        if !can_be_stored(entry) {
            return Ok(Now::of(Some(entry)));
        }
        let base = manifest.base(path);
        let mut ids = [base, head, staged].into_iter().flatten();
        if entry.mode == Mode::Gitlink || ids.any(|known| known.id == entry.id) {
            return Ok(Now::of(Some(entry)));
        }
        Ok(match self.store(path, entry.mode)? {
            Some(id) => Now::of(Some(Entry { id, ..entry })),
            None => Now::Converted(entry),
        })
    }

    fn is_excluded(&self, path: &RepoPath) -> bool {
        self.known.scope.verdict(path, EntryKind::File).access == Access::Excluded
    }

    /// Gives what was put aside the ids that git stores it under.
    fn convert(&self, paths: &[RepoPath], now: &mut Delta) -> Result<(), WorktreeError> {
        if paths.is_empty() {
            return Ok(());
        }
        let git = self.git.with_index(&self.apart.directory().join("index"));
        let stored = git.add_files(self.reference.as_str(), paths)?;
        for path in paths {
            if let (Some(Some(entry)), Some(id)) = (now.get_mut(path), stored.get(path)) {
                entry.id = *id;
            }
        }
        Ok(())
    }

    /// Stores what stands at a path on disk; none when git has to convert it, for which it is
    /// put aside. Only where there are filters can more than line endings be converted.
    fn store(&self, path: &RepoPath, mode: Mode) -> Result<Option<ObjectId>, WorktreeError> {
        let failed = |error: std::io::Error| DiskError::new(format!("read {path}"), error);
        let relative = path.to_os_path();
        let relative = relative.map_err(|error| failed(std::io::Error::other(error)))?;
        let root = &self.known.record.path;
        let id = match open_below(root, path).map_err(failed)? {
            Opened::File { mut content, .. } if mode.is_regular() => {
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut content, &mut bytes).map_err(failed)?;
                let convertible = self.known.record.conversions || bytes.contains(&b'\r');
                // what an agent says of attributes counts for nothing here
                if convertible && path.file_name() != ".gitattributes" {
                    let aside = self.apart.directory().join("work").into_std_path_buf();
                    files::put(&aside.join(relative), &bytes).map_err(failed)?;
                    return Ok(None);
                }
                let size = bytes.len() as u64;
                self.apart.objects.write_blob(size, &mut bytes.as_slice())?
            }
            Opened::Link(text) if mode == Mode::Link => {
                let size = text.len() as u64;
                self.apart.objects.write_blob(size, &mut text.as_bytes())?
            }
            Opened::File { .. } | Opened::Link(_) | Opened::Other => {
                let changing = std::io::Error::other("it changed while it was read");
                return Err(failed(changing).into());
            }
        };
        Ok(Some(id))
    }
}

/// Says what a tree can have at a path.
enum Now {
    Entry(Option<Entry>),
    /// A file, once git has converted it.
    Converted(Entry),
    Unspeakable,
}

impl Now {
    fn of(entry: Option<Entry>) -> Self {
        match entry {
            None => Self::Entry(None),
            // git knows no empty directories
            Some(entry) if entry.mode == Mode::EmptyDirectory => Self::Entry(None),
            Some(entry) if can_be_stored(entry) => Self::Entry(Some(entry)),
            Some(_) => Self::Unspeakable,
        }
    }
}

/// A submodule whose files are edited has no id that says so; a file is read again.
fn can_be_stored(entry: Entry) -> bool {
    entry.mode.git_octal().is_some() && (entry.mode.is_regular() || entry.id != ObjectId::none())
}

/// Git takes no path with `.git` in it, in any case of letters.
fn is_hidden_from_git(path: &RepoPath) -> bool {
    let mut parts = path.as_bstr().split(|byte| *byte == b'/');
    parts.any(|part| part.eq_ignore_ascii_case(b".git"))
}

/// The tree with nothing in it, which every repository has without storing it.
const fn empty_tree(format: ObjectFormat) -> &'static str {
    match format {
        ObjectFormat::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        ObjectFormat::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    }
}

/// The settings of the temporary git directory. The repository's own are taken over only where
/// `add` found filters at work, which they may define.
fn settings(repository: &Repository, known: &Worktree) -> Result<String, WorktreeError> {
    if known.record.conversions {
        let path = quoted(&repository.common_dir.join("config"));
        return Ok(format!("[include]\n\tpath = {path}\n"));
    }
    let autocrlf = repository.git.config_get("core.autocrlf")?;
    Ok(match autocrlf.as_deref() {
        Some("input") => "[core]\n\tautocrlf = input\n".to_owned(),
        Some(_) | None => String::new(),
    })
}
