//! Defines the arguments of `git agentwt add`.

use std::time::Duration;

use clap::Arg;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::arguments::output::{AnswerOutput, WaitOption};
use crate::arguments::scope::ScopeLists;
use crate::config::value::{Choice, Client, Strategy};
use crate::record::claim::Lease;
use crate::words::time::parse_duration;

/// Create a scoped worktree and print its path
///
/// Creates the worktree at `.agentwt/worktrees/<name>` of the repository, on the new branch
/// `<prefix><name>` (or on the branch that --branch names). Files that the scope excludes are never
/// written to the disk, files that the agent may not write are read-only, and hooks that verify
/// every commit are installed for this worktree only.
///
/// A second run with the same name and the same scope prints the same path and changes nothing.
/// When a step fails, all earlier steps are undone.
#[derive(Args, Debug, Default)]
#[command(mut_args(without_scheduler))]
pub struct Add {
    /// The worktree's name: letters, digits, '.', '_' and '-'
    #[arg(id = "new-name", value_name = "name", required_unless_present_any = ["pr", "mr"])]
    pub name: Option<String>,
    /// Start from this commit [default: config, else the main worktree's branch]
    ///
    /// Any revision that git understands. With --branch the commit must be an ancestor of that
    /// branch; the default is then the tip of the branch.
    #[arg(long, value_name = "commit-ish")]
    pub base: Option<String>,
    /// Work on this branch; create the branch if it does not exist
    ///
    /// If one remote has a branch of this name, the new branch starts there and tracks it, as with
    /// `git switch`; if several have it, `checkout.defaultRemote` decides.
    ///
    /// Without this option the branch is `<prefix><name>`, and must not exist yet.
    #[arg(short, long, value_name = "branch")]
    pub branch: Option<String>,
    /// Work on this pull request of GitHub, Gitea or Forgejo
    ///
    /// Fetches `refs/pull/<number>/head` from the remote of the base branch, else from `origin` or
    /// the only remote; requests from forks are there too. The new branch starts there. The base is
    /// where the request left the base branch, so `git agentwt verify` judges what the request
    /// changes. The default name is `pr-<number>`.
    #[arg(long, value_name = "number", conflicts_with_all = ["mr", "repo", "branch"])]
    pub pr: Option<std::num::NonZeroU64>,
    /// Work on this merge request of GitLab
    ///
    /// As --pr, with `refs/merge-requests/<number>/head`. The default name is `mr-<number>`.
    #[arg(long, value_name = "number", conflicts_with_all = ["repo", "branch"])]
    pub mr: Option<std::num::NonZeroU64>,
    /// Create a linked worktree or a clone [default: config, else worktree]
    ///
    /// A `worktree` shares objects, refs, settings and hooks with the repository. A `clone` shares
    /// nothing: it is a full repository at the same place, with the same branches and remotes.
    /// `git agentwt remove` fetches the commits of a clone into refs/agentwt/incoming.
    #[arg(
        long,
        value_name = "strategy",
        value_parser = PossibleValuesParser::new(Strategy::words())
    )]
    pub strategy: Option<String>,
    /// Refuse when another worktree may write the same files
    ///
    /// Without this option, an overlap is only a note. The write scope is compared with the write
    /// scope of each other worktree: over the tracked files of the base, and over the patterns,
    /// which could let both create the same new file. The refusal (exit 4) names the worktrees, the
    /// files and the patterns. The option applies to this `add` only: a later `add` may overlap
    /// again.
    #[arg(long)]
    pub exclusive: bool,
    /// Clone this repository instead of the current repository
    ///
    /// The worktree is a clone of the URL and starts at the default branch of the URL, or at its
    /// --base. The current repository keeps the record; its scope profiles apply only if --scope
    /// names a profile, and its untracked files are not synced.
    #[arg(long, value_name = "URL", conflicts_with = "globs")]
    pub repo: Option<String>,
    /// Keep the record of --repo in this directory, outside any repository
    ///
    /// The worktree is created at `.agentwt/worktrees/<name>` of the directory. Records, and the
    /// commits of removed clones, are kept in `.agentwt/repository.git` there. Every other command
    /// finds them from the directory and from below it.
    #[arg(long, value_name = "dir", requires = "repo")]
    pub parent: Option<camino::Utf8PathBuf>,
    /// Do not install hooks
    ///
    /// Commits are then not verified, and write bits are not restored after a checkout.
    /// `git agentwt verify` works as with hooks.
    #[arg(long)]
    pub no_hooks: bool,
    /// Do not run the set-up of the config
    ///
    /// Neither its commands nor its submodules, now or in a later `add` of the worktree.
    #[arg(long)]
    pub no_setup: bool,
    /// Remove the worktree again if its set-up fails
    ///
    /// Without this option the worktree stays (exit 5), and a second `add` runs the set-up again.
    /// Work in the worktree goes into the trash.
    #[arg(long)]
    pub rollback_on_failure: bool,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// The scope: the profile, and the lists that replace its own or are added to them.
    #[command(flatten)]
    pub scope: ScopeLists,
    /// Which untracked files are copied.
    #[command(flatten)]
    pub sync: SyncOptions,
    /// Retries, the owner and its probe.
    #[command(flatten)]
    pub programs: ProgramOptions,
    /// The claim on a server.
    #[command(flatten)]
    pub claims: ClaimOptions,
    /// The agent program, and its task.
    #[command(flatten)]
    pub context: ContextOptions,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Leaves what only a scheduler needs out of the short help.
fn without_scheduler(option: Arg) -> Arg {
    let heading = option.get_help_heading();
    let is_scheduler = matches!(heading, Some("Claim" | "For programs"));
    option.hide_short_help(is_scheduler)
}

/// Holds the options that say which untracked files are copied from the main worktree.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "File sync")]
pub struct SyncOptions {
    /// Copy these untracked files too
    ///
    /// A glob relative to the repository's root, added to the patterns of the config; the option
    /// may be repeated. It must match a file. `git agentwt sync` uses it too.
    #[arg(long = "sync", value_name = "glob")]
    pub globs: Vec<String>,
    /// Ignore the file sync of the config
    ///
    /// Neither its patterns nor `.worktreeinclude` apply to this worktree; with --sync only the
    /// files of --sync are copied.
    #[arg(long)]
    pub no_sync: bool,
}

/// Holds the options for the agent program and its task.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Context")]
pub struct ContextOptions {
    /// Write the context to the file that this agent program reads [default: config]
    ///
    /// The context is the prompt, followed by a summary of the scope. A tracked or synced file is
    /// never rewritten: another file that the program reads is used, or the command is refused. A
    /// guard, by which the program itself refuses edits out of scope, is written too. `none` writes
    /// no file, whatever the config says. See git-agentwt-clients(1).
    #[arg(long, value_name = "name", value_parser = PossibleValuesParser::new(Client::words()))]
    pub client: Option<String>,
    /// Give the agent program this task; '-' reads the task from stdin
    ///
    /// The text is written byte for byte, before the summary of the scope.
    #[arg(long, value_name = "text", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Give the agent program the task in this file; '-' is stdin
    #[arg(long, value_name = "file")]
    pub prompt_file: Option<String>,
}

impl ContextOptions {
    /// True if the prompt comes from stdin.
    pub fn reads_stdin(&self) -> bool {
        self.prompt.as_deref() == Some("-") || self.prompt_file.as_deref() == Some("-")
    }
}

/// Holds the options of `add` that claim the name on a git server.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Claim")]
pub struct ClaimOptions {
    /// Claim the name on this remote before anything is created
    ///
    /// Creates `refs/agentwt/claims/<name>` on the remote unless the ref exists: of all
    /// repositories that push to one server, only one at a time has a worktree of this name. If
    /// another owner has the claim, nothing is created (exit 8), and the message names the owner. A
    /// claim ends with its lease, unless `git agentwt renew` renews it; `git agentwt remove` gives
    /// it back.
    #[arg(
        long,
        value_name = "remote",
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    pub claim: Option<String>,
    /// How long the claim lasts without a renewal [default: 10m]
    ///
    /// Whole seconds, minutes, hours or days, from `1s` to `30d`. Renew the claim in less than half
    /// of that time.
    #[arg(long, value_name = "duration", requires = "claim", value_parser = Lease::parse)]
    pub lease: Option<Lease>,
}

/// The default number of attempts, the first included, where retries are on.
pub const DEFAULT_ATTEMPTS: u32 = 3;

/// The default pause before a retry.
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(15);

/// The default time limit of a probe.
pub const DEFAULT_PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Holds the options of `add` for programs.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "For programs")]
pub struct ProgramOptions {
    /// Retry when the obstacle may go away [default: 3 attempts in all]
    ///
    /// Retried are: the branch is checked out elsewhere; the path, the branch or a worktree at the
    /// path exists; an agent still runs there. Every other error ends the command at once. The
    /// number counts all attempts, the first included. Each attempt starts clean. --owner and
    /// --owner-probe turn retries on too.
    #[arg(
        long,
        value_name = "attempts",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub retries: Option<u32>,
    /// How long to wait before each retry [default: 15s]
    ///
    /// A number of seconds, or one with a unit: `500ms`, `15s`, `2m`.
    #[arg(long, value_name = "duration", value_parser = duration)]
    pub retry_delay: Option<Duration>,
    /// The owner of the worktree
    ///
    /// Any text; it is kept in the record. A worktree of another owner is refused (exit 4) unless
    /// the process of that owner has ended.
    #[arg(long, value_name = "id", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub owner: Option<String>,
    /// The process of the owner, which shows whether the owner is alive
    #[arg(long, value_name = "pid", requires = "owner")]
    pub owner_pid: Option<u32>,
    /// Take the worktree over from its owner, even if the owner is alive
    #[arg(long, requires = "owner")]
    pub take_over: bool,
    /// Run this command before each retry to ask whether the worktree is still yours
    ///
    /// `sh -c` runs the command with `AGENTWT_NAME`, `AGENTWT_OWNER` and `AGENTWT_ATTEMPT` in its
    /// environment. Status 0: still yours. 1: lost; there are no more attempts, and nothing is left
    /// behind (exit 8). Any other status: unknown, and the retries go on.
    #[arg(long, value_name = "command")]
    pub owner_probe: Option<String>,
    /// The time limit of the probe, after which the answer is unknown [default: 30s]
    #[arg(long, value_name = "duration", requires = "owner_probe", value_parser = duration)]
    pub probe_timeout: Option<Duration>,
}

impl ProgramOptions {
    /// The number of attempts, the first included: one, unless an option turned retries on.
    /// A claim turns retries on, too.
    pub fn attempts(&self, claims: &ClaimOptions) -> u32 {
        let is_on = claims.claim.is_some() || self.owner.is_some() || self.owner_probe.is_some();
        let by_default = if is_on { DEFAULT_ATTEMPTS } else { 1 };
        self.retries.unwrap_or(by_default)
    }

    /// The pause before a retry.
    pub fn retry_delay(&self) -> Duration {
        self.retry_delay.unwrap_or(DEFAULT_RETRY_DELAY)
    }

    /// The time limit of a probe.
    pub fn probe_timeout(&self) -> Duration {
        self.probe_timeout.unwrap_or(DEFAULT_PROBE_TIMEOUT)
    }
}

/// Parses a duration of at most a day: `15`, `15s`, `1.5s`, `500ms`, `2m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = || parse_duration(&format!("{text}s"));
    match parse_duration(text).or_else(seconds) {
        Some(duration) if duration <= Duration::from_secs(24 * 60 * 60) => Ok(duration),
        Some(_) | None => Err(WANTED.to_owned()),
    }
}

const WANTED: &str = "write a number of seconds, or one with a unit, up to a day: 500ms, 15s, 2m";
