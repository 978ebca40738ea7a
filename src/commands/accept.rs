//! `git agentwt accept`: accepts findings as they are now, and takes an acceptance back.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::import::outcome::ImportFailure;
use crate::actions::import::run::RunToImport;
use crate::actions::import::verify::verify;
use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::verdict::VerdictReport;
use crate::arguments::output::ListOutput;
use crate::commands::{Outcome, Session};
use crate::judge::change::Place;
use crate::judge::finding::{Finding, Reason, Report, VerifyOptions};
use crate::record::accepted::{AcceptedFinding, Decision};
use crate::record::run::KeptReason;
use crate::refusal::Refusal;
use crate::truth::live::{verify_now, verify_with_large_files};
use crate::truth::options::LargeFiles;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::words::path::RepoPath;
use crate::words::text::{count, would};
use crate::worktree::decisions::{new_decision, require_outside};
use crate::worktree::loaded::Worktree;
use crate::worktree::operands;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;
use crate::worktree::run_status::{RunProgress, RunStatus, WaitingReason};

/// Accept findings of a worktree as they are now
///
/// An accepted finding is neither a violation nor a notice any more. A path is accepted by its
/// content, a ref by its commit, a setting or hook by its value: a later change is reported again.
/// Who accepted what, and when, is in the record, and `git agentwt status` shows it. The base and
/// the scope stay as they are.
///
/// Where the changes of a command in a fence were refused, these are what is accepted; `git agentwt
/// exec <name> -- true` then brings them in.
///
/// Only a person accepts: the command is refused (exit 4) inside a worktree. A path stands for
/// itself and all paths below it; it is relative to the current directory.
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
    /// All linked worktrees of a repository share them. What differs in another worktree only, as
    /// that worktree was created earlier, is not accepted. A clone has its own.
    #[arg(long)]
    pub shared: bool,
    /// Accept everything, history too
    ///
    /// What has no content that could be recorded, as damage of the worktree, cannot be accepted;
    /// if such violations remain, the exit status is 1.
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
        let findings = count(self.accepted.len(), "finding", "findings");
        let others = match self.others.len() {
            0 => String::new(),
            number => {
                let worktrees = count(number, "other worktree", "other worktrees");
                format!(", for {worktrees} too")
            }
        };
        text.tell(format!("{name}: {done} {findings}{others}"));
        if !self.undo && !self.dry_run {
            text.tell_undo("accept", &self.name);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for finding in &self.accepted {
            rows.push(Row::new(vec![
                Cell::both(&finding.kind).paint(Paint::warning),
                Cell::escaped(&finding.place),
                Cell::escaped(&finding.key),
            ]));
        }
        rows
    }
}

/// Accepts what is selected, or takes the last acceptance back.
///
/// 1. Decides what is accepted: findings of the named worktree, and the same findings of what is
///    shared in other worktrees.
/// 2. Writes the decisions into the records.
/// 3. Says what is still violated.
///
/// # Errors
/// Fails when it is refused, nothing is selected, or the facts cannot be read.
pub fn run(session: &Session, options: &Accept) -> Result<Outcome<AcceptAnswer>, Error> {
    let repository = session.repository_to_change()?;
    require_outside(&repository, &session.command_line)?;
    let worktree = Worktree::of(&repository, Some(&options.name))?;
    let name = worktree.record.name.to_string();
    // 1
    let decisions = if options.undo {
        find_last(&repository, &worktree)?
    } else {
        // reading what is accepted may take long, and has changed nothing: a signal ends it
        session.waiting(|| plan(&repository, &worktree, options))?
    };
    let mut other_names = Vec::new();
    for other in &decisions.others {
        other_names.push(other.worktree.record.name.to_string());
    }
    let mut outcome = Outcome::done(AcceptAnswer {
        name: name.clone(),
        dry_run: options.dry_run,
        undo: options.undo,
        accepted: decisions.named.accepted.clone(),
        others: other_names,
        violations: None,
    });
    if options.dry_run || decisions.named.accepted.is_empty() {
        return Ok(outcome);
    }
    // 2
    session.check()?;
    for other in decisions.others {
        record(&repository, options, &other.worktree, other.decision)?;
    }
    // the named worktree last: until then its finding stays, and the command can be run again
    let report = record(&repository, options, &worktree, decisions.named)?;
    // 3
    let violations = report.violations().count();
    outcome.answer.violations = Some(violations);
    if violations > 0 {
        let remaining = count(violations, "violation is left", "violations are left");
        let note = format!("{remaining}: git agentwt verify {name}");
        outcome.notes.push(note);
        if options.all {
            outcome.exit = ExitCode::Violations;
        }
    }
    Ok(outcome)
}

/// Writes a decision into the record of a worktree, or with `--undo` takes it out again; then
/// verifies the worktree, which stores the verdict that `list` shows.
fn record(
    repository: &Repository,
    options: &Accept,
    worktree: &Worktree,
    decision: Decision,
) -> Result<Report, Error> {
    let (lock, mut locked) = Worktree::lock(repository, &worktree.record.name)?;
    let decisions = &mut locked.record.decisions;
    decisions.retain(|earlier| earlier.id != decision.id);
    if !options.undo {
        decisions.push(decision);
    }
    locked.write_record(&locked.record)?;
    drop(lock);
    Ok(verify_now(repository, &locked, VerifyOptions::default())?.report)
}

/// What is decided.
struct Decisions {
    /// About the named worktree.
    named: Decision,
    /// About the same findings of the shared side in other worktrees.
    others: Vec<OtherDecision>,
}

/// What is decided about another worktree than the named one.
struct OtherDecision {
    worktree: Worktree,
    decision: Decision,
}

/// Finds the last acceptance, and the other worktrees for which it was recorded too.
fn find_last(repository: &Repository, worktree: &Worktree) -> Result<Decisions, Error> {
    let last = worktree.last_decision(|one| !one.accepted.is_empty())?;
    let mut others = Vec::new();
    for other in worktree.sharing(repository)? {
        let mut decisions = other.record.decisions.iter();
        if decisions.any(|decision| decision.id == last.id) {
            others.push(OtherDecision {
                worktree: other,
                decision: last.clone(),
            });
        }
    }
    Ok(Decisions {
        named: last,
        others,
    })
}

/// Decides about the selected findings, and about the same findings of the shared side in other
/// worktrees.
fn plan(
    repository: &Repository,
    worktree: &Worktree,
    options: &Accept,
) -> Result<Decisions, Error> {
    let name = &worktree.record.name;
    let paths = operands::parse_all(repository, &worktree.record.path, &options.paths)?;
    // an acceptance records the content, so a large file that is accepted has to be read
    let large_files = if options.all {
        LargeFiles::ReadAll
    } else {
        LargeFiles::ReadBelow(paths.clone())
    };
    let VerifiedNow { report, sizes } = look(repository, worktree, large_files)?;
    require_acceptable(name, &paths, &report)?;
    if paths.is_empty() && !options.refs && !options.shared && !options.all {
        return Err(nothing_selected(worktree, &report).into());
    }
    let is_chosen = |finding: &Finding| is_selected(options, &paths, finding);
    let mut accepted = acceptances_of(&report, is_chosen);
    if options.all && accepted.is_empty() && !report.valid() {
        return Err(nothing_acceptable(name, &report).into());
    }
    add_sizes(&mut accepted, &sizes);
    let named = Decision {
        accepted,
        ..new_decision(name)
    };
    let mut others = Vec::new();
    if named.accepted.iter().any(AcceptedFinding::is_shared) {
        for other in worktree.sharing(repository)? {
            others.extend(find_same(repository, other, &named));
        }
    }
    Ok(Decisions { named, others })
}

/// What was found in a worktree.
struct VerifiedNow {
    report: Report,
    /// The sizes of its files.
    sizes: BTreeMap<RepoPath, u64>,
}

/// Verifies a worktree. Where the changes of a fenced command were refused, it is verified with
/// these, as they come in once they are accepted.
fn look(
    repository: &Repository,
    worktree: &Worktree,
    large_files: LargeFiles,
) -> Result<VerifiedNow, Error> {
    let status = RunStatus::read(repository, worktree)?;
    if status.progress == RunProgress::Waiting(WaitingReason::Kept(KeptReason::Violations)) {
        let private = PrivateGit::new(worktree);
        // the import that refused it has mended it
        let run = RunToImport::of_mended(repository, worktree, &private, None)
            .map_err(ImportFailure::into_error)?;
        let verified = verify(&run, large_files)?;
        return Ok(VerifiedNow {
            report: verified.report,
            sizes: verified.sizes,
        });
    }
    let options = VerifyOptions::default();
    let live = verify_with_large_files(repository, worktree, options, large_files)?;
    Ok(VerifiedNow {
        report: live.report,
        sizes: live.states.disk.sizes,
    })
}

/// True if the options or the paths select a finding.
fn is_selected(options: &Accept, paths: &[RepoPath], finding: &Finding) -> bool {
    if options.all {
        return true;
    }
    if options.shared && finding.is_shared() {
        return true;
    }
    let is_ref = finding.reason == Reason::Shared && !finding.is_shared();
    if options.refs && is_ref {
        return true;
    }
    paths.iter().any(|path| is_at(path, finding))
}

/// Adds the sizes of files: a file that has another size later is changed, which needs no reading.
fn add_sizes(accepted: &mut [AcceptedFinding], sizes: &BTreeMap<RepoPath, u64>) {
    let mut sizes_by_place = BTreeMap::new();
    for (path, size) in sizes {
        sizes_by_place.insert(Place::Path(path.clone()).to_tsv(), *size);
    }
    for finding in accepted {
        if let Some(size) = sizes_by_place.get(&finding.place) {
            finding.size = Some(*size);
        }
    }
}

/// Refuses a path at which nothing can be accepted.
fn require_acceptable(
    name: &WorktreeName,
    paths: &[RepoPath],
    report: &Report,
) -> Result<(), Refusal> {
    // a path whose findings are all accepted already is no mistake
    let mut acceptable = Vec::new();
    for finding in report.findings.iter().chain(&report.accepted) {
        if finding.accepted().is_some() {
            acceptable.push(finding);
        }
    }
    for path in paths {
        if !acceptable.iter().any(|finding| is_at(path, finding)) {
            let has_history = acceptable
                .iter()
                .any(|finding| is_in_history(path, finding));
            let mut help = format!("see the findings: git agentwt verify {name}");
            if has_history {
                help.push_str("; to accept everything, history too: git agentwt accept ");
                help.push_str(&format!("{name} --all"));
            }
            return Err(Refusal::NotAcceptable {
                path: path.clone(),
                help,
            });
        }
    }
    Ok(())
}

/// Finds what a decision says of the shared side as another worktree has it. What cannot be
/// verified keeps its findings.
fn find_same(
    repository: &Repository,
    worktree: Worktree,
    named: &Decision,
) -> Option<OtherDecision> {
    let live = verify_now(repository, &worktree, VerifyOptions::default()).ok()?;
    let mut accepted = acceptances_of(&live.report, Finding::is_shared);
    accepted.retain(|finding| named.accepted.contains(finding));
    if accepted.is_empty() {
        return None;
    }
    let decision = Decision {
        accepted,
        ..named.clone()
    };
    Some(OtherDecision { worktree, decision })
}

/// What is recorded to accept the findings that are wanted, without those whose content is not
/// known.
fn acceptances_of(report: &Report, is_wanted: impl Fn(&Finding) -> bool) -> Vec<AcceptedFinding> {
    let findings = report.findings.iter().filter(|finding| is_wanted(finding));
    findings.filter_map(Finding::accepted).flatten().collect()
}

/// True if a finding, but not of history, is at a path or below.
fn is_at(asked: &RepoPath, finding: &Finding) -> bool {
    finding.reason != Reason::History && is_placed_at(asked, finding)
}

/// True if a finding of history is at a path or below.
fn is_in_history(asked: &RepoPath, finding: &Finding) -> bool {
    finding.reason == Reason::History && is_placed_at(asked, finding)
}

fn is_placed_at(asked: &RepoPath, finding: &Finding) -> bool {
    let path = finding.change.place.path();
    path.is_some_and(|path| path == asked || path.is_below(asked.as_bstr()))
}

/// Refuses to accept all, where violations are left and none has a content.
fn nothing_acceptable(name: &WorktreeName, report: &Report) -> Refusal {
    const SHOWN: usize = 20;
    let mut violations = String::new();
    for violation in report.violations().take(SHOWN) {
        let place = &violation.change.place;
        violations.push_str(&format!("\n  {place}: {}", violation.why()));
    }
    let more = report.violations().count().saturating_sub(SHOWN);
    if more > 0 {
        violations.push_str(&format!("\n  … and {more} more"));
    }
    Refusal::NothingAcceptable {
        name: name.to_string(),
        violations,
    }
}

/// Refuses with the commands that would accept something.
fn nothing_selected(worktree: &Worktree, report: &Report) -> Refusal {
    let name = worktree.record.name.to_string();
    let verdict = VerdictReport::worktree(&name, worktree.record.path.clone(), report);
    let mut remedies = verdict.remedies();
    remedies.retain(|remedy| remedy.contains(": git agentwt accept "));
    remedies.push("to accept everything, notices and history too".to_owned());
    let help = remedies.join("\n");
    Refusal::NothingToAccept { name, help }
}
