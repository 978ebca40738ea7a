//! Defines `restore`.

use std::ffi::OsString;

use clap::Args;

use super::{AnswerOutput, WaitOption};

/// Put out-of-scope changes back, after saving them
///
/// Everything that `git agentwt verify` reports at a path gets back what the base has, with the
/// upstream work that was merged since: on disk, in the index and in the branch. Work that is in
/// scope, staged or not, is not touched. What was there is first saved as a commit under
/// `refs/agentwt/rescue/<name>/<time>`, from which `--undo` brings it back.
///
/// Commits that went out of scope are undone by a new commit. A path means itself and all below
/// it; it is relative to the current directory inside the worktree, else to the worktree's root.
///
/// Inside a worktree its name may be left out. The first argument before `--` is a name if a
/// worktree of that name exists, else a path; what follows `--` is always a path.
#[derive(Args, Debug)]
#[command(
    after_long_help = RESTORE_EXAMPLES,
    override_usage = "git agentwt restore [OPTIONS] [<name>] [--] [<path>...]\n       \
        git agentwt restore [OPTIONS] --undo[=<restore>] [<name>]"
)]
pub struct Restore {
    /// The worktree, then paths
    ///
    /// The first one is a name if a worktree of that name exists, else it is a path of the
    /// worktree you stand in.
    #[arg(value_name = "name|path")]
    pub args: Vec<OsString>,
    /// Paths, whatever they look like
    #[arg(value_name = "path", last = true)]
    pub paths: Vec<OsString>,
    /// Print what would be put back, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another that works on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// Bring back what a restore put away [default: the newest]
    ///
    /// A restore is named by the last part of its ref (the time), by the ref, or by the commit.
    /// Files, what was staged and the branch come back; index flags, write bits, sparse patterns,
    /// FIFOs and sockets do not. Refused (exit 4) when one of the paths was changed since, or
    /// more was committed on top of what the restore committed. The ref stays.
    #[arg(
        long,
        value_name = "restore",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "rewrite"
    )]
    pub undo: Option<Option<String>>,
    /// Make commits that went out of scope anew, instead of undoing them
    ///
    /// Each commit since the base is made again without what is out of scope; one that has
    /// nothing left is dropped. Author, dates and message stay, signatures go. Refused (exit 4)
    /// when a remote-tracking branch or another worktree has the commits.
    #[arg(long)]
    pub rewrite: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

const RESTORE_EXAMPLES: &str = "\
Examples:
  See what would be put back, then do it:
      git agentwt restore task-5 -n
      git agentwt restore task-5

  Only one directory:
      git agentwt restore task-5 docs

  That was wrong:
      git agentwt restore task-5 --undo

  Which ones can be undone:
      git for-each-ref refs/agentwt/rescue/task-5";
