//! Defines the arguments of `git agentwt scope`.

use std::ffi::OsString;

use clap::Args;

use crate::arguments::output::ListOutput;
use crate::scope::rule::{RuleList, RuleOrigin, ScopeRule};

/// Show a scope, or the rule that decides the access of a path
///
/// Without paths, prints every rule of the scope with the number of files that it matches. With
/// paths, prints for each path, as `git check-ignore -v` does, its access (`excluded`, `read` or
/// `write`), and the list, the pattern and the line that decided. A path need not exist. A path is
/// relative to the current directory inside the worktree, else to the repository's root. A path
/// that ends in `/`, or that is a directory or a submodule on disk, is matched as a directory.
///
/// Inside a worktree its name may be left out. The first argument before `--` is a name if a
/// worktree of that name exists, else a path; an argument after `--` is always a path.
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt scope [OPTIONS] [<name>] [--] [<path>...]\n       \
        git agentwt scope [OPTIONS] --scope <profile> [--] [<path>...]\n       \
        git agentwt scope [OPTIONS] <name> --add-write <pattern>...\n       \
        git agentwt scope [OPTIONS] <name> --undo"
)]
pub struct ScopeArguments {
    /// The worktree, then paths
    ///
    /// The first argument is a name if a worktree of that name exists, else a path of the
    /// current worktree.
    #[arg(value_name = "name|path")]
    pub args: Vec<OsString>,
    /// Paths, even if they look like options
    #[arg(value_name = "path", last = true)]
    pub paths: Vec<OsString>,
    /// Show a profile of the config, instead of a worktree's scope
    ///
    /// The profile is read from the current `.agentwt/config.toml` of the main worktree; all other
    /// arguments are then paths.
    #[arg(long = "scope", value_name = "profile")]
    pub profile: Option<String>,
    /// Read the paths from stdin, one a line, or NUL-terminated with -z
    #[arg(long, conflicts_with = "paths")]
    pub stdin: bool,
    /// Let the agent edit more files, in a worktree that exists
    ///
    /// The pattern is added to the recorded scope, sparse patterns and write bits are set anew, and
    /// `git agentwt status` shows who added the pattern and when. The base stays as it is. Only a
    /// person changes a scope: refused (exit 4) inside a worktree. The option may be repeated.
    #[arg(long, value_name = "pattern", conflicts_with_all = ["profile", "stdin", "undo"])]
    pub add_write: Vec<String>,
    /// Let the agent see more files, in a worktree that exists
    ///
    /// As --add-write.
    #[arg(long, value_name = "pattern", conflicts_with_all = ["profile", "stdin", "undo"])]
    pub add_read: Vec<String>,
    /// Exclude more files, in a worktree that exists
    ///
    /// As --add-write. A file with changes stays on disk, and is named. Where files would go, this and
    /// --undo are refused (exit 4) while a command is running in the fence of the worktree.
    #[arg(long, value_name = "pattern", conflicts_with_all = ["profile", "stdin", "undo"])]
    pub add_exclude: Vec<String>,
    /// Remove the patterns again that the last such call added
    #[arg(long, conflicts_with_all = ["profile", "stdin"])]
    pub undo: bool,
    /// With one of these options, print what would change, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

impl ScopeArguments {
    /// Whether the scope is to be changed, not shown.
    pub fn is_change(&self) -> bool {
        self.undo || !self.added().is_empty()
    }

    /// The rules that are added.
    pub fn added(&self) -> Vec<ScopeRule> {
        let lists = [
            (RuleList::Read, &self.add_read),
            (RuleList::Write, &self.add_write),
            (RuleList::Exclude, &self.add_exclude),
        ];
        let added = lists.into_iter().flat_map(|(list, patterns)| {
            let origin = RuleOrigin::Flag(format!("scope --add-{list}"));
            let rule = move |pattern: &String| ScopeRule::new(list, pattern, origin.clone());
            patterns.iter().map(rule)
        });
        added.collect()
    }
}
