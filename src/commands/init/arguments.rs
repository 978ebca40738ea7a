//! Defines the arguments of `git agentwt init`.

use clap::Args;

use crate::arguments::output::AnswerOutput;

/// Write .agentwt/config.toml, and ignore .agentwt/worktrees/
///
/// Proposes a default scope from the files of the repository, and explains every key in a comment.
/// An existing config is kept as it is. Commit the config: it is meant to be shared.
#[derive(Args, Debug)]
pub struct Init {
    /// Print what would be written, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}
