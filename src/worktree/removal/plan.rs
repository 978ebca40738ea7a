//! Decides whether a worktree may be removed, and what is saved before; pure.

use std::fmt;

use camino::Utf8PathBuf;

use super::refusal::{Reason, RemoveRefusal, keep_all};
use crate::config::Strategy;
use crate::name::{BranchName, CommitId};
use crate::path::RepoPath;
use crate::placed::Origin;
use crate::worktree::{Alive, MadeBy, Record};

/// Holds what `remove` looks at.
#[derive(Clone, Debug)]
pub struct RemoveFacts {
    /// The record.
    pub record: Box<Record>,
    /// The directory in which the command was started.
    pub start: Utf8PathBuf,
    /// The repository's root.
    pub root: Utf8PathBuf,
    /// Where a worktree of this name stands.
    pub place: Utf8PathBuf,
    /// Why nothing can be removed there: a directory on the way is a link.
    pub barred: Option<String>,
    /// Which directory a link in its place leads to.
    pub link: Option<Utf8PathBuf>,
    /// Whether git has the worktree locked.
    pub locked: bool,
    /// Paths with uncommitted work, untracked files among them.
    pub uncommitted: Vec<RepoPath>,
    /// Which of these git does not know.
    pub untracked: Vec<RepoPath>,
    /// Which of these were placed, and are edited.
    pub placed: Vec<(RepoPath, Origin)>,
    /// Directories with a repository of their own inside, submodules with work of their own among
    /// them.
    pub nested: Vec<RepoPath>,
    /// What could not be read, and may hold work.
    pub unreadable: Vec<String>,
    /// Of a clone: the worktrees that were added to its repository elsewhere.
    pub linked: Vec<String>,
    /// Whether a submodule's repository in the private git directory has something of its own.
    pub modules: bool,
    /// Whether the directory, or the private git directory, is there.
    pub is_left: bool,
    /// Where other file systems are mounted inside.
    pub mounted: Vec<String>,
    /// Processes that work inside; none where the system does not tell.
    pub running: Option<Vec<Running>>,
    /// Whether its owner, if it has one, is alive.
    pub owner: Alive,
    /// Whether another worktree has the branch checked out by now.
    pub held: bool,
    /// Where the branch is; none when it is gone.
    pub branch_tip: Option<CommitId>,
    /// Where HEAD is, if not at the branch, where it was when it left a commit that it named by
    /// itself, and what else only the private git directory keeps: those that no branch,
    /// remote-tracking branch or tag has.
    pub detached: Vec<CommitId>,
    /// Where git has the worktree by now, if somebody moved it.
    pub moved_to: Option<Utf8PathBuf>,
    /// The commits that are nowhere else, neither by themselves nor by what they change.
    pub unmerged: Unmerged,
    /// How what the branch changes came into the base branch, where its commits are not in it.
    pub merged: Option<Merged>,
    /// Stashes that were made on the branch, which stay.
    pub stashes: Vec<String>,
}

/// Lists commits that are on no other branch, remote-tracking branch or tag, and that nobody has
/// merged by content: the id and the subject of each, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmerged {
    /// On the worktree's branch.
    pub branch: Vec<(CommitId, String)>,
    /// Only reachable from a HEAD that is elsewhere, or from refs that the worktree has for itself.
    pub detached: Vec<(CommitId, String)>,
}

/// Says how the content of commits came into the base branch, which does not have the commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Each change is in a commit of its own there; the newest of them.
    Picked(CommitId),
    /// All of it is in this commit.
    Squashed(CommitId),
    /// To merge it again would change nothing in this ref.
    Contained(String),
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Picked(commit) => {
                write!(f, "merged by rebase or cherry-pick in {}", commit.short())
            }
            Self::Squashed(commit) => write!(f, "merged by squash in {}", commit.short()),
            Self::Contained(name) => {
                let short = ["refs/heads/", "refs/remotes/"];
                let short = short.iter().find_map(|start| name.strip_prefix(start));
                write!(f, "merged: {} has its content", short.unwrap_or(name))
            }
        }
    }
}

/// Holds a process that works inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its number.
    pub pid: u32,
    /// What it calls itself.
    pub name: String,
}

/// Holds what the user allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoveOptions {
    /// `--force`: once, save what would be lost, then remove; twice, although it is in use.
    pub force: u8,
    /// `-D`: delete the branch even when it is not merged.
    pub delete_branch: bool,
    /// `--keep-branch`.
    pub keep_branch: bool,
    /// `--owner`: who asks.
    pub owner: Option<String>,
}

/// Holds what `remove` will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovePlan {
    /// Uncommitted work, as far as it was read.
    pub uncommitted: Vec<RepoPath>,
    /// Whether the worktree is kept in the trash.
    pub trash: bool,
    /// Commits that a ref must keep: they are on no branch when this is done.
    pub keep: Vec<CommitId>,
    /// What becomes of the branch.
    pub branch: BranchFate,
    /// How it was merged, if only by content.
    pub merged: Option<Merged>,
}

/// Says what becomes of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BranchFate {
    /// It stays.
    #[default]
    Stays,
    /// It is deleted, if it is still at this commit.
    Deleted(CommitId),
    /// There is none.
    Gone,
    /// It is the clone's own, and goes with it: what is new on it is fetched before.
    Private,
}

impl BranchFate {
    /// The fate as a word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stays => "stays",
            Self::Deleted(_) => "deleted",
            Self::Gone => "gone",
            Self::Private => "private",
        }
    }

    /// The fate of a branch for people.
    pub fn words(&self, branch: &BranchName, merged: Option<&Merged>) -> String {
        match self {
            Self::Stays => format!("branch {branch} stays"),
            Self::Deleted(tip) => {
                let merged = merged.map(|how| format!(", {how}")).unwrap_or_default();
                format!("branch {branch} (was {}{merged})", tip.short())
            }
            Self::Private => format!("branch {branch} went with its clone"),
            Self::Gone => "its branch was gone".to_owned(),
        }
    }
}

/// Decides.
///
/// # Errors
/// Refuses what is not ours to remove, and what would lose work that nobody allowed to save: all
/// reasons at once.
pub fn plan(facts: &RemoveFacts, options: &RemoveOptions) -> Result<RemovePlan, RemoveRefusal> {
    let record = &facts.record;
    let allowed = |reason: &Reason| reason.force.is_some_and(|n| n <= options.force);
    let mut reasons = reasons(facts, options);
    reasons.retain(|reason| !allowed(reason));
    if !reasons.is_empty() {
        return Err(RemoveRefusal {
            name: record.name.to_string(),
            reasons,
        });
    }
    let is_merged = facts.unmerged.branch.is_empty();
    let mut keep = facts.detached.clone();
    let branch = match &facts.branch_tip {
        _ if record.strategy == Strategy::Clone => BranchFate::Private,
        None => BranchFate::Gone,
        Some(_) if stays(facts, options) => BranchFate::Stays,
        Some(tip) if is_merged || options.delete_branch => {
            if !is_merged || facts.merged.is_some() {
                keep.push(tip.clone());
            }
            BranchFate::Deleted(tip.clone())
        }
        Some(_) => BranchFate::Stays,
    };
    Ok(RemovePlan {
        uncommitted: facts.uncommitted.clone(),
        trash: facts.is_left && (options.force > 0 || facts.modules),
        keep,
        branch,
        merged: facts.merged.clone(),
    })
}

/// Whether the branch stays whatever it holds: asked for, in use, or the user's own.
fn stays(facts: &RemoveFacts, options: &RemoveOptions) -> bool {
    let own = !facts.record.branch_made && !options.delete_branch;
    options.keep_branch || facts.held || own
}

/// Everything that speaks against it.
fn reasons(facts: &RemoveFacts, options: &RemoveOptions) -> Vec<Reason> {
    let record = &facts.record;
    let (name, path) = (record.name.as_str(), &record.path);
    if record.made_by == MadeBy::Git {
        let advice = format!("git agentwt hooks uninstall {name} && git worktree remove {path}");
        return vec![Reason::new("not_ours", "plain git made it", advice)];
    }
    if *path != facts.place {
        let place = &facts.place;
        let phrase = format!("its record names another place than {place}");
        let advice = format!(
            "if the repository was moved, move it back to where {path} is in it; {place} is not touched: git worktree list"
        );
        return vec![Reason::new("elsewhere", phrase, advice)];
    }
    if let (Some(target), None) = (&facts.link, &facts.barred) {
        // nobody can tell more of it
        let phrase = format!("a link to {target} stands in its place, which is not followed");
        let advice = format!("put the directory back: rm {path} && mv {target} {path}");
        return vec![Reason::new("link", phrase, advice)];
    }
    let mut all = Vec::new();
    if let Some(why) = &facts.barred {
        let advice = format!(
            "put the directory back where the link is: ls -ld {path} {path}/.. {path}/../.."
        );
        all.push(Reason::new("barred", why, advice));
    }
    if facts.start.starts_with(path) {
        let advice = format!("cd {} && git agentwt remove {name}", facts.root);
        all.push(Reason::new("inside", "you are inside it", advice));
    }
    if let Some(to) = &facts.moved_to {
        let advice = format!("move it back first: git worktree move {to} {path}");
        all.push(Reason::new(
            "moved",
            format!("it was moved to {to}"),
            advice,
        ));
    }
    let listed = |code, what: &str, items: &[String], advice: String| {
        let phrase = format!("{what}: {}", items.join(", "));
        (!items.is_empty()).then(|| Reason::new(code, phrase, advice))
    };
    let advice = format!(
        "remove these first: git -C {path} worktree list; git -C {path} worktree remove <path>"
    );
    let what = "its repository has other worktrees";
    all.extend(listed("linked", what, &facts.linked, advice));
    let nested: Vec<String> = facts.nested.iter().map(ToString::to_string).collect();
    let advice = format!("move it out of {path}, or {}", keep_all(name));
    let what = "a repository is inside it";
    let reason = listed("nested_repository", what, &nested, advice);
    all.extend(reason.map(|reason| reason.up_to(1)));
    let below = |item: &String| format!(" {path}/{item}");
    let mounted: String = facts.mounted.iter().map(below).collect();
    let what = "a file system is mounted inside it";
    all.extend(listed(
        "mounted",
        what,
        &facts.mounted,
        format!("umount{mounted}"),
    ));
    if !facts.unreadable.is_empty() {
        all.push(Reason::unreadable(facts));
    }
    let work = work(facts, options);
    all.extend(work.map(|work| Reason::would_lose(name, &work)));
    if facts.locked {
        let advice = format!("git worktree unlock {path}");
        all.push(Reason::new("locked", "it is locked", advice).up_to(2));
    }
    if let Some(running @ [_, ..]) = facts.running.as_deref() {
        all.push(Reason::running(name, running));
    }
    if let (Some(owner), Alive::Yes) = (&record.owner, facts.owner)
        && options.owner.as_ref() != Some(&owner.id)
    {
        all.push(Reason::owned(name, owner));
    }
    all
}

/// Holds what git would lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// How many tracked files are not as in HEAD.
    pub changed: usize,
    /// How many files are untracked.
    pub untracked: usize,
    /// How many placed files are edited.
    pub placed: usize,
    /// All of these, in the order in which they are shown.
    pub paths: Vec<RepoPath>,
    /// Which of these can be taken over by `sync --pull`.
    pub synced: Vec<RepoPath>,
    /// Commits that are nowhere else.
    pub commits: Vec<(CommitId, String)>,
}

/// What git would lose, if anything.
fn work(facts: &RemoveFacts, options: &RemoveOptions) -> Option<Work> {
    let mut commits = facts.unmerged.detached.clone();
    if !stays(facts, options) && !options.delete_branch {
        commits.extend(facts.unmerged.branch.iter().cloned());
    }
    // what is in a repository inside is told as such
    let is_nested = |path: &RepoPath| {
        let mut nested = facts.nested.iter();
        nested.any(|above| path == above || path.is_below(above.as_bstr()))
    };
    let work: Vec<&RepoPath> = facts.uncommitted.iter().filter(|p| !is_nested(p)).collect();
    if work.is_empty() && commits.is_empty() {
        return None;
    }
    // what git shows nobody is named first
    let is_placed = |path: &RepoPath| facts.placed.iter().any(|(placed, _)| placed == path);
    let edited = facts.placed.iter().map(|(path, _)| path);
    let others = work.iter().copied().filter(|path| !is_placed(path));
    let synced = facts.placed.iter();
    let synced = synced.filter(|(_, origin)| *origin == Origin::Synced);
    let untracked = facts.untracked.iter().filter(|p| !is_nested(p)).count();
    let placed = facts.placed.len();
    Some(Work {
        changed: work.len().saturating_sub(untracked + placed),
        untracked,
        placed,
        paths: edited.chain(others).cloned().collect(),
        synced: synced.map(|(path, _)| path.clone()).collect(),
        commits,
    })
}

/// What the user should know although it stops nothing.
pub fn notes(facts: &RemoveFacts, options: &RemoveOptions) -> Vec<String> {
    let record = &facts.record;
    let name = &record.name;
    let mut notes = Vec::new();
    if let (Some(owner), Alive::Unknown) = (&record.owner, facts.owner)
        && options.owner.as_ref() != Some(&owner.id)
    {
        notes.push(format!(
            "{name}: nobody can tell from here whether its owner `{}` on {} is alive",
            owner.id, owner.host
        ));
    }
    if facts.modules && options.force == 0 {
        notes.push(format!(
            "{name}: a submodule's repository has something of its own, so the worktree is kept in the trash"
        ));
    }
    if facts.running.is_none() {
        notes.push(format!(
            "{name}: this system does not tell whether a process works in it"
        ));
    }
    if !facts.stashes.is_empty() {
        let verb = match facts.stashes.len() {
            1 => "a stash that was made on its branch stays",
            _ => "stashes that were made on its branch stay",
        };
        notes.push(format!("{name}: {verb}: {}", facts.stashes.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests;
