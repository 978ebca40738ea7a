//! Placeholder that only parses; the real one calls `git_agentwt::run`.
use clap::Parser as _;

fn main() {
    let cli = git_agentwt::cli::Cli::parse();
    std::hint::black_box(cli);
}
