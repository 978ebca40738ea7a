//! Reads what a worktree is on: HEAD, its branch, its reflog, an operation in progress; and decides
//! which commits count as work of others: the trusted tips.
//!
//! A worktree may take over what the base branch or its upstream brings, and must not be blamed
//! for it. But a worktree can also *move* those refs onto its own commit, which would hide
//! everything. So a tip of now counts beside the recorded one only if git's own logs say that
//! the move was not made from here (`docs/decisions/0003-reference-trees.md`).

use crate::disk::files;
use crate::git::hooks::journal::Target;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::refs::{Ref, ReflogEntry, parse_reflog_file};
use crate::record::worktree::{Record, Tip};
use crate::truth::ground::Effort;
use crate::truth::integrity::pipes;
use crate::truth::moves::{OwnRef, RefMoves};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::{Worktree, in_private};
use crate::worktree::repository::Repository;
use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;

/// Holds what a worktree is on.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    /// The commit HEAD names; none while its branch is unborn or it cannot be read.
    pub head: Option<CommitId>,
    /// The commit its recorded branch names; none when that branch is gone.
    pub branch: Option<CommitId>,
    /// The branch or other ref that HEAD names; none when it names a commit by itself.
    pub symbolic: Option<String>,
    /// Whether HEAD names something else than the recorded branch, outside a rebase of it.
    pub moved: bool,
    /// HEAD's reflog: what was ever made or checked out here.
    pub reflog: Vec<ReflogEntry>,
    /// What a merge in progress merges in.
    pub merging: Vec<CommitId>,
    /// The files in whose place a pipe stands.
    pub pipes: Vec<&'static str>,
}

impl Heads {
    /// Reads them by the recorded private git directory. If that is gone, the branch is asked
    /// for in the common one.
    pub fn read(repository: &Repository, known: &Worktree, effort: &Effort) -> Result<Self, Error> {
        let record = &known.record;
        let branch_ref = record.branch.full_ref();
        let pipes = pipes(record);
        let is_readable = files::is_directory(&record.admin_dir) && pipes.is_empty();
        if !is_readable || known.is_without(repository) {
            let branch = effort.or(repository.git.rev_parse_commit(&branch_ref), || None)?;
            return Ok(Self {
                head: branch.clone(),
                branch,
                moved: true,
                pipes,
                ..Self::default()
            });
        }
        let git = known.hardened_git(repository);
        let symbolic = git.symbolic_ref_head();
        let _ = symbolic.as_ref().inspect_err(|error| effort.note(error));
        let symbolic = effort.or(in_private(repository, symbolic), || None)?;
        let commit = |name: &str| {
            let found = in_private(repository, git.rev_parse_commit(name));
            effort.or(found, || None)
        };
        let (head, mut branch) = (commit("HEAD")?, commit(&branch_ref)?);
        if head.is_none() && branch.is_none() {
            // a HEAD that git cannot read is no reason not to look at what was committed
            branch = effort.or(repository.git.rev_parse_commit(&branch_ref), || None)?;
        }
        let on_branch = symbolic.as_deref() == Some(&branch_ref) && branch.is_some();
        let rebasing = || effort.or(rebasing(record), || false);
        let reflog = match head {
            Some(_) => effort.or(git.reflog("HEAD"), Vec::new)?,
            None => effort.or(reflog_file(&record.admin_dir), Vec::new)?,
        };
        Ok(Self {
            moved: !(on_branch || symbolic.is_none() && rebasing()?),
            head,
            branch,
            symbolic,
            reflog,
            merging: effort.or(merge_heads(record), Vec::new)?,
            pipes,
        })
    }

    /// What is wrong with where HEAD is, if anything.
    pub fn astray(&self, record: &Record, base_lost: bool) -> Option<String> {
        let recorded = &record.branch;
        if self.moved {
            let now = match (&self.symbolic, &self.head) {
                (Some(name), _) if *name == recorded.full_ref() => {
                    return Some(format!("its branch {recorded} is gone"));
                }
                (Some(name), _) => name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(),
                (None, Some(commit)) => format!("commit {}", commit.short()),
                (None, None) => "nothing".to_owned(),
            };
            return Some(format!("it is on {now}, not on {recorded}"));
        }
        let base = record.base.commit.short();
        base_lost.then(|| format!("{recorded} does not have the base {base} any more"))
    }

    /// Whether it is no harm that HEAD is elsewhere: git took it to a commit, or to a branch that was
    /// made here, and the recorded branch is there or was renamed.
    pub fn is_harmless(&self, own: &[OwnRef], been_on: &[CommitId]) -> bool {
        let Some(head) = self.head.as_ref().filter(|_| self.moved) else {
            return false;
        };
        match &self.symbolic {
            Some(name) => own.iter().any(|one| one.name == name.as_str()),
            None => {
                let newest = self.reflog.first().map(|entry| &entry.id);
                self.branch.is_some() && (newest == Some(head) || been_on.contains(head))
            }
        }
    }

    /// Where HEAD is, and where it was each time that it left a commit that it named by itself:
    /// perhaps nothing else has those. Git does not log that it went to an unborn branch.
    pub fn detached(&self) -> Vec<CommitId> {
        let pairs = self.reflog.windows(2);
        let left = pairs.filter(|pair| pair[0].left_a_detached_head());
        let newest = self.reflog.first().map(|entry| &entry.id);
        let all = left
            .map(|pair| &pair[1].id)
            .chain(self.head.as_ref().or(newest));
        all.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The commits that were made here, as far as the reflog tells.
    pub fn made_here(&self) -> Vec<CommitId> {
        let made = self.reflog.iter().filter(|entry| entry.made_a_commit());
        made.map(|entry| entry.id.clone()).collect()
    }

    /// The commits that can be reached from here and are no work of others, the newest first; then
    /// those that could be once.
    pub fn new_commits(
        &self,
        git: &Git,
        trusted: &[CommitId],
        journaled: &[CommitId],
        own: &[OwnRef],
    ) -> Result<Vec<CommitId>, Error> {
        let known: Vec<&CommitId> = trusted.iter().collect();
        let foreign = |tip: &&CommitId| !trusted.contains(tip);
        let now = self.head.iter().chain(&self.branch);
        let now = now.chain(own.iter().map(|one| &one.tip));
        let mut commits = git.rev_list(&now.filter(foreign).collect::<Vec<_>>(), &known)?;
        let own: BTreeSet<CommitId> = commits.iter().cloned().collect();
        // what was abandoned comes last; a reflog can be made to forget it, the journal cannot
        let before = self.reflog.iter().map(|entry| &entry.id).chain(journaled);
        let left = before.filter(|id| foreign(id) && !own.contains(id));
        let abandoned = git.rev_list(&left.collect::<Vec<_>>(), &known)?;
        commits.extend(abandoned.into_iter().filter(|id| !own.contains(id)));
        Ok(commits)
    }
}

/// What HEAD's reflog has while git reads none, as HEAD names no commit; the newest entry first.
///
/// # Errors
/// Fails when the file is there and cannot be read.
pub fn reflog_file(admin: &Utf8Path) -> Result<Vec<ReflogEntry>, Error> {
    let bytes = files::read(&admin.join("logs/HEAD"))?;
    Ok(parse_reflog_file(&bytes.unwrap_or_default()))
}

/// Whether a rebase of the recorded branch is in progress: HEAD is then detached
/// (git-rebase(1), `rebase-merge` and `rebase-apply` hold `head-name`). The apply backend writes
/// that only when it stops; until then its file `rebasing` is all there is.
fn rebasing(record: &Record) -> Result<bool, Error> {
    let ours = record.branch.full_ref();
    for directory in ["rebase-merge", "rebase-apply"] {
        let directory = record.admin_dir.join(directory);
        match files::read(&directory.join("head-name"))? {
            Some(name) if name.trim_ascii_end() == ours.as_bytes() => return Ok(true),
            None if files::exists(&directory.join("rebasing")) => return Ok(true),
            Some(_) | None => {}
        }
    }
    Ok(false)
}

/// Whether any rebase is in progress. `git am` uses `rebase-apply` too, without `rebasing`.
pub fn in_rebase(record: &Record) -> bool {
    ["rebase-merge", "rebase-apply/rebasing"]
        .iter()
        .any(|path| files::exists(&record.admin_dir.join(path)))
}

/// Whether an operation of several steps is in progress and has more of them to come. Git then
/// holds the index in memory: a file whose ctime changes in between (a write bit does that) looks
/// edited to the next step, which refuses to go on once the clock has passed into another second.
pub fn has_steps_to_come(record: &Record) -> Result<bool, Error> {
    let at = |path: &str| record.admin_dir.join(path);
    // what is left to do; a cherry-pick's list still has the step that is being done
    for (path, own) in [("rebase-merge/git-rebase-todo", 0), ("sequencer/todo", 1)] {
        if let Some(bytes) = files::read(&at(path))? {
            let text = String::from_utf8_lossy(&bytes);
            let is_step =
                |line: &&str| !line.is_empty() && !line.starts_with('#') && *line != "noop";
            return Ok(text.lines().map(str::trim).filter(is_step).count() > own);
        }
    }
    let number = |path: &str| -> Result<Option<u64>, Error> {
        let bytes = files::read(&at(path))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).trim().parse().ok())
    };
    let (next, last) = (number("rebase-apply/next")?, number("rebase-apply/last")?);
    // `git am` ends with its last patch, a rebase with post-rewrite
    Ok(last.is_some() && (next < last || files::exists(&at("rebase-apply/rebasing"))))
}

/// Whether HEAD has just been taken to where a rebase begins. The apply backend has made no
/// directory of its own yet; only the reflog says so.
pub fn starts_rebase(repository: &Repository, known: &Worktree) -> Result<bool, Error> {
    let log = known.hardened_git(repository).reflog("HEAD")?;
    let newest = log.first();
    Ok(newest.is_some_and(|entry| entry.reason.contains(" (start): checkout ")))
}

fn merge_heads(record: &Record) -> Result<Vec<CommitId>, Error> {
    let bytes = files::read(&record.admin_dir.join("MERGE_HEAD"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let ids = text.lines().map(|line| CommitId::parse(line.trim()));
    Ok(ids.filter_map(Result::ok).collect())
}

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

/// Finds the tips for a worktree. `rewired` are the remotes that lead elsewhere by now; an empty name
/// stands for all.
pub fn find_tips(
    objects: &Objects,
    moves: &RefMoves<'_>,
    rewired: &[String],
) -> Result<Tips, Error> {
    let record = &moves.known.record;
    let mut tips = recorded_tips(record);
    // those that were never moved from here first: they can tell that a move brought nothing else
    let mut ordered: Vec<&Tip> = record.base.tips.iter().collect();
    ordered.sort_by_key(|tip| !moves.journal.moves(tip.name.as_bytes()).is_empty());
    // a reset can go to what a later one brings
    for tip in ordered.iter().chain(&ordered) {
        let Some(current) = moves.now.get(BStr::new(&tip.name)) else {
            continue;
        };
        // the user may have taken it over into another of these refs, and pushed it
        let is_known = tips.trusted.contains(&current.id);
        tips.untrusted.retain(|name| *name != tip.name);
        if tips.current.contains(&current.id) {
            continue;
        }
        if is_known
            || !tracks_any(rewired, &tip.name) && tips.follow(objects, moves, tip, current)?
        {
            tips.current.push(current.id.clone());
            let (git, base) = (&moves.git, &record.base.commit);
            if current.id != tip.commit
                && git.is_ancestor(base, &tip.commit)?
                && !git.is_ancestor(base, &current.id)?
            {
                tips.rewound.push(current.id.clone());
            }
        } else {
            tips.untrusted.push(tip.name.clone());
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
    let mut tips = Tips::default();
    tips.add(&record.base.commit);
    for tip in &record.base.tips {
        tips.add(&tip.commit);
    }
    tips
}

/// Whether a trusted tip has a commit.
pub fn have(git: &Git, trusted: &[CommitId], commit: &CommitId) -> Result<bool, Error> {
    for trusted in trusted {
        if git.is_ancestor(commit, trusted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many former places of a ref are looked at.
const PASSED: usize = 100;

impl Tips {
    /// The one tip of now that has all the others in it; none where they went different ways.
    pub fn newest(&self, git: &Git) -> Result<Option<CommitId>, Error> {
        let mut newest = match self.current.as_slice() {
            [] => return Ok(None),
            [one] => return Ok(Some(one.clone())),
            several => git.merge_base_independent(several)?,
        };
        Ok(newest.pop().filter(|_| newest.is_empty()))
    }

    /// Takes over where a ref is now, and what it passed through, if git's logs show that it got there
    /// by a command outside of the worktree, and the journal does not say otherwise; whether they do.
    fn follow(
        &mut self,
        objects: &Objects,
        moves: &RefMoves<'_>,
        tip: &Tip,
        now: &Ref,
    ) -> Result<bool, Error> {
        let (git, now, name) = (&moves.git, &now.id, tip.name.as_str());
        let journaled = moves.journal.moves(name.as_bytes());
        let log = git.reflog(name).unwrap_or_default();
        // A remote-tracking ref is moved by every fetch: of those only what the log does not show
        let is_fetched = |place: &CommitId| {
            let is_it = |new: &Target| *new == Target::Object(place.clone());
            let times = journaled.iter();
            let times = times.filter(|one| is_it(&one.new) && one.old != one.new);
            let vouches = |entry: &&ReflogEntry| {
                entry.id == *place && !entry.is_push_of(place) && moves.vouches(name, entry)
            };
            let is_remote = name.starts_with("refs/remotes/");
            is_remote && log.iter().filter(vouches).count() >= times.count()
        };
        let base = std::slice::from_ref(&moves.known.record.base.commit);
        // a remote can come to hold another project; a user can rewrite all of the own branch
        let is_related = || {
            let is_remote = name.starts_with("refs/remotes/");
            if !is_remote || !git.merge_base_all(now, base)?.is_empty() {
                return Ok::<_, Error>(true);
            }
            // what they have in common may be what a shallow clone does not have
            Ok(git.is_cut(now)?)
        };
        if journaled.iter().any(|one| one.new == Target::Ref) || !is_related()? {
            return Ok(false);
        }
        for place in moves.journal.places(name.as_bytes()) {
            // one that is gone is in nothing
            if !is_fetched(place)
                && git.rev_parse_commit(place.as_str())?.is_some()
                && !have(git, &self.trusted, place)?
                && git.is_ancestor(place, now)?
            {
                return Ok(false);
            }
        }
        let known: Vec<&CommitId> = self.trusted.iter().collect();
        let new = git.rev_list(&[now], &known)?;
        let is_vouched_for = match log.first() {
            // where it was written past git: git itself would have logged it
            Some(newest) => {
                let is_brought = || newest.is_bare_move() && moves.foreign().contains(now);
                let is_known = || new.is_empty() || moves.vouches(name, newest) || is_brought();
                newest.id == *now && is_known()
            }
            // a log that was there and is empty proves nothing, but the journal does
            None if tip.logged => journaled.is_empty() && !new.iter().any(|id| moves.is_here(id)),
            None => !moves.is_made_here(now),
        };
        let is_trusted = is_vouched_for
            && (moves.is_logged_elsewhere(now) || moves.hide_nothing(objects, &new)?);
        if is_trusted {
            self.add(now);
            // what it passed through counts too: the user may have reworded a commit since that
            // the worktree was rebased on
            let passed = log.iter().skip(1).take(PASSED);
            let passed = passed.take_while(|entry| entry.id != tip.commit);
            let passed = passed.filter(|entry| moves.vouches(name, entry));
            passed.for_each(|entry| self.add(&entry.id));
        }
        Ok(is_trusted)
    }

    fn add(&mut self, commit: &CommitId) {
        if !self.trusted.contains(commit) {
            self.trusted.push(commit.clone());
        }
    }
}

/// Lists the refs that a base may follow: the branch that the revision names, or, where it names
/// none (a commit id, a tag), the main worktree's branch if that has the base; and with it what
/// it tracks and the branches of the same name on remotes.
pub fn followed_by(git: &Git, revision: &str, base: &CommitId) -> Result<Vec<Tip>, Error> {
    let short = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let exact = |name: &str| -> Result<Option<Tip>, Error> {
        // `refs/heads/main~1` is a revision, and no ref
        let found = git.for_each_ref(&[name])?;
        let Some(found) = found.into_iter().find(|found| found.name == name) else {
            return Ok(None);
        };
        // of a symbolic ref (`origin/HEAD`) git logs no move: what it names is followed
        let name = git.last_name(name)?;
        Ok(Some(Tip {
            logged: git.log(&name)?.is_some_and(|log| !log.is_empty()),
            name,
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
    let mut related = Vec::new();
    for tip in tips {
        // a branch of that name on a remote may be of another project
        if !git
            .merge_base_all(&tip.commit, std::slice::from_ref(base))?
            .is_empty()
        {
            related.push(tip);
        }
    }
    Ok(related)
}
