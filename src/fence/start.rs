//! Starts a command in its fence, looks after it, and ends all that it leaves.
//!
//! The command stands in our own process group, as with env(1): the terminal's keys reach it and us
//! alike, and the shell stops and continues both.
#![expect(clippy::disallowed_methods, reason = "starts the command")]

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use camino::Utf8Path;
use rustix::termios::isatty;

use crate::config::value::Fence;
use crate::fence::container::{ContainerStart, HostUser};
use crate::fence::error::FenceError;
use crate::fence::mount::CommandSession;
use crate::fence::policy::Policy;
use crate::fence::supervise::{CommandEnd, CommandProcess, Supervisor};
use crate::fence::trial::output;
use crate::fence::{container, kernel, mount, seatbelt};
use crate::system::terminal::has_terminal;
use crate::words::name::name_digest;

/// How long a command has after TERM until it is killed.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// Says where the standard output of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutput {
    /// To ours.
    Stdout,
    /// To our standard error, as ours is for a document.
    Stderr,
}

/// Holds a command, its fence, and how it is looked after.
pub struct Launch<'a> {
    /// The fence.
    pub fence: Fence,
    /// What it enforces.
    pub policy: &'a Policy,
    /// The command.
    pub command: &'a [OsString],
    /// Where it starts.
    pub dir: &'a Utf8Path,
    /// The whole environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Where its standard output goes.
    pub output: CommandOutput,
    /// After so long it is asked to end.
    pub timeout: Option<Duration>,
    /// The signal that we got, which is the command's.
    pub signal: &'a Arc<AtomicUsize>,
}

impl Launch<'_> {
    /// Runs the command to its end. After that, every process of it is dead.
    ///
    /// # Errors
    /// Fails when it cannot be started or looked after, or a process of it cannot be ended.
    pub fn run(&self) -> Result<CommandEnd, FenceError> {
        self.prepare()?;
        let supervisor = Supervisor {
            command: self.command()?,
            timeout: self.timeout,
            kill_after: KILL_AFTER,
            signal: self.signal,
            process: match self.fence {
                // bubblewrap, and its own first process
                Fence::Mount => CommandProcess::Below(2),
                Fence::Container => CommandProcess::InContainer,
                Fence::None | Fence::Perms | Fence::Landlock | Fence::Seatbelt | Fence::Auto => {
                    CommandProcess::Below(0)
                }
            },
        };
        let end = supervisor.run();
        if self.fence == Fence::Container && !matches!(end, Ok(CommandEnd::Status(_))) {
            self.remove_container();
        }
        end
    }

    /// The command as it is started.
    fn command(&self) -> Result<Command, FenceError> {
        let line = self.line();
        let words = line.split_first();
        let (program, arguments) = words.expect("because no command is without a program");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.directory_of_program())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.output == CommandOutput::Stderr {
            command.stdout(io::stderr());
        }
        kernel::restrict_before_start(&mut command, self.fence, self.policy)?;
        Ok(command)
    }

    /// The directory in which the program of the fence starts. Podman's monitor lives on for a
    /// moment after the command has ended, and would keep `remove` from the worktree.
    fn directory_of_program(&self) -> &Utf8Path {
        match self.fence {
            Fence::Container => Utf8Path::new("/"),
            Fence::None
            | Fence::Perms
            | Fence::Landlock
            | Fence::Mount
            | Fence::Seatbelt
            | Fence::Auto => self.dir,
        }
    }

    /// The command line that starts the command in its fence.
    pub fn line(&self) -> Vec<OsString> {
        match self.fence {
            Fence::None | Fence::Perms | Fence::Landlock | Fence::Auto => self.command.to_vec(),
            Fence::Mount => line_of("bwrap", self.mount_arguments()),
            Fence::Container => {
                let program = self.policy.request.container.program;
                line_of(program.name(), self.container_arguments())
            }
            Fence::Seatbelt => line_of("/usr/bin/sandbox-exec", self.seatbelt_arguments()),
        }
    }

    fn mount_arguments(&self) -> Vec<OsString> {
        let session = if has_terminal() {
            CommandSession::OfTerminal
        } else {
            CommandSession::Own
        };
        mount::arguments(self.policy, self.command, self.dir, session)
    }

    fn seatbelt_arguments(&self) -> Vec<OsString> {
        let mut arguments = vec!["-p".into(), seatbelt::profile(self.policy).into()];
        arguments.extend_from_slice(self.command);
        arguments
    }

    fn container_arguments(&self) -> Vec<OsString> {
        let names = self.variables.iter();
        let is_input_terminal = isatty(io::stdin());
        // a terminal joins what is said in two places, and ends lines in its own way
        let has_terminal = is_input_terminal && isatty(io::stdout()) && isatty(io::stderr());
        let start = ContainerStart {
            command: self.command,
            directory: self.dir,
            has_terminal,
            // podman does not stop when it reads from a terminal in the background
            has_input: has_terminal || !is_input_terminal,
            variables: names.filter_map(|(name, _)| name.to_str()).collect(),
            name: &self.container_name(),
            user: HostUser::ours(),
            exists: &|path| path.symlink_metadata().is_ok(),
        };
        container::arguments(self.policy, &start)
    }

    /// The name of the container, the same in each run in the worktree.
    fn container_name(&self) -> String {
        let root = &self.policy.places.root;
        let directory = root.file_name().unwrap_or("worktree");
        let plain = directory.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        format!("agentwt-{plain}-{}", name_digest(root.as_str()))
    }

    /// Ends the container of an earlier run that was killed. `podman run --replace` ends it as
    /// well, but prints its name on the command's standard output; docker would refuse the name.
    pub fn end_earlier_container(&self) {
        if self.fence == Fence::Container {
            self.remove_container();
        }
    }

    /// A container is no child of ours: its own program ends it, if it still runs.
    fn remove_container(&self) {
        let mut remove = Command::new(self.policy.request.container.program.name());
        // docker has no option that ignores a container which is not there
        remove.args(["rm", "--force", &self.container_name()]);
        let _ = output(&mut remove);
    }

    /// Makes the directories that the fence grants or mounts, and writes the start file for
    /// `__init`.
    fn prepare(&self) -> Result<(), FenceError> {
        let mut directories: Vec<PathBuf> = Vec::new();
        for path in &self.policy.directories_to_make {
            directories.push(self.policy.at(path).into());
        }
        if self.fence == Fence::Container {
            directories.extend(
                container::mount_points(self.policy)
                    .into_iter()
                    .map(PathBuf::from),
            );
        }
        for path in &directories {
            std::fs::create_dir_all(path).map_err(|error| FenceError::unwritten(path, &error))?;
        }
        kernel::write_start(self.fence, self.policy)
    }
}

fn line_of(program: &str, arguments: Vec<OsString>) -> Vec<OsString> {
    let mut line = arguments;
    line.insert(0, program.into());
    line
}
