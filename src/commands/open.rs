//! `git agentwt open`: starts a program in a worktree.

use std::ffi::OsString;

use clap::Args;

use crate::client::programs;
use crate::commands::Session;
use crate::config::value::Choice as _;
use crate::disk::files;
use crate::refusal::Refusal;
use crate::system::environment;
use crate::system::programs::run_program;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;
use crate::worktree::settings::{GitSettings, load_config};
use crate::worktree::variables::variables;

/// Start the agent program or the editor in a worktree
///
/// Starts the command of `git config --global agentwt.opener`, else the client of the worktree,
/// else that of the config, else your editor, if one is set, in the worktree and with the variables
/// of `git agentwt env`. The program is not fenced: it can read and write whatever you can. The
/// exit status is that of the program.
#[derive(Args, Debug)]
pub struct Open {
    /// The worktree
    #[arg(value_name = "name")]
    pub name: String,
    /// Give the client this task
    ///
    /// The text is passed as the program takes it: `claude <text>`, `gemini -i <text>`.
    #[arg(long, value_name = "text")]
    pub prompt: Option<OsString>,
    /// The arguments of the program
    #[arg(value_name = "arg", last = true)]
    pub arguments: Vec<OsString>,
}

/// Starts the program, and ends with its status.
///
/// # Errors
/// Fails when there is no such worktree, no program is configured, or it cannot be started.
pub fn run(session: &Session, options: &Open) -> Result<ExitCode, Error> {
    let repository = session.repository()?;
    let worktree = Worktree::of(&repository, Some(&options.name))?;
    session.require_own(&repository, &worktree.record.name)?;
    let name = worktree.record.name.to_string();
    let path = worktree.record.path.clone();
    if !files::is_directory(&path) {
        return Err(WorktreeFault::NoDirectory { name, path }.into());
    }
    let program = find_program(session, &repository, &worktree, options)?;
    // of a shell, the command
    let shown = program.get(3).filter(|_| program[0] == "sh");
    session.log.tell(&format!(
        "{} is not fenced: it can read and write whatever you can",
        shown.unwrap_or(&program[0]).to_string_lossy()
    ));
    // a signal that the terminal sends is the program's affair
    match run_program(&program, &path, &variables(&repository, &worktree)) {
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

/// The command line of the program: the opener of git's settings, the client, or the editor that
/// the user has set.
fn find_program(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &Open,
) -> Result<Vec<OsString>, Error> {
    let loaded = load_config(repository, &[], &session.environment)?;
    let own = &loaded.git_settings;
    for note in own.notes(&["agentwt.opener"]) {
        session.log.tell(&note);
    }
    if worktree.record.client.is_none() {
        for note in own.notes(&["agentwt.client"]) {
            session.log.tell(&note);
        }
    }
    let set = loaded.settings.client.map(|client| client.value);
    let client = worktree.record.client.or(set);
    let client = client.and_then(|client| programs::named(client.as_str()));
    // an empty value unsets that of another file (git-config(1))
    let opener = own.last("agentwt.opener");
    let opener = opener.filter(|line| !line.trim().is_empty());
    let mut program = match (opener, client) {
        (Some(line), _) => shell(line),
        (None, Some(client)) => vec![client.command.into()],
        (None, None) => {
            let refuse = |why| no_opener(worktree, why);
            if options.prompt.is_some() {
                return Err(refuse("no client is set, and an editor takes no prompt"));
            }
            let editor = find_editor(session, repository)?;
            let none = || {
                refuse("no client is set, and no editor (GIT_EDITOR, core.editor, VISUAL, EDITOR)")
            };
            let editor = editor.ok_or_else(none)?;
            session
                .log
                .tell("no client is set, so your editor is started");
            shell(&editor)
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

/// The command of the shell that a setting names, with the arguments that follow.
fn shell(line: &str) -> Vec<OsString> {
    let script = format!("{line} \"$@\"");
    ["sh", "-c", &script, line].map(OsString::from).to_vec()
}

fn no_opener(worktree: &Worktree, why: &'static str) -> Error {
    Refusal::NoOpener {
        name: worktree.record.name.to_string(),
        path: worktree.record.path.clone(),
        why,
    }
    .into()
}

/// The editor that the user has set, as git-var(1) looks for it, but for the `vi` that git takes
/// where there is none.
fn find_editor(session: &Session, repository: &Repository) -> Result<Option<String>, Error> {
    let variable = |name: &str| {
        let value = environment::variable(name)?.into_string().ok()?;
        Some(value).filter(|value| !value.trim().is_empty())
    };
    if let Some(editor) = variable("GIT_EDITOR") {
        return Ok(Some(editor));
    }
    let core = GitSettings::read(repository, "core")?;
    for note in core.notes(&["core.editor"]) {
        session.log.tell(&note);
    }
    let set = core.last("core.editor");
    if let Some(editor) = set.filter(|line| !line.trim().is_empty()) {
        return Ok(Some(editor.to_owned()));
    }
    // a terminal that moves no cursor has no use for one that needs the whole screen
    let term = variable("TERM").filter(|term| term != "dumb");
    let visual = term.and_then(|_| variable("VISUAL"));
    Ok(visual.or_else(|| variable("EDITOR")))
}
