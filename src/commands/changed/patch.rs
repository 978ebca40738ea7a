//! Makes patches of what a worktree changed, without writing into its repository.
//!
//! What is on disk becomes a tree in a temporary git directory, and git prints the patch
//! between two trees. The agent's attributes take no part: attributes are those of the reference that
//! the files are compared with.

use std::io::Read as _;

use bstr::ByteSlice;
use camino::Utf8PathBuf;

use crate::actions::quarantine::QuarantineRepository;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::open::{Opened, open_below};
use crate::git::environment::GitMode;
use crate::git::patches::PatchColour;
use crate::git::process::Git;
use crate::git::settings_file::quoted;
use crate::judge::change::Change;
use crate::judge::compare::Delta;
use crate::truth::history::touched;
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Above this many bytes no patch has a file: git takes it for binary and reads it whole into
/// memory (the default of `core.bigFileThreshold`, git-config(1)).
const NO_PATCH_ABOVE: u64 = 512 << 20;

/// Makes patches of one worktree.
pub struct Patches<'a> {
    worktree: &'a Worktree,
    survey: &'a Survey,
    git: Git,
    reference: CommitId,
    quarantine: QuarantineRepository,
    colour: PatchColour,
}

/// The patch from a commit to what is on disk.
pub struct DiskPatch {
    /// The patch, as git prints it.
    pub text: Vec<u8>,
    /// The changed paths that are not in it, sorted.
    pub left_out: Vec<RepoPath>,
}

/// What a patch to the disk has at a path.
enum PatchEntry {
    /// The path is left out: a patch cannot hold what is there, or is not to.
    LeftOut,
    /// Nothing: the path is deleted.
    Deleted,
    /// What is on disk, stored.
    Stored(Entry),
    /// A file that git has to convert before it is stored.
    Unconverted(Entry),
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
        worktree: &'a Worktree,
        survey: &'a Survey,
        reference: &CommitId,
        colour: PatchColour,
    ) -> Result<Self, Error> {
        let quarantine = QuarantineRepository::new(repository, &settings(repository, worktree)?)?;
        let work_dir = work_directory(&quarantine);
        files::create_directories(&work_dir)?;
        let git = repository
            .git
            .on(&quarantine.git_dir, Some(&work_dir))
            .with_mode(GitMode::Hardened)
            .with_index(&quarantine.directory().join("attributes"));
        git.read_tree(reference.as_str())?;
        Ok(Self {
            worktree,
            survey,
            git,
            reference: reference.clone(),
            quarantine,
            colour,
        })
    }

    /// The patch from a commit to what is on disk now, of these changed paths only. `onto` is
    /// the reference or HEAD, of which the survey has the entries. Of a path that the scope keeps
    /// off the disk, what is staged takes the place of what is on disk.
    ///
    /// It leaves out what no patch can hold (FIFOs, what is below a `.git`, edited submodules, very
    /// large files), what we placed, and what is on disk as in the commit, whatever is staged or
    /// committed.
    ///
    /// # Errors
    /// Fails when a file cannot be read, or git fails.
    pub fn to_disk(&self, onto: &CommitId, changes: &[Change]) -> Result<DiskPatch, Error> {
        let mut left_out = Vec::new();
        let mut unconverted = Vec::new();
        let mut entries = Delta::new();
        for path in changes.iter().filter_map(|change| change.place.path()) {
            match self.entry_on_disk(path)? {
                PatchEntry::LeftOut => left_out.push(path.clone()),
                PatchEntry::Deleted => {
                    entries.insert(path.clone(), None);
                }
                PatchEntry::Stored(entry) => {
                    entries.insert(path.clone(), Some(entry));
                }
                PatchEntry::Unconverted(entry) => {
                    unconverted.push(path.clone());
                    entries.insert(path.clone(), Some(entry));
                }
            }
        }
        self.convert(&unconverted, &mut entries)?;
        let states = &self.survey.states;
        let entries_of_commit = if *onto == self.reference {
            states.references.reference()
        } else {
            &states.references.head
        };
        for (path, entry) in &entries {
            if states.entry_in(entries_of_commit, path) == *entry {
                left_out.push(path.clone());
            }
        }
        left_out.sort_unstable();
        let text = self.between(onto, &entries)?;
        Ok(DiskPatch { text, left_out })
    }

    /// Lets git store the files that were put into the work tree for it, and enters their ids.
    fn convert(&self, paths: &[RepoPath], entries: &mut Delta) -> Result<(), Error> {
        if paths.is_empty() {
            return Ok(());
        }
        let index = self.quarantine.directory().join("index");
        let git = self.git.with_index(&index);
        let stored = git.add_files(self.reference.as_str(), paths)?;
        for path in paths {
            if let (Some(Some(entry)), Some(id)) = (entries.get_mut(path), stored.get(path)) {
                entry.id = *id;
            }
        }
        Ok(())
    }

    /// The patch of a commit against its first parent; of a merge, only of what it has otherwise
    /// than every parent.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn of_commit(&self, id: &CommitId) -> Result<Vec<u8>, Error> {
        let objects = &self.quarantine.objects;
        let parents = objects.commit(id)?.parents;
        match objects.without_cut_off(parents)?.as_slice() {
            [] => {
                let empty_tree = objects.write_tree(None, [("", None::<Entry>); 0])?;
                self.print(&empty_tree.to_string(), id.as_str())
            }
            [parent] => self.print(parent.as_str(), id.as_str()),
            [first, ..] => self.between(first, &touched(objects, id)?),
        }
    }

    /// The patch from a commit to its tree with these entries in it.
    fn between(&self, onto: &CommitId, entries: &Delta) -> Result<Vec<u8>, Error> {
        let objects = &self.quarantine.objects;
        let base_tree = objects.commit(onto)?.tree;
        let entries = entries
            .iter()
            .map(|(path, entry)| (&**path.as_bstr(), *entry));
        let tree = objects.write_tree(Some(&base_tree), entries)?;
        self.print(onto.as_str(), &tree.to_string())
    }

    fn print(&self, from: &str, to: &str) -> Result<Vec<u8>, Error> {
        Ok(self.git.diff_tree_patch(from, to, self.colour)?)
    }

    /// What a patch has at a path, decided in this order:
    ///
    /// 1. a file that we placed is left out: no commit is to have it;
    /// 2. what is staged, if the scope leaves the path out of the worktree;
    /// 3. a deletion, if nothing is on disk;
    /// 4. what is at or below a `.git` is left out, as git does not take it;
    /// 5. what is neither file nor link, as far as a tree can have it;
    /// 6. a file or link that the base, HEAD or the index has;
    /// 7. one that is stored for the patch; a file too large for a patch is left out.
    fn entry_on_disk(&self, path: &RepoPath) -> Result<PatchEntry, Error> {
        let states = &self.survey.states;
        // 1
        if states.placed.get(path).is_some() {
            return Ok(PatchEntry::LeftOut);
        }
        // 2
        let head = states.entry_in(&states.references.head, path);
        // an index that cannot be read has nothing staged
        let staged = states.staged_entries(path).next().unwrap_or(head);
        if states.disk.leaves_out(path, &self.worktree.scope) {
            return Ok(as_tree_entry(staged));
        }
        // 3
        let Some(entry) = states.entry_in(&states.disk.delta, path) else {
            return Ok(PatchEntry::Deleted);
        };
        // 4
        if has_dot_git(path) {
            return Ok(PatchEntry::LeftOut);
        }
        // 5
        let is_file = entry.mode.is_regular() || entry.mode == Mode::Link;
        if !is_file {
            return Ok(as_tree_entry(Some(entry)));
        }
        // 6
        let known = [states.manifest.base(path), head, staged];
        if known.iter().flatten().any(|other| other.id == entry.id) {
            return Ok(as_tree_entry(Some(entry)));
        }
        // 7
        let size = states.disk.sizes.get(path);
        if size.is_some_and(|size| *size > NO_PATCH_ABOVE) {
            return Ok(PatchEntry::LeftOut);
        }
        self.store(path, entry)
    }

    /// Stores the file or link at a path on disk, or copies it into the work tree for git to
    /// convert.
    fn store(&self, path: &RepoPath, entry: Entry) -> Result<PatchEntry, Error> {
        let opened = open_below(&self.worktree.record.path, path);
        let bytes = match opened.map_err(|error| unreadable(path, error))? {
            Opened::File { mut content, .. } if entry.mode.is_regular() => {
                let mut bytes = Vec::new();
                content
                    .read_to_end(&mut bytes)
                    .map_err(|error| unreadable(path, error))?;
                bytes
            }
            Opened::Link(text) if entry.mode == Mode::Link => text.as_bytes().to_vec(),
            Opened::File { .. } | Opened::Link(_) | Opened::Other => {
                let why = std::io::Error::other("it changed while it was read");
                return Err(unreadable(path, why).into());
            }
        };
        if entry.mode.is_regular() && self.is_convertible(path, &bytes) {
            let relative = path.to_os_path().map_err(std::io::Error::other);
            let directory = work_directory(&self.quarantine).into_std_path_buf();
            relative
                .and_then(|relative| files::put(&directory.join(relative), &bytes))
                .map_err(|error| unreadable(path, error))?;
            return Ok(PatchEntry::Unconverted(entry));
        }
        let objects = &self.quarantine.objects;
        let id = objects.write_blob(bytes.len() as u64, &mut &*bytes)?;
        Ok(PatchEntry::Stored(Entry { id, ..entry }))
    }

    /// True if git may store a file otherwise than it is on disk. Only where there are filters can
    /// more than line endings be converted.
    fn is_convertible(&self, path: &RepoPath, bytes: &[u8]) -> bool {
        // what an agent says of attributes counts for nothing here
        path.file_name() != ".gitattributes"
            && (self.worktree.record.conversions || bytes.contains(&b'\r'))
    }
}

/// The directory from which git reads the files that it converts.
fn work_directory(quarantine: &QuarantineRepository) -> Utf8PathBuf {
    quarantine.directory().join("work")
}

fn unreadable(path: &RepoPath, why: std::io::Error) -> DiskError {
    DiskError::new(format!("read {path}"), why)
}

/// True for a path with `.git` in it, in any case of letters: git takes none of them.
fn has_dot_git(path: &RepoPath) -> bool {
    let mut names = path.as_bstr().split(|byte| *byte == b'/');
    names.any(|name| name.eq_ignore_ascii_case(b".git"))
}

/// What a tree has for an entry: nothing for an empty directory, and no way to say that a
/// submodule's files are edited.
fn as_tree_entry(entry: Option<Entry>) -> PatchEntry {
    let Some(entry) = entry.filter(|entry| entry.mode != Mode::EmptyDirectory) else {
        return PatchEntry::Deleted;
    };
    let has_id = entry.mode.is_regular() || entry.id != ObjectId::none();
    if has_id && entry.mode.git_octal().is_some() {
        PatchEntry::Stored(entry)
    } else {
        PatchEntry::LeftOut
    }
}

/// The settings of the temporary git directory. The repository's own are taken over only where
/// `add` found filters at work, which they may define.
fn settings(repository: &Repository, worktree: &Worktree) -> Result<String, Error> {
    if worktree.record.conversions {
        let path = quoted(repository.common_dir.join("config").as_str());
        return Ok(format!("[include]\n\tpath = {path}\n"));
    }
    let autocrlf = repository.git.config_get("core.autocrlf")?;
    Ok(match autocrlf.as_deref() {
        Some("input") => "[core]\n\tautocrlf = input\n".to_owned(),
        Some(_) | None => String::new(),
    })
}
