//! Creates a worktree, runs a command in its fence, and removes the worktree: `run`. Here, as the command is
//! made of others.

use super::{print, tell};
use crate::cli::{Cli, Format, Remove, Run};
use crate::commands::{Session, add, exec, remove};
use crate::error::Error;
use crate::exit::ExitCode;
use crate::worktree::Worktree;

const HUMAN: (Format, bool) = (Format::Human, false);

/// Runs it; standard output is the command's alone.
pub(super) fn run(session: &Session, cli: &Cli, options: &Run) -> Result<ExitCode, Error> {
    let made = add::run(session, &options.add)?;
    if options.add.dry_run || options.fence.print_policy.is_some() && made.exit != ExitCode::Success
    {
        return Ok(print(cli, options.add.output.form(), &made));
    }
    if !cli.common.quiet {
        made.notes
            .iter()
            .for_each(|note| tell(&format!("note: {note}\n")));
    }
    let repository = session.repository()?;
    let known = Worktree::load(&repository, &made.answer.record.name)?;
    let name = known.record.name.to_string();
    let mut ran = exec::run_in(
        session,
        &repository,
        &known,
        &options.fence,
        &options.command,
    )?;
    if options.rm && ran.exit == ExitCode::Success && options.fence.print_policy.is_none() {
        let removal = Remove {
            names: vec![name],
            ..Remove::default()
        };
        match remove::run(session, &removal) {
            Ok(removed) => ran.notes.extend(removed.notes),
            Err(error) => ran.notes.push(format!("the worktree stays: {error}")),
        }
    }
    Ok(print(cli, HUMAN, &ran))
}
