//! Creates and removes a worktree for the hooks of Claude Code: `hook claude-create`, `hook
//! claude-remove`. Here, as each is a command that another one is made of.

use camino::{Utf8Path, Utf8PathBuf};

use crate::arguments::output::OutputForm;
use crate::cli::Cli;
use crate::client::claude::WorktreeEvent;
use crate::client::layout::ClientRefusal;
use crate::commands::add::answer::AddAnswer;
use crate::commands::add::arguments::{Add, ContextOptions};
use crate::commands::remove::arguments::Remove;
use crate::commands::{Caller, Outcome, Session, add, is_nowhere, path, remove};
use crate::disk::files;
use crate::record::worktree::SetupState;
use crate::refusal::Refusal;
use crate::run::print::{print, tell};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{Worktree, by_path};

/// Creates the worktree of this name with the scope of the config, and prints its path; of one that
/// is there already, the path is printed too, whatever its scope.
pub(super) fn create(session: &Session, cli: &Cli) -> Result<ExitCode, Error> {
    let event = parse(session)?;
    let Some(name) = event.worktree_name() else {
        return Err(bad_input("it has no name that a worktree could have"));
    };
    let start = match event.directory {
        Some(directory) => Utf8PathBuf::from(directory),
        None => session.start.clone(),
    };
    let session = &Session {
        // what notes tell the user to type
        command_line: format!("git agentwt add {name}"),
        ..starting_in(session, &start)
    };
    match add_for_claude(session, name.as_str()) {
        Ok(created) => Ok(print(cli, OutputForm::HUMAN, &created)),
        Err(error) if is_about_scope(&error) => go_on_with(session, cli, &name, error),
        Err(error) => Err(error),
    }
}

/// Prints the path of the worktree of this name, with what `add` refused as a note; where there is
/// none, that is the error.
fn go_on_with(
    session: &Session,
    cli: &Cli,
    name: &WorktreeName,
    error: Error,
) -> Result<ExitCode, Error> {
    let Ok(mut existing) = path::run(session, Some(name.as_str())) else {
        return Err(error);
    };
    existing.notes.push(error.to_string());
    let record = Worktree::of(&session.repository()?, Some(name.as_str()))?.record;
    if record.setup == Some(SetupState::Pending) {
        existing.notes.push(format!(
            "the set-up of {name} was not run to its end: git agentwt add {name}, with the options \
                of its first `add`"
        ));
    }
    Ok(print(cli, OutputForm::HUMAN, &existing))
}

/// Creates the worktree with the context for Claude Code, or without where that is refused.
fn add_for_claude(session: &Session, name: &str) -> Result<Outcome<AddAnswer>, Error> {
    match add::run(session, &add_options(name, "claude-code")) {
        Err(refusal) if refusal.find::<ClientRefusal>().is_some() => {
            // nobody can give `claude --worktree` an option of `add`
            let mut created = add::run(session, &add_options(name, "none"))?;
            created.notes.push(format!("{refusal}: created without"));
            Ok(created)
        }
        created => created,
    }
}

fn add_options(name: &str, client: &str) -> Add {
    Add {
        name: Some(name.to_owned()),
        context: ContextOptions {
            client: Some(client.to_owned()),
            ..ContextOptions::default()
        },
        ..Add::default()
    }
}

fn is_about_scope(error: &Error) -> bool {
    matches!(error.find(), Some(Refusal::AnotherScope { .. }))
        || matches!(error.find(), Some(WorktreeFault::NoWriteList { .. }))
}

/// Removes the worktree, to the trash where work would be lost. One that is gone is not an error:
/// that would keep the session of Claude Code open for ever.
pub(super) fn remove(session: &Session, cli: &Cli) -> Result<ExitCode, Error> {
    let Some(named) = parse(session)?.path else {
        return Err(bad_input("it has no worktree_path"));
    };
    let resolved = session.resolve(Utf8Path::new(&named));
    let path = files::canonical(&resolved).unwrap_or(resolved);
    // the directory itself may be gone
    let mut directories = path.ancestors().filter(|above| files::is_directory(above));
    let session_there = starting_in(session, directories.next().unwrap_or(&path));
    let Some(worktree) = worktree_at(&session_there, &path)? else {
        if files::exists(&path.join(".git")) {
            return Err(Refusal::ForeignRemoval { path }.into());
        }
        tell(&format!(
            "note: there is no worktree at {path}: nothing is removed\n"
        ));
        return Ok(ExitCode::Success);
    };
    let mut options = Remove {
        names: vec![worktree.record.name.to_string()],
        by_hook: true,
        ..Remove::default()
    };
    let mut removed = remove::run(&session_there, &options);
    if let Err(error) = &removed
        && error.exit_code() == ExitCode::Refused
    {
        // to the trash
        options.force = 1;
        removed = remove::run(&session_there, &options);
    }
    Ok(print(cli, OutputForm::HUMAN, &removed?))
}

/// The worktree of ours that stands at a path; none where there is none, or no repository.
fn worktree_at(session: &Session, path: &Utf8Path) -> Result<Option<Worktree>, Error> {
    let repository = match session.repository() {
        Ok(repository) => repository,
        Err(error) if is_nowhere(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let worktree = by_path(&repository, path)?;
    Ok(worktree.filter(|worktree| worktree.record.path == *path))
}

fn starting_in(session: &Session, directory: &Utf8Path) -> Session {
    Session {
        start: directory.to_owned(),
        caller: Caller::ClientHook,
        ..session.clone()
    }
}

fn parse(session: &Session) -> Result<WorktreeEvent, Error> {
    WorktreeEvent::parse(&session.input).map_err(|why| bad_input(&why))
}

fn bad_input(why: &str) -> Error {
    let why = why.to_owned();
    Refusal::NoWorktreeEvent { why }.into()
}
