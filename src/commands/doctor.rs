//! `git agentwt doctor`: what is wrong with the set-up, and what puts it right.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::doctor::{look, refusal, versions};
use crate::facts::{Repository, Worktree, WorktreeError};
use crate::git::GitError;
use crate::git::hooks::Hooks;
use crate::name::WorktreeName;
use crate::plan::doctor::{
    Diagnosis, Facts, Found, Level, Repair, RepositoryFacts, Unknown, diagnose,
};
use crate::worktree::{WatchedFile, ignore_rules};

/// Holds what was found, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doctored {
    /// The directory that has `.agentwt`; none where there is no usable repository.
    pub root: Option<Utf8PathBuf>,
    /// The lines, in the order of their topics.
    pub lines: Vec<(Diagnosis, Done)>,
    /// What could not be looked at.
    pub unknown: Vec<Unknown>,
}

/// Says what became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing was done about it.
    Nothing,
    /// `--fix` would put it right.
    Planned,
    /// It was put right.
    Repaired,
    /// It could not be put right, for this reason.
    Failed(String),
}

impl Doctored {
    /// Whether nothing is wrong, as far as everything could be looked at.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.unknown.is_empty() && !self.lines.iter().any(is_wrong)
    }
}

/// Whether a line still says that something is wrong.
fn is_wrong((line, done): &(Diagnosis, Done)) -> bool {
    let repaired = match done {
        Done::Repaired => true,
        Done::Nothing | Done::Planned | Done::Failed(_) => false,
    };
    line.level >= Level::Warning && !repaired
}

/// Looks at everything; `--fix` puts right what is ours. It works outside of a repository, too.
///
/// # Errors
/// Fails only when not even the repository can be listed: else that is a line.
pub fn run(session: &Session, options: &crate::cli::Doctor) -> Result<Outcome<Doctored>, Error> {
    let (versions, found) = std::thread::scope(|scope| {
        let binary = &session.binary;
        let runner = session.runner.clone();
        let versions = scope.spawn(|| versions(&session.start, binary, runner));
        let found = find(session);
        let versions = versions.join();
        let versions = versions.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (versions, found)
    });
    let (repository, found) = found?;
    let root = repository
        .as_ref()
        .map(|repository| repository.root.clone());
    let facts = Facts {
        versions,
        repository: found,
    };
    let (lines, unknown) = diagnose(&facts);
    let treat = |line: Diagnosis| {
        let done = match (&line.repair, &repository) {
            (Some(_), Some(_)) if options.dry_run => Done::Planned,
            (Some(repair), Some(repository)) if options.fix => {
                match apply(session, repository, repair) {
                    Ok(()) => Done::Repaired,
                    Err(error) => Done::Failed(error.to_string()),
                }
            }
            (Some(_) | None, _) => Done::Nothing,
        };
        (line, done)
    };
    let answer = Doctored {
        root,
        lines: lines.into_iter().map(treat).collect(),
        unknown,
    };
    let wrong = answer.lines.iter().any(is_wrong);
    let exit = match answer.unknown.first() {
        // what is known to be wrong is no less so
        _ if wrong => ExitCode::Violations,
        Some(unknown) => unknown.exit,
        None => ExitCode::Success,
    };
    Ok(Outcome {
        answer,
        notes: Vec::new(),
        exit,
    })
}

/// Finds the repository and looks at it. That there is none, or that git refuses it, is an answer.
fn find(session: &Session) -> Result<(Option<Repository>, Found), Error> {
    let (runner, trace) = (session.runner.clone(), session.trace.clone());
    let repository = match Repository::find(&session.start, runner, trace) {
        Ok(repository) => repository,
        Err(error) => return Ok((None, unusable(session, error)?)),
    };
    let looked = look(&repository, &session.environment, session.is_root);
    let facts: RepositoryFacts = match looked {
        Ok(facts) => facts,
        Err(error) => return Ok((None, unusable(session, error)?)),
    };
    Ok((Some(repository), Found::Here(Box::new(facts))))
}

fn unusable(session: &Session, error: WorktreeError) -> Result<Found, Error> {
    if let Some((why, help)) = refusal(&error, &session.start) {
        return Ok(Found::Refused(why, help));
    }
    match error {
        WorktreeError::Git(GitError::NoRepository { dir }) => Ok(Found::No(dir)),
        WorktreeError::Git(GitError::Missing(_) | GitError::TooOld { .. }) => Ok(Found::NoGit),
        other => Err(other.into()),
    }
}

/// Puts one thing right.
fn apply(session: &Session, repository: &Repository, repair: &Repair) -> Result<(), Error> {
    match repair {
        Repair::IgnoreRules => {
            let _kept = ignore_rules::ensure(repository)?;
            Ok(())
        }
        Repair::Hooks(name) => reinstall(session, repository, name),
    }
}

/// Installs the hooks of a worktree as they were.
fn reinstall(session: &Session, repository: &Repository, name: &WorktreeName) -> Result<(), Error> {
    let _one_at_a_time = Lock::wait(&repository.name_lock(name))?;
    let known = Worktree::load(repository, name)?;
    let record = &known.record;
    let on_violation = record.on_violation;
    {
        let _shared = Lock::wait(&repository.shared_lock())?;
        let hooks = Hooks::of(&repository.git, &record.admin_dir, &record.path)?;
        hooks.install(&session.binary, on_violation)?;
    }
    // what else came into `config.worktree` is still found
    let is_hook_file =
        |file: WatchedFile| file.is_of_our_hooks() && file != WatchedFile::ConfigWorktree;
    known.renew_digests(repository, is_hook_file)?;
    Ok(())
}
