//! Runs a command in its fence and imports what it committed: [`FencedRun`].

use crate::actions::import::import;
use crate::actions::import::outcome::{ImportFailure, Imported};
use crate::answer::shapes::BranchMove;
use crate::commands::Session;
use crate::commands::exec::client_state::{ClientState, CopiedSettings};
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
pub(super) struct EndedRun {
    /// How the command ended.
    pub ended: CommandEnd,
    /// What became of its commits.
    pub imported: Imported,
    /// How the branch moved when what an earlier command had left was imported.
    pub moved_before: Option<BranchMove>,
}

/// The git directory on which a command works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitDirectoryOfRun {
    /// The worktree's own, in a fence of write bits or none.
    OfWorktree,
    /// A private one that is written for this run.
    New,
    /// A private one that an earlier run left.
    OfEarlierRun,
}

impl FencedRun<'_> {
    /// Notes which patterns of the scope the fence grants more widely, and with `-v` the fence.
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
    /// 1. What an earlier command left is imported, and the private git directory is prepared.
    /// 2. The command runs to its end.
    /// 3. Directories that were created for the run and stayed empty are removed.
    /// 4. The worktree is verified, and what the command committed is imported.
    ///
    /// # Errors
    /// Fails when the command cannot be started, or the import fails: then the branch is where it
    /// was.
    pub fn apply(&self, notes: &mut Vec<String>) -> Result<EndedRun, Error> {
        // before the preparation, which writes a private one in any case
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
        let imported = self.verify_and_import(git_directory)?;
        Ok(EndedRun {
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

    /// Runs the command to its end.
    fn run_command(
        &self,
        git_directory: GitDirectoryOfRun,
        notes: &mut Vec<String>,
    ) -> Result<CommandEnd, Error> {
        match git_directory {
            GitDirectoryOfRun::OfWorktree => Ok(self.run_to_end()?),
            GitDirectoryOfRun::New | GitDirectoryOfRun::OfEarlierRun => {
                self.run_recorded(git_directory, notes)
            }
        }
    }

    /// Runs the command on the private git directory, and records there that it runs and how it
    /// ended.
    ///
    /// 1. The directories of the clients are prepared.
    /// 2. The command runs.
    /// 3. Settings that a client changed come back to the user.
    /// 4. The end is recorded.
    /// 5. A git directory that is new and was not used is removed.
    fn run_recorded(
        &self,
        git_directory: GitDirectoryOfRun,
        notes: &mut Vec<String>,
    ) -> Result<CommandEnd, Error> {
        // 1
        let prepared = self.prepare_client_states()?;
        // 2
        let run_file = self.private.run_file();
        run_file.record_running(self.launch.fence)?;
        if git_directory == GitDirectoryOfRun::OfEarlierRun {
            self.launch.end_earlier_container();
        }
        let ended = self.run_to_end();
        // 3; a failure is only noted, as the next run begins with the user's settings anyway
        for (state, copied) in &prepared {
            if let Err(error) = state.bring_back(copied) {
                notes.push(error.to_string());
            }
        }
        // 4; a failure is only noted, as the import does not need it
        if let Err(error) = run_file.record_ended(run_end(&ended)) {
            notes.push(error.to_string());
        }
        // 5; processes that are left running still use it
        let is_left_running = matches!(ended, Err(FenceError::Leftover { .. }));
        if ended.is_err() && !is_left_running && git_directory == GitDirectoryOfRun::New {
            let _ = self.private.remove();
        }
        Ok(ended?)
    }

    /// Runs the command to its end, then leaves the worktree: the command may have removed the
    /// directory that we are in.
    fn run_to_end(&self) -> Result<CommandEnd, FenceError> {
        let ended = self.launch.run();
        environment::enter(&self.repository.common_dir);
        ended
    }

    /// Prepares the directories of the clients.
    fn prepare_client_states(&self) -> Result<Vec<(&ClientState, CopiedSettings)>, Error> {
        let mut prepared = Vec::new();
        for state in self.client_states {
            prepared.push((state, state.prepare(self.launch.dir)?));
        }
        Ok(prepared)
    }

    /// Verifies the worktree under the lock of the name; what the command committed on a private
    /// git directory is verified with it, and imported.
    fn verify_and_import(&self, git_directory: GitDirectoryOfRun) -> Result<Imported, Error> {
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
