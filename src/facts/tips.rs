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
use crate::git::refs::ReflogEntry;
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
        if tips.trusted.contains(&current.id) {
            // the user took it over into another of these refs, and pushed it
            continue;
        }
        let log = git.reflog(&tip.name)?;
        let witness = Witness::of(repository, &git, tip, created_here)?;
        if !witness.vouches_for_newest(&log, &current.id) {
            tips.untrusted.push(tip.name.clone());
            continue;
        }
        tips.add(&current.id);
        // what it passed through counts too: the user may have reworded a commit since that
        // the worktree was rebased on
        let passed = log
            .iter()
            .skip(1)
            .take_while(|entry| entry.id != tip.commit);
        for entry in passed.take(PASSED) {
            if witness.vouches_for(entry) {
                tips.add(&entry.id);
            }
        }
    }
    Ok(tips)
}

/// How many former places of a ref are looked at.
const PASSED: usize = 100;

impl Tips {
    fn add(&mut self, commit: &CommitId) {
        if !self.trusted.contains(commit) {
            self.trusted.push(commit.clone());
        }
    }
}

/// Says by which log a move of one ref is judged.
struct Witness<'a> {
    tip: &'a Tip,
    created_here: &'a [CommitId],
    /// The HEAD reflog of the worktree that has the branch checked out; none if none has it.
    holder: Option<Vec<ReflogEntry>>,
}

impl<'a> Witness<'a> {
    fn of(
        repository: &Repository,
        git: &Git,
        tip: &'a Tip,
        created_here: &'a [CommitId],
    ) -> Result<Self, FactsError> {
        let mut holder = None;
        if tip.name.starts_with("refs/heads/") {
            let mut all = repository.worktrees()?.into_iter();
            let entry = all.find(|e| !e.bare && e.branch.as_deref() == Some(tip.name.as_str()));
            if let Some(entry) = entry {
                let admin = git.at(&entry.path).absolute_git_dir()?;
                holder = Some(git.on(&admin, Some(&entry.path)).reflog_head()?);
            }
        }
        Ok(Self {
            tip,
            created_here,
            holder,
        })
    }

    fn made_here(&self, commit: &CommitId) -> bool {
        self.created_here.contains(commit)
    }

    /// Whether git's logs show that the ref got where it is by a command outside this worktree.
    fn vouches_for_newest(&self, log: &[ReflogEntry], now: &CommitId) -> bool {
        match log.first() {
            // written past git: git itself would have logged it
            Some(newest) if newest.id != *now => false,
            Some(newest) => self.vouches_for(newest),
            // a log that was there and is gone proves nothing
            None => !self.tip.logged && !self.made_here(now),
        }
    }

    fn vouches_for(&self, entry: &ReflogEntry) -> bool {
        match &self.holder {
            // a commit, merge or pull in the worktree that has the branch checked out is in the
            // HEAD reflog of that worktree; an update-ref from elsewhere is not
            Some(held) => held.iter().any(|logged| logged.id == entry.id),
            None => self.came_from_elsewhere(entry),
        }
    }

    /// Judges a move by what the command that made it wrote into the log (`git update-ref` writes
    /// nothing, `git branch -f` "branch: Reset to …").
    fn came_from_elsewhere(&self, entry: &ReflogEntry) -> bool {
        let reason = entry.reason.as_str();
        let (command, words) = reason.split_once(':').unwrap_or((reason, ""));
        let mut command = command.split_whitespace();
        match command.next() {
            Some("fetch" | "pull" | "clone" | "remote") => {
                // `fetch . HEAD:…` brings what is here already; any refspec can name it
                let is_here = |word: &str| word.starts_with(['.', '/']) || word == "file";
                let mut words = command.chain(words.split_whitespace());
                let named = |word: &str| word.contains("refs/") || word.contains(':');
                !(words.clone().any(is_here) || self.made_here(&entry.id) && words.any(named))
            }
            Some("branch" | "fast-import" | "checkout") | None => false,
            Some(_) => !self.made_here(&entry.id),
        }
    }
}

/// Lists the refs that a base may follow: the branch that the revision names, or, where it names
/// none (a commit id, a tag), the main worktree's branch if that has the base; and with it what
/// it tracks and the branches of the same name on remotes.
pub fn of_revision(git: &Git, revision: &str, base: &CommitId) -> Result<Vec<Tip>, FactsError> {
    let short = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let mut branch = Some(format!("refs/heads/{short}"));
    let exact = |name: &str| -> Result<Option<Tip>, FactsError> {
        // `refs/heads/main~1` is a revision, and no ref
        let found = git.for_each_ref(&[name])?;
        let Some(found) = found.into_iter().find(|found| found.name == name) else {
            return Ok(None);
        };
        let logged = git.reflog_exists(name)?;
        let (name, commit) = (name.to_owned(), found.id);
        Ok(Some(Tip {
            name,
            commit,
            logged,
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
