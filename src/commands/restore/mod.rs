//! `git agentwt restore`: puts out-of-scope changes back, after saving them, and undoes that.

mod apply;
pub mod facts;
pub mod plan;
mod refusal;
mod rewrite;
mod undo;

use std::ffi::OsString;

use camino::Utf8PathBuf;

pub use self::apply::RestoreDone;
pub use self::refusal::RestoreRefusal;
pub use self::undo::Undone;

use self::plan::{RestorePlan, Violation};
use super::{Outcome, Session};
use crate::apply::outcome;
use crate::disk::files::Lock;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::{Repository, Worktree, given};
use crate::path::RepoPath;
use crate::placed::There;
use crate::plan::refusal::Refusal;
use crate::truth::IndexFile;
use crate::truth::collect;
use crate::verify::{VerifyOptions, verify};

/// Holds what was done, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreAnswer {
    /// Paths were put back.
    Restored(Restored),
    /// A restore was undone.
    Undone(Undone),
}

/// Holds what was put back, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The plan.
    pub plan: RestorePlan,
    /// What was done; empty with `-n`.
    pub done: RestoreDone,
}

/// Puts back, or undoes that.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; what was there is then saved.
pub fn run(
    session: &Session,
    options: &crate::cli::Restore,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let mut words: Vec<OsString> = options.args.clone();
    let named = given::take_name(&repository, &mut words)?;
    words.extend(options.paths.iter().cloned());
    let _lock = Lock::wait(&repository.name_lock(&named.record.name))?;
    // it may have changed while we waited
    let known = Worktree::load(&repository, &named.record.name)?;
    let repository = known.repository(&repository);
    let asked = asked_paths(&repository, &known, words)?;
    match &options.undo {
        Some(named) => undo::run(
            &repository,
            &known,
            named.as_deref(),
            &asked,
            options.dry_run,
        ),
        None => run_restore(session, &repository, &known, &asked, options),
    }
}

/// The paths: relative to where we stand in the worktree, else to its root.
fn asked_paths(
    repository: &Repository,
    known: &Worktree,
    words: Vec<OsString>,
) -> Result<Vec<RepoPath>, Error> {
    let root = &known.record.path;
    let below = given::prefix(repository, Some(root));
    let roots = [root, &repository.root];
    let parse = |word| given::parse(&below, &roots, &given::bytes_of(word));
    let paths: Result<Vec<_>, Refusal> = words.into_iter().map(parse).collect();
    Ok(paths?.into_iter().map(|(path, _)| path).collect())
}

fn run_restore(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    asked: &[RepoPath],
    options: &crate::cli::Restore,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let survey = collect(repository, known, &IndexFile::Own)?;
    let facts = facts::read(repository, known, &survey);
    let plan = plan::plan(&facts, asked, options.rewrite)?;
    session.check()?;
    let mut notes = Vec::new();
    let mut done = RestoreDone::default();
    let mut is_left = !plan.stays.is_empty();
    if !options.dry_run && !plan.is_empty() {
        let time = Session::now().replace([':', '-'], "");
        done = apply::restore(repository, known, &survey, &plan, asked, &time)?;
        // all is done: a failure of this look is not one of the restore
        let name = &known.record.name;
        match verify_again(repository, known, &plan) {
            Ok((left, others)) => {
                is_left |= !left.is_empty();
                notes.extend(left);
                notes.extend(others);
            }
            Err(error) => notes.push(format!("{error}; to verify it: git agentwt verify {name}")),
        }
    }
    notes.extend(plan.stays.iter().map(|v| stays_note(known, v)));
    let lost = plan.paths.iter().filter(|v| v.cannot_be_saved());
    notes.extend(lost.map(|v| {
        let path = &v.path;
        format!("{path} is no file: it has no content to save, and --undo does not make it again")
    }));
    Ok(Outcome {
        answer: RestoreAnswer::Restored(Restored {
            name: known.record.name.to_string(),
            path: known.record.path.clone(),
            dry_run: options.dry_run,
            plan,
            done,
        }),
        notes,
        exit: if is_left {
            ExitCode::Violations
        } else {
            ExitCode::Success
        },
    })
}

/// Says why a placed file was left as it is, and the next command.
fn stays_note(known: &Worktree, violation: &Violation) -> String {
    let (name, path) = (&known.record.name, &violation.path);
    let is = match violation.disk {
        Some(_) => "is edited and stays as it is",
        None => "is gone and cannot be put back",
    };
    let why = match (violation.source, violation.disk) {
        (Some(There::Same | There::Newer), _) => {
            format!("its source has changed since; to take that: git agentwt sync {name} --force")
        }
        (Some(There::Gone), Some(_)) => format!(
            "its source is gone; to make it the source: git agentwt sync {name} --pull {path}"
        ),
        (Some(There::Gone), None) => {
            format!("its source is gone as well: git agentwt sync {name} --status")
        }
        (Some(There::None) | None, _) => "it is context, which nothing else holds".to_owned(),
    };
    format!("{path} {is}: {why}")
}

/// Verifies again, for `list`; notes on the paths that are still out of scope, and on the others.
fn verify_again(
    repository: &Repository,
    known: &Worktree,
    plan: &RestorePlan,
) -> Result<(Vec<String>, Vec<String>), Error> {
    let changes = collect(repository, known, &IndexFile::Own)?.changes;
    let report = verify(&known.scope, changes, VerifyOptions::default());
    let mut others = Vec::new();
    if let Err(error) = outcome::store(known, &report, &Session::now()) {
        others.push(format!("the outcome is not kept for `list`: {error}"));
    }
    let paths = report.violations().filter_map(|v| v.change.place.path());
    let left = paths.filter(|path| plan.paths.iter().any(|v| v.path == **path));
    let left = left.map(|path| {
        format!("{path} is still out of scope: somebody works there, or the shared info/attributes changes what git writes")
    });
    let left = left.collect();
    let name = &known.record.name;
    match report.violations().count() {
        0 => {}
        1 => others.push(format!("1 violation is left: git agentwt verify {name}")),
        n => others.push(format!(
            "{n} violations are left: git agentwt verify {name}"
        )),
    }
    Ok((left, others))
}
