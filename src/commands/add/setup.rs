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

/// Decides what the set-up runs; `None` if nothing. The clone of a URL gets no set-up: the config
/// is that of another repository.
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

/// Runs the set-up that was planned, if there is one.
///
/// The set-up of a new worktree of a pull request is skipped as a whole, since it could run the
/// request's code. Elsewhere commands that the user has not trusted are skipped, and the submodules
/// are filled all the same. A note says how to run what was skipped.
pub(super) fn apply(
    session: &Session,
    options: &Add,
    name: &WorktreeName,
    outcome: &mut Outcome<AddAnswer>,
) -> Result<(), Error> {
    if options.dry_run {
        return Ok(());
    }
    let is_new = outcome.answer.done == Done::Made;
    let is_of_request = outcome.answer.request.is_some();
    let Some(setup) = &mut outcome.answer.setup else {
        return Ok(());
    };
    let again = &session.command_line;
    if is_new && is_of_request {
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
    if setup.trusted {
        setup.state = "done";
    } else {
        setup.state = "skipped";
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
        OnFailure::RollBack => format!("to try again: {again}"),
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
    let owner = options.programs.owner.clone();
    match roll_back(session, &home, name, owner) {
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

/// Runs the set-up in the worktree.
///
/// 1. Refuses while something of a set-up that was killed still runs.
/// 2. Lists what is there before, and whether another process works in the worktree.
/// 3. Fills the submodules and runs the commands.
/// 4. Records what they made and changed, also if one failed.
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
    let name = &worktree.record.name;
    // 1
    require_ended_setup(worktree)?;
    let steps = UserSteps {
        repository: home,
        environment: &session.environment,
        signal: &session.signal,
        log: &session.log,
    };
    // 2
    let before = BeforeSetup::read(home, worktree)?;
    // 3
    let ended = run_steps(&steps, setup, worktree, help);
    // 4
    let (_lock, locked) = Worktree::lock(home, name)?;
    let recorded = before.record_results(session, &steps, locked);
    // why a command failed says more than why its results could not be recorded
    ended?;
    let mut updated = recorded?;
    if setup.trusted {
        updated.record.setup = Some(SetupState::Done);
        updated.write_record(&updated.record)?;
    }
    Ok(())
}

/// How the worktree was before the set-up.
struct BeforeSetup {
    /// The untracked files.
    untracked: UntrackedBefore,
    /// Whether git ran our hooks there.
    had_our_hooks: bool,
    /// Whether no process worked there. What the set-up itself leaves running is no other process.
    is_alone: bool,
}

impl BeforeSetup {
    fn read(home: &Repository, worktree: &Worktree) -> Result<Self, Error> {
        let is_alone = running_inside(&worktree.record.path, None).is_empty();
        Ok(Self {
            untracked: UntrackedBefore::begin(home, worktree)?,
            had_our_hooks: worktree.hooks_are_as_recorded(&worktree.repository(home))?,
            is_alone,
        })
    }

    /// Records what the set-up made in the worktree, and installs our hooks again if it replaced
    /// them. Accepts what it changed of the repository, if no other process worked in the worktree.
    /// Returns the worktree as it is recorded then.
    fn record_results(
        &self,
        session: &Session,
        steps: &UserSteps<'_>,
        locked: Worktree,
    ) -> Result<Worktree, Error> {
        let home = steps.repository;
        let mut updated = steps.note(locked, &self.untracked)?;
        let has_our_hooks = updated.hooks_are_as_recorded(&updated.repository(home))?;
        if self.had_our_hooks && !has_our_hooks {
            // an installer of hooks writes into the directory where git runs them, which is ours
            updated.change_hooks(home, || {
                install_hooks(home, &updated.record, &session.binary)
            })?;
            updated = Worktree::load(home, &updated.record.name)?;
        }
        if self.is_alone {
            steps.accept_shared(&mut updated, &self.untracked)?;
        }
        UntrackedBefore::end(&updated)?;
        Ok(updated)
    }
}

/// Fills the submodules if the config says so, then runs the commands if they are trusted.
fn run_steps(
    steps: &UserSteps<'_>,
    setup: &SetupReport,
    worktree: &Worktree,
    help: &str,
) -> Result<(), Error> {
    if setup.submodules {
        steps
            .fill_submodules(worktree)
            .map_err(|error| steps.fault(worktree, UserTable::Setup, error.to_string(), help))?;
    }
    let commands = if setup.trusted { &*setup.commands } else { &[] };
    steps.run(worktree, UserTable::Setup, commands, help)
}

/// Removes what this `add` created, as `remove` does: what would be lost goes into the trash.
/// `owner` is the one that this `add` named; another one, who has taken the worktree over, stops
/// the removal.
fn roll_back(
    session: &Session,
    home: &Repository,
    name: &WorktreeName,
    owner: Option<String>,
) -> Result<(), Error> {
    let (_lock, worktree) = Worktree::lock(home, name)?;
    let allowed = RemoveOptions {
        owner,
        ..RemoveOptions::default()
    };
    let forced = RemoveOptions {
        force: 1,
        ..allowed.clone()
    };
    if let Err(error) = take_away(session, home, worktree.clone(), &allowed) {
        // only a refusal is about work that would be lost, and only that is what force is for
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
