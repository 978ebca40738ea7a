//! Holds what everything is read from, [`Ground`], and what a worktree is on and may have taken over
//! from others, [`Sources`]: all but the index and the files on disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use bstr::ByteSlice;
use camino::Utf8PathBuf;

use crate::disk::files;
use crate::git::hooks::journal;
use crate::git::hooks::journal::Journal;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::inventory::manifest::Manifest;
use crate::judge::change::{Cause, Change, ChangeSet, Content, Kind, Place, SharedChange};
use crate::judge::compare::{Delta, entry_in, merge_references, same};
use crate::record::accepted::Acceptances;
use crate::record::worktree::Record;
use crate::scope::{Access, EntryKind};
use crate::system::count_in;
use crate::truth::commits::History;
use crate::truth::heads::{Heads, Tips, find_tips, have, recorded_tips};
use crate::truth::integrity::{broken_links, changed_files, past_the_hooks};
use crate::truth::moves::{OwnRef, RefMoves};
use crate::truth::passed::Passed;
use crate::truth::{integrity, seal, sealed, shared};
use crate::words::entry::{Entry, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Says what a worktree is compared with, and what a failure to read means.
#[derive(Debug, Default)]
pub struct Terms {
    /// Another base than the recorded one.
    pub base: Option<CommitId>,
    /// Whether reading goes on without what cannot be read.
    pub effort: Effort,
    /// Which large files are read although their size tells that they are changed.
    pub large_files: LargeFiles,
    /// Another index than the worktree's own: the one that a hook was given (`GIT_INDEX_FILE`,
    /// githooks(5)), with what is to be committed.
    pub index: Option<Utf8PathBuf>,
    /// Another commit than the worktree's branch and HEAD name: the one that they are to be moved to.
    pub head: Option<CommitId>,
}

/// Says which large files are read although their size tells that they are changed: a person accepts
/// a file by its content.
#[derive(Clone, Debug, Default)]
pub enum LargeFiles {
    /// None of them.
    #[default]
    Unread,
    /// Those at these paths, and below them.
    ReadBelow(Vec<RepoPath>),
    /// All of them.
    ReadAll,
}

impl LargeFiles {
    /// Whether the file at a path is read.
    pub fn reads(&self, path: &RepoPath) -> bool {
        match self {
            Self::Unread => false,
            Self::ReadBelow(paths) => paths
                .iter()
                .any(|asked| path == asked || path.is_below(asked.as_bstr())),
            Self::ReadAll => true,
        }
    }
}

/// Holds what everything is read from.
pub struct Ground<'a> {
    pub repository: &'a Repository,
    pub known: &'a Worktree,
    pub manifest: Manifest,
    pub objects: Objects,
    pub git: Git,
    pub terms: &'a Terms,
}

/// Holds what the worktree is on, and what it may have taken over from others.
pub struct Sources {
    pub heads: Heads,
    pub compared: Compared,
    pub around: Surroundings,
    /// The commits of its own, the newest first, and what they touched.
    pub commits: Vec<CommitId>,
    pub history: History,
}

impl Sources {
    /// Every path of which a difference from the base is known, or that a commit touched.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        let compared = &self.compared;
        let references = compared.committed.iter().chain(&compared.tip);
        let branches = compared.branches.iter();
        let branches = branches.flat_map(|(branch, like)| like.iter().chain([branch]));
        let all = references.chain(branches).chain([&compared.head]);
        all.flat_map(Delta::keys).chain(self.history.paths())
    }

    /// Net changes, with what is wrong around the worktree.
    pub fn changes(&mut self, ground: &Ground<'_>, changes: Vec<Change>) -> ChangeSet {
        let around = &mut self.around;
        around.wrong.sort();
        around.wrong.dedup();
        around.shared.sort();
        let noted = around.noted.take().into_iter().collect();
        let base = ground.terms.base.as_ref();
        let base = base.unwrap_or(&ground.known.record.base.commit).clone();
        let head = self.heads.head.clone().unwrap_or_else(|| base.clone());
        ChangeSet {
            integrity: std::mem::take(&mut around.wrong),
            noted,
            shared: std::mem::take(&mut around.shared),
            ..ChangeSet::new(base, head, changes)
        }
    }
}

impl Ground<'_> {
    /// What commits touched though it is as before again.
    pub fn put_back(&self, sources: &Sources, net: &BTreeSet<&RepoPath>) -> Vec<Change> {
        let (compared, history) = (&sources.compared, &sources.history);
        let is_known = |path: &RepoPath, entry: Option<Entry>| {
            let mut known = compared.committed.iter().chain(&compared.tip);
            known.any(|like| same(entry_in(&self.manifest, like, path), entry))
                || compared.passed.is_state(path, entry)
        };
        let (been_on, reflog) = (&sources.around.been_on, &sources.heads.reflog);
        let is_own =
            |id: &CommitId| been_on.contains(id) || reflog.iter().any(|entry| entry.id == *id);
        history.put_back(net, &is_known, &is_own)
    }

    /// Reads what the worktree is on, and what it may have taken over from others.
    ///
    /// # Errors
    /// Fails when the base, the record or the common repository cannot be read.
    pub fn sources(&self) -> Result<Sources, Error> {
        let (record, effort) = (&self.known.record, &self.terms.effort);
        let mut heads = Heads::read(self.repository, self.known, effort)?;
        if let Some(head) = &self.terms.head {
            (heads.head, heads.branch) = (Some(head.clone()), Some(head.clone()));
        }
        let mut around = self.surroundings(&heads)?;
        let compared = self.compared(&heads, &around);
        let compared = effort.or(compared, || Compared::with_nothing_but(self))?;
        if let Some(said) = heads.astray(record, compared.base_lost) {
            let change = Change::detailed(Place::Head, Kind::Ref, said);
            if compared.is_related && heads.is_harmless(&around.own, &around.been_on) {
                around.noted = Some(change);
            } else {
                around.wrong.push(change);
            }
        }
        let known = [compared.trusted.as_slice(), &around.foreign].concat();
        let commits = heads.new_commits(&self.git, &known, &around.been_on, &around.own);
        let commits = effort.or(commits, Vec::new)?;
        let history = History::read(&self.objects, &commits);
        let history = effort.or(history, History::default)?;
        let mut compared = compared;
        let is_picking = || files::exists(&record.admin_dir.join("CHERRY_PICK_HEAD"));
        let may_write = |path: &RepoPath| {
            let verdict = self.known.scope.verdict(path, EntryKind::File);
            verdict.access == Access::Write
        };
        if !history.paths().all(may_write) || is_picking() {
            let passed = self.passed(&around.tips, &heads, &compared);
            compared.passed = effort.or(passed, Passed::default)?;
        }
        Ok(Sources {
            heads,
            compared,
            around,
            commits,
            history,
        })
    }

    fn surroundings(&self, heads: &Heads) -> Result<Surroundings, Error> {
        let (repository, known, effort) = (self.repository, self.known, &self.terms.effort);
        let record = &known.record;
        let mut around = Surroundings {
            wrong: broken_links(repository, record).into_iter().collect(),
            tips: recorded_tips(record),
            ..Surroundings::default()
        };
        if known.is_without(repository) {
            // nothing of it can be held against what was recorded
            return Ok(around);
        }
        let files = changed_files(repository, record);
        around.wrong.extend(effort.or(files, Vec::new)?);
        let mut journal = None;
        if !heads.pipes.contains(&journal::FILE) {
            journal = effort.or(known.journal(), || None)?;
        }
        around.wrong.extend(heads.pipes.iter().map(|name| {
            let said = "a pipe or a device stands in its place: it has no end";
            integrity::integrity(Place::Admin((*name).into()), said)
        }));
        around.wrong.extend(integrity::links(record));
        let silent = self.silent_commits(heads, &mut journal)?;
        around.wrong.extend(silent);
        let journal = journal.unwrap_or_default();
        let own = record.branch.full_ref();
        for name in ["HEAD", &own] {
            let places = journal.places(name.as_bytes());
            around.been_on.extend(places.cloned());
        }
        let moves = RefMoves::read(repository, known, &journal, heads);
        let Some(moves) = effort.or(moves.map(Some), || None)? else {
            return Ok(around);
        };
        around.own = moves.own_refs();
        if heads.moved || !around.own.is_empty() {
            around.foreign = moves.foreign();
        }
        let read = || {
            Ok::<_, Error>((
                known.shared()?,
                seal::read(repository, Some(&record.admin_dir))?,
            ))
        };
        let both = effort.or(read(), Default::default)?;
        let before = known.settings_as_accepted(&both.0.settings);
        let rewired = sealed::rewired_remotes(&before, &both.1.settings);
        let tips = find_tips(&self.objects, &moves, &rewired);
        around.tips = effort.or(tips, || recorded_tips(record))?;
        let found = shared::changes(&moves, &self.objects, &both, &around.own);
        let found = effort.or(found, Vec::new)?;
        for name in &around.tips.untrusted {
            let place = Place::Git(name.as_str().into());
            if !found.iter().any(|one| one.change.place == place) {
                let (kind, said) = (Kind::Ref, shared::UNEXPLAINED);
                let change = SharedChange::new(place, kind, said, Cause::Unknown);
                around.shared.push(change);
            }
        }
        around.shared.extend(found);
        let accepted = Acceptances::new(&record.decisions);
        let reverted = accepted.find_reverted(&around.shared);
        around.shared.extend(reverted);
        name_refs(&moves, &mut around.shared);
        Ok(around)
    }

    /// Finds commits that no hook of ours reported; where they may still be about to, after some waiting.
    /// Git writes HEAD's log first, and hooks of the user may run before ours.
    fn silent_commits(
        &self,
        heads: &Heads,
        journal: &mut Option<Journal>,
    ) -> Result<Option<Change>, Error> {
        let record = &self.known.record;
        let began = Instant::now();
        loop {
            let mut silent = past_the_hooks(record, journal.as_ref(), heads);
            let log_age = log_age(record).filter(|_| silent.is_some() && journal.is_some());
            let Some(log_age) = log_age else {
                return Ok(silent);
            };
            let waited = began.elapsed();
            let is_fresh = waited < HOOK && log_age < FRESH;
            if !is_fresh {
                let is_at_work = may_run_hooks(record, log_age.saturating_sub(waited));
                if is_at_work && waited >= PATIENCE {
                    let detail = silent.as_mut().and_then(|change| change.detail.as_mut());
                    detail
                        .into_iter()
                        .for_each(|said| said.push_str(STILL_AT_WORK));
                }
                if !is_at_work || waited >= PATIENCE {
                    return Ok(silent);
                }
            }
            std::thread::sleep(HOOK);
            *journal = self.terms.effort.or(self.known.journal(), || None)?;
        }
    }
}

/// What is said where a git was waited for in vain.
const STILL_AT_WORK: &str =
    ", or a hook still runs: git is working here, verify again when it is done";
/// The time that a hook has to write to the journal.
const HOOK: Duration = Duration::from_millis(100);
/// The age of HEAD's log, at most, at which a hook may still have to write.
const FRESH: Duration = Duration::from_secs(2);
/// The same where a git works in the worktree.
const AT_WORK: Duration = Duration::from_secs(60);
/// How long that git is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a git works in the worktree that may have made the newest commit and still runs its hooks.
fn may_run_hooks(record: &Record, log_age: Duration) -> bool {
    log_age < AT_WORK && count_in("git", &record.path).is_some_and(|number| number > 0)
}

/// How old the log of the worktree's HEAD is; none where there is no log.
fn log_age(record: &Record) -> Option<Duration> {
    let log = files::stat(&record.admin_dir.join("logs/HEAD"))?;
    Some(age_of(log.mtime))
}

/// How long ago a time was, in nanoseconds since the epoch; nothing for one in the future.
fn age_of(time: i64) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = Duration::from_nanos(u64::try_from(time).unwrap_or_default());
    now.unwrap_or_default().saturating_sub(time)
}

/// Holds what surrounds a worktree.
#[derive(Default)]
pub struct Surroundings {
    /// What is wrong with it and its private git directory.
    pub wrong: Vec<Change>,
    /// Where HEAD is, if that is elsewhere and no harm.
    pub noted: Option<Change>,
    /// What is not as it was of what it shares.
    pub shared: Vec<SharedChange>,
    /// Which commits count as work of others.
    pub tips: Tips,
    /// Where HEAD and the branch have been, as the journal says.
    pub been_on: Vec<CommitId>,
    /// The branches, tags and stashes that were made here.
    pub own: Vec<OwnRef>,
    /// What others brought beside the tips; only read where HEAD is elsewhere, or `own` is not empty.
    pub foreign: Vec<CommitId>,
}

/// Holds the trees of what a worktree is on, and what each may be without a change made here.
#[derive(Default)]
pub struct Compared {
    /// The commits that count as work of others, with all that they have.
    pub trusted: Vec<CommitId>,
    /// The reference that the files on disk are nearest to; none when it cannot be told.
    pub nearest: Option<CommitId>,
    /// HEAD's tree.
    pub head: Delta,
    /// References of HEAD, the nearest first: what the base has, with upstream work that was merged.
    pub committed: Vec<Delta>,
    /// References of the index and the disk: a merge in progress brings more.
    pub working: Vec<Delta>,
    /// What a merge in progress changes.
    pub arriving: Delta,
    /// What the newest of upstream has: to be like that is no change, as a merge makes none of it.
    pub tip: Option<Delta>,
    /// What upstream had since HEAD left it; only read where a commit touched what the scope does not
    /// let the worktree write.
    pub passed: Passed,
    /// The recorded branch where HEAD is elsewhere, and what else was made here that is not on HEAD,
    /// each with its references.
    pub branches: Vec<(Delta, Vec<Delta>)>,
    pub base_lost: bool,
    /// Whether HEAD and what counts as work of others have a common ancestor.
    pub is_related: bool,
}

static NOTHING: Delta = Delta::new();

impl Compared {
    /// The nearest reference of HEAD.
    pub fn reference(&self) -> &Delta {
        self.committed.first().unwrap_or(&NOTHING)
    }

    /// The nearest reference of the index and the disk.
    pub fn reference_on_disk(&self) -> &Delta {
        self.working.first().unwrap_or(&NOTHING)
    }

    /// Where no commit can be read, the disk and the index can still be held against what was
    /// checked out; against another base they cannot.
    pub fn with_nothing_but(ground: &Ground<'_>) -> Self {
        let record = &ground.known.record;
        let (nearest, checked_out) = match &ground.terms.base {
            None => (Some(record.checked_out.clone()), vec![Delta::new()]),
            Some(_) => (None, Vec::new()),
        };
        Self {
            trusted: recorded_tips(record).trusted,
            nearest,
            committed: checked_out.clone(),
            working: checked_out,
            is_related: true,
            ..Self::default()
        }
    }
}

impl Ground<'_> {
    /// Finds the trees of what the worktree is on, and their references.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn compared(&self, heads: &Heads, around: &Surroundings) -> Result<Compared, Error> {
        let found = &around.tips;
        let (record, effort, git) = (&self.known.record, &self.terms.effort, &self.git);
        let recorded = &record.base.commit;
        let mut trees = Trees::new(&self.objects, &record.checked_out)?;
        let head = heads.head.as_ref().unwrap_or(recorded);
        let (mut trusted, mut base, mut base_lost) = (found.trusted.clone(), recorded, None);
        if let Some(other) = &self.terms.base {
            let own = References::find(git, &mut trees, head, recorded, (&trusted, &found.rewound));
            base_lost = Some(effort.or(own.map(|own| own.base_lost), || false)?);
            trusted = vec![other.clone()];
            base = other;
        }
        let mut like = trusted.clone();
        if self.terms.base.is_none() && heads.moved {
            let on = heads.symbolic.as_deref().unwrap_or_default();
            let own = around.own.iter().find(|one| one.name == on);
            let start = own.and_then(|own| own.start.as_ref());
            like.extend(self.brought(around, &trusted, start.into_iter().chain([head]))?);
        }
        let references = References::find(git, &mut trees, head, base, (&like, &found.rewound))?;
        let committed = references.deltas;
        let mut commits = references.commits;
        let mut working = committed.clone();
        let mut arriving = Delta::new();
        for merged in &heads.merging {
            // what HEAD has already is not being merged, whatever MERGE_HEAD says
            let new = !git.is_ancestor(merged, head)?;
            if new && effort.or(have(git, &trusted, merged), || false)? {
                commits.push(merged.clone());
                let ancestors = git.merge_base_all(head, std::slice::from_ref(merged))?;
                let before = ancestors.first().unwrap_or(base);
                let tree = |commit| Ok::<_, Error>(self.objects.commit(commit)?.tree);
                let (before, after) = (tree(before)?, tree(merged)?);
                arriving.extend(self.objects.difference(Some(&before), Some(&after))?);
                if references.base_lost {
                    working.push(trees.delta(merged)?);
                } else {
                    working = trees.merged(git, &commits)?;
                }
            }
        }
        let newest = match &self.terms.base {
            Some(other) => Some(other.clone()),
            None => effort.or(found.newest(git), || None)?,
        };
        let tip = newest.filter(|tip| !commits.contains(tip));
        let tip = tip.map(|tip| trees.delta(&tip)).transpose()?;
        let own = around.own.iter().map(|one| (&one.tip, one.start.as_ref()));
        let all: BTreeMap<_, _> = own
            .chain(heads.branch.iter().map(|tip| (tip, None)))
            .collect();
        let mut branches = Vec::new();
        for (tip, start) in all {
            if heads.head.as_ref() == Some(tip)
                || heads.branch.as_ref() != Some(tip)
                    && !self
                        .brought(around, &trusted, [tip].into_iter())?
                        .is_empty()
            {
                continue;
            }
            let mut like = trusted.clone();
            like.extend(self.brought(around, &trusted, start.into_iter())?);
            let references = References::find(git, &mut trees, tip, base, (&like, &found.rewound));
            let both = references.and_then(|found| Ok((trees.delta(tip)?, found.deltas)));
            branches.extend(effort.or(both.map(Some), || None)?);
        }
        let unchanged = || committed.first().cloned().unwrap_or_default();
        Ok(Compared {
            head: effort.or(trees.delta(head), unchanged)?,
            nearest: commits.first().cloned(),
            base_lost: base_lost.unwrap_or(references.base_lost),
            trusted,
            committed,
            working,
            arriving,
            is_related: references.is_related,
            tip,
            passed: Passed::default(),
            branches,
        })
    }

    /// Those of these commits that others brought, with all that they have.
    fn brought<'c>(
        &self,
        around: &Surroundings,
        trusted: &[CommitId],
        commits: impl Iterator<Item = &'c CommitId>,
    ) -> Result<Vec<CommitId>, Error> {
        let known: Vec<&CommitId> = trusted.iter().chain(&around.foreign).collect();
        let mut all = Vec::new();
        for commit in commits {
            if self.git.rev_list(&[commit], &known)?.is_empty() {
                all.push(commit.clone());
            }
        }
        Ok(all)
    }
}

/// Computes differences from the base's tree, each tree once.
pub struct Trees<'a> {
    objects: &'a Objects,
    base: ObjectId,
    known: HashMap<ObjectId, Delta>,
}

/// Holds the references of one commit.
#[derive(Clone, Debug)]
pub struct References {
    /// Their differences from the base, the nearest first; of several, what a merge makes of them.
    pub deltas: Vec<Delta>,
    /// The commits, the nearest first; at least one.
    pub commits: Vec<CommitId>,
    /// Whether the commit has left the base without following upstream: the base is no ancestor
    /// of it, and nothing newer of upstream is either.
    pub base_lost: bool,
    /// Whether the commit has a common ancestor with upstream.
    pub is_related: bool,
}

impl<'a> Trees<'a> {
    /// Starts with the tree that was checked out when the worktree was made: all differences are
    /// told from it, as the manifest is.
    pub fn new(objects: &'a Objects, checked_out: &CommitId) -> Result<Self, Error> {
        let base = objects.commit(checked_out)?.tree;
        Ok(Self {
            objects,
            base,
            known: HashMap::new(),
        })
    }

    /// How the tree of a commit differs from the one that was checked out.
    pub fn delta(&mut self, commit: &CommitId) -> Result<Delta, Error> {
        let tree = self.objects.commit(commit)?.tree;
        if let Some(delta) = self.known.get(&tree) {
            return Ok(delta.clone());
        }
        let delta = self.objects.difference(Some(&self.base), Some(&tree))?;
        self.known.insert(tree, delta.clone());
        Ok(delta)
    }

    /// What a merge of these commits may look like: their trees, and where only some of them
    /// changed a path since their common ancestor, only what those have.
    pub fn merged(&mut self, git: &Git, commits: &[CommitId]) -> Result<Vec<Delta>, Error> {
        let deltas: Result<Vec<_>, _> = commits.iter().map(|one| self.delta(one)).collect();
        let deltas = deltas?;
        if commits.len() < 2 {
            return Ok(deltas);
        }
        Ok(match git.merge_base_octopus(commits)? {
            Some(ancestor) => merge_references(&deltas, &self.delta(&ancestor)?),
            None => deltas,
        })
    }
}

impl References {
    /// Finds the references of a commit.
    ///
    /// They are the best common ancestors of it and a hypothetical merge of the trusted tips,
    /// and the base itself if it is no ancestor and nothing newer of upstream is one (it was
    /// amended, or the branch reset). A base branch that was `rewound` to a commit before the base
    /// replaces the base as well.
    pub fn find(
        git: &Git,
        trees: &mut Trees<'_>,
        commit: &CommitId,
        base: &CommitId,
        (trusted, rewound): (&[CommitId], &[CommitId]),
    ) -> Result<Self, Error> {
        if commit == base {
            return Ok(Self {
                deltas: vec![trees.delta(base)?],
                commits: vec![base.clone()],
                base_lost: false,
                is_related: true,
            });
        }
        let mut commits = git.merge_base_all(commit, trusted)?;
        let is_related = !commits.is_empty();
        let mut base_lost = !commits.contains(base) && !git.is_ancestor(base, commit)?;
        for ancestor in &commits {
            let is_rewound = rewound.contains(ancestor);
            base_lost = base_lost && !is_rewound && git.is_ancestor(ancestor, base)?;
        }
        let deltas = if base_lost {
            // neither of them replaces the other
            commits.push(base.clone());
            let deltas = commits.iter().map(|one| trees.delta(one));
            deltas.collect::<Result<_, _>>()?
        } else {
            trees.merged(git, &commits)?
        };
        Ok(Self {
            deltas,
            commits,
            base_lost,
            is_related,
        })
    }
}

/// Decides what a failure to read means: the end, or with [`Effort::best`] that it is noted.
#[derive(Debug, Default)]
pub struct Effort(Option<RefCell<Vec<String>>>);

impl Effort {
    /// Goes on without what cannot be read (`--best-effort`).
    pub fn best() -> Self {
        Self(Some(RefCell::default()))
    }

    /// Gives what was read; or, if that failed and reading goes on, what stands in for it.
    ///
    /// # Errors
    /// Fails as the reading did, unless with the best effort.
    pub fn or<T, E: Into<Error>>(
        &self,
        read: Result<T, E>,
        instead: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        match (read.map_err(Into::into), &self.0) {
            (Err(error), Some(_)) => {
                self.note(&error);
                Ok(instead())
            }
            (read, _) => read,
        }
    }

    /// Remembers what is missing where nothing failed for it: damage that is part of the answer.
    pub fn note(&self, missing: &dyn fmt::Display) {
        let text = missing.to_string();
        if let Some(all) = &self.0
            && !all.borrow().contains(&text)
        {
            all.borrow_mut().push(text);
        }
    }

    /// What is missing, in the words of the failures; nothing when the answer is whole.
    pub fn missing(&self) -> Vec<String> {
        let all = self.0.as_ref();
        all.map(|all| all.borrow().clone()).unwrap_or_default()
    }
}

/// Names the commits at which the refs among these changes are; of the stash, every entry.
fn name_refs(moves: &RefMoves<'_>, changes: &mut [SharedChange]) {
    for SharedChange { change, .. } in changes {
        let (Place::Git(name), Kind::Ref) = (&change.place, change.kind) else {
            continue;
        };
        let below = [name.as_slice(), b"/"].concat();
        let from = moves.now.range(name.clone()..);
        let all = from.take_while(|(found, _)| found.starts_with(name));
        for (found, at) in all.filter(|(found, _)| *found == name || found.starts_with(&below)) {
            let key = if found == name {
                "".into()
            } else {
                found.to_str_lossy()
            };
            change
                .now
                .push(Content::value(&key, Some(at.id.to_string())));
        }
        if *name == "refs/stash" {
            let entries = moves.log(name.as_bstr()).into_iter();
            let entries: Vec<String> = entries.map(|entry| entry.id.to_string()).collect();
            change.now = vec![Content::value("", Some(entries.join(" ")))];
        } else if change.now.is_empty() {
            change.now.push(Content::value("", None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::error::GitError;

    fn failure() -> Result<u8, GitError> {
        Err(GitError::Read {
            what: "a tree".into(),
            detail: "it is gone".into(),
        })
    }

    #[test]
    fn a_failure_ends_a_strict_reading_and_only_that() {
        assert!(Effort::default().or(failure(), || 1).is_err());
        let best = Effort::best();
        assert_eq!(best.or(failure(), || 1).ok(), Some(1));
        assert_eq!(best.or(Ok::<_, GitError>(2), || 1).ok(), Some(2));
        assert_eq!(best.or(failure(), || 3).ok(), Some(3));
        assert_eq!(best.missing(), ["cannot read a tree: it is gone"]);
    }
}
