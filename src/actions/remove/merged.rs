//! Finds out whether the content of commits is in another branch that does not have the commits:
//! by rebase or cherry-pick, by squash, or because to merge them again would change nothing.
//!
//! Whatever cannot be told is not merged (`docs/decisions/0018-removal.md`).

use std::collections::BTreeSet;

use crate::actions::quarantine::QuarantineRepository;
use crate::actions::remove::plan::Merged;
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::refs::Ref;
use crate::truth::history::touched;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::repository::Repository;

/// How many commits of the base branch are compared one by one.
const COMPARED: u64 = 10_000;

/// How many commits of the branch are looked at.
const OWN: usize = 1_000;

/// What keeps attributes and settings of the user's from deciding how files are merged.
const SETTINGS: &str =
    "[core]\n\tbare = true\n\tattributesFile = /dev/null\n[merge]\n\tdefault = text\n";

/// How the content of `tip` came into one of these refs; none when it did not, or that cannot be
/// told. `own` are the commits that are nowhere else, the newest first. It is compared in a git
/// directory of its own, where nothing is written into the repository, and neither its attributes nor
/// its merge drivers count.
pub fn find(
    repository: &Repository,
    tip: &CommitId,
    own: &[CommitId],
    targets: &[&Ref],
) -> Option<Merged> {
    if own.is_empty() || own.len() > OWN || targets.is_empty() {
        return None;
    }
    let quarantine = QuarantineRepository::new(repository, SETTINGS).ok()?;
    if let Some(shallow) = files::read(&repository.common_dir.join("shallow")).ok()? {
        files::write(&quarantine.git_dir.join("shallow"), &shallow).ok()?;
    }
    let git = repository.git.on(&quarantine.git_dir, None);
    let git = git.with_mode(GitMode::Hardened);
    // a history that cannot be read, in a shallow or partial clone, proves nothing
    let merged = |target: &&Ref| compare(&git, &quarantine.objects, tip, own, target).ok()?;
    targets.iter().find_map(merged)
}

fn compare(
    git: &Git,
    objects: &Objects,
    tip: &CommitId,
    own: &[CommitId],
    target: &Ref,
) -> Result<Option<Merged>, Error> {
    let bases = git.merge_base_all(tip, std::slice::from_ref(&target.id))?;
    // where histories crossed there is no one difference to look for
    let [base] = bases.as_slice() else {
        return Ok(None);
    };
    let base_tree = objects.commit(base)?.tree;
    let tree = objects.commit(tip)?.tree;
    let net = objects.difference(Some(&base_tree), Some(&tree))?;
    // whether each commit changes something and is not a merge, and whether no change was reset
    let mut is_plain = true;
    let mut is_whole = !net.is_empty();
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
    if theirs <= COMPARED && ours <= COMPARED {
        // all of it as one commit, here only, which git compares as any other
        let squashed = is_whole.then(|| objects.write_commit_on(base, &tree));
        let squashed = squashed.transpose()?;
        let rights: Vec<&CommitId> = std::iter::once(tip).chain(&squashed).collect();
        // the commits that only one side has, with the same change on both, the newest first
        let alike = git.rev_list_alike(&target.id, &rights)?;
        let mut left: BTreeSet<CommitId> = BTreeSet::new();
        let mut patches = std::collections::BTreeMap::new();
        if !alike.is_empty() {
            left.extend(git.rev_list(&[&target.id], &rights)?);
            patches = git.comparable_patches(&alike)?;
        }
        // the newest commit of the base branch with exactly the change of this one
        let other = |commit: &CommitId| {
            let patch = patches.get(commit).filter(|patch| !patch.is_empty())?;
            let mut theirs = alike.iter().filter(|id| left.contains(*id));
            theirs.find(|id| patches.get(*id) == Some(patch))
        };
        let merged = |how, commit: &CommitId| Merged {
            how,
            commit: Some(commit.clone()),
            reference: None,
        };
        let others: Option<BTreeSet<&CommitId>> = own.iter().map(other).collect();
        let others = others.filter(|_| is_plain).unwrap_or_default();
        if let Some(newest) = alike.iter().find(|id| others.contains(id)) {
            return Ok(Some(merged("picked", newest)));
        }
        if let Some(commit) = squashed.as_ref().and_then(other) {
            return Ok(Some(merged("squashed", commit)));
        }
    }
    if !is_whole {
        return Ok(None);
    }
    let theirs = objects.commit(&target.id)?.tree;
    let is_contained = git.merge_commits(&target.id, tip)? == Ok(theirs);
    Ok(is_contained.then(|| Merged {
        how: "contained",
        commit: None,
        reference: Some(target.name.to_string()),
    }))
}
