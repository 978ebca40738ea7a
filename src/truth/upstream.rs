//! Decides which commits count as work of others: the trusted tips.
//!
//! A worktree may take over what the base branch or its upstream brings, and must not be blamed
//! for it. But a worktree can also *move* those refs onto its own commit, which would hide
//! everything. So a tip of now counts beside the recorded one only if git's own logs say that
//! the move was not made from here (`docs/decisions/0003-reference-trees.md`).

use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice};

use crate::git::hooks::journal::Target;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::judge::compare::{Delta, FormerEntries};
use crate::record::worktree::{Record, Tip};
use crate::truth::history::walk_back;
use crate::truth::inputs::SurveyInputs;
use crate::truth::ref_history::RefHistory;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId, branch_of};

/// Holds what may be taken over without blame, and the refs whose move cannot be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tips {
    /// The base, the recorded tips and the trusted tips of now; no commit twice.
    pub trusted: Vec<CommitId>,
    /// Where the refs are now, of those that can be trusted.
    pub current: Vec<CommitId>,
    /// Where refs are now that had the base at `add` and have it no more.
    pub rewound: Vec<CommitId>,
    /// Refs that moved, and not by any command that git's logs show elsewhere.
    pub untrusted: Vec<String>,
}

/// Finds the tips for a worktree. `rewired` are the remotes that lead elsewhere by now; an empty
/// name stands for all.
///
/// # Errors
/// Fails when git or an object cannot be read.
pub fn find_tips(
    objects: &Objects,
    refs: &RefHistory<'_>,
    rewired: &[String],
) -> Result<Tips, Error> {
    let record = &refs.worktree.record;
    let records = &refs.records;
    let mut tips = recorded_tips(record);
    let successors = successors_of_base(refs);
    for successor in &successors {
        tips.add(&successor.commit);
    }
    // first the refs that were never moved from here: what they bring, a move of another ref may
    // bring as well
    let mut ordered: Vec<&Tip> = record.base.tips.iter().chain(&successors).collect();
    ordered.sort_by_key(|tip| !records.journal.moves(tip.name.as_bytes()).is_empty());
    // twice: a ref can have been reset to a commit that is trusted only by a later ref
    for tip in ordered.iter().chain(&ordered) {
        let Some(now) = records.now.get(BStr::new(&tip.name)) else {
            continue;
        };
        tips.untrusted.retain(|name| *name != tip.name);
        if !tips.trust(objects, refs, rewired, tip, &now.id)? {
            tips.untrusted.push(tip.name.clone());
            continue;
        }
        if !tips.current.contains(&now.id) {
            tips.current.push(now.id.clone());
        }
        if !tips.rewound.contains(&now.id) && is_rewound(refs, tip, &now.id)? {
            tips.rewound.push(now.id.clone());
        }
    }
    Ok(tips)
}

/// Lists the refs that the base follows where none of those is there any more that it followed at
/// `add`, as after the merge of a branch that another task was based on: what a commit id follows
/// ([`followed_by`]).
fn successors_of_base(refs: &RefHistory<'_>) -> Vec<Tip> {
    let records = &refs.records;
    let record = &refs.worktree.record;
    let mut tips = record.base.tips.iter();
    if tips.any(|tip| records.now.contains_key(BStr::new(&tip.name))) {
        return Vec::new();
    }
    let base = &record.base.commit;
    // what cannot be read is trusted no more than what is gone
    let found = followed_by(&refs.git, &record.branch, base.as_str(), base);
    let mut successors = found.unwrap_or_default();
    for successor in &mut successors {
        let at_add = records.before.get(BStr::new(&successor.name));
        successor.commit = at_add.unwrap_or(base).clone();
    }
    successors
}

/// True if others took a ref back from the base that it had at `add`.
fn is_rewound(refs: &RefHistory<'_>, tip: &Tip, now: &CommitId) -> Result<bool, Error> {
    if *now == tip.commit || !refs.records.is_rewound_by_others(&tip.name, now) {
        return Ok(false);
    }
    let base = &refs.worktree.record.base.commit;
    Ok(refs.git.is_ancestor(base, &tip.commit)? && !refs.git.is_ancestor(base, now)?)
}

/// True if a ref is a remote-tracking branch of one of these remotes; an empty name stands for all.
fn is_tracked_from_any(remotes: &[String], name: &str) -> bool {
    let Some(tracked) = name.strip_prefix("refs/remotes/") else {
        return false;
    };
    remotes.iter().any(|remote| {
        let below = tracked.strip_prefix(remote.as_str());
        remote.is_empty() || below.is_some_and(|below| below.starts_with('/'))
    })
}

/// Returns what may be trusted of the tips when nothing is known of now.
pub fn recorded_tips(record: &Record) -> Tips {
    let mut tips = Tips::default();
    tips.add(&record.base.commit);
    for tip in &record.base.tips {
        tips.add(&tip.commit);
    }
    tips
}

/// True if `commit` is reachable from any trusted tip.
///
/// # Errors
/// Fails when a commit is missing or damaged.
pub fn is_reachable_from_any(
    git: &Git,
    trusted: &[CommitId],
    commit: &CommitId,
) -> Result<bool, Error> {
    for tip in trusted {
        if git.is_ancestor(commit, tip)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many former places of a ref are looked at.
const FORMER_PLACES: usize = 100;

impl Tips {
    /// Returns the tips of now that no other of them has: one, where they did not go different
    /// ways.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn newest(&self, git: &Git) -> Result<Vec<CommitId>, Error> {
        if self.current.len() < 2 {
            return Ok(self.current.clone());
        }
        Ok(git.merge_base_independent(&self.current)?)
    }

    /// Trusts where a ref is now, if that is trusted already or others moved the ref there. Returns
    /// true if it is trusted.
    fn trust(
        &mut self,
        objects: &Objects,
        refs: &RefHistory<'_>,
        rewired: &[String],
        tip: &Tip,
        now: &CommitId,
    ) -> Result<bool, Error> {
        // the user may have taken it over into another of these refs, and pushed it
        let is_known = self.trusted.contains(now);
        if is_tracked_from_any(rewired, &tip.name) {
            return Ok(is_known);
        }
        if !is_known && !self.trust_if_moved_elsewhere(objects, refs, tip, now)? {
            return Ok(false);
        }
        if *now != tip.commit {
            self.add_former_places(objects, refs, tip)?;
        }
        Ok(true)
    }

    /// Trusts where a ref is now if git's logs show that it got there by a command outside of the
    /// worktree, and the journal does not say otherwise. Returns true if it is trusted.
    fn trust_if_moved_elsewhere(
        &mut self,
        objects: &Objects,
        refs: &RefHistory<'_>,
        tip: &Tip,
        now: &CommitId,
    ) -> Result<bool, Error> {
        let records = &refs.records;
        let name = tip.name.as_str();
        let mut journaled = records.journal.moves(name.as_bytes()).iter();
        let was_made_symbolic_here = journaled.any(|moved| matches!(moved.new, Target::Ref(_)));
        if was_made_symbolic_here || !is_related(refs, name, now)? {
            return Ok(false);
        }
        if self.has_work_of_here(refs, name, now)? {
            return Ok(false);
        }
        let trusted: Vec<&CommitId> = self.trusted.iter().collect();
        let new = refs.git.rev_list(&[now], &trusted)?;
        let log = refs.git.reflog(name).unwrap_or_default();
        let mut is_proven = records.proves_move_elsewhere(name, &log, now, &new, tip.logged);
        // a reset or the like can bring any commit: it is trusted if a fetch brought that commit
        if !is_proven && records.is_bare_move_to(&log, now) {
            is_proven = refs.fetched_commits().binary_search(now).is_ok();
        }
        if !is_proven {
            return Ok(false);
        }
        // commits of here that come with the move must not be excused where they touch too much
        if !records.is_logged_elsewhere(now) && !refs.hide_nothing(objects, &new)? {
            return Ok(false);
        }
        self.add(now);
        Ok(true)
    }

    /// Trusts the commits that a ref was on between `add` and now, if others moved it there: the
    /// worktree may have been rebased on a commit that the user reworded since. Work of the
    /// worktree that was taken over and taken back is work of the worktree again, and not trusted.
    ///
    /// Only for a ref that is not where it was at `add`: the commit of then marks the place in the
    /// log before which nothing is work of upstream.
    fn add_former_places(
        &mut self,
        objects: &Objects,
        refs: &RefHistory<'_>,
        tip: &Tip,
    ) -> Result<(), Error> {
        let records = &refs.records;
        let name = tip.name.as_str();
        let log = records.log(BStr::new(name));
        for entry in log.iter().skip(1).take(FORMER_PLACES) {
            let place = &entry.id;
            if *place == tip.commit {
                break;
            }
            if self.trusted.contains(place) || !records.entry_proves_foreign_move(name, entry) {
                continue;
            }
            let is_moved_here = records.has_place(BStr::new(name), place)
                && !records.is_place_of_others(name, place);
            if is_moved_here {
                continue;
            }
            let trusted: Vec<&CommitId> = self.trusted.iter().collect();
            let new = refs.git.rev_list(&[place], &trusted)?;
            if refs.hide_nothing(objects, &new)? {
                self.add(place);
            }
        }
        Ok(())
    }

    /// True if a ref has a commit that it was moved to from here and that nothing else brings. One
    /// that is gone is in nothing.
    fn has_work_of_here(
        &self,
        refs: &RefHistory<'_>,
        name: &str,
        now: &CommitId,
    ) -> Result<bool, Error> {
        let git = &refs.git;
        for place in refs.records.journal.places(name.as_bytes()) {
            if !refs.records.is_place_of_others(name, place)
                && git.rev_parse_commit(place.as_str())?.is_some()
                && !is_reachable_from_any(git, &self.trusted, place)?
                && git.is_ancestor(place, now)?
            {
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

/// True if where a remote-tracking branch is has to do with the base: a remote can come to hold
/// another project. A user can rewrite all of a local branch.
fn is_related(refs: &RefHistory<'_>, name: &str, now: &CommitId) -> Result<bool, Error> {
    if !name.starts_with("refs/remotes/") {
        return Ok(true);
    }
    let base = std::slice::from_ref(&refs.worktree.record.base.commit);
    if !refs.git.merge_base_all(now, base)?.is_empty() {
        return Ok(true);
    }
    // what they have in common may be what a shallow clone does not have
    Ok(refs.git.is_cut(now)?)
}

/// Lists the refs that a base may follow, none that is unrelated to it:
///
/// 1. the local branch that the revision names;
/// 2. else the remote-tracking branch that it names, alone;
/// 3. else (a commit id, a tag) the branch of HEAD in the repository, if that has the base: the main
///    worktree's. Not the worktree's own, which HEAD of a clone is on: a clone follows none then.
///
/// With a local branch (1 and 3), what it tracks and the branches of its name on remotes.
///
/// # Errors
/// Fails when the repository cannot be read.
pub fn followed_by(
    git: &Git,
    own: &BranchName,
    revision: &str,
    base: &CommitId,
) -> Result<Vec<Tip>, Error> {
    let short = branch_of(revision);
    // as gitrevisions(7) has it, `remotes/origin/main` and `origin/main` are the same
    let below_refs = short.strip_prefix("refs/").unwrap_or(short);
    let of_remote = below_refs.strip_prefix("remotes/").unwrap_or(short);
    let mut tips = Vec::new();
    let mut local_branch = None;
    if let Some(tip) = read_tip(git, &format!("refs/heads/{short}"))? {
        local_branch = Some(tip.name.clone());
        tips.push(tip);
    } else if let Some(tip) = read_tip(git, &format!("refs/remotes/{of_remote}"))? {
        tips.push(tip);
    } else if let Some(main_branch) = git.symbolic_ref_head()?
        && main_branch != own.full_ref()
        && let Some(tip) = read_tip(git, &main_branch)?
        && git.is_ancestor(base, &tip.commit)?
    {
        local_branch = Some(main_branch);
        tips.push(tip);
    }
    if let Some(branch) = local_branch {
        for name in names_on_remotes(git, &branch)? {
            tips.extend(read_tip(git, &name)?);
        }
    }
    tips.sort_by(|a, b| a.name.cmp(&b.name));
    tips.dedup();
    let mut related = Vec::new();
    for tip in tips {
        // a branch of that name on a remote may be of another project
        let common = git.merge_base_all(&tip.commit, std::slice::from_ref(base))?;
        if !common.is_empty() {
            related.push(tip);
        }
    }
    Ok(related)
}

/// Reads the ref of this full name; none if there is none: `refs/heads/main~1` is a revision.
fn read_tip(git: &Git, full_name: &str) -> Result<Option<Tip>, Error> {
    let refs = git.for_each_ref(&[full_name])?;
    let Some(found) = refs.into_iter().find(|found| found.name == full_name) else {
        return Ok(None);
    };
    // of a symbolic ref (`origin/HEAD`) git logs no move: what it names is followed
    let name = git.last_name(full_name)?;
    Ok(Some(Tip {
        logged: git.log(&name)?.is_some_and(|log| !log.is_empty()),
        name,
        commit: found.id,
    }))
}

/// Lists what a branch tracks, and the branches of its name on remotes.
fn names_on_remotes(git: &Git, branch: &str) -> Result<Vec<String>, Error> {
    let short = branch_of(branch);
    let mut names = Vec::new();
    for found in git.for_each_ref(&[&format!("refs/remotes/*/{short}")])? {
        names.extend(found.name.to_str().ok().map(ToOwned::to_owned));
    }
    names.extend(git.upstream(branch)?);
    Ok(names)
}

/// How many commits of upstream are looked at that the worktree does not have.
const SINCE: usize = 1000;

/// Holds what upstream had in these commits.
struct ReadCommits {
    commits: BTreeSet<CommitId>,
    entries: FormerEntries,
}

/// Reads what upstream had since commits left it. Many branches and stashes left it at the same
/// commit: the commits since then are read once.
pub struct UpstreamReader<'a> {
    inputs: &'a SurveyInputs<'a>,
    /// The newest commits of upstream.
    current: Vec<&'a CommitId>,
    /// The newest trees of upstream.
    newest: &'a [Delta],
    /// What was read.
    read: Vec<ReadCommits>,
}

impl<'a> UpstreamReader<'a> {
    /// Starts with nothing read. `newest` are the newest trees of upstream.
    pub fn new(inputs: &'a SurveyInputs<'a>, tips: &'a Tips, newest: &'a [Delta]) -> Self {
        Self {
            inputs,
            current: tips.current.iter().collect(),
            newest,
            read: Vec::new(),
        }
    }

    /// Reads the entries that upstream had of each path in the commits that none of `here` has.
    ///
    /// A path that upstream now has as the `reference` of these has it is left out: upstream took
    /// its changes back, and a commit with one of them would bring it again with a merge.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn read_since(
        &mut self,
        here: &[&CommitId],
        reference: &Delta,
    ) -> Result<FormerEntries, Error> {
        let not_here = self.inputs.git.rev_list(&self.current, here)?;
        let commits: BTreeSet<CommitId> = not_here.into_iter().collect();
        let number = self.number_of(commits)?;
        let mut since = FormerEntries::new();
        for (path, entries) in &self.read[number].entries {
            let of_here = reference.get(path);
            if self.newest.iter().any(|tip| tip.get(path) != of_here) {
                since.insert(path.clone(), entries.clone());
            }
        }
        Ok(since)
    }

    /// Returns the number under which `read` has these commits, after it has read them.
    fn number_of(&mut self, commits: BTreeSet<CommitId>) -> Result<usize, Error> {
        let known = self.read.iter().position(|one| one.commits == commits);
        if let Some(number) = known {
            return Ok(number);
        }
        let mut entries = FormerEntries::new();
        for tip in &self.current {
            let deltas = walk_back(&self.inputs.objects, tip, SINCE, &|id| commits.contains(id))?;
            for (path, entry) in deltas.into_iter().flatten() {
                entries.entry(path).or_default().insert(entry);
            }
        }
        self.read.push(ReadCommits { commits, entries });
        Ok(self.read.len() - 1)
    }
}
