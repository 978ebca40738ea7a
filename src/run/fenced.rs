//! Creates a worktree, runs a command in its fence, and removes the worktree: `run`. It stands
//! here, as it is made of three commands.

use crate::arguments::output::OutputForm;
use crate::cli::Cli;
use crate::cli::run::Run;
use crate::commands::add::answer::{AddAnswer, Done};
use crate::commands::exec::answer::ExecAnswer;
use crate::commands::exec::arguments::Exec;
use crate::commands::remove::arguments::Remove;
use crate::commands::{Outcome, Session, add, exec, remove};
use crate::run::print::print;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::loaded::Worktree;

/// Creates a worktree and runs a command in its fence. Standard output is that of the command, or
/// with `--json` the answer.
///
/// 1. `--print-policy` needs a worktree that is there, and ends here.
/// 2. The worktree is created; `--dry-run` ends here.
/// 3. The command runs in its fence.
/// 4. With `--rm` the worktree is removed, if all went well.
pub(super) fn run(session: &Session, cli: &Cli, options: &Run) -> Result<ExitCode, Error> {
    // 1
    if options.fence.print_policy.is_some() {
        let answer = exec::run(session, &exec_options(options))?;
        return Ok(print(cli, OutputForm::HUMAN, &answer));
    }
    // 2
    let form = options.add.output.form();
    let added = add::run(session, &options.add)?;
    if options.add.dry_run {
        return Ok(print(cli, form, &added));
    }
    for note in &added.notes {
        session.log.tell(note);
    }
    let repository = session.repository()?;
    let worktree = Worktree::load(&repository, &added.answer.name)?;
    // 3
    let result = exec::run_in(
        session,
        &repository,
        &worktree,
        &options.fence,
        &options.command,
        exec::output_of(form.format),
    );
    let mut outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            remove_unused(session, &worktree, &added, &error);
            return Err(error);
        }
    };
    // 4
    if options.rm {
        remove_after_success(session, &worktree, &mut outcome);
    }
    Ok(print(cli, form, &outcome))
}

/// The same command for `exec`, in a worktree that is there.
fn exec_options(options: &Run) -> Exec {
    Exec {
        name: options.add.name.clone(),
        fence: options.fence.clone(),
        command: options.command.clone(),
        ..Exec::default()
    }
}

/// Removes the worktree again if it was created for a command that was not started.
fn remove_unused(
    session: &Session,
    worktree: &Worktree,
    added: &Outcome<AddAnswer>,
    error: &Error,
) {
    let is_unused = matches!(error.exit_code(), ExitCode::NoFence | ExitCode::NotStarted);
    if is_unused && added.answer.done == Done::Made {
        let _ = remove::run(session, &removal_of(worktree));
    }
}

/// Removes the worktree if the command ended well and all is in scope, and says so in the answer.
fn remove_after_success(session: &Session, worktree: &Worktree, outcome: &mut Outcome<ExecAnswer>) {
    let mut is_removed = false;
    if outcome.exit == ExitCode::Success {
        match remove::run(session, &removal_of(worktree)) {
            Ok(removed) => {
                is_removed = true;
                outcome.notes.extend(removed.notes);
            }
            Err(error) => outcome.notes.push(format!("the worktree stays: {error}")),
        }
    }
    if let Some(run) = &mut outcome.answer.run {
        run.removed = Some(is_removed);
    }
}

fn removal_of(worktree: &Worktree) -> Remove {
    Remove {
        names: vec![worktree.record.name.to_string()],
        ..Remove::default()
    }
}
