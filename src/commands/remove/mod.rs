//! `git agentwt remove`: removes worktrees, never losing work; `--undo` brings them back.

pub mod answer;
pub mod arguments;
pub mod undo;

use crate::actions::remove::Leaving;
use crate::actions::remove::facts::Around;
use crate::actions::remove::plan::RemovePlan;
use crate::actions::trash;
use crate::commands::remove::answer::{RemoveAnswer, RemovedWorktree};
use crate::commands::remove::arguments::{EmptyTrash, Remove};
use crate::commands::{Outcome, Session};
use crate::record::worktree::Record;
use crate::system::terminal;
use crate::words::error::Error;
use crate::words::name::BranchName;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Removes the named worktrees. All are looked at before the first is touched: when one is
/// refused, none is removed.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails.
pub fn run(session: &Session, options: &Remove) -> Result<Outcome<RemoveAnswer>, Error> {
    let repository = session.repository_to_change()?;
    if !options.dry_run {
        require_callers_own(session, &repository, options)?;
    }
    let (known, locks) = Worktree::lock_all(&repository, &options.names)?;
    let may_go =
        |record: &Record| !options.keep_branch && (record.branch_made || options.delete_branch);
    let going = known.iter().map(|known| &known.record);
    let going = going.filter(|record| may_go(record));
    let going: Vec<BranchName> = going.map(|record| record.branch.clone()).collect();
    let whole = options.force > 0 && !options.dry_run;
    let around = Around::read(&repository)?;
    let mut planned = Vec::new();
    for known in known {
        let mut leaving = Leaving::read(&repository, known, &around, &going, whole)?;
        if (options.names.is_empty() && options.force == 0) || options.by_hook {
            // the current worktree is meant, and nothing is lost
            leaving.facts.start.clone_from(&repository.root);
        }
        let plan = leaving.plan(&options.removal())?;
        planned.push((leaving, plan));
    }
    let removing = Removing {
        session,
        repository: &repository,
        around: &around,
        going: &going,
        options,
    };
    let mut outcome = Outcome::done(RemoveAnswer {
        worktrees: Vec::new(),
    });
    for (leaving, plan) in planned {
        session.check()?;
        let removed = removing.remove(leaving, plan, &mut outcome.notes);
        let worktrees = &mut outcome.answer.worktrees;
        match removed {
            Ok(removed) => worktrees.push(removed),
            Err(error) if worktrees.is_empty() => return Err(error),
            Err(error) => {
                // what was removed by then is reported
                let help = miette::Diagnostic::help(&error);
                let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                outcome.notes.push(format!("{error}{help}"));
                outcome.exit = error.exit_code();
                break;
            }
        }
    }
    if options.names.is_empty() && !options.dry_run {
        let root = &repository.root;
        outcome.notes.push(format!(
            "the current directory was in it, and is gone: cd {root}"
        ));
    }
    // the process that deletes ignored files in the trash takes them, one at a time
    drop(locks);
    if !options.dry_run {
        let worktrees = outcome.answer.worktrees.iter();
        let mut removals = worktrees.filter_map(|one| one.removal.as_ref());
        let has_trash = removals.any(|removal| removal.term.is_some());
        outcome.notes.extend(if options.wait {
            session.waiting(|| trash::empty_now(&repository))?
        } else {
            trash::empty_soon(&repository, &session.binary, has_trash)?
        });
    }
    Ok(outcome)
}

/// Holds what one call works with.
struct Removing<'a> {
    session: &'a Session,
    repository: &'a Repository,
    around: &'a Around,
    going: &'a [BranchName],
    options: &'a Remove,
}

impl Removing<'_> {
    /// Removes one of which the removal is decided.
    fn remove(
        &self,
        mut leaving: Leaving,
        mut plan: RemovePlan,
        notes: &mut Vec<String>,
    ) -> Result<RemovedWorktree, Error> {
        let session = self.session;
        let options = self.options;
        // a teardown can delete what is to be kept
        if !options.dry_run && options.force == 0 {
            let steps = session.user_steps(self.repository);
            let is_begun = leaving.rest.is_some();
            let state = session.state.as_deref();
            let (ran, said) = steps.tear_down(&leaving.known, is_begun, state)?;
            notes.extend(said);
            if ran {
                leaving = self.read_again(leaving)?;
                plan = leaving.plan(&options.removal())?;
            }
        }
        if !options.dry_run {
            let environment = &session.environment;
            let now = &Session::now();
            let removal = options.removal();
            leaving.apply(&mut plan, self.repository, environment, &removal, now)?;
        }
        notes.append(&mut plan.notes);
        let record = &leaving.known.record;
        let removal = Some(plan);
        Ok(RemovedWorktree::new(record, options.dry_run, removal, None))
    }

    /// Reads it again after a teardown: nothing is lost that came meanwhile.
    fn read_again(&self, before: Leaving) -> Result<Leaving, Error> {
        let known = Worktree::load(self.repository, &before.known.record.name)?;
        let mut leaving = Leaving::read(self.repository, known, self.around, self.going, false)?;
        leaving.facts.start = before.facts.start;
        Ok(leaving)
    }
}

/// Checks that an agent removes nothing but its own worktree, and that only as far as nothing is kept
/// in the trash for it.
fn require_callers_own(
    session: &Session,
    repository: &Repository,
    options: &Remove,
) -> Result<(), Error> {
    let mut named = Vec::new();
    for known in Worktree::named(repository, &options.names) {
        named.push(known?.record.name);
    }
    match named.as_slice() {
        [only] if options.force == 0 && !options.delete_branch => {
            session.require_own(repository, only)
        }
        [only] => session.require_no_agent(repository, &session.command_line_naming(only)),
        _several => session.require_no_agent(repository, &session.command_line),
    }
}

/// `git agentwt empty-trash`: leaves the terminal, and deletes what `remove` and `prune` leave to the
/// background. No one listens: the next removal reports what cannot be deleted.
///
/// # Errors
/// Fails when the directory of worktrees cannot be opened.
pub fn empty_trash(session: &Session, options: &EmptyTrash) -> Result<Outcome<()>, Error> {
    terminal::leave_session();
    trash::empty_now(&session.repository_at(&options.root)?)?;
    Ok(Outcome::done(()))
}
