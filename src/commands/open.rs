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
use crate::worktree::absence::no_directory;
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

/// Starts the program in the worktree, without a fence, and ends with its status.
///
/// # Errors
/// Fails when there is no such worktree or its directory is gone, no program is configured, or it
/// cannot be started. Refused inside another worktree.
pub fn run(session: &Session, options: &Open) -> Result<ExitCode, Error> {
    let repository = session.repository()?;
    let worktree = Worktree::of(&repository, Some(&options.name))?;
    session.require_own(&repository, &worktree.record.name)?;
    let path = worktree.record.path.clone();
    if !files::is_directory(&path) {
        return Err(no_directory(&worktree.record).into());
    }
    let program = find_program(session, &repository, &worktree, options)?;
    session.log.tell(&format!(
        "{} is not fenced: it can read and write whatever you can",
        program.shown
    ));
    // a signal from the terminal reaches the program too, and it decides what to do
    match run_program(&program.words, &path, &variables(&repository, &worktree)) {
        Ok(status) => Ok(ExitCode::Program(status)),
        Err(error) => Err(Error::from(Refusal::CannotStart {
            program: program.words[0].to_string_lossy().into_owned(),
            error: error.to_string(),
        })),
    }
}

/// A program with its arguments.
struct ProgramToOpen {
    words: Vec<OsString>,
    /// What the user knows it by: the line of a setting, or the name of the program.
    shown: String,
}

impl ProgramToOpen {
    fn of_client(command: &str) -> Self {
        Self {
            words: vec![command.into()],
            shown: command.to_owned(),
        }
    }

    /// Makes the command of the shell that a setting names, with the arguments that follow.
    fn of_setting(line: &str) -> Self {
        let script = format!("{line} \"$@\"");
        Self {
            words: ["sh", "-c", &script, line].map(OsString::from).to_vec(),
            shown: line.to_owned(),
        }
    }
}

/// The command line of the program: the opener of git's settings, or else the client, or else the
/// editor that the user has set; then the prompt and the arguments. An opener gets the prompt as
/// the client would.
fn find_program(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &Open,
) -> Result<ProgramToOpen, Error> {
    let loaded = load_config(repository, &[], &session.environment)?;
    let git_settings = &loaded.git_settings;
    tell_notes(session, git_settings, "agentwt.opener");
    let recorded_client = worktree.record.client;
    if recorded_client.is_none() {
        tell_notes(session, git_settings, "agentwt.client");
    }
    let set_client = loaded.settings.client.map(|client| client.value);
    let client_name = recorded_client.or(set_client);
    let client = client_name.and_then(|name| programs::named(name.as_str()));
    let opener = git_settings.last("agentwt.opener");
    let mut program = if let Some(line) = opener.filter(|line| is_set(line)) {
        ProgramToOpen::of_setting(line)
    } else if let Some(client) = client {
        ProgramToOpen::of_client(client.command)
    } else {
        start_of_editor(session, repository, worktree, options)?
    };
    if let Some(prompt) = &options.prompt {
        if let Some(client) = client
            && !client.prompt_option.is_empty()
        {
            program.words.push(client.prompt_option.into());
        }
        program.words.push(prompt.clone());
    }
    program.words.extend(options.arguments.iter().cloned());
    Ok(program)
}

/// The command line of the user's editor.
///
/// # Errors
/// Refuses a prompt, which an editor does not take; fails when no editor is set.
fn start_of_editor(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &Open,
) -> Result<ProgramToOpen, Error> {
    if options.prompt.is_some() {
        let why = "no client is set, and an editor takes no prompt";
        return Err(no_opener(worktree, why));
    }
    let Some(editor) = find_editor(session, repository)? else {
        let why = "no client is set, and no editor (GIT_EDITOR, core.editor, VISUAL, EDITOR)";
        return Err(no_opener(worktree, why));
    };
    session
        .log
        .tell("no client is set, so your editor is started");
    Ok(ProgramToOpen::of_setting(&editor))
}

/// True for a value with something in it: an empty one unsets that of another file (git-config(1)).
fn is_set(value: &str) -> bool {
    !value.trim().is_empty()
}

/// Says where the setting does not count.
fn tell_notes(session: &Session, settings: &GitSettings, key: &str) {
    for note in settings.notes(&[key]) {
        session.log.tell(&note);
    }
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
    if let Some(editor) = variable("GIT_EDITOR") {
        return Ok(Some(editor));
    }
    let core = GitSettings::read(repository, "core")?;
    tell_notes(session, &core, "core.editor");
    if let Some(editor) = core.last("core.editor").filter(|line| is_set(line)) {
        return Ok(Some(editor.to_owned()));
    }
    // a dumb terminal cannot show an editor that needs the whole screen
    if variable("TERM").is_some_and(|term| term != "dumb")
        && let Some(editor) = variable("VISUAL")
    {
        return Ok(Some(editor));
    }
    Ok(variable("EDITOR"))
}

/// A variable of the environment, if there is something in it.
fn variable(name: &str) -> Option<String> {
    let value = environment::variable(name)?.into_string().ok()?;
    is_set(&value).then_some(value)
}
