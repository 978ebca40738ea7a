//! Collects the ground truth: every path that a worktree changed since its base.
//!
//! Neither `git status` nor any other reading of the worktree's index through git takes part:
//! commits are compared as trees, the index entry by entry, and the disk by an own walk that is
//! held against the manifest. Each is compared with the reference trees of the base.

pub mod commits;
mod converted;
pub(crate) mod ground;
pub(crate) mod heads;
mod ignored;
pub(crate) mod index;
pub(crate) mod integrity;
pub(crate) mod leaks;
pub mod position;
pub mod shared;
mod submodule;
mod survey;
pub(crate) mod tips;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::thread::ScopedJoinHandle;

use crate::change::{Change, ChangeSet, Kind, Place, Seen};
use crate::compare::{Delta, State, compare};
use crate::disk::DiskError;
use crate::disk::drift::Proof;
use crate::disk::scan::{Begun, HashBlob, Names, Unreadable, Walk};
use crate::git::GitMode;
use crate::path::RepoPath;
use crate::placed::Placed;
use crate::scope::{Access, EntryKind};
use crate::truth::ground::{Ground, Sources};
use crate::truth::index::{IndexState, LoadedIndex};
use crate::truth::integrity::plain;
use crate::truth::walk::DiskState;
use crate::walked::Walked;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

pub use ground::{Effort, Terms};
pub use index::IndexFile;
pub use survey::{States, Survey};

/// Collects everything.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read. Damage inside the
/// worktree is no error but part of the answer.
pub fn collect(
    repository: &Repository,
    known: &Worktree,
    index_file: &IndexFile,
) -> Result<Survey, WorktreeError> {
    collect_with(repository, known, index_file, &Terms::default())
}

/// Collects everything in these terms.
///
/// # Errors
/// As [`collect`]; with the best effort, only when there is nothing left to compare with.
pub fn collect_with(
    repository: &Repository,
    known: &Worktree,
    index_file: &IndexFile,
    terms: &Terms,
) -> Result<Survey, WorktreeError> {
    let repository = &known.readable_repository(repository);
    std::thread::scope(|threads| {
        let index = threads.spawn(|| LoadedIndex::read(repository, known, index_file));
        survey(repository, known, index, terms)
    })
}

/// Reads everything but the bytes of the index, which another thread reads.
fn survey(
    repository: &Repository,
    known: &Worktree,
    index: ScopedJoinHandle<'_, LoadedIndex>,
    terms: &Terms,
) -> Result<Survey, WorktreeError> {
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
    let (mut sources, index, disk) = std::thread::scope(|threads| {
        let walk = Begun::begin(threads, ground.walk(&placed, &walked, &hash));
        let (mut sources, index) = ready.or_else(|index| ground.read_sources(index))?;
        let disk = ground.disk(walk, &mut sources, &placed)?;
        Ok::<_, WorktreeError>((sources, index, disk))
    })?;
    let untracked = ignored::classify(&ground, &sources, &placed, &disk.delta, &index)?;
    let files = Files {
        index: &index,
        disk: &disk,
        untracked: &untracked,
    };
    let mut changes = ground.net(&sources, Some(&files));
    changes.extend(disk.of_placed());
    changes.sort();
    let mut states = vec![&sources.compared.head, &disk.delta];
    states.extend(&index.deltas);
    let contents = leaks::contents(&changes, &states);
    let leaks = leaks::leaks(&known.scope, &ground.manifest, &contents);
    let links_out = leaks::links_out(known, &changes, &disk.delta);
    let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
    let mut put_back = ground.put_back(&sources, &net);
    let past = sources.history.contents(&net);
    put_back.extend(leaks::leaks(&known.scope, &ground.manifest, &past));
    let mut more = disk.present(&ground, &sources.compared.working, &net);
    let drifted = disk.permissions.iter().filter(|path| !net.contains(path));
    more.extend(drifted.map(|path| plain(Place::Path(path.clone()), Kind::Perm, None)));
    changes.extend(more);
    changes.sort();
    let changes = ChangeSet {
        history: put_back,
        leaks,
        links_out,
        ..sources.around(ground.terms, known, changes)
    };
    let states = States {
        manifest: ground.manifest,
        head: sources.compared.head,
        reference: sources
            .compared
            .committed
            .into_iter()
            .next()
            .unwrap_or_default(),
        arriving: sources.compared.arriving,
        index,
        disk: disk.delta,
        untracked,
        placed,
        unreadable: disk.unreadable,
        sizes: disk.sizes,
    };
    Ok(Survey {
        changes,
        states,
        heads: sources.heads,
        nearest: sources.compared.nearest,
        commits: sources.commits,
        trusted: sources.compared.tips.trusted,
        walked: (!disk.walked.is_empty()).then(|| walked.with(disk.walked)),
    })
}

/// Holds what is looked at beside commits: the index and the disk.
pub struct Files<'a> {
    index: &'a IndexState,
    disk: &'a DiskState,
    untracked: &'a BTreeMap<RepoPath, Seen>,
}

impl Ground<'_> {
    /// Reads everything but the disk.
    fn read_sources(
        &self,
        index: ScopedJoinHandle<'_, LoadedIndex>,
    ) -> Result<(Sources, IndexState), WorktreeError> {
        let mut sources = self.sources()?;
        let loaded = index.join();
        let loaded = loaded.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let index = IndexState::compare(self.known, &self.manifest, &loaded);
        if index.damaged {
            let effort = &self.terms.effort;
            effort.note(&"cannot read the worktree's index: it is missing or damaged");
            let detail = Some("it is missing or cannot be read".to_owned());
            let place = Place::Admin("index".into());
            sources.wrong.push(plain(place, Kind::Integrity, detail));
        }
        sources.wrong.extend(integrity::index_marks(&index));
        Ok((sources, index))
    }

    /// The walk of the worktree; which submodules there are is not known yet.
    fn walk<'a>(&'a self, placed: &'a Placed, walked: &'a Walked, hash: HashBlob<'a>) -> Walk<'a> {
        Walk {
            root: &self.known.record.path,
            manifest: &self.manifest,
            placed: Some(self.proof(placed)),
            submodules: None,
            believe: self.repository.walking.believe(),
            names: Names::known(walked, &self.known.record.path),
            unread_above: self.terms.unread_above,
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
        let mut states: Vec<&Delta> = vec![&sources.compared.head];
        states.extend(
            sources
                .compared
                .committed
                .iter()
                .chain(&sources.compared.working),
        );
        states.extend(sources.compared.branch.iter().map(|(branch, _)| branch));
        states.extend(&index.deltas);
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
        walk: Result<Begun<'_, '_>, DiskError>,
        sources: &mut Sources,
        placed: &Placed,
    ) -> Result<DiskState, WorktreeError> {
        let effort = &self.terms.effort;
        let read = DiskState::read(self, walk, self.proof(placed), sources);
        let disk = match read {
            Ok(disk) => disk,
            Err(WorktreeError::Disk(error)) => DiskState {
                unreadable: vec![Unreadable {
                    path: None,
                    detail: error.to_string(),
                }],
                ..DiskState::default()
            },
            Err(other) => return Err(other),
        };
        for unreadable in &disk.unreadable {
            let of = &self.known.record.path;
            match &unreadable.path {
                Some(path) => effort.note(&format!("cannot read {path}: {}", unreadable.detail)),
                None => effort.note(&format!("cannot read {of}: {}", unreadable.detail)),
            }
        }
        let unreadable = disk
            .unreadable
            .iter()
            .map(|unreadable| match &unreadable.path {
                Some(path) => (Place::Path(path.clone()), &unreadable.detail),
                None => (Place::Worktree, &unreadable.detail),
            })
            .map(|(place, why)| {
                let detail = format!("it cannot be read: {why}");
                plain(place, Kind::Integrity, Some(detail))
            });
        sources.wrong.extend(unreadable);
        Ok(disk)
    }

    /// Compares all states with their references: what is committed, and what is in files.
    pub fn net(&self, sources: &Sources, files: Option<&Files<'_>>) -> Vec<Change> {
        let committed = |path: &RepoPath| match sources.history.newest(path) {
            Some(id) => Seen::Commit(id.clone()),
            None => Seen::Committed,
        };
        let never = |_: &RepoPath| false;
        let committed_like = with_tip(&sources.compared.committed, sources);
        let mut states = Vec::new();
        if sources.heads.head.is_some() {
            let (delta, references) = (&sources.compared.head, committed_like.as_slice());
            states.push(State {
                delta,
                references,
                seen: &committed,
                silent: &never,
            });
        }
        if let Some((delta, references)) = &sources.compared.branch {
            states.push(State {
                delta,
                references,
                seen: &committed,
                silent: &never,
            });
        }
        match files {
            Some(files) => self.with_files(sources, files, states),
            None => compare(&self.manifest, &states),
        }
    }

    /// Compares what is committed, and what the index and the disk have.
    fn with_files(
        &self,
        sources: &Sources,
        files: &Files<'_>,
        committed: Vec<State<'_>>,
    ) -> Vec<Change> {
        let Files {
            index,
            disk,
            untracked,
        } = files;
        let in_index = |_: &RepoPath| Seen::Index;
        let on_disk = |path: &RepoPath| match index.hidden.get(path) {
            Some(flag) => Seen::Hidden(*flag),
            None => untracked.get(path).cloned().unwrap_or(Seen::Disk),
        };
        let excluded = |path: &RepoPath| {
            self.known.scope.verdict(path, EntryKind::File).access == Access::Excluded
        };
        let stands = |path: &RepoPath| matches!(disk.delta.get(path), Some(Some(_)));
        // what was placed is not compared with any reference
        let silent =
            |path: &RepoPath| disk.placed.contains_key(path) || !stands(path) && excluded(path);
        let never = |_: &RepoPath| false;
        let working_like = with_tip(&sources.compared.working, sources);
        let mut states = committed;
        let references = working_like.as_slice();
        for delta in &index.deltas {
            states.push(State {
                delta,
                references,
                seen: &in_index,
                silent: &never,
            });
        }
        states.push(State {
            delta: &disk.delta,
            references,
            seen: &on_disk,
            silent: &silent,
        });
        compare(&self.manifest, &states)
    }
}

/// References, and what the newest of upstream has.
fn with_tip(all: &[Delta], sources: &Sources) -> Vec<Delta> {
    [all, sources.compared.tip.as_slice()].concat()
}
