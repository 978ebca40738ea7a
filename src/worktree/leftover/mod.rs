//! Finds what is left over: of killed commands, of git, of worktrees that somebody deleted by hand.
//! One model for `prune`, which clears it, and for `doctor` and `list`, which show it.
//!
//! [`of_name`] finds what a name has, [`shared`] the rest; each [`Leftover`] says what `prune` does
//! with it ([`Remedy`]) or how the user goes on. What may be work is never cleared. The rules here are
//! pure.

mod clear;
mod entries;
mod find;
mod incomplete;

pub use clear::clear;
pub(crate) use entries::entry_of;
pub use find::{NameLeftovers, all_names, dead_locks, of_name, shared};
pub use incomplete::has_incomplete_work;

use camino::Utf8PathBuf;

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

/// Says what `prune` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Clear what a killed `add` left, as the next `add` does.
    ClearIncomplete,
    /// Remove the worktree, if `remove`'s rules allow it.
    RemoveWorktree,
    /// Remove the record only.
    ForgetRecord,
    /// Remove a directory that is empty.
    RemoveEmpty,
    /// Delete a directory of ours with all that is in it.
    Delete,
    /// Delete a file of ours.
    Unlink,
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
    /// What `prune` does; none: it stays.
    pub remedy: Option<Remedy>,
    /// How the user goes on, where it stays and there is more to do.
    pub help: Option<String>,
}

/// From which age on, in seconds, a lock of git's or an unfinished file counts as dead: git holds
/// no lock for long, but an editor that waits for a message may.
pub const OLD: u64 = 10 * 60;
/// From which age on nobody waits for a claim any more.
const CLAIM_OLD: u64 = 24 * 3600;

impl Leftover {
    fn new(kind: LeftoverKind, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            path: Utf8PathBuf::new(),
            why: why.into(),
            remedy: None,
            help: None,
        }
    }

    fn at(self, path: impl Into<Utf8PathBuf>) -> Self {
        let path = path.into();
        Self { path, ..self }
    }

    fn cleared_by(self, remedy: Remedy) -> Self {
        let remedy = Some(remedy);
        Self { remedy, ..self }
    }

    fn with_help(self, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self { help, ..self }
    }
}

/// Says what is recorded of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NameState {
    /// Nothing.
    Nothing,
    /// A directory for a record, without one.
    Empty,
    /// An intent: `add` was killed.
    Incomplete,
    /// Something that cannot be read, for this reason.
    Damaged(String),
    /// A whole record, whose worktree's directory is not there.
    Gone,
    /// A whole record of a worktree that plain git made and has removed.
    Forgotten,
    /// A whole record of a worktree whose removal has begun.
    Begun,
    /// A whole record of a worktree that is there.
    There,
}

/// Says what stands where a worktree of a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
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

/// Holds what is there of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NameFacts {
    name: String,
    recorded: NameState,
    standing: Standing,
    /// Whether git still has a private directory for it.
    entry: bool,
    /// Directories in which files wait to be moved in, below the root.
    copies: Vec<String>,
    /// How long ago what is known of a claim on it was written, in seconds, if anything is.
    claim: Option<u64>,
}

/// Judges everything of a name whose lock is ours.
fn judge_name(facts: &NameFacts) -> Vec<Leftover> {
    use LeftoverKind::{Copies, Incomplete, Record, Worktree};
    let name = facts.name.as_str();
    let place = format!(".agentwt/worktrees/{name}");
    let worktree =
        |why: &str| Leftover::new(Worktree, name, why).cleared_by(Remedy::RemoveWorktree);
    let record = |why: &str| Leftover::new(Record, name, why).cleared_by(Remedy::ForgetRecord);
    let is_bare = facts.standing == Standing::Nothing && !facts.entry;
    let mut all = Vec::new();
    match &facts.recorded {
        NameState::Nothing => all.extend(unrecorded(facts, &place)),
        NameState::Empty if is_bare => {
            all.push(record("there is no record in it, and no worktree"));
        }
        NameState::Empty => all.push(lost(facts, &place)),
        NameState::Incomplete => {
            let line = Leftover::new(Incomplete, name, "`add` was killed");
            all.push(line.cleared_by(Remedy::ClearIncomplete));
        }
        NameState::Damaged(why) if is_bare => {
            all.push(record(&format!("{why}, and there is no worktree")));
        }
        NameState::Damaged(why) => all.push(damaged(facts, why, &place)),
        NameState::Gone => all.push(worktree("its directory is gone")),
        NameState::Forgotten => all.push(record("git has no such worktree any more")),
        NameState::Begun => all.push(worktree("its removal was interrupted")),
        NameState::There => {}
    }
    let copies = facts.copies.iter().map(|path| {
        let why = "the process that copied into it was killed";
        Leftover::new(Copies, path, why)
            .at(path)
            .cleared_by(Remedy::Delete)
    });
    all.extend(copies);
    all.extend(facts.claim.and_then(|age| claim(facts, age)));
    all
}

/// A record that cannot be read gives no scope and no base: what is work there cannot be told.
fn damaged(facts: &NameFacts, why: &str, place: &str) -> Leftover {
    let help = match facts.standing {
        Standing::Nothing => format!(
            "what was staged may still be in git's index for it: git worktree list; then git worktree remove {place}"
        ),
        Standing::Clone | Standing::Other => format!(
            "save what is in {place} (git -C {place} status), then rm -r {place} && git agentwt prune"
        ),
        Standing::Empty | Standing::Worktree => format!(
            "save what is in {place} (git -C {place} status), then git worktree remove --force {place} && git agentwt prune"
        ),
    };
    Leftover::new(LeftoverKind::Record, &facts.name, why).with_help(help)
}

fn unrecorded(facts: &NameFacts, place: &str) -> Option<Leftover> {
    match facts.standing {
        Standing::Nothing => None,
        Standing::Empty => {
            let why = "it is empty, and nothing is recorded of it";
            let line = Leftover::new(LeftoverKind::Directory, place, why).at(place);
            Some(line.cleared_by(Remedy::RemoveEmpty))
        }
        Standing::Worktree | Standing::Clone | Standing::Other => Some(lost(facts, place)),
    }
}

/// Something without a record, of which it cannot be told whether it is ours.
fn lost(facts: &NameFacts, place: &str) -> Leftover {
    let directory = |why: &str, help: String| {
        Leftover::new(LeftoverKind::Directory, place, why).with_help(help)
    };
    match facts.standing {
        Standing::Worktree => directory(
            "it is a worktree without a record",
            format!(
                "look at its work (git -C {place} status), then git worktree remove {place}; to verify it: git agentwt hooks install {place}"
            ),
        ),
        Standing::Clone => directory(
            "it is a clone without a record",
            format!(
                "look at its work (git -C {place} status; git -C {place} log --branches --not --remotes), then rm -r {place}"
            ),
        ),
        Standing::Nothing => {
            let why = "git still has what was staged there";
            let help = "git worktree list; then git worktree prune";
            Leftover::new(LeftoverKind::Record, &facts.name, why).with_help(help)
        }
        Standing::Empty | Standing::Other => stranger(place),
    }
}

/// A directory of which nothing is known.
fn stranger(place: &str) -> Leftover {
    let why = "nothing is recorded of it";
    let help = format!("look at it (ls -A {place}), then move it away or rm -r {place}");
    Leftover::new(LeftoverKind::Directory, place, why).with_help(help)
}

/// What is known of a claim only counts for a worktree that is there, or for one who waits for it.
fn claim(facts: &NameFacts, age: u64) -> Option<Leftover> {
    if !matches!(facts.recorded, NameState::Nothing | NameState::Empty) {
        return None;
    }
    let what = format!("agentwt/claims/{}.toml", facts.name);
    let since = ago(age);
    Some(if age < CLAIM_OLD {
        let why = format!("another process may wait for the claim: it was written {since} ago");
        Leftover::new(LeftoverKind::Claim, what, why)
    } else {
        let why = format!("no worktree has the name, and it was written {since} ago");
        let line = Leftover::new(LeftoverKind::Claim, what, why);
        line.cleared_by(Remedy::Unlink)
    })
}

/// Says what is wrong with a private git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EntryFault {
    /// `git worktree add` was killed: it is locked as "initializing", and git never prunes it.
    Initializing,
    /// Its worktree is not at this path.
    Dangling(String),
    /// It names no worktree.
    NoWorktree,
}

/// Holds a private git directory that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EntryFacts {
    path: String,
    fault: EntryFault,
    /// Whether `add` made it.
    ours: bool,
    /// Whether something would go with it that is nowhere else; none when that cannot be told.
    work: Option<bool>,
}

/// Judges a private git directory that leads nowhere.
fn judge_entry(facts: &EntryFacts) -> Leftover {
    let path = facts.path.as_str();
    let entry = |why: String| Leftover::new(LeftoverKind::Entry, path, why).at(path);
    let (why, by_git) = match &facts.fault {
        EntryFault::Initializing => (
            "`git worktree add` was killed".to_owned(),
            format!("if no git runs here: rm {path}/locked && git worktree prune"),
        ),
        EntryFault::Dangling(worktree) => (
            format!("{worktree} is not there"),
            format!(
                "git worktree prune; or if it was moved: git worktree repair <its new path> ({path})"
            ),
        ),
        EntryFault::NoWorktree => (
            "it names no worktree".to_owned(),
            "git worktree prune".to_owned(),
        ),
    };
    match (facts.ours, facts.work) {
        (false, _) => entry(format!("{why}, and no record of ours names it")).with_help(by_git),
        (true, Some(false)) => entry(why).cleared_by(Remedy::Delete),
        (true, Some(true)) => {
            let help = format!("git --git-dir {path} log -1; git --git-dir {path} diff --cached");
            entry(format!("{why}, but it has work that is nowhere else")).with_help(help)
        }
        (true, None) => entry(format!("{why}, and it cannot be read")).with_help(by_git),
    }
}

/// Holds a lock file of git's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LockFacts {
    path: String,
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
    let path = facts.path.as_str();
    let since = ago(facts.age);
    let lock = |why: String| Leftover::new(LeftoverKind::GitLock, path, why).at(path);
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
            let why = format!("a git that was killed left it {since} ago");
            lock(why).cleared_by(Remedy::Unlink)
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

#[cfg(test)]
mod tests;
