//! `git agentwt verify`: holds the ground truth against the scope.

pub mod arguments;
pub mod range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::answer::verdict::VerdictField;
use crate::answer::waiting::WaitingField;
use crate::commands::verify::arguments::Verify;
use crate::commands::{Outcome, Session};
use crate::judge::finding::without_scope;
use crate::truth::checks::integrity;
use crate::truth::live::verify_all;
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
    pub range: Option<VerdictField>,
    /// Whether there is no violation.
    pub valid: bool,
    /// The verdicts over worktrees; absent for a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<VerdictField>>,
    /// Whether people see every finding (`-v`).
    #[serde(skip)]
    pub shows_all: bool,
}

impl Answer for VerifyAnswer {
    const DOCUMENT: &'static str = "verify";

    fn print(&self, text: &mut Text) {
        for verdict in self.verdicts() {
            verdict.print(text, self.shows_all);
        }
    }

    fn rows(&self) -> Vec<Row> {
        self.verdicts().iter().flat_map(|one| one.rows()).collect()
    }

    fn verdicts(&self) -> Vec<&VerdictField> {
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
        return Ok(outcome_of(session, Some(verdict), None));
    }
    let repository = session.repository()?;
    let mut verdicts = Vec::new();
    let mut notes = Vec::new();
    let (chosen, lost) = chosen(&repository, options)?;
    for lost in lost {
        let report = without_scope(integrity::without_record(&lost));
        let name = lost.name.as_str();
        verdicts.push(VerdictField::worktree(name, lost.path, &report));
    }
    let judged = verify_all(
        &repository,
        &chosen,
        options.verify_options(),
        |known, live| {
            if options.all && known.is_gone(&repository) {
                return Ok(None);
            }
            let live = known.unless_gone(&repository, live)?;
            let name = known.record.name.as_str();
            let path = known.record.path.clone();
            let mut verdict = VerdictField::worktree(name, path, &live.report);
            verdict.waiting = WaitingField::find(&repository, known)?;
            Ok::<_, Error>(Some((verdict, live.not_stored)))
        },
    );
    for one in judged {
        let Some((verdict, not_stored)) = one? else {
            continue;
        };
        let note = |error| format!("the outcome is not kept for `list`: {error}");
        notes.extend(not_stored.map(note));
        verdicts.push(verdict);
    }
    verdicts.sort_by(|a, b| position(options, a).cmp(&position(options, b)));
    Ok(Outcome {
        notes,
        ..outcome_of(session, None, Some(verdicts))
    })
}

fn outcome_of(
    session: &Session,
    range: Option<VerdictField>,
    worktrees: Option<Vec<VerdictField>>,
) -> Outcome<VerifyAnswer> {
    let mut all = range.iter().chain(worktrees.iter().flatten());
    let valid = all.all(|verdict| verdict.valid);
    let mut outcome = Outcome::done(VerifyAnswer {
        range,
        valid,
        worktrees,
        shows_all: session.trace.is_on(),
    });
    if !valid {
        outcome.exit = ExitCode::Violations;
    }
    outcome
}

/// Answers come in the order in which they were asked for, all of them by name.
fn position<'a>(options: &Verify, one: &'a VerdictField) -> (Option<usize>, &'a str) {
    let name = one.verified();
    (options.names.iter().position(|asked| asked == name), name)
}

/// What is to be verified, and the worktrees whose record was removed.
fn chosen(repository: &Repository, options: &Verify) -> Result<(Vec<Worktree>, Vec<Lost>), Error> {
    if options.all {
        return Ok((Worktree::all(repository)?, lost(repository)?));
    }
    let mut chosen = Vec::new();
    let mut gone = Vec::new();
    for known in Worktree::named(repository, &options.names) {
        match known {
            Ok(known) => chosen.push(known),
            Err(error) => {
                let Some(WorktreeFault::UnknownWorktree { name, .. }) = error.find() else {
                    return Err(error);
                };
                let mut all = lost(repository)?.into_iter();
                let found = all.find(|lost| lost.name.as_str() == name);
                gone.push(found.ok_or(error)?);
            }
        }
    }
    Ok((chosen, gone))
}
