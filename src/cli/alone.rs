//! Parses a command line by the definition of its command alone.
//!
//! To define all twenty commands takes longer than most of what is asked for takes, and a hook runs
//! at every commit. A command line that does not parse so, or asks for help, is parsed by the whole
//! definition, which says what is wrong with it.

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};

use super::{
    Add, Changed, Cli, Common, EmptyTrash, Hook, List, Path, Reapply, Remove, Restore, Scope,
    Status, Sync, Verify,
};

/// Adds a command's arguments to a definition.
type Define = fn(Command) -> Command;

/// The commands that may be called very often.
const COMMANDS: [(&str, Define); 13] = [
    ("add", Add::augment_args),
    ("changed", Changed::augment_args),
    ("empty-trash", EmptyTrash::augment_args),
    ("hook", Hook::augment_args),
    ("list", List::augment_args),
    ("path", Path::augment_args),
    ("reapply", Reapply::augment_args),
    ("remove", Remove::augment_args),
    ("restore", Restore::augment_args),
    ("scope", Scope::augment_args),
    ("status", Status::augment_args),
    ("sync", Sync::augment_args),
    ("verify", Verify::augment_args),
];

/// The command line, if its command is the first word of it and its definition takes all of it.
pub(super) fn parse(arguments: &[OsString]) -> Option<Cli> {
    let word = arguments.get(1)?;
    let (name, define) = COMMANDS.into_iter().find(|(name, _)| word == name)?;
    let root = Common::augment_args(Command::new("git-agentwt"));
    let root = root.subcommand(define(Command::new(name)));
    let matches = root.try_get_matches_from(arguments).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        let all = ["git-agentwt"].into_iter().chain(line.split(' '));
        all.map(OsString::from).collect()
    }

    #[test]
    fn what_it_parses_is_what_the_whole_definition_parses() {
        for line in [
            "add task-5",
            "add task-5 --write src/** --read ** -q --no-hooks",
            "add -n task-5 -C /x --write=-a --write b",
            "list",
            "list --json -v -v",
            "status task-5 --porcelain -z",
            "path task-5",
            "scope task-5 a b -- -c",
            "changed task-5 -z",
            "verify",
            "verify task-5 -q",
            "verify -C .. task-5 --json",
            "reapply task-5",
            "restore task-5 -- src/lib.rs",
            "remove --force task-5",
            "sync task-5",
            "hook post-checkout -- a b 1",
            "hook post-commit --",
        ] {
            let line = words(line);
            let whole = Cli::try_parse_from(&line).expect("it is a command line");
            let alone = parse(&line).expect("its command stands first");
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{line:?}");
        }
    }

    #[test]
    fn what_is_wrong_or_asks_for_help_is_left_to_the_whole_definition() {
        for line in [
            "verify --no-such",
            "verify -h",
            "add --help",
            "path",
            "path a b",
            "ls",
            "-q verify",
            "verify -q -v",
            "--version",
            "add task-5 --write",
        ] {
            assert!(parse(&words(line)).is_none(), "{line}");
        }
        assert!(parse(&[]).is_none());
    }

    #[test]
    fn every_name_here_is_that_of_a_command() {
        let whole = Cli::command();
        for (name, _) in COMMANDS {
            let found = whole.find_subcommand(name);
            assert_eq!(found.map(Command::get_name), Some(name));
        }
    }
}
