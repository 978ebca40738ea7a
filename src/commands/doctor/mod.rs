//! `git agentwt doctor`: reports problems of the set-up, and how to fix them.
//!
//! Each topic is a function that reads what it needs and returns its checks. A topic that cannot be
//! read does not keep the others from being checked.

pub mod answer;
pub mod arguments;
pub mod context;
pub mod repository;
pub mod surroundings;
mod tools;
pub mod worktrees;

use miette::Diagnostic as _;

use crate::actions::register::install_hooks;
use crate::commands::doctor::answer::{
    DoctorAnswer, DoctorCheck, Repair, RepairState, UnknownTopic,
};
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

/// Checks everything; `--fix` fixes what is ours. Outside of a repository, only what needs none is
/// checked.
///
/// # Errors
/// Fails when the directory does not exist, or cannot be read. Refuses `--fix` inside a worktree.
pub fn run(session: &Session, options: &Doctor) -> Result<Outcome<DoctorAnswer>, Error> {
    let mut topics = Topics::default();
    topics.add("versions", Ok(surroundings::versions(session)));
    topics.add("fences", Ok(surroundings::fences(session)));
    let mut repository = None;
    match session.repository() {
        Ok(found) => repository = Some(found),
        Err(error) => topics.add("settings", Ok(check_without_repository(error)?)),
    }
    if let Some(repository) = &repository {
        if options.fix && !options.dry_run {
            session.require_no_agent(repository, &session.command_line)?;
        }
        match DoctorContext::read(session, repository) {
            Ok(context) => topics.add_repository(session, &context),
            Err(error) => topics.add("settings", Err(error)),
        }
        for check in &mut topics.answer.checks {
            repair(session, options, repository, check);
        }
    }
    let mut answer = topics.answer;
    let is_wrong = answer.checks.iter().any(DoctorCheck::is_wrong);
    answer.healthy = !is_wrong && answer.unknown.is_empty();
    answer.root = repository.map(|repository| repository.root);
    // something wrong counts more than a topic that could not be checked
    let exit = if is_wrong {
        ExitCode::Violations
    } else {
        topics.first_failure.unwrap_or(ExitCode::Success)
    };
    Ok(Outcome {
        answer,
        notes: Vec::new(),
        exit,
    })
}

/// The topics that were checked.
#[derive(Default)]
struct Topics {
    answer: DoctorAnswer,
    /// The status of the first topic that could not be checked.
    first_failure: Option<ExitCode>,
}

impl Topics {
    fn add(&mut self, topic: &'static str, checks: Result<Vec<DoctorCheck>, Error>) {
        match checks {
            Ok(checks) => {
                for check in checks {
                    self.answer.checks.push(DoctorCheck { topic, ..check });
                }
            }
            Err(error) => {
                self.first_failure.get_or_insert(error.exit_code());
                self.answer.unknown.push(UnknownTopic {
                    topic,
                    why: error.to_string(),
                    help: error.help().map(|help| help.to_string()),
                });
            }
        }
    }

    fn add_repository(&mut self, session: &Session, context: &DoctorContext<'_>) {
        self.add("settings", Ok(repository::settings(context)));
        self.add("hooks", Ok(worktrees::hooks(context)));
        if context.repository.main == Main::Worktree {
            self.add("ignore-rules", repository::ignore_rules(context));
            self.add("tools", tools::check_tools(&context.repository.root));
        }
        self.add("setup", surroundings::setup(session, context));
        self.add("leftovers", worktrees::leftovers(context));
        self.add("file-system", Ok(surroundings::file_system(context)));
    }
}

/// Checks why no repository can be used: there is none, or git refuses it.
fn check_without_repository(error: Error) -> Result<Vec<DoctorCheck>, Error> {
    match error.find() {
        None | Some(GitError::NoDirectory { .. }) => Err(error),
        // the topic `versions` reports that
        Some(GitError::Missing(_) | GitError::TooOld { .. }) => Ok(Vec::new()),
        Some(GitError::NoRepository { dir }) => {
            let found = format!("{dir} is in no repository: everything else was not checked");
            Ok(vec![DoctorCheck::note("repository", found, "")])
        }
        Some(refusal) => {
            let text = refusal.to_string();
            let mut lines = text.lines().map(str::trim);
            let reason = lines.next().unwrap_or_default();
            let fix = match lines.find(|line| line.contains("safe.directory")) {
                Some(command) => format!("if you trust its owner: {command}"),
                None => String::new(),
            };
            let found = format!("git refuses this repository: {reason}");
            Ok(vec![DoctorCheck::problem("repository", found, fix)])
        }
    }
}

/// Does what `--fix` does about a check, or `-n` would do.
fn repair(session: &Session, options: &Doctor, repository: &Repository, check: &mut DoctorCheck) {
    let Some(repair) = &check.repair else {
        return;
    };
    if options.dry_run {
        check.done = Some(RepairState::Planned);
        return;
    }
    if !options.fix {
        return;
    }
    let fixed = match repair {
        Repair::IgnoreRules => ignore_rules::ensure(repository, |_| Ok(())),
        Repair::Hooks(name) => reinstall(session, repository, name),
    };
    match fixed {
        Ok(()) => check.done = Some(RepairState::Repaired),
        Err(error) => {
            check.failure = Some(error.to_string());
            check.done = Some(RepairState::Failed);
        }
    }
}

/// Installs the hooks of a worktree as they were.
fn reinstall(session: &Session, repository: &Repository, name: &WorktreeName) -> Result<(), Error> {
    let (_one_at_a_time, worktree) = Worktree::lock(repository, name)?;
    let install = || install_hooks(repository, &worktree.record, &session.binary);
    worktree.change_hooks(repository, install).map(drop)
}
