//! Starts `git-agentwt`.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_agentwt::run(std::env::args_os().collect()).into()
}
