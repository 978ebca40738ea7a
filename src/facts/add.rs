//! Reads what `add` decides on.

use camino::Utf8Path;

use super::config::Loaded;
use crate::cli::ScopeLists;
use crate::config::{ScopeProfile, SetBy, Strategy};
use crate::disk::files;
use crate::entry::Entry;
use crate::git::trees::{CachedTree, TreeListing};
use crate::git::worktree::WorktreeEntry;
use crate::name::{BranchName, CommitId, WorktreeName};
use crate::path::RepoPath;
use crate::plan::add::{AddFacts, BaseFacts, BranchFacts, PathState};
use crate::plan::owner::OwnerFacts;
use crate::scope::{Access, EntryKind, Scope};
use crate::truth::tips;
use crate::worktree::Tip;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, names};

/// Holds what was asked for on the command line.
pub struct Asked<'a> {
    /// The name.
    pub name: &'a WorktreeName,
    /// `--branch`.
    pub branch: Option<&'a str>,
    /// The lists of the scope.
    pub lists: &'a ScopeLists,
    /// The profile that the settings name.
    pub profile: Option<(String, ScopeProfile)>,
    /// What the client is to be told.
    pub prompt: Option<Vec<u8>>,
    /// Who owns the worktree, and who asks for it.
    pub owner: OwnerFacts,
}

/// Reads everything.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    loaded: &Loaded,
    asked: &Asked<'_>,
    known: Option<&Worktree>,
) -> Result<AddFacts, WorktreeError> {
    let path = repository.worktree_path(asked.name);
    let worktrees = repository.worktrees()?;
    let branch = branch(repository, loaded, asked, &worktrees)?;
    let base = base(repository, loaded, &branch)?;
    Ok(AddFacts {
        name: asked.name.clone(),
        path_state: path_state(&path, &worktrees),
        path,
        record: known.map(|known| Box::new(known.record.clone())),
        similar_name: similar_name(repository, asked.name)?,
        profile: asked.profile.clone(),
        config_found: loaded.found,
        lists: asked.lists.clone(),
        asked_branch: asked.branch.map(|_| branch.name().clone()),
        branch,
        base,
        strategy: loaded.settings.strategy.clone(),
        on_violation: loaded.settings.on_violation.clone(),
        client: loaded.settings.client.clone(),
        prompt: asked.prompt.clone(),
        owner: asked.owner.clone(),
    })
}

fn path_state(path: &Utf8Path, worktrees: &[WorktreeEntry]) -> PathState {
    if worktrees.iter().any(|entry| entry.path == path) {
        if files::exists(path) {
            PathState::Worktree
        } else {
            PathState::Missing
        }
    } else if files::exists(path) {
        PathState::Taken
    } else {
        PathState::Free
    }
}

fn similar_name(
    repository: &Repository,
    name: &WorktreeName,
) -> Result<Option<String>, WorktreeError> {
    let same = |other: &&WorktreeName| {
        *other != name && other.as_str().eq_ignore_ascii_case(name.as_str())
    };
    Ok(names(repository)?
        .iter()
        .find(same)
        .map(ToString::to_string))
}

fn branch(
    repository: &Repository,
    loaded: &Loaded,
    asked: &Asked<'_>,
    worktrees: &[WorktreeEntry],
) -> Result<BranchFacts, WorktreeError> {
    let git = &repository.git;
    let prefix = &loaded.settings.branch_prefix.value;
    let name = match asked.branch {
        Some(text) => text.strip_prefix("refs/heads/").unwrap_or(text).to_owned(),
        None => format!("{prefix}{}", asked.name),
    };
    let name = BranchName::from_git(name);
    let exists = git.rev_parse_commit(&name.full_ref())?;
    if let (Some(_), Some(tip)) = (asked.branch, &exists) {
        let full = name.full_ref();
        let mut holders = worktrees.iter();
        let holder = holders.find(|entry| entry.branch.as_deref() == Some(full.as_str()));
        let held_by = holder.map(|entry| entry.path.clone());
        // a clone has a branch of its own under that name
        let is_linked = loaded.settings.strategy.value == Strategy::Worktree;
        let held_by = held_by.filter(|_| is_linked);
        return Ok(BranchFacts::Existing {
            name,
            tip: tip.clone(),
            held_by,
        });
    }
    let valid = git.check_branch_name(name.as_str());
    let blocked_by = blocked_by(repository, &name)?;
    Ok(BranchFacts::New {
        valid,
        exists: exists.is_some(),
        blocked_by,
        name,
    })
}

/// A branch `a` and a branch `a/b` cannot both be: one is a file where the other is a directory.
fn blocked_by(repository: &Repository, name: &BranchName) -> Result<Option<String>, WorktreeError> {
    let mut above: Vec<String> = Vec::new();
    let parts: Vec<&str> = name.as_str().split('/').collect();
    for end in 1..parts.len() {
        above.push(format!("refs/heads/{}", parts[..end].join("/")));
    }
    let below = format!("{}/", name.full_ref());
    let mut wanted: Vec<&str> = above.iter().map(String::as_str).collect();
    wanted.push(&below);
    let found = repository.git.for_each_ref(&wanted)?;
    let blocks = |found: &&crate::git::refs::Ref| {
        above.iter().any(|name| found.name == *name) || found.name.starts_with(below.as_bytes())
    };
    Ok(found.iter().find(blocks).map(|found| {
        let name = found.name.to_string();
        name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()
    }))
}

fn base(
    repository: &Repository,
    loaded: &Loaded,
    branch: &BranchFacts,
) -> Result<BaseFacts, WorktreeError> {
    let git = &repository.git;
    let setting = loaded.settings.base.as_ref();
    let set_by = setting.map_or(SetBy::Default, |setting| setting.set_by);
    let head = git.symbolic_ref_head()?;
    let own = head
        .as_deref()
        .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    let revision = setting
        .map(|setting| setting.value.clone())
        .or(own.map(ToOwned::to_owned));
    // the main worktree's own branch in full: a tag may have the same name
    let full = setting.map(|setting| &setting.value).or(head.as_ref());
    let commit = full
        .map(|revision| git.rev_parse_commit(revision))
        .transpose()?;
    let commit = commit.flatten();
    let unborn = commit.is_none()
        && revision.as_deref() == own
        && own.is_some()
        && git.rev_parse_commit("HEAD")?.is_none();
    let is_ancestor = match (branch, &commit) {
        (BranchFacts::Existing { tip, .. }, Some(commit)) => git.is_ancestor(commit, tip)?,
        (BranchFacts::Existing { .. } | BranchFacts::New { .. }, _) => true,
    };
    Ok(BaseFacts {
        revision,
        set_by,
        commit,
        unborn,
        is_ancestor,
    })
}

/// Lists the refs whose work a worktree may take over: the branch its base was taken from and
/// that one's upstream.
///
/// # Errors
/// Fails when git fails.
pub fn base_tips(
    repository: &Repository,
    revision: &str,
    base: &CommitId,
) -> Result<Vec<Tip>, WorktreeError> {
    tips::followed_by(&repository.git, revision, base)
}

/// Says by how many commits a base is behind its upstream; nothing when it has none or is not.
///
/// # Errors
/// Fails when git fails.
pub fn behind_upstream(
    repository: &Repository,
    revision: &str,
    base: &CommitId,
) -> Result<Option<String>, WorktreeError> {
    let git = &repository.git;
    let branch = format!("refs/heads/{revision}");
    let Some(upstream) = git.upstream(&branch)? else {
        return Ok(None);
    };
    // the tip of an existing branch is a base of its own
    if git.rev_parse_commit(&branch)?.as_ref() != Some(base) {
        return Ok(None);
    }
    let Some(tip) = git.rev_parse_commit(&upstream)? else {
        return Ok(None);
    };
    let count = git.rev_list_count(base, &tip)?;
    let short = ["refs/remotes/", "refs/heads/"]
        .iter()
        .find_map(|p| upstream.strip_prefix(p));
    let upstream = short.unwrap_or(&upstream);
    let commits = if count == 1 {
        "1 commit".to_owned()
    } else {
        format!("{count} commits")
    };
    Ok((count > 0).then(|| {
        format!(
            "`{revision}` is {commits} behind `{upstream}`; to start from there: --base {upstream}"
        )
    }))
}

/// Represents what a commit has, listed once for all who ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The commit.
    pub commit: CommitId,
    /// Every entry of its tree, sorted by path.
    pub entries: Vec<(RepoPath, Entry)>,
    /// The directories of its tree.
    pub trees: CachedTree,
}

impl Listing {
    /// Lists a commit.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn of(repository: &Repository, commit: &CommitId) -> Result<Self, WorktreeError> {
        let objects = repository.objects()?;
        let TreeListing { entries, trees } = objects.listing(&objects.commit(commit)?.tree)?;
        Ok(Self {
            commit: commit.clone(),
            entries,
            trees,
        })
    }
}

impl Listing {
    /// The text of each attribute file of the commit.
    ///
    /// # Errors
    /// Fails when one cannot be read.
    pub fn attributes(&self, repository: &Repository) -> Result<Vec<Vec<u8>>, WorktreeError> {
        let objects = repository.objects()?;
        let mut texts = Vec::new();
        for (path, entry) in &self.entries {
            if path.file_name() == ".gitattributes" && !entry.mode.is_directory() {
                texts.push(objects.blob(&entry.id)?);
            }
        }
        Ok(texts)
    }
}

/// Counts the tracked files by access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files that may be edited.
    pub write: usize,
    /// Files that may be read only.
    pub read: usize,
    /// Files that are absent.
    pub excluded: usize,
}

/// Represents a listing and what a scope says of each entry, found out once for all who ask.
#[derive(Clone, Debug)]
pub struct Classified<'a> {
    /// The listing.
    pub listing: &'a Listing,
    /// The access to each entry, in their order.
    pub accesses: Vec<Access>,
}

impl<'a> Classified<'a> {
    /// Finds it out.
    #[must_use]
    pub fn by(scope: &Scope, listing: &'a Listing) -> Self {
        let mut classifier = scope.classifier();
        let mut access = |(path, entry): &(RepoPath, Entry)| {
            let verdict = classifier.verdict(path, EntryKind::of(entry.mode));
            verdict.access
        };
        Self {
            listing,
            accesses: listing.entries.iter().map(&mut access).collect(),
        }
    }

    /// Each entry with its access.
    pub fn entries(&self) -> impl Iterator<Item = (&'a RepoPath, Entry, Access)> {
        let entries = self.listing.entries.iter().zip(&self.accesses);
        entries.map(|((path, entry), access)| (path, *entry, *access))
    }

    /// Counts the files by access.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for access in &self.accesses {
            match access {
                Access::Write => counts.write += 1,
                Access::Read => counts.read += 1,
                Access::Excluded => counts.excluded += 1,
            }
        }
        counts
    }

    /// What may be written, and how patterns match it.
    #[must_use]
    pub fn writable(&self) -> Vec<(RepoPath, EntryKind)> {
        let writable = |(path, entry, access): (&RepoPath, Entry, Access)| {
            (access == Access::Write).then(|| (path.clone(), EntryKind::of(entry.mode)))
        };
        self.entries().filter_map(writable).collect()
    }
}

/// Counts how many files of a commit each rule matches, in the order of the rules, and collects
/// what their author should hear of it.
#[must_use]
pub fn cover(scope: &Scope, listing: &Listing) -> (Vec<usize>, Vec<String>) {
    let entries = listing.entries.iter();
    let coverage = scope.coverage(entries.map(|(path, entry)| (path, EntryKind::of(entry.mode))));
    (coverage.matches, coverage.advice)
}
