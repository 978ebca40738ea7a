//! Reads what `scope` shows.

use camino::Utf8PathBuf;

use super::add::{Classified, Counts, Listing, cover};
use crate::disk::files;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::scope::{EntryKind, Scope, ScopeError, ScopeRule, Verdict};
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Represents whose scope is shown.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The worktree's name, or the profile's.
    pub name: String,
    /// The worktree's directory; none for a profile.
    pub path: Option<Utf8PathBuf>,
    /// The scope.
    pub scope: Scope,
    /// The commit whose files are counted; none when there is no commit yet.
    pub commit: Option<CommitId>,
}

/// Holds a scope with what its rules match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The worktree's name, or the profile's.
    pub name: String,
    /// The user's rules, each with the number of tracked files that it matches.
    pub rules: Vec<(ScopeRule, usize)>,
    /// The files by access.
    pub files: Counts,
    /// What its author should hear.
    pub advice: Vec<String>,
}

impl Subject {
    /// The access of a path, and the rule that decides. A path that was given like a file's is a
    /// directory's where one stands, or a submodule (`git check-ignore` asks the index and the
    /// disk); only where that makes a difference is it looked at.
    ///
    /// # Errors
    /// Fails when the commit or the disk cannot be read.
    pub fn verdict(
        &self,
        repository: &Repository,
        path: &RepoPath,
        given: EntryKind,
    ) -> Result<Verdict<'_>, WorktreeError> {
        let verdict = self.scope.verdict(path, given);
        let as_directory = self.scope.verdict(path, EntryKind::Directory);
        if verdict == as_directory || self.kind(repository, path)? == EntryKind::File {
            return Ok(verdict);
        }
        Ok(as_directory)
    }

    /// What the commit has at a path, else the disk.
    fn kind(&self, repository: &Repository, path: &RepoPath) -> Result<EntryKind, WorktreeError> {
        if let Some(commit) = &self.commit {
            let objects = repository.objects()?;
            let tree = objects.commit(commit)?.tree;
            if let Some((mode, _)) = objects.held_at(&tree, path)? {
                return Ok(mode.map_or(EntryKind::Directory, EntryKind::of));
            }
        }
        let root = self.path.as_ref().unwrap_or(&repository.root);
        let there = path.to_os_path().map(|path| root.as_std_path().join(path));
        match there {
            Ok(there) if files::stands_directory(&there) => Ok(EntryKind::Directory),
            _ => Ok(EntryKind::File),
        }
    }

    /// Takes the frozen scope of a worktree.
    #[must_use]
    pub fn of(known: Worktree) -> Self {
        let record = known.record;
        Self {
            name: record.name.to_string(),
            path: Some(record.path),
            scope: known.scope,
            commit: Some(record.base.commit),
        }
    }
}

/// Takes a profile of the config as it is now.
///
/// # Errors
/// Fails when a rule is refused, or git fails.
pub fn of_profile(
    repository: &Repository,
    name: &str,
    rules: Vec<ScopeRule>,
) -> Result<Subject, ProfileError> {
    let git = &repository.git;
    let scope = Scope::compile(rules, repository.case()?).map_err(ProfileError::Scope)?;
    let commit = git.rev_parse_commit("HEAD").map_err(WorktreeError::from)?;
    Ok(Subject {
        name: name.to_owned(),
        path: None,
        scope,
        commit,
    })
}

/// Says why a profile has no scope.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Its rules are refused.
    #[error("the rules are refused")]
    Scope(Vec<ScopeError>),
    /// The repository cannot be read.
    #[error(transparent)]
    Facts(#[from] WorktreeError),
}

/// Counts what each rule matches.
///
/// # Errors
/// Fails when the commit cannot be read.
pub fn counted(repository: &Repository, subject: Subject) -> Result<Counted, WorktreeError> {
    let (files, matches, advice) = match &subject.commit {
        Some(commit) => {
            let listing = Listing::of(repository, commit)?;
            let (matches, advice) = cover(&subject.scope, &listing);
            let files = Classified::by(&subject.scope, &listing).counts();
            (files, matches, advice)
        }
        None => (
            Counts::default(),
            vec![0; subject.scope.rules().len()],
            Vec::new(),
        ),
    };
    let rules = subject.scope.rules().iter().cloned().zip(matches).collect();
    Ok(Counted {
        name: subject.name,
        rules,
        files,
        advice,
    })
}
