//! `exec --all`: runs a command in every worktree, several at a time, each by a process of its own.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::ExecAnswer;
use crate::answer::{Cell, Row, Text};
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::pool::map_parallel;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::process::{self, run_with_lines, send_to_children};
use crate::worktree::Worktree;

/// What became of the command in one worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FleetRun {
    /// The worktree.
    pub name: String,
    /// The exit status of `git agentwt exec <name>`.
    pub status: u8,
    /// `ok`, `failed` (the command), `refused` (its changes) or `not started`.
    pub outcome: &'static str,
}

/// Runs the command everywhere. Its output comes line by line, each line after the name of the worktree.
pub(super) fn run(session: &Session) -> Result<Outcome<ExecAnswer>, Error> {
    let repository = session.repository()?;
    session.require_no_agent(&repository, &session.command_line)?;
    let mut all = Worktree::all(&repository)?;
    all.retain(|known| files::is_directory(&known.record.path));
    let one = |(): &mut (), known: &Worktree| {
        let name = known.record.name.to_string();
        if session.signal.load(Ordering::SeqCst) != 0 {
            return Ok::<_, Error>(FleetRun::new(name, 125));
        }
        let tell = |line: &str| session.log.tell(&format!("{name} | {line}"));
        let status = run_with_lines(&session.binary, &arguments(&name), &tell);
        Ok(FleetRun::new(name.clone(), status.unwrap_or(125)))
    };
    let is_done = AtomicBool::new(false);
    let runs = std::thread::scope(|threads| {
        threads.spawn(|| forward(session, &is_done));
        let runs = map_parallel(&all, || Ok(()), one);
        is_done.store(true, Ordering::SeqCst);
        runs
    })?;
    let mut outcome = Outcome::done(ExecAnswer::default());
    if let Some(interrupted) = session.interrupted() {
        outcome.exit = ExitCode::Signal(interrupted.signal);
    } else if runs.iter().any(|run| run.status != 0) {
        outcome.exit = ExitCode::Violations;
    }
    outcome.answer.worktrees = Some(runs);
    Ok(outcome)
}

/// Hands the signal that ends us on to each run, which hands it on to its command.
fn forward(session: &Session, is_done: &AtomicBool) {
    while !is_done.load(Ordering::SeqCst) {
        let signal = session.signal.load(Ordering::SeqCst);
        if signal != 0 {
            return send_to_children(signal);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl FleetRun {
    fn new(name: String, status: u8) -> Self {
        let outcome = match status {
            0 => "ok",
            9 | 125 => "not started",
            120 | 121 => "refused",
            _ => "failed",
        };
        Self {
            name,
            status,
            outcome,
        }
    }
}

/// The table at the end.
pub(super) fn print(runs: &[FleetRun], text: &mut Text) {
    let row = |run: &FleetRun| {
        let cells = [&run.name, run.outcome, &run.status.to_string()];
        Row::new(cells.map(Cell::people).to_vec())
    };
    let headings = ["NAME", "OUTCOME", "STATUS"].map(Cell::people).to_vec();
    let heading = std::iter::once(Row::headings(headings));
    let rows: Vec<Row> = heading.chain(runs.iter().map(row)).collect();
    text.table(&rows, "");
}

/// The command line of the process for one worktree: ours with its name for `--all`, and without a form.
fn arguments(name: &str) -> Vec<OsString> {
    let mut ours = process::arguments();
    let dashes = ours.iter().position(|word| word == "--");
    let command = ours.split_off(dashes.unwrap_or(ours.len()));
    let mut words = Vec::new();
    let mut ours = ours.into_iter();
    while let Some(word) = ours.next() {
        match word.to_str() {
            Some("--format") => drop(ours.next()),
            Some(text) if text == "--json" || text.starts_with("--format=") => {}
            Some("--all") => words.push(name.into()),
            _other => words.push(word),
        }
    }
    [words, command].concat()
}
