//! Starts `git-agentwt`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    git_agentwt::run(&arguments).into()
}
