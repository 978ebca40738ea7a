//! `git agentwt open`: starts a program in a worktree.

use std::ffi::OsString;

use super::Session;
use crate::cli::Open;
use crate::client;
use crate::config::Choice as _;
use crate::disk::files;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::process::run_program;
use crate::refusal::Refusal;
use crate::worktree::variables::variables;
use crate::worktree::{Repository, Worktree, WorktreeFault, load_config};

/// Starts the program, and ends with its status.
///
/// # Errors
/// Fails when there is no such worktree, no program is configured, or it cannot be started.
pub fn run(session: &Session, options: &Open) -> Result<ExitCode, Error> {
    let repository = session.repository()?;
    let known = Worktree::of(&repository, Some(&options.name))?;
    session.require_own(&repository, &known.record.name)?;
    let (name, path) = (known.record.name.to_string(), known.record.path.clone());
    if !files::is_directory(&path) {
        return Err(WorktreeFault::NoDirectory { name, path }.into());
    }
    let program = find_program(session, &repository, options)?;
    // of a shell, the command
    let shown = program.get(3).filter(|_| program[0] == "sh");
    session.log.tell(&format!(
        "{} is not fenced: it can read and write whatever you can",
        shown.unwrap_or(&program[0]).to_string_lossy()
    ));
    // a signal that the terminal sends is the program's affair
    match run_program(&program, &path, &variables(&repository, &known)) {
        Ok(status) => Ok(ExitCode::Program(status)),
        Err(error) => {
            let program = program[0].to_string_lossy().into_owned();
            Err(Refusal::CannotStart {
                program,
                error: error.to_string(),
            }
            .into())
        }
    }
}

/// The command line of the program: the opener of git's settings, the client, or the editor.
fn find_program(
    session: &Session,
    repository: &Repository,
    options: &Open,
) -> Result<Vec<OsString>, Error> {
    let shell = |line: &str| {
        let script = format!("{line} \"$@\"");
        ["sh", "-c", &script, line].map(OsString::from).to_vec()
    };
    let client = load_config(repository, &[], &session.environment)?
        .settings
        .client;
    let client = client.and_then(|client| client::named(client.value.as_str()));
    // an empty value unsets that of another file (git-config(1))
    let opener = repository.git.config_get("agentwt.opener")?;
    let opener = opener.filter(|line| !line.trim().is_empty());
    let mut program = match (opener, client) {
        (Some(line), _) => shell(&line),
        (None, Some(client)) => vec![client.command.into()],
        (None, None) => {
            // GIT_EDITOR, core.editor, VISUAL, EDITOR (git-var(1))
            let git = &repository.git;
            let editor = git.perform("find the editor", "var", &["GIT_EDITOR"])?;
            shell(&String::from_utf8_lossy(editor.trim_ascii()))
        }
    };
    if let Some(prompt) = &options.prompt {
        let option = client.map(|client| client.prompt_option);
        let option = option.unwrap_or_default();
        program.extend((!option.is_empty()).then(|| option.into()));
        program.push(prompt.clone());
    }
    program.extend(options.arguments.iter().cloned());
    Ok(program)
}
