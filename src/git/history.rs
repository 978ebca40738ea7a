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

use bstr::ByteSlice;
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

/// The commits of a repository.
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
        let Some(object) = self.objects.try_find(id, buffer)? else {
            return Err(gix::error::message!("{id} is not in the repository").into());
        };
        let kind = object.kind;
        if kind == Kind::Commit && !self.remember(id, object.data) {
            return Err(gix::error::message!("{id} is damaged").into());
        }
        *buffer = headers_of(object.data);
        self.leave_out_lost_parents(buffer);
        Ok(Some(Data::new(buffer, kind, hash)))
    }
}

/// Returns what is read of a commit here: the lines before the message.
fn headers_of(commit: &[u8]) -> Vec<u8> {
    let mut headers = Vec::new();
    for line in commit.lines_with_terminator() {
        if line.trim().is_empty() {
            break;
        }
        headers.extend_from_slice(line);
    }
    headers
}

/// Which commits some others, the tips, reach.
pub struct Reachability {
    /// Sorted.
    tips: Vec<CommitId>,
    commits: WalkedCommits,
}

/// The commits that a walk visited; it ends where all of its tips reach what is left.
type WalkedCommits = HashMap<ObjectId, WalkedCommit>;

struct WalkedCommit {
    time: i64,
    parents: Vec<ObjectId>,
    reached_from: TipSet,
}

/// A set of tips, each by its number: a bit each.
#[derive(Clone, PartialEq, Eq)]
struct TipSet(Vec<u64>);

impl TipSet {
    /// Makes an empty set that has room for so many tips.
    fn new(tips: usize) -> Self {
        Self(vec![0; tips.div_ceil(64)])
    }

    fn insert(&mut self, tip: usize) {
        self.0[tip / 64] |= 1 << (tip % 64);
    }

    fn contains(&self, tip: usize) -> bool {
        self.0[tip / 64] >> (tip % 64) & 1 == 1
    }

    /// Adds the tips of another set; true if one of them is new.
    fn extend(&mut self, other: &Self) -> bool {
        let mut has_grown = false;
        for (bits, more) in self.0.iter_mut().zip(&other.0) {
            has_grown |= *more & !*bits != 0;
            *bits |= more;
        }
        has_grown
    }

    fn len(&self) -> usize {
        let ones: u32 = self.0.iter().map(|bits| bits.count_ones()).sum();
        ones as usize
    }
}

impl Reachability {
    fn tip(&self, id: &CommitId) -> Option<usize> {
        self.tips.binary_search(id).ok()
    }

    /// True if a tip is another one or has it as an ancestor; false where one of them is not a tip.
    pub fn has(&self, tip: &CommitId, older: &CommitId) -> bool {
        match (self.tip(tip), self.commits.get(&oid_of(older))) {
            (Some(tip), Some(older)) => older.reached_from.contains(tip),
            (_, _) => false,
        }
    }

    /// The time of a tip, in seconds since 1970; none if it is not a tip.
    pub fn time(&self, tip: &CommitId) -> Option<i64> {
        Some(self.commits.get(&oid_of(tip))?.time)
    }

    /// Counts the commits that one tip has and another has not; none if one of them is not a
    /// tip.
    pub fn only_in(&self, tip: &CommitId, other: &CommitId) -> Option<u64> {
        let tip = self.tip(tip)?;
        let other = self.tip(other)?;
        let mut count = 0;
        for commit in self.commits.values() {
            if commit.reached_from.contains(tip) && !commit.reached_from.contains(other) {
                count += 1;
            }
        }
        Some(count)
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
            let mut kept = Vec::new();
            for line in headers.lines_with_terminator() {
                if !self.is_lost_parent(line) {
                    kept.extend_from_slice(line);
                }
            }
            *headers = kept;
        }
    }

    /// True if a line of a commit names a parent that is not in the repository.
    fn is_lost_parent(&self, line: &[u8]) -> bool {
        let Some(digits) = line.strip_prefix(b"parent ") else {
            return false;
        };
        match ObjectId::from_hex(digits.trim_ascii_end()) {
            Ok(id) => !matches!(self.objects.try_find(&id, &mut Vec::new()), Ok(Some(_))),
            Err(_) => false,
        }
    }

    fn read(&self, id: &ObjectId, reached_from: TipSet) -> Result<WalkedCommit, GitError> {
        let mut buffer = Vec::new();
        let headers = self
            .find_commit_iter(id, &mut buffer)
            .map_err(reading(HISTORY))?;
        let committer = headers.committer().map_err(reading(HISTORY))?;
        Ok(WalkedCommit {
            time: committer.seconds(),
            parents: headers.parent_ids().collect(),
            reached_from,
        })
    }

    /// Reads the history of `starts`, each with the number of its tip, and returns which tips reach
    /// each commit. The newest commits are read first, and no new one once all that are queued are
    /// reachable from all tips: then their ancestors are as well.
    fn walk(
        &self,
        starts: impl Iterator<Item = (ObjectId, usize)>,
        tip_count: usize,
    ) -> Result<WalkedCommits, GitError> {
        let mut commits = WalkedCommits::new();
        let mut queue = BinaryHeap::new();
        let mut arrivals = Vec::new();
        for (id, tip) in starts {
            let mut reached_from = TipSet::new(tip_count);
            reached_from.insert(tip);
            arrivals.push((id, reached_from));
        }
        loop {
            for (id, reached_from) in arrivals.drain(..) {
                let commit = match commits.entry(id) {
                    Entry::Occupied(visited) => visited.into_mut(),
                    Entry::Vacant(vacant) => vacant.insert(self.read(&id, TipSet::new(tip_count))?),
                };
                if commit.reached_from.extend(&reached_from) {
                    queue.push((commit.time, id));
                }
            }
            let Some((_, id)) = queue.pop() else {
                return Ok(commits);
            };
            // `id` first: mostly it is not common, and the queue need not be looked through
            let mut pending =
                std::iter::once(&id).chain(queue.iter().map(|(_time, queued)| queued));
            let all_are_common =
                pending.all(|pending_id| commits[pending_id].reached_from.len() == tip_count);
            let commit = &commits[&id];
            for parent in &commit.parents {
                // one that was read already must still learn of each tip that reaches it
                if !all_are_common || commits.contains_key(parent) {
                    arrivals.push((*parent, commit.reached_from.clone()));
                }
            }
        }
    }

    /// The commit that has this id, or to which the annotated tag with this id leads; none if the
    /// object is missing or leads to no commit.
    pub(super) fn peel(&self, id: &CommitId) -> Result<Option<CommitId>, GitError> {
        let mut next = oid_of(id);
        if self.memory().is_some_and(|memory| memory.has(&next)) {
            return Ok(Some(id.clone()));
        }
        let mut buffer = Vec::new();
        loop {
            let object = self
                .objects
                .try_find(&next, &mut buffer)
                .map_err(reading(format_args!("object {next}")))?;
            let Some(object) = object else {
                return Ok(None);
            };
            match object.kind {
                Kind::Commit => {
                    // a damaged commit is reported when its history is read
                    self.remember(&next, object.data);
                    return Ok(Some(commit_id_of(&next)));
                }
                Kind::Tree | Kind::Blob => return Ok(None),
                Kind::Tag => {
                    // a file below `objects` may hold anything: also a tag of itself
                    let checked = object.verify_checksum(&next);
                    checked.map_err(reading(format_args!("the tag {next}")))?;
                    next = gix::objs::TagRefIter::from_bytes(object.data, object.object_hash)
                        .target_id()
                        .map_err(reading(format_args!("the tag {next}")))?;
                }
            }
        }
    }
}

/// Returns the commits for which `is_listed` is true, each after its children (`--topo-order`).
fn children_first(
    commits: &WalkedCommits,
    is_listed: impl Fn(&WalkedCommit) -> bool,
) -> Vec<CommitId> {
    let mut listed = Vec::new();
    let mut children_left: HashMap<&ObjectId, usize> = HashMap::new();
    for (id, commit) in commits {
        if is_listed(commit) {
            listed.push((id, commit));
            children_left.insert(id, 0);
        }
    }
    for (_, commit) in &listed {
        for parent in &commit.parents {
            children_left.entry(parent).and_modify(|count| *count += 1);
        }
    }
    // a stack: the newest is taken first, and after a commit its parents
    let mut ready = listed;
    ready.retain(|(id, _)| children_left[id] == 0);
    ready.sort_unstable_by_key(|(id, commit)| (commit.time, Reverse(*id)));
    let mut ordered = Vec::with_capacity(children_left.len());
    while let Some((id, commit)) = ready.pop() {
        ordered.push(commit_id_of(id));
        for parent in &commit.parents {
            if let Some(count) = children_left.get_mut(parent) {
                *count -= 1;
                if *count == 0 {
                    ready.push((parent, &commits[parent]));
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
            is_shallow: shallow.is_some_and(|text| !text.is_empty()),
            has_quarantine: self.quarantine.is_some(),
            repo,
        })
    }

    /// Returns the commits at which history ends here, as `shallow` says; of those only what is
    /// here.
    ///
    /// # Errors
    /// Fails when the repository cannot be read.
    pub fn shallow_commits(&self) -> Result<Vec<CommitId>, GitError> {
        let listed = self
            .repo()?
            .local()
            .shallow_commits()
            .map_err(reading(HISTORY))?;
        let history = self.history()?;
        let mut present = Vec::new();
        for id in listed.iter().flat_map(|ids| ids.iter()) {
            present.extend(history.peel(&commit_id_of(id))?);
        }
        Ok(present)
    }

    /// True if a parent of a commit is not in the repository.
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

    /// True if the history of a commit goes on where this shallow repository has no more of it.
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
        let others: Vec<ObjectId> = tips.iter().map(oid_of).collect();
        let history = self.history()?;
        let merge_bases = merge_base(oid_of(commit), &others, &mut Graph::new(&history, None))
            .map_err(reading(HISTORY))?;
        Ok(merge_bases
            .into_iter()
            .flatten()
            .map(|id| commit_id_of(&id))
            .collect())
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
        let others: Vec<ObjectId> = rest.iter().map(oid_of).collect();
        let mut graph = Graph::new(&history, None);
        let merge_base =
            merge_base::octopus(oid_of(first), &others, &mut graph).map_err(reading(HISTORY))?;
        Ok(merge_base.map(|id| commit_id_of(&id)))
    }

    /// Returns those of these commits that no other of them has (`git merge-base --independent`).
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_independent(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, GitError> {
        let reach = self.reach(commits)?;
        let mut independent: Vec<CommitId> = Vec::new();
        for commit in commits {
            let is_reached = commits
                .iter()
                .any(|other| other != commit && reach.has(other, commit));
            if !is_reached && !independent.contains(commit) {
                independent.push(commit.clone());
            }
        }
        Ok(independent)
    }

    /// True if a commit is an ancestor of another, or the same.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn is_ancestor(&self, older: &CommitId, newer: &CommitId) -> Result<bool, GitError> {
        Ok(older == newer || self.reach([older, newer])?.has(newer, older))
    }

    /// Returns the commits that are reachable from `tips` and not from `excluded`, the newest
    /// first. Tips that are gone (a reflog can name what was collected) are passed over.
    ///
    /// # Errors
    /// Fails when another commit is missing or damaged.
    pub fn rev_list(
        &self,
        tips: &[&CommitId],
        excluded: &[&CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if tips.iter().all(|tip| excluded.contains(tip)) {
            return Ok(Vec::new());
        }
        let history = self.history()?;
        let mut starts = Vec::new();
        for (ids, number) in [(tips, 0), (excluded, 1)] {
            for id in ids {
                // what is no commit, or gone, is left out
                if let Some(commit) = history.peel(id)? {
                    starts.push((oid_of(&commit), number));
                }
            }
        }
        let commits = history.walk(starts.into_iter(), 2)?;
        Ok(children_first(&commits, |commit| {
            !commit.reached_from.contains(1)
        }))
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
        let sorted: BTreeSet<&CommitId> = tips.into_iter().collect();
        let starts = sorted.iter().enumerate().map(|(tip, id)| (oid_of(id), tip));
        Ok(Reachability {
            commits: self.history()?.walk(starts, sorted.len())?,
            tips: sorted.into_iter().cloned().collect(),
        })
    }
}
