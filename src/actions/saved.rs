//! Keeps what is about to be replaced or removed: a commit under
//! `refs/agentwt/rescue/<name>/<time>`, with the bytes that are on disk: no filter runs.
//!
//! The commit's tree is that of HEAD (or the base) with the saved files, so that git's own commands
//! show them; its first parent is that commit. A restore adds a second parent without history,
//! whose tree has what no other tree can say, `list`, and below `index/<stage>/` what was staged;
//! and, if it moved the branch, a third one: where to.
//!
//! All objects are moved into the repository together ([`QuarantinedObjects`]), before a ref names
//! them: a kill leaves one directory of a known name, which the next run for that worktree removes.
//!
//! `list` has records `<what> <mode> <id> <number>\t<path>`, each ended by NUL: `disk` (what stood
//! there, or `-`, `directory`, `repository`, `special`, with its permission bits), then `index` for
//! each entry (with its stage), or `intent` for one that only says that the file will be added; and
//! `above` for each directory on the way, with its permission bits.

use std::collections::BTreeSet;
use std::io::Read;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;

use crate::answer::shapes::SavedWork;
use crate::disk::error::DiskError;
use crate::disk::mode::DirectoryModes;
use crate::disk::open::{Opened, open_below};
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::git::refs::Ref;
use crate::scope::compiled::Scope;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The file with the list, in the tree of the second parent.
const LIST: &str = "list";

/// Names a commit that keeps what was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// The ref.
    pub name: String,
    /// The commit it names.
    pub commit: CommitId,
}

/// How a path was before a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// The path.
    pub path: RepoPath,
    /// What stood on disk: the raw bytes.
    pub disk: Option<Entry>,
    /// The permission bits of the file that stood there.
    pub permissions: Option<u32>,
    /// Its entries in the index, with their stages.
    pub index: Vec<(u8, Entry)>,
    /// True if the index only says that the file will be added (`git add --intent-to-add`).
    pub intent_to_add: bool,
}

/// What a restore saved.
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
    /// The permission bits of the directories that they were in, or were, sorted.
    pub directories: Vec<(RepoPath, u32)>,
}

/// How a restore moves HEAD.
#[derive(Clone, Copy)]
pub struct HeadMove<'a> {
    /// Where it is.
    pub from: &'a CommitId,
    /// The commit of the restore; none where it makes none.
    pub to: Option<&'a CommitId>,
}

type Changes<'c> = Vec<(&'c [u8], Option<Entry>)>;

/// Saves for one worktree, whose name is locked.
pub struct Saving<'a> {
    repository: &'a Repository,
    git: Git,
    name: &'a WorktreeName,
    /// Where the new objects are, until a commit needs them.
    pub scratch: QuarantinedObjects,
}

impl<'a> Saving<'a> {
    /// Begins with nothing.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn begin(repository: &'a Repository, name: &'a WorktreeName) -> Result<Self, Error> {
        let common_dir = &repository.common_dir;
        let format = repository.format;
        Ok(Self {
            repository,
            git: repository.git.with_mode(GitMode::Hardened),
            name,
            scratch: QuarantinedObjects::create(common_dir, format, name.as_str())?,
        })
    }

    /// Saves files of a root, the worktree's or the main one's, before `sync --force` replaces
    /// them. What the scope excludes is absent on purpose, not deleted. `time` becomes part of the
    /// ref.
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
    ) -> Result<Rescue, Error> {
        let mut changes: Changes<'_> = Vec::new();
        for path in paths {
            let entry = write_entry(self.scratch.objects(), root, path)?;
            if entry.is_some() || !scope.excludes_file(path) {
                changes.push((path.as_bstr(), entry));
            }
        }
        let message = format!("git-agentwt: what `sync --force` replaced in {root}\n");
        let name = unused_ref(self.repository, &rescue_ref(self.name, time))?;
        self.write_commit(name, &[base], &changes, &message)
    }

    /// Saves paths before a restore moves HEAD and changes anything. The objects of this run are in
    /// the repository afterwards.
    ///
    /// # Errors
    /// Fails when git or the disk does; no ref is then written.
    pub fn save_restore(
        &self,
        head_move: HeadMove<'_>,
        paths: &[SavedPath],
        worktree: &Worktree,
        time: &str,
    ) -> Result<Rescue, Error> {
        let name = self.name;
        let scope = &worktree.scope;
        let list_tree = self.write_list(paths, &worktree.record.path)?;
        // git finds the tree only in the repository
        self.scratch.migrate()?;
        let about_list = format!("git-agentwt: how {name} was before `restore`\n");
        let list_commit = self
            .git
            .commit_tree(&list_tree.to_string(), &about_list, &[])?;
        let mut changes: Changes<'_> = Vec::new();
        for saved in paths {
            // what the scope excludes is absent on purpose, not deleted
            if saved.disk.is_some() || !scope.excludes_file(&saved.path) {
                changes.push((&**saved.path.as_bstr(), saved.disk));
            }
        }
        let reference = unused_ref(self.repository, &rescue_ref(name, time))?;
        let message = format!(
            "git-agentwt: what was out of scope in {name} before `restore`\n\n\
             To bring it back: git agentwt restore {name} --undo={reference}\n"
        );
        // in the order in which `read_restore` takes them; the tree begins with that of the first
        let mut parents = vec![head_move.from, &list_commit];
        parents.extend(head_move.to);
        self.write_commit(reference, &parents, &changes, &message)
    }

    /// Writes the tree with the list, and with what was staged.
    fn write_list(&self, paths: &[SavedPath], root: &Utf8Path) -> Result<ObjectId, Error> {
        let objects = self.scratch.objects();
        // the paths and all that is above them: `DirectoryModes::of` takes the directories
        let mut with_above = BTreeSet::new();
        for saved in paths {
            if saved.disk.is_some() {
                let path = Some(saved.path.clone());
                with_above.extend(std::iter::successors(path, RepoPath::parent));
            }
        }
        let modes = DirectoryModes::of(root, with_above.iter())?;
        let directories: Vec<_> = modes.0.into_iter().collect();
        let list = list_to_bytes(paths, &directories);
        let list_entry = Entry {
            mode: Mode::File,
            id: objects.write_blob(list.len() as u64, &mut &*list)?,
        };
        let mut staged = Vec::new();
        for saved in paths {
            for (stage, entry) in &saved.index {
                let below = format!("index/{stage}/");
                let place = [below.as_bytes(), saved.path.as_bstr()].concat();
                staged.push((place, *entry));
            }
        }
        let mut changes: Changes<'_> = vec![(LIST.as_bytes(), Some(list_entry))];
        changes.extend(staged.iter().map(|(path, entry)| (&**path, Some(*entry))));
        Ok(objects.write_tree(None, changes)?)
    }

    /// Writes the commit whose tree is that of the first parent with these changes, and its ref.
    fn write_commit(
        &self,
        name: String,
        parents: &[&CommitId],
        changes: &[(&[u8], Option<Entry>)],
        message: &str,
    ) -> Result<Rescue, Error> {
        let objects = self.scratch.objects();
        let base = objects.commit(parents[0])?.tree;
        let tree = objects.write_tree(Some(&base), changes.iter().copied())?;
        self.scratch.migrate()?;
        let commit = self.git.commit_tree(&tree.to_string(), message, parents)?;
        let reason = "agentwt: saved before it was replaced";
        self.git.update_ref(&name, &commit, None, reason)?;
        Ok(Rescue { name, commit })
    }
}

/// The ref under which something is saved at a time.
pub fn rescue_ref(name: &WorktreeName, time: &str) -> String {
    format!("refs/agentwt/rescue/{name}/{time}")
}

/// This name, or, where something was saved within the same second, the next one. What is saved in
/// a clone comes to its home under its name.
///
/// # Errors
/// Fails when git does.
pub fn unused_ref(repository: &Repository, name: &str) -> Result<String, GitError> {
    let git = &repository.git;
    let home = &repository.home().git;
    let mut free = name.to_owned();
    for number in 2_u32.. {
        if git.rev_parse_commit(&free)?.is_none() && home.rev_parse_commit(&free)?.is_none() {
            break;
        }
        free = format!("{name}-{number}");
    }
    Ok(free)
}

/// Reads what stands at a path; none when nothing does that git can hold. `id` is given the size
/// and the content. Nothing is read through a link on the way: what is there is not the root's.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_entry(
    root: &Utf8Path,
    path: &RepoPath,
    id: impl FnOnce(u64, &mut dyn Read) -> Result<ObjectId, Error>,
) -> Result<Option<Entry>, Error> {
    let failed = |error: std::io::Error| DiskError::new(format!("save {path}"), error);
    let entry = match open_below(root, path).map_err(failed)? {
        Opened::File {
            size,
            executable,
            mut content,
        } => Entry {
            mode: if executable {
                Mode::Executable
            } else {
                Mode::File
            },
            id: id(size, &mut content)?,
        },
        Opened::Link(text) => Entry {
            mode: Mode::Link,
            id: id(text.len() as u64, &mut text.as_bytes())?,
        },
        Opened::Other => return Ok(None),
    };
    Ok(Some(entry))
}

/// Writes what stands at a path as a blob: see [`read_entry`].
///
/// # Errors
/// Fails when it cannot be read or written.
pub fn write_entry(
    objects: &Objects,
    root: &Utf8Path,
    path: &RepoPath,
) -> Result<Option<Entry>, Error> {
    read_entry(root, path, |size, content| {
        Ok(objects.write_blob(size, content)?)
    })
}

/// Finds a restore that was saved: the one that is named, by its ref, its time or its commit, or
/// the newest one; then those before it. Nothing when there is none.
///
/// # Errors
/// Fails when git does.
pub fn find_restores(
    git: &Git,
    objects: &Objects,
    name: &WorktreeName,
    named: Option<&str>,
) -> Result<Vec<SavedRestore>, GitError> {
    let mut rescues = git.for_each_ref(&[&rescue_ref(name, "")])?;
    rescues.sort_by_cached_key(|rescue| order_of(&time_of(rescue, name)));
    let mut restores = Vec::new();
    for rescue in rescues.into_iter().rev() {
        let is_meant = named.is_none_or(|named| is_named(&rescue, name, named));
        if is_meant || !restores.is_empty() {
            let full = rescue.name.to_str_lossy().into_owned();
            restores.extend(read_restore(objects, full, &rescue.id)?);
        }
    }
    Ok(restores)
}

/// The time in the name of a rescue ref.
fn time_of(rescue: &Ref, name: &WorktreeName) -> String {
    let full = rescue.name.to_str_lossy();
    let time = full.strip_prefix(&rescue_ref(name, ""));
    time.unwrap_or(&full).to_owned()
}

/// Sorts times, and those of one second by their number ([`unused_ref`]).
fn order_of(time: &str) -> (String, u32) {
    let (second, number) = time.split_once('-').unwrap_or((time, "1"));
    (second.to_owned(), number.parse().unwrap_or(1))
}

/// True if a rescue ref is meant by its name, its time, or an abbreviation of its commit.
fn is_named(rescue: &Ref, name: &WorktreeName, named: &str) -> bool {
    let is_abbreviation = named.len() >= 7 && rescue.id.as_str().starts_with(named);
    rescue.name == named || time_of(rescue, name) == named || is_abbreviation
}

/// Reads a rescue commit; none when it is not one of a restore.
fn read_restore(
    objects: &Objects,
    rescue: String,
    commit: &CommitId,
) -> Result<Option<SavedRestore>, GitError> {
    let parents = objects.commit(commit)?.parents;
    let [previous, list, made @ ..] = parents.as_slice() else {
        return Ok(None);
    };
    let tree = objects.list(&objects.commit(list)?.tree)?;
    let Some((_, entry)) = tree.iter().find(|(path, _)| *path.as_bstr() == LIST) else {
        return Ok(None);
    };
    let Some((paths, directories)) = list_from_bytes(&objects.blob(&entry.id)?) else {
        return Ok(None);
    };
    Ok(Some(SavedRestore {
        rescue,
        previous: previous.clone(),
        made: made.first().cloned(),
        paths,
        directories,
    }))
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::EmptyDirectory => "directory",
        Mode::NestedGit => "repository",
        other => other.git_octal().unwrap_or("special"),
    }
}

/// Writes a record for what each path had on disk and in the index, and for each directory above.
fn list_to_bytes(paths: &[SavedPath], directories: &[(RepoPath, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for saved in paths {
        let path = saved.path.as_bstr();
        let permissions = saved.permissions;
        push_record(&mut bytes, "disk", saved.disk, permissions, path);
        for (stage, entry) in &saved.index {
            let what = if saved.intent_to_add {
                "intent"
            } else {
                "index"
            };
            let stage = u32::from(*stage);
            push_record(&mut bytes, what, Some(*entry), Some(stage), path);
        }
    }
    for (path, bits) in directories {
        push_record(&mut bytes, "above", None, Some(*bits), path.as_bstr());
    }
    bytes
}

/// Adds a record ([`SavedRecord`]).
fn push_record(
    bytes: &mut Vec<u8>,
    what: &str,
    entry: Option<Entry>,
    number: Option<u32>,
    path: &BStr,
) {
    let mode = entry.map_or("-", |entry| mode_word(entry.mode));
    let id = entry.map_or(ObjectId::none(), |entry| entry.id);
    let number = number.map_or("-".to_owned(), |number| format!("{number:o}"));
    bytes.extend_from_slice(format!("{what} {mode} {id} {number}\t").as_bytes());
    bytes.extend_from_slice(path);
    bytes.push(0);
}

type SavedList = (Vec<SavedPath>, Vec<(RepoPath, u32)>);

/// Reads what [`list_to_bytes`] wrote; none where anything else stands there.
fn list_from_bytes(bytes: &[u8]) -> Option<SavedList> {
    let mut paths = Vec::<SavedPath>::new();
    let mut directories = Vec::new();
    for record in bytes.split_inclusive(|byte| *byte == 0) {
        let record = SavedRecord::parse(record)?;
        match record.what {
            "disk" => paths.push(SavedPath {
                path: record.path,
                disk: record.entry,
                permissions: record.number,
                index: Vec::new(),
                intent_to_add: false,
            }),
            "index" | "intent" => {
                // these follow the record `disk` of their path
                let stage = u8::try_from(record.number?).ok()?;
                if stage > 3 {
                    return None;
                }
                let saved = paths.last_mut()?;
                if saved.path != record.path {
                    return None;
                }
                saved.index.push((stage, record.entry?));
                saved.intent_to_add |= record.what == "intent";
            }
            "above" => directories.push((record.path, record.number?)),
            _other => return None,
        }
    }
    Some((paths, directories))
}

/// One record of the list: `<what> <mode> <id> <number in octal>`, a tab, the path and a zero byte.
struct SavedRecord<'r> {
    /// `disk`, `index`, `intent` or `above`.
    what: &'r str,
    /// What stands there; none for a mode of `-`.
    entry: Option<Entry>,
    /// Permissions, or the stage in the index; none for `-`.
    number: Option<u32>,
    path: RepoPath,
}

impl<'r> SavedRecord<'r> {
    /// Reads a record; none if a word is not known, as one that another version wrote.
    fn parse(bytes: &'r [u8]) -> Option<Self> {
        let (words, path) = bytes.strip_suffix(b"\0")?.split_once_str("\t")?;
        let mut words = words.to_str().ok()?.split(' ');
        let what = words.next()?;
        let mode = words.next()?;
        let id = ObjectId::from_hex(words.next()?.as_bytes())?;
        let number = words.next()?;
        if words.next().is_some() {
            return None;
        }
        let mut record = Self {
            what,
            entry: None,
            number: None,
            path: RepoPath::parse(path).ok()?,
        };
        if mode != "-" {
            let mode = mode_of_word(mode)?;
            record.entry = Some(Entry { mode, id });
        }
        if number != "-" {
            let permissions = u32::from_str_radix(number, 8).ok()?;
            record.number = Some(permissions).filter(|bits| *bits <= 0o7777);
            record.number?;
        }
        Some(record)
    }
}

fn mode_of_word(word: &str) -> Option<Mode> {
    (0..)
        .map_while(Mode::from_code)
        .find(|mode| mode_word(*mode) == word)
}

impl From<&Rescue> for SavedWork {
    fn from(rescue: &Rescue) -> Self {
        Self {
            reference: rescue.name.clone(),
            commit: Some(rescue.commit.clone()),
        }
    }
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
        let saved = |bytes: &[u8], disk, permissions, index: &[(u8, Entry)]| SavedPath {
            path: path(bytes),
            disk,
            permissions,
            index: index.to_vec(),
            intent_to_add: false,
        };
        let conflict = [(1, file(3)), (2, file(4)), (3, file(5))];
        let list = vec![
            saved(
                b"-a\n\t\xff, b",
                Some(file(1)),
                Some(0o4755),
                &[(0, file(2))],
            ),
            saved(b"c", None, None, &conflict),
            saved(b"d", Some(none(Mode::EmptyDirectory)), None, &[]),
            saved(b"e", Some(none(Mode::Special)), None, &[]),
            SavedPath {
                intent_to_add: true,
                ..saved(b"f", Some(file(6)), Some(0o644), &[(0, file(7))])
            },
        ];
        let directories = vec![(path(b"a\n"), 0o700), (path(b"a\n/b"), 0o2755)];
        let bytes = list_to_bytes(&list, &directories);
        assert_eq!(list_from_bytes(&bytes), Some((list, directories)));
        assert_eq!(list_from_bytes(b""), Some((Vec::new(), Vec::new())));
    }

    #[test]
    fn other_bytes_are_not_read_as_a_list() {
        let id = "01".repeat(20);
        for record in [
            "a".to_owned(),
            format!("disk - {id} -\ta"),
            format!("disk - {id} -\t../a\0"),
            format!("disk - {id}\ta\0"),
            format!("index 100644 {id} 0\ta\0"),
            format!("disk - {id} -\ta\0index 100644 {id} 4\ta\0"),
            format!("disk - {id} -\ta\0index 100644 {id} 0\tb\0"),
            format!("above - {id} 17777\ta\0"),
            format!("disk - {id} 17777\ta\0"),
            format!("disk - {id} 9\ta\0"),
            format!("disk 160001 {id} -\ta\0"),
        ] {
            assert_eq!(list_from_bytes(record.as_bytes()), None, "{record:?}");
        }
    }
}
