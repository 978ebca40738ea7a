//! `git agentwt verify`: holds the ground truth against the scope.

pub mod arguments;
pub mod range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::answer::verdict::VerdictReport;
use crate::answer::waiting::WaitingRun;
use crate::arguments::output::RecordEnd;
use crate::commands::verify::arguments::Verify;
use crate::commands::{Outcome, Session};
use crate::disk::error::DiskError;
use crate::judge::finding::without_scope;
use crate::truth::checks::integrity;
use crate::truth::live::{LiveVerdict, verify_all};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::lost::{LostWorktree, lost_worktrees};
use crate::worktree::repository::Repository;

/// The answer of `verify`: with `--range` one verdict, else one for each worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyAnswer {
    /// The verdict over a range.
    #[serde(flatten)]
    pub range: Option<VerdictReport>,
    /// Whether there is no violation.
    pub valid: bool,
    /// The verdicts over worktrees; absent for a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<VerdictReport>>,
}

impl Answer for VerifyAnswer {
    const DOCUMENT: &'static str = "verify";

    fn print(&self, text: &mut Text) {
        for verdict in self.verdicts() {
            verdict.print(text, text.detail);
        }
    }

    fn rows(&self) -> Vec<Row> {
        self.verdicts().iter().flat_map(|one| one.rows()).collect()
    }

    fn tsv(&self, end: RecordEnd) -> Vec<u8> {
        let mut out = Vec::new();
        for verdict in self.verdicts() {
            for line in verdict.tsv() {
                out.extend(line.into_bytes());
                out.push(end.byte());
            }
        }
        out
    }

    fn verdicts(&self) -> Vec<&VerdictReport> {
        let worktrees = self.worktrees.iter().flatten();
        self.range.iter().chain(worktrees).collect()
    }
}

/// Verifies one, several or all worktrees, or a range. Any violation makes the exit status 1.
///
/// 1. A range is verified without a worktree.
/// 2. A worktree whose record was removed gets a verdict that says so.
/// 3. The others are verified, several at a time.
///
/// # Errors
/// Fails when the facts of one cannot be read: there is then no verdict at all.
pub fn run(session: &Session, options: &Verify) -> Result<Outcome<VerifyAnswer>, Error> {
    // 1
    if let Some(range) = &options.range {
        let verdict = range::run(session, options, range)?;
        return Ok(outcome(VerifyAnswer {
            valid: verdict.valid,
            range: Some(verdict),
            worktrees: None,
        }));
    }
    let repository = session.repository()?;
    let chosen = chosen(&repository, options)?;
    // 2
    let mut verdicts = Vec::new();
    for lost in chosen.lost {
        let report = without_scope(integrity::without_record(&lost));
        let name = lost.name.as_str();
        verdicts.push(VerdictReport::worktree(name, lost.path, &report));
    }
    // 3
    let mut notes = Vec::new();
    let verify_options = options.verify_options();
    let verified = verify_all(
        &repository,
        &chosen.worktrees,
        verify_options,
        |worktree, live| read_verdict(&repository, options, worktree, live),
    );
    for verdict in verified {
        let Some(verdict) = verdict? else {
            continue;
        };
        if let Some(error) = verdict.not_stored {
            notes.push(format!("the outcome is not kept for `list`: {error}"));
        }
        verdicts.push(verdict.report);
    }
    verdicts.sort_by(|a, b| order(options, a).cmp(&order(options, b)));
    let mut outcome = outcome(VerifyAnswer {
        range: None,
        valid: verdicts.iter().all(|verdict| verdict.valid),
        worktrees: Some(verdicts),
    });
    outcome.notes = notes;
    Ok(outcome)
}

/// A verdict over a worktree.
struct WorktreeVerdict {
    report: VerdictReport,
    /// Why the verdict could not be stored for `list`.
    not_stored: Option<DiskError>,
}

/// Completes the verdict over a worktree; `None` if the worktree is gone and was not named.
fn read_verdict(
    repository: &Repository,
    options: &Verify,
    worktree: &Worktree,
    live: Result<LiveVerdict, Error>,
) -> Result<Option<WorktreeVerdict>, Error> {
    if options.all && worktree.is_gone(repository) {
        return Ok(None);
    }
    let live = worktree.unless_gone(repository, live)?;
    let record = &worktree.record;
    let name = record.name.as_str();
    let mut report = VerdictReport::worktree(name, record.path.clone(), &live.report);
    report.waiting = WaitingRun::find(repository, worktree)?;
    Ok(Some(WorktreeVerdict {
        report,
        not_stored: live.not_stored,
    }))
}

fn outcome(answer: VerifyAnswer) -> Outcome<VerifyAnswer> {
    let valid = answer.valid;
    let mut outcome = Outcome::done(answer);
    if !valid {
        outcome.exit = ExitCode::Violations;
    }
    outcome
}

/// Answers come in the order in which they were asked for, all of them by name.
fn order<'v>(options: &Verify, verdict: &'v VerdictReport) -> (Option<usize>, &'v str) {
    let name = verdict.verified();
    let position = options.names.iter().position(|asked| asked == name);
    (position, name)
}

/// The worktrees that are to be verified.
struct Chosen {
    worktrees: Vec<Worktree>,
    /// Worktrees whose record was removed.
    lost: Vec<LostWorktree>,
}

/// Finds the worktrees that were named, or all of them.
fn chosen(repository: &Repository, options: &Verify) -> Result<Chosen, Error> {
    if options.all {
        return Ok(Chosen {
            worktrees: Worktree::all(repository)?,
            lost: lost_worktrees(repository)?,
        });
    }
    let mut chosen = Chosen {
        worktrees: Vec::new(),
        lost: Vec::new(),
    };
    for named in Worktree::named(repository, &options.names) {
        match named {
            Ok(worktree) => chosen.worktrees.push(worktree),
            Err(error) => match find_lost(repository, &error)? {
                Some(found) => chosen.lost.push(found),
                None => return Err(error),
            },
        }
    }
    Ok(chosen)
}

/// Finds the worktree that an error calls unknown, if only its record was removed.
fn find_lost(repository: &Repository, error: &Error) -> Result<Option<LostWorktree>, Error> {
    let Some(WorktreeFault::UnknownWorktree { name, .. }) = error.find() else {
        return Ok(None);
    };
    let mut worktrees = lost_worktrees(repository)?.into_iter();
    Ok(worktrees.find(|worktree| worktree.name.as_str() == name))
}
