//! Fills the answer of `exec` once the command has ended.

use std::collections::BTreeSet;

use crate::actions::import::outcome::Seal;
use crate::answer::verdict::VerdictReport;
use crate::answer::waiting::WaitingRun;
use crate::commands::Outcome;
use crate::commands::exec::answer::{ExecAnswer, ExecRun, KeptWork};
use crate::commands::exec::fenced_run::EndedRun;
use crate::fence::supervise::CommandEnd;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::incoming_ref;
use crate::worktree::repository::Repository;

/// Fills the answer but for what the command left, which [`describe_rest`] adds. Says with which
/// status the program ends.
pub(super) fn fill_answer(
    outcome: &mut Outcome<ExecAnswer>,
    worktree: &Worktree,
    ended_run: EndedRun,
) {
    let record = &worktree.record;
    let incoming = incoming_ref(worktree);
    outcome.exit = exit_of(&ended_run);
    if ended_run.imported.report.valid() {
        // else the way out would merge what is out of scope
        let conflict_note = ended_run.imported.conflict_note(worktree);
        outcome.notes.extend(conflict_note);
    }
    let imported = ended_run.imported;
    outcome.notes.extend(imported.notes);
    let name = record.name.to_string();
    let path = record.path.clone();
    outcome.answer.run = Some(ExecRun {
        verdict: VerdictReport::worktree(&name, path.clone(), &imported.report),
        name,
        path,
        branch: record.branch.to_string(),
        command: ended_run.ended.into(),
        status: outcome.exit.code(),
        moved: imported.moved,
        moved_before: ended_run.moved_before,
        incoming: imported.stays_away.map(|_| incoming),
        kept: Vec::new(),
        waiting: None,
        left: imported.left,
        removed: None,
    });
}

/// Returns the status: commits that do not come beat violations, and these the status of the
/// command.
fn exit_of(ended_run: &EndedRun) -> ExitCode {
    let imported = &ended_run.imported;
    if imported.conflict_with_commits().is_some() {
        return ExitCode::RunRefused;
    }
    if !imported.report.valid() {
        return match imported.seal {
            Seal::Broken => ExitCode::SealBroken,
            Seal::Whole => ExitCode::RunRefused,
        };
    }
    match ended_run.ended {
        CommandEnd::Status(0) => ExitCode::Success,
        CommandEnd::Status(status) => ExitCode::Program(status),
        CommandEnd::Signal(signal) => ExitCode::Signal(signal),
        CommandEnd::TimedOut => ExitCode::TimedOut,
    }
}

/// Adds to an answer what the command left: refs that keep its work, and what waits.
///
/// # Errors
/// Fails when git or the disk does.
pub(super) fn describe_rest(
    repository: &Repository,
    worktree: &Worktree,
    kept_before: &BTreeSet<KeptWork>,
    run: &mut ExecRun,
) -> Result<(), Error> {
    let kept = KeptWork::read(repository, worktree)?;
    run.kept = kept.difference(kept_before).cloned().collect();
    run.waiting = WaitingRun::find(repository, worktree)?;
    Ok(())
}
