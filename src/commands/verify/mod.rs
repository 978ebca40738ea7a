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
use crate::judge::finding::without_scope;
use crate::truth::checks::integrity;
use crate::truth::live::{LiveVerdict, verify_all};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{Lost, Worktree, lost};
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

/// Verifies one, several or all worktrees. Violations in any of them end with 1.
///
/// # Errors
/// Fails when the facts of one cannot be read: there is then no verdict at all.
pub fn run(session: &Session, options: &Verify) -> Result<Outcome<VerifyAnswer>, Error> {
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
    let mut verdicts = Vec::new();
    for lost in chosen.lost {
        let report = without_scope(integrity::without_record(&lost));
        let name = lost.name.as_str();
        verdicts.push(VerdictReport::worktree(name, lost.path, &report));
    }
    let judge = |worktree: &Worktree, live: Result<LiveVerdict, Error>| {
        if options.all && worktree.is_gone(&repository) {
            return Ok(None);
        }
        let live = worktree.unless_gone(&repository, live)?;
        let name = worktree.record.name.as_str();
        let path = worktree.record.path.clone();
        let mut verdict = VerdictReport::worktree(name, path, &live.report);
        verdict.waiting = WaitingRun::find(&repository, worktree)?;
        Ok::<_, Error>(Some((verdict, live.not_stored)))
    };
    let mut notes = Vec::new();
    let judged = verify_all(
        &repository,
        &chosen.worktrees,
        options.verify_options(),
        judge,
    );
    for verdict in judged {
        let Some((verdict, not_stored)) = verdict? else {
            continue;
        };
        if let Some(error) = not_stored {
            notes.push(format!("the outcome is not kept for `list`: {error}"));
        }
        verdicts.push(verdict);
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
    lost: Vec<Lost>,
}

fn chosen(repository: &Repository, options: &Verify) -> Result<Chosen, Error> {
    if options.all {
        return Ok(Chosen {
            worktrees: Worktree::all(repository)?,
            lost: lost(repository)?,
        });
    }
    let mut chosen = Chosen {
        worktrees: Vec::new(),
        lost: Vec::new(),
    };
    for named in Worktree::named(repository, &options.names) {
        match named {
            Ok(worktree) => chosen.worktrees.push(worktree),
            Err(error) => {
                let Some(WorktreeFault::UnknownWorktree { name, .. }) = error.find() else {
                    return Err(error);
                };
                let mut lost = lost(repository)?.into_iter();
                let of_name = lost.find(|lost| lost.name.as_str() == name);
                chosen.lost.push(of_name.ok_or(error)?);
            }
        }
    }
    Ok(chosen)
}
