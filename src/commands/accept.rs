//! `git agentwt accept`: accepts findings as they are now, and takes an acceptance back.

use std::ffi::OsString;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::verdict::VerdictField;
use crate::arguments::output::ListOutput;
use crate::commands::{Outcome, Session};
use crate::judge::change::Place;
use crate::judge::finding::{Finding, Reason, Report, VerifyOptions};
use crate::record::accepted::{AcceptedFinding, Decision};
use crate::refusal::Refusal;
use crate::truth::live::{verify_now, verify_reading};
use crate::truth::options::LargeFiles;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path::RepoPath;
use crate::words::text::{count, would};
use crate::worktree::decisions::{new_decision, require_outside};
use crate::worktree::loaded::Worktree;
use crate::worktree::operands;
use crate::worktree::repository::Repository;

/// Accept findings of a worktree as they are now
///
/// An accepted finding is neither a violation nor a notice any more. A path is accepted by its content,
/// a ref by its commit, a setting or hook by its value: a later change is reported again. Who accepted
/// what, and when, is in the record, and `git agentwt status` shows it. The base and the scope stay as
/// they are.
///
/// Only a person accepts: the command is refused (exit 4) inside a worktree. A path stands for itself
/// and all paths below it; it is relative to the current directory.
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt accept [OPTIONS] <name> <path>...\n       \
        git agentwt accept [OPTIONS] <name> [--refs] [--shared] [--all]\n       \
        git agentwt accept [OPTIONS] <name> --undo"
)]
pub struct Accept {
    /// The worktree
    #[arg(value_name = "name")]
    pub name: String,
    /// The paths whose findings are accepted, but not what only the history has
    #[arg(value_name = "path")]
    pub paths: Vec<OsString>,
    /// Accept the refs that were moved, created or deleted
    #[arg(long)]
    pub refs: bool,
    /// Accept shared settings, hooks and rule files, for all worktrees at once
    ///
    /// All linked worktrees of a repository share them. What differs in another worktree only, as that
    /// worktree was created earlier, is not accepted. A clone has its own.
    #[arg(long)]
    pub shared: bool,
    /// Accept everything, history too
    ///
    /// What has no content that could be recorded, as damage of the worktree, cannot be accepted; if
    /// such violations remain, the exit status is 1.
    #[arg(long)]
    pub all: bool,
    /// Take the last acceptance back
    #[arg(long, conflicts_with_all = ["paths", "refs", "shared", "all"])]
    pub undo: bool,
    /// Print what would be accepted, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

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
            return text.tell(format!("{name}: nothing to accept"));
        }
        let done = if self.undo {
            would(self.dry_run, "took back", "would take back")
        } else {
            would(self.dry_run, "accepted", "would accept")
        };
        let number = count(self.accepted.len(), "finding", "findings");
        let others = count(self.others.len(), "other worktree", "other worktrees");
        let others = match self.others.len() {
            0 => String::new(),
            _ => format!(", for {others} too"),
        };
        text.tell(format!("{name}: {done} {number}{others}"));
        if !self.undo && !self.dry_run {
            text.tell_undo("accept", &self.name);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let row = |one: &AcceptedFinding| {
            let mut cells = vec![Cell::both(&one.kind).paint(Paint::warning)];
            cells.extend([&one.place, &one.key].map(|text| Cell::both(text).escaped()));
            Row::new(cells)
        };
        self.accepted.iter().map(row).collect()
    }
}

/// Accepts what is selected, or takes the last acceptance back.
///
/// # Errors
/// Fails when it is refused, nothing is selected, or the facts cannot be read.
pub fn run(session: &Session, options: &Accept) -> Result<Outcome<AcceptAnswer>, Error> {
    let repository = session.repository_to_change()?;
    require_outside(&repository, &session.command_line)?;
    let known = Worktree::of(&repository, Some(&options.name))?;
    let name = known.record.name.to_string();
    let (decision, others) = if options.undo {
        find_last(&repository, &known)?
    } else {
        // reading what is accepted may take long, and has changed nothing: a signal ends it
        session.waiting(|| plan(&repository, &known, options))?
    };
    let named = others.iter().map(|(other, _)| &other.record.name);
    let mut outcome = Outcome::done(AcceptAnswer {
        name: name.clone(),
        dry_run: options.dry_run,
        undo: options.undo,
        accepted: decision.accepted.clone(),
        others: named.map(ToString::to_string).collect(),
        violations: None,
    });
    if options.dry_run || decision.accepted.is_empty() {
        return Ok(outcome);
    }
    session.check()?;
    let mut violations = 0;
    // the named worktree last: until then its finding stays, and the command can be run again
    for (known, decision) in others.into_iter().chain([(known, decision)]) {
        let (lock, mut known) = Worktree::lock(&repository, &known.record.name)?;
        let decisions = &mut known.record.decisions;
        decisions.retain(|one| one.id != decision.id);
        decisions.extend(Some(decision).filter(|_| !options.undo));
        known.write_record(&known.record)?;
        drop(lock);
        let report = verify_now(&repository, &known, VerifyOptions::default())?.report;
        violations = report.violations().count();
    }
    outcome.answer.violations = Some(violations);
    if violations > 0 {
        let left = count(violations, "violation is left", "violations are left");
        let note = format!("{left}: git agentwt verify {name}");
        outcome.notes.push(note);
        if options.all {
            outcome.exit = ExitCode::Violations;
        }
    }
    Ok(outcome)
}

/// What is decided about the named worktree, and about others.
type Decisions = (Decision, Vec<(Worktree, Decision)>);

/// Finds the last acceptance, and the other worktrees for which it was recorded too.
fn find_last(repository: &Repository, known: &Worktree) -> Result<Decisions, Error> {
    let last = known.last_decision(|one| !one.accepted.is_empty())?;
    let has = |other: &Worktree| other.record.decisions.iter().any(|one| one.id == last.id);
    let others = known.sharing(repository)?.into_iter().filter(has);
    let others = others.map(|other| (other, last.clone())).collect();
    Ok((last, others))
}

/// Decides about the selected findings, and about the same findings of the shared side in other worktrees.
fn plan(repository: &Repository, known: &Worktree, asked: &Accept) -> Result<Decisions, Error> {
    let name = &known.record.name;
    let paths = operands::parse_all(repository, &known.record.path, &asked.paths)?;
    let large_files = if asked.all {
        LargeFiles::ReadAll
    } else {
        LargeFiles::ReadBelow(paths.clone())
    };
    let live = verify_reading(repository, known, VerifyOptions::default(), large_files)?;
    let report = live.report;
    let all = report.findings.iter().chain(&report.accepted);
    let known_contents: Vec<&Finding> = all.filter(|one| one.accepted().is_some()).collect();
    let is_missing = |path: &&RepoPath| !known_contents.iter().any(|one| is_at(path, one));
    if let Some(path) = paths.iter().find(is_missing) {
        let path = path.clone();
        let name = name.to_string();
        return Err(Refusal::NotAcceptable { path, name }.into());
    }
    if paths.is_empty() && !(asked.refs || asked.shared || asked.all) {
        return Err(nothing_selected(known, &report).into());
    }
    let is_selected = |one: &Finding| {
        let is_ref = one.reason == Reason::Shared && !one.is_shared();
        asked.all
            || asked.refs && is_ref
            || asked.shared && one.is_shared()
            || paths.iter().any(|path| is_at(path, one))
    };
    let mut accepted = acceptable(&report, is_selected);
    for (path, size) in &live.states.disk.sizes {
        let place = Place::Path(path.clone()).to_tsv();
        for one in accepted.iter_mut().filter(|one| one.place == place) {
            one.size = Some(*size);
        }
    }
    let decision = Decision {
        accepted,
        ..new_decision(name)
    };
    let others = if decision.accepted.iter().any(AcceptedFinding::is_shared) {
        known.sharing(repository)?
    } else {
        Vec::new()
    };
    let same = |other| find_same(repository, other, &decision);
    let others = others.into_iter().filter_map(same).collect();
    Ok((decision, others))
}

/// Finds what a decision says of the shared side as another worktree has it. What cannot be verified keeps
/// its findings.
fn find_same(
    repository: &Repository,
    other: Worktree,
    decision: &Decision,
) -> Option<(Worktree, Decision)> {
    let live = verify_now(repository, &other, VerifyOptions::default()).ok()?;
    let mut accepted = acceptable(&live.report, Finding::is_shared);
    accepted.retain(|one| decision.accepted.contains(one));
    let decision = Decision {
        accepted,
        ..decision.clone()
    };
    (!decision.accepted.is_empty()).then_some((other, decision))
}

/// What acceptances of these findings record, without those whose content is not known.
fn acceptable(report: &Report, which: impl Fn(&Finding) -> bool) -> Vec<AcceptedFinding> {
    let findings = report.findings.iter().filter(|one| which(one));
    findings.filter_map(Finding::accepted).flatten().collect()
}

/// Whether a finding, but not of history, is at a path or below.
fn is_at(asked: &RepoPath, finding: &Finding) -> bool {
    let path = finding.change.place.path();
    let path = path.filter(|_| finding.reason != Reason::History);
    path.is_some_and(|path| path == asked || path.is_below(asked.as_bstr()))
}

/// Refuses with the commands that would accept something.
fn nothing_selected(known: &Worktree, report: &Report) -> Refusal {
    let name = known.record.name.to_string();
    let verdict = VerdictField::worktree(&name, known.record.path.clone(), report);
    let mut remedies = verdict.remedies();
    remedies.retain(|remedy| remedy.contains(": git agentwt accept "));
    remedies.push("to accept everything, notices and history too".to_owned());
    let help = remedies.join("\n");
    Refusal::NothingToAccept { name, help }
}
