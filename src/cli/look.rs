//! Defines the commands that only look: `list`, `status`, `path`, `scope`, `changed`, `verify` and
//! `clients`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{AnswerOutput, ListOutput, ScopeLists, with_forms};
use crate::scope::{Origin, RuleList, ScopeRule};
use crate::verify::VerifyOptions;

/// List the worktrees and their verdicts
///
/// Verifies each worktree that `git agentwt add` created in this repository, as `git agentwt verify`
/// does, and prints a line for each. Unusual states follow below the line of their worktree. On a
/// terminal, a line is completed as soon as its worktree is verified, and the columns that do not fit
/// are left out.
#[derive(Args, Debug)]
pub struct List {
    /// Show the stored verdicts with their age, and read no worktree
    ///
    /// A stored verdict is that of the last `verify`, `list`, `status` or hook, and may be out of date.
    #[arg(long)]
    pub stored: bool,
    /// Show the disk usage of each worktree
    ///
    /// Counts the blocks on disk as du(1) does: a file with several hard links counts once, and
    /// blocks that are shared by copy-on-write count in full. This reads every directory, and takes
    /// a while.
    #[arg(long)]
    pub size: bool,
    /// List the worktrees that may write the same files, and the files
    ///
    /// The write scopes are compared over the files of the commit in the main worktree, and over
    /// the patterns, which could let two worktrees create the same new file.
    #[arg(long, conflicts_with_all = ["size", "stored"])]
    pub overlap: bool,
    /// List removed worktrees that can come back, with their size and when they go
    ///
    /// `git agentwt remove --undo <name>` brings one back; `git agentwt prune` deletes work that is
    /// older than `agentwt.trashExpire`, by default 30 days, and what was clean and is older than
    /// `agentwt.trashExpireClean`, by default an hour.
    #[arg(long, conflicts_with_all = ["size", "overlap", "stored"])]
    pub trash: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Show one worktree in full
///
/// Verifies the worktree, and prints the verdict, where HEAD is, the branch and the distance to the
/// main branch, base, scope, owner, hooks, placed files that changed, and the changes since the base.
/// A violation is marked with `!`, a notice with `-`.
#[derive(Args, Debug)]
pub struct Status {
    /// The worktrees [default: the current worktree]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Show the disk usage
    ///
    /// Counted as by `git agentwt list --size`.
    #[arg(long)]
    pub size: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Print the absolute path of a worktree
///
/// Only the path is printed on stdout, so that a command can use it.
#[derive(Args, Debug)]
pub struct Path {
    /// The worktree's name [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// End the path with NUL instead of a newline
    #[arg(short = 'z', help_heading = "Output")]
    pub nul: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Show a scope, or the rule that decides the access of a path
///
/// Without paths, prints every rule of the scope with the number of files that it matches. With
/// paths, prints for each path, as `git check-ignore -v` does, its access (`excluded`, `read` or
/// `write`), and the list, the pattern and the line that decided. A path need not exist. A path is
/// relative to the current directory inside the worktree, else to the repository's root. A path that
/// ends in `/`, or that is a directory or a submodule on disk, is matched as a directory.
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
    /// `git agentwt status` shows who added the pattern and when. The base stays as it is. Only a person
    /// changes a scope: refused (exit 4) inside a worktree. The option may be repeated.
    #[arg(long, value_name = "pattern", conflicts_with_all = ["profile", "stdin", "undo"])]
    pub add_write: Vec<String>,
    /// Let the agent see more files, in a worktree that exists
    ///
    /// As --add-write.
    #[arg(long, value_name = "pattern", conflicts_with_all = ["profile", "stdin", "undo"])]
    pub add_read: Vec<String>,
    /// Exclude more files, in a worktree that exists
    ///
    /// As --add-write. A file with changes stays on disk, and is named.
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
            let origin = Origin::Flag(format!("scope --add-{list}"));
            let rule = move |pattern: &String| ScopeRule::new(list, pattern, origin.clone());
            patterns.iter().map(rule)
        });
        added.collect()
    }
}

/// List the agent programs, the context files that each reads, and what each enforces
///
/// These are the names for `git agentwt add --client` and for `client` in the config. Prints for
/// each program the context files in the order in which they are tried, how the program reads them,
/// the guard that is generated from the scope, what the program enforces with it, is told, and leaves
/// to `verify`, and the version or the date of its documentation. This command needs no repository.
#[derive(Args, Debug)]
pub struct Clients {
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// List every path that changed since the base
///
/// Compares commits, the index and the disk with the record that `git agentwt add` wrote. A rename
/// is a deletion and a creation. Upstream work that was merged or rebased in is not listed. Paths
/// are relative to the repository's root and sorted.
#[derive(Args, Debug)]
#[command(mut_arg("format", |format| with_forms(format, false)))]
pub struct Changed {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print absolute paths
    #[arg(long)]
    pub absolute: bool,
    /// Print only the paths, as `git diff --name-only` does
    ///
    /// With -z the paths end with NUL and are printed byte for byte.
    #[arg(long)]
    pub name_only: bool,
    /// List ignored files as well
    ///
    /// Files that git ignores (build output, caches) and that did not exist at `add`.
    #[arg(long)]
    pub ignored: bool,
    /// Compare with this commit instead of the recorded base
    ///
    /// A branch, a tag or any other revision of the main worktree. Only changes that this commit has
    /// count as upstream work.
    #[arg(long, value_name = "ref")]
    pub base: Option<String>,
    /// List each commit with its paths, and then the uncommitted changes
    ///
    /// The oldest commit comes first; upstream commits are left out. A commit that was amended or
    /// reset away since is listed too, and marked. For a merge commit, only the paths that differ from
    /// every parent are listed.
    #[arg(long, conflicts_with = "roots")]
    pub commits: bool,
    /// Print the full patch from the base to what is on disk
    ///
    /// Committed, staged, unstaged and untracked work in one patch for `git apply`; with --commits one
    /// patch for each commit, and one for the uncommitted changes. JSON has the patch beside the
    /// list; the other forms print it in place of the list. On a terminal the patch is coloured and
    /// shown in the pager of the user's own git settings; the repository's settings name no pager here.
    #[arg(short, long, conflicts_with_all = ["roots", "name_only"])]
    pub patch: bool,
    /// Print only paths outside these directories, and exit with 1 if there are any
    ///
    /// A directory is relative to the current directory, and need not exist. Symbolic links in the
    /// parents of a path are resolved; the path itself is not, and neither is a given directory in
    /// the worktree.
    #[arg(long, value_name = "dir", num_args = 1..)]
    pub roots: Vec<PathBuf>,
    /// Go on after a read error, and exit with 10 if anything is missing
    ///
    /// Each error is printed on stderr and in JSON (`incomplete`). Without this option the first
    /// error ends the command, and no list is printed.
    #[arg(long)]
    pub best_effort: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Compare what changed with the scope
///
/// Compares every change since the base with the scope that `git agentwt add` recorded, and the
/// worktree, its hooks and its branch with their record. Each violation names the path, the kind of
/// change, where it was seen, and the rule that forbids it.
///
/// A notice does not change the exit status, unless --strict is given.
#[derive(Args, Debug)]
#[command(
    mut_arg("format", |format| with_forms(format, true)),
    mut_group("ScopeLists", of_a_range_only)
)]
pub struct Verify {
    /// The worktrees [default: the current worktree]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Verify every worktree of this repository
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Verify a range of commits instead of a worktree
    ///
    /// `<A>..<B>` stands for the changes of B since it left A; `<A>..` ends at HEAD. This needs neither
    /// a worktree nor a record: the scope comes from the config in A, never from the config in B.
    #[arg(long, value_name = "A..B", conflicts_with_all = ["names", "all"])]
    pub range: Option<String>,
    /// Check only the changes that a merge would bring
    ///
    /// Leaves out the history: changes that one commit made and a later commit reverted.
    #[arg(long)]
    pub net: bool,
    /// Count notices as violations
    #[arg(long)]
    pub strict: bool,
    /// The scope of a range: the profile, and the lists that replace or extend its lists.
    #[command(flatten)]
    pub lists: ScopeLists,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

impl Verify {
    /// How findings are judged.
    pub const fn verify_options(&self) -> VerifyOptions {
        VerifyOptions {
            net: self.net,
            strict: self.strict,
        }
    }
}

/// The scope of a worktree does not change after `add`.
fn of_a_range_only(group: ArgGroup) -> ArgGroup {
    let group = group.requires("range");
    group.conflicts_with_all(["names", "all"])
}
