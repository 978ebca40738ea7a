//! Runs a command in its fence and imports what it committed: [`FencedRun`].

use crate::actions::import::import;
use crate::actions::import::outcome::{ImportFailure, Imported};
use crate::answer::shapes::BranchMove;
use crate::commands::Session;
use crate::commands::exec::client_state::{Begun, ClientState};
use crate::commands::exec::earlier_run::Preparation;
use crate::config::value::{Choice as _, Fence};
use crate::disk::files;
use crate::fence::error::FenceError;
use crate::fence::policy::Class;
use crate::fence::start::Launch;
use crate::fence::supervise::CommandEnd;
use crate::judge::finding::VerifyOptions;
use crate::record::run::{RunEnd, RunObjects};
use crate::system::environment;
use crate::truth::live::verify_now;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;

/// A command in the fence of a worktree.
pub(super) struct FencedRun<'a> {
    /// What the program was started with.
    pub session: &'a Session,
    /// The repository of the worktree.
    pub repository: &'a Repository,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// The git directory of its runs.
    pub private: &'a PrivateGit,
    /// The directories of its clients.
    pub client_states: &'a [ClientState],
    /// The command and its fence.
    pub launch: Launch<'a>,
}

/// What became of a command and of its commits.
pub(super) struct Done {
    /// How the command ended.
    pub ended: CommandEnd,
    /// What became of its commits.
    pub imported: Imported,
    /// How the branch moved when what an earlier command had left was imported.
    pub moved_before: Option<BranchMove>,
}

/// Says on which git directory a command works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitDirectoryOfRun {
    /// On that of the worktree itself, in a fence of write bits or none.
    OfWorktree,
    /// On a private one, written for this run.
    New,
    /// On a private one that an earlier run left.
    OfEarlierRun,
}

impl FencedRun<'_> {
    /// Says which patterns are granted more widely, and with `-v` the fence.
    pub fn tell_fence(&self, notes: &mut Vec<String>) {
        let fence = self.launch.fence;
        for class in self.launch.policy.classes(fence) {
            if class.class == Class::Over {
                notes.push(class.to_string());
            }
        }
        self.session
            .tell_step(&format!("fence: {}", fence.as_str()));
    }

    /// Sets the variables by which clients find their directories.
    pub fn name_client_states(&mut self) {
        if self.launch.fence <= Fence::Perms {
            return;
        }
        for state in self.client_states {
            let (name, place) = state.variable();
            let variables = &mut self.launch.variables;
            variables.retain(|(other, _)| other != name);
            variables.push((name.into(), place.into()));
        }
    }

    /// Runs the command and imports what it committed. The lock of the name is free while the
    /// command runs.
    ///
    /// 1. The private git directory is prepared, after the import of what an earlier command left.
    /// 2. The command runs to its end, with the directories of its clients.
    /// 3. What was made for the run and stayed empty is removed.
    /// 4. The worktree is verified, and what the command committed is imported.
    ///
    /// # Errors
    /// Fails when the command cannot be started, or the import fails: then the branch is where it
    /// was.
    pub fn apply(&self, notes: &mut Vec<String>) -> Result<Done, Error> {
        let git_directory = if self.launch.fence <= Fence::Perms {
            GitDirectoryOfRun::OfWorktree
        } else if self.private.is_there() {
            GitDirectoryOfRun::OfEarlierRun
        } else {
            GitDirectoryOfRun::New
        };
        // 1
        let mut moved_before = None;
        if git_directory != GitDirectoryOfRun::OfWorktree {
            moved_before = self.prepare(notes)?;
        }
        // 2
        let ended = self.run_command(git_directory, notes)?;
        // 3
        for directory in self.launch.policy.directories_to_make.iter().rev() {
            let place = self.worktree.record.path.join(directory.to_string());
            files::remove_if_empty(&place);
        }
        // 4
        let imported = self.import(git_directory)?;
        Ok(Done {
            ended,
            imported,
            moved_before,
        })
    }

    /// Prepares the private git directory under the lock of the name.
    fn prepare(&self, notes: &mut Vec<String>) -> Result<Option<BranchMove>, Error> {
        let (_lock, worktree) = Worktree::lock(self.repository, &self.worktree.record.name)?;
        let withholds = self.launch.policy.request.withholds;
        let preparation = Preparation {
            repository: self.repository,
            worktree: &worktree,
            private: self.private,
            binary: &self.session.binary,
            objects: if withholds {
                RunObjects::Withheld
            } else {
                RunObjects::Shared
            },
        };
        preparation.prepare(notes)
    }

    /// Runs the command to its end, and writes down that it runs and how it ended.
    fn run_command(
        &self,
        git_directory: GitDirectoryOfRun,
        notes: &mut Vec<String>,
    ) -> Result<CommandEnd, Error> {
        if git_directory == GitDirectoryOfRun::OfWorktree {
            let ended = self.launch.run();
            // where we stand may be gone
            environment::enter(&self.repository.common_dir);
            return Ok(ended?);
        }
        let prepared = self.prepare_client_states()?;
        let run_file = self.private.run_file();
        run_file.record_running(self.launch.fence)?;
        if git_directory == GitDirectoryOfRun::OfEarlierRun {
            self.launch.end_earlier_container();
        }
        let ended = self.launch.run();
        for (state, begun) in &prepared {
            // the client begins with what the user has in the next run
            let brought = state.bring_back(begun);
            notes.extend(brought.err().map(|error| error.to_string()));
        }
        // where we stand may be gone
        environment::enter(&self.repository.common_dir);
        // the import does without
        let recorded = run_file.record_ended(run_end(&ended));
        notes.extend(recorded.err().map(|error| error.to_string()));
        let is_left_running = matches!(ended, Err(FenceError::Leftover { .. }));
        if ended.is_err() && !is_left_running && git_directory == GitDirectoryOfRun::New {
            // it is written anew for the next run
            let _ = self.private.remove();
        }
        Ok(ended?)
    }

    /// Makes the directories of clients.
    fn prepare_client_states(&self) -> Result<Vec<(&ClientState, Begun)>, Error> {
        let mut prepared = Vec::new();
        for state in self.client_states {
            prepared.push((state, state.prepare(self.launch.dir)?));
        }
        Ok(prepared)
    }

    /// Verifies the worktree under the lock of the name, with the import of what the command
    /// committed.
    fn import(&self, git_directory: GitDirectoryOfRun) -> Result<Imported, Error> {
        let repository = self.repository;
        let (_lock, worktree) = Worktree::lock(repository, &self.worktree.record.name)?;
        if git_directory == GitDirectoryOfRun::OfWorktree {
            let live = verify_now(repository, &worktree, VerifyOptions::default())?;
            return Ok(Imported::without_run(live.report));
        }
        import(repository, &worktree, self.private, &Session::now())
            .map_err(ImportFailure::into_error)
    }
}

/// Says how the command of a run ended, as its state has it.
fn run_end(ended: &Result<CommandEnd, FenceError>) -> RunEnd {
    match ended {
        Ok(CommandEnd::Status(status)) => RunEnd::Exit(*status),
        Ok(CommandEnd::Signal(signal)) => RunEnd::Signal(*signal),
        Ok(CommandEnd::TimedOut) => RunEnd::Timeout,
        Err(_) => RunEnd::NotStarted,
    }
}
