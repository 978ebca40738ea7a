//! Creates a worktree, runs a command in its fence, and removes the worktree: `run`. Here, as the command is
//! made of others.

use crate::arguments::output::OutputForm;
use crate::cli::Cli;
use crate::cli::run::Run;
use crate::commands::add::answer::Done;
use crate::commands::exec::arguments::Exec;
use crate::commands::remove::arguments::Remove;
use crate::commands::{Session, add, exec, remove};
use crate::run::print::print;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::loaded::Worktree;

/// Runs it; standard output is the command's alone, or that of the document.
pub(super) fn run(session: &Session, cli: &Cli, options: &Run) -> Result<ExitCode, Error> {
    if options.fence.print_policy.is_some() {
        let asked = Exec {
            name: options.add.name.clone(),
            fence: options.fence.clone(),
            command: options.command.clone(),
            ..Exec::default()
        };
        return Ok(print(cli, OutputForm::HUMAN, &exec::run(session, &asked)?));
    }
    let made = add::run(session, &options.add)?;
    if options.add.dry_run {
        return Ok(print(cli, options.add.output.form(), &made));
    }
    made.notes.iter().for_each(|note| session.log.tell(note));
    let repository = session.repository()?;
    let known = Worktree::load(&repository, &made.answer.record.name)?;
    let mut removal = Remove::default();
    removal.names.push(known.record.name.to_string());
    let fence = &options.fence;
    let command = &options.command;
    let form = options.add.output.form();
    let output = exec::output_of(form.format);
    let mut ran = match exec::run_in(session, &repository, &known, fence, command, output) {
        Ok(ran) => ran,
        Err(error) => {
            let is_unused = matches!(error.exit_code(), ExitCode::NoFence | ExitCode::NotStarted);
            if is_unused && made.answer.done == Done::Made {
                // nothing ran in it
                let _ = remove::run(session, &removal);
            }
            return Err(error);
        }
    };
    let mut is_removed = false;
    if options.rm && ran.exit == ExitCode::Success {
        match remove::run(session, &removal) {
            Ok(removed) => {
                is_removed = true;
                ran.notes.extend(removed.notes);
            }
            Err(error) => ran.notes.push(format!("the worktree stays: {error}")),
        }
    }
    if let Some(run) = &mut ran.answer.run {
        run.removed = options.rm.then_some(is_removed);
    }
    Ok(print(cli, form, &ran))
}
