//! Defines the command line: [`Cli`], its commands, and the text that `-h` and `--help` print.
//!
//! There is no logic here: a value is as the user typed it, and the command that takes it parses
//! it. The man pages and the completions are made from these definitions, so a flag that is not
//! documented here is documented nowhere.
//!
//! ```
//! use clap::Parser as _;
//! use git_agentwt::cli::{Cli, Command};
//! let cli = Cli::parse_from(["git-agentwt", "path", "task-5"]);
//! assert!(matches!(cli.command, Command::Path(path) if path.name.as_deref() == Some("task-5")));
//! ```

pub mod completions;
pub mod man;
pub mod run;
pub mod shell;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde::Deserialize;

use crate::cli::run::Run;
use crate::cli::shell::{Completions, Schema, ShellInit};
use crate::commands::accept::Accept;
use crate::commands::add::arguments::Add;
use crate::commands::changed::arguments::Changed;
use crate::commands::clients::Clients;
use crate::commands::doctor::arguments::Doctor;
use crate::commands::env::Env;
use crate::commands::exec::arguments::Exec;
use crate::commands::guard::Guard;
use crate::commands::hook::Hook;
use crate::commands::hooks::arguments::Hooks;
use crate::commands::init::arguments::Init;
use crate::commands::land::arguments::Land;
use crate::commands::list::arguments::List;
use crate::commands::open::Open;
use crate::commands::path::Path;
use crate::commands::prune::arguments::Prune;
use crate::commands::reapply::Reapply;
use crate::commands::remove::arguments::{EmptyTrash, Remove};
use crate::commands::renew::Renew;
use crate::commands::restore::arguments::Restore;
use crate::commands::scope::arguments::ScopeArguments;
use crate::commands::status::Status;
use crate::commands::statusline::Statusline;
use crate::commands::sync::arguments::Sync;
use crate::commands::trust::Trust;
use crate::commands::verify::arguments::Verify;

/// The end of the long help and of the man page of each command.
const ENDS: &str = include_str!("ends.toml");

/// The content of `ends.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HelpEnds {
    command: Vec<HelpEnd>,
}

/// The end of the help of one command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HelpEnd {
    name: String,
    end: String,
}

/// The groups of commands in the help, each with its commands.
const GROUPS: [(&str, &str); 5] = [
    (
        "Every day",
        "init add list status verify restore accept land remove",
    ),
    ("Looking", "changed scope path"),
    ("Files", "sync reapply"),
    (
        "Fleets and programs",
        "exec run open env statusline renew prune clients guard schema",
    ),
    ("Set-up", "trust hooks shell-init doctor completions"),
];

/// Give each coding agent its own worktree, and verify what it changed
///
/// Each agent gets a worktree that holds only the files the agent may see, in which only the files
/// it may edit are writable. After every commit, and whenever you ask, git-agentwt compares the
/// worktree with its scope. It reads git and the disk; it never relies on the agent's report.
#[derive(Debug, Parser)]
#[command(
    name = "git-agentwt",
    bin_name = "git agentwt",
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    subcommand_value_name = "command",
    subcommand_help_heading = "Commands",
    after_help = "'git agentwt <command> -h' is the short help of one command. Synonyms: 'create' \
        and 'new' for add, 'merge' for land, 'cd' for path, 'diff' for 'changed --patch', 'log' \
        for 'changed --commits'."
)]
pub struct Cli {
    /// The options that every command takes.
    #[command(flatten)]
    pub common: Common,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses a command line, the program's name first. To define all commands takes longer than
    /// most of them run, so only the called one is defined; the error comes of the whole
    /// definition.
    ///
    /// # Errors
    /// Returns what clap says of it: what is wrong, or the help that was asked for.
    pub fn of(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let arguments = &with_synonyms(arguments);
        Self::try_parse_from(arguments).or_else(|_| {
            let whole = Self::whole();
            let template = template(&whole);
            let mut matches = whole
                .help_template(template)
                .try_get_matches_from(arguments)?;
            Self::from_arg_matches_mut(&mut matches)
        })
    }

    /// The definition with all commands, and the end of their long help.
    pub fn whole() -> clap::Command {
        let mut whole = Self::command();
        let ends: HelpEnds = toml::from_str(ENDS).expect("because it is a part of the program");
        for help in ends.command {
            let end = help.end.trim_end().to_owned();
            whole = match help.name.as_str() {
                "git-agentwt" => whole.after_long_help(end),
                name => whole.mut_subcommand(name, |command| command.after_long_help(end)),
            };
        }
        whole.build();
        whole
    }
}

/// The command line with the command that `diff` or `log` stands for, which people type who know
/// git.
fn with_synonyms(arguments: &[OsString]) -> Vec<OsString> {
    let mut words = arguments.to_vec();
    let at = find_verb(arguments);
    let option = match words.get(at).and_then(|word| word.to_str()) {
        Some("diff") => "--patch",
        Some("log") => "--commits",
        Some(_) | None => return words,
    };
    words.splice(at..=at, ["changed", option].map(OsString::from));
    words
}

/// Where the name of the command is, in a command line with the program's name.
fn find_verb(arguments: &[OsString]) -> usize {
    let mut at = 1;
    // options before the command: only `-C` takes a value
    while let Some(word) = arguments.get(at)
        && word.as_encoded_bytes().starts_with(b"-")
    {
        at += if word == "-C" { 2 } else { 1 };
    }
    at
}

/// The help of the program, with its commands in groups.
fn template(whole: &clap::Command) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for one in names
            .split(' ')
            .filter_map(|name| whole.find_subcommand(name))
        {
            let about = one.get_about().map(ToString::to_string);
            let aliases: Vec<&str> = one.get_visible_aliases().collect();
            let alias = match aliases[..] {
                [] => String::new(),
                _ => format!(" [alias: {}]", aliases.join(", ")),
            };
            let name = one.get_name();
            let about = about.unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}{alias}\n"));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

/// Holds the options that every command takes, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Run as if started in this directory
    ///
    /// Relative paths in the other arguments are relative to it, as with `git -C <dir>`.
    #[arg(short = 'C', value_name = "dir", global = true)]
    pub directory: Option<PathBuf>,
    /// Print only errors on stderr
    ///
    /// The answer on stdout and the exit status stay the same.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print each step on stderr; twice, every git command
    ///
    /// Once, print the name of each step. Twice (`-vv`), print every git command and the time it
    /// took.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Names a command, with its arguments. Its help is the documentation of its type; a comment on
/// the variant would replace that.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
#[expect(missing_docs, reason = "the type of each variant documents it")]
pub enum Command {
    Init(Init),
    #[command(aliases = ["create", "new"])]
    Add(Add),
    #[command(visible_alias = "ls")]
    List(List),
    Status(Status),
    #[command(alias = "cd")]
    Path(Path),
    Scope(ScopeArguments),
    Changed(Changed),
    Verify(Verify),
    Accept(Accept),
    Reapply(Reapply),
    Restore(Restore),
    #[command(alias = "merge")]
    Land(Land),
    #[command(visible_alias = "rm")]
    Remove(Remove),
    Prune(Prune),
    Renew(Renew),
    Sync(Sync),
    Trust(Trust),
    Hooks(Hooks),
    Doctor(Doctor),
    Exec(Exec),
    Run(Run),
    Open(Open),
    Env(Env),
    Statusline(Statusline),
    ShellInit(ShellInit),
    Clients(Clients),
    Guard(Guard),
    Completions(Completions),
    Schema(Schema),
    #[command(hide = true)]
    Hook(Hook),
    #[command(hide = true)]
    EmptyTrash(EmptyTrash),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::output::{Format, ListOutput, with_tsv};

    fn visit(command: &clap::Command, look: &mut impl FnMut(&clap::Command)) {
        look(command);
        for inner in command.get_subcommands() {
            visit(inner, look);
        }
    }

    #[test]
    fn the_definitions_do_not_contradict_themselves() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_flag_has_a_first_line_without_a_full_stop() {
        visit(&Cli::whole(), &mut |command| {
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            assert!(
                !about.is_empty() && !about.ends_with('.'),
                "{}: {about:?}",
                command.get_name()
            );
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string);
                let help = help.unwrap_or_default();
                assert!(
                    !help.is_empty() && !help.ends_with('.'),
                    "{} {}: {help:?}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        });
    }

    #[test]
    fn every_visible_command_shows_an_example() {
        let command = Cli::whole();
        for command in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let text = command.get_after_long_help().map(ToString::to_string);
            assert!(
                text.unwrap_or_default()
                    .contains(&format!("git agentwt {}", command.get_name())),
                "{}",
                command.get_name()
            );
        }
    }

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let listed = GROUPS.iter().flat_map(|(_, names)| names.split(' '));
        let mut listed: Vec<&str> = listed.collect();
        listed.sort_unstable();
        let whole = Cli::whole();
        let commands = whole.get_subcommands().filter(|one| !one.is_hide_set());
        let mut commands: Vec<&str> = commands.map(clap::Command::get_name).collect();
        commands.sort_unstable();
        assert_eq!(listed, commands);
    }

    #[test]
    fn the_short_help_of_add_leaves_out_what_only_a_scheduler_needs() {
        let mut whole = Cli::whole();
        let add = whole.find_subcommand_mut("add").expect("it is there");
        let short = add.render_help();
        let long = add.render_long_help();
        for option in ["--owner", "--retries", "--claim", "For programs"] {
            assert!(!short.to_string().contains(option), "{short}");
            assert!(long.to_string().contains(option), "{option}");
        }
        assert!(short.to_string().contains("--prompt"), "{short}");
    }

    #[test]
    fn a_synonym_is_the_command_that_it_stands_for() {
        let parse = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect::<Vec<_>>();
            Cli::of(&words).map(|cli| cli.command)
        };
        let is_patch = |line| matches!(parse(line), Ok(Command::Changed(one)) if one.patch);
        assert!(is_patch("x diff task-5") && is_patch("x -C /r diff task-5"));
        assert!(!is_patch("x changed diff") && parse("x path diff").is_ok());
        let shown = |line| match parse(line) {
            Ok(Command::Changed(one)) => (one.commits, one.patch, one.name),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(shown("x log a"), (true, false, Some("a".to_owned())));
        assert_eq!(shown("x log -p"), (true, true, None));
        assert!(matches!(parse("x create a"), Ok(Command::Add(_))));
        assert!(matches!(parse("x merge a"), Ok(Command::Land(_))));
        assert!(matches!(parse("x cd a"), Ok(Command::Path(_))));
    }

    #[test]
    fn an_empty_list_is_told_from_one_that_was_not_given() {
        let parse = |arguments: &[&str]| match Cli::parse_from(arguments).command {
            Command::Add(add) => add.scope,
            other => panic!("not `add`: {other:?}"),
        };
        assert_eq!(parse(&["x", "add", "t"]).write, None);
        assert_eq!(
            parse(&["x", "add", "t", "--write", ""]).write,
            Some(vec![String::new()])
        );
        assert_eq!(
            parse(&["x", "add", "t", "--write=-a", "--write", "b"]).write,
            Some(vec!["-a".to_owned(), "b".to_owned()])
        );
    }

    #[test]
    fn an_event_keeps_its_own_arguments_after_two_dashes() {
        let arguments = ["x", "hook", "post-checkout", "--", "-C", "--", "-z"];
        let Command::Hook(hook) = Cli::parse_from(arguments).command else {
            panic!("not `hook`");
        };
        assert_eq!(hook.event, "post-checkout");
        assert_eq!(hook.args, ["-C", "--", "-z"]);
    }

    #[test]
    fn what_follows_two_dashes_is_a_path_of_scope() {
        let Command::Scope(scope) =
            Cli::parse_from(["x", "scope", "task-5", "a", "--", "-b", "task-6"]).command
        else {
            panic!("not `scope`");
        };
        assert_eq!(scope.args, ["task-5", "a"]);
        assert_eq!(scope.paths, ["-b", "task-6"]);
    }

    #[derive(Parser)]
    #[command(mut_arg("format", |format| with_tsv(format)))]
    struct Fixture {
        #[command(flatten)]
        output: ListOutput,
    }

    #[test]
    fn short_forms_and_the_long_one_say_the_same() {
        for (arguments, format) in [
            (&[][..], Format::Human),
            (&["--json"], Format::Json),
            (&["--format=json"], Format::Json),
            (&["--porcelain"], Format::Porcelain),
            (&["-z"], Format::Porcelain),
            (&["-z", "--json"], Format::Json),
            (&["-z", "--format", "tsv"], Format::Tsv),
        ] {
            let arguments = std::iter::once("x").chain(arguments.iter().copied());
            let fixture = Fixture::try_parse_from(arguments).expect("they do not contradict");
            assert_eq!(fixture.output.form().format, format);
        }
        for arguments in [["--json", "--porcelain"], ["--json", "--format=tsv"]] {
            assert!(Fixture::try_parse_from(std::iter::once("x").chain(arguments)).is_err());
        }
    }
}
