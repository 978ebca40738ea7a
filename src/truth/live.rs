//! Judges a worktree as it is at this moment: [`LiveVerdict`], for `verify`, `list` and `status`.

use std::convert::Infallible;
use std::time::Duration;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::pool::map_parallel;
use crate::judge::change::Place;
use crate::judge::finding::{Report, VerifyOptions};
use crate::record::worktree::LastVerification;
use crate::truth::ground::{LargeFiles, Terms};
use crate::truth::heads::Heads;
use crate::truth::sealed::main_changed;
use crate::truth::{States, Survey, collect_with, integrity};
use crate::words::error::Error;
use crate::words::toml_file::timestamp;
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
    pub heads: Heads,
    /// Every state in full.
    pub states: States,
    /// The number of paths that are not committed.
    pub uncommitted: usize,
    /// The number of ignored files.
    pub ignored: usize,
    /// The reason why the verdict is not stored for `list --stored`, if it is not.
    pub not_stored: Option<DiskError>,
}

/// Verifies a worktree, and stores the verdict in the record.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn verify_now(
    repository: &Repository,
    known: &Worktree,
    options: VerifyOptions,
) -> Result<LiveVerdict, Error> {
    verify_reading(repository, known, options, LargeFiles::Unread)
}

/// Verifies a worktree as [`verify_now`] does, and reads these large files too.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn verify_reading(
    repository: &Repository,
    known: &Worktree,
    options: VerifyOptions,
    large_files: LargeFiles,
) -> Result<LiveVerdict, Error> {
    let terms = Terms {
        large_files,
        ..Terms::default()
    };
    let survey = settled(repository, known, &terms)?;
    let (uncommitted, ignored) = (survey.uncommitted(known).len(), survey.ignored());
    let mut changes = survey.changes;
    changes.integrity.extend(integrity::locks(&known.record));
    if !files::exists(&known.record.path) {
        let said = "its directory is gone; to remove its record: git agentwt prune";
        let gone = integrity::integrity(Place::Worktree, said);
        changes.integrity.retain(|one| one.place != Place::Worktree);
        changes.integrity.push(gone);
    }
    let report = known.judge(changes, options);
    let last = LastVerification::new(&report, &timestamp(Duration::ZERO));
    Ok(LiveVerdict {
        not_stored: known.write_last(&last).err(),
        last,
        report,
        heads: survey.heads,
        states: survey.states,
        uncommitted,
        ignored,
    })
}

/// Verifies worktrees at the same time; what `each` makes of the verdicts, in the order of the
/// worktrees.
pub fn verify_all<T: Send>(
    repository: &Repository,
    all: &[Worktree],
    options: VerifyOptions,
    each: impl Fn(&Worktree, Result<LiveVerdict, Error>) -> T + Sync,
) -> Vec<T> {
    let one = |(): &mut (), known: &Worktree| {
        Ok::<T, Infallible>(each(known, verify_now(repository, known, options)))
    };
    let Ok(done) = map_parallel(all, || Ok(()), one);
    done
}

/// Verifies worktrees as [`verify_all`] does, and meanwhile counts the changed files of the main worktree.
/// A failure of git's status there is not a reason to show nothing.
pub fn verify_beside_main<T: Send>(
    repository: &Repository,
    all: &[Worktree],
    each: impl Fn(&Worktree, Result<LiveVerdict, Error>) -> T + Sync,
) -> (Vec<T>, Option<usize>) {
    std::thread::scope(|threads| {
        let main = threads.spawn(|| main_changed(repository, all).ok().flatten());
        let done = verify_all(repository, all, VerifyOptions::default(), each);
        (done, joined(main))
    })
}

/// Reads a worktree. A git that works there meanwhile changes one part after another part was read:
/// then the worktree is read again, a few times.
fn settled(repository: &Repository, known: &Worktree, terms: &Terms) -> Result<Survey, Error> {
    let repository = &known.repository(repository);
    let mut before = known.activity(repository);
    let mut looks = 1;
    loop {
        let survey = collect_with(repository, known, terms)?;
        known.write_walked(survey.walked.as_ref());
        let after = known.activity(repository);
        if after == before && !after.locked || looks == LOOKS {
            return Ok(survey);
        }
        std::thread::sleep(Duration::from_millis(50 * looks));
        before = known.activity(repository);
        looks += 1;
    }
}
