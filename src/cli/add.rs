//! Defines `git agentwt add`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{AnswerOutput, ClaimOptions, ProgramOptions, WaitOption};
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
