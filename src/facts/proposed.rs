//! Reads what a commit that no ref names yet would change.

use crate::change::{ChangeSet, Extent, Seen};
use crate::compare::{Delta, State, compare};
use crate::git::GitMode;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::truth::commits::base_at;
use crate::truth::ground::Effort;
use crate::truth::ground::{References, Trees};
use crate::truth::heads::Heads;
use crate::truth::shared;
use crate::truth::tips;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Finds the net changes of the commit's tree, and nothing else: neither index nor disk.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn changes(
    repository: &Repository,
    known: &Worktree,
    commit: &CommitId,
) -> Result<ChangeSet, WorktreeError> {
    let record = &known.record;
    let objects = repository.objects()?;
    let git = repository.git.with_mode(GitMode::Hardened);
    let heads = Heads::read(repository, known, &Effort::default())?;
    let journal = known.journal()?.unwrap_or_default();
    let rewired = shared::rewired_remotes(repository, known)?;
    let made_here = heads.made_here();
    let tips = tips::find(repository, record, &made_here, &journal, &rewired)?;
    let mut trees = Trees::new(&objects, &record.checked_out)?;
    let base = &record.base.commit;
    let references = References::find(&git, &mut trees, commit, base, &tips.trusted)?;
    let mut like = references.deltas;
    if let Some(tip) = tips.newest(&git)? {
        like.push(trees.delta(&tip)?);
    }
    let delta = trees.delta(commit)?;
    let paths = like.iter().chain([&delta]).flat_map(Delta::keys);
    let manifest = base_at(&objects, known, paths)?;
    let seen = |_: &RepoPath| Seen::Commit(commit.clone());
    let never = |_: &RepoPath| false;
    let state = State {
        delta: &delta,
        references: &like,
        seen: &seen,
        silent: &never,
    };
    let changes = compare(&manifest, &[state]);
    Ok(ChangeSet {
        looked: Extent::Commits,
        ..ChangeSet::new(base.clone(), commit.clone(), changes)
    })
}
