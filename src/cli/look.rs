//! Defines the commands that only look: `list`, `status`, `path`, `scope` and `clients`.

use std::ffi::OsString;

use clap::Args;

use super::{AnswerOutput, ListOutput};

/// List the worktrees, with branch, scope, changes and last verification
///
/// Every worktree that `git agentwt add` made in this repository, one a line, whichever of its
/// worktrees you stand in. What is not as usual follows below its line.
///
/// No worktree is looked into, and git is not started for each: what changed is what the last
/// verification found. `git agentwt status` looks.
#[derive(Args, Debug)]
#[command(after_long_help = LIST_EXAMPLES)]
pub struct List {
    /// Show how much of the disk each takes
    ///
    /// Blocks on disk of its directory and all below, as du(1) counts them: a file with several
    /// names counts once, and what is shared by copy-on-write counts in full. Every file is
    /// looked at, which takes its time.
    #[arg(long)]
    pub size: bool,
    /// List which worktrees may write the same files, and which files
    ///
    /// The write scopes are compared over the files of the commit that the main worktree is on,
    /// and over the patterns, by which two could make the same new file.
    #[arg(long, conflicts_with = "size")]
    pub overlap: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Show one worktree in full
///
/// Its branch and where that stands, base, scope, owner, hooks, what was placed and has moved
/// since, what changed since the base, and the last verification.
/// Nothing is verified anew: that is `git agentwt verify`.
#[derive(Args, Debug)]
#[command(after_long_help = STATUS_EXAMPLES)]
pub struct Status {
    /// The worktrees [default: the one you stand in]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Show how much of the disk it takes
    ///
    /// As `git agentwt list --size` counts.
    #[arg(long)]
    pub size: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Print the absolute path of a worktree
///
/// The path is the only thing on stdout, so that it can be used in a command.
#[derive(Args, Debug)]
#[command(after_long_help = PATH_EXAMPLES)]
pub struct Path {
    /// The worktree's name
    #[arg(value_name = "name")]
    pub name: String,
    /// End the path with NUL instead of a newline
    #[arg(short = 'z', help_heading = "Output")]
    pub nul: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Show a scope, or which rule decides about a path
///
/// Without paths, every rule of the scope is shown with the number of files that it matches.
/// With paths, each is answered like `git check-ignore -v` does: its access (`excluded`, `read`
/// or `write`), and the list, the pattern and the line that decided. A path need not exist. It
/// is relative to the current directory inside the worktree, else to the repository's root. One that
/// ends in `/`, or at which a directory or a submodule stands, is asked about as a directory.
///
/// Inside a worktree its name may be left out. The first argument before `--` is a name if a
/// worktree of that name exists, else a path; what follows `--` is always a path.
#[derive(Args, Debug)]
#[command(
    after_long_help = SCOPE_EXAMPLES,
    override_usage = "git agentwt scope [OPTIONS] [<name>] [--] [<path>...]\n       \
        git agentwt scope [OPTIONS] --scope <profile> [--] [<path>...]"
)]
pub struct Scope {
    /// The worktree, then paths
    ///
    /// The first one is a name if a worktree of that name exists, else it is a path of the
    /// worktree you stand in.
    #[arg(value_name = "name|path")]
    pub args: Vec<OsString>,
    /// Paths, whatever they look like
    #[arg(value_name = "path", last = true)]
    pub paths: Vec<OsString>,
    /// Show a profile of the config, instead of a worktree's scope
    ///
    /// It is read from the main worktree's `.agentwt/config.toml` as it is now; all other
    /// arguments are then paths.
    #[arg(long = "scope", value_name = "profile")]
    pub profile: Option<String>,
    /// Read the paths from stdin, one a line, or NUL-ended with -z
    #[arg(long, conflicts_with = "paths")]
    pub stdin: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// List the agent programs, and where each reads its context
///
/// These are the names for `git agentwt add --client` and for `client` in the config. For each,
/// the files that are written for it, in the order in which they are tried, what is known of how
/// it reads them, and which version or date of its documentation says so. No repository is needed.
#[derive(Args, Debug)]
#[command(after_long_help = CLIENTS_EXAMPLES)]
pub struct Clients {
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

const LIST_EXAMPLES: &str = "\
Examples:
  See them all:
      git agentwt list

  Watch them at work:
      watch git agentwt list

  Who may get in whose way:
      git agentwt list --overlap

  Their names and paths, for a script:
      git agentwt list --porcelain -z";

const STATUS_EXAMPLES: &str = "\
Examples:
  The worktree you stand in:
      git agentwt status

  Two others:
      git agentwt status task-5 task-6";

const PATH_EXAMPLES: &str = "\
Examples:
  Go there:
      cd \"$(git agentwt path task-5)\"

  Open it in an editor:
      code \"$(git agentwt path task-5)\"";

const CLIENTS_EXAMPLES: &str = "\
Examples:
  See them all:
      git agentwt clients

  Their names, for a script:
      git agentwt clients --porcelain | cut -f1 | sort -u";

const SCOPE_EXAMPLES: &str = "\
Examples:
  What may the agent of task-5 do, and what does each rule match:
      git agentwt scope task-5

  Why is this file read-only there:
      git agentwt scope task-5 -- src/generated/api.ts

  The same from inside the worktree:
      git agentwt scope -- src/generated/api.ts

  Try a profile before a worktree is made with it:
      git agentwt scope --scope docs -- README.md

  Every tracked file, for a program:
      git ls-files -z | git agentwt scope task-5 --stdin -z";
