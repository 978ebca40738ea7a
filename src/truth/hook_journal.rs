//! Reads the journal of what was done to refs from a worktree, once git's hooks have written it.

use std::time::{Duration, Instant, SystemTime};

use crate::disk::files;
use crate::git::hooks::journal;
use crate::git::hooks::journal::Journal;
use crate::record::worktree::{Record, WatchedFile};
use crate::system::processes::count_named;
use crate::truth::attribution::past_hooks::commits_past_hooks;
use crate::truth::head::WorktreeHead;
use crate::truth::options::ReadPolicy;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;

/// Holds the journal of a worktree.
#[derive(Debug, Default)]
pub struct HookJournal {
    /// The journal; none if there is no file, or a pipe stands in its place.
    pub journal: Option<Journal>,
    /// Whether a git may still write to it.
    pub activity: HookActivity,
}

/// Says whether a git may still write to the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookActivity {
    /// No git works in the worktree that has something to write.
    #[default]
    Quiet,
    /// A git works there, or a hook of the user's, and was waited for in vain.
    AtWork,
}

/// The time that a hook has to write to the journal.
const HOOK: Duration = Duration::from_millis(100);

/// The age of HEAD's log, at most, at which a hook may still have to write.
const FRESH: Duration = Duration::from_secs(2);

/// The same where a git works in the worktree.
const AT_WORK: Duration = Duration::from_secs(60);

/// How long that git is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

impl HookJournal {
    /// Reads the journal. While it lacks commits of HEAD's log that a hook may still write, it is
    /// read again after a pause: git writes that log first, and hooks of the user may run before
    /// ours.
    ///
    /// # Errors
    /// Fails when the journal cannot be read.
    pub fn read(
        worktree: &Worktree,
        head: &WorktreeHead,
        read_policy: &ReadPolicy,
    ) -> Result<Self, Error> {
        if head.pipes.contains(&journal::FILE) {
            return Ok(Self::default());
        }
        let record = &worktree.record;
        let began = Instant::now();
        loop {
            let journal = read_policy.or(worktree.journal(), || None)?;
            let waited = began.elapsed();
            match hook_state(record, journal.as_ref(), head, waited) {
                HookState::Done => {
                    let activity = HookActivity::Quiet;
                    return Ok(Self { journal, activity });
                }
                HookState::AtWork if waited >= PATIENCE => {
                    let activity = HookActivity::AtWork;
                    return Ok(Self { journal, activity });
                }
                HookState::AtWork | HookState::MayWrite => std::thread::sleep(HOOK),
            }
        }
    }
}

/// Says what the hooks of a git may still do.
enum HookState {
    /// Nothing: each commit is in the journal, or no hook ran for it.
    Done,
    /// The last commit is so new that a hook may be about to write it.
    MayWrite,
    /// A git works in the worktree.
    AtWork,
}

/// Says what the hooks of a git may still do, after this process has `waited` for them. The age of
/// HEAD's log counts: git writes that before the hook of ours runs.
fn hook_state(
    record: &Record,
    journal: Option<&Journal>,
    head: &WorktreeHead,
    waited: Duration,
) -> HookState {
    let Some(journal) = journal else {
        return HookState::Done;
    };
    let Some(log) = files::stat(&record.admin_dir.join("logs/HEAD")) else {
        return HookState::Done;
    };
    if commits_without_hooks(record, journal, head).is_empty() {
        return HookState::Done;
    }
    let age = age_of(log.mtime);
    if waited < HOOK && age < FRESH {
        return HookState::MayWrite;
    }
    let is_recent = age.saturating_sub(waited) < AT_WORK;
    if is_recent && count_named("git", &record.path).is_some_and(|number| number > 0) {
        return HookState::AtWork;
    }
    HookState::Done
}

/// Returns how long ago a time was, in nanoseconds since the epoch; nothing for one in the future.
fn age_of(time: i64) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = Duration::from_nanos(u64::try_from(time).unwrap_or_default());
    now.unwrap_or_default().saturating_sub(time)
}

/// True if our hooks were installed when the record was last written.
pub fn has_hooks(record: &Record) -> bool {
    record
        .integrity
        .iter()
        .any(|print| print.file == WatchedFile::HooksConfig && print.digest.is_some())
}

/// Lists the commits that were made here and that the journal does not have, the newest first: no
/// hook ran for them. A worktree without hooks has no journal, and nothing is missing.
pub fn commits_without_hooks(
    record: &Record,
    journal: &Journal,
    head: &WorktreeHead,
) -> Vec<CommitId> {
    if !has_hooks(record) {
        return Vec::new();
    }
    let branch = record.branch.full_ref();
    commits_past_hooks(&head.reflog, head.symbolic.as_deref(), &branch, journal)
}
