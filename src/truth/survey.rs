//! Holds what is true of a worktree, and answers questions about it.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::files;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::manifest::Manifest;
use crate::inventory::placed::Placed;
use crate::judge::change::{Change, ChangeSet, Seen};
use crate::judge::compare::{Delta, entry_in, same};
use crate::truth::head::WorktreeHead;
use crate::truth::layers::disk::DiskState;
use crate::truth::layers::index::IndexState;
use crate::truth::references::ReferenceTrees;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;

/// Holds what is true of a worktree now.
pub struct Survey {
    /// What changed since the base.
    pub changes: ChangeSet,
    /// Every state in full, for who must not lose work.
    pub states: States,
    /// What it is on.
    pub head: WorktreeHead,
    /// The commits of its own, the newest first.
    pub commits: Vec<CommitId>,
    /// The directories whose names are known now; none when no more of them are than before.
    pub walked: Option<CleanDirectories>,
}

/// Holds the states of a worktree, each as its difference from the base.
pub struct States {
    /// What was recorded at `add`.
    pub manifest: Manifest,
    /// HEAD's tree, and what it is compared with.
    pub references: ReferenceTrees,
    /// The index.
    pub index: IndexState,
    /// The disk.
    pub disk: DiskState,
    /// Untracked and ignored files, and placed ones that are not as they were placed.
    pub untracked: BTreeMap<RepoPath, Seen>,
    /// Ignored files that the base's own rules do not name: they are no build output.
    pub hidden: BTreeSet<RepoPath>,
    /// What was placed and is not tracked by now.
    pub placed: Placed,
}

/// Holds where ignored files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredPlace {
    /// A directory, or a file.
    pub path: RepoPath,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// The number of ignored files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl std::fmt::Display for IgnoredPlace {
    /// The path, of a directory with a slash.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.is_directory { "/" } else { "" };
        write!(f, "{}{slash}", self.path)
    }
}

impl Survey {
    /// Paths of which something else is staged than stands on disk.
    pub fn unstaged(&self) -> BTreeSet<RepoPath> {
        let states = &self.states;
        let deltas = states.index.deltas.iter();
        let paths = deltas.clone().flatten().chain(&states.disk.delta);
        let differs = |path: &&RepoPath| {
            let at = |delta: &Delta| entry_in(&states.manifest, delta, path);
            let mut deltas = deltas.clone();
            deltas.any(|delta| at(delta) != at(&states.disk.delta))
        };
        let paths = paths.map(|(path, _)| path).filter(differs);
        paths.cloned().collect()
    }

    /// Paths whose index or disk is not what HEAD has, ignored files apart: what is not
    /// committed.
    pub fn uncommitted(&self, known: &Worktree) -> Vec<RepoPath> {
        let states = &self.states;
        let mut paths: BTreeSet<&RepoPath> = states
            .disk
            .delta
            .keys()
            .chain(states.references.head.keys())
            .collect();
        paths.extend(states.index.deltas.iter().flat_map(Delta::keys));
        let differs = |path: &&RepoPath| {
            let at = |delta: &Delta| entry_in(&states.manifest, delta, path);
            let head = at(&states.references.head);
            let staged = states.index.deltas.iter().any(|delta| at(delta) != head);
            let silent = states.disk.leaves_out(path, &known.scope);
            let ignored = states.untracked.get(*path) == Some(&Seen::Ignored);
            staged || !silent && !ignored && !same(head, at(&states.disk.delta))
        };
        paths.into_iter().filter(differs).cloned().collect()
    }

    /// The changes of placed files.
    pub fn placed_changes(&self) -> impl Iterator<Item = &Change> {
        let all = self.changes.changes.iter();
        all.filter(|change| change.seen.contains(&Seen::Synced))
    }

    /// What stands at the path of a placed file; what is as it was placed has no id.
    pub fn placed_entry(&self, path: &RepoPath) -> Option<Entry> {
        if let Some(entry) = self.states.disk.delta.get(path) {
            return *entry;
        }
        let is_it = |change: &Change| change.place.path() == Some(path);
        if self.placed_changes().any(is_it) {
            return None;
        }
        let item = self.states.manifest.get(path)?;
        item.disk.map(|disk| disk.entry)
    }

    /// The contents of files that are staged and differ from the base.
    pub fn staged(&self) -> BTreeSet<ObjectId> {
        let entries = self.states.index.deltas.iter().flatten();
        let entries = entries.filter_map(|(_, entry)| *entry);
        let files = entries.filter(|entry| entry.mode != Mode::Gitlink);
        files.map(|entry| entry.id).collect()
    }

    /// Paths of which something is staged that is neither in HEAD nor on disk.
    pub fn staged_only(&self) -> Vec<RepoPath> {
        let states = &self.states;
        let at = |delta: &Delta, path: &RepoPath| entry_in(&states.manifest, delta, path);
        let only = |(path, entry): &(&RepoPath, &Option<Entry>)| {
            let elsewhere = [
                at(&states.references.head, path),
                at(&states.disk.delta, path),
            ];
            entry.is_some() && !elsewhere.contains(entry)
        };
        let staged = states.index.deltas.iter().flatten().filter(only);
        let paths: BTreeSet<&RepoPath> = staged.map(|(path, _)| path).collect();
        paths.into_iter().cloned().collect()
    }

    /// How many ignored files are there, that were not when the worktree was made.
    pub fn ignored(&self) -> usize {
        self.ignored_paths().count()
    }

    fn ignored_paths(&self) -> impl Iterator<Item = &RepoPath> {
        let untracked = self.states.untracked.iter();
        let ignored = untracked.filter(|(_, seen)| **seen == Seen::Ignored);
        ignored.map(|(path, _)| path)
    }

    /// The files that the base's own rules ignore, and that were not there when the worktree was
    /// made.
    pub fn build_output(&self) -> impl Iterator<Item = &RepoPath> {
        let hidden = &self.states.hidden;
        self.ignored_paths().filter(|path| !hidden.contains(*path))
    }

    /// Where the build output is, the largest place first.
    pub fn build_places(&self) -> Vec<IgnoredPlace> {
        self.places(self.build_output())
    }

    /// Where the ignored files are that the base's own rules do not name, the largest place first.
    pub fn hidden_places(&self) -> Vec<IgnoredPlace> {
        self.places(self.states.hidden.iter())
    }

    /// The places of these files, each with what is in it, the largest first: a directory that the
    /// base does not have (`target/`), or a file in one that it has.
    fn places<'a>(&self, paths: impl Iterator<Item = &'a RepoPath>) -> Vec<IgnoredPlace> {
        let states = &self.states;
        let mut places: BTreeMap<RepoPath, IgnoredPlace> = BTreeMap::new();
        for path in paths {
            let above = std::iter::successors(path.parent(), RepoPath::parent);
            let new = above.take_while(|directory| !states.manifest.has_directory(directory));
            let directory = new.last();
            let is_directory = directory.is_some();
            let place = directory.unwrap_or_else(|| path.clone());
            let found = places.entry(place.clone()).or_insert(IgnoredPlace {
                path: place,
                is_directory,
                files: 0,
                bytes: 0,
            });
            found.files += 1;
            found.bytes += states.disk.sizes.get(path).copied().unwrap_or(0);
        }
        let mut places: Vec<IgnoredPlace> = places.into_values().collect();
        places.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
        places
    }

    /// Directories in the shape of a bare repository (`is_git_directory`, git's setup.c) whose HEAD is new or changed:
    /// a commit can hold them.
    pub fn bare(&self, root: &Utf8Path) -> Vec<RepoPath> {
        let there = self.states.disk.delta.iter();
        let there = there.filter(|(path, entry)| entry.is_some() && path.file_name() == "HEAD");
        let is_bare = |path: &RepoPath| {
            let below = path.to_os_path().unwrap_or_default();
            let at = root.as_std_path().join(below);
            let has = |name| files::stat(&at.join(name)).is_some();
            has("objects") && has("refs") || has("commondir")
        };
        let above = there.filter_map(|(path, _)| path.parent());
        above.filter(is_bare).collect()
    }

    /// Directories with something named `.git` inside: no commit of ours can hold that, as git
    /// takes no such path, and it may be a repository with a history of its own.
    pub fn nested(&self) -> Vec<RepoPath> {
        let there = self.states.disk.delta.iter();
        let there = there.filter(|(_, entry)| entry.is_some());
        let mut found: Vec<RepoPath> = Vec::new();
        for (path, _) in there {
            let mut parts = path.as_bstr().split_str("/");
            let above: Vec<&[u8]> = parts.by_ref().take_while(|part| *part != b".git").collect();
            let above = above.join(&b'/');
            if above.len() < path.as_bstr().len() {
                found.extend(RepoPath::parse(above).ok());
            }
        }
        found.dedup();
        found
    }
}
