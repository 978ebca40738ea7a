//! Finds out whether the content of commits is in another branch that does not have the commits:
//! by rebase or cherry-pick, by squash, or because to merge them again would change nothing.
//!
//! Whatever cannot be told is not merged (`docs/decisions/0018-removal.md`).

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Merged;
use crate::disk::files;
use crate::git::objects::Objects;
use crate::git::{Git, GitError, GitMode};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::truth::commits::touched;
use crate::worktree::WorktreeError;
use crate::worktree::apart::Apart;
use crate::worktree::repository::Repository;

/// How many commits of the base branch are compared one by one.
const COMPARED: u64 = 10_000;

/// How many commits of the branch are looked at.
const OWN: usize = 1_000;

/// Holds a ref whose content counts, with where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The full name.
    pub name: String,
    /// The commit.
    pub commit: CommitId,
}

/// How the content of `tip` came into one of these; none when it did not, or that cannot be told.
/// `own` are the commits that are nowhere else, the newest first.
pub fn find(
    repository: &Repository,
    tip: &CommitId,
    own: &[CommitId],
    targets: &[Target],
) -> Option<Merged> {
    if own.is_empty() || own.len() > OWN || targets.is_empty() {
        return None;
    }
    let comparing = Comparing::new(repository).ok()?;
    let mut found = targets.iter().filter_map(|target| {
        // a history that cannot be read, in a shallow or partial clone, proves nothing
        comparing.compare(tip, own, target).ok().flatten()
    });
    found.next()
}

/// Compares in a git directory of its own, where nothing is written into the repository, and
/// neither its attributes nor its merge drivers count.
struct Comparing {
    git: Git,
    apart: Apart,
}

impl Comparing {
    fn new(repository: &Repository) -> Result<Self, WorktreeError> {
        let apart = Apart::new(repository, "[core]\n\tbare = true\n")?;
        if let Some(shallow) = files::read(&repository.common_dir.join("shallow"))? {
            files::write(&apart.git_dir.join("shallow"), &shallow)?;
        }
        let git = repository.git.on(&apart.git_dir, None);
        let git = git.with_mode(GitMode::Hardened);
        Ok(Self { git, apart })
    }

    fn compare(
        &self,
        tip: &CommitId,
        own: &[CommitId],
        target: &Target,
    ) -> Result<Option<Merged>, WorktreeError> {
        let git = &self.git;
        let bases = git.merge_base_all(tip, std::slice::from_ref(&target.commit))?;
        // where histories crossed there is no one difference to look for
        let [base] = bases.as_slice() else {
            return Ok(None);
        };
        let base_tree = self.apart.objects.commit(base)?.tree;
        let tree = self.apart.objects.commit(tip)?.tree;
        let net = self
            .apart
            .objects
            .difference(Some(&base_tree), Some(&tree))?;
        let own = Own::read(&self.apart.objects, own)?;
        let is_whole = !net.is_empty() && own.touched.iter().all(|path| net.contains_key(path));
        let (theirs, ours) = git.rev_list_count_sides(&target.commit, tip)?;
        if theirs == 0 {
            return Ok(None);
        }
        if theirs <= COMPARED && ours <= COMPARED {
            // all of it as one commit, which git compares as any other
            let squashed = is_whole.then(|| self.commit(&tree.to_string(), base));
            let squashed = squashed.transpose()?;
            let alike = self.alike(target, tip, squashed.as_ref())?;
            if let Some(merged) = alike.all_of(&own).map(Merged::Picked) {
                return Ok(Some(merged));
            }
            let whole = squashed.as_ref().and_then(|commit| alike.other(commit));
            if let Some(commit) = whole {
                return Ok(Some(Merged::Squashed(commit.clone())));
            }
        }
        if !is_whole {
            return Ok(None);
        }
        let merged = git.merge_tree(&target.commit, tip)?;
        let theirs = self.apart.objects.commit(&target.commit)?.tree.to_string();
        let name = || Merged::Contained(target.name.clone());
        Ok((merged == Some(theirs)).then(name))
    }

    /// Makes a commit, here only.
    fn commit(&self, tree: &str, parent: &CommitId) -> Result<CommitId, GitError> {
        let who = "git-agentwt <git-agentwt@localhost> 0 +0000";
        let raw = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nall\n");
        self.apart.objects.write_commit(raw.as_bytes())
    }

    /// The commits that only one side has, with the same change on both.
    fn alike(
        &self,
        target: &Target,
        tip: &CommitId,
        squashed: Option<&CommitId>,
    ) -> Result<Alike, GitError> {
        let rights: Vec<&CommitId> = std::iter::once(tip).chain(squashed).collect();
        let order = self.git.rev_list_alike(&target.commit, &rights)?;
        if order.is_empty() {
            return Ok(Alike::default());
        }
        let theirs = self.git.rev_list(&[&target.commit], &rights)?;
        Ok(Alike {
            patches: self.git.comparable_patches(&order)?,
            theirs: theirs.into_iter().collect(),
            order,
        })
    }
}

/// Holds the commits of a branch that are nowhere else.
struct Own<'a> {
    commits: &'a [CommitId],
    /// Every path that one of them touched.
    touched: BTreeSet<RepoPath>,
    /// Whether each of them changes something, and none is a merge.
    is_plain: bool,
}

impl<'a> Own<'a> {
    fn read(objects: &Objects, commits: &'a [CommitId]) -> Result<Self, WorktreeError> {
        let mut own = Self {
            commits,
            touched: BTreeSet::new(),
            is_plain: true,
        };
        for commit in commits {
            let paths = touched(objects, commit)?;
            let is_merge = objects.commit(commit)?.parents.len() > 1;
            own.is_plain &= !is_merge && !paths.is_empty();
            own.touched.extend(paths.into_keys());
        }
        Ok(own)
    }
}

/// Holds commits whose changes look the same to git, with what they really change.
#[derive(Default)]
struct Alike {
    /// The newest first.
    order: Vec<CommitId>,
    patches: BTreeMap<CommitId, Vec<u8>>,
    /// Those that only the base branch has.
    theirs: BTreeSet<CommitId>,
}

impl Alike {
    /// The newest commit of the base branch with exactly the change of this one.
    fn other(&self, commit: &CommitId) -> Option<&CommitId> {
        let patch = self.patches.get(commit).filter(|patch| !patch.is_empty())?;
        let mut theirs = self.order.iter().filter(|id| self.theirs.contains(*id));
        theirs.find(|id| self.patches.get(id) == Some(patch))
    }

    /// The newest commit of the base branch that has a change of these, if each has one.
    fn all_of(&self, own: &Own<'_>) -> Option<CommitId> {
        if !own.is_plain {
            return None;
        }
        let others: Option<BTreeSet<&CommitId>> =
            own.commits.iter().map(|id| self.other(id)).collect();
        let others = others?;
        let newest = self.order.iter().find(|id| others.contains(id));
        newest.cloned()
    }
}
