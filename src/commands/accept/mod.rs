//! `git agentwt accept`: accepts findings as they are now, and takes an acceptance back.

mod plan;

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::plan::AcceptRefusal;
use self::plan::{Selection, plan};
use super::{Outcome, Session};
use crate::accepted::{AcceptedFinding, Decision};
use crate::answer::{Answer, Cell, Paint, Row, Text, count, when, would};
use crate::error::Error;
use crate::exit::ExitCode;
use crate::path::RepoPath;
use crate::truth::live::verify_now;
use crate::verify::{Finding, Report, VerifyOptions};
use crate::worktree::decisions::{new_decision, require_outside};
use crate::worktree::{Repository, Worktree, arguments};

/// The answer of `accept`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AcceptAnswer {
    /// The name of the worktree.
    pub name: String,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// Whether an acceptance was taken back (`--undo`).
    pub undo: bool,
    /// What was accepted, or with `--undo` is not accepted any more.
    pub accepted: Vec<AcceptedFinding>,
    /// The other worktrees for which shared settings and hooks were accepted, too.
    pub others: Vec<String>,
    /// The number of violations that remain; absent with `-n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violations: Option<usize>,
}

impl Answer for AcceptAnswer {
    const DOCUMENT: &'static str = "accept";

    fn print(&self, text: &mut Text) {
        text.table(&self.rows(), "");
        let name = text.paint.name(&self.name);
        if self.accepted.is_empty() {
            text.tell(format!("{name}: nothing to accept"));
            return;
        }
        let done = match (self.undo, self.dry_run) {
            (false, dry_run) => would(dry_run, "accepted", "would accept"),
            (true, dry_run) => would(dry_run, "took back", "would take back"),
        };
        let number = count(self.accepted.len(), "finding", "findings");
        let others = match self.others.len() {
            0 => String::new(),
            more => format!(
                ", for {} too",
                count(more, "other worktree", "other worktrees")
            ),
        };
        text.tell(format!("{name}: {done} {number}{others}"));
        let undo = !self.undo && !self.dry_run;
        let undo = when(undo, "to take that back: git agentwt accept ");
        if !undo.is_empty() {
            text.tell(format!("{undo}{} --undo", self.name));
        }
    }

    fn rows(&self) -> Vec<Row> {
        let row = |one: &AcceptedFinding| {
            let mut cells = vec![Cell::both(&one.kind).paint(Paint::warning)];
            cells.extend([&one.place, &one.key].map(Cell::both));
            Row::new(cells)
        };
        self.accepted.iter().map(row).collect()
    }
}

/// Accepts what is selected, or takes the last acceptance back.
///
/// # Errors
/// Fails when it is refused, nothing is selected, or the facts cannot be read.
pub fn run(
    session: &Session,
    options: &crate::cli::Accept,
) -> Result<Outcome<AcceptAnswer>, Error> {
    let repository = session.repository_to_change()?;
    require_outside(&repository, &options.command())?;
    let known = Worktree::of(&repository, Some(&options.name))?;
    if options.undo {
        return undo(&repository, &known, options.dry_run);
    }
    let report = verify_now(&repository, &known, VerifyOptions::default())?.report;
    let selection = Selection {
        paths: asked_paths(&repository, &known, &options.paths)?,
        refs: options.refs,
        shared: options.shared,
        all: options.all,
    };
    let (accepted, shared) = plan(&known.record.name, &report, &selection)?;
    let decision = Decision {
        accepted,
        ..new_decision(&known.record.name)
    };
    let mut outcome = Outcome::done(AcceptAnswer {
        name: known.record.name.to_string(),
        dry_run: options.dry_run,
        undo: false,
        accepted: decision.accepted.clone(),
        others: Vec::new(),
        violations: None,
    });
    let sharing = if shared.is_empty() {
        Vec::new()
    } else {
        find_same(&repository, &known, &shared)?
    };
    let others = sharing
        .iter()
        .map(|(other, _)| other.record.name.to_string());
    outcome.answer.others = others.collect();
    if options.dry_run || decision.accepted.is_empty() {
        return Ok(outcome);
    }
    // the named worktree last: until then its finding stays, and the command can be run again
    for (other, accepted) in sharing {
        let decision = Decision {
            accepted,
            ..decision.clone()
        };
        decide(&repository, &other, |all| all.push(decision))?;
    }
    let report = decide(&repository, &known, |all| all.push(decision))?;
    tell_rest(&mut outcome, &report, options.all);
    Ok(outcome)
}

/// The other worktrees that have some of these findings of the shared side, with these. What cannot be
/// verified keeps its findings.
fn find_same(
    repository: &Repository,
    known: &Worktree,
    shared: &[AcceptedFinding],
) -> Result<Vec<(Worktree, Vec<AcceptedFinding>)>, Error> {
    let mut found = Vec::new();
    for other in known.sharing(repository)? {
        let Ok(live) = verify_now(repository, &other, VerifyOptions::default()) else {
            continue;
        };
        let mut same = plan::acceptable(&live.report, Finding::is_shared);
        same.retain(|one| shared.contains(one));
        if !same.is_empty() {
            found.push((other, same));
        }
    }
    Ok(found)
}

/// The paths: relative to where we stand in the main worktree.
fn asked_paths(
    repository: &Repository,
    known: &Worktree,
    words: &[OsString],
) -> Result<Vec<RepoPath>, Error> {
    let below = arguments::prefix(repository, None);
    let roots = [&known.record.path, &repository.root];
    let parse = |word: &OsString| {
        let word = arguments::bytes_of(word.clone());
        Ok(arguments::parse(&below, &roots, &word)?.0)
    };
    words.iter().map(parse).collect()
}

/// Changes the decisions about a worktree, and verifies the worktree again.
fn decide(
    repository: &Repository,
    known: &Worktree,
    change: impl FnOnce(&mut Vec<Decision>),
) -> Result<Report, Error> {
    let known = Worktree::change_decisions(repository, &known.record.name, change)?;
    Ok(verify_now(repository, &known, VerifyOptions::default())?.report)
}

/// Says what remains; with `--all`, a violation that cannot be accepted is an answer of no.
fn tell_rest(outcome: &mut Outcome<AcceptAnswer>, report: &Report, all: bool) {
    let violations = report.violations().count();
    outcome.answer.violations = Some(violations);
    if violations == 0 {
        return;
    }
    let left = count(violations, "violation is left", "violations are left");
    let name = &outcome.answer.name;
    outcome
        .notes
        .push(format!("{left}: git agentwt verify {name}"));
    if all {
        outcome.exit = ExitCode::Violations;
    }
}

/// Takes the last acceptance back, for every worktree for which it was recorded.
fn undo(
    repository: &Repository,
    known: &Worktree,
    dry_run: bool,
) -> Result<Outcome<AcceptAnswer>, Error> {
    let name = &known.record.name;
    let mut decisions = known.record.decisions.iter().rev();
    let last = decisions.find(|decision| !decision.accepted.is_empty());
    let Some(Decision { id, accepted, .. }) = last else {
        let name = name.to_string();
        return Err(AcceptRefusal::NothingToUndo { name }.into());
    };
    let is_last = |one: &Decision| one.id == *id;
    let mut sharing = known.sharing(repository)?;
    sharing.retain(|other| other.record.decisions.iter().any(is_last));
    let mut outcome = Outcome::done(AcceptAnswer {
        name: name.to_string(),
        dry_run,
        undo: true,
        accepted: accepted.clone(),
        others: sharing
            .iter()
            .map(|one| one.record.name.to_string())
            .collect(),
        violations: None,
    });
    if !dry_run {
        for other in &sharing {
            decide(repository, other, |all| all.retain(|one| !is_last(one)))?;
        }
        let report = decide(repository, known, |all| all.retain(|one| !is_last(one)))?;
        tell_rest(&mut outcome, &report, false);
    }
    Ok(outcome)
}
