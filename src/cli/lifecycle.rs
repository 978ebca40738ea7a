//! Defines the commands that set up, restore, copy and remove: `init`, `reapply`, `restore`, `sync`,
//! `remove` and `prune`.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{ArgAction, Args};

use super::{AnswerOutput, ListOutput, WaitOption};

/// Write .agentwt/config.toml, and ignore .agentwt/worktrees/
///
/// The config gets a default scope, proposed from what the repository has, and comments that
/// explain every key. A file that exists is kept as it is. Commit the config: it is meant to be
/// shared.
#[derive(Args, Debug)]
#[command(after_long_help = INIT_EXAMPLES)]
pub struct Init {
    /// Print what would be written, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Put back what is present and what is writable, as the scope says
///
/// The sparse-checkout patterns and the write bits of the files are set as the recorded scope
/// says. The hooks do this by themselves after a checkout, merge, rebase, reset or stash; this
/// is for when they could not. Contents are never changed.
#[derive(Args, Debug)]
#[command(after_long_help = REAPPLY_EXAMPLES)]
pub struct Reapply {
    /// The worktree [default: the one you stand in]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print what would be put back, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Remove worktrees, never losing work
///
/// Refused (exit 4), with all reasons at once, when there is uncommitted work, an untracked file, an
/// edited placed file, or a commit that is nowhere else; and while the worktree is in use. The
/// branch is deleted only when it is merged: by its commits, or by what they change. A worktree that
/// `git agentwt add` did not make is never touched.
#[derive(Args, Debug, Default)]
#[command(after_long_help = REMOVE_EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Remove {
    /// The worktrees
    #[arg(value_name = "name", required = true)]
    pub names: Vec<String>,
    /// Remove it with its work, after saving that; twice, also while it is in use
    ///
    /// The whole worktree, untracked and edited synced files included, is first committed under
    /// `refs/agentwt/trash/<name>/<time>`, and that name is printed. `--undo` brings it back. Twice (`-ff`), a lock, a
    /// process that works inside and a live owner do not stop it either.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Who asks: a worktree whose live owner this is goes
    #[arg(long, value_name = "id")]
    pub owner: Option<String>,
    /// Return only when everything is deleted
    ///
    /// Otherwise what takes long is left to a process that goes on in the background.
    #[arg(long)]
    pub wait: bool,
    /// Delete the branch even when it is not merged
    ///
    /// Its tip is kept under `refs/agentwt/trash/<name>/<time>`.
    #[arg(short = 'D', long, conflicts_with = "keep_branch")]
    pub delete_branch: bool,
    /// Keep the branch even when it is merged
    #[arg(long)]
    pub keep_branch: bool,
    /// Bring back what was removed with --force
    ///
    /// Worktree, branch, index, and untracked and synced files come back as they were, and its
    /// path is printed. Refused (exit 4) when something of that name is there, or when its branch
    /// is somewhere else by now. The ref stays. With -n, what would come back is shown.
    #[arg(long, conflicts_with_all = ["force", "delete_branch", "keep_branch"])]
    pub undo: bool,
    /// With --undo, the removal to undo [default: the newest]
    ///
    /// It is named by the last part of its ref (the time), by the ref, or by the commit.
    #[arg(long, value_name = "removal", requires = "undo")]
    pub from: Option<String>,
    /// Print what would be removed, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another that works on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Delete what removals have left in the trash of a repository; called by `remove`, not by people
#[derive(Args, Debug)]
pub struct EmptyTrash {
    /// The directory that holds `.agentwt`
    #[arg(value_name = "root")]
    pub root: Utf8PathBuf,
}

const INIT_EXAMPLES: &str = "\
Examples:
  Write the config, look at it, and commit it:
      git agentwt init
      git add .agentwt/config.toml

  See first what would be written:
      git agentwt init -n";

const REAPPLY_EXAMPLES: &str = "\
Examples:
  After a tool has made every file writable:
      git agentwt reapply task-5

  Is anything not as it should be:
      git agentwt reapply task-5 -n";

const REMOVE_EXAMPLES: &str = "\
Examples:
  The work is merged:
      git agentwt remove task-5

  The work is not wanted, branch included:
      git agentwt remove task-6 --force --delete-branch

  That was wrong:
      cd \"$(git agentwt remove --undo task-6)\"

  What can be brought back:
      git for-each-ref refs/agentwt/trash";

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

/// Copy untracked files into a worktree again, or say how they are
///
/// The files are those that `[worktree.file_sync]` of the config, `.worktreeinclude` and the
/// worktree's own `add --sync` select in the main worktree: `.env` and the like. What the scope
/// excludes is never copied, a tracked file is never written. A copy that was not touched is
/// brought up to date; one that was edited in the worktree is refused (exit 4).
#[derive(Args, Debug)]
#[command(
    after_long_help = SYNC_EXAMPLES,
    override_usage = "git agentwt sync [OPTIONS] [<name>... | --all]\n       \
        git agentwt sync --status [<name>... | --all]\n       \
        git agentwt sync [<name>] --pull <path>...\n       \
        git agentwt sync --clean [<name>... | --all]"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Sync {
    /// The worktrees [default: the one you stand in]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Take every worktree of this repository
    ///
    /// Each is synced for itself: one that is refused does not stop the others, and the exit
    /// status is that of the first refusal.
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Say of every placed file whether it is as it was placed, and copy nothing
    ///
    /// `same`, `source newer` (the main worktree has another content by now), `edited here`,
    /// `missing` (it was deleted here) or `gone at source`; an edited file whose source changed
    /// as well is `edited here, source newer`. Context for the agent program is listed too.
    #[arg(long, conflicts_with_all = ["pull", "clean", "force", "dry_run"])]
    pub status: bool,
    /// Bring edited files back to the main worktree
    ///
    /// A path means itself and all below it; it is relative to the current directory inside the
    /// worktree, else to the worktree's root. Refused (exit 4) when the main worktree's own file
    /// is not the one that was synced any more.
    #[arg(long, value_name = "path", num_args = 1.., conflicts_with_all = ["all", "clean"])]
    pub pull: Vec<OsString>,
    /// Remove the copies that were not touched
    ///
    /// Those that were edited are kept and named, and so is context for the agent program.
    #[arg(long, conflicts_with = "force")]
    pub clean: bool,
    /// Replace what was edited, after saving it
    ///
    /// What is replaced, in the worktree or with --pull in the main worktree, is first committed
    /// under `refs/agentwt/rescue/<name>/<time>`, and that name is printed.
    #[arg(short, long)]
    pub force: bool,
    /// Print what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another that works on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

const SYNC_EXAMPLES: &str = "\
Examples:
  The main worktree has a new .env: copy it into the worktree you stand in, or into all:
      git agentwt sync
      git agentwt sync --all

  What is not as it was placed:
      git agentwt sync task-5 --status

  The agent's edit of a local file is good; keep it:
      git agentwt sync task-5 --pull config/local.json

  The secrets are not needed any more, the worktree is:
      git agentwt sync task-5 --clean";

/// Remove what is left over, and worktrees that are done, never losing work
///
/// Without a flag that selects worktrees only remains go: what killed commands left, records and
/// private git directories whose worktree is gone, dead locks, what waits to be deleted, and what
/// was saved longer ago than it is kept. What `git agentwt remove` would refuse is kept, with its
/// reason; so is everything of which nobody can say that it is ours.
#[derive(Args, Debug, Default)]
#[command(after_long_help = PRUNE_EXAMPLES)]
pub struct Prune {
    /// Also worktrees whose commits are all merged or pushed
    ///
    /// Merged by their commits or by what they change, as `git agentwt remove` tells. One in which
    /// nothing was committed yet is not.
    #[arg(long)]
    pub merged: bool,
    /// Also worktrees whose owner has ended
    ///
    /// The owner's process ran on this host and does not any more. One whose owner named no
    /// process, or is on another host, is kept.
    #[arg(long)]
    pub dead_owners: bool,
    /// Only worktrees in which nothing happened for so long: 90m, 12h, 7d, 2w
    ///
    /// What counts is when the worktree was made, when git last wrote its index, HEAD or branch,
    /// the last verification and the last sync. Alone it selects by itself; with --merged or
    /// --dead-owners it narrows them.
    #[arg(long, value_name = "age", value_parser = age)]
    pub older_than: Option<u64>,
    /// Remove selected worktrees with their work, after saving that; twice, also while in use
    ///
    /// As `git agentwt remove --force`: `git agentwt remove --undo <name>` brings one back.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Print what would be removed, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Parses an age into seconds.
fn age(text: &str) -> Result<u64, String> {
    const WANTED: &str = "write a whole number and its unit: s, m, h, d or w (90m, 12h, 7d, 2w)";
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        Some((at, 'd')) => (&text[..at], 86_400),
        Some((at, 'w')) => (&text[..at], 7 * 86_400),
        Some(_) | None => return Err(WANTED.to_owned()),
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| number.parse::<u64>().ok()).flatten();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| WANTED.to_owned())
}

const PRUNE_EXAMPLES: &str = "\
Examples:
  What is left over, and what would go:
      git agentwt prune -n
      git agentwt prune

  Worktrees that are merged and in which nothing happened for a week:
      git agentwt prune --merged --older-than 7d

  After a scheduler has died; what is not committed is saved first:
      git agentwt prune --dead-owners --force

  That was wrong:
      cd \"$(git agentwt remove --undo task-6)\"";

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
