//! Moves what was staged to its place.
//!
//! Where the destination has nothing of a name, it is renamed with all below it; where both have
//! a directory, its entries are looked at one by one. Every directory of the destination is opened
//! from the one above it without following a link, and nothing is replaced that is not exactly
//! what the caller has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, FileType, Mode, chmodat, openat, statat};
use rustix::io::Errno;

use super::Staged;
use super::error::{Cause, CopyError};
use super::rename::{Between, exchange, move_new};
use super::stage::{DIRECTORY, drop_staging};
use super::tree::{Is, Node, Tree};
use super::undo::Settled;
use crate::disk::DiskError;
use crate::disk::directory_modes::DirectoryModes;
use crate::disk::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedKind};

/// Moves everything from the staging directory into the destination. What stands there is only
/// replaced when `over` has its path with exactly these stat data, and is kept in the staging
/// directory until the answer is [done](Settled::done). Directories in `ours`, which we placed,
/// are opened for it where they are read-only, and have their permissions again in the end.
///
/// # Errors
/// Fails when something else stands where a file or directory is to be, or the disk refuses;
/// everything is taken back then, and the staging directory removed.
pub fn settle(
    staged_in: &Utf8Path,
    destination: &Utf8Path,
    mut staged: Vec<Staged>,
    over: &BTreeMap<RepoPath, Stat>,
    ours: &Placed,
) -> Result<Settled, CopyError> {
    staged.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let closed = match closed(destination, &staged, ours) {
        Ok(closed) => closed,
        Err(error) => return Err(CopyError::from(error).with(drop_staging(staged_in))),
    };
    closed.open(destination);
    let moved = move_all(staged_in, destination, &staged, over);
    let mut places = moved.places.into_iter();
    staged.retain_mut(|staged| {
        let place = places.next().flatten();
        place.is_some_and(|stat| {
            staged.stat = stat;
            true
        })
    });
    let mut made = moved.made;
    made.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let settled = Settled {
        staged,
        made,
        staged_in: staged_in.to_owned(),
        destination: destination.to_owned(),
        replaced: moved.replaced,
        closed,
        not_closed: Vec::new(),
    };
    match moved.failed {
        None => Ok(settled.closing()),
        Some(error) => Err(error.with(settled.take_back())),
    }
}

/// The read-only directories of ours into which something is moved.
fn closed(
    destination: &Utf8Path,
    staged: &[Staged],
    ours: &Placed,
) -> Result<DirectoryModes, DiskError> {
    let above = staged.iter().flat_map(|staged| staged.path.parents());
    let above: BTreeSet<&BStr> = above.collect();
    let placed = ours.files().iter();
    let directories = placed.filter(|file| file.kind == PlacedKind::Directory);
    let paths = directories.map(|file| &file.path);
    let paths = paths.filter(|path| above.contains(path.as_bstr()));
    Ok(DirectoryModes::of(destination, paths)?.closed())
}

/// Holds what was moved, also when a later one failed.
struct Moved {
    /// For each staged item its stat data in its place; none when it is not there.
    places: Vec<Option<Stat>>,
    made: Vec<Staged>,
    replaced: Vec<RepoPath>,
    failed: Option<CopyError>,
}

/// Holds a directory of the staging directory and the one of the same path in the destination.
struct Pair {
    staged: OwnedFd,
    there: OwnedFd,
}

struct Moving<'a> {
    tree: &'a Tree<'a>,
    staged: &'a [Staged],
    over: &'a BTreeMap<RepoPath, Stat>,
    moved: Moved,
}

fn move_all(
    staged_in: &Utf8Path,
    destination: &Utf8Path,
    staged: &[Staged],
    over: &BTreeMap<RepoPath, Stat>,
) -> Moved {
    let tree = Tree::new(staged.iter().map(|staged| (&staged.path, is(staged))));
    let mut moving = Moving {
        tree: &tree,
        staged,
        over,
        moved: Moved {
            places: vec![None; staged.len()],
            made: Vec::new(),
            replaced: Vec::new(),
            failed: None,
        },
    };
    let open = |root: &Utf8Path| {
        let open = openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty());
        open.map_err(|error| CopyError::from(Cause::disk("open", root, error)))
    };
    let run = |moving: &mut Moving<'_>| {
        let pair = Pair {
            staged: open(staged_in)?,
            there: open(destination)?,
        };
        moving.run(pair)
    };
    moving.moved.failed = run(&mut moving).err();
    moving.moved
}

fn is(staged: &Staged) -> Is {
    match staged.kind {
        PlacedKind::Directory => Is::Directory,
        PlacedKind::File | PlacedKind::Link => Is::Entry,
    }
}

impl Moving<'_> {
    fn run(&mut self, root: Pair) -> Result<(), CopyError> {
        let tree = self.tree;
        let mut left = vec![(0, Rc::new(root))];
        while let Some((at, pair)) = left.pop() {
            let between = Between {
                from: &pair.staged,
                to: &pair.there,
            };
            let node = &tree.nodes()[at];
            for place in &node.entries {
                self.entry(between, *place)?;
            }
            for below in node.directories.iter().rev().copied() {
                if let Some(pair) = self.directory(between, below)? {
                    left.push((below, Rc::new(pair)));
                }
            }
        }
        Ok(())
    }

    /// Moves a file or link.
    fn entry(&mut self, between: Between<'_>, place: usize) -> Result<(), CopyError> {
        let path = &self.staged[place].path;
        let name = path.file_name().as_bytes();
        match move_new(between, name) {
            Ok(()) => {}
            Err(Errno::EXIST) => self.replace(between, path.clone(), Is::Entry)?,
            Err(error) => return Err(Cause::disk("place", path, error).into()),
        }
        self.moved.places[place] = Some(self.staged[place].stat);
        let now = lstat(between.to, name);
        let now = now.map_err(|error| Cause::disk("look at", &self.staged[place].path, error))?;
        self.moved.places[place] = Some(now);
        Ok(())
    }

    /// Moves a directory with all that is in it; or opens both, when there is one already.
    fn directory(&mut self, between: Between<'_>, at: usize) -> Result<Option<Pair>, CopyError> {
        let tree = self.tree;
        let node = &tree.nodes()[at];
        let name = node.name();
        let failed = |error| Cause::disk("place", node.repo_path(), error);
        let mut made = self.made_below(between.from, at).map_err(failed)?;
        match move_new(between, name) {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::NOTEMPTY) => {
                let found = lstat(between.to, name).map_err(failed)?;
                if FileType::from_raw_mode(found.mode) == FileType::Directory {
                    return open_both(between, node).map(Some);
                }
                self.replace(between, node.repo_path(), Is::Directory)?;
            }
            Err(error) => return Err(failed(error).into()),
        }
        let now = lstat(between.to, name);
        self.note_below(at);
        match (node.item, &now) {
            (Some(place), Ok(now)) => self.moved.places[place] = Some(*now),
            (None, Ok(now)) => made[0].stat = *now,
            (_, Err(_)) => {}
        }
        self.moved.made.extend(made);
        now.map(|_| None).map_err(|error| failed(error).into())
    }

    /// The directories from one downwards that nobody asked for, as they are staged.
    fn made_below(&self, above: &OwnedFd, at: usize) -> Result<Vec<Staged>, Errno> {
        let start = self.tree.nodes()[at].path.len() - self.tree.nodes()[at].name().len();
        let mut made = Vec::new();
        for at in self.tree.below(at) {
            let node = &self.tree.nodes()[at];
            if node.item.is_none() {
                made.push(Staged {
                    path: node.repo_path(),
                    kind: PlacedKind::Directory,
                    digest: None,
                    stat: lstat(above, &node.path[start..])?,
                });
            }
        }
        Ok(made)
    }

    /// Notes all that was moved with a directory. A rename changes the stat data of what is
    /// renamed, not of what is in it.
    fn note_below(&mut self, at: usize) {
        for at in self.tree.below(at) {
            let node = &self.tree.nodes()[at];
            for place in node.item.iter().chain(&node.entries) {
                self.moved.places[*place] = Some(self.staged[*place].stat);
            }
        }
    }

    /// Exchanges what is staged with what stands in its place, if that may be replaced.
    fn replace(&mut self, between: Between<'_>, path: RepoPath, is: Is) -> Result<(), CopyError> {
        let name = path.file_name().as_bytes();
        let failed = |error| Cause::disk("replace", &path, error);
        let found = lstat(between.to, name).map_err(failed)?;
        match self.over.get(&path) {
            Some(seen) if *seen == found && !is_directory(&found) => {}
            Some(_) if !is_directory(&found) => return Err(Cause::ChangedThere(path).into()),
            Some(_) | None => return Err(stands_there(path, is, &found).into()),
        }
        let aside = || self.free_name(&path);
        exchange(between, name, aside).map_err(failed)?;
        let took = lstat(between.from, name).map_err(failed)?;
        // a rename changes this time
        let took = Stat {
            ctime: found.ctime,
            ..took
        };
        if took != found {
            exchange(between, name, aside).map_err(failed)?;
            return Err(Cause::ChangedThere(path).into());
        }
        self.moved.replaced.push(path);
        Ok(())
    }

    /// A name that nothing in the staged directory of a path has.
    fn free_name(&self, path: &RepoPath) -> Vec<u8> {
        let parent = path.parent();
        let mut name = b".replaced".to_vec();
        let taken = |name: &[u8]| {
            let path = RepoPath::child(parent.as_ref(), name);
            self.staged
                .binary_search_by(|staged| staged.path.cmp(&path))
                .is_ok()
                || self
                    .tree
                    .nodes()
                    .iter()
                    .any(|node| node.path == path.as_bstr())
        };
        while taken(&name) {
            name.push(b'_');
        }
        name
    }
}

fn open_both(between: Between<'_>, node: &Node<'_>) -> Result<Pair, CopyError> {
    let path = || node.repo_path();
    let there = openat(between.to, node.name(), DIRECTORY, Mode::empty());
    let there = there.map_err(|error| match error {
        Errno::NOTDIR | Errno::LOOP => Cause::ChangedThere(path()),
        error => Cause::disk("open", path(), error),
    })?;
    // what is in it is moved out, and then it is removed
    let staged = chmodat(between.from, node.name(), Mode::RWXU, AtFlags::empty())
        .and_then(|()| openat(between.from, node.name(), DIRECTORY, Mode::empty()));
    let staged = staged.map_err(|error| Cause::disk("open", path(), error))?;
    Ok(Pair { staged, there })
}

fn stands_there(path: RepoPath, is: Is, found: &Stat) -> Cause {
    let found = match FileType::from_raw_mode(found.mode as _) {
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::RegularFile => "a file",
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => "something that is no file",
    };
    match is {
        Is::Directory => Cause::InTheWay {
            path,
            wanted: "a directory",
            found,
        },
        Is::Entry if found == "a file" => Cause::Appeared(path),
        Is::Entry => Cause::InTheWay {
            path,
            wanted: "a file",
            found,
        },
    }
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.mode as _) == FileType::Directory
}

fn lstat(directory: &OwnedFd, name: &[u8]) -> Result<Stat, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat_from(&stat))
}
