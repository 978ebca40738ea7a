//! `exec --all`: runs a command in every worktree, several at a time, each by a process of its own.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::commands::exec::answer::{ExecAnswer, FleetRun};
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::pool::map_parallel;
use crate::system::environment;
use crate::system::families::send_to_children;
use crate::system::programs::run_with_lines;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::loaded::Worktree;

/// The status of `exec` where nothing was run.
const NOT_STARTED: u8 = 125;

/// Runs the command everywhere. Its output comes line by line, each line after the name of the
/// worktree.
pub(super) fn run(session: &Session) -> Result<Outcome<ExecAnswer>, Error> {
    let repository = session.repository()?;
    session.require_no_agent(&repository, &session.command_line)?;
    let mut worktrees = Worktree::all(&repository)?;
    worktrees.retain(|worktree| files::is_directory(&worktree.record.path));
    let is_done = AtomicBool::new(false);
    let runs = std::thread::scope(|threads| {
        threads.spawn(|| forward(session, &is_done));
        let runs = map_parallel(
            &worktrees,
            || Ok(()),
            |(): &mut (), worktree: &Worktree| Ok::<_, Error>(run_one(session, worktree)),
        );
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

/// Runs the command in one worktree; after a signal, none is started any more.
fn run_one(session: &Session, worktree: &Worktree) -> FleetRun {
    let name = worktree.record.name.to_string();
    if session.signal.load(Ordering::SeqCst) != 0 {
        return FleetRun::new(name, NOT_STARTED);
    }
    let tell = |line: &str| session.log.tell(&format!("{name} | {line}"));
    let status = run_with_lines(&session.binary, &arguments(&name), &tell);
    FleetRun::new(name, status.unwrap_or(NOT_STARTED))
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

/// The command line of the process for one worktree: ours with its name for `--all`, and without a
/// form.
fn arguments(name: &str) -> Vec<OsString> {
    let mut options = environment::arguments();
    let dashes = options.iter().position(|word| word == "--");
    let command = options.split_off(dashes.unwrap_or(options.len()));
    let mut words = Vec::new();
    let mut remaining = options.into_iter();
    while let Some(word) = remaining.next() {
        match word.to_str() {
            Some("--format") => drop(remaining.next()),
            Some(text) if text == "--json" || text.starts_with("--format=") => {}
            Some("--all") => words.push(name.into()),
            _other => words.push(word),
        }
    }
    words.extend(command);
    words
}
