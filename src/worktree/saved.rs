//! Keeps what is about to be replaced or removed: a commit under
//! `refs/agentwt/rescue/<name>/<time>`, with the bytes that are on disk: no filter runs.
//!
//! The commit's tree is that of HEAD (or the base) with the saved files, so that git's own commands
//! show them; its first parent is that commit. A restore adds a last parent without history, whose
//! tree holds what no other tree can say: `list` ([`SavedPath`]), `directories` (their permissions)
//! and, under `index/<stage>/`, what was staged.
//!
//! All objects are moved into the repository together ([`ScratchObjects`]), before a ref names them:
//! a kill leaves one directory of a known name, which the next run for that worktree removes.
//!
//! `list` has three fields a path, each ended by NUL: the path; what stood on disk (`<mode> <id>`,
//! for files ` <permission bits>` in octal, which older lists do not have; or `directory`,
//! `special` or `-`); and its index entries (`<mode> <id> <stage>`, comma-separated).

use std::io::Read;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::below::open_below;
use crate::disk::files::Opened;
use crate::disk::standing::standing;
use crate::disk::{DiskError, put};
use crate::entry::{Entry, Mode, ObjectId};
use crate::git::objects::Objects;
use crate::git::scratch::ScratchObjects;
use crate::git::{Git, GitError, GitMode};
use crate::name::{CommitId, WorktreeName};
use crate::path::RepoPath;
use crate::scope::Scope;
use crate::worktree::Repository;

const NAME: &str = "Agentwt-Restore: ";
const PREVIOUS: &str = "Agentwt-Head: ";
const MADE: &str = "Agentwt-Made: ";
const LIST: &str = "list";
const DIRECTORIES: &str = "directories";

/// Names a commit that keeps what was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// The ref.
    pub name: String,
    /// The commit it names.
    pub commit: CommitId,
}

/// Holds how a path was before a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// The path.
    pub path: RepoPath,
    /// What stood on disk: the raw bytes.
    pub disk: Option<Entry>,
    /// The permission bits of the file that stood there, if they are known.
    pub permissions: Option<u32>,
    /// Its entries in the index, with their stages.
    pub index: Vec<(u8, Entry)>,
}

/// Holds what a restore saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRestore {
    /// Its ref.
    pub rescue: String,
    /// Where HEAD was.
    pub previous: CommitId,
    /// Where the restore moved the branch, if it did.
    pub made: Option<CommitId>,
    /// How the paths were.
    pub paths: Vec<SavedPath>,
    /// The permission bits of the directories that they were in, sorted.
    pub directories: Vec<(RepoPath, u32)>,
}

/// Says why nothing was saved.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum SavedError {
    /// Git failed, or its objects cannot be read or written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Disk(#[from] DiskError),
}

/// Saves for one worktree, whose name is locked.
pub struct Saving<'a> {
    repository: &'a Repository,
    git: Git,
    name: &'a WorktreeName,
    /// Where the new objects are, until a commit needs them.
    pub scratch: ScratchObjects,
}

impl<'a> Saving<'a> {
    /// Begins with nothing.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn begin(repository: &'a Repository, name: &'a WorktreeName) -> Result<Self, SavedError> {
        let (common_dir, format) = (&repository.common_dir, repository.format);
        Ok(Self {
            repository,
            git: repository.git.with_mode(GitMode::Hardened),
            name,
            scratch: ScratchObjects::create(common_dir, format, name.as_str())?,
        })
    }

    /// Saves files of a root, the worktree's or the main one's, before `sync --force` replaces them.
    /// What the scope excludes is absent on purpose, not deleted. `time` becomes part of the ref.
    ///
    /// # Errors
    /// Fails when a file cannot be read or git fails; no ref is then written.
    pub fn save_files(
        self,
        base: &CommitId,
        root: &Utf8Path,
        paths: &[RepoPath],
        scope: &Scope,
        time: &str,
    ) -> Result<Rescue, SavedError> {
        let objects = self.scratch.objects();
        let mut changes: Vec<(&[u8], Option<Entry>)> = Vec::new();
        for path in paths {
            let entry = write_entry(objects, root, path)?;
            if entry.is_some() || !scope.excludes_file(path) {
                changes.push((path.as_bstr(), entry));
            }
        }
        let tree = objects.write_tree(Some(&objects.commit(base)?.tree), &changes)?;
        self.scratch.migrate()?;
        let message = format!("git-agentwt: what `sync --force` replaced in {root}\n");
        let commit = self.git.commit_tree(&tree.to_string(), &message, &[base])?;
        let name = unused_ref(self.repository, &rescue_ref(self.name, time))?;
        self.write_ref(name, commit, "agentwt: saved before it was replaced")
    }

    /// Reads and stores how a path is. `found` is what the walk found there, for what has no
    /// content.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn save_path(
        &self,
        root: &Utf8Path,
        path: &RepoPath,
        found: Option<Entry>,
        index: Vec<(u8, Entry)>,
    ) -> Result<SavedPath, SavedError> {
        let entry = write_entry(self.scratch.objects(), root, path)?;
        Ok(SavedPath {
            path: path.clone(),
            disk: entry.or(found.filter(|entry| entry.mode.git_octal().is_none())),
            permissions: put::permissions(root, path)?,
            index,
        })
    }

    /// Saves paths before a restore changes anything: their commit, and the ref that names it. The
    /// objects of this run are in the repository afterwards.
    ///
    /// # Errors
    /// Fails when git or the disk does; no ref is then written.
    pub fn save_restore(
        &self,
        restore: &SavedRestore,
        root: &Utf8Path,
        scope: &Scope,
    ) -> Result<Rescue, SavedError> {
        let (objects, head) = (self.scratch.objects(), &restore.previous);
        let stands = |saved: &&SavedPath| saved.disk.is_some() || !scope.excludes_file(&saved.path);
        let changes = restore.paths.iter().filter(stands);
        let changes: Vec<(&[u8], _)> = changes
            .map(|saved| (&**saved.path.as_bstr(), saved.disk))
            .collect();
        let tree = objects.write_tree(Some(&objects.commit(head)?.tree), &changes)?;
        let list = self.write_list(restore, root)?;
        self.scratch.migrate()?;
        let name = self.name;
        let message = format!("git-agentwt: how {name} was before `restore`\n");
        let list = self.git.commit_tree(&list.to_string(), &message, &[])?;
        let reference = unused_ref(self.repository, &restore.rescue)?;
        let mut message = format!(
            "git-agentwt: what was out of scope in {name} before `restore`\n\n\
             To bring it back: git agentwt restore {name} --undo={reference}\n\n\
             {NAME}{name}\n{PREVIOUS}{head}\n"
        );
        if let Some(made) = &restore.made {
            message.push_str(&format!("{MADE}{made}\n"));
        }
        let parents = [head, &list];
        let commit = self
            .git
            .commit_tree(&tree.to_string(), &message, &parents)?;
        self.write_ref(reference, commit, "agentwt: saved before restore")
    }

    /// Writes the tree with the lists, and with what was staged.
    fn write_list(&self, restore: &SavedRestore, root: &Utf8Path) -> Result<ObjectId, SavedError> {
        let objects = self.scratch.objects();
        let write = |bytes: &[u8]| -> Result<Option<Entry>, GitError> {
            let id = objects.write_blob(bytes.len() as u64, &mut &*bytes)?;
            let mode = Mode::File;
            Ok(Some(Entry { mode, id }))
        };
        let mut staged = Vec::new();
        for saved in &restore.paths {
            for (stage, entry) in &saved.index {
                let place = format!("index/{stage}/").into_bytes();
                staged.push(([&place, &**saved.path.as_bstr()].concat(), *entry));
            }
        }
        let directories = directory_modes(root, &restore.paths)?;
        let mut changes: Vec<(&[u8], _)> = vec![
            (LIST.as_bytes(), write(&list_to_bytes(&restore.paths))?),
            (
                DIRECTORIES.as_bytes(),
                write(&directories_to_bytes(&directories))?,
            ),
        ];
        changes.extend(staged.iter().map(|(path, entry)| (&**path, Some(*entry))));
        Ok(objects.write_tree(None, &changes)?)
    }

    /// Makes the ref that keeps a commit.
    fn write_ref(
        &self,
        name: String,
        commit: CommitId,
        reason: &str,
    ) -> Result<Rescue, SavedError> {
        self.git.update_ref(&name, &commit, None, reason)?;
        Ok(Rescue { name, commit })
    }
}

/// The ref under which something is saved at a time.
#[must_use]
pub fn rescue_ref(name: &WorktreeName, time: &str) -> String {
    format!("refs/agentwt/rescue/{name}/{time}")
}

/// This name, or, where something was saved within the same second, the next one. What is saved in
/// a clone comes to its home under its name.
///
/// # Errors
/// Fails when git does.
pub fn unused_ref(repository: &Repository, name: &str) -> Result<String, GitError> {
    let (git, home) = (&repository.git, &repository.home().git);
    let mut free = name.to_owned();
    for number in 2_u32.. {
        if git.rev_parse_commit(&free)?.is_none() && home.rev_parse_commit(&free)?.is_none() {
            break;
        }
        free = format!("{name}-{number}");
    }
    Ok(free)
}

/// Reads what stands at a path; none when nothing does that git can hold. `id` is given the size and
/// the content. Nothing is read through a link on the way: what is there is not the root's.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_entry(
    root: &Utf8Path,
    path: &RepoPath,
    id: impl FnOnce(u64, &mut dyn Read) -> Result<ObjectId, SavedError>,
) -> Result<Option<Entry>, SavedError> {
    let failed = |error: std::io::Error| DiskError::new(format!("save {path}"), error);
    let (mode, id) = match open_below(root, path).map_err(failed)? {
        Opened::File {
            size,
            executable: false,
            mut content,
        } => (Mode::File, id(size, &mut content)?),
        Opened::File {
            size, mut content, ..
        } => (Mode::Executable, id(size, &mut content)?),
        Opened::Link(text) => (Mode::Link, id(text.len() as u64, &mut text.as_bytes())?),
        Opened::Other => return Ok(None),
    };
    Ok(Some(Entry { mode, id }))
}

/// Writes what stands at a path as a blob: see [`read_entry`].
///
/// # Errors
/// Fails when it cannot be read or written.
pub fn write_entry(
    objects: &Objects,
    root: &Utf8Path,
    path: &RepoPath,
) -> Result<Option<Entry>, SavedError> {
    read_entry(root, path, |size, content| {
        Ok(objects.write_blob(size, content)?)
    })
}

/// The permissions of the directories that paths stand in, or are.
fn directory_modes(
    root: &Utf8Path,
    paths: &[SavedPath],
) -> Result<Vec<(RepoPath, u32)>, DiskError> {
    let mut above: Vec<RepoPath> = Vec::new();
    for saved in paths.iter().filter(|saved| saved.disk.is_some()) {
        above.extend(
            saved
                .path
                .parents()
                .filter_map(|path| RepoPath::parse(path).ok()),
        );
        above.push(saved.path.clone());
    }
    above.sort_unstable();
    above.dedup();
    let stands = standing(root, above.iter())?.entries;
    let directories = stands.into_iter().filter(|(_, stat)| stat.is_directory());
    Ok(directories
        .map(|(path, stat)| (path, stat.mode & 0o7777))
        .collect())
}

/// Finds a restore that was saved: the one that is named, by its ref, its time or its commit, or
/// the newest one; none when there is none.
///
/// # Errors
/// Fails when git does.
pub fn find_restore(
    git: &Git,
    objects: &Objects,
    name: &WorktreeName,
    named: Option<&str>,
) -> Result<Option<SavedRestore>, GitError> {
    let below = rescue_ref(name, "");
    let mut newest: Option<((String, u32), SavedRestore)> = None;
    for rescue in git.for_each_ref(&[&below])? {
        let full = rescue.name.to_str_lossy().into_owned();
        let time = full.strip_prefix(&below).unwrap_or(&full);
        let is_meant = named.is_none_or(|named| {
            let abbreviated = named.len() >= 7 && rescue.id.as_str().starts_with(named);
            full == named || time == named || abbreviated
        });
        let (second, number) = time.split_once('-').unwrap_or((time, "1"));
        let order = (second.to_owned(), number.parse().unwrap_or(1));
        if is_meant
            && newest.as_ref().is_none_or(|(newest, _)| *newest < order)
            && let Some(saved) = read_restore(objects, name, full.clone(), &rescue.id)?
        {
            newest = Some((order, saved));
        }
    }
    Ok(newest.map(|(_, saved)| saved))
}

/// Reads a rescue commit; none when it is not one of a restore.
fn read_restore(
    objects: &Objects,
    name: &WorktreeName,
    rescue: String,
    commit: &CommitId,
) -> Result<Option<SavedRestore>, GitError> {
    let raw = objects.raw_commit(commit)?;
    let line = |start: &str| {
        let mut lines = raw.lines().rev();
        let text = lines.find_map(|line| line.strip_prefix(start.as_bytes()));
        text.map(|text| text.to_str_lossy().into_owned())
    };
    let previous = line(PREVIOUS).and_then(|id| CommitId::parse(&id).ok());
    let parent = objects.commit(commit)?.parents.pop();
    let (Some(previous), Some(parent)) = (previous, parent) else {
        return Ok(None);
    };
    if line(NAME).as_deref() != Some(name.as_str()) {
        return Ok(None);
    }
    let tree = objects.list(&objects.commit(&parent)?.tree)?;
    let blob = |name: &str| {
        let found = tree.iter().find(|(path, _)| *path.as_bstr() == name);
        found.map(|(_, entry)| objects.blob(&entry.id)).transpose()
    };
    let paths = blob(LIST)?.and_then(|bytes| list_from_bytes(&bytes));
    let directories = blob(DIRECTORIES)?;
    Ok(paths.map(|paths| SavedRestore {
        rescue,
        previous,
        made: line(MADE).and_then(|id| CommitId::parse(&id).ok()),
        paths,
        // older ones have none
        directories: directories
            .and_then(|bytes| directories_from_bytes(&bytes))
            .unwrap_or_default(),
    }))
}

fn list_to_bytes(paths: &[SavedPath]) -> Vec<u8> {
    let in_git = |entry: &Entry| Some(format!("{} {}", entry.mode.git_octal()?, entry.id));
    let mut bytes = Vec::new();
    for saved in paths {
        let disk = match &saved.disk {
            None => "-".to_owned(),
            Some(entry) => match (in_git(entry), saved.permissions) {
                (Some(text), Some(bits)) if entry.mode.is_regular() => format!("{text} {bits:04o}"),
                (Some(text), _) => text,
                (None, _) if entry.mode == Mode::EmptyDirectory => "directory".to_owned(),
                (None, _) => "special".to_owned(),
            },
        };
        let index = saved.index.iter();
        let index: Vec<String> = index
            .filter_map(|(stage, entry)| Some(format!("{} {stage}", in_git(entry)?)))
            .collect();
        bytes.extend_from_slice(saved.path.as_bstr());
        bytes.extend_from_slice(format!("\0{disk}\0{}\0", index.join(",")).as_bytes());
    }
    bytes
}

fn directories_to_bytes(directories: &[(RepoPath, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, mode) in directories {
        bytes.extend_from_slice(path.as_bstr());
        bytes.extend_from_slice(format!("\0{mode:04o}\0").as_bytes());
    }
    bytes
}

/// Splits a list into its records of `N` fields, each ended by NUL.
fn records<const N: usize>(bytes: &[u8]) -> Option<Vec<[&[u8]; N]>> {
    let fields: Vec<&[u8]> = match bytes.strip_suffix(b"\0") {
        Some(bytes) => bytes.split(|byte| *byte == 0).collect(),
        None if bytes.is_empty() => Vec::new(),
        None => return None,
    };
    let (records, rest) = fields.as_chunks::<N>();
    rest.is_empty().then(|| records.to_vec())
}

fn directories_from_bytes(bytes: &[u8]) -> Option<Vec<(RepoPath, u32)>> {
    let record = |[path, mode]: [&[u8]; 2]| {
        let mode = bits_of(std::str::from_utf8(mode).ok()?)?;
        Some((RepoPath::parse(path).ok()?, mode))
    };
    records(bytes)?.into_iter().map(record).collect()
}

fn list_from_bytes(bytes: &[u8]) -> Option<Vec<SavedPath>> {
    records(bytes)?.into_iter().map(saved_path).collect()
}

fn saved_path([path, disk, index]: [&[u8]; 3]) -> Option<SavedPath> {
    let without_content = |mode| Entry {
        mode,
        id: ObjectId::none(),
    };
    let disk: Vec<&str> = std::str::from_utf8(disk).ok()?.split(' ').collect();
    let (disk, permissions) = match disk.as_slice() {
        ["-"] => (None, None),
        ["directory"] => (Some(without_content(Mode::EmptyDirectory)), None),
        ["special"] => (Some(without_content(Mode::Special)), None),
        [mode, id] => (Some(entry(mode, id)?), None),
        [mode, id, bits] => (Some(entry(mode, id)?), Some(bits_of(bits)?)),
        _ => return None,
    };
    let index = std::str::from_utf8(index).ok()?.split(',');
    let staged = index.filter(|text| !text.is_empty()).map(|text| {
        let fields: Vec<&str> = text.split(' ').collect();
        let [mode, id, stage] = fields.as_slice() else {
            return None;
        };
        let stage = stage.parse().ok().filter(|stage| *stage < 4)?;
        Some((stage, entry(mode, id)?))
    });
    Some(SavedPath {
        path: RepoPath::parse(path).ok()?,
        disk,
        permissions,
        index: staged.collect::<Option<_>>()?,
    })
}

fn bits_of(text: &str) -> Option<u32> {
    let bits = u32::from_str_radix(text, 8).ok();
    bits.filter(|bits| *bits <= 0o7777)
}

fn entry(mode: &str, id: &str) -> Option<Entry> {
    let modes = [Mode::File, Mode::Executable, Mode::Link, Mode::Gitlink];
    let mode = modes.into_iter().find(|m| m.git_octal() == Some(mode))?;
    let id = ObjectId::from_hex(id.as_bytes())?;
    Some(Entry { mode, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(byte: u8) -> Entry {
        let id = ObjectId::from_bytes(&[byte; 20]).expect("20 bytes");
        let mode = Mode::File;
        Entry { mode, id }
    }

    fn path(bytes: &[u8]) -> RepoPath {
        RepoPath::parse(bytes).expect("it is normal")
    }

    #[test]
    fn a_list_is_read_back_as_it_was_written() {
        let none = |mode| Entry {
            mode,
            id: ObjectId::none(),
        };
        let saved = |bytes: &[u8], disk, index: &[(u8, Entry)]| SavedPath {
            path: path(bytes),
            disk,
            permissions: None,
            index: index.to_vec(),
        };
        let list = [
            saved(b"-a\n\xff, b", Some(file(1)), &[(0, file(2))]),
            saved(b"c", None, &[(1, file(3)), (2, file(4)), (3, file(5))]),
            saved(b"d", Some(none(Mode::EmptyDirectory)), &[]),
            saved(b"e", Some(none(Mode::Special)), &[]),
        ];
        assert_eq!(
            list_from_bytes(&list_to_bytes(&list)).as_deref(),
            Some(&list[..])
        );
        assert_eq!(list_from_bytes(b""), Some(Vec::new()));
        let directories = [(path(b"a\n"), 0o700), (path(b"a\n/b"), 0o2755)];
        let bytes = directories_to_bytes(&directories);
        assert_eq!(
            directories_from_bytes(&bytes).as_deref(),
            Some(&directories[..])
        );
    }

    #[test]
    fn permissions_are_kept_and_older_lists_have_none() {
        let id = "01".repeat(20);
        let read = |text: String| Some(list_from_bytes(text.as_bytes())?.first()?.permissions);
        assert_eq!(read(format!("a\0100644 {id} 0600\0\0")), Some(Some(0o600)));
        assert_eq!(read(format!("a\0100755 {id} 4755\0\0")), Some(Some(0o4755)));
        assert_eq!(read(format!("a\0100644 {id}\0\0")), Some(None));
        for odd in ["9", "17777", "-1", "", "0600 0600"] {
            assert_eq!(read(format!("a\0100644 {id} {odd}\0\0")), None, "{odd}");
        }
        let bytes = format!("a\0100755 {id} 0700\0100644 {id} 0\0");
        let list = list_from_bytes(bytes.as_bytes()).expect("a list");
        assert_eq!(list_to_bytes(&list), bytes.as_bytes());
    }

    #[test]
    fn other_bytes_are_not_read_as_a_list() {
        for bytes in [
            &b"a"[..],
            b"a\0-\0",
            b"a\0x\0\0",
            b"../a\0-\0\0",
            b"a\0-\x00100644 0 9\0",
        ] {
            assert_eq!(list_from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
