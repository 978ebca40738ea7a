//! Placeholder that only prints completions; the real one calls `git_agentwt::run`.
#![expect(clippy::disallowed_macros, reason = "it is replaced by the edge")]

use clap::Parser as _;
use git_agentwt::cli::{Cli, Command, completions::completions};

fn main() {
    if let Command::Completions(wanted) = Cli::parse().command {
        print!("{}", completions(wanted.shell));
    }
}
