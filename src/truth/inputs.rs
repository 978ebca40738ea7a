//! Holds what a survey reads from; judges nothing.

use std::collections::BTreeSet;

use crate::git::environment::GitMode;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::inventory::manifest::Manifest;
use crate::truth::options::SurveyOptions;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Holds what everything is read from.
pub struct SurveyInputs<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// The tree that was checked out, with the files on disk as they were then.
    pub manifest: Manifest,
    /// The objects of the repository.
    pub objects: Objects,
    /// Git, which runs nothing that a setting names.
    pub git: Git,
    /// What is compared with what.
    pub options: &'a SurveyOptions,
}

impl<'a> SurveyInputs<'a> {
    /// Opens the repository, with the manifest of the worktree. Where that is damaged and reading goes
    /// on, it is made anew from the tree that was checked out.
    ///
    /// # Errors
    /// Fails when the objects of the repository or the manifest cannot be read.
    pub fn with_manifest(
        repository: &'a Repository,
        worktree: &'a Worktree,
        options: &'a SurveyOptions,
    ) -> Result<Self, Error> {
        let mut inputs = Self::without_files(repository, worktree, options)?;
        let recorded = options
            .read_policy
            .or(worktree.manifest().map(Some), || None)?;
        inputs.manifest = match recorded {
            Some(manifest) => manifest,
            None => worktree.unproven_manifest(&inputs.objects)?,
        };
        Ok(inputs)
    }

    /// Opens the repository; the manifest is empty.
    ///
    /// # Errors
    /// Fails when the objects of the repository cannot be read.
    pub fn without_files(
        repository: &'a Repository,
        worktree: &'a Worktree,
        options: &'a SurveyOptions,
    ) -> Result<Self, Error> {
        Ok(Self {
            repository,
            worktree,
            manifest: Manifest::default(),
            objects: repository.objects()?,
            git: repository.git.with_mode(GitMode::Hardened),
            options,
        })
    }
}

/// Returns what the tree that was checked out has at each of these paths, and nothing else of it.
///
/// # Errors
/// Fails when the tree cannot be read.
pub fn base_at<'p>(
    objects: &Objects,
    worktree: &Worktree,
    paths: impl IntoIterator<Item = &'p RepoPath>,
) -> Result<Manifest, Error> {
    let tree = objects.commit(&worktree.record.checked_out)?.tree;
    let paths: BTreeSet<&RepoPath> = paths.into_iter().collect();
    Ok(Manifest::of_tree(objects.at(&tree, paths)?))
}
