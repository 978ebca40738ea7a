//! The commands that agent programs and their users call.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::config::{Choice as _, Client};

/// Decide on a tool call of an agent program, before it edits a file
///
/// Reads the call from stdin, the JSON that the program gives its hook, and decides by the scope of the
/// worktree. A call that edits a file out of scope, in the main worktree or in another worktree is answered
/// with a denial that the program understands: the rule that decided, and the path to use instead. Every
/// other call is answered with nothing, and the program goes on as usual. `git agentwt add --client` writes
/// the hook.
///
/// Links and `..` are followed; a file that does not exist yet is judged as a new file. Shell commands pass.
/// Input that is not a tool call passes with a warning on stderr.
#[derive(Args, Debug)]
pub struct Guard {
    /// Answer as this program expects it [default: detected from the call]
    #[arg(long, value_name = "name", value_parser = PossibleValuesParser::new(Client::words()))]
    pub client: Option<String>,
}
