//! Answers how commits are related, as git-merge-base(1) and git-rev-list(1) do.
//!
//! Each commit that is read is held against its id, as git does where it parses one. A commit that
//! is missing is an error, except in a shallow clone (gitrepository-layout(5), `shallow`), where a
//! parent that is missing is none. A parent that is there counts, whatever `shallow` says of its
//! child: `git fetch --depth=1` writes that file in a repository that has the whole history.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use gix::hash::ObjectId;
use gix::objs::{Data, Find, FindExt, Kind};
use gix::revision::plumbing::{Graph, merge_base};

use crate::git::commit_memory::CommitMemory;
use crate::git::error::{GitError, reading};
use crate::git::git_dir::read_file;
use crate::git::object_format::{commit_id_of, oid_of};
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::repo::Repo;
use crate::words::name::CommitId;

/// What messages call it.
const HISTORY: &str = "the history";

/// Represents the commits of a repository.
pub(super) struct RevisionHistory {
    repo: Arc<Repo>,
    objects: Objects,
    is_shallow: bool,
    /// True if objects of a quarantine are among them, which may go again.
    has_quarantine: bool,
}

impl Find for RevisionHistory {
    fn try_find<'a>(
        &self,
        id: &gix::hash::oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::Result<Option<Data<'a>>> {
        let hash = self.repo.format.0;
        if let Some(memory) = self.memory()
            && memory.read(id, buffer)
        {
            self.leave_out_lost_parents(buffer);
            return Ok(Some(Data::new(buffer, Kind::Commit, hash)));
        }
        let failed = |detail: &str| gix::Error::from(gix::error::message!("{id} {detail}"));
        let found = self.objects.try_find(id, buffer)?;
        let found = found.ok_or_else(|| failed("is not in the repository"))?;
        let kind = found.kind;
        if kind == Kind::Commit && !self.remember(id, found.data) {
            return Err(failed("is damaged"));
        }
        *buffer = headers_of(found.data);
        self.leave_out_lost_parents(buffer);
        Ok(Some(Data::new(buffer, kind, hash)))
    }
}

/// Returns what is read of a commit here: the lines before the message.
fn headers_of(commit: &[u8]) -> Vec<u8> {
    let lines = commit.lines_with_terminator();
    let headers = lines.take_while(|line| line.trim() != b"");
    headers.collect::<Vec<_>>().concat()
}

/// Says which commits of the history some commits have, the tips.
pub struct Reachability {
    /// Sorted.
    tips: Vec<CommitId>,
    commits: Reached,
}

/// The commits that a walk found, until all of its tips had what was left.
type Reached = HashMap<ObjectId, ReachedCommit>;

struct ReachedCommit {
    time: i64,
    parents: Vec<ObjectId>,
    /// A bit for each tip that has it.
    had_by: Vec<u64>,
}

impl ReachedCommit {
    fn is_had_by(&self, tip: usize) -> bool {
        self.had_by[tip / 64] >> (tip % 64) & 1 == 1
    }
}

impl Reachability {
    fn tip(&self, id: &CommitId) -> Option<usize> {
        self.tips.binary_search(id).ok()
    }

    /// Whether a tip is another one or has it as an ancestor; no where one of them is not a tip.
    pub fn has(&self, tip: &CommitId, older: &CommitId) -> bool {
        let older = self.commits.get(&oid_of(older));
        let tip = self.tip(tip).zip(older);
        tip.is_some_and(|(tip, older)| older.is_had_by(tip))
    }

    /// The time of a tip, in seconds since 1970; none where it is not a tip.
    pub fn time(&self, tip: &CommitId) -> Option<i64> {
        Some(self.commits.get(&oid_of(tip))?.time)
    }

    /// Counts the commits that one tip has and another has not; none where one of them is not a tip.
    pub fn only_in(&self, one: &CommitId, other: &CommitId) -> Option<u64> {
        let (one, other) = (self.tip(one)?, self.tip(other)?);
        let only = |commit: &&ReachedCommit| commit.is_had_by(one) && !commit.is_had_by(other);
        Some(self.commits.values().filter(only).count() as u64)
    }
}

impl RevisionHistory {
    /// Returns the commits that were read before.
    fn memory(&self) -> Option<&CommitMemory> {
        (!self.has_quarantine).then_some(&self.repo.commits)
    }

    /// Holds a commit against its id, and remembers its headers. Returns false if it is damaged.
    fn remember(&self, id: &gix::hash::oid, commit: &[u8]) -> bool {
        let hash = gix::objs::compute_hash(self.repo.format.0, Kind::Commit, commit);
        if !hash.is_ok_and(|hash| hash == id) {
            return false;
        }
        if let Some(memory) = self.memory() {
            memory.add(id, &headers_of(commit));
        }
        true
    }

    /// Leaves out the parents that a shallow clone does not have.
    fn leave_out_lost_parents(&self, headers: &mut Vec<u8>) {
        if self.is_shallow {
            let lines = headers.lines_with_terminator();
            let lines = lines.filter(|line| !self.is_lost_parent(line));
            *headers = lines.collect::<Vec<_>>().concat();
        }
    }

    /// Whether a line of a commit names a parent that is not in the repository.
    fn is_lost_parent(&self, line: &[u8]) -> bool {
        let id = line.strip_prefix(b"parent ").map(<[u8]>::trim_ascii_end);
        let id = id.and_then(|id| ObjectId::from_hex(id).ok());
        id.is_some_and(|id| !matches!(self.objects.try_find(&id, &mut Vec::new()), Ok(Some(_))))
    }

    fn read(&self, id: &ObjectId, had_by: Vec<u64>) -> Result<ReachedCommit, GitError> {
        let mut buffer = Vec::new();
        let commit = self.find_commit_iter(id, &mut buffer);
        let commit = commit.map_err(reading(HISTORY))?;
        let committer = commit.committer().map_err(reading(HISTORY))?;
        Ok(ReachedCommit {
            time: committer.seconds(),
            parents: commit.parent_ids().collect(),
            had_by,
        })
    }

    /// Walks from these commits, each with the number of a tip, the newest first. A commit that all
    /// `tips` have is not followed to what is not known yet, once there is no other left.
    fn walk(
        &self,
        from: impl Iterator<Item = (ObjectId, usize)>,
        tips: usize,
    ) -> Result<Reached, GitError> {
        let none = vec![0_u64; tips.div_ceil(64)];
        let (mut commits, mut queue) = (Reached::new(), BinaryHeap::new());
        let bit = |tip: usize| {
            let mut bits = none.clone();
            bits[tip / 64] = 1 << (tip % 64);
            bits
        };
        let mut found: Vec<_> = from.map(|(id, tip)| (id, bit(tip))).collect();
        loop {
            for (id, had_by) in found.drain(..) {
                let commit = match commits.entry(id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(self.read(&id, none.clone())?),
                };
                let before = commit.had_by.clone();
                let words = commit.had_by.iter_mut().zip(had_by);
                words.for_each(|(word, bits)| *word |= bits);
                if commit.had_by != before {
                    queue.push((commit.time, id));
                }
            }
            let is_open = |(_, id): &(i64, ObjectId)| {
                let bits = commits[id].had_by.iter().map(|word| word.count_ones());
                bits.sum::<u32>() as usize != tips
            };
            let Some(next) = queue.pop() else {
                return Ok(commits);
            };
            let goes_on = is_open(&next) || queue.iter().any(is_open);
            let commit = &commits[&next.1];
            let parents = commit.parents.iter();
            let parents = parents.filter(|parent| goes_on || commits.contains_key(*parent));
            found.extend(parents.map(|parent| (*parent, commit.had_by.clone())));
        }
    }

    /// The commit that an object is or, being an annotated tag, leads to; none where it is neither
    /// or missing.
    pub(super) fn peel(&self, id: &CommitId) -> Result<Option<CommitId>, GitError> {
        let mut next = oid_of(id);
        if self.memory().is_some_and(|memory| memory.has(&next)) {
            return Ok(Some(id.clone()));
        }
        let mut buffer = Vec::new();
        loop {
            let found = self.objects.try_find(&next, &mut buffer);
            let Some(found) = found.map_err(reading(format_args!("object {next}")))? else {
                return Ok(None);
            };
            match found.kind {
                Kind::Commit => {
                    // one that is damaged is said to be so where its history is asked for
                    self.remember(&next, found.data);
                    return Ok(Some(commit_id_of(&next)));
                }
                Kind::Tree | Kind::Blob => return Ok(None),
                Kind::Tag => {
                    let tag = gix::objs::TagRefIter::from_bytes(found.data, found.object_hash);
                    let target = tag.target_id();
                    next = target.map_err(reading(format_args!("the tag {next}")))?;
                }
            }
        }
    }
}

/// Orders commits so that each comes after its children (`--topo-order`), newer ones first.
fn children_first(commits: &Reached, is_listed: impl Fn(&ReachedCommit) -> bool) -> Vec<CommitId> {
    let listed = commits.iter().filter(|(_, commit)| is_listed(commit));
    let mut waiting: HashMap<&ObjectId, usize> = listed.clone().map(|(id, _)| (id, 0)).collect();
    for parent in listed.clone().flat_map(|(_, commit)| &commit.parents) {
        waiting.entry(parent).and_modify(|children| *children += 1);
    }
    let tips = listed.filter(|(id, _)| waiting[id] == 0);
    let mut next: Vec<(&ObjectId, &ReachedCommit)> = tips.collect();
    next.sort_unstable_by_key(|(id, commit)| (commit.time, Reverse(*id)));
    let mut ordered = Vec::with_capacity(waiting.len());
    while let Some((id, commit)) = next.pop() {
        ordered.push(commit_id_of(id));
        for parent in &commit.parents {
            if let Some(children) = waiting.get_mut(parent) {
                *children -= 1;
                if *children == 0 {
                    next.push((parent, &commits[parent]));
                }
            }
        }
    }
    ordered
}

impl Git {
    /// The commits of the repository, with those of the quarantine.
    pub(super) fn history(&self) -> Result<RevisionHistory, GitError> {
        let repo = self.repo()?;
        let mut objects = Objects::of(repo.objects(), repo.format);
        if let Some(quarantine) = &self.quarantine {
            objects = objects.with_quarantine(quarantine)?;
        }
        let shallow = read_file(repo.common_dir.join("shallow"))?;
        Ok(RevisionHistory {
            objects,
            is_shallow: shallow.is_some_and(|all| !all.is_empty()),
            has_quarantine: self.quarantine.is_some(),
            repo,
        })
    }

    /// Returns the commits at which history ends here, as `shallow` says; of those only what is here.
    ///
    /// # Errors
    /// Fails when the repository cannot be read.
    pub fn shallow_commits(&self) -> Result<Vec<CommitId>, GitError> {
        let listed = self.repo()?.local().shallow_commits();
        let listed = listed.map_err(reading(HISTORY))?;
        let history = self.history()?;
        let mut found = Vec::new();
        for id in listed.iter().flat_map(|all| all.iter()) {
            found.extend(history.peel(&commit_id_of(id))?);
        }
        Ok(found)
    }

    /// Whether a parent of a commit is not in the repository.
    ///
    /// # Errors
    /// Fails when the commit cannot be read.
    pub fn has_lost_parent(&self, commit: &CommitId) -> Result<bool, GitError> {
        let history = self.history()?;
        for parent in history.objects.commit(commit)?.parents {
            if history.peel(&parent)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the history of a commit goes on where this shallow repository has no more of it.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn is_cut(&self, commit: &CommitId) -> Result<bool, GitError> {
        for end in self.shallow_commits()? {
            if self.has_lost_parent(&end)? && self.is_ancestor(&end, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the best common ancestors of a commit and a hypothetical merge of the tips
    /// (`git merge-base --all`); none when the histories are unrelated.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_all(
        &self,
        commit: &CommitId,
        tips: &[CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if tips.is_empty() {
            return Ok(vec![commit.clone()]);
        }
        let tips: Vec<ObjectId> = tips.iter().map(oid_of).collect();
        let history = self.history()?;
        let found = merge_base(oid_of(commit), &tips, &mut Graph::new(&history, None));
        let found = found.map_err(reading(HISTORY))?.into_iter().flatten();
        Ok(found.map(|id| commit_id_of(&id)).collect())
    }

    /// Returns a best common ancestor of all these commits (`git merge-base --octopus`); none when
    /// they have none.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_octopus(&self, commits: &[CommitId]) -> Result<Option<CommitId>, GitError> {
        let Some((first, rest)) = commits.split_first() else {
            return Ok(None);
        };
        let history = self.history()?;
        let rest: Vec<ObjectId> = rest.iter().map(oid_of).collect();
        let found = merge_base::octopus(oid_of(first), &rest, &mut Graph::new(&history, None));
        let found = found.map_err(reading(HISTORY))?;
        Ok(found.map(|id| commit_id_of(&id)))
    }

    /// Returns those of these commits that no other of them has (`git merge-base --independent`).
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_independent(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, GitError> {
        let reach = self.reach(commits)?;
        let mut kept: Vec<CommitId> = Vec::new();
        for one in commits {
            let has_it = |other: &CommitId| other != one && reach.has(other, one);
            if !kept.contains(one) && !commits.iter().any(has_it) {
                kept.push(one.clone());
            }
        }
        Ok(kept)
    }

    /// Whether a commit is an ancestor of another, or the same.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn is_ancestor(&self, older: &CommitId, newer: &CommitId) -> Result<bool, GitError> {
        Ok(older == newer || self.reach([older, newer])?.has(newer, older))
    }

    /// Returns the commits that are reachable from `tips` and not from `known`, the newest first.
    /// Tips that are gone (a reflog can name what was collected) are passed over.
    ///
    /// # Errors
    /// Fails when another commit is missing or damaged.
    pub fn rev_list(
        &self,
        tips: &[&CommitId],
        known: &[&CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if tips.iter().all(|tip| known.contains(tip)) {
            return Ok(Vec::new());
        }
        let history = self.history()?;
        // what these objects lead to; what is no commit, or gone, is left out
        let commits = |ids: &[&CommitId]| {
            let found = ids.iter().filter_map(|id| history.peel(id).transpose());
            found.collect::<Result<Vec<_>, _>>()
        };
        let (tips, known) = (commits(tips)?, commits(known)?);
        let tips = tips.iter().map(|tip| (oid_of(tip), 0));
        let from = tips.chain(known.iter().map(|known| (oid_of(known), 1)));
        let commits = history.walk(from, 2)?;
        Ok(children_first(&commits, |commit| !commit.is_had_by(1)))
    }

    /// Counts the commits that are in `newer` and not in `older`.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn rev_list_count(&self, older: &CommitId, newer: &CommitId) -> Result<u64, GitError> {
        let reach = self.reach([older, newer])?;
        Ok(reach.only_in(newer, older).unwrap_or_default())
    }

    /// Reads which commits these have.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn reach<'c>(
        &self,
        tips: impl IntoIterator<Item = &'c CommitId>,
    ) -> Result<Reachability, GitError> {
        let tips: BTreeSet<&CommitId> = tips.into_iter().collect();
        let from = tips.iter().enumerate().map(|(tip, id)| (oid_of(id), tip));
        let commits = self.history()?.walk(from, tips.len())?;
        let tips = tips.into_iter().cloned().collect();
        Ok(Reachability { tips, commits })
    }

    /// Returns the names of the refs below these prefixes that contain a commit.
    ///
    /// # Errors
    /// Fails when the refs cannot be read, or a commit is missing or damaged.
    pub fn refs_containing(
        &self,
        commit: &CommitId,
        prefixes: &[&str],
    ) -> Result<Vec<BString>, GitError> {
        let history = self.history()?;
        let mut refs = Vec::new();
        for found in self.for_each_ref(prefixes)? {
            refs.extend(history.peel(&found.id)?.map(|newer| (found.name, newer)));
        }
        let reach = self.reach(refs.iter().map(|(_, newer)| newer).chain([commit]))?;
        refs.retain(|(_, newer)| reach.has(newer, commit));
        Ok(refs.into_iter().map(|(name, _)| name).collect())
    }
}
