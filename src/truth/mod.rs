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
use crate::disk::drift::Proof;
use crate::disk::scan::{Begun, HashBlob, Names, Unreadable, Walk};
use crate::disk::{DiskError, files};
use crate::git::GitMode;
use crate::git::index::OpenIndex;
use crate::path::RepoPath;
use crate::placed::Placed;
use crate::scope::{Access, EntryKind};
use crate::truth::ground::{Ground, Sources};
use crate::truth::index::IndexState;
use crate::truth::walk::DiskState;
use crate::walked::Walked;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

pub use ground::{Effort, Terms};
pub use survey::{States, Survey};

/// Collects everything.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read. Damage inside the
/// worktree is no error but part of the answer.
pub fn collect(repository: &Repository, known: &Worktree) -> Result<Survey, WorktreeError> {
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
) -> Result<Survey, WorktreeError> {
    let repository = &known.readable_repository(repository);
    std::thread::scope(|threads| {
        let own = known.record.admin_dir.join("index");
        let file = terms.index.clone().unwrap_or(own);
        let there = files::exists(&file);
        let read = move || {
            OpenIndex::read(&file, repository.format)
                .ok()
                .filter(|_| there)
        };
        survey(repository, known, threads.spawn(read), terms)
    })
}

/// Reads everything but the index, which another thread reads.
fn survey(
    repository: &Repository,
    known: &Worktree,
    index: ReadIndex<'_>,
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
    let mut changes = ground.net(&sources, Some((&index, &disk, &untracked)));
    changes.extend(disk.placed.values().cloned());
    changes.sort();
    let scope = &known.scope;
    let mut states = vec![&sources.compared.head, &disk.delta];
    states.extend(&index.deltas);
    let leaks = leaks::leaks(scope, &ground.manifest, &leaks::contents(&changes, &states));
    let links_out = leaks::links_out(known, &changes, &disk.delta);
    let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
    let mut history = ground.put_back(&sources, &net);
    let past = sources.history.contents(&net);
    history.extend(leaks::leaks(scope, &ground.manifest, &past));
    let mut more = disk.present(&ground, &sources.compared.working, &net);
    let drifted = disk.permissions.iter().filter(|path| !net.contains(path));
    more.extend(drifted.map(|path| Change::new(Place::Path(path.clone()), Kind::Perm, Seen::Disk)));
    changes.extend(more);
    changes.sort();
    let changes = ChangeSet {
        history,
        leaks,
        links_out,
        ..sources.changes(&ground, changes)
    };
    let compared = sources.compared;
    Ok(Survey {
        changes,
        states: States {
            manifest: ground.manifest,
            head: compared.head,
            reference: compared.committed.into_iter().next().unwrap_or_default(),
            arriving: compared.arriving,
            index,
            disk: disk.delta,
            untracked,
            placed,
            unreadable: disk.unreadable,
            sizes: disk.sizes,
        },
        heads: sources.heads,
        nearest: compared.nearest,
        commits: sources.commits,
        trusted: compared.tips.trusted,
        walked: (!disk.walked.is_empty()).then(|| walked.with(disk.walked)),
    })
}

/// The index, as another thread reads it; none where it cannot be read.
type ReadIndex<'t> = ScopedJoinHandle<'t, Option<OpenIndex>>;

/// What is looked at beside commits: the index, the disk, and how what is untracked is seen.
type Files<'a> = (&'a IndexState, &'a DiskState, &'a BTreeMap<RepoPath, Seen>);

impl Ground<'_> {
    /// Reads everything but the disk.
    fn read_sources(&self, index: ReadIndex<'_>) -> Result<(Sources, IndexState), WorktreeError> {
        let mut sources = self.sources()?;
        let index = index.join();
        let index = index.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let index = IndexState::compare(self.known, &self.manifest, index.as_ref());
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
        let compared = &sources.compared;
        let references = compared.committed.iter().chain(&compared.working);
        let branch = compared.branch.iter().map(|(branch, _)| branch);
        let states = references.chain(branch).chain([&compared.head]);
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
        walk: Result<Begun<'_, '_>, DiskError>,
        sources: &mut Sources,
        placed: &Placed,
    ) -> Result<DiskState, WorktreeError> {
        let disk = match DiskState::read(self, walk, self.proof(placed), sources) {
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
        let never = |_: &RepoPath| false;
        let head = Some((&compared.head, &committed_like));
        let head = head.filter(|_| sources.heads.head.is_some());
        let branch = compared.branch.as_ref().map(|(delta, like)| (delta, like));
        let commits = head.into_iter().chain(branch);
        let commits = commits.map(|(delta, references)| State {
            delta,
            references,
            seen: &committed,
            silent: &never,
        });
        let mut states: Vec<State<'_>> = commits.collect();
        let Some((index, disk, untracked)) = files else {
            return compare(&self.manifest, &states);
        };
        let on_disk = |path: &RepoPath| {
            let seen = index.hidden.get(path).or_else(|| untracked.get(path));
            seen.cloned().unwrap_or(Seen::Disk)
        };
        let excluded = |path: &RepoPath| {
            self.known.scope.verdict(path, EntryKind::File).access == Access::Excluded
        };
        let stands = |path: &RepoPath| matches!(disk.delta.get(path), Some(Some(_)));
        // what was placed is not compared with any reference
        let silent =
            |path: &RepoPath| disk.placed.contains_key(path) || !stands(path) && excluded(path);
        states.extend(index.deltas.iter().map(|delta| State {
            delta,
            references: &working_like,
            seen: &|_| Seen::Index,
            silent: &never,
        }));
        states.push(State {
            delta: &disk.delta,
            references: &working_like,
            seen: &on_disk,
            silent: &silent,
        });
        compare(&self.manifest, &states)
    }
}
