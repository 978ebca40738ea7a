//! Judges a worktree as it is at this moment: [`LiveVerdict`], for `verify`, `list` and `status`.

use std::convert::Infallible;
use std::time::Duration;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::pool::map_parallel;
use crate::judge::change::{Change, ChangeSet, Kind, Place};
use crate::judge::finding::{Report, VerifyOptions};
use crate::record::worktree::LastVerification;
use crate::truth::checks::integrity;
use crate::truth::checks::settings::main_changed;
use crate::truth::collect_with;
use crate::truth::head::WorktreeHead;
use crate::truth::options::{LargeFiles, SurveyOptions};
use crate::truth::survey::States;
use crate::words::error::Error;
use crate::words::time::timestamp;
use crate::worktree::absence::Absence;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Repository, joined};

/// How often a worktree is read in which git works meanwhile.
const LOOKS: u64 = 4;

/// Holds the verdict over a worktree, and the facts behind the verdict.
pub struct LiveVerdict {
    /// The findings.
    pub report: Report,
    /// The outcome, as it is stored.
    pub last: LastVerification,
    /// The HEAD and the branch of the worktree.
    pub head: WorktreeHead,
    /// Every state in full.
    pub states: States,
    /// The number of paths that are not committed.
    pub uncommitted: usize,
    /// The number of ignored files.
    pub ignored: usize,
    /// The reason why the verdict is not stored for `list --stored`, if it is not.
    pub not_stored: Option<DiskError>,
}

/// What is said of a worktree that changed each time it was read.
const STILL_CHANGING: &str = "git is working here: it changed while it was read; verify again";

/// Verifies a worktree, and stores the verdict in the record.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn verify_now(
    repository: &Repository,
    worktree: &Worktree,
    options: VerifyOptions,
) -> Result<LiveVerdict, Error> {
    verify_with_large_files(repository, worktree, options, LargeFiles::Unread)
}

/// Verifies a worktree and stores the verdict, as [`verify_now`] does, and reads these large files
/// although their size alone tells that they are changed.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn verify_with_large_files(
    repository: &Repository,
    worktree: &Worktree,
    options: VerifyOptions,
    large_files: LargeFiles,
) -> Result<LiveVerdict, Error> {
    let survey_options = SurveyOptions {
        large_files,
        ..SurveyOptions::default()
    };
    let own_repository = worktree.repository(repository);
    let look = || {
        let survey = collect_with(&own_repository, worktree, &survey_options)?;
        worktree.write_walked(survey.walked.as_ref());
        Ok(survey)
    };
    let activity = || worktree.activity(&own_repository);
    let settled = look_until_settled(
        look,
        activity,
        |activity| activity.locked,
        std::thread::sleep,
    )?;
    let survey = settled.seen;
    let uncommitted = survey.uncommitted(worktree).len();
    let ignored = survey.ignored();
    let mut changes = survey.changes;
    if settled.is_changing {
        let notice = Change::detailed(Place::Worktree, Kind::Integrity, STILL_CHANGING);
        changes.noted.push(notice);
    }
    add_state_of_directory(worktree, &mut changes);
    let report = worktree.judge(changes, options);
    let last = LastVerification::new(&report, &timestamp(Duration::ZERO));
    Ok(LiveVerdict {
        not_stored: worktree.write_last(&last).err(),
        last,
        report,
        head: survey.head,
        states: survey.states,
        uncommitted,
        ignored,
    })
}

/// Adds the locks that are there, and that the directory is not.
fn add_state_of_directory(worktree: &Worktree, changes: &mut ChangeSet) {
    let record = &worktree.record;
    changes.integrity.extend(integrity::locks(record));
    if !files::exists(&record.path) {
        let Absence { what, remedy } = Absence::of(record);
        let detail = format!("{what}; {remedy}");
        let gone = integrity::integrity(Place::Worktree, detail);
        changes.integrity.retain(|one| one.place != Place::Worktree);
        changes.integrity.push(gone);
    }
}

/// Verifies worktrees at the same time; returns what `each` makes of the verdicts, in the order of
/// the worktrees.
pub fn verify_all<T: Send>(
    repository: &Repository,
    worktrees: &[Worktree],
    options: VerifyOptions,
    each: impl Fn(&Worktree, Result<LiveVerdict, Error>) -> T + Sync,
) -> Vec<T> {
    let verify = |(): &mut (), worktree: &Worktree| {
        Ok::<T, Infallible>(each(worktree, verify_now(repository, worktree, options)))
    };
    let Ok(answers) = map_parallel(worktrees, || Ok(()), verify);
    answers
}

/// Verifies worktrees as [`verify_all`] does, and meanwhile counts the changed files of the main
/// worktree. A failure of git's status there is not a reason to show nothing.
pub fn verify_beside_main<T: Send>(
    repository: &Repository,
    worktrees: &[Worktree],
    each: impl Fn(&Worktree, Result<LiveVerdict, Error>) -> T + Sync,
) -> (Vec<T>, Option<usize>) {
    std::thread::scope(|threads| {
        let main = threads.spawn(|| main_changed(repository, worktrees).ok().flatten());
        let answers = verify_all(repository, worktrees, VerifyOptions::default(), each);
        (answers, joined(main))
    })
}

/// Holds what was seen at the last look.
struct Settled<T> {
    seen: T,
    /// True if it changed while it was looked at, each time.
    is_changing: bool,
}

/// Looks at a worktree. A git that works there meanwhile changes one part after another part was
/// read: then it is looked at again, a few times.
fn look_until_settled<T, A: PartialEq>(
    look: impl Fn() -> Result<T, Error>,
    activity: impl Fn() -> A,
    is_locked: impl Fn(&A) -> bool,
    pause: impl Fn(Duration),
) -> Result<Settled<T>, Error> {
    let mut looks = 1;
    loop {
        let before = activity();
        let seen = look()?;
        let after = activity();
        let is_changing = before != after;
        let is_settled = !is_changing && !is_locked(&after);
        if is_settled || looks == LOOKS {
            return Ok(Settled { seen, is_changing });
        }
        pause(Duration::from_millis(50 * looks));
        looks += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The number of looks at what changes at the first looks, and whether it is said to change.
    fn looks_at(changes: u64) -> (u64, bool) {
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            Ok(())
        };
        let activity = || looks.get().min(changes);
        let settled = look_until_settled(look, activity, |_| false, |_| ());
        (
            looks.get(),
            settled.is_ok_and(|settled| settled.is_changing),
        )
    }

    #[test]
    fn what_never_settles_is_said_to_change() {
        assert_eq!(looks_at(0), (1, false));
        assert_eq!(looks_at(2), (3, false));
        assert_eq!(looks_at(LOOKS), (LOOKS, true));
        assert_eq!(looks_at(u64::MAX), (LOOKS, true));
    }

    #[test]
    fn a_lock_is_waited_for_and_is_no_change() {
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            Ok(())
        };
        let settled = look_until_settled(look, || (), |()| true, |_| ());
        assert_eq!(looks.get(), LOOKS);
        assert!(settled.is_ok_and(|settled| !settled.is_changing));
    }
}
