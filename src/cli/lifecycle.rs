//! Defines the commands that set up, restore, copy and remove: `init`, `reapply`, `restore`, `sync`,
//! `remove`, `prune`, `hooks` with the hidden `hook` of the scripts, `doctor` and `completions`.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{ArgAction, Args, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::{AnswerOutput, ListOutput, WaitOption};
use crate::versioned::parse_whole_duration;

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

/// Restore the sparse-checkout patterns and write bits of the scope
///
/// Sets the sparse-checkout patterns and the write bits of the files as the recorded scope
/// demands. The hooks do the same after a checkout, merge, rebase, reset or stash; use this command
/// when the hooks could not run. The contents of files are never changed.
#[derive(Args, Debug)]
pub struct Reapply {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print what would be restored, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Remove worktrees, never losing work
///
/// Refuses (exit 4), with all reasons listed together, when there is uncommitted work, an untracked
/// file, an edited placed file, or a commit that no other ref has; and while the worktree is in use.
/// The branch is deleted only when it is merged: by its commits, or by their changes. A worktree that
/// `git agentwt add` did not create is never touched.
#[derive(Args, Debug, Default)]
pub struct Remove {
    /// The worktrees [default: the current worktree]
    ///
    /// Only without a name, and without --force, a worktree is removed from inside.
    #[arg(value_name = "name", required_if_eq("undo", "true"))]
    pub names: Vec<String>,
    /// Remove it with its work, which is kept in the trash; twice, also while it is in use
    ///
    /// The whole worktree is renamed to `.agentwt/worktrees/.trash/<name>-<time>`, and that directory is
    /// printed. `--undo` brings it back as it was; only ignored files are deleted, in the background.
    /// Twice (`-ff`), a lock, a process that works inside and a live owner do not stop it either.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Your owner id: your live process does not stop the removal
    #[arg(long, value_name = "id")]
    pub owner: Option<String>,
    /// Return only when all that goes at once is deleted
    ///
    /// Otherwise a background process deletes ignored files and large directories.
    #[arg(long)]
    pub wait: bool,
    /// Delete the branch even if it is not merged
    ///
    /// Its tip is kept under `refs/agentwt/trash/<name>/<time>`.
    #[arg(short = 'D', long, conflicts_with = "keep_branch")]
    pub delete_branch: bool,
    /// Keep the branch even if it is merged
    #[arg(long)]
    pub keep_branch: bool,
    /// Bring back what was removed with --force, or was clean and removed within the last hour
    ///
    /// Worktree, branch, index, and untracked and synced files come back as they were, and its
    /// path is printed. Refused (exit 4) when something of that name is there, or when its branch
    /// is somewhere else by now. With -n, what would come back is shown.
    #[arg(long, conflicts_with_all = ["force", "delete_branch", "keep_branch"])]
    pub undo: bool,
    /// With --undo, the removal to undo [default: the newest]
    ///
    /// It is named by its directory in the trash, by the time in its name, or by the ref or commit that
    /// keeps its commits.
    #[arg(long, value_name = "removal", requires = "undo")]
    pub from: Option<String>,
    /// Print what would be removed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
    /// Whether a hook of the program that works there asks: the processes above it do not stop the removal.
    #[arg(skip)]
    pub by_hook: bool,
}

/// Verify worktrees, merge them into the base branch, and remove them
///
/// Lands the commits of the worktree's branch in the branch from which `git agentwt add` took the base.
/// Refused when the worktree has violations (exit 1, with the findings), or when something is not
/// committed, the base branch is checked out with uncommitted changes, or the merge has conflicts (exit
/// 4, with the next commands): then nothing was changed. What is landed is exactly the commit that was
/// verified.
///
/// Several worktrees are landed in order; the rest is verified again after each.
#[derive(Args, Debug)]
pub struct Land {
    /// The worktrees
    #[arg(value_name = "name", required = true)]
    pub names: Vec<String>,
    /// Only bring the base branch forward; refuse where it has other commits
    #[arg(long, conflicts_with_all = ["rebase", "squash", "message"])]
    pub ff_only: bool,
    /// Create each commit again on top of the base branch
    ///
    /// Author, date and message stay. Refused (exit 4) if there is a merge among the commits.
    #[arg(long, conflicts_with_all = ["squash", "message"])]
    pub rebase: bool,
    /// Create one commit of all, whose message lists them
    #[arg(long)]
    pub squash: bool,
    /// The message of the merge or squash commit
    #[arg(short, long, value_name = "message")]
    pub message: Option<String>,
    /// Keep the worktree and its branch
    #[arg(long)]
    pub keep: bool,
    /// Push what is landed to this remote first
    ///
    /// If the push fails, nothing has moved: the base branch, the worktree and its claim are as they
    /// were, the exit status is 5, and the same command can be repeated.
    #[arg(long, value_name = "remote")]
    pub push: Option<String>,
    /// Your owner id: your live process does not stop the removal
    #[arg(long, value_name = "id")]
    pub owner: Option<String>,
    /// Verify, try the merge, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

impl Land {
    /// Whether no option says how to merge.
    pub const fn is_plain(&self) -> bool {
        !(self.ff_only || self.rebase || self.squash)
    }
}

/// Delete what removals have left in the trash of a repository; called by `remove`, not by people
#[derive(Args, Debug)]
pub struct EmptyTrash {
    /// The directory that holds `.agentwt`
    #[arg(value_name = "root")]
    pub root: Utf8PathBuf,
}

/// Revert out-of-scope changes, after saving them
///
/// Every path that `git agentwt verify` reports gets the content of the base, with the upstream work
/// that was merged since: on disk, in the index and in the branch. Work in scope, staged or not, is
/// not touched. The replaced files are first saved as a commit under
/// `refs/agentwt/rescue/<name>/<time>`, from which `--undo` restores them.
///
/// A new commit reverts the commits that went out of scope. A path stands for itself and all paths
/// below it; it is relative to the current directory inside the worktree, else to the worktree's root.
///
/// Inside a worktree its name may be left out. The first argument before `--` is a name if a
/// worktree of that name exists, else a path; an argument after `--` is always a path.
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt restore [OPTIONS] [<name>] [--] [<path>...]\n       \
        git agentwt restore [OPTIONS] --undo[=<restore>] [<name>]"
)]
pub struct Restore {
    /// The worktree, then paths
    ///
    /// The first argument is a name if a worktree of that name exists, else a path of the
    /// current worktree.
    #[arg(value_name = "name|path")]
    pub args: Vec<OsString>,
    /// Paths, even if they look like options
    #[arg(value_name = "path", last = true)]
    pub paths: Vec<OsString>,
    /// Print what would be restored, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// Undo a restore [default: the newest]
    ///
    /// Name a restore by the last part of its ref (the time), by the ref, or by the commit. Files,
    /// staged changes and the branch come back; index flags, write bits, sparse patterns, FIFOs and
    /// sockets do not. Refused (exit 4) if one of the paths was changed since, or if the branch has
    /// newer commits. The ref stays.
    #[arg(
        long,
        value_name = "restore",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "rewrite"
    )]
    pub undo: Option<Option<String>>,
    /// Rewrite commits that went out of scope, instead of reverting them
    ///
    /// Each commit since the base is created again without its out-of-scope changes; a commit without
    /// other changes is dropped. Author, dates and message stay, signatures are removed. Refused
    /// (exit 4) if a remote-tracking branch or another worktree has the commits.
    #[arg(long)]
    pub rewrite: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Copy untracked files into a worktree again, or show their state
///
/// `[worktree.file_sync]` of the config, `.worktreeinclude` and the worktree's own `add --sync`
/// select the files in the main worktree: `.env` and the like. Excluded files are never copied, and
/// tracked files are never written. An unchanged copy is updated; a copy that was edited in the
/// worktree is refused (exit 4).
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt sync [OPTIONS] [<name>... | --all]\n       \
        git agentwt sync --status [<name>... | --all]\n       \
        git agentwt sync [<name>] --pull <path>...\n       \
        git agentwt sync --clean [<name>... | --all]"
)]
pub struct Sync {
    /// The worktrees [default: the current worktree]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Sync every worktree of this repository
    ///
    /// A refusal does not stop the other worktrees; the exit status is the status of the first
    /// refusal.
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Print the state of every placed file, and copy nothing
    ///
    /// `same`, `source newer` (the main worktree has another content now), `edited here`, `missing`
    /// (deleted here) or `gone at source`; an edited file whose source changed too is
    /// `edited here, source newer`. Context files for the agent program are listed too.
    #[arg(long, conflicts_with_all = ["pull", "clean", "force", "dry_run"])]
    pub status: bool,
    /// Copy edited files back to the main worktree
    ///
    /// A path stands for itself and all paths below it; it is relative to the current directory
    /// inside the worktree, else to the worktree's root. Refused (exit 4) if the file in the main
    /// worktree has changed since the sync.
    #[arg(long, value_name = "path", num_args = 1.., conflicts_with_all = ["all", "clean"])]
    pub pull: Vec<OsString>,
    /// Remove the unchanged copies
    ///
    /// Edited copies are kept and listed, and so are context files for the agent program.
    #[arg(long, conflicts_with = "force")]
    pub clean: bool,
    /// Replace edited files, after saving them
    ///
    /// The replaced files, in the worktree or with --pull in the main worktree, are first committed
    /// under `refs/agentwt/rescue/<name>/<time>`, and the name of the ref is printed.
    #[arg(short, long)]
    pub force: bool,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Remove leftovers, and finished worktrees, without losing work
///
/// Without a selecting option, only leftovers are removed: remains of killed commands, records and
/// private git directories without a worktree, stale locks, directories that wait for deletion, and
/// expired trash. A worktree that `git agentwt remove` would refuse is kept, with the reason; so
/// is every file whose origin is unknown.
#[derive(Args, Debug, Default)]
pub struct Prune {
    /// Also worktrees whose commits are all merged or pushed
    ///
    /// Merged by their commits or by their changes, as `git agentwt remove` decides. A worktree
    /// without commits of its own is not removed.
    #[arg(long)]
    pub merged: bool,
    /// Also worktrees whose owner has ended
    ///
    /// The process of the owner ran on this host and has ended. A worktree whose owner named no
    /// process, or is on another host, is kept.
    #[arg(long)]
    pub dead_owners: bool,
    /// Only worktrees without activity for this time: 90m, 12h, 7d, 2w
    ///
    /// Activity is the creation of the worktree, a write of git to its index, HEAD or branch, and a
    /// sync. Alone, the option selects worktrees; with --merged or --dead-owners it narrows their
    /// selection.
    #[arg(long, value_name = "age", value_parser = age)]
    pub older_than: Option<u64>,
    /// Remove selected worktrees with their work, which is kept in the trash; twice, even while in use
    ///
    /// As `git agentwt remove --force`: `git agentwt remove --undo <name>` brings one back.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Print what would be removed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Parses an age into seconds.
fn age(text: &str) -> Result<u64, String> {
    const WANTED: &str = "write a whole number and its unit: s, m, h, d or w (90m, 12h, 7d, 2w)";
    let age = parse_whole_duration(text, "smhdw").map(|age| age.as_secs());
    age.ok_or_else(|| WANTED.to_owned())
}

/// Install, remove or show the hooks of one worktree
///
/// The hooks verify the worktree after each commit and restore the write bits after a checkout,
/// merge, rebase, reset or stash. They apply to this worktree only: the hooks of the main worktree
/// and your own hooks do not change and run as before. `git agentwt add` installs the hooks.
#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    subcommand_value_name = "command"
)]
pub struct Hooks {
    /// What to do with the hooks.
    #[command(subcommand)]
    pub command: HooksCommand,
}

/// Names what to do with the hooks of a worktree.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// Install the hooks in a worktree, or bring them up to date
    Install(HooksInstall),
    /// Remove the hooks from a worktree, and change nothing else
    Uninstall(HooksInstall),
    /// Show which hooks are installed, and whether they work
    Status(HooksStatus),
    /// Let Claude Code make its worktrees by git-agentwt
    Claude(HooksClaude),
}

/// Holds the arguments of `hooks claude`.
#[derive(Args, Debug)]
pub struct HooksClaude {
    /// Write the two hooks to the settings of Claude Code, remove them, or show them
    #[arg(value_name = "action")]
    pub action: ClaudeAction,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Names what to do with the worktree hooks of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClaudeAction {
    /// `claude --worktree` and isolated subagents get a scoped worktree.
    Install,
    /// Claude Code makes worktrees itself again.
    Uninstall,
    /// Exit 1 if a hook is missing, or calls a program that does not exist.
    Status,
}

/// Holds the arguments of `hooks install` and `hooks uninstall`.
#[derive(Args, Debug)]
pub struct HooksInstall {
    /// A worktree's name, or the path of any linked worktree [default: the current worktree]
    ///
    /// A path may be that of a worktree of plain `git worktree add`. An argument that is not the name
    /// of a git-agentwt worktree is a path.
    #[arg(value_name = "name|path")]
    pub worktree: Option<OsString>,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Holds the arguments of `hooks status`.
#[derive(Args, Debug)]
pub struct HooksStatus {
    /// A worktree's name, or the path of any linked worktree [default: the current worktree]
    #[arg(value_name = "name|path")]
    pub worktree: Option<OsString>,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Handle a hook event; called by the installed hooks, not by users
#[derive(Args, Debug)]
pub struct Hook {
    /// The event, as githooks(5) names it
    #[arg(value_name = "event")]
    pub event: String,
    /// The event's own arguments, after `--` so that none is taken for an option
    #[arg(
        value_name = "arg",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub args: Vec<OsString>,
}

/// Print the completions of a shell
///
/// They complete both `git agentwt <TAB>` and `git-agentwt <TAB>`. `install.sh` installs them
/// where the shells find them.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "shell")]
    pub shell: Shell,
}

/// Report problems of the set-up, and how to fix them
///
/// Checks git and git-agentwt, the fences of `exec`, settings that break worktrees, the hooks, the
/// ignore rules, tools that would walk into the worktrees, leftovers of killed commands, and the file
/// system. Each line is `ok`, a `note`, a `warning` or a `problem`, and names the remedy. The command exits with 1 if
/// there is a warning or a problem, and changes nothing without --fix.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Fix the problems that are safe to fix
    ///
    /// Writes the ignore rules, and installs hooks again that are missing or that start a missing
    /// program. All other remedies stay instructions.
    #[arg(long)]
    pub fix: bool,
    /// Print what --fix would do, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("7d"), Ok(604_800));
        assert_eq!(age("2w"), age("14d"));
        assert_eq!((age("90m"), age("0s")), (Ok(5400), Ok(0)));
        for wrong in [
            "",
            "7",
            "d",
            "-1d",
            "1.5h",
            "7 d",
            "99999999999999999999d",
            "7é",
        ] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
