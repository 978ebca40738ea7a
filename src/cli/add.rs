//! Defines `add`, with its options for programs and for claims, and `renew`.

use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{AnswerOutput, WaitOption};
use crate::claim::Lease;
use crate::config::{Choice, Client, Strategy};

/// Create a scoped worktree and print its path
///
/// The worktree is made at `.agentwt/worktrees/<name>` of the repository, on the new branch
/// `<prefix><name>` (or on the one that --branch names). Files that the scope excludes never
/// touch the disk, files that it does not let the agent write are read-only, and hooks that
/// verify every commit are installed for this worktree only.
///
/// Run again with the same name and the same scope, it prints the same path and changes nothing.
/// When a step fails, everything that was made is undone.
#[derive(Args, Debug, Default)]
#[command(after_long_help = EXAMPLES)]
pub struct Add {
    /// The worktree's name: letters, digits, '.', '_' and '-'
    #[arg(id = "new-name", value_name = "name")]
    pub name: String,
    /// Start from this commit [default: config, else the main worktree's branch]
    ///
    /// Any name of a commit that git understands. With --branch it must be an ancestor of that
    /// branch; the default is then the branch's tip.
    #[arg(long, value_name = "commit-ish")]
    pub base: Option<String>,
    /// Work on this branch, which is made if it does not exist
    ///
    /// Without it the branch is `<prefix><name>`, and must be new.
    #[arg(short, long, value_name = "branch")]
    pub branch: Option<String>,
    /// Make a linked worktree, or a repository of its own [default: config, else worktree]
    ///
    /// `worktree` shares objects, refs, settings and hooks with the repository. `clone` shares
    /// nothing: it is a full repository at the same place, with the same branches and remotes.
    /// Its commits come back under refs/agentwt/incoming when it is removed.
    #[arg(
        long,
        value_name = "strategy",
        value_parser = PossibleValuesParser::new(Strategy::ALL.iter().map(|strategy| strategy.as_str()))
    )]
    pub strategy: Option<String>,
    /// Refuse when another worktree may write the same files
    ///
    /// Without it, that is only told. The write scope is compared with those of all worktrees that
    /// are there: over the tracked files of the base, and over the patterns, by which both could
    /// make the same new file. Refused (exit 4), it names the worktrees, the files and the
    /// patterns. It is not remembered: a later `add` without it may share again.
    #[arg(long)]
    pub exclusive: bool,
    /// Clone this repository instead of the one around
    ///
    /// The worktree is a clone of the URL, which starts at its default branch, or at --base in it.
    /// Its record is kept by the repository around, whose scope profiles count only if --scope
    /// names one, and whose files are not synced.
    #[arg(long, value_name = "URL", conflicts_with = "globs")]
    pub repo: Option<String>,
    /// Keep the record of --repo in this directory, which is in no repository
    ///
    /// The worktree is made at `.agentwt/worktrees/<name>` of the directory; records, and the
    /// commits of removed clones, are kept in `.agentwt/repository.git` there. Every other command
    /// finds them from the directory and from below it.
    #[arg(long, value_name = "dir", requires = "repo")]
    pub parent: Option<camino::Utf8PathBuf>,
    /// Install no hooks
    ///
    /// Nothing is then verified after a commit, and write bits do not come back by themselves
    /// after a checkout. `git agentwt verify` works as ever.
    #[arg(long)]
    pub no_hooks: bool,
    /// Print what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another that works on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// The scope: the profile, and the lists that replace its own or are added to them.
    #[command(flatten)]
    pub scope: ScopeLists,
    /// Which untracked files come along.
    #[command(flatten)]
    pub sync: SyncOptions,
    /// Retries, the owner and its probe.
    #[command(flatten)]
    pub programs: ProgramOptions,
    /// The claim on a server.
    #[command(flatten)]
    pub claims: ClaimOptions,
    /// The agent program, and what it is told.
    #[command(flatten)]
    pub context: ContextOptions,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Holds the options that say which untracked files are copied from the main worktree.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "File sync")]
pub struct SyncOptions {
    /// Copy these untracked files too
    ///
    /// A glob relative to the repository's root, added to the patterns of the config; the option
    /// may be repeated. It must match something. `git agentwt sync` goes by it as well.
    #[arg(long = "sync", value_name = "glob")]
    pub globs: Vec<String>,
    /// Leave the config's file sync out
    ///
    /// Neither its patterns nor `.worktreeinclude` count for this worktree; with --sync only the
    /// files of that are copied.
    #[arg(long)]
    pub no_sync: bool,
}

/// Holds the options that say which program will work there, and what it is told.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Context")]
pub struct ContextOptions {
    /// Write the context where this program reads it by itself [default: config]
    ///
    /// The context is the prompt, and then the scope in short. A file that is tracked or synced is
    /// never rewritten: a variant that the program reads as well is taken, or the command is
    /// refused. `none` writes nothing, whatever the config says. See git-agentwt-clients(1).
    #[arg(
        long,
        value_name = "name",
        value_parser = PossibleValuesParser::new(Client::ALL.iter().map(|client| client.as_str()))
    )]
    pub client: Option<String>,
    /// Give the program this task; '-' reads it from stdin
    ///
    /// It is written as it is, byte for byte, before the part that says the scope.
    #[arg(long, value_name = "text", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Give the program the task in this file; '-' is stdin
    #[arg(long, value_name = "file")]
    pub prompt_file: Option<String>,
}

impl ContextOptions {
    /// Whether the prompt comes from stdin.
    #[must_use]
    pub fn reads_stdin(&self) -> bool {
        self.prompt.as_deref() == Some("-") || self.prompt_file.as_deref() == Some("-")
    }
}

/// Holds the options that make a scope. A list that is absent was not given; an empty text in it
/// (`--write ''`) says that the list is empty on purpose.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Scope")]
pub struct ScopeLists {
    /// Take this scope profile of the config [default: default]
    ///
    /// The profile `docs` is the table `[scope.docs]` of `.agentwt/config.toml`.
    #[arg(long = "scope", value_name = "profile")]
    pub profile: Option<String>,
    /// Let these files be edited, instead of the profile's list
    ///
    /// A gitignore(5) pattern relative to the repository's root; the option may be repeated. An
    /// empty one (`--write ''`) makes a read-only task.
    #[arg(long, value_name = "pattern")]
    pub write: Option<Vec<String>>,
    /// Let these files be seen, instead of the profile's list
    ///
    /// Written as for --write. Without any list, everything may be seen.
    #[arg(long, value_name = "pattern")]
    pub read: Option<Vec<String>>,
    /// Keep these files away, instead of the profile's list
    ///
    /// Written as for --write. It beats the two other lists.
    #[arg(long, value_name = "pattern")]
    pub exclude: Option<Vec<String>>,
    /// Add to what may be edited
    ///
    /// The option may be repeated; the patterns are added to the profile's list, or to those of
    /// --write.
    #[arg(long, value_name = "pattern")]
    pub add_write: Option<Vec<String>>,
    /// Add to what may be seen
    ///
    /// The option may be repeated; the patterns are added to the profile's list, or to those of
    /// --read.
    #[arg(long, value_name = "pattern")]
    pub add_read: Option<Vec<String>>,
    /// Add to what is kept away
    ///
    /// The option may be repeated; the patterns are added to the profile's list, or to those of
    /// --exclude.
    #[arg(long, value_name = "pattern")]
    pub add_exclude: Option<Vec<String>>,
}

const EXAMPLES: &str = "\
Examples:
  A worktree with the default scope of the config, and into it:
      cd \"$(git agentwt add task-5)\"

  Another profile, and one more directory that may be edited:
      git agentwt add task-6 --scope docs --add-write '/examples/'

  A scope without any config, on a branch that exists:
      git agentwt add task-7 -b fix/login --write 'src/**' --exclude '**/secrets/**'

  A task that only reads:
      git agentwt add review-7 --write ''

  For an agent, with its task:
      git agentwt add task-8 --client codex --prompt 'Make the tests green'
      git agentwt add task-9 --client claude-code --prompt-file task.md

  See first what would be done:
      git agentwt add task-8 -n";

/// Holds the options of `add` that claim the name on a git server.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Claim")]
pub struct ClaimOptions {
    /// Claim the name on this remote before anything is made
    ///
    /// `refs/agentwt/claims/<name>` is made there, if nobody has it: of all repositories that
    /// push to one server, one at a time has a worktree of this name. Where somebody has it,
    /// nothing is made (exit 8), and you are told who. A claim counts for its lease, unless `git
    /// agentwt renew` renews it, and `git agentwt remove` gives it back.
    #[arg(long, value_name = "remote", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub claim: Option<String>,
    /// Let the claim count so long without a renewal [default: 10m]
    ///
    /// Whole seconds, minutes, hours or days, from `1s` to `30d`. Renew it in less than half that
    /// time.
    #[arg(long, value_name = "duration", requires = "claim", value_parser = Lease::parse)]
    pub lease: Option<Lease>,
}

/// Renew the claim on a worktree, or say that its owner is alive
///
/// The claim that `git agentwt add --claim` took is renewed with one push, for another lease.
/// When somebody else has it by now, or nobody, this ends with 8 and says who: stop working
/// there. A scheduler calls it in a loop. Of a worktree without a claim, the owner in the record
/// is renewed.
#[derive(Args, Debug)]
#[command(after_long_help = RENEW_EXAMPLES)]
pub struct Renew {
    /// The worktree [default: the one you stand in]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Let the claim count so long from now on [default: as before]
    #[arg(long, value_name = "duration", value_parser = Lease::parse)]
    pub lease: Option<Lease>,
    /// Renew it only if this is its owner
    ///
    /// Otherwise it ends with 8.
    #[arg(long, value_name = "id", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub owner: Option<String>,
    /// Name another process as the owner's from now on
    #[arg(long, value_name = "pid")]
    pub owner_pid: Option<u32>,
    /// Look whether it could be renewed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

const RENEW_EXAMPLES: &str = "\
Examples:
  Once, and for a longer time from now on:
      git agentwt renew task-5 --lease 1h

  As long as an agent works, stopping it when the claim is lost:
      while sleep 200; do
          git agentwt renew task-5 -q
          test $? -eq 8 && kill \"$agent\" && break
      done";

/// How many attempts are made in all, where retries are on and nobody said how many.
pub const DEFAULT_ATTEMPTS: u32 = 3;
/// The pause before a retry, where nobody said how long.
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(15);
/// How long a probe may take, where nobody said.
pub const DEFAULT_PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Holds the options of `add` for programs.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "For programs")]
pub struct ProgramOptions {
    /// Try again when what stands in the way may pass [default: 3 attempts in all]
    ///
    /// That is: the branch is checked out elsewhere; the path, the branch or a worktree there
    /// exists already; an agent still runs there. Anything else fails at once. The number is that
    /// of the attempts in all. Each starts clean. Retries are on as well with --owner and
    /// --owner-probe.
    #[arg(
        long,
        value_name = "attempts",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub retries: Option<u32>,
    /// Wait so long before each retry [default: 15s]
    ///
    /// A number of seconds, or one with a unit: `500ms`, `15s`, `2m`.
    #[arg(long, value_name = "duration", value_parser = duration)]
    pub retry_delay: Option<Duration>,
    /// Say who works there
    ///
    /// Any text: it is kept in the record. A worktree that another owner has is refused (exit 4)
    /// unless that one's process has ended.
    #[arg(long, value_name = "id", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub owner: Option<String>,
    /// Say which process the owner is: what tells whether it is alive
    #[arg(long, value_name = "pid", requires = "owner")]
    pub owner_pid: Option<u32>,
    /// Take the worktree over from its owner, alive or not
    #[arg(long, requires = "owner")]
    pub take_over: bool,
    /// Ask this command before each retry whether the worktree is still yours
    ///
    /// It is run by `sh -c` with `AGENTWT_NAME`, `AGENTWT_OWNER` and `AGENTWT_ATTEMPT` in its
    /// environment. Status 0: still yours. 1: lost; nothing more is tried, and nothing is left
    /// behind (exit 8). Anything else: unknown, and it is tried on.
    #[arg(long, value_name = "command")]
    pub owner_probe: Option<String>,
    /// Take a probe that gives no answer in this time for unknown [default: 30s]
    #[arg(long, value_name = "duration", requires = "owner_probe", value_parser = duration)]
    pub probe_timeout: Option<Duration>,
}

impl ProgramOptions {
    /// How many attempts are made in all: one, unless an option switched retries on.
    /// `claims` says whether a claim was asked for, which is one.
    #[must_use]
    pub fn attempts(&self, claims: bool) -> u32 {
        let is_on = claims || self.owner.is_some() || self.owner_probe.is_some();
        let by_default = if is_on { DEFAULT_ATTEMPTS } else { 1 };
        self.retries.unwrap_or(by_default)
    }

    /// The pause before a retry.
    #[must_use]
    pub fn retry_delay(&self) -> Duration {
        self.retry_delay.unwrap_or(DEFAULT_RETRY_DELAY)
    }

    /// How long a probe may take.
    #[must_use]
    pub fn probe_timeout(&self) -> Duration {
        self.probe_timeout.unwrap_or(DEFAULT_PROBE_TIMEOUT)
    }
}

/// Parses a duration: `15`, `15s`, `1.5s`, `500ms`, `2m`, `1h`.
///
/// # Errors
/// Says what is allowed.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _other => return Err(WANTED.to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| WANTED.to_owned())?;
    let whole = Duration::try_from_secs_f64(number * seconds).map_err(|_| WANTED.to_owned())?;
    if whole > LONGEST {
        return Err("a day is the longest".to_owned());
    }
    Ok(whole)
}

const WANTED: &str = "write a number of seconds, or one with a unit: 500ms, 15s, 2m";
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds_or_have_a_unit() {
        let ms = Duration::from_millis;
        for (text, is) in [
            ("15", ms(15_000)),
            ("15s", ms(15_000)),
            ("500ms", ms(500)),
            ("2m", ms(120_000)),
            ("1.5s", ms(1_500)),
            ("1h", ms(3_600_000)),
            ("0", ms(0)),
        ] {
            assert_eq!(duration(text), Ok(is), "{text}");
        }
        for text in [
            "", "s", "-1", "15 s", "1d", "15S", "1e3", "..", "25h", "1.2.3", "٣",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn retries_are_on_when_somebody_asks_for_them_or_says_who_owns() {
        let attempts = |options: ProgramOptions| options.attempts(false);
        let of = |retries: Option<u32>, owner: Option<&str>, probe: Option<&str>| ProgramOptions {
            retries,
            owner: owner.map(ToOwned::to_owned),
            owner_probe: probe.map(ToOwned::to_owned),
            ..ProgramOptions::default()
        };
        assert_eq!(attempts(ProgramOptions::default()), 1);
        assert_eq!(attempts(of(Some(5), None, None)), 5);
        assert_eq!(attempts(of(None, Some("me"), None)), 3);
        assert_eq!(attempts(of(None, None, Some("true"))), 3);
        assert_eq!(attempts(of(Some(1), Some("me"), Some("true"))), 1);
    }
}
