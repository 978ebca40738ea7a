//! Finds what is left over: of killed commands, of git, of worktrees that were deleted by hand.
//! One model for `prune`, which clears it, and for `doctor` and `list`, which show it.
//!
//! `of_name` finds what a name has, `shared` the rest; each [`Leftover`] says whether `prune`
//! clears it ([`clear`]) or how the user goes on. What may be work is never cleared.

mod entries;
pub mod find;
mod git_locks;
pub mod incomplete;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::trash::empty::{Expired, expire_unless_used};
use crate::actions::trash::expiry::Expiry;
use crate::actions::trash::list::list;
use crate::actions::unfinished::remove_unfinished;
use crate::disk::files;
use crate::disk::writable::make_directories_writable;
use crate::record::worktree::Intent;
use crate::words::error::Error;
use crate::words::path::shell_word;
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
    /// Returns the kind as a word.
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

/// One thing that is left over.
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

/// Says what stands at the path of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaceState {
    /// Nothing.
    Nothing,
    /// Nothing, but git has a private directory for it.
    OnlyEntry,
    /// An empty directory.
    Empty,
    /// A worktree of this repository.
    Worktree,
    /// A clone that `add` made.
    Clone,
    /// Anything else.
    Other,
}

/// Judges what stands at the path of a name that has no record, or a damaged one: then `damage`
/// says what is wrong with it. Without a record there is no scope and no base, so whether work is
/// there cannot be told.
fn judge_name(name: &str, state: PlaceState, damage: Option<&str>) -> Option<Leftover> {
    let place = format!("{WORKTREES}/{name}");
    match damage {
        Some(damage) => Some(judge_damaged_record(name, &place, state, damage)),
        None => judge_place(&place, state),
    }
}

/// Judges a damaged record by what stands at the path of its worktree.
fn judge_damaged_record(name: &str, place: &str, state: PlaceState, damage: &str) -> Leftover {
    let record = Leftover::new(LeftoverKind::Record, name, damage);
    let word = shell_word(place);
    let save = format!("save what is in {place} (git -C {word} status), then");
    match state {
        PlaceState::Nothing => Leftover {
            why: format!("{damage}, and there is no worktree"),
            ..record.going()
        },
        PlaceState::OnlyEntry => record.with_help(format!(
            "what was staged may still be in git's index for it: git worktree list; then git \
                worktree remove {word}"
        )),
        PlaceState::Clone | PlaceState::Other => {
            record.with_help(format!("{save} rm -r {word} && git agentwt prune"))
        }
        PlaceState::Empty | PlaceState::Worktree => record.with_help(format!(
            "{save} git worktree remove --force {word} && git agentwt prune"
        )),
    }
}

/// Judges what stands at the path of a worktree of which nothing is recorded.
fn judge_place(place: &str, state: PlaceState) -> Option<Leftover> {
    let word = shell_word(place);
    let leftover = match state {
        PlaceState::Nothing | PlaceState::OnlyEntry => return None,
        PlaceState::Empty => {
            let why = "it is empty, and nothing is recorded of it";
            Leftover::new(LeftoverKind::Directory, place, why).going()
        }
        PlaceState::Worktree => {
            let why = "it is a worktree without a record";
            Leftover::new(LeftoverKind::Directory, place, why).with_help(format!(
                "look at its work (git -C {word} status), then git worktree remove {word}; to \
                    verify it: git agentwt hooks install {word}"
            ))
        }
        PlaceState::Clone => {
            let why = "it is a clone without a record";
            Leftover::new(LeftoverKind::Directory, place, why).with_help(format!(
                "look at its work (git -C {word} status; git -C {word} log --branches --not \
                    --remotes), then rm -r {word}"
            ))
        }
        PlaceState::Other => stranger(place),
    };
    Some(leftover)
}

/// A directory of which nothing is known.
fn stranger(place: &str) -> Leftover {
    let why = "nothing is recorded of it";
    let word = shell_word(place);
    let help = format!("look at it (ls -A {word}), then move it away or rm -r {word}");
    Leftover::new(LeftoverKind::Directory, place, why).with_help(help)
}

/// Judges the file of a claim whose name has no worktree; a process may wait for the claim.
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

/// Says why a private git directory leads nowhere.
enum EntryFault {
    /// `git worktree add` has not come to its end.
    Initializing,
    /// It names no worktree.
    NoWorktree,
    /// This worktree is not there.
    WorktreeIsGone(Utf8PathBuf),
}

impl EntryFault {
    /// What is wrong, for people.
    fn reason(&self) -> String {
        match self {
            Self::Initializing => "`git worktree add` was killed".to_owned(),
            Self::NoWorktree => "it names no worktree".to_owned(),
            Self::WorktreeIsGone(worktree) => format!("{worktree} is not there"),
        }
    }

    /// The commands of git with which the user clears it.
    fn advice(&self, admin_dir: &Utf8Path) -> String {
        match self {
            Self::Initializing => {
                let lock = shell_word(admin_dir.join("locked").as_str());
                format!("if no git runs here: rm {lock} && git worktree prune")
            }
            Self::NoWorktree => "git worktree prune".to_owned(),
            Self::WorktreeIsGone(_) => format!(
                "git worktree prune; or if it was moved: git worktree repair <its new path> \
                    ({admin_dir})"
            ),
        }
    }
}

/// Says whose a private git directory is that leads nowhere, and what would go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryContent {
    /// It is not ours, or git may be making it.
    NotOurs,
    /// Nothing that is nowhere else.
    NoWork,
    /// Something that is nowhere else.
    Work,
    /// It cannot be read.
    Unreadable,
}

/// Judges a private git directory that leads nowhere.
fn judge_entry(admin_dir: &Utf8Path, fault: &EntryFault, content: EntryContent) -> Leftover {
    let why = fault.reason();
    match content {
        EntryContent::NotOurs => {
            let why = format!("{why}, and no record of ours names it");
            entry(admin_dir, why).with_help(fault.advice(admin_dir))
        }
        EntryContent::NoWork => entry(admin_dir, why).going(),
        EntryContent::Work => {
            let why = format!("{why}, but it has work that is nowhere else");
            entry(admin_dir, why).with_help(format!(
                "git --git-dir {admin_dir} log -1; git --git-dir {admin_dir} diff --cached"
            ))
        }
        EntryContent::Unreadable => {
            let why = format!("{why}, and it cannot be read");
            entry(admin_dir, why).with_help(fault.advice(admin_dir))
        }
    }
}

/// A private git directory as a leftover.
fn entry(admin_dir: &Utf8Path, why: String) -> Leftover {
    Leftover::new(LeftoverKind::Entry, admin_dir.as_str(), why).at(admin_dir)
}

/// A lock file of git's.
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

/// Judges a lock file of git's. Only one that is old, ours alone and of no living git is cleared.
fn judge_lock(facts: &LockFacts) -> Leftover {
    let age_text = ago(facts.age);
    if facts.open == Some(true) {
        return git_lock(facts, "a process has it open");
    }
    if facts.gits.is_some_and(|gits| gits > 0) {
        return git_lock(facts, "a git runs here");
    }
    if facts.age < OLD {
        return git_lock(facts, format!("it is only {age_text} old"));
    }
    let by_hand = format!(
        "if no git runs here: rm {}",
        shell_word(facts.path.as_str())
    );
    if facts.open.is_none() || facts.gits.is_none() {
        let why = format!("it is {age_text} old, and this system does not tell whose it is");
        return git_lock(facts, why).with_help(by_hand);
    }
    if !facts.ours {
        let why = format!("it is {age_text} old, and not only ours");
        return git_lock(facts, why).with_help(by_hand);
    }
    git_lock(
        facts,
        format!("a git that was killed left it {age_text} ago"),
    )
    .going()
}

/// A lock file of git's as a leftover.
fn git_lock(facts: &LockFacts, why: impl Into<String>) -> Leftover {
    Leftover::new(LeftoverKind::GitLock, facts.path.as_str(), why).at(&facts.path)
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

/// Clears a leftover that goes ([`Leftover::goes`]), and returns whether it did: not where it was
/// written anew by now. The caller holds the lock of the name, where the leftover is one of a
/// name. `intent` is that of a killed `add`. Worktrees, our locks and the old bin of deleted
/// worktrees are not cleared here.
///
/// # Errors
/// Fails when git or the disk does.
pub fn clear(
    repository: &Repository,
    leftover: &Leftover,
    intent: Option<&Intent>,
) -> Result<bool, Error> {
    let path = &leftover.path;
    match leftover.kind {
        LeftoverKind::Incomplete => match intent {
            Some(intent) => clear_incomplete(repository, intent)?,
            None => return Ok(false),
        },
        LeftoverKind::Record => {
            files::remove_directory(path)?;
            files::remove_if_empty(&repository.records_dir());
        }
        LeftoverKind::Directory => {
            files::remove_if_empty(path);
            return Ok(!files::exists(path));
        }
        LeftoverKind::Entry => return delete_entry(repository, path),
        LeftoverKind::Trash => return expire(repository, leftover),
        LeftoverKind::GitLock => return clear_git_lock(path),
        LeftoverKind::Claim => {
            files::remove_file(path)?;
            path.parent().into_iter().for_each(files::remove_if_empty);
        }
        LeftoverKind::Copies => remove_copies(path)?,
        LeftoverKind::Temporary => {
            if !is_still_old(path) {
                return Ok(false);
            }
            remove_copies(path)?;
        }
        LeftoverKind::Worktree | LeftoverKind::Lock | LeftoverKind::Deleted => return Ok(false),
    }
    Ok(true)
}

/// Removes a lock file of git's, unless another git has written a new one meanwhile.
fn clear_git_lock(path: &Utf8Path) -> Result<bool, Error> {
    if !is_still_old(path) {
        return Ok(false);
    }
    files::remove_file(path)?;
    Ok(true)
}

/// True if something stands at a path that nobody has written since long.
fn is_still_old(path: &Utf8Path) -> bool {
    let now = jiff::Timestamp::now().as_second();
    files::modified(path).is_some_and(|modified| age(now, modified) >= OLD)
}

/// Removes what a killed `add` left, as the next `add` of the name does.
fn clear_incomplete(repository: &Repository, intent: &Intent) -> Result<(), Error> {
    let name = &intent.record.name;
    remove_unfinished(repository, intent)?;
    if files::exists(&repository.record_dir(name)) {
        let name = name.to_string();
        return Err(WorktreeFault::Incomplete { name }.into());
    }
    files::remove_if_empty(&repository.records_dir());
    Ok(())
}

/// Removes a file, or a directory of files, that a killed process was writing.
fn remove_copies(path: &Utf8Path) -> Result<(), Error> {
    if !is_without_links(path) || !files::is_directory(path) {
        return Ok(files::remove_file(path)?);
    }
    // what is in a directory that was copied without its write bit cannot be removed
    make_directories_writable(path)?;
    Ok(files::remove_directory(path)?)
}

/// True if no link leads to a path, at its end or on the way to it. What cannot be found out counts
/// as a link: it may lead out of the repository.
fn is_without_links(path: &Utf8Path) -> bool {
    files::canonical(path).is_ok_and(|real| real == *path)
}

/// Expires what is in the trash, unless it is back by now or in use.
fn expire(repository: &Repository, leftover: &Leftover) -> Result<bool, Error> {
    let expiry = Expiry::read(repository)?;
    let entries = list(repository)?;
    match entries.iter().find(|entry| entry.shown() == leftover.what) {
        Some(entry) => Ok(expire_unless_used(repository, &expiry, entry)? == Expired::Deleted),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests;
