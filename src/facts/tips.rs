//! Decides which commits count as work of others: the trusted tips.
//!
//! A worktree may take over what the base branch or its upstream brings, and must not be blamed
//! for it. But a worktree can also *move* those refs onto its own commit, which would hide
//! everything. So a tip of now counts beside the recorded one only if git's own logs say that
//! the move was not made from here (`docs/decisions/0003-reference-trees.md`).

use bstr::ByteSlice;

use super::error::FactsError;
use super::repository::Repository;
use crate::git::Git;
use crate::git::run::Mode;
use crate::name::CommitId;
use crate::record::{Record, Tip};

/// Holds what may be taken over without blame, and the refs whose move cannot be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tips {
    /// The base, the recorded tips and the trusted tips of now; no commit twice.
    pub trusted: Vec<CommitId>,
    /// Refs that moved, and not by any command that git's logs show elsewhere.
    pub untrusted: Vec<String>,
}

/// Finds the tips for a worktree in which the commits `created_here` were made.
pub fn find(
    repository: &Repository,
    record: &Record,
    created_here: &[CommitId],
) -> Result<Tips, FactsError> {
    let git = repository.git.with_mode(Mode::Hardened);
    let mut tips = Tips::default();
    tips.trusted.push(record.base.commit.clone());
    let names: Vec<&str> = record
        .base
        .tips
        .iter()
        .map(|tip| tip.name.as_str())
        .collect();
    let now = if names.is_empty() {
        Vec::new()
    } else {
        git.for_each_ref(&names)?
    };
    for tip in &record.base.tips {
        tips.add(&tip.commit);
        let current = now.iter().find(|current| current.name == tip.name);
        let Some(current) = current.filter(|current| current.id != tip.commit) else {
            continue;
        };
        if moved_elsewhere(repository, &git, tip, &current.id, created_here)? {
            tips.add(&current.id);
        } else {
            tips.untrusted.push(tip.name.clone());
        }
    }
    Ok(tips)
}

impl Tips {
    fn add(&mut self, commit: &CommitId) {
        if !self.trusted.contains(commit) {
            self.trusted.push(commit.clone());
        }
    }
}

/// Whether git's logs show that the ref got where it is by a command outside this worktree.
fn moved_elsewhere(
    repository: &Repository,
    git: &Git,
    tip: &Tip,
    now: &CommitId,
    created_here: &[CommitId],
) -> Result<bool, FactsError> {
    let newest = git.reflog_newest(&tip.name)?;
    if newest.as_ref().is_some_and(|entry| entry.id != *now) {
        // written past git: git itself would have logged it
        return Ok(false);
    }
    if tip.name.starts_with("refs/remotes/") {
        let reason = newest.as_ref().map_or("", |entry| entry.reason.as_str());
        let pushed = reason.starts_with("update by push");
        let fetched = ["fetch", "pull", "clone", "remote"]
            .iter()
            .any(|s| reason.starts_with(s));
        return Ok(fetched || (pushed && !created_here.contains(now)) || newest.is_none());
    }
    let holder = repository.worktrees()?.into_iter();
    let mut holder = holder.filter(|entry| entry.branch.as_deref() == Some(tip.name.as_str()));
    match holder.next().filter(|entry| !entry.bare) {
        // a commit, merge or pull in the worktree that has the branch checked out is in the
        // HEAD reflog of that worktree; an update-ref from elsewhere is not
        Some(entry) => {
            let admin = git.at(&entry.path).absolute_git_dir()?;
            let logged = git.on(&admin, Some(&entry.path)).reflog_head()?;
            let went_there = logged.iter().any(|entry| entry.id == *now);
            Ok(went_there || (logged.is_empty() && !created_here.contains(now)))
        }
        None => Ok(!created_here.contains(now)),
    }
}

/// Lists the refs that a base may follow: the branch that the revision names, or, where it names
/// none (a commit id, a tag), the main worktree's branch if that has the base; and with it what
/// it tracks and the branches of the same name on remotes.
pub fn of_revision(git: &Git, revision: &str, base: &CommitId) -> Result<Vec<Tip>, FactsError> {
    let short = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let mut branch = Some(format!("refs/heads/{short}"));
    let exact = |name: &str| -> Result<Option<Tip>, FactsError> {
        let commit = git.rev_parse_commit(name)?;
        Ok(commit.map(|commit| Tip {
            name: name.to_owned(),
            commit,
        }))
    };
    let mut tips: Vec<Tip> = exact(branch.as_deref().unwrap_or_default())?
        .into_iter()
        .collect();
    if tips.is_empty() {
        branch = None;
        tips.extend(exact(&format!("refs/remotes/{short}"))?);
    }
    if tips.is_empty()
        && let Some(own) = git.symbolic_ref_head()?
        && let Some(tip) = exact(&own)?
        && git.is_ancestor(base, &tip.commit)?
    {
        tips.push(tip);
        branch = Some(own);
    }
    if let Some(branch) = branch {
        let upstream = git.upstream(&branch)?;
        let name = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        let pattern = format!("refs/remotes/*/{name}");
        for found in git.for_each_ref(&[&pattern])? {
            tips.extend(found.name.to_str().ok().map(exact).transpose()?.flatten());
        }
        tips.extend(upstream.as_deref().map(exact).transpose()?.flatten());
    }
    tips.sort_by(|a, b| a.name.cmp(&b.name));
    tips.dedup();
    Ok(tips)
}
