//! Collects the ground truth: every path that a worktree changed since its base.
//!
//! Neither `git status` nor any other reading of the worktree's index through git takes part:
//! commits are compared as trees, the index entry by entry, and the disk by an own walk that is
//! held against the manifest. Each is compared with the reference trees of the base.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use super::disk_state::{DiskState, Filters};
use super::effort::Effort;
use super::error::FactsError;
use super::heads::Heads;
use super::history::History;
use super::ignored;
use super::index_state::{IndexFile, IndexState};
use super::integrity::{self, plain};
use super::leaks;
use super::references::{References, Trees};
use super::repository::Repository;
use super::surroundings::Surroundings;
use super::tips::Tips;
use super::worktree::Known;
use crate::change::{Change, ChangeSet, Kind, Place, Seen, SharedChange};
use crate::compare::{Delta, State, compare, entry_in, same};
use crate::disk::scan::Unreadable;
use crate::entry::Entry;
use crate::git::objects::Objects;
use crate::git::{Git, GitMode};
use crate::manifest::Manifest;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::record::Record;
use crate::scope::{Access, EntryKind};

/// Says what a worktree is compared with, and what a failure to read means.
#[derive(Debug, Default)]
pub struct Terms {
    /// Another base than the recorded one.
    pub base: Option<CommitId>,
    /// Whether reading goes on without what cannot be read.
    pub effort: Effort,
}

/// Holds what is true of a worktree now.
pub struct Survey {
    /// What changed since the base.
    pub changes: ChangeSet,
    /// Every state in full, for who must not lose work.
    pub states: States,
    /// What it is on.
    pub heads: Heads,
    /// The reference that its files on disk are nearest to; none when it cannot be told.
    pub nearest: Option<CommitId>,
    /// The commits of its own, the newest first.
    pub commits: Vec<CommitId>,
    /// The commits that count as work of others, with all that they have.
    pub trusted: Vec<CommitId>,
}

/// Holds the states of a worktree, each as its difference from the base.
pub struct States {
    /// What was recorded at `add`.
    pub manifest: Manifest,
    /// HEAD's tree.
    pub head: Delta,
    /// The nearest reference of HEAD: what the base has, with the upstream work that was merged.
    pub reference: Delta,
    /// What a merge in progress brings from upstream.
    pub arriving: Delta,
    /// The index.
    pub index: IndexState,
    /// The disk.
    pub disk: Delta,
    /// Untracked and ignored files.
    pub untracked: BTreeMap<RepoPath, Seen>,
    /// What of the disk could not be read: nobody knows what it holds.
    pub unreadable: Vec<Unreadable>,
}

struct Ground<'a> {
    repository: &'a Repository,
    known: &'a Known,
    manifest: Manifest,
    objects: Objects,
    git: Git,
    terms: &'a Terms,
}

struct Sources {
    heads: Heads,
    tips: Tips,
    nearest: Option<CommitId>,
    head: Delta,
    /// References of HEAD.
    committed: Vec<Delta>,
    /// References of the index and the disk: a merge in progress brings more.
    working: Vec<Delta>,
    /// What a merge in progress changes.
    arriving: Delta,
    /// What the newest of upstream has: to be like that is no change, as a merge makes none of it.
    tip: Option<Delta>,
    /// The recorded branch where HEAD is elsewhere, with its references.
    branch: Option<(Delta, Vec<Delta>)>,
    wrong: Vec<Change>,
    shared: Vec<SharedChange>,
    /// Where HEAD and the branch have been.
    been_on: Vec<CommitId>,
}

/// Holds the trees of what a worktree is on, and what each may be without anybody's doing.
struct Compared {
    tips: Tips,
    nearest: Option<CommitId>,
    head: Delta,
    committed: Vec<Delta>,
    working: Vec<Delta>,
    arriving: Delta,
    tip: Option<Delta>,
    branch: Option<(Delta, Vec<Delta>)>,
    base_lost: bool,
}

impl Compared {
    /// Where no commit can be read, the disk and the index can still be held against what was
    /// checked out; against another base they cannot.
    fn with_nothing_but(ground: &Ground<'_>) -> Self {
        let record = &ground.known.record;
        let (nearest, checked_out) = match &ground.terms.base {
            None => (Some(record.checked_out.clone()), vec![Delta::new()]),
            Some(_) => (None, Vec::new()),
        };
        Self {
            tips: recorded_tips(record),
            nearest,
            head: Delta::new(),
            committed: checked_out.clone(),
            working: checked_out,
            arriving: Delta::new(),
            tip: None,
            branch: None,
            base_lost: false,
        }
    }
}

/// Collects everything.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read. Damage inside the
/// worktree is no error but part of the answer.
pub fn collect(
    repository: &Repository,
    known: &Known,
    index_file: &IndexFile,
) -> Result<Survey, FactsError> {
    collect_with(repository, known, index_file, &Terms::default())
}

/// Collects everything in these terms.
///
/// # Errors
/// As [`collect`]; with the best effort, only when there is nothing left to compare with.
pub fn collect_with(
    repository: &Repository,
    known: &Known,
    index_file: &IndexFile,
    terms: &Terms,
) -> Result<Survey, FactsError> {
    let effort = &terms.effort;
    let objects = repository.objects()?;
    let manifest = match effort.or(known.manifest().map(Some), || None)? {
        Some(manifest) => manifest,
        None => known.unproven_manifest(&objects)?,
    };
    let ground = Ground {
        repository,
        known,
        manifest,
        objects,
        git: repository.git.with_mode(GitMode::Hardened),
        terms,
    };
    let mut sources = ground.sources()?;
    let index = IndexState::read(repository, known, &ground.manifest, index_file);
    if index.damaged {
        effort.note(&"cannot read the worktree's index: it is missing or damaged");
        let detail = Some("it is missing or cannot be read".to_owned());
        let place = Place::Admin("index".into());
        sources.wrong.push(plain(place, Kind::Integrity, detail));
    }
    sources.wrong.extend(integrity::index_marks(&index));
    let disk = ground.disk(&mut sources)?;
    let untracked = ignored::classify(
        known,
        &ground.manifest,
        &ground.objects,
        &sources.working,
        &disk.delta,
        &index,
        &sources.head,
        effort,
    )?;
    let commits = sources
        .heads
        .new_commits(&ground.git, &sources.tips.trusted, &sources.been_on);
    let commits = effort.or(commits, Vec::new)?;
    let history = effort.or(History::read(&ground.objects, &commits), History::default)?;

    let mut changes = ground.net(&sources, &history, &index, &disk.delta, &untracked);
    let mut states = vec![&sources.head, &disk.delta];
    states.extend(&index.deltas);
    let contents = leaks::contents(&changes, &states);
    let leaks = leaks::leaks(&known.scope, &ground.manifest, &contents);
    let links_out = leaks::links_out(known, &changes, &disk.delta);
    let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
    let is_known = |path: &RepoPath, entry: Option<Entry>| {
        let at = |reference| entry_in(&ground.manifest, reference, path);
        let mut known = sources.committed.iter().chain(&sources.tip);
        known.any(|reference| same(at(reference), entry))
    };
    let is_own = |id: &CommitId| sources.been_on.contains(id) || sources.heads.was_on(id);
    let mut put_back = history.put_back(&net, &is_known, &is_own);
    let past = history.contents(&net);
    put_back.extend(leaks::leaks(&known.scope, &ground.manifest, &past));
    let mut more = disk.present(known, &ground.manifest, &sources.working, &net);
    let drifted = disk.permissions.iter().filter(|path| !net.contains(path));
    more.extend(drifted.map(|path| plain(Place::Path(path.clone()), Kind::Perm, None)));
    changes.extend(more);
    changes.sort();
    sources.wrong.sort();
    sources.wrong.dedup();
    sources.shared.sort();
    let base = terms.base.as_ref().unwrap_or(&known.record.base.commit);
    let base = base.clone();
    let head = sources.heads.head.clone().unwrap_or_else(|| base.clone());
    let changes = ChangeSet {
        history: put_back,
        leaks,
        links_out,
        integrity: sources.wrong,
        shared: sources.shared,
        ..ChangeSet::new(base, head, changes)
    };
    let states = States {
        manifest: ground.manifest,
        head: sources.head,
        reference: sources.committed.into_iter().next().unwrap_or_default(),
        arriving: sources.arriving,
        index,
        disk: disk.delta,
        untracked,
        unreadable: disk.unreadable,
    };
    Ok(Survey {
        changes,
        states,
        heads: sources.heads,
        nearest: sources.nearest,
        commits,
        trusted: sources.tips.trusted,
    })
}

impl Ground<'_> {
    /// Reads what the worktree is on, and what it may have taken over from others.
    fn sources(&self) -> Result<Sources, FactsError> {
        let (repository, record) = (self.repository, &self.known.record);
        let effort = &self.terms.effort;
        let heads = Heads::read(repository, self.known, effort)?;
        let around = Surroundings::read(repository, self.known, &heads, effort)?;
        let mut wrong = around.wrong;
        let compared = self.compared(&heads, &around.tips);
        let compared = effort.or(compared, || Compared::with_nothing_but(self))?;
        if let Some(detail) = heads.astray(record, compared.base_lost) {
            wrong.push(plain(Place::Head, Kind::Ref, Some(detail)));
        }
        Ok(Sources {
            heads,
            tips: compared.tips,
            nearest: compared.nearest,
            head: compared.head,
            committed: compared.committed,
            working: compared.working,
            arriving: compared.arriving,
            tip: compared.tip,
            branch: compared.branch,
            wrong,
            shared: around.shared,
            been_on: around.been_on,
        })
    }

    /// Finds the trees of what the worktree is on, and their references.
    fn compared(&self, heads: &Heads, found: &Tips) -> Result<Compared, FactsError> {
        let (record, effort, git) = (&self.known.record, &self.terms.effort, &self.git);
        let recorded = &record.base.commit;
        let mut trees = Trees::new(&self.objects, &record.checked_out)?;
        let head = heads.head.as_ref().unwrap_or(recorded);
        let mut tips = found.clone();
        let mut base = recorded;
        let mut base_lost = None;
        if let Some(other) = &self.terms.base {
            let own = References::of(git, &mut trees, head, recorded, &found.trusted);
            base_lost = Some(effort.or(own.map(|own| own.base_lost), || false)?);
            tips.trusted = vec![other.clone()];
            base = other;
        }
        let references = References::of(git, &mut trees, head, base, &tips.trusted)?;
        let mut committed = references.deltas;
        let mut commits = references.commits;
        let before = effort.or(self.known.recorded_refs(), BTreeSet::new)?;
        if self.terms.base.is_none() && heads.moved && before.contains(head) {
            committed.push(trees.delta(head)?);
            commits.push(head.clone());
        }
        let mut working = committed.clone();
        let mut arriving = Delta::new();
        for merged in &heads.merging {
            // what HEAD has already is not being merged, whatever MERGE_HEAD says
            let new = !git.is_ancestor(merged, head)?;
            if new && effort.or(upstream_has(git, merged, &tips), || false)? {
                commits.push(merged.clone());
                let theirs = trees.delta(merged)?;
                let ancestors = git.merge_base_all(head, std::slice::from_ref(merged))?;
                let before = trees.delta(ancestors.first().unwrap_or(base))?;
                arriving.extend(self.difference(&before, &theirs));
                working = if references.base_lost {
                    [working, vec![theirs]].concat()
                } else {
                    trees.merged(git, &commits)?
                };
            }
        }
        let newest = match &self.terms.base {
            Some(other) => Some(other.clone()),
            None => effort.or(tips.newest(git), || None)?,
        };
        let tip = newest.filter(|tip| !commits.contains(tip));
        let tip = tip.map(|tip| trees.delta(&tip)).transpose()?;
        let branch = match &heads.branch {
            Some(branch) if heads.head.as_ref() != Some(branch) => {
                let references = References::of(git, &mut trees, branch, base, &tips.trusted);
                let both = references.and_then(|found| Ok((trees.delta(branch)?, found.deltas)));
                effort.or(both.map(Some), || None)?
            }
            Some(_) | None => None,
        };
        let unchanged = || committed.first().cloned().unwrap_or_default();
        Ok(Compared {
            head: effort.or(trees.delta(head), unchanged)?,
            nearest: Some(references.nearest),
            base_lost: base_lost.unwrap_or(references.base_lost),
            tips,
            committed,
            working,
            arriving,
            tip,
            branch,
        })
    }

    /// What one tree has where another has something else.
    fn difference(&self, before: &Delta, after: &Delta) -> Delta {
        let at = |delta: &Delta, path: &RepoPath| entry_in(&self.manifest, delta, path);
        let paths: BTreeSet<&RepoPath> = before.keys().chain(after.keys()).collect();
        let differs = |path: &&RepoPath| at(before, path) != at(after, path);
        let other = paths.into_iter().filter(differs);
        other.map(|path| (path.clone(), at(after, path))).collect()
    }

    fn disk(&self, sources: &mut Sources) -> Result<DiskState, FactsError> {
        let (references, head) = (&sources.working, &sources.head);
        let filters = Filters::after(&sources.shared);
        let (repository, known, effort) = (self.repository, self.known, &self.terms.effort);
        let read = DiskState::read(
            repository,
            known,
            &self.manifest,
            references,
            head,
            filters,
            effort,
        );
        let disk = match read {
            Ok(disk) => disk,
            Err(FactsError::Disk(error)) => DiskState {
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

    /// Compares all states with their references.
    fn net(
        &self,
        sources: &Sources,
        history: &History,
        index: &IndexState,
        disk: &Delta,
        untracked: &BTreeMap<RepoPath, Seen>,
    ) -> Vec<Change> {
        let committed = |path: &RepoPath| match history.newest(path) {
            Some(id) => Seen::Commit(id.clone()),
            None => Seen::Committed,
        };
        let in_index = |_: &RepoPath| Seen::Index;
        let on_disk = |path: &RepoPath| match index.hidden.get(path) {
            Some(flag) => Seen::Hidden(*flag),
            None => untracked.get(path).cloned().unwrap_or(Seen::Disk),
        };
        let excluded = |path: &RepoPath| {
            self.known.scope.verdict(path, EntryKind::File).access == Access::Excluded
        };
        let absent = |path: &RepoPath| !matches!(disk.get(path), Some(Some(_))) && excluded(path);
        let never = |_: &RepoPath| false;
        let with_tip = |all: &[Delta]| [all, sources.tip.as_slice()].concat();
        let committed_like = with_tip(&sources.committed);
        let working_like = with_tip(&sources.working);
        let mut states = Vec::new();
        if sources.heads.head.is_some() {
            let (delta, references) = (&sources.head, committed_like.as_slice());
            states.push(State {
                delta,
                references,
                seen: &committed,
                silent: &never,
            });
        }
        if let Some((delta, references)) = &sources.branch {
            states.push(State {
                delta,
                references,
                seen: &committed,
                silent: &never,
            });
        }
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
            delta: disk,
            references,
            seen: &on_disk,
            silent: &absent,
        });
        compare(&self.manifest, &states)
    }
}

impl Survey {
    /// Paths whose index or disk is not what HEAD has, ignored files apart: what nobody has
    /// committed.
    #[must_use]
    pub fn uncommitted(&self, known: &Known) -> Vec<RepoPath> {
        let states = &self.states;
        let mut paths: BTreeSet<&RepoPath> = states.disk.keys().chain(states.head.keys()).collect();
        paths.extend(states.index.deltas.iter().flat_map(Delta::keys));
        let differs = |path: &&RepoPath| {
            let at = |delta: &Delta| entry_in(&states.manifest, delta, path);
            let head = at(&states.head);
            let staged = states.index.deltas.iter().any(|delta| at(delta) != head);
            let kind = EntryKind::File;
            let on_disk = matches!(states.disk.get(path), Some(Some(_)));
            let silent = !on_disk && known.scope.verdict(path, kind).access == Access::Excluded;
            let ignored = states.untracked.get(*path) == Some(&Seen::Ignored);
            staged || !silent && !ignored && !same(head, at(&states.disk))
        };
        paths.into_iter().filter(differs).cloned().collect()
    }

    /// Paths of which something is staged that is neither in HEAD nor on disk.
    #[must_use]
    pub fn staged_only(&self) -> Vec<RepoPath> {
        let states = &self.states;
        let at = |delta: &Delta, path: &RepoPath| entry_in(&states.manifest, delta, path);
        let mut paths: Vec<RepoPath> = Vec::new();
        for delta in &states.index.deltas {
            let only = delta.iter().filter(|(path, entry)| {
                entry.is_some()
                    && **entry != at(&states.head, path)
                    && **entry != at(&states.disk, path)
            });
            paths.extend(only.map(|(path, _)| path.clone()));
        }
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// How many ignored files are there, that were not when the worktree was made.
    #[must_use]
    pub fn ignored(&self) -> usize {
        self.states
            .untracked
            .values()
            .filter(|seen| **seen == Seen::Ignored)
            .count()
    }

    /// Directories with something named `.git` inside: no commit of ours can hold that, as git
    /// takes no such path, and it may be a repository with a history of its own.
    #[must_use]
    pub fn nested(&self) -> Vec<RepoPath> {
        let there = self.states.disk.iter().filter(|(_, entry)| entry.is_some());
        let mut found = Vec::new();
        for (path, _) in there {
            let below = path.as_bstr().find("/.git").filter(|at| {
                let rest = &path.as_bstr()[at + "/.git".len()..];
                rest.is_empty() || rest.starts_with(b"/")
            });
            if let Some(at) = below {
                found.extend(RepoPath::parse(&path.as_bstr()[..at]).ok());
            }
        }
        found.dedup();
        found
    }
}

/// What may be trusted of the tips when nothing is known of now.
pub(super) fn recorded_tips(record: &Record) -> Tips {
    let base = std::iter::once(&record.base.commit);
    let all = base.chain(record.base.tips.iter().map(|tip| &tip.commit));
    Tips {
        trusted: all.cloned().collect(),
        ..Tips::default()
    }
}

fn upstream_has(git: &Git, commit: &CommitId, tips: &Tips) -> Result<bool, FactsError> {
    for tip in &tips.trusted {
        if git.is_ancestor(commit, tip)? {
            return Ok(true);
        }
    }
    Ok(false)
}
