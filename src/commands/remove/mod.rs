//! `git agentwt remove`: removes worktrees, never losing work; `--undo` brings them back.

pub mod answer;
pub mod arguments;
pub mod undo;

use crate::actions::remove::facts::SharedFacts;
use crate::actions::remove::plan::RemovePlan;
use crate::actions::remove::{Look, RemovalCandidate};
use crate::actions::setup::UserSteps;
use crate::actions::trash::empty::{TrashChange, empty_now, empty_soon};
use crate::commands::remove::answer::{RemoveAnswer, RemovedWorktree};
use crate::commands::remove::arguments::{EmptyTrash, Remove};
use crate::commands::{Outcome, Session};
use crate::system::terminal;
use crate::words::error::Error;
use crate::words::name::BranchName;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Removes the named worktrees.
///
/// 1. All are looked at before the first is touched: when one is refused, none is removed.
/// 2. One after the other: the user's teardown runs, and the worktree is moved into the trash,
///    where it is looked at again. When one is refused by then, those before it are removed.
/// 3. What goes at once is deleted, mostly in the background.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails.
pub fn run(session: &Session, options: &Remove) -> Result<Outcome<RemoveAnswer>, Error> {
    let repository = session.repository_to_change()?;
    if !options.dry_run {
        require_callers_own(session, &repository, options)?;
    }
    let (worktrees, locks) = Worktree::lock_all(&repository, &options.names)?;
    let removing = Removing {
        session,
        repository: &repository,
        shared: SharedFacts::read(&repository)?,
        leaving_branches: leaving_branches(&worktrees, options),
        options,
    };
    // 1
    let mut planned = Vec::new();
    for worktree in worktrees {
        planned.push(removing.plan(worktree)?);
    }
    // 2
    let mut outcome = Outcome::done(RemoveAnswer {
        worktrees: Vec::new(),
    });
    removing.remove_all(planned, &mut outcome)?;
    if options.names.is_empty() && !options.dry_run {
        let root = shell_word(repository.root.as_str());
        outcome.notes.push(format!(
            "the current directory was in it, and is gone: cd {root}"
        ));
    }
    // 3; the process that deletes ignored files in the trash takes the locks, one at a time
    drop(locks);
    if !options.dry_run {
        let notes = removing.empty_trash(&outcome.answer)?;
        outcome.notes.extend(notes);
    }
    Ok(outcome)
}

/// The branches that may go with these worktrees.
fn leaving_branches(worktrees: &[Worktree], options: &Remove) -> Vec<BranchName> {
    let mut branches = Vec::new();
    for worktree in worktrees {
        let record = &worktree.record;
        if !options.keep_branch && (record.branch_made || options.delete_branch) {
            branches.push(record.branch.clone());
        }
    }
    branches
}

/// Holds what one call works with.
struct Removing<'a> {
    session: &'a Session,
    repository: &'a Repository,
    shared: SharedFacts,
    leaving_branches: Vec<BranchName>,
    options: &'a Remove,
}

/// Holds a worktree of which the removal is decided.
struct PlannedRemoval {
    candidate: RemovalCandidate,
    plan: RemovePlan,
}

impl Removing<'_> {
    /// Looks at a worktree, and decides.
    fn plan(&self, worktree: Worktree) -> Result<PlannedRemoval, Error> {
        let options = self.options;
        let look = if options.force > 0 && !options.dry_run {
            Look::WithoutFiles
        } else {
            Look::Everything
        };
        let mut candidate = self.read(worktree, look)?;
        if (options.names.is_empty() && options.force == 0) || options.by_hook {
            // the caller means the worktree that it is in: that is no reason to refuse
            candidate.facts.start.clone_from(&self.repository.root);
        }
        let plan = candidate.plan(&options.removal())?;
        Ok(PlannedRemoval { candidate, plan })
    }

    fn read(&self, worktree: Worktree, look: Look) -> Result<RemovalCandidate, Error> {
        let branches = &self.leaving_branches;
        RemovalCandidate::read(self.repository, worktree, &self.shared, branches, look)
    }

    /// Removes one after the other. When one fails, those before it are reported.
    fn remove_all(
        &self,
        planned: Vec<PlannedRemoval>,
        outcome: &mut Outcome<RemoveAnswer>,
    ) -> Result<(), Error> {
        for removal in planned {
            self.session.check()?;
            match self.remove(removal, &mut outcome.notes) {
                Ok(removed) => outcome.answer.worktrees.push(removed),
                Err(error) if outcome.answer.worktrees.is_empty() => return Err(error),
                Err(error) => {
                    outcome.notes.push(error.with_help());
                    outcome.exit = error.exit_code();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Removes one of which the removal is decided.
    fn remove(
        &self,
        planned: PlannedRemoval,
        notes: &mut Vec<String>,
    ) -> Result<RemovedWorktree, Error> {
        let options = self.options;
        let PlannedRemoval {
            candidate,
            mut plan,
        } = self.tear_down(planned, notes)?;
        if !options.dry_run {
            let environment = &self.session.environment;
            let now = Session::now();
            let removal = options.removal();
            candidate.apply(&mut plan, self.repository, environment, &removal, &now)?;
        }
        notes.append(&mut plan.notes);
        Ok(RemovedWorktree {
            dry_run: options.dry_run,
            removal: Some(plan),
            ..RemovedWorktree::new(&candidate.worktree.record)
        })
    }

    /// Runs the user's teardown; looks at the worktree again and decides again, if it has run.
    ///
    /// It does not run with `--force`: the trash is to keep work that the teardown could delete. It
    /// does not run where an earlier call began the removal: that call has run it.
    fn tear_down(
        &self,
        planned: PlannedRemoval,
        notes: &mut Vec<String>,
    ) -> Result<PlannedRemoval, Error> {
        let options = self.options;
        let before = &planned.candidate;
        let has_begun = before.pending_removal.is_some();
        if options.dry_run || options.force > 0 || has_begun {
            return Ok(planned);
        }
        let steps = UserSteps {
            repository: self.repository,
            environment: &self.session.environment,
            signal: &self.session.signal,
            log: &self.session.log,
        };
        let state = self.session.state.as_deref();
        let torn_down = steps.tear_down(&before.worktree, state)?;
        notes.extend(torn_down.notes);
        if !torn_down.has_run {
            return Ok(planned);
        }
        let worktree = Worktree::load(self.repository, &before.worktree.record.name)?;
        let mut candidate = self.read(worktree, Look::Everything)?;
        // what `plan` decided about the directory of the caller holds for this look too
        candidate.facts.start.clone_from(&before.facts.start);
        let plan = candidate.plan(&options.removal())?;
        Ok(PlannedRemoval { candidate, plan })
    }

    /// Deletes what goes at once; returns what cannot be deleted.
    fn empty_trash(&self, answer: &RemoveAnswer) -> Result<Vec<String>, Error> {
        if self.options.wait {
            return self.session.waiting(|| empty_now(self.repository));
        }
        let removals = answer
            .worktrees
            .iter()
            .filter_map(|one| one.removal.as_ref());
        let change = TrashChange::of(removals.filter_map(|removal| removal.term));
        empty_soon(self.repository, &self.session.binary, change)
    }
}

/// Checks that an agent removes nothing but its own worktree, and that only as far as nothing is
/// kept in the trash for it.
fn require_callers_own(
    session: &Session,
    repository: &Repository,
    options: &Remove,
) -> Result<(), Error> {
    let mut named = Vec::new();
    for worktree in Worktree::named(repository, &options.names) {
        named.push(worktree?.record.name);
    }
    match named.as_slice() {
        [only] if options.force == 0 && !options.delete_branch => {
            session.require_own(repository, only)
        }
        [only] => session.require_no_agent(repository, &session.command_line_naming(only)),
        _several => session.require_no_agent(repository, &session.command_line),
    }
}

/// `git agentwt empty-trash`: leaves the terminal, and deletes what `remove` and `prune` leave to
/// the background. No one listens: the next removal reports what cannot be deleted.
///
/// # Errors
/// Fails when the directory of worktrees cannot be opened.
pub fn empty_trash(session: &Session, options: &EmptyTrash) -> Result<Outcome<()>, Error> {
    terminal::leave_session();
    empty_now(&session.repository_at(&options.root)?)?;
    Ok(Outcome::done(()))
}
