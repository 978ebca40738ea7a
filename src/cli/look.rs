//! Defines the commands that only look: `list`, `status`, `path`, `scope`, `changed`, `verify` and
//! `clients`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{AnswerOutput, FindingsOutput, ListOutput, ScopeLists, VerdictOutput};
use crate::verify::VerifyOptions;

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

/// List every path that changed since the base
///
/// The ground truth: commits, the index and the disk are compared with what was recorded when
/// the worktree was made. A rename is a deletion and a creation. Work of others that was merged
/// or rebased in is not counted. Paths are relative to the repository's root and sorted.
#[derive(Args, Debug)]
#[command(after_long_help = CHANGED_EXAMPLES)]
pub struct Changed {
    /// The worktree [default: the one you stand in]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print absolute paths
    #[arg(long)]
    pub absolute: bool,
    /// Print only the paths, as `git diff --name-only` does
    ///
    /// With -z they end with NUL and are printed byte for byte.
    #[arg(long)]
    pub name_only: bool,
    /// List ignored files as well
    ///
    /// Files that git ignores (build output, caches) and that were not there at `add`.
    #[arg(long)]
    pub ignored: bool,
    /// Compare with this commit instead of the recorded base
    ///
    /// A branch, a tag or any other revision, as the main worktree reads it. Only what that
    /// commit has counts as work of others.
    #[arg(long, value_name = "ref")]
    pub base: Option<String>,
    /// List each commit with its paths, and then what is not committed
    ///
    /// The oldest first, without upstream's. A commit that was amended or reset away since is
    /// listed too, and marked. Of a merge, only what it has otherwise than every parent.
    #[arg(long, conflicts_with = "roots")]
    pub commits: bool,
    /// Print the full patch from the base to what is on disk
    ///
    /// Committed, staged, unstaged and untracked work in one, as `git diff` prints it and
    /// `git apply` takes it; with --commits a patch for each commit, and one for what is not
    /// committed. JSON has it beside the list, every other form in place of it.
    #[arg(long, conflicts_with_all = ["roots", "name_only"])]
    pub patch: bool,
    /// Print only what lies outside these directories, and end with 1 if anything does
    ///
    /// Relative ones start where you stand. One that does not exist yet is fine. Links in the
    /// parents of a path are resolved, the path itself is not, nor is a directory named here
    /// that lies in the worktree.
    #[arg(long, value_name = "dir", num_args = 1..)]
    pub roots: Vec<PathBuf>,
    /// Go on without what cannot be read, and end with 10 if anything is missing
    ///
    /// What is missing is said on stderr and in JSON (`incomplete`), in the words of the
    /// failure. Without it the first failure is an error and nothing is printed.
    #[arg(long)]
    pub best_effort: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: FindingsOutput,
}

const CHANGED_EXAMPLES: &str = "\
Examples:
  What did the agent touch:
      git agentwt changed task-5

  Hand the files to a program, whatever their names:
      git agentwt changed task-5 --absolute --name-only -z | xargs -0 -n 1 echo

  Try its work, committed or not, in the main worktree:
      git agentwt changed task-5 --patch | git apply --3way

  Hold it against what it was allowed to write:
      git agentwt changed task-5 --roots /srv/app/.agentwt/worktrees/task-5/src";

/// Compare what changed with the scope
///
/// Every change since the base is held against the scope that was recorded when the worktree was
/// made, and the worktree, its hooks and its branch against what was recorded of them. Each
/// violation names the path, what happened, where it was seen, and the rule that forbids it.
///
/// A notice is worth knowing and does not change the exit status, unless --strict is given.
#[derive(Args, Debug)]
#[command(after_long_help = VERIFY_EXAMPLES, mut_group("ScopeLists", of_a_range_only))]
pub struct Verify {
    /// The worktrees [default: the one you stand in]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Verify every worktree of this repository
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Verify a range of commits instead of a worktree
    ///
    /// `<A>..<B>` is what B changed since it left A; `<A>..` ends at HEAD. It needs no worktree and
    /// no record: the scope is that of the config which A has, never B's own.
    #[arg(long, value_name = "A..B", conflicts_with_all = ["names", "all"])]
    pub range: Option<String>,
    /// Look only at what would be merged
    ///
    /// Leaves out the second layer, the history: what commits touched and put back.
    #[arg(long)]
    pub net: bool,
    /// Count notices as violations
    #[arg(long)]
    pub strict: bool,
    /// Take the shared hooks and settings as they are now for right
    ///
    /// Hooks, the repository's configuration and git's own files of rules are recorded as they
    /// are at `add`, and every later change is a violation, as nothing tells whose it was. This
    /// records them anew: after a change of your own, once you have looked at it.
    #[arg(long)]
    pub accept_shared: bool,
    /// The scope of a range: the profile, and the lists that replace its own or are added to them.
    #[command(flatten)]
    pub lists: ScopeLists,
    /// How to print the answer.
    #[command(flatten)]
    pub output: VerdictOutput,
}

impl Verify {
    /// How findings are judged.
    #[must_use]
    pub const fn verify_options(&self) -> VerifyOptions {
        VerifyOptions {
            net: self.net,
            strict: self.strict,
        }
    }
}

/// The scope of a worktree was frozen when it was made.
fn of_a_range_only(group: ArgGroup) -> ArgGroup {
    let group = group.requires("range");
    group.conflicts_with_all(["names", "all"])
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  The worktree you stand in:
      git agentwt verify

  Merge only what stayed in scope:
      git agentwt verify task-5 && git merge agentwt/task-5

  All of them, for a program:
      git agentwt verify --all --json

  In CI, without any worktree, as annotations of the pull request:
      git agentwt verify --range origin/main..HEAD --scope docs --format github";
