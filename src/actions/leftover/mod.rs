//! Finds what is left over: of killed commands, of git, of worktrees that were deleted by hand.
//! One model for `prune`, which clears it, and for `doctor` and `list`, which show it.
//!
//! `of_name` finds what a name has, `shared` the rest; each [`Leftover`] says whether `prune`
//! clears it ([`clear`]) or how the user goes on. What may be work is never cleared. The rules here
//! are pure.

pub mod find;
pub mod incomplete;

use camino::Utf8PathBuf;

use crate::actions::trash::empty::{Expired, expire_unless_used};
use crate::actions::trash::list::list;
use crate::actions::unfinished::remove_unfinished;
use crate::disk::files;
use crate::disk::writable::make_directories_writable;
use crate::record::worktree::Intent;
use crate::words::error::Error;
use crate::worktree::admin_dir::delete_entry;
use crate::worktree::error::WorktreeFault;
use crate::worktree::repository::{Repository, WORKTREES};

/// Names a kind of leftover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftoverKind {
    /// What a killed `add` has left.
    Incomplete,
    /// A worktree.
    Worktree,
    /// A record of a worktree.
    Record,
    /// A directory among the worktrees.
    Directory,
    /// Files that were being copied.
    Copies,
    /// A private git directory.
    Entry,
    /// A lock file of ours.
    Lock,
    /// A lock file of git's.
    GitLock,
    /// Removed worktrees that wait to be deleted.
    Deleted,
    /// A removed worktree in the trash.
    Trash,
    /// What is known here of a claim.
    Claim,
    /// A file that was being written.
    Temporary,
}

impl LeftoverKind {
    /// It as a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Worktree => "worktree",
            Self::Record => "record",
            Self::Directory => "directory",
            Self::Copies => "copies",
            Self::Entry => "entry",
            Self::Lock => "lock",
            Self::GitLock => "git-lock",
            Self::Deleted => "deleted",
            Self::Trash => "trash",
            Self::Claim => "claim",
            Self::Temporary => "temporary",
        }
    }
}

/// Represents one thing that is left over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// What kind of thing it is.
    pub kind: LeftoverKind,
    /// Its name, or its path as people see it.
    pub what: String,
    /// Its path; empty where the name says all.
    pub path: Utf8PathBuf,
    /// Why it is left over, or stays.
    pub why: String,
    /// Whether `prune` clears it.
    pub goes: bool,
    /// How the user goes on, where it stays and there is more to do.
    pub help: Option<String>,
}

/// From which age on, in seconds, a lock of git's or an unfinished file counts as dead: git holds
/// no lock for long, but an editor that waits for a message may.
pub const OLD: u64 = 10 * 60;
/// From which age on no process waits for a claim any more.
const CLAIM_OLD: u64 = 24 * 3600;

impl Leftover {
    fn new(kind: LeftoverKind, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            path: Utf8PathBuf::new(),
            why: why.into(),
            goes: false,
            help: None,
        }
    }

    fn at(self, path: impl Into<Utf8PathBuf>) -> Self {
        let path = path.into();
        Self { path, ..self }
    }

    fn going(self) -> Self {
        Self { goes: true, ..self }
    }

    fn with_help(self, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self { help, ..self }
    }
}

/// Says what stands where a worktree of a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryStanding {
    /// Nothing.
    Nothing,
    /// An empty directory.
    Empty,
    /// A worktree of this repository.
    Worktree,
    /// A clone that `add` made.
    Clone,
    /// Anything else.
    Other,
}

/// Judges what there is of a name without a record that can be read, which gives no scope and no
/// base: what is work there cannot be told. `damage` is why there is none, if anything is recorded;
/// `entry` whether git has a private directory for it.
fn judge_name(
    name: &str,
    standing: EntryStanding,
    entry: bool,
    damage: Option<&str>,
) -> Option<Leftover> {
    let place = format!("{WORKTREES}/{name}");
    let saved = format!("save what is in {place} (git -C {place} status), then");
    let record = |why: &str| Leftover::new(LeftoverKind::Record, name, why);
    Some(match (standing, damage) {
        (EntryStanding::Nothing, None) => return None,
        (EntryStanding::Nothing, Some(why)) if !entry => {
            record(&format!("{why}, and there is no worktree")).going()
        }
        (EntryStanding::Nothing, Some(why)) => record(why).with_help(format!(
            "what was staged may still be in git's index for it: git worktree list; then git \
                worktree remove {place}"
        )),
        (EntryStanding::Empty, None) => {
            let why = "it is empty, and nothing is recorded of it";
            Leftover::new(LeftoverKind::Directory, &place, why).going()
        }
        (EntryStanding::Worktree, None) => {
            let why = "it is a worktree without a record";
            Leftover::new(LeftoverKind::Directory, &place, why).with_help(format!(
                "look at its work (git -C {place} status), then git worktree remove {place}; to \
                    verify it: git agentwt hooks install {place}"
            ))
        }
        (EntryStanding::Clone, None) => {
            let why = "it is a clone without a record";
            Leftover::new(LeftoverKind::Directory, &place, why).with_help(format!(
                "look at its work (git -C {place} status; git -C {place} log --branches --not \
                    --remotes), then rm -r {place}"
            ))
        }
        (EntryStanding::Other, None) => stranger(&place),
        (EntryStanding::Clone | EntryStanding::Other, Some(why)) => {
            record(why).with_help(format!("{saved} rm -r {place} && git agentwt prune"))
        }
        (EntryStanding::Empty | EntryStanding::Worktree, Some(why)) => record(why).with_help(
            format!("{saved} git worktree remove --force {place} && git agentwt prune"),
        ),
    })
}

/// A directory of which nothing is known.
fn stranger(place: &str) -> Leftover {
    let why = "nothing is recorded of it";
    let help = format!("look at it (ls -A {place}), then move it away or rm -r {place}");
    Leftover::new(LeftoverKind::Directory, place, why).with_help(help)
}

/// Judges what is known of a claim of a name that has no worktree, for which one may wait.
fn judge_claim(name: &str, age: u64) -> Leftover {
    let what = format!("agentwt/claims/{name}.toml");
    let since = ago(age);
    if age < CLAIM_OLD {
        let why = format!("another process may wait for the claim: it was written {since} ago");
        return Leftover::new(LeftoverKind::Claim, what, why);
    }
    let why = format!("no worktree has the name, and it was written {since} ago");
    Leftover::new(LeftoverKind::Claim, what, why).going()
}

/// Judges a private git directory that leads nowhere: whether `add` made it (`ours`), and whether
/// something would go with it that is nowhere else, if that can be told.
fn judge_entry(path: &str, why: &str, by_git: String, ours: bool, work: Option<bool>) -> Leftover {
    let entry = |more: &str| Leftover::new(LeftoverKind::Entry, path, format!("{why}{more}"));
    let entry = match (ours, work) {
        (false, _) => entry(", and no record of ours names it").with_help(by_git),
        (true, Some(false)) => entry("").going(),
        (true, Some(true)) => {
            let help = format!("git --git-dir {path} log -1; git --git-dir {path} diff --cached");
            entry(", but it has work that is nowhere else").with_help(help)
        }
        (true, None) => entry(", and it cannot be read").with_help(by_git),
    };
    entry.at(path)
}

/// Holds a lock file of git's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LockFacts {
    path: Utf8PathBuf,
    /// How old it is, in seconds.
    age: u64,
    /// Whether it is for one worktree, branch or ref of ours alone.
    ours: bool,
    /// How many gits run here; none where that cannot be told.
    gits: Option<usize>,
    /// Whether a process has it open; none where that cannot be told.
    open: Option<bool>,
}

/// Judges a lock file of git's.
fn judge_lock(facts: &LockFacts) -> Leftover {
    let path = &facts.path;
    let since = ago(facts.age);
    let lock = |why: String| Leftover::new(LeftoverKind::GitLock, path.as_str(), why).at(path);
    let by_hand = format!("if no git runs here: rm {path}");
    match (facts.open, facts.gits) {
        (Some(true), _) => lock("a process has it open".to_owned()),
        (_, Some(1..)) => lock("a git runs here".to_owned()),
        _ if facts.age < OLD => lock(format!("it is only {since} old")),
        (None, _) | (_, None) => lock(format!(
            "it is {since} old, and this system does not tell whose it is"
        ))
        .with_help(by_hand),
        (Some(false), Some(0)) if facts.ours => {
            lock(format!("a git that was killed left it {since} ago")).going()
        }
        (Some(false), Some(0)) => {
            lock(format!("it is {since} old, and not only ours")).with_help(by_hand)
        }
    }
}

/// A length of time, in the largest unit of which there is at least one.
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How many seconds ago something was.
pub fn age(now: i64, at: i64) -> u64 {
    u64::try_from(now.saturating_sub(at)).unwrap_or(0)
}

/// Clears one, unless it is something else by now; whether anything was cleared. Of a name, its
/// lock is ours; `intent` is that of a killed `add`. A worktree is the caller's to remove.
///
/// # Errors
/// Fails when git or the disk does.
pub fn clear(
    repository: &Repository,
    leftover: &Leftover,
    intent: Option<&Intent>,
) -> Result<bool, Error> {
    use LeftoverKind as Kind;
    let path = &leftover.path;
    match (leftover.kind, intent) {
        (Kind::Incomplete, Some(intent)) => {
            // as the next `add` of the name does
            let name = &intent.record.name;
            remove_unfinished(repository, intent)?;
            if files::exists(&repository.record_dir(name)) {
                let name = name.to_string();
                return Err(WorktreeFault::Incomplete { name }.into());
            }
            files::remove_if_empty(&repository.records_dir());
        }
        (Kind::Record, _) => {
            files::remove_directory(path)?;
            files::remove_if_empty(&repository.records_dir());
        }
        (Kind::Directory, _) => {
            files::remove_if_empty(path);
            return Ok(!files::exists(path));
        }
        (Kind::Entry, _) => return delete_entry(repository, path),
        (Kind::Trash, _) => return expire(repository, leftover),
        (Kind::GitLock, _) => {
            let now = jiff::Timestamp::now().as_second();
            if files::modified(path).is_none_or(|at| age(now, at) < OLD) {
                return Ok(false);
            }
            files::remove_file(path)?;
        }
        (Kind::Claim, _) => {
            files::remove_file(path)?;
            path.parent().into_iter().for_each(files::remove_if_empty);
        }
        (Kind::Copies | Kind::Temporary, _) => {
            let is_reached = files::canonical(path).is_ok_and(|real| real == *path);
            if is_reached && files::is_directory(path) {
                // what is in a directory that was copied without its write bit cannot be removed
                make_directories_writable(path)?;
                files::remove_directory(path)?;
            } else {
                files::remove_file(path)?;
            }
        }
        (Kind::Incomplete | Kind::Worktree | Kind::Lock | Kind::Deleted, _) => return Ok(false),
    }
    Ok(true)
}

/// Expires what is in the trash, unless it is back by now or in use.
fn expire(repository: &Repository, leftover: &Leftover) -> Result<bool, Error> {
    let entries = list(repository)?;
    match entries.iter().find(|entry| entry.shown() == leftover.what) {
        Some(entry) => Ok(expire_unless_used(repository, entry)? == Expired::Deleted),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests;
