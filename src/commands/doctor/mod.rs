//! `git agentwt doctor`: reports problems of the set-up, and how to fix them.
//!
//! Each topic is a function that reads what it needs and returns its checks. A topic that cannot be
//! read does not keep the others from being checked.

pub mod answer;
pub mod arguments;
pub mod context;
pub mod repository;
pub mod surroundings;
pub mod worktrees;

use miette::Diagnostic as _;

use crate::actions::register::install_hooks;
use crate::commands::doctor::answer::{DoctorAnswer, DoctorCheck, Repair, UnknownTopic};
use crate::commands::doctor::arguments::Doctor;
use crate::commands::doctor::context::DoctorContext;
use crate::commands::{Outcome, Session};
use crate::git::error::GitError;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::worktree::ignore_rules;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Main, Repository};

/// Checks everything; `--fix` fixes what is ours. It works outside of a repository, too.
///
/// # Errors
/// Fails when the directory does not exist, or cannot be read.
pub fn run(session: &Session, options: &Doctor) -> Result<Outcome<DoctorAnswer>, Error> {
    let mut answer = DoctorAnswer::default();
    let mut exit = None;
    let mut add = |topic, found: Result<Vec<DoctorCheck>, Error>| match found {
        Ok(checks) => {
            let of_topic = |check| DoctorCheck { topic, ..check };
            answer.checks.extend(checks.into_iter().map(of_topic));
        }
        Err(error) => {
            exit = exit.or(Some(error.exit_code()));
            answer.unknown.push(UnknownTopic {
                topic,
                why: error.to_string(),
                help: error.help().map(|help| help.to_string()),
            });
        }
    };
    add("versions", Ok(surroundings::versions(session)));
    add("fences", Ok(surroundings::fences(session)));
    let (repository, unusable) = find(session)?;
    add("settings", Ok(unusable));
    if let Some(repository) = repository
        .as_ref()
        .filter(|_| options.fix && !options.dry_run)
    {
        session.require_no_agent(repository, &session.command_line)?;
    }
    let found = repository.as_ref();
    match found.map(|found| DoctorContext::read(session, found)) {
        None => {}
        Some(Err(error)) => add("settings", Err(error)),
        Some(Ok(context)) => {
            add("settings", Ok(repository::settings(&context)));
            add("hooks", Ok(worktrees::hooks(&context)));
            if context.repository.main == Main::Worktree {
                add("ignore-rules", repository::ignore_rules(&context));
                add("tools", surroundings::tools(&context.repository.root));
            }
            add("setup", surroundings::setup(session, &context));
            add("leftovers", worktrees::leftovers(&context));
            add("file-system", Ok(surroundings::file_system(&context)));
        }
    }
    if let Some(repository) = &repository {
        for check in &mut answer.checks {
            treat(session, options, repository, check);
        }
    }
    let is_wrong = answer.checks.iter().any(DoctorCheck::is_wrong);
    answer.healthy = !is_wrong && answer.unknown.is_empty();
    answer.root = repository.map(|repository| repository.root);
    Ok(Outcome {
        exit: match exit {
            // what is known to be wrong counts first
            _ if is_wrong => ExitCode::Violations,
            Some(exit) => exit,
            None => ExitCode::Success,
        },
        answer,
        notes: Vec::new(),
    })
}

/// Finds the repository. That there is none, or that git refuses it, is a check.
fn find(session: &Session) -> Result<(Option<Repository>, Vec<DoctorCheck>), Error> {
    let error = match session.repository() {
        Ok(repository) => return Ok((Some(repository), Vec::new())),
        Err(error) => error,
    };
    let check = match error.find() {
        None | Some(GitError::NoDirectory { .. }) => return Err(error),
        // the topic `versions` has that
        Some(GitError::Missing(_) | GitError::TooOld { .. }) => None,
        Some(GitError::NoRepository { dir }) => {
            let found = format!("{dir} is in no repository: everything else was not checked");
            Some(DoctorCheck::note("repository", found, ""))
        }
        Some(refused) => {
            let words = refused.to_string();
            let mut lines = words.lines().map(str::trim);
            let found = lines.next().unwrap_or_default();
            let trust = lines.find(|line| line.contains("safe.directory"));
            let fix = trust.map(|command| format!("if you trust its owner: {command}"));
            let found = format!("git refuses this repository: {found}");
            let fix = fix.unwrap_or_default();
            Some(DoctorCheck::problem("repository", found, fix))
        }
    };
    Ok((None, check.into_iter().collect()))
}

/// Does what `--fix` does about a check, or `-n` would do.
fn treat(session: &Session, options: &Doctor, repository: &Repository, check: &mut DoctorCheck) {
    let Some(repair) = &check.repair else {
        return;
    };
    if options.dry_run {
        check.done = Some("planned");
    } else if options.fix {
        let fixed = match repair {
            Repair::IgnoreRules => ignore_rules::ensure(repository).map(drop),
            Repair::Hooks(name) => reinstall(session, repository, name),
        };
        check.failure = fixed.err().map(|error| error.to_string());
        check.done = Some(match check.failure {
            Some(_) => "failed",
            None => "repaired",
        });
    }
}

/// Installs the hooks of a worktree as they were.
fn reinstall(session: &Session, repository: &Repository, name: &WorktreeName) -> Result<(), Error> {
    let (_one_at_a_time, known) = Worktree::lock(repository, name)?;
    let install = || install_hooks(repository, &known.record, &session.binary);
    known.change_hooks(repository, install).map(drop)
}
