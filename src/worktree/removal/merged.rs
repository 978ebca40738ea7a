//! Finds out whether the content of commits is in another branch that does not have the commits:
//! by rebase or cherry-pick, by squash, or because to merge them again would change nothing.
//!
//! Whatever cannot be told is not merged (`docs/decisions/0018-removal.md`).

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Merged;
use crate::disk::files;
use crate::error::Error;
use crate::git::refs::Ref;
use crate::git::{Git, GitError, GitMode};
use crate::name::CommitId;
use crate::truth::commits::touched;
use crate::worktree::apart::Apart;
use crate::worktree::repository::Repository;

/// How many commits of the base branch are compared one by one.
const COMPARED: u64 = 10_000;

/// How many commits of the branch are looked at.
const OWN: usize = 1_000;

/// How the content of `tip` came into one of these; none when it did not, or that cannot be told.
/// `own` are the commits that are nowhere else, the newest first.
pub fn find(
    repository: &Repository,
    tip: &CommitId,
    own: &[CommitId],
    targets: &[&Ref],
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
    fn new(repository: &Repository) -> Result<Self, Error> {
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
        target: &Ref,
    ) -> Result<Option<Merged>, Error> {
        let (git, objects) = (&self.git, &self.apart.objects);
        let bases = git.merge_base_all(tip, std::slice::from_ref(&target.id))?;
        // where histories crossed there is no one difference to look for
        let [base] = bases.as_slice() else {
            return Ok(None);
        };
        let base_tree = objects.commit(base)?.tree;
        let tree = objects.commit(tip)?.tree;
        let net = objects.difference(Some(&base_tree), Some(&tree))?;
        // whether each commit changes something, none is a merge, and no change was reset
        let (mut is_plain, mut is_whole) = (true, !net.is_empty());
        for commit in own {
            let paths = touched(objects, commit)?;
            is_plain &= objects.commit(commit)?.parents.len() < 2 && !paths.is_empty();
            is_whole &= paths.keys().all(|path| net.contains_key(path));
        }
        let theirs = git.rev_list_count(tip, &target.id)?;
        let ours = git.rev_list_count(&target.id, tip)?;
        if theirs == 0 {
            return Ok(None);
        }
        let merged = |how, commit: &CommitId| Merged {
            how,
            commit: Some(commit.clone()),
            reference: None,
        };
        if theirs <= COMPARED && ours <= COMPARED {
            // all of it as one commit, which git compares as any other
            let squashed = is_whole.then(|| self.commit(&tree.to_string(), base));
            let squashed = squashed.transpose()?;
            let alike = self.alike(target, tip, squashed.as_ref())?;
            let others: Option<BTreeSet<&CommitId>> =
                own.iter().map(|id| alike.other(id)).collect();
            let others = others.filter(|_| is_plain).unwrap_or_default();
            if let Some(newest) = alike.order.iter().find(|id| others.contains(id)) {
                return Ok(Some(merged("picked", newest)));
            }
            if let Some(commit) = squashed.as_ref().and_then(|commit| alike.other(commit)) {
                return Ok(Some(merged("squashed", commit)));
            }
        }
        if !is_whole {
            return Ok(None);
        }
        let theirs = objects.commit(&target.id)?.tree.to_string();
        let is_contained = git.merge_tree(&target.id, tip)? == Some(theirs);
        Ok(is_contained.then(|| Merged {
            how: "contained",
            commit: None,
            reference: Some(target.name.to_string()),
        }))
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
        target: &Ref,
        tip: &CommitId,
        squashed: Option<&CommitId>,
    ) -> Result<Alike, GitError> {
        let rights: Vec<&CommitId> = std::iter::once(tip).chain(squashed).collect();
        let order = self.git.rev_list_alike(&target.id, &rights)?;
        if order.is_empty() {
            return Ok(Alike::default());
        }
        let theirs = self.git.rev_list(&[&target.id], &rights)?;
        Ok(Alike {
            patches: self.git.comparable_patches(&order)?,
            theirs: theirs.into_iter().collect(),
            order,
        })
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
}
