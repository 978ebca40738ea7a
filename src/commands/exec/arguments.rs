//! Defines the arguments of `git agentwt exec` and `run`.

use std::ffi::OsString;
use std::time::Duration;

use camino::Utf8PathBuf;
use clap::Args;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;

use crate::arguments::output::AnswerOutput;
use crate::config::value::{Choice as _, Fence};
use crate::words::time::parse_duration;

/// Names a form of `--print-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PolicyForm {
    /// The policy, as JSON.
    Json,
    /// The command line that is started.
    Argv,
    /// The profile for sandbox-exec(1) of macOS.
    Sbpl,
}

/// The options of a fence.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Fence")]
pub struct FenceOptions {
    /// Enforce the scope with this fence [default: config, else auto]
    ///
    /// `mount` uses namespaces of bubblewrap with Landlock inside, `landlock` Landlock alone,
    /// `container` podman or docker, `seatbelt` the sandbox of macOS. `auto` takes the strongest of
    /// mount, landlock and seatbelt that works here. `perms` is the write bits only, `none` is
    /// nothing.
    #[arg(long, value_name = "fence", value_parser = PossibleValuesParser::new(Fence::words()))]
    pub fence: Option<String>,
    /// Give the command this network: host, none, or ports:443,22 [default: host]
    ///
    /// With `ports:`, TCP connections to these ports only.
    #[arg(long, value_name = "network")]
    pub net: Option<String>,
    /// Let the command write below this path as well
    #[arg(long, value_name = "path")]
    pub rw: Vec<Utf8PathBuf>,
    /// Let the command use the Unix socket at this path
    ///
    /// By default a command cannot connect to any Unix socket: that of a tmux server or of docker
    /// would lead out of the fence.
    #[arg(long, value_name = "path")]
    pub socket: Vec<Utf8PathBuf>,
    /// Let the command write the state and the caches of this program
    ///
    /// The default is the program that the command starts: claude, codex, gemini, opencode, aider,
    /// cargo, npm, pip or uv. The first four get a directory of their own in the place of yours:
    /// their sessions and tokens are there for you, their settings and what they run are not.
    #[arg(long, value_name = "program")]
    pub preset: Vec<String>,
    /// Grant no path that the scope does not let the command write
    ///
    /// A fence cannot express every pattern, such as `*.md`. By default the directory around such
    /// paths is granted, and the verification finds what is out of scope; with this option only the
    /// files that are there.
    #[arg(long)]
    pub strict: bool,
    /// Keep the content of excluded files out of the git objects of the command too
    ///
    /// Without this option, `git show main:.env` prints an excluded file. With it, the git directory
    /// of the repository is hidden, but for hooks and submodules: the command has only the commits
    /// that no other branch has, the one below them, and what is staged. Takes seconds in a large
    /// repository.
    #[arg(long)]
    pub withhold: bool,
    /// Let the command start a sandbox of its own
    #[arg(long)]
    pub nested: bool,
    /// Run as root, from whom no fence protects as well
    #[arg(long)]
    pub allow_root: bool,
    /// Start a container from this image [default: the files of this host]
    #[arg(long, value_name = "image")]
    pub image: Option<String>,
    /// End the command after this time, as timeout(1) does: 30s, 10m, 2h, or seconds
    #[arg(long, value_name = "duration", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Print what would be enforced, and run nothing
    ///
    /// The worktree must exist.
    #[arg(
        long,
        value_name = "form",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "json"
    )]
    pub print_policy: Option<PolicyForm>,
}

/// Reads a duration; a number alone is seconds, as in timeout(1).
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::try_from_secs_f64);
    seconds
        .and_then(Result::ok)
        .or_else(|| parse_duration(text))
        .ok_or_else(|| "write a number and a unit, as in 30s or 10m".to_owned())
}

/// Run a command in a worktree, fenced in by its scope
///
/// The system itself refuses writes outside of the scope while the command runs, and the command
/// works on a private git directory. When the command has ended, all its processes are ended, its
/// commits are fetched and verified, and the branch moves to them if everything is in scope.
/// Otherwise the branch stays (exit 120), and the commits are kept below refs/agentwt/incoming.
///
/// Without a command, the client of the worktree or of the config is started, else the shell. The
/// exit status is that of the command.
#[derive(Args, Debug, Default)]
pub struct Exec {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Run the command in all worktrees, several at a time
    #[arg(long, conflicts_with_all = ["name", "print_policy"])]
    pub all: bool,
    /// The fence.
    #[command(flatten)]
    pub fence: FenceOptions,
    /// The command and its arguments
    #[arg(value_name = "command", last = true)]
    pub command: Vec<OsString>,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}
