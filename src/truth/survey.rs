//! Holds what is true of a worktree, and answers questions about it.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::disk::candidates::is_git_directory;
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
    /// Files that the base ignores and that the worktree's own rules do not: git lists them as
    /// untracked.
    pub unignored: BTreeSet<RepoPath>,
    /// What was placed and is not tracked by now.
    pub placed: Placed,
}

/// Holds where ignored files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredPlace {
    /// A directory, or a file.
    pub path: RepoPath,
    /// True if it is a directory.
    pub is_directory: bool,
    /// The number of ignored files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl std::fmt::Display for IgnoredPlace {
    /// Writes the path, of a directory with a slash.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.is_directory { "/" } else { "" };
        write!(f, "{}{slash}", self.path)
    }
}

impl Survey {
    /// Lists the paths of which something else is staged than stands on disk.
    pub fn unstaged(&self) -> BTreeSet<RepoPath> {
        let states = &self.states;
        let mut unstaged = BTreeSet::new();
        for delta in states.index.deltas.iter().chain([&states.disk.delta]) {
            for path in delta.keys() {
                let on_disk = states.entry_in(&states.disk.delta, path);
                if states.staged_entries(path).any(|staged| staged != on_disk) {
                    unstaged.insert(path.clone());
                }
            }
        }
        unstaged
    }

    /// Lists the paths whose index or disk is not what HEAD has, ignored files apart: what is not
    /// committed.
    pub fn uncommitted(&self, worktree: &Worktree) -> Vec<RepoPath> {
        let states = &self.states;
        let mut paths: BTreeSet<&RepoPath> = states.disk.delta.keys().collect();
        paths.extend(states.references.head.keys());
        for delta in &states.index.deltas {
            paths.extend(delta.keys());
        }
        let mut uncommitted = Vec::new();
        for path in paths {
            let head = states.entry_in(&states.references.head, path);
            let on_disk = states.entry_in(&states.disk.delta, path);
            let is_staged = states.staged_entries(path).any(|staged| staged != head);
            let is_silent = states.disk.leaves_out(path, &worktree.scope);
            let is_ignored = states.untracked.get(path) == Some(&Seen::Ignored)
                && !states.unignored.contains(path);
            if is_staged || !is_silent && !is_ignored && !same(head, on_disk) {
                uncommitted.push(path.clone());
            }
        }
        uncommitted
    }

    /// Lists the changes of placed files.
    pub fn placed_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes
            .changes
            .iter()
            .filter(|change| change.seen.contains(&Seen::Synced))
    }

    /// Returns what stands at the path of a placed file; what is as it was placed has no id.
    pub fn placed_entry(&self, path: &RepoPath) -> Option<Entry> {
        if let Some(entry) = self.states.disk.delta.get(path) {
            return *entry;
        }
        let is_changed = self
            .placed_changes()
            .any(|change| change.place.path() == Some(path));
        if is_changed {
            return None;
        }
        let item = self.states.manifest.get(path)?;
        item.disk.map(|disk| disk.entry)
    }

    /// Lists the contents of files that are staged and differ from the base.
    pub fn staged(&self) -> BTreeSet<ObjectId> {
        let mut contents = BTreeSet::new();
        for entry in self.states.index.deltas.iter().flat_map(Delta::values) {
            if let Some(entry) = entry.filter(|entry| entry.mode != Mode::Gitlink) {
                contents.insert(entry.id);
            }
        }
        contents
    }

    /// Lists the paths of which something is staged that is neither in HEAD nor on disk.
    pub fn staged_only(&self) -> Vec<RepoPath> {
        let states = &self.states;
        let mut paths: BTreeSet<&RepoPath> = BTreeSet::new();
        for (path, entry) in states.index.deltas.iter().flatten() {
            let head = states.entry_in(&states.references.head, path);
            let on_disk = states.entry_in(&states.disk.delta, path);
            if entry.is_some() && *entry != head && *entry != on_disk {
                paths.insert(path);
            }
        }
        paths.into_iter().cloned().collect()
    }

    /// Counts the ignored files that are there, that were not when the worktree was made.
    pub fn ignored(&self) -> usize {
        self.ignored_paths().count()
    }

    fn ignored_paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.states
            .untracked
            .iter()
            .filter(|(_, seen)| **seen == Seen::Ignored)
            .map(|(path, _)| path)
    }

    /// Lists the files that the base's own rules ignore and those of the worktree too, and that were
    /// not there when the worktree was made.
    pub fn build_output(&self) -> impl Iterator<Item = &RepoPath> {
        let hidden = &self.states.hidden;
        let unignored = &self.states.unignored;
        self.ignored_paths()
            .filter(|path| !hidden.contains(*path) && !unignored.contains(*path))
    }

    /// Lists where the build output is, the largest place first.
    pub fn build_places(&self) -> Vec<IgnoredPlace> {
        self.places(self.build_output())
    }

    /// Lists where the ignored files are that the base's own rules do not name, the largest place
    /// first.
    pub fn hidden_places(&self) -> Vec<IgnoredPlace> {
        self.places(self.states.hidden.iter())
    }

    /// Lists the places of these files, each with what is in it, the largest first: a directory
    /// that the base does not have (`target/`), or a file in one that it has.
    fn places<'a>(&self, paths: impl Iterator<Item = &'a RepoPath>) -> Vec<IgnoredPlace> {
        let states = &self.states;
        let mut places: BTreeMap<RepoPath, IgnoredPlace> = BTreeMap::new();
        for path in paths {
            let new_directory = std::iter::successors(path.parent(), RepoPath::parent)
                .take_while(|directory| !states.manifest.has_directory(directory))
                .last();
            let is_directory = new_directory.is_some();
            let place_path = new_directory.unwrap_or_else(|| path.clone());
            let place = places.entry(place_path.clone()).or_insert(IgnoredPlace {
                path: place_path,
                is_directory,
                files: 0,
                bytes: 0,
            });
            place.files += 1;
            place.bytes += states.disk.sizes.get(path).copied().unwrap_or(0);
        }
        let mut largest_first: Vec<IgnoredPlace> = places.into_values().collect();
        largest_first.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
        largest_first
    }

    /// Lists the repositories inside the worktree at `root` of which something is in no commit of
    /// ours: those with a `.git`, and bare ones with untracked or ignored files.
    pub fn inner_repositories(&self, root: &Utf8Path) -> BTreeSet<RepoPath> {
        let mut directories: BTreeSet<RepoPath> = self.nested().into_iter().collect();
        for directory in self.bare(root) {
            if self.has_untracked_file_below(&directory) {
                directories.insert(directory);
            }
        }
        directories
    }

    /// True if an untracked or ignored file is below a directory.
    fn has_untracked_file_below(&self, directory: &RepoPath) -> bool {
        for path in self.states.untracked.keys() {
            if !path.is_below(directory.as_bstr()) {
                continue;
            }
            let entry = self.states.disk.delta.get(path).copied().flatten();
            if entry.is_some_and(|entry| entry.mode != Mode::EmptyDirectory) {
                return true;
            }
        }
        false
    }

    /// Lists the directories in the shape of a bare repository (`is_git_directory`, git's setup.c)
    /// whose HEAD is new or changed: a commit can hold them.
    pub fn bare(&self, root: &Utf8Path) -> Vec<RepoPath> {
        let mut directories = Vec::new();
        for (path, entry) in &self.states.disk.delta {
            if entry.is_none() || path.file_name() != "HEAD" {
                continue;
            }
            let Some(directory) = path.parent() else {
                continue;
            };
            let below = directory.to_os_path().unwrap_or_default();
            if is_git_directory(&root.as_std_path().join(below)) {
                directories.push(directory);
            }
        }
        directories
    }

    /// Lists the directories with something named `.git` inside: no commit of ours can hold that,
    /// as git takes no such path, and it may be a repository with a history of its own.
    pub fn nested(&self) -> Vec<RepoPath> {
        let mut directories: Vec<RepoPath> = Vec::new();
        for (path, entry) in &self.states.disk.delta {
            if entry.is_some() {
                directories.extend(path.repository_inside());
            }
        }
        directories.dedup();
        directories
    }
}

impl States {
    /// Returns what a state has at a path.
    pub fn entry_in(&self, delta: &Delta, path: &RepoPath) -> Option<Entry> {
        entry_in(&self.manifest, delta, path)
    }

    /// Lists what is staged at a path: in a conflict "ours" and "theirs".
    pub fn staged_entries(&self, path: &RepoPath) -> impl Iterator<Item = Option<Entry>> {
        self.index
            .deltas
            .iter()
            .map(|delta| entry_in(&self.manifest, delta, path))
    }
}
