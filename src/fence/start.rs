//! Starts a command in its fence, looks after it, and ends all that it leaves.
//!
//! The command stands in our own process group, as with env(1): the terminal's keys reach it and us
//! alike, and the shell stops and continues both.
#![expect(clippy::disallowed_methods, reason = "starts the command, asks /proc")]

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use camino::Utf8Path;

use crate::config::value::Fence;
use crate::fence::container::user;
use crate::fence::error::FenceError;
use crate::fence::policy::Policy;
use crate::fence::supervise::{CommandEnd, CommandProcess, Supervisor};
use crate::fence::{container, mount, seatbelt};
use crate::system::terminal::has_terminal;

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
        self.write_start()?;
        let ended = Supervisor {
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
        }
        .run();
        if self.fence == Fence::Container && !matches!(ended, Ok(CommandEnd::Status(_))) {
            self.remove_container();
        }
        ended
    }

    /// The command as it is started.
    fn command(&self) -> Result<Command, FenceError> {
        let line = self.line();
        let words = line.split_first();
        let (program, words) = words.expect("because no command is without a program");
        let mut command = Command::new(program);
        command.args(words).current_dir(self.dir).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.output == CommandOutput::Stderr {
            command.stdout(std::io::stderr());
        }
        #[cfg(target_os = "linux")]
        if self.fence > Fence::Perms {
            super::restrict::restrict_before_start(&mut command, self.fence, self.policy)
                .map_err(|error| FenceError::Restrict(error.to_string()))?;
        }
        Ok(command)
    }

    /// The command line that starts the command in its fence.
    pub fn line(&self) -> Vec<OsString> {
        let (policy, command, dir) = (self.policy, self.command, self.dir);
        let (program, arguments) = match self.fence {
            Fence::None | Fence::Perms | Fence::Landlock | Fence::Auto => return command.to_vec(),
            Fence::Mount => {
                let arguments = mount::arguments(policy, command, dir, has_terminal());
                ("bwrap", arguments)
            }
            Fence::Container => {
                let program = policy.wishes.container.program;
                (program.name(), self.container_arguments())
            }
            Fence::Seatbelt => {
                let profile = ["-p".into(), seatbelt::profile(policy).into()];
                let all = profile.into_iter().chain(command.iter().cloned());
                ("/usr/bin/sandbox-exec", all.collect())
            }
        };
        std::iter::once(program.into()).chain(arguments).collect()
    }

    fn container_arguments(&self) -> Vec<OsString> {
        let names = self.variables.iter();
        let is_terminal = rustix::termios::isatty(std::io::stdin());
        // a terminal joins what is said in two places, and ends lines in its own way
        let has_terminal = is_terminal
            && rustix::termios::isatty(std::io::stdout())
            && rustix::termios::isatty(std::io::stderr());
        let start = container::ContainerStart {
            command: self.command,
            directory: self.dir,
            has_terminal,
            // podman does not stop when it reads from a terminal in the background
            has_input: has_terminal || !is_terminal,
            variables: names.filter_map(|(name, _)| name.to_str()).collect(),
            name: &self.container_name(),
            user: user(),
            exists: &|path| path.symlink_metadata().is_ok(),
        };
        container::arguments(self.policy, &start)
    }

    /// The same in each run in the worktree.
    fn container_name(&self) -> String {
        let root = &self.policy.places.root;
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        let worktree = root.file_name().unwrap_or("worktree");
        let worktree = worktree.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        format!("agentwt-{worktree}-{:x}", hasher.finish())
    }

    /// A container is no child of ours: its own program ends it, if it still runs.
    fn remove_container(&self) {
        let mut remove = Command::new(self.policy.wishes.container.program.name());
        remove.args(["rm", "--force", "--ignore", &self.container_name()]);
        let _ = super::probe::output(&mut remove);
    }

    fn write_start(&self) -> Result<(), FenceError> {
        let made = self.policy.directories_to_make.iter();
        let mut made: Vec<PathBuf> = made.map(|path| self.policy.at(path).into()).collect();
        if self.fence == Fence::Container {
            let points = container::mount_points(self.policy).into_iter();
            made.extend(points.map(Into::into));
        }
        for path in &made {
            std::fs::create_dir_all(path).map_err(|error| unwritten(path, &error))?;
        }
        #[cfg(target_os = "linux")]
        if matches!(self.fence, Fence::Mount | Fence::Container) {
            let file = self.policy.places.private.join("start.json");
            let start = super::restrict::Start {
                fence: self.fence,
                policy: self.policy,
                stood: super::restrict::read_asked(&self.policy.wishes, false),
            };
            let text = serde_json::to_vec(&start).map_err(std::io::Error::from);
            text.and_then(|text| std::fs::write(&file, text))
                .map_err(|error| unwritten(file.as_std_path(), &error))?;
        }
        Ok(())
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> FenceError {
    let path = path.display();
    FenceError::Restrict(format!("cannot write {path}: {error} (the space: df -h)"))
}
