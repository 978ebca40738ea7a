//! Collects the ground truth: every path that a worktree changed since its base.
//!
//! Neither `git status` nor any other reading of the worktree's index through git takes part:
//! commits are compared as trees, the index entry by entry, and the disk by an own walk that is
//! held against the manifest. Each is compared with the reference trees of the base.

pub mod commits;
pub mod converted;
pub mod git_dirs;
pub mod ground;
pub mod heads;
pub mod integrity;
pub mod keys;
pub mod leaks;
pub mod live;
pub mod moves;
pub mod passed;
pub mod planted;
pub mod seal;
pub mod sealed;
pub mod self_ignored;
pub mod shadows;
pub mod shared;
pub mod states;
pub mod submodule;

use std::collections::{BTreeMap, BTreeSet};
use std::thread::ScopedJoinHandle;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::drift::Proof;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::scan::RunningWalk;
use crate::disk::scan::walk::{HashBlob, KnownDirectories, Unreadable, Walk};
use crate::git::environment::GitMode;
use crate::git::index::OpenIndex;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::manifest::Manifest;
use crate::inventory::placed::Placed;
use crate::judge::change::{Change, ChangeSet, Kind, Place, Seen};
use crate::judge::compare::{Delta, State, compare, entry_in, same};
use crate::truth::commits::{contents, links_out};
use crate::truth::ground::{Compared, Ground, Sources, Terms};
use crate::truth::heads::Heads;
use crate::truth::self_ignored::find_self_ignored;
use crate::truth::states::{DiskState, IndexState, classify};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Repository, joined};

/// Above this many bytes, the content of a file on disk is only read where its size does not tell
/// that the file is changed.
const LARGE: u64 = 64 << 20;

/// Holds what is true of a worktree now.
pub struct Survey {
    /// What changed since the base.
    pub changes: ChangeSet,
    /// Every state in full, for who must not lose work.
    pub states: States,
    /// What it is on.
    pub heads: Heads,
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
    pub compared: Compared,
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

/// Collects everything.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read. Damage inside the
/// worktree is no error but part of the answer.
pub fn collect(repository: &Repository, known: &Worktree) -> Result<Survey, Error> {
    collect_with(repository, known, &Terms::default())
}

/// Collects everything in these terms.
///
/// # Errors
/// As [`collect`]; with the best effort, only when there is nothing left to compare with.
pub fn collect_with(
    repository: &Repository,
    known: &Worktree,
    terms: &Terms,
) -> Result<Survey, Error> {
    let repository = &known.readable_repository(repository);
    if let Err(fault) = known.require_applied_scope()
        // `reapply` is refused then, so the verdict says what was planted
        && planted::find(repository, known)?.is_empty()
    {
        return Err(fault.into());
    }
    std::thread::scope(|threads| {
        let own = known.record.admin_dir.join("index");
        let file = terms.index.clone().unwrap_or(own);
        let there = files::exists(&file);
        let open = move || OpenIndex::read(&file, repository.format).ok();
        let read = move || open().filter(|_| there);
        survey(repository, known, threads.spawn(read), terms)
    })
}

/// Reads everything but the index, which another thread reads.
fn survey(
    repository: &Repository,
    known: &Worktree,
    index: ReadIndex<'_>,
    terms: &Terms,
) -> Result<Survey, Error> {
    let effort = &terms.effort;
    let objects = repository.objects()?;
    let manifest = match effort.or(known.manifest().map(Some), || None)? {
        Some(manifest) => manifest,
        None => known.unproven_manifest(&objects)?,
    };
    // of the manifest as it was recorded
    let walked = known.walked(&manifest);
    let mut ground = Ground {
        repository,
        known,
        manifest,
        objects,
        git: repository.git.with_mode(GitMode::Hardened),
        terms,
    };
    let hash = |size, content: &mut dyn std::io::Read| repository.format.hash_blob(size, content);
    let mut placed = effort.or(known.placed(), Placed::default)?;
    // where nothing else is needed to walk, that is done beside everything else
    let ready = if placed.leaves(&ground.manifest) {
        Err(index)
    } else {
        let (sources, index) = ground.read_sources(index)?;
        placed = ground.lay_over(placed, &sources, &index);
        Ok((sources, index))
    };
    let ground = ground;
    let (mut sources, index, mut disk) = std::thread::scope(|threads| {
        let walk = RunningWalk::begin(threads, ground.walk(&placed, &walked, &hash));
        let (mut sources, index) = ready.or_else(|index| ground.read_sources(index))?;
        let disk = ground.disk(walk, &mut sources, (&index, &placed))?;
        Ok::<_, Error>((sources, index, disk))
    })?;
    let mut untracked = classify(&ground, &sources, &placed, &disk.delta, &index)?;
    let self_ignored = find_self_ignored(&ground, &sources, &index, &placed, &mut untracked);
    let mut apart = self_ignored.directories;
    let files = self_ignored.files;
    let hidden = states::find_hidden(&ground, &sources, &disk.delta, &untracked, files)?;
    let mut changes = ground.net(&sources, Some((&index, &disk, &untracked)));
    changes.extend(disk.placed.values().cloned());
    changes.sort();
    let mut states = vec![&sources.compared.head, &disk.delta];
    states.extend(&index.deltas);
    states.extend(sources.compared.branches.iter().map(|(branch, _)| branch));
    let originals = ground.originals(&sources, &ground.manifest);
    let copied = originals.leaks(&contents(&changes, &states));
    let copied = effort.or(copied, Vec::new)?;
    let links_out = links_out(known, &changes, &disk.delta);
    let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
    let mut history = ground.put_back(&sources, &net);
    let past = originals.leaks(&sources.history.contents(&net));
    history.extend(effort.or(past, Vec::new)?);
    let mut more = disk.present(&ground, &sources.compared.working, &net);
    let drifted = disk.permissions.iter().filter(|path| !net.contains(path));
    more.extend(drifted.map(|path| Change::new(Place::Path(path.clone()), Kind::Perm, Seen::Disk)));
    changes.extend(more);
    let harmless = ground.find_harmless(&sources, &index, &changes);
    apart.extend(effort.or(harmless, Vec::new)?);
    changes.sort();
    let changes = ChangeSet {
        history,
        leaks: copied,
        links_out,
        apart,
        ..sources.changes(&ground, changes)
    };
    let found = std::mem::take(&mut disk.walked);
    Ok(Survey {
        changes,
        heads: sources.heads,
        commits: sources.commits,
        walked: (!found.is_empty()).then(|| walked.with(found)),
        states: States {
            manifest: ground.manifest,
            compared: sources.compared,
            index,
            disk,
            untracked,
            hidden,
            placed,
        },
    })
}

/// The index, as another thread reads it; none where it cannot be read.
type ReadIndex<'t> = ScopedJoinHandle<'t, Option<OpenIndex>>;

/// What is looked at beside commits: the index, the disk, and how what is untracked is seen.
type Files<'a> = (&'a IndexState, &'a DiskState, &'a BTreeMap<RepoPath, Seen>);

impl Ground<'_> {
    /// Reads everything but the disk.
    fn read_sources(&self, index: ReadIndex<'_>) -> Result<(Sources, IndexState), Error> {
        let mut sources = self.sources()?;
        let compare = |index| IndexState::compare(self.known, &self.manifest, &index);
        let index = joined(index).and_then(compare).unwrap_or(IndexState {
            damaged: true,
            ..IndexState::default()
        });
        let wrong = &mut sources.around.wrong;
        if index.damaged {
            let effort = &self.terms.effort;
            effort.note(&"cannot read the worktree's index: it is missing or damaged");
            let said = "it is missing or cannot be read";
            wrong.push(integrity::integrity(Place::Admin("index".into()), said));
        }
        wrong.extend(integrity::index_marks(&index));
        Ok((sources, index))
    }

    /// The walk of the worktree; which submodules there are is not known yet.
    fn walk<'a>(
        &'a self,
        placed: &'a Placed,
        walked: &'a CleanDirectories,
        hash: HashBlob<'a>,
    ) -> Walk<'a> {
        Walk {
            root: &self.known.record.path,
            manifest: &self.manifest,
            placed: Some(self.proof(placed)),
            submodules: None,
            files_to_read: self.repository.walking.files_to_read(),
            known_directories: KnownDirectories::of(walked, &self.known.record.path),
            unread_above: Some(LARGE),
            hash,
        }
    }

    fn proof<'a>(&'a self, placed: &'a Placed) -> Proof<'a> {
        let source = Some(self.repository.root.as_path());
        Proof { placed, source }
    }

    /// Lays the list of placed files over the manifest; what of it is untracked. What upstream
    /// has and was not merged is in nothing that the worktree answers for.
    fn lay_over(&mut self, placed: Placed, sources: &Sources, index: &IndexState) -> Placed {
        let compared = &sources.compared;
        let references = compared.committed.iter().chain(&compared.working);
        let branches = compared.branches.iter().map(|(branch, _)| branch);
        let states = references.chain(branches).chain([&compared.head]);
        let states: Vec<&Delta> = states.chain(&index.deltas).collect();
        let is_tracked = |path: &RepoPath| {
            let mut states = states.iter();
            states.any(|delta| matches!(delta.get(path), Some(Some(_))))
        };
        let manifest = std::mem::take(&mut self.manifest);
        let (manifest, placed) = placed.laid_over(manifest, &is_tracked);
        self.manifest = manifest;
        placed
    }

    fn disk(
        &self,
        walk: Result<RunningWalk<'_, '_>, DiskError>,
        sources: &mut Sources,
        (index, placed): (&IndexState, &Placed),
    ) -> Result<DiskState, Error> {
        let disk = match DiskState::read(self, walk, self.proof(placed), (sources, index)) {
            Err(error) if error.find::<DiskError>().is_some() => DiskState {
                unreadable: vec![Unreadable {
                    path: None,
                    detail: error.to_string(),
                }],
                ..DiskState::default()
            },
            read => read?,
        };
        for Unreadable { path, detail } in &disk.unreadable {
            let place = path.clone().map_or(Place::Worktree, Place::Path);
            let shown = path.as_ref().map(ToString::to_string);
            let shown = shown.unwrap_or_else(|| self.known.record.path.to_string());
            let effort = &self.terms.effort;
            effort.note(&format!("cannot read {shown}: {detail}"));
            let said = format!("it cannot be read: {detail}");
            let wrong = &mut sources.around.wrong;
            wrong.push(integrity::integrity(place, said));
        }
        Ok(disk)
    }

    /// Compares all states with their references: what is committed, and what is in files.
    pub fn net(&self, sources: &Sources, files: Option<Files<'_>>) -> Vec<Change> {
        let compared = &sources.compared;
        let with_tip = |all: &[Delta]| [all, compared.tip.as_slice()].concat();
        let (committed_like, working_like) =
            (with_tip(&compared.committed), with_tip(&compared.working));
        let committed = |path: &RepoPath| sources.history.seen(path);
        let mut states = Vec::new();
        if sources.heads.head.is_some() {
            states.push(State::new(&compared.head, &committed_like, &committed));
        }
        let branches = compared.branches.iter();
        let branches: Vec<_> = branches.map(|(tip, like)| (tip, with_tip(like))).collect();
        for (branch, like) in &branches {
            states.push(State::new(branch, like, &committed));
        }
        let Some((index, disk, untracked)) = files else {
            return compared.passed.without(compare(&self.manifest, &states));
        };
        let deltas = index.deltas.iter();
        states.extend(deltas.map(|delta| State::new(delta, &working_like, &|_| Seen::Index)));
        let on_disk = |path: &RepoPath| {
            let seen = index.hidden.get(path).or_else(|| untracked.get(path));
            seen.cloned().unwrap_or(Seen::Disk)
        };
        let scope = &self.known.scope;
        // what was placed is not compared with any reference
        let silent =
            |path: &RepoPath| disk.placed.contains_key(path) || disk.leaves_out(path, scope);
        states.push(State {
            silent: &silent,
            ..State::new(&disk.delta, &working_like, &on_disk)
        });
        compared.passed.without(compare(&self.manifest, &states))
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
            .chain(states.compared.head.keys())
            .collect();
        paths.extend(states.index.deltas.iter().flat_map(Delta::keys));
        let differs = |path: &&RepoPath| {
            let at = |delta: &Delta| entry_in(&states.manifest, delta, path);
            let head = at(&states.compared.head);
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
                at(&states.compared.head, path),
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
