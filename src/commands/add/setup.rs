//! Runs the set-up of the config once the worktree is there.

use crate::actions::register::install_hooks;
use crate::actions::remove::decide::RemoveRefusal;
use crate::actions::remove::facts::SharedFacts;
use crate::actions::remove::plan::RemoveOptions;
use crate::actions::remove::{Look, RemovalCandidate};
use crate::actions::setup::{UntrackedBefore, UserSteps, UserTable};
use crate::actions::trash::empty::{TrashChange, empty_soon};
use crate::commands::add::answer::{AddAnswer, Done, SetupReport};
use crate::commands::add::arguments::Add;
use crate::commands::add::clone;
use crate::commands::add::plan::running_inside;
use crate::commands::{Outcome, Session};
use crate::config::Config;
use crate::disk::lock::Lock;
use crate::record::worktree::SetupState;
use crate::refusal::Refusal;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;
use crate::worktree::trust::{TrustStore, UserCommands};

/// Decides what is to be run; none where there is nothing. The set-up of this repository is not
/// that of a clone of a URL.
pub(super) fn plan(
    session: &Session,
    home: &Repository,
    config: &Config,
    options: &Add,
) -> Result<Option<SetupReport>, Error> {
    let commands = UserCommands::new(home, config);
    let submodules = config.setup.submodules;
    let has_none = commands.setup.is_empty() && !submodules;
    if has_none || options.no_setup || options.repo.is_some() {
        return Ok(None);
    }
    let trusted =
        commands.setup.is_empty() || TrustStore::read(session.state.as_deref())?.holds(&commands);
    Ok(Some(SetupReport {
        commands: commands.setup,
        submodules,
        trusted,
        state: "planned",
    }))
}

/// Runs what was planned. Without trust the commands are skipped, with the command to type.
pub(super) fn apply(
    session: &Session,
    options: &Add,
    name: &WorktreeName,
    outcome: &mut Outcome<AddAnswer>,
) -> Result<(), Error> {
    let AddAnswer {
        done,
        request,
        setup,
        ..
    } = &mut outcome.answer;
    let Some(setup) = setup.as_mut().filter(|_| !options.dry_run) else {
        return Ok(());
    };
    let is_new = *done == Done::Made;
    let again = &session.command_line;
    if setup.trusted && is_new && request.is_some() {
        setup.state = "skipped";
        outcome.notes.push(format!(
            "the set-up is skipped, as it could run the code of the pull request; when you have \
                read that code, to run the set-up: {again}"
        ));
        return Ok(());
    }
    let on_failure = if options.rollback_on_failure && is_new {
        OnFailure::RollBack
    } else {
        OnFailure::Stay
    };
    run_pending(session, options, setup, name, on_failure)?;
    setup.state = if setup.trusted { "done" } else { "skipped" };
    if !setup.trusted {
        outcome.notes.push(format!(
            "the set-up is skipped, as you have not trusted its commands; to review them and run \
                them: git agentwt trust && {again}"
        ));
    }
    Ok(())
}

/// What becomes of a worktree whose set-up fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    /// It stays, for another run.
    Stay,
    /// It is removed.
    RollBack,
}

/// Runs the set-up, unless another `add` of the name has run it meanwhile.
fn run_pending(
    session: &Session,
    options: &Add,
    setup: &SetupReport,
    name: &WorktreeName,
    on_failure: OnFailure,
) -> Result<(), Error> {
    let home = clone::find_home(session, name, options)?;
    let _one_at_a_time = Lock::wait(&home.setup_lock(name))?;
    let worktree = Worktree::load(&home, name)?;
    if worktree.record.setup != Some(SetupState::Pending) {
        return Ok(());
    }
    let again = &session.command_line;
    let help = match on_failure {
        OnFailure::RollBack => format!("the worktree was removed; to try again: {again}"),
        OnFailure::Stay => format!(
            "the worktree stays; to run the set-up again: git agentwt add {name}; to remove \
                it: git agentwt remove {name}"
        ),
    };
    let Err(error) = run(session, &home, setup, &worktree, &help) else {
        return Ok(());
    };
    if on_failure == OnFailure::Stay {
        return Err(error);
    }
    match roll_back(session, &home, name) {
        Ok(()) => Err(error),
        Err(why) => Err(error.leaving(vec![format!("worktree `{name}` ({why})")])),
    }
}

/// Refuses while something of a set-up that was killed still runs.
fn require_ended_setup(worktree: &Worktree) -> Result<(), Refusal> {
    if !UntrackedBefore::is_left(worktree) {
        return Ok(());
    }
    let path = &worktree.record.path;
    let pids = running_inside(path, None);
    if pids.is_empty() {
        return Ok(());
    }
    Err(Refusal::StillRunning {
        name: worktree.record.name.to_string(),
        path: path.clone(),
        pids,
    })
}

/// Runs the commands, and notes what came into the worktree by them, also where one fails. What
/// they changed of the repository is accepted if nobody else worked in the worktree meanwhile.
fn run(
    session: &Session,
    home: &Repository,
    setup: &SetupReport,
    worktree: &Worktree,
    help: &str,
) -> Result<(), Error> {
    if !setup.trusted && !setup.submodules {
        return Ok(());
    }
    let name = worktree.record.name.clone();
    require_ended_setup(worktree)?;
    let steps = UserSteps {
        repository: home,
        environment: &session.environment,
        signal: &session.signal,
        log: &session.log,
    };
    let is_alone = running_inside(&worktree.record.path, None).is_empty();
    let before = UntrackedBefore::begin(home, worktree)?;
    let repository = worktree.repository(home);
    let had_our_hooks = worktree.hooks_are_as_recorded(&repository)?;
    let commands = if setup.trusted { &*setup.commands } else { &[] };
    let mut ran = Ok(());
    if setup.submodules {
        ran = steps
            .fill_submodules(worktree)
            .map_err(|error| steps.fault(worktree, UserTable::Setup, error.to_string(), help));
    }
    if ran.is_ok() {
        ran = steps.run(worktree, UserTable::Setup, commands, help);
    }
    let (_lock, locked) = Worktree::lock(home, &name)?;
    let mut noted = steps.note(locked, &before)?;
    if had_our_hooks && !noted.hooks_are_as_recorded(&repository)? {
        // an installer of hooks writes where git runs them, and that is our directory
        noted.change_hooks(home, || install_hooks(home, &noted.record, &session.binary))?;
        noted = Worktree::load(home, &name)?;
    }
    if is_alone {
        steps.accept_shared(&mut noted, &before)?;
    }
    UntrackedBefore::end(&noted)?;
    ran?;
    if setup.trusted {
        noted.record.setup = Some(SetupState::Done);
        noted.write_record(&noted.record)?;
    }
    Ok(())
}

/// Removes what this `add` created, as `remove` does: what would be lost goes into the trash.
fn roll_back(session: &Session, home: &Repository, name: &WorktreeName) -> Result<(), Error> {
    let (_lock, worktree) = Worktree::lock(home, name)?;
    let forced = RemoveOptions {
        force: 1,
        ..RemoveOptions::default()
    };
    if let Err(error) = take_away(session, home, worktree.clone(), &RemoveOptions::default()) {
        // any other error is not about what would be lost
        if error.find::<RemoveRefusal>().is_none() {
            return Err(error);
        }
        take_away(session, home, worktree, &forced)?;
    }
    empty_soon(home, &session.binary, TrashChange::Entered)?;
    Ok(())
}

/// Removes the worktree if these options allow it.
fn take_away(
    session: &Session,
    home: &Repository,
    worktree: Worktree,
    allowed: &RemoveOptions,
) -> Result<(), Error> {
    let shared = SharedFacts::read(home)?;
    let candidate = RemovalCandidate::read(home, worktree, &shared, &[], Look::Everything)?;
    let mut plan = candidate.plan(allowed)?;
    let environment = &session.environment;
    candidate.apply(&mut plan, home, environment, allowed, &Session::now())
}
