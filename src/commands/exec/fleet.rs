//! `exec --all`: runs a command in every worktree, several at a time, each by a process of its own.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::ExecAnswer;
use crate::answer::{Cell, Row, Text};
use crate::cli::{Exec, FenceOptions};
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::pool::map_parallel;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::process::{run_with_lines, send_to_children};
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
pub(super) fn run(session: &Session, options: &Exec) -> Result<Outcome<ExecAnswer>, Error> {
    let repository = session.repository()?;
    let mut all = Worktree::all(&repository)?;
    all.retain(|known| files::is_directory(&known.record.path));
    let one = |(): &mut (), known: &Worktree| {
        let name = known.record.name.to_string();
        if session.signal.load(Ordering::SeqCst) != 0 {
            return Ok::<_, Error>(FleetRun::new(name, 125));
        }
        let arguments = arguments(&name, options);
        let tell = |line: &str| session.log.tell(&format!("{name} | {line}"));
        let status = run_with_lines(&session.binary, &arguments, &repository.root, &tell);
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
        Row::new(vec![
            Cell::people(run.name.as_str()),
            Cell::people(run.outcome),
            Cell::people(run.status.to_string()),
        ])
    };
    let headings = ["NAME", "OUTCOME", "STATUS"].map(Cell::people).to_vec();
    let rows: Vec<Row> = std::iter::once(Row::headings(headings))
        .chain(runs.iter().map(row))
        .collect();
    text.table(&rows, "");
}

/// The arguments of the process for one worktree.
fn arguments(name: &str, options: &Exec) -> Vec<OsString> {
    let FenceOptions {
        fence,
        net,
        rw,
        socket,
        preset,
        strict,
        withhold,
        nested,
        allow_root,
        image,
        timeout,
        print_policy: _,
    } = &options.fence;
    let mut all: Vec<OsString> = vec!["exec".into(), name.into()];
    let mut add = |option: &str, value: &str| all.push(format!("--{option}={value}").into());
    let given = [("fence", fence), ("net", net), ("image", image)];
    for (option, value) in given {
        if let Some(value) = value {
            add(option, value);
        }
    }
    rw.iter().for_each(|path| add("rw", path.as_str()));
    socket.iter().for_each(|path| add("socket", path.as_str()));
    preset.iter().for_each(|name| add("preset", name));
    if let Some(timeout) = timeout {
        add("timeout", &format!("{}ms", timeout.as_millis()));
    }
    let switches = [
        ("--withhold", withhold),
        ("--strict", strict),
        ("--nested", nested),
        ("--allow-root", allow_root),
    ];
    all.extend(
        switches
            .iter()
            .filter(|(_, on)| **on)
            .map(|(option, _)| option.into()),
    );
    all.push("--".into());
    all.extend(options.command.iter().cloned());
    all
}
