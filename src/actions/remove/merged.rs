//! Finds out whether the content of commits is in another branch that does not have the commits:
//! by rebase or cherry-pick, by squash, or because to merge them again would change nothing.
//!
//! Whatever cannot be told is not merged (`docs/decisions/0018-removal.md`).

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::quarantine::QuarantineRepository;
use crate::actions::remove::plan::{Merged, MergedHow};
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::refs::Ref;
use crate::truth::history::touched;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::repository::Repository;

/// How many commits of each side are compared one by one at most.
const MOST_COMPARED: u64 = 10_000;

/// How many own commits a branch may have to be looked at.
const MOST_OWN: usize = 1_000;

/// What keeps attributes and settings of the user's from deciding how files are merged.
const SETTINGS: &str =
    "[core]\n\tbare = true\n\tattributesFile = /dev/null\n[merge]\n\tdefault = text\n";

/// How the content of `tip` came into one of the `targets`; none when it did not, or that cannot be
/// told, or `own` is empty. `own` are the commits of `tip` that are nowhere else, the newest first.
///
/// It is compared in a git directory of its own: so nothing is written into the repository, and
/// neither its attributes nor its merge drivers count.
pub fn find(
    repository: &Repository,
    tip: &CommitId,
    own: &[CommitId],
    targets: &[&Ref],
) -> Option<Merged> {
    if own.is_empty() || own.len() > MOST_OWN || targets.is_empty() {
        return None;
    }
    let quarantine = QuarantineRepository::new(repository, SETTINGS).ok()?;
    // without this file, git would look for the parents that a shallow clone does not have
    if let Some(shallow) = files::read(&repository.common_dir.join("shallow")).ok()? {
        files::write_beside(&quarantine.git_dir.join("shallow"), &shallow).ok()?;
    }
    let comparison = Comparison {
        git: repository
            .git
            .on(&quarantine.git_dir, None)
            .with_mode(GitMode::Hardened),
        objects: &quarantine.objects,
        tip,
        own,
    };
    for target in targets {
        // a history that cannot be read, in a shallow or partial clone, proves nothing
        if let Ok(Some(merged)) = comparison.find_in(target) {
            return Some(merged);
        }
    }
    None
}

/// What is compared with the refs in which it may be.
struct Comparison<'a> {
    git: Git,
    objects: &'a Objects,
    tip: &'a CommitId,
    /// The commits that are nowhere else, the newest first.
    own: &'a [CommitId],
}

/// Says what kind of changes the own commits make.
struct OwnChanges {
    /// Each commit changes something, and none is a merge: they can be found one by one.
    is_plain: bool,
    /// Each path that a commit changed differs from the base in the end. Else a merge of the tip
    /// says nothing of what was changed and taken back.
    is_whole: bool,
}

impl Comparison<'_> {
    /// How the content of the tip came into this ref; none when it did not.
    fn find_in(&self, target: &Ref) -> Result<Option<Merged>, Error> {
        let bases = self
            .git
            .merge_base_all(self.tip, std::slice::from_ref(&target.id))?;
        // where histories crossed there is no one difference to look for
        let [base] = bases.as_slice() else {
            return Ok(None);
        };
        let behind = self.git.rev_list_count(self.tip, &target.id)?;
        let ahead = self.git.rev_list_count(&target.id, self.tip)?;
        if behind == 0 {
            // the ref has no commit that the tip does not have: nothing came into it
            return Ok(None);
        }
        let changes = self.own_changes(base)?;
        if behind <= MOST_COMPARED && ahead <= MOST_COMPARED {
            let same_changes = self.find_same_changes(base, target, &changes)?;
            if same_changes.is_some() {
                return Ok(same_changes);
            }
        }
        if changes.is_whole && self.is_contained_in(target)? {
            return Ok(Some(Merged {
                how: MergedHow::Contained,
                commit: None,
                reference: Some(target.name.to_string()),
            }));
        }
        Ok(None)
    }

    /// True if a merge of the tip into this ref would change nothing.
    fn is_contained_in(&self, target: &Ref) -> Result<bool, Error> {
        let target_tree = self.objects.commit(&target.id)?.tree;
        let merged_tree = self.git.merge_commits(&target.id, self.tip)?;
        Ok(merged_tree == Ok(target_tree))
    }

    /// Says what kind of changes the own commits make since `base`.
    fn own_changes(&self, base: &CommitId) -> Result<OwnChanges, Error> {
        let objects = self.objects;
        let base_tree = objects.commit(base)?.tree;
        let tree = objects.commit(self.tip)?.tree;
        let net = objects.difference(Some(&base_tree), Some(&tree))?;
        let mut changes = OwnChanges {
            is_plain: true,
            is_whole: !net.is_empty(),
        };
        for commit in self.own {
            let paths = touched(objects, commit)?;
            changes.is_plain &= objects.commit(commit)?.parents.len() < 2 && !paths.is_empty();
            changes.is_whole &= paths.keys().all(|path| net.contains_key(path));
        }
        Ok(changes)
    }

    /// Finds the commits of the ref that make exactly the changes of the own ones: each by itself,
    /// or all of them in one commit.
    fn find_same_changes(
        &self,
        base: &CommitId,
        target: &Ref,
        changes: &OwnChanges,
    ) -> Result<Option<Merged>, Error> {
        let mut own_tips = vec![self.tip];
        let squashed = self.write_squashed(base, changes)?;
        own_tips.extend(&squashed);
        // the commits of either side that the other has with the same change, the newest first
        let alike = self.git.rev_list_alike(&target.id, &own_tips)?;
        if alike.is_empty() {
            return Ok(None);
        }
        // `alike` has commits of both sides: only those of the target show that a change came there
        let listed = self.git.rev_list(&[&target.id], &own_tips)?;
        let of_target: BTreeSet<CommitId> = listed.into_iter().collect();
        let patches = Patches {
            of_commits: self.git.comparable_patches(&alike)?,
            on_target: alike
                .into_iter()
                .filter(|id| of_target.contains(id))
                .collect(),
        };
        if changes.is_plain
            && let Some(newest) = patches.newest_of_all(self.own)
        {
            return Ok(Some(merged_as(MergedHow::Picked, newest)));
        }
        let all_in_one = squashed
            .as_ref()
            .and_then(|commit| patches.counterpart(commit));
        Ok(all_in_one.map(|commit| merged_as(MergedHow::Squashed, commit)))
    }

    /// Writes all own changes as one commit on `base`, which git then compares as any other; none
    /// where something was changed and taken back.
    fn write_squashed(
        &self,
        base: &CommitId,
        changes: &OwnChanges,
    ) -> Result<Option<CommitId>, Error> {
        if !changes.is_whole {
            return Ok(None);
        }
        let tree = self.objects.commit(self.tip)?.tree;
        Ok(Some(self.objects.write_commit_on(base, &tree)?))
    }
}

/// How a branch was merged, by the commit that has its content.
fn merged_as(how: MergedHow, commit: &CommitId) -> Merged {
    Merged {
        how,
        commit: Some(commit.clone()),
        reference: None,
    }
}

/// What commits change, to be compared.
struct Patches {
    of_commits: BTreeMap<CommitId, Vec<u8>>,
    /// Those of these commits that only the target has, the newest first.
    on_target: Vec<CommitId>,
}

impl Patches {
    /// The newest commit of the target that changes exactly what this commit changes.
    fn counterpart(&self, commit: &CommitId) -> Option<&CommitId> {
        let patch = self.of_commits.get(commit)?;
        if patch.is_empty() {
            return None;
        }
        let mut candidates = self.on_target.iter();
        candidates.find(|id| self.of_commits.get(*id) == Some(patch))
    }

    /// The newest of the counterparts of these commits; none if one has none.
    fn newest_of_all(&self, commits: &[CommitId]) -> Option<&CommitId> {
        let mut picked = BTreeSet::new();
        for commit in commits {
            picked.insert(self.counterpart(commit)?);
        }
        self.on_target.iter().find(|id| picked.contains(id))
    }
}
