//! Finds the trees of what a worktree is on, and the reference trees of each: what it may have
//! taken over from others without a change made here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::refs::STASH;
use crate::judge::compare::{Delta, FormerEntries, merge_references};
use crate::truth::head::WorktreeHead;
use crate::truth::inputs::SurveyInputs;
use crate::truth::ref_facts::RefFacts;
use crate::truth::stash::untracked_files;
use crate::truth::upstream::{is_reachable_from_any, recorded_tips};
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::name::CommitId;

/// Holds the trees of what a worktree is on, and what each may be without a change made here.
#[derive(Default)]
pub struct ReferenceTrees {
    /// The commits that count as work of others, with all that they have.
    pub trusted: Vec<CommitId>,
    /// The reference that the files on disk are nearest to; none if that is not known.
    pub nearest: Option<CommitId>,
    /// HEAD's tree.
    pub head: Delta,
    /// References of HEAD, the nearest first: what the base has, with upstream work that was
    /// merged.
    pub committed: Vec<Delta>,
    /// References of the index and the disk: a merge in progress brings more.
    pub working: Vec<Delta>,
    /// What a merge in progress changes.
    pub arriving: Delta,
    /// What the newest of upstream have, merged where they went different ways: to be like that is
    /// no change, as a merge makes none of it.
    pub tips: Vec<Delta>,
    /// What upstream had since HEAD left it; only read where something touched what the scope does
    /// not let the worktree write.
    pub since_head: Option<FormerEntries>,
    /// The recorded branch where HEAD is elsewhere, and what else was made here that is not on
    /// HEAD.
    pub branches: Vec<BranchTrees>,
    /// True if HEAD does not have the base any more, nor anything newer of upstream.
    pub base_lost: bool,
    /// True if HEAD and what counts as work of others have a common ancestor.
    pub is_related: bool,
}

/// Holds the tree of a branch that is not on HEAD, with its references.
pub struct BranchTrees {
    /// Its commit.
    pub tip: CommitId,
    /// What upstream had since it left it; read where [`ReferenceTrees::since_head`] is.
    pub since: Option<FormerEntries>,
    /// Its tree.
    pub delta: Delta,
    /// What it may be without a change made here, the nearest first.
    pub references: Vec<Delta>,
}

static NOTHING: Delta = Delta::new();

impl ReferenceTrees {
    /// Finds the trees of what the worktree is on, and their references.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn read(inputs: &SurveyInputs<'_>, ref_facts: &RefFacts) -> Result<Self, Error> {
        let head = &inputs.head;
        let record = &inputs.worktree.record;
        let read_policy = &inputs.options.read_policy;
        let git = &inputs.git;
        let mut trees = Trees::new(&inputs.objects, &record.checked_out)?;
        let head_commit = head.head.as_ref().unwrap_or(&record.base.commit);
        let rewound = &ref_facts.tips.rewound;
        let other_base = inputs.options.base.as_ref();
        let base = other_base.unwrap_or(&record.base.commit);
        let trusted = match other_base {
            Some(other_base) => vec![other_base.clone()],
            None => ref_facts.tips.trusted.clone(),
        };
        let taken_over = TakenOver::read(git, head, ref_facts, &trusted)?;
        let mut head_tips = trusted.clone();
        // where HEAD is elsewhere, what others brought of HEAD, or of the start of the own branch
        // that HEAD is on, is their work
        if other_base.is_none() && head.moved {
            let start = ref_facts.start_of_branch_at(head);
            head_tips.extend(taken_over.among(start.into_iter().chain([head_commit])));
        }
        let of_head = References::find(git, &mut trees, head_commit, base, &head_tips, rewound)?;
        let base_lost = match other_base {
            Some(_) => is_recorded_base_lost(inputs, ref_facts, &mut trees)?,
            None => of_head.base_lost,
        };
        let merge = MergeInProgress::read(inputs, &mut trees, &trusted, &of_head)?;
        let branches = BranchTrees::read_all(inputs, ref_facts, &taken_over, &trusted, &mut trees)?;
        let tips = read_tips(inputs, ref_facts, &mut trees, &merge, &branches)?;
        // a HEAD that cannot be read counts as its nearest reference
        let unchanged = || of_head.deltas.first().cloned().unwrap_or_default();
        Ok(Self {
            head: read_policy.or(trees.delta(head_commit), unchanged)?,
            nearest: merge.commits.first().cloned(),
            base_lost,
            trusted,
            committed: of_head.deltas,
            working: merge.working,
            arriving: merge.arriving,
            is_related: of_head.is_related,
            tips,
            since_head: None,
            branches,
        })
    }

    /// Returns the nearest reference of HEAD.
    pub fn reference(&self) -> &Delta {
        self.committed.first().unwrap_or(&NOTHING)
    }

    /// Returns the nearest reference of the index and the disk.
    pub fn reference_on_disk(&self) -> &Delta {
        self.working.first().unwrap_or(&NOTHING)
    }

    /// Returns these references, and the newest of upstream as the last ones.
    pub fn with_tips(&self, references: &[Delta]) -> Vec<Delta> {
        let mut with_tips = references.to_vec();
        with_tips.extend_from_slice(&self.tips);
        with_tips
    }

    /// Where no commit can be read, the disk and the index can still be held against what was
    /// checked out; against another base they cannot.
    pub fn with_nothing_but(inputs: &SurveyInputs<'_>) -> Self {
        let record = &inputs.worktree.record;
        let mut references = Self {
            trusted: recorded_tips(record).trusted,
            is_related: true,
            ..Self::default()
        };
        if inputs.options.base.is_none() {
            references.nearest = Some(record.checked_out.clone());
            references.committed = vec![Delta::new()];
            references.working = vec![Delta::new()];
        }
        references
    }
}

/// True if HEAD does not have the recorded base any more, where all is compared with another base.
fn is_recorded_base_lost(
    inputs: &SurveyInputs<'_>,
    ref_facts: &RefFacts,
    trees: &mut Trees<'_>,
) -> Result<bool, Error> {
    let recorded_base = &inputs.worktree.record.base.commit;
    let head_commit = inputs.head.head.as_ref().unwrap_or(recorded_base);
    let tips = &ref_facts.tips;
    let of_recorded = References::find(
        &inputs.git,
        trees,
        head_commit,
        recorded_base,
        &tips.trusted,
        &tips.rewound,
    );
    let base_lost = of_recorded.map(|references| references.base_lost);
    inputs.options.read_policy.or(base_lost, || false)
}

/// Reads what the newest of upstream have; nothing where HEAD, with what a merge in progress brings,
/// is all that there is to compare, and has them.
fn read_tips(
    inputs: &SurveyInputs<'_>,
    ref_facts: &RefFacts,
    trees: &mut Trees<'_>,
    merge: &MergeInProgress,
    branches: &[BranchTrees],
) -> Result<Vec<Delta>, Error> {
    let read_policy = &inputs.options.read_policy;
    let newest = match &inputs.options.base {
        Some(other_base) => vec![other_base.clone()],
        None => read_policy.or(ref_facts.tips.newest(&inputs.git), Vec::new)?,
    };
    if branches.is_empty() && newest.iter().all(|tip| merge.commits.contains(tip)) {
        return Ok(Vec::new());
    }
    trees.merged(&inputs.git, &newest)
}

impl BranchTrees {
    /// Returns its nearest reference.
    pub fn reference(&self) -> &Delta {
        self.references.first().unwrap_or(&NOTHING)
    }

    /// Reads those of each branch that is not on HEAD.
    fn read_all(
        inputs: &SurveyInputs<'_>,
        ref_facts: &RefFacts,
        taken_over: &TakenOver,
        trusted: &[CommitId],
        trees: &mut Trees<'_>,
    ) -> Result<Vec<Self>, Error> {
        let recorded_base = &inputs.worktree.record.base.commit;
        let base = inputs.options.base.as_ref().unwrap_or(recorded_base);
        let rewound = &ref_facts.tips.rewound;
        let mut branches = Vec::new();
        for branch in branches_beside_head(&inputs.head, ref_facts, taken_over) {
            let mut branch_tips = trusted.to_vec();
            branch_tips.extend(taken_over.among(branch.start.into_iter()));
            let git = &inputs.git;
            let references = References::find(git, trees, branch.tip, base, &branch_tips, rewound);
            let read = references.and_then(|found| Self::read(inputs, trees, &branch, found));
            branches.extend(inputs.options.read_policy.or(read.map(Some), || None)?);
        }
        Ok(branches)
    }

    /// Reads the tree of one branch, or of a stash with the untracked files that it keeps.
    fn read(
        inputs: &SurveyInputs<'_>,
        trees: &mut Trees<'_>,
        branch: &BranchBesideHead<'_>,
        references: References,
    ) -> Result<Self, Error> {
        let mut delta = trees.delta(branch.tip)?;
        if branch.kind == TipKind::Stash
            && let Some(nearest) = references.commits.first()
        {
            let worktree = inputs.worktree;
            let objects = &inputs.objects;
            delta.extend(untracked_files(worktree, objects, branch.tip, nearest)?);
        }
        Ok(Self {
            tip: branch.tip.clone(),
            since: None,
            delta,
            references: references.deltas,
        })
    }
}

/// Holds which commits others brought, with all that they have.
struct TakenOver {
    /// The commits of the worktree's own.
    own: BTreeSet<CommitId>,
    /// What is asked about, each with the commit that it leads to; none for what is gone.
    commits: BTreeMap<CommitId, Option<CommitId>>,
}

impl TakenOver {
    /// Looks at HEAD, and at the tips and starts of own refs: one walk for all of them.
    fn read(
        git: &Git,
        head: &WorktreeHead,
        ref_facts: &RefFacts,
        trusted: &[CommitId],
    ) -> Result<Self, Error> {
        let mut asked: BTreeSet<&CommitId> = BTreeSet::new();
        if head.moved {
            asked.extend(&head.head);
        }
        for own in &ref_facts.own_refs {
            asked.insert(&own.tip);
            asked.extend(&own.start);
        }
        let mut commits = BTreeMap::new();
        for commit in &asked {
            let peeled = git.rev_parse_commit(commit.as_str())?;
            commits.insert((*commit).clone(), peeled);
        }
        let tips: Vec<&CommitId> = commits.values().flatten().collect();
        let of_others: Vec<&CommitId> = trusted.iter().chain(&ref_facts.fetched_commits).collect();
        let own = git.rev_list(&tips, &of_others)?.into_iter().collect();
        Ok(Self { own, commits })
    }

    /// True if others brought a commit, or it is gone.
    fn has(&self, commit: &CommitId) -> bool {
        match self.commits.get(commit) {
            Some(Some(peeled)) => !self.own.contains(peeled),
            Some(None) => true,
            None => false,
        }
    }

    /// Returns those of these commits that others brought.
    fn among<'c>(&self, commits: impl Iterator<Item = &'c CommitId>) -> Vec<CommitId> {
        commits.filter(|commit| self.has(commit)).cloned().collect()
    }
}

/// Names a branch that is not on HEAD.
struct BranchBesideHead<'a> {
    tip: &'a CommitId,
    /// Where it was made.
    start: Option<&'a CommitId>,
    kind: TipKind,
}

/// Says what a commit is that is not on HEAD.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TipKind {
    /// The tip of a branch, or of a ref like one.
    Branch,
    /// A stash.
    Stash,
}

/// Lists the branches, tags and stashes that were made here and that HEAD does not stand for, and
/// the recorded branch if HEAD is elsewhere; each tip once.
fn branches_beside_head<'a>(
    head: &'a WorktreeHead,
    ref_facts: &'a RefFacts,
    taken_over: &TakenOver,
) -> Vec<BranchBesideHead<'a>> {
    let mut tips: BTreeMap<&CommitId, BranchBesideHead<'a>> = BTreeMap::new();
    for own in &ref_facts.own_refs {
        let kind = if own.name == STASH {
            TipKind::Stash
        } else {
            TipKind::Branch
        };
        let tip = &own.tip;
        let start = own.start.as_ref();
        tips.insert(tip, BranchBesideHead { tip, start, kind });
    }
    // last, so that it replaces an own ref with the same tip, whose start could excuse more
    if let Some(tip) = &head.branch {
        let start = None;
        let kind = TipKind::Branch;
        tips.insert(tip, BranchBesideHead { tip, start, kind });
    }
    let mut branches = Vec::new();
    for (tip, branch) in tips {
        if is_beside_head(tip, head, taken_over) {
            branches.push(branch);
        }
    }
    branches
}

/// True if a tip must be compared by itself: HEAD does not stand for it, and it is not all work of
/// others, unless the recorded branch is on it.
fn is_beside_head(tip: &CommitId, head: &WorktreeHead, taken_over: &TakenOver) -> bool {
    let is_of_others = taken_over.has(tip);
    if head.head.as_ref() == Some(tip) {
        // HEAD on a branch of others has that branch as a reference, which the recorded branch at
        // the same commit has not
        let has_more_references = head.moved && is_of_others;
        if !has_more_references {
            return false;
        }
    }
    let is_recorded_branch = head.branch.as_ref() == Some(tip);
    is_recorded_branch || !is_of_others
}

/// Holds what a merge in progress adds to the references of HEAD.
struct MergeInProgress {
    /// The references of the index and the disk.
    working: Vec<Delta>,
    /// The commits of those, the nearest first.
    commits: Vec<CommitId>,
    /// What the merge changes.
    arriving: Delta,
}

impl MergeInProgress {
    /// Starts with the references of HEAD, and adds each commit that is merged in and is upstream's.
    /// One that is not is work of the worktree, and no reference.
    fn read(
        inputs: &SurveyInputs<'_>,
        trees: &mut Trees<'_>,
        trusted: &[CommitId],
        of_head: &References,
    ) -> Result<Self, Error> {
        let mut merge = Self {
            working: of_head.deltas.clone(),
            commits: of_head.commits.clone(),
            arriving: Delta::new(),
        };
        let recorded_base = &inputs.worktree.record.base.commit;
        let head_commit = inputs.head.head.as_ref().unwrap_or(recorded_base);
        for merged in &inputs.head.merging {
            // what HEAD has already is not being merged, whatever MERGE_HEAD says
            if inputs.git.is_ancestor(merged, head_commit)? {
                continue;
            }
            let reachable = is_reachable_from_any(&inputs.git, trusted, merged);
            let is_upstream = inputs.options.read_policy.or(reachable, || false)?;
            if is_upstream {
                merge.add(inputs, trees, of_head, head_commit, merged)?;
            }
        }
        Ok(merge)
    }

    /// Adds one commit of upstream that is merged into HEAD.
    fn add(
        &mut self,
        inputs: &SurveyInputs<'_>,
        trees: &mut Trees<'_>,
        of_head: &References,
        head_commit: &CommitId,
        merged: &CommitId,
    ) -> Result<(), Error> {
        let changed = changed_since_head(inputs, head_commit, merged)?;
        self.arriving.extend(changed);
        self.commits.push(merged.clone());
        if of_head.base_lost {
            // no reference replaces another, as in `References::find`
            let delta = trees.delta(merged)?;
            self.working.push(delta);
        } else {
            self.working = trees.merged(&inputs.git, &self.commits)?;
        }
        Ok(())
    }
}

/// What a commit changed since it and HEAD went different ways; since the base, where they have no
/// common ancestor.
fn changed_since_head(
    inputs: &SurveyInputs<'_>,
    head_commit: &CommitId,
    merged: &CommitId,
) -> Result<Delta, Error> {
    let recorded_base = &inputs.worktree.record.base.commit;
    let base = inputs.options.base.as_ref().unwrap_or(recorded_base);
    let ancestors = inputs
        .git
        .merge_base_all(head_commit, std::slice::from_ref(merged))?;
    let before = ancestors.first().unwrap_or(base);
    let tree_before = inputs.objects.commit(before)?.tree;
    let tree_merged = inputs.objects.commit(merged)?.tree;
    let changed = inputs
        .objects
        .difference(Some(&tree_before), Some(&tree_merged))?;
    Ok(changed)
}

/// Computes how trees differ from the one that was checked out, each tree once.
pub struct Trees<'a> {
    objects: &'a Objects,
    checked_out: ObjectId,
    computed: HashMap<ObjectId, Delta>,
}

/// Holds the references of one commit.
#[derive(Clone, Debug)]
pub struct References {
    /// How they differ from the tree that was checked out, the nearest first; of several, what a
    /// merge makes of them.
    pub deltas: Vec<Delta>,
    /// The commits, the nearest first; at least one.
    pub commits: Vec<CommitId>,
    /// True if the commit has left the base without following upstream: the base is no ancestor
    /// of it, and nothing newer of upstream is either.
    pub base_lost: bool,
    /// True if the commit has a common ancestor with upstream.
    pub is_related: bool,
}

impl<'a> Trees<'a> {
    /// Starts with the tree that was checked out when the worktree was made: all differences are
    /// from that tree, as the manifest is.
    ///
    /// # Errors
    /// Fails when the commit cannot be read.
    pub fn new(objects: &'a Objects, checked_out: &CommitId) -> Result<Self, Error> {
        let checked_out = objects.commit(checked_out)?.tree;
        Ok(Self {
            objects,
            checked_out,
            computed: HashMap::new(),
        })
    }

    /// Returns how the tree of a commit differs from the one that was checked out.
    ///
    /// # Errors
    /// Fails when a commit or a tree cannot be read.
    pub fn delta(&mut self, commit: &CommitId) -> Result<Delta, Error> {
        let tree = self.objects.commit(commit)?.tree;
        if let Some(delta) = self.computed.get(&tree) {
            return Ok(delta.clone());
        }
        let delta = self
            .objects
            .difference(Some(&self.checked_out), Some(&tree))?;
        self.computed.insert(tree, delta.clone());
        Ok(delta)
    }

    /// Returns how the trees of these commits differ from the one that was checked out.
    fn deltas(&mut self, commits: &[CommitId]) -> Result<Vec<Delta>, Error> {
        let mut deltas = Vec::new();
        for commit in commits {
            deltas.push(self.delta(commit)?);
        }
        Ok(deltas)
    }

    /// Returns what a merge of these commits may look like: their trees, and where only some of
    /// them changed a path since their common ancestor, only what those have.
    ///
    /// # Errors
    /// Fails when git, a commit or a tree cannot be read.
    pub fn merged(&mut self, git: &Git, commits: &[CommitId]) -> Result<Vec<Delta>, Error> {
        let deltas = self.deltas(commits)?;
        if commits.len() < 2 {
            return Ok(deltas);
        }
        match git.merge_base_octopus(commits)? {
            Some(ancestor) => Ok(merge_references(&deltas, &self.delta(&ancestor)?)),
            None => Ok(deltas),
        }
    }
}

impl References {
    /// Finds the references of a commit.
    ///
    /// They are its merge bases with a hypothetical merge of the trusted `tips`, of which one has the
    /// base. If the commit does not have the base, and all of these are older than the base (the
    /// commit was amended, or its branch reset), the base is one more; unless one of them is where
    /// the base branch was `rewound` to.
    ///
    /// # Errors
    /// Fails when git, a commit or a tree cannot be read.
    pub fn find(
        git: &Git,
        trees: &mut Trees<'_>,
        commit: &CommitId,
        base: &CommitId,
        tips: &[CommitId],
        rewound: &[CommitId],
    ) -> Result<Self, Error> {
        if commit == base {
            return Ok(Self {
                deltas: vec![trees.delta(base)?],
                commits: vec![base.clone()],
                base_lost: false,
                is_related: true,
            });
        }
        let mut commits = git.merge_base_all(commit, tips)?;
        let is_related = !commits.is_empty();
        let base_lost = is_base_lost(git, commit, base, &commits, rewound)?;
        let deltas = if base_lost {
            // not `merged`: in a merge, one that changed a path would replace one that did not
            commits.push(base.clone());
            trees.deltas(&commits)?
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

/// True if a commit does not have the base, nor anything of upstream that is newer: each of its
/// common `ancestors` with upstream is older than the base. A commit to which upstream itself was
/// `rewound` counts as newer.
fn is_base_lost(
    git: &Git,
    commit: &CommitId,
    base: &CommitId,
    ancestors: &[CommitId],
    rewound: &[CommitId],
) -> Result<bool, Error> {
    if ancestors.contains(base) || git.is_ancestor(base, commit)? {
        return Ok(false);
    }
    for ancestor in ancestors {
        if rewound.contains(ancestor) || !git.is_ancestor(ancestor, base)? {
            return Ok(false);
        }
    }
    Ok(true)
}
