//! `git agentwt exec`: runs a command in a worktree, fenced in by its scope.
//!
//! Facts: the worktree, what is asked of the fence, which fences work here. Plan: the policy.
//! Apply: a private git directory, the command in its fence, and, when all its processes have
//! ended, the import of what it committed. Nothing but the import changes anything that the user's
//! git believes.

pub mod answer;
pub mod arguments;
mod checks;
pub mod client_state;
mod earlier_run;
pub mod facts;
mod fenced_run;
mod finish;
pub mod fleet;
pub mod settings;

use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};

use crate::arguments::output::Format;
use crate::commands::exec::answer::{ExecAnswer, KeptWork};
use crate::commands::exec::arguments::{Exec, FenceOptions, PolicyForm};
use crate::commands::exec::checks::{not_fenced, require_fenceable};
use crate::commands::exec::client_state::ClientState;
use crate::commands::exec::fenced_run::FencedRun;
use crate::commands::exec::finish::{describe_rest, fill_answer};
use crate::commands::exec::settings::{FenceSettings, Sources};
use crate::commands::{Outcome, Session};
use crate::config::value::Fence;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::fence::policy::Policy;
use crate::fence::seatbelt;
use crate::fence::start::{CommandOutput, Launch};
use crate::system::users;
use crate::words::error::Error;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;
use crate::worktree::settings::load_config;

/// Runs the command, and ends with its status if everything is in scope.
///
/// # Errors
/// Fails when there is no such worktree, or no such fence works here: then nothing was run. Fails
/// when the import does: then the branch is where it was.
pub fn run(session: &Session, options: &Exec) -> Result<Outcome<ExecAnswer>, Error> {
    if options.all {
        return fleet::run(session);
    }
    let repository = session.repository()?;
    let worktree = Worktree::of(&repository, options.name.as_deref())?;
    if options.fence.print_policy.is_none() {
        session.require_own(&repository, &worktree.record.name)?;
    }
    let fence = &options.fence;
    let command = &options.command;
    let output = output_of(options.output.form().format);
    run_in(session, &repository, &worktree, fence, command, output)
}

/// Where the output of the command goes: where the answer is a document, standard output is that
/// alone.
pub fn output_of(format: Format) -> CommandOutput {
    match format {
        Format::Json => CommandOutput::Stderr,
        _people => CommandOutput::Stdout,
    }
}

/// Runs a command in this worktree, as [`run`] does.
///
/// 1. Checks that a fence can be put around the worktree.
/// 2. Reads what is asked of the fence, and computes the policy; `--print-policy` ends here.
/// 3. Runs the command in its fence, and imports what it committed (`run_fenced`).
///
/// # Errors
/// As [`run`].
pub fn run_in(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &FenceOptions,
    command: &[OsString],
    output: CommandOutput,
) -> Result<Outcome<ExecAnswer>, Error> {
    // 1
    require_fenceable(repository, worktree, options)?;
    // 2
    let others = facts::others(repository, &worktree.record.path)?;
    let request = read_request(session, repository, worktree, options, command, &others)?;
    let settings = request.settings;
    let mut outcome = Outcome::done(ExecAnswer::default());
    outcome.notes = settings.notes;
    let private = PrivateGit::new(worktree);
    let client_states = ClientState::of_all(worktree, settings.stand_ins);
    let policy = facts::policy(
        session,
        repository,
        worktree,
        &private,
        others,
        &client_states,
        settings.request,
    )?;
    let launch = Launch {
        fence: settings.fence,
        policy: &policy,
        command: &request.command,
        dir: start_in(session, worktree),
        variables: Vec::new(),
        output,
        // 0 is no limit (timeout(1))
        timeout: options.timeout.filter(|time| !time.is_zero()),
        signal: &session.signal,
    };
    if let Some(form) = options.print_policy {
        outcome.answer.policy = Some(rendered(form, launch));
        return Ok(outcome);
    }
    // 3
    let run = FencedRun {
        session,
        repository,
        worktree,
        private: &private,
        client_states: &client_states,
        launch,
    };
    run_fenced(run, &settings.preset_directories, outcome)
}

/// Runs a command in its fence, and fills the answer.
///
/// 1. Chooses the fence: the one that was asked for, or the strongest that works here.
/// 2. Takes the lock of the run: one command at a time works in a worktree. Prepares what the
///    command finds: directories and variables.
/// 3. Runs the command, and imports what it committed.
/// 4. Fills the answer: what became of the command, and what is left of it.
///
/// # Errors
/// As [`run`].
fn run_fenced(
    mut run: FencedRun<'_>,
    preset_directories: &[Utf8PathBuf],
    mut outcome: Outcome<ExecAnswer>,
) -> Result<Outcome<ExecAnswer>, Error> {
    let repository = run.repository;
    let worktree = run.worktree;
    // 1
    run.launch.fence = facts::choose(repository, run.launch.policy, run.launch.fence)?;
    let fence = run.launch.fence;
    require_user_of_container(worktree, run.launch.policy, fence)?;
    run.tell_fence(&mut outcome.notes);
    // 2
    let run_lock = take_run_lock(repository, worktree)?;
    for directory in preset_directories {
        // if that fails, the program that needs the directory says so
        let _ = files::create_directories(directory);
    }
    run.launch.variables = facts::variables(repository, worktree, run.private, fence);
    run.name_client_states();
    // 3
    let kept_before = KeptWork::read(repository, worktree)?;
    let ended_run = run.apply(&mut outcome.notes)?;
    drop(run_lock);
    // 4
    fill_answer(&mut outcome, worktree, ended_run);
    if let Some(answer) = &mut outcome.answer.run
        && let Err(error) = describe_rest(repository, worktree, &kept_before, answer)
    {
        // only a note: the command has ended, and its answer counts
        let note = format!("what is left of the command cannot be listed: {error}");
        outcome.notes.push(note);
    }
    Ok(outcome)
}

/// The directory in which the command starts: where we stand, if that is in the worktree.
fn start_in<'a>(session: &'a Session, worktree: &'a Worktree) -> &'a Utf8Path {
    let root = &worktree.record.path;
    if session.start.starts_with(root) {
        &session.start
    } else {
        root
    }
}

/// The command that is to be run, and what is asked of its fence.
struct RunRequest {
    command: Vec<OsString>,
    settings: FenceSettings,
}

/// Reads the command and what is asked of its fence, from the options, the settings and the config.
fn read_request(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &FenceOptions,
    given: &[OsString],
    others: &[Utf8PathBuf],
) -> Result<RunRequest, Error> {
    let loaded = load_config(repository, &[], &session.environment)?;
    let recorded_client = worktree.record.client;
    let set_client = loaded.settings.client.as_ref().map(|client| client.value);
    let command = facts::command(given, recorded_client.or(set_client))?;
    let root = &worktree.record.path;
    let mut worktrees = vec![root.clone(), repository.root.clone()];
    worktrees.extend_from_slice(others);
    let mut settings = settings::read(&Sources {
        session,
        loaded: &loaded,
        options,
        command: &command,
        start: start_in(session, worktree),
        worktrees: &worktrees,
    })?;
    // only here the settings choose the command, by their client
    if given.is_empty() && recorded_client.is_none() {
        let client_notes = loaded.git_settings.notes(&["agentwt.client"]);
        settings.notes.extend(client_notes);
    }
    Ok(RunRequest { command, settings })
}

/// Checks that a container gets another user than root.
fn require_user_of_container(
    worktree: &Worktree,
    policy: &Policy,
    fence: Fence,
) -> Result<(), Error> {
    let has_user = policy.request.container.user.is_some();
    if fence != Fence::Container || !users::is_root() || has_user {
        return Ok(());
    }
    let help = "name its user in .agentwt/config.toml: [fence.container] user = \"1000\"";
    let why = "a container never runs a command as root";
    Err(not_fenced(worktree, why, help))
}

/// Takes the lock of the one command that runs in a worktree.
fn take_run_lock(repository: &Repository, worktree: &Worktree) -> Result<Lock, Error> {
    let taken = Lock::if_free(&repository.run_lock(&worktree.record.name))?;
    taken.ok_or_else(|| {
        let help = "wait for its end, or take another worktree: git agentwt run <name> -- …";
        not_fenced(worktree, "a command runs in it already", help)
    })
}

/// Renders the policy in the form that `--print-policy` names.
fn rendered(form: PolicyForm, launch: Launch<'_>) -> Vec<u8> {
    match form {
        PolicyForm::Json => launch.policy.to_json(),
        PolicyForm::Sbpl => seatbelt::profile(launch.policy).into_bytes(),
        PolicyForm::Argv => {
            let fence = match launch.fence {
                Fence::Auto => Fence::Mount,
                named => named,
            };
            let mut text = String::new();
            for word in (Launch { fence, ..launch }).line() {
                text.push_str(&shell_word(&word.to_string_lossy()));
                text.push('\n');
            }
            text.into_bytes()
        }
    }
}
