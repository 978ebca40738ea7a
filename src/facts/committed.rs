//! Collects what the commits of a worktree changed, and what is wrong around it: what a hook can say
//! at once, however many files there are.
//!
//! Neither the index nor a file on disk is looked at, and of the base only the paths that a commit
//! touched: it takes as long as the work is large. What is left out is `verify`'s.

use std::collections::BTreeSet;

use super::ground::{Ground, Terms};
use super::leaks;
use crate::change::{ChangeSet, Looked};
use crate::git::GitMode;
use crate::git::objects::Objects;
use crate::manifest::{Item, Manifest};
use crate::path::RepoPath;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Collects it.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn committed(repository: &Repository, known: &Worktree) -> Result<ChangeSet, WorktreeError> {
    let repository = &known.readable_repository(repository);
    let terms = Terms::default();
    let mut ground = Ground {
        repository,
        known,
        manifest: Manifest::default(),
        objects: repository.objects()?,
        git: repository.git.with_mode(GitMode::Hardened),
        terms: &terms,
    };
    let mut sources = ground.sources()?;
    ground.manifest = base_at(&ground.objects, known, sources.paths())?;
    let changes = ground.net(&sources, None);
    let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
    let mut put_back = ground.put_back(&sources, &net);
    let contents = leaks::contents(&changes, &[&sources.compared.head]);
    let past = sources.history.contents(&net);
    let mut found = Vec::new();
    // whose contents must not be elsewhere, only the whole list of the base says
    if !(known.scope.shows_all() || contents.is_empty() && past.is_empty()) {
        let whole = known.manifest()?;
        found = leaks::leaks(&known.scope, &whole, &contents);
        put_back.extend(leaks::leaks(&known.scope, &whole, &past));
    }
    Ok(ChangeSet {
        looked: Looked::Commits,
        history: put_back,
        leaks: found,
        ..sources.around(&terms, known, changes)
    })
}

/// What the tree that was checked out has at each of these paths, and nothing else of it.
///
/// # Errors
/// Fails when the tree cannot be read.
pub fn base_at<'p>(
    objects: &Objects,
    known: &Worktree,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<Manifest, WorktreeError> {
    let tree = objects.commit(&known.record.checked_out)?.tree;
    let paths: BTreeSet<&RepoPath> = paths.collect();
    let there = objects.at(&tree, paths)?.into_iter();
    let item = |(path, entry)| Item {
        path,
        base: Some(entry),
        disk: None,
    };
    Ok(Manifest::new(there.map(item).collect(), i64::MIN))
}
