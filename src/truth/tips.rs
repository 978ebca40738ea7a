//! Decides which commits count as work of others: the trusted tips.
//!
//! A worktree may take over what the base branch or its upstream brings, and must not be blamed
//! for it. But a worktree can also *move* those refs onto its own commit, which would hide
//! everything. So a tip of now counts beside the recorded one only if git's own logs say that
//! the move was not made from here (`docs/decisions/0003-reference-trees.md`).

use bstr::ByteSlice;

use crate::disk::files;
use crate::git::Git;
use crate::git::GitMode as Mode;
use crate::git::hooks::journal::Journal;
use crate::git::refs::ReflogEntry;
use crate::name::CommitId;
use crate::worktree::repository::Repository;
use crate::worktree::{Record, Tip, WorktreeError};

/// Holds what may be taken over without blame, and the refs whose move cannot be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tips {
    /// The base, the recorded tips and the trusted tips of now; no commit twice.
    pub trusted: Vec<CommitId>,
    /// Where the refs are now, of those that can be trusted.
    pub current: Vec<CommitId>,
    /// Refs that moved, and not by any command that git's logs show elsewhere.
    pub untrusted: Vec<String>,
}

/// Finds the tips for a worktree in which the commits `created_here` were made. `rewired` are the
/// remotes that lead elsewhere by now; an empty name stands for all.
pub fn find(
    repository: &Repository,
    record: &Record,
    created_here: &[CommitId],
    journal: &Journal,
    rewired: &[String],
) -> Result<Tips, WorktreeError> {
    let git = repository.git.with_mode(Mode::Hardened);
    let mut tips = Tips::default();
    let recorded = &record.base.tips;
    tips.trusted.push(record.base.commit.clone());
    let names: Vec<&str> = recorded.iter().map(|tip| tip.name.as_str()).collect();
    let now = if names.is_empty() {
        Vec::new()
    } else {
        git.for_each_ref(&names)?
    };
    recorded.iter().for_each(|tip| tips.add(&tip.commit));
    // those that were never moved from here first: they can tell that a move brought nothing else
    let mut ordered: Vec<&Tip> = recorded.iter().collect();
    ordered.sort_by_key(|tip| journal.places(tip.name.as_bytes()).next().is_some());
    for tip in ordered {
        let Some(current) = now.iter().find(|current| current.name == tip.name) else {
            continue;
        };
        // the user may have taken it over into another of these refs, and pushed it
        if tips.trusted.contains(&current.id) {
            tips.current.push(current.id.clone());
            continue;
        }
        let is_pipe = files::is_pipe(&repository.common_dir.join("logs").join(&tip.name));
        if is_pipe || tracks_any(rewired, &tip.name) {
            tips.untrusted.push(tip.name.clone());
            continue;
        }
        let log = git.reflog(&tip.name)?;
        let places = moved_here(tip, &log, journal);
        if tips.lacks_one_that_is_in(&git, &places, &current.id)? {
            tips.untrusted.push(tip.name.clone());
            continue;
        }
        let witness = Witness::read(repository, &git, tip, created_here)?;
        if !witness.vouches_for_newest(&log, &current.id) {
            tips.untrusted.push(tip.name.clone());
            continue;
        }
        tips.add(&current.id);
        tips.current.push(current.id.clone());
        // what it passed through counts too: the user may have reworded a commit since that
        // the worktree was rebased on
        let passed = log.iter().skip(1);
        let passed = passed.take_while(|entry| entry.id != tip.commit);
        for entry in passed.take(PASSED) {
            if witness.vouches_for(entry) {
                tips.add(&entry.id);
            }
        }
    }
    Ok(tips)
}

fn tracks_any(remotes: &[String], name: &str) -> bool {
    let is_its = |rest: &str, remote: &str| {
        let below = rest.strip_prefix(remote);
        remote.is_empty() || below.is_some_and(|below| below.starts_with('/'))
    };
    let tracked = name.strip_prefix("refs/remotes/");
    tracked.is_some_and(|rest| remotes.iter().any(|remote| is_its(rest, remote)))
}

/// What may be trusted of the tips when nothing is known of now.
pub fn recorded_tips(record: &Record) -> Tips {
    let base = std::iter::once(&record.base.commit);
    let all = base.chain(record.base.tips.iter().map(|tip| &tip.commit));
    Tips {
        trusted: all.cloned().collect(),
        ..Tips::default()
    }
}

/// How many former places of a ref are looked at.
const PASSED: usize = 100;

impl Tips {
    /// The one tip of now that has all the others in it; none where they went different ways.
    pub fn newest(&self, git: &Git) -> Result<Option<CommitId>, WorktreeError> {
        let mut newest = match self.current.as_slice() {
            [] => return Ok(None),
            [one] => return Ok(Some(one.clone())),
            several => git.merge_base_independent(several)?,
        };
        Ok(newest.pop().filter(|_| newest.is_empty()))
    }

    /// Whether a trusted tip has a commit.
    pub fn have(&self, git: &Git, commit: &CommitId) -> Result<bool, WorktreeError> {
        for trusted in &self.trusted {
            if git.is_ancestor(commit, trusted)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a commit has one of these places in it that no trusted tip has.
    fn lacks_one_that_is_in(
        &self,
        git: &Git,
        places: &[&CommitId],
        now: &CommitId,
    ) -> Result<bool, WorktreeError> {
        for place in places {
            // one that is gone is in nothing
            let is_gone = git.rev_parse_commit(place.as_str())?.is_none();
            if !is_gone && !self.have(git, place)? && git.is_ancestor(place, now)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn add(&mut self, commit: &CommitId) {
        if !self.trusted.contains(commit) {
            self.trusted.push(commit.clone());
        }
    }
}

/// Where the worktree's own journal shows that the ref was moved from there. A remote-tracking ref
/// is moved by every fetch: of those only where a push from there took it.
fn moved_here<'j>(tip: &Tip, log: &[ReflogEntry], journal: &'j Journal) -> Vec<&'j CommitId> {
    let remote = tip.name.starts_with("refs/remotes/");
    let pushed = |place: &&CommitId| log.iter().any(|entry| entry.is_push_of(place));
    let places = journal.places(tip.name.as_bytes());
    places.filter(|place| !remote || pushed(place)).collect()
}

/// Says by which log a move of one ref is judged.
struct Witness<'a> {
    tip: &'a Tip,
    created_here: &'a [CommitId],
    /// The HEAD reflog of the worktree that has the branch checked out; none if none has it.
    holder: Option<Vec<ReflogEntry>>,
}

impl<'a> Witness<'a> {
    fn read(
        repository: &Repository,
        git: &Git,
        tip: &'a Tip,
        created_here: &'a [CommitId],
    ) -> Result<Self, WorktreeError> {
        let mut holder = None;
        if tip.name.starts_with("refs/heads/") {
            let mut all = repository.worktrees()?.into_iter();
            let entry = all.find(|e| !e.bare && e.branch.as_deref() == Some(tip.name.as_str()));
            if let Some(entry) = entry {
                let admin = git.at(&entry.path).absolute_git_dir()?;
                holder = Some(git.on(&admin, Some(&entry.path)).reflog("HEAD")?);
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
            None => entry.came_from_elsewhere(&self.tip.name, &|commit| self.made_here(commit)),
        }
    }
}

/// Lists the refs that a base may follow: the branch that the revision names, or, where it names
/// none (a commit id, a tag), the main worktree's branch if that has the base; and with it what
/// it tracks and the branches of the same name on remotes.
pub fn followed_by(git: &Git, revision: &str, base: &CommitId) -> Result<Vec<Tip>, WorktreeError> {
    let short = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let exact = |name: &str| -> Result<Option<Tip>, WorktreeError> {
        // `refs/heads/main~1` is a revision, and no ref
        let found = git.for_each_ref(&[name])?;
        let Some(found) = found.into_iter().find(|found| found.name == name) else {
            return Ok(None);
        };
        Ok(Some(Tip {
            logged: git.reflog_exists(name)?,
            name: name.to_owned(),
            commit: found.id,
        }))
    };
    let exact_branch = exact(&format!("refs/heads/{short}"))?;
    let mut branch = exact_branch.as_ref().map(|tip| tip.name.clone());
    let mut tips: Vec<Tip> = exact_branch.into_iter().collect();
    if tips.is_empty() {
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
        let name = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        let pattern = format!("refs/remotes/*/{name}");
        let found = git.for_each_ref(&[&pattern])?.into_iter();
        let names = found.filter_map(|found| found.name.to_str().ok().map(ToOwned::to_owned));
        for name in names.chain(git.upstream(&branch)?) {
            tips.extend(exact(&name)?);
        }
    }
    tips.sort_by(|a, b| a.name.cmp(&b.name));
    tips.dedup();
    Ok(tips)
}
