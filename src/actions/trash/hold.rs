//! Holds by refs what `git gc` would collect of a private git directory that is not registered.
//!
//! Of a registered worktree git keeps what HEAD, its reflog, the index and its own refs name. Each
//! of these is a text with whole ids, but for the index and a reftable. So every id in them is kept
//! that names an object, whatever it is there for; the files of a rebase or a bisect are among
//! them.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::ByteSlice as _;
use camino::Utf8Path;

use crate::actions::trash::entry::REFS;
use crate::actions::trash::inner_worktrees::unlock;
use crate::disk::files;
use crate::disk::locked_file::{LockDepth, lock_files};
use crate::disk::remains::remove_dead_locks;
use crate::git::environment::GitMode;
use crate::git::index::OpenIndex;
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::git::refs::is_own_ref;
use crate::record::worktree::TrashStamp;
use crate::truth::git_dirs::is_root_ref;
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::repository::Repository;

/// The directories of a private git directory whose files name objects.
const DIRECTORIES: [&str; 5] = ["logs", "refs", "rebase-merge", "rebase-apply", "sequencer"];
/// The last part of the name of the ref that names the commit.
const COMMIT: &str = "objects";

/// What is held of a private git directory; nothing at first.
#[derive(Default, PartialEq, Eq)]
pub struct Held {
    /// The objects that its files name, and that the removal has written down.
    ids: BTreeSet<ObjectId>,
    /// The bytes of its index.
    index: Option<Vec<u8>>,
}

impl Held {
    /// Reads what a private git directory names now.
    fn read(
        repository: &Repository,
        git_dir: &Utf8Path,
        stamp: &TrashStamp,
    ) -> Result<Self, Error> {
        let mut ids = BTreeSet::new();
        for commit in stamp.head.iter().chain(&stamp.tip) {
            ids.extend(object_id(commit));
        }
        collect_ids_in_files(git_dir.as_std_path(), repository.format, &mut ids)?;
        if files::is_directory(&git_dir.join("reftable")) {
            ids.extend(ids_in_reftable(repository, git_dir)?);
        }
        // `git gc` does not follow an index that cannot be read either
        let index = files::read(&git_dir.join("index")).unwrap_or_default();
        Ok(Self { ids, index })
    }
}

/// Keeps, by refs of the trash entry `id`, every object that its private git directory names now,
/// and writes that into `held`. Does nothing where `held` says the same already. Locks on these refs
/// that are newer than the file `since` are of a git that was killed.
///
/// # Errors
/// Fails when git or the disk does.
pub(super) fn hold(
    repository: &Repository,
    id: &str,
    git_dir: &Utf8Path,
    stamp: &TrashStamp,
    since: &Utf8Path,
    held: &mut Held,
) -> Result<(), Error> {
    let named = Held::read(repository, git_dir, stamp)?;
    if named == *held {
        return Ok(());
    }
    end_locks_of_refs(repository, id, since);
    let objects = repository.objects()?;
    let mut ids = named.ids.clone();
    let index = OpenIndex::parse_whole(
        &git_dir.join("index"),
        named.index.clone(),
        repository.format,
    );
    // `git gc` does not follow an index that is damaged either
    if let Ok(index) = index {
        ids.extend(ids_of_index(&objects, &index, stamp));
    }
    let holder = objects.write_holder(&ids)?;
    let below = refs_of(id);
    if let Some(commit) = &holder.commit {
        write_ref(repository, &format!("{below}{COMMIT}"), commit)?;
    }
    for tag in &holder.tags {
        write_ref(repository, &format!("{below}{tag}"), tag)?;
    }
    *held = named;
    Ok(())
}

/// The objects that an index names and HEAD does not have.
fn ids_of_index(objects: &Objects, index: &OpenIndex, stamp: &TrashStamp) -> BTreeSet<ObjectId> {
    let head_commit = stamp
        .head
        .as_ref()
        .and_then(|head| objects.commit(head).ok());
    let head_tree = head_commit.map(|commit| commit.tree);
    match index.ids_beside(objects, head_tree.as_ref()) {
        Ok(ids) => ids,
        // a tree of HEAD is missing: then all is kept that the index names
        Err(_) => index.ids_beside(objects, None).unwrap_or_default(),
    }
}

/// Deletes the refs that hold objects for the entry of this id, and unlocks the worktrees inside
/// it. Locks on the refs that are newer than the file `since` are of a git that was killed.
///
/// # Errors
/// Fails when git or the disk does.
pub(super) fn release(repository: &Repository, id: &str, since: &Utf8Path) -> Result<(), Error> {
    end_locks_of_refs(repository, id, since);
    let git = repository.git.with_mode(GitMode::Hardened);
    for held in git.for_each_ref(&[&refs_of(id)])? {
        git.delete_ref(&held.name.to_string(), &held.id)?;
    }
    Ok(unlock(repository, id)?)
}

/// Removes the locks that a killed git of ours left on the refs of an entry, and on what such a git
/// locks with them.
fn end_locks_of_refs(repository: &Repository, id: &str, since: &Utf8Path) {
    let common_dir = &repository.common_dir;
    let mut locks = vec![
        common_dir.join("packed-refs.lock"),
        common_dir.join("reftable/tables.list.lock"),
    ];
    for (lock, _age) in lock_files(&common_dir.join(refs_of(id)), LockDepth::Here) {
        locks.push(lock);
    }
    remove_dead_locks(&locks, since);
}

/// Where the refs are that hold objects for an entry. No name of a worktree begins with `+`.
fn refs_of(id: &str) -> String {
    format!("{REFS}+git/{id}/")
}

/// Writes one of these refs. No hook runs for them: an agent can have planted it.
fn write_ref(repository: &Repository, name: &str, id: &CommitId) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let mut refs = git.for_each_ref(&[name])?;
    refs.retain(|reference| reference.name == name);
    let current = refs.first().map(|reference| &reference.id);
    if current == Some(id) {
        return Ok(());
    }
    let reason = "agentwt: held for a removed worktree";
    Ok(git.update_ref(name, id, current, reason)?)
}

/// Adds every whole id in the files of a private git directory that name objects.
fn collect_ids_in_files(
    git_dir: &Path,
    format: ObjectFormat,
    ids: &mut BTreeSet<ObjectId>,
) -> Result<(), Error> {
    for (name, is_directory) in files::entries(git_dir)? {
        let path = git_dir.join(&name);
        let text = name.to_string_lossy();
        if is_directory && DIRECTORIES.contains(&&*text) {
            collect_ids_below(&path, format, ids)?;
        } else if !is_directory && is_root_ref(text.as_bytes()) {
            collect_ids_in_file(&path, format, ids);
        }
    }
    Ok(())
}

fn collect_ids_below(
    directory: &Path,
    format: ObjectFormat,
    ids: &mut BTreeSet<ObjectId>,
) -> Result<(), Error> {
    for (name, is_directory) in files::entries(directory)? {
        let path = directory.join(name);
        if is_directory {
            collect_ids_below(&path, format, ids)?;
        } else {
            collect_ids_in_file(&path, format, ids);
        }
    }
    Ok(())
}

/// Adds every whole id in a file; a pipe, or what cannot be read, has none.
fn collect_ids_in_file(file: &Path, format: ObjectFormat, ids: &mut BTreeSet<ObjectId>) {
    let Some(path) = Utf8Path::from_path(file) else {
        return;
    };
    if let Ok(Some(bytes)) = files::read(path) {
        ids.extend(ids_in(&bytes, format));
    }
}

/// Every whole id in a text.
fn ids_in(text: &[u8], format: ObjectFormat) -> Vec<ObjectId> {
    let digits = 2 * format.length();
    text.split(|byte| !byte.is_ascii_hexdigit())
        .filter(|word| word.len() == digits)
        .filter_map(ObjectId::from_hex)
        .collect()
}

/// The objects that the reftable of a private git directory names.
fn ids_in_reftable(
    repository: &Repository,
    git_dir: &Utf8Path,
) -> Result<BTreeSet<ObjectId>, Error> {
    let git = repository.git.on(git_dir, None);
    let hardened = git.with_mode(GitMode::Hardened);
    let mut ids = BTreeSet::new();
    let what = "list the refs of a removed worktree";
    let options = ["--include-root-refs", "--format=%(objectname) %(refname)"];
    let listed = hardened.perform(what, "for-each-ref", &options)?;
    for line in listed.lines() {
        let Some((id, name)) = line.split_once_str(" ") else {
            continue;
        };
        if is_own_ref(name) || !name.starts_with_str("refs/") {
            ids.extend(ObjectId::from_hex(id));
        }
    }
    for entry in hardened.reflog("HEAD")? {
        ids.extend(object_id(&entry.id));
    }
    Ok(ids)
}

fn object_id(commit: &CommitId) -> Option<ObjectId> {
    ObjectId::from_hex(commit.as_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_ids_are_found_in_any_text() {
        let id = "ab".repeat(20);
        let text = format!("{id} {id}\tx\n{} ref: refs/heads/x\n{id}0\n", &id[..39]);
        let found = ids_in(text.as_bytes(), ObjectFormat::default());
        assert_eq!(
            found,
            [ObjectId::from_hex(id.as_bytes()).expect("an id"); 2]
        );
    }
}
