//! Runs the set-up of the config once the worktree is there.

use crate::actions::register::install_hooks;
use crate::actions::remove::Leaving;
use crate::actions::remove::facts::Around;
use crate::actions::remove::plan::{RemoveOptions, RemoveRefusal};
use crate::actions::setup::UntrackedBefore;
use crate::actions::trash;
use crate::commands::add::answer::{AddAnswer, Done, SetupField};
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

/// Decides what is to be run; none where there is nothing. The set-up of this repository is not that of
/// a clone of a URL.
pub(super) fn plan(
    session: &Session,
    home: &Repository,
    config: &Config,
    options: &Add,
) -> Result<Option<SetupField>, Error> {
    let commands = UserCommands::new(home, config);
    let submodules = config.setup.submodules;
    let has_none = commands.setup.is_empty() && !submodules;
    if has_none || options.no_setup || options.repo.is_some() {
        return Ok(None);
    }
    let trusted =
        commands.setup.is_empty() || TrustStore::read(session.state.as_deref())?.holds(&commands);
    Ok(Some(SetupField {
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
        record,
        setup,
        ..
    } = &mut outcome.answer;
    let Some(setup) = setup.as_mut().filter(|_| !options.dry_run) else {
        return Ok(());
    };
    let is_new = *done == Done::Made;
    let again = &session.command_line;
    if setup.trusted && is_new && record.request.is_some() {
        setup.state = "skipped";
        outcome.notes.push(format!(
            "the set-up is skipped, as it could run the code of the pull request; when you have \
                read that code, to run the set-up: {again}"
        ));
        return Ok(());
    }
    let home = clone::find_home(session, name, options)?;
    let _one_at_a_time = Lock::wait(&home.setup_lock(name))?;
    let known = Worktree::load(&home, name)?;
    if known.record.setup == Some(SetupState::Pending) {
        let is_rollback = options.rollback_on_failure && is_new;
        let help = if is_rollback {
            format!("the worktree was removed; to try again: {again}")
        } else {
            format!(
                "the worktree stays; to run the set-up again: git agentwt add {name}; to remove \
                    it: git agentwt remove {name}"
            )
        };
        run(session, &home, setup, &known, &help).map_err(|error| {
            if !is_rollback {
                return error;
            }
            match roll_back(session, &home, name) {
                Ok(()) => error,
                Err(why) => error.leaving(vec![format!("worktree `{name}` ({why})")]),
            }
        })?;
    }
    setup.state = if setup.trusted { "done" } else { "skipped" };
    if !setup.trusted {
        outcome.notes.push(format!(
            "the set-up is skipped, as you have not trusted its commands; to review them and run \
                them: git agentwt trust && {again}"
        ));
    }
    Ok(())
}

fn run(
    session: &Session,
    home: &Repository,
    setup: &SetupField,
    known: &Worktree,
    help: &str,
) -> Result<(), Error> {
    if !setup.trusted && !setup.submodules {
        return Ok(());
    }
    let name = known.record.name.clone();
    let path = &known.record.path;
    if UntrackedBefore::is_left(known) {
        let pids = running_inside(path, None);
        if !pids.is_empty() {
            let name = name.to_string();
            let path = path.clone();
            return Err(Refusal::StillRunning { name, path, pids }.into());
        }
    }
    let steps = session.user_steps(home);
    let is_alone = running_inside(path, None).is_empty();
    let before = UntrackedBefore::begin(home, known)?;
    let own = known.repository(home);
    let had_our_hooks = known.hooks_are_as_recorded(&own)?;
    let commands = if setup.trusted { &*setup.commands } else { &[] };
    let filled = if setup.submodules {
        steps.fill_submodules(known)
    } else {
        Ok(())
    };
    let filled = filled.map_err(|error| steps.fault(known, "setup", error.to_string(), help));
    let ran = filled.and_then(|()| steps.run(known, "setup", commands, help));
    let (_lock, known) = Worktree::lock(home, &name)?;
    let mut known = steps.note(known, &before)?;
    if had_our_hooks && !known.hooks_are_as_recorded(&own)? {
        // an installer of hooks writes where git runs them, and that is our directory
        known.change_hooks(home, || install_hooks(home, &known.record, &session.binary))?;
        known = Worktree::load(home, &name)?;
    }
    if is_alone {
        steps.accept_shared(&mut known, &before)?;
    }
    UntrackedBefore::end(&known)?;
    ran?;
    if setup.trusted {
        known.record.setup = Some(SetupState::Done);
        known.write_record(&known.record)?;
    }
    Ok(())
}

/// Removes what this `add` created, as `remove` does: what would be lost goes into the trash.
fn roll_back(session: &Session, home: &Repository, name: &WorktreeName) -> Result<(), Error> {
    let (_lock, known) = Worktree::lock(home, name)?;
    let forced = RemoveOptions {
        force: 1,
        ..RemoveOptions::default()
    };
    if let Err(error) = take_away(session, home, known.clone(), &RemoveOptions::default()) {
        // any other error is not about what would be lost
        if error.find::<RemoveRefusal>().is_none() {
            return Err(error);
        }
        take_away(session, home, known, &forced)?;
    }
    trash::empty_soon(home, &session.binary, true)?;
    Ok(())
}

/// Removes the worktree if these options allow it.
fn take_away(
    session: &Session,
    home: &Repository,
    known: Worktree,
    allowed: &RemoveOptions,
) -> Result<(), Error> {
    let around = Around::read(home)?;
    let leaving = Leaving::read(home, known, &around, &[], false)?;
    let mut plan = leaving.plan(allowed)?;
    let environment = &session.environment;
    leaving.apply(&mut plan, home, environment, allowed, &Session::now())
}
