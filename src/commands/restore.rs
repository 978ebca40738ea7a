//! `git agentwt restore`: puts out-of-scope changes back, after saving them, and undoes that.

use std::ffi::OsString;

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::restore::{Done, restore};
use crate::apply::{outcome, undo::undo};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::changes::collect;
use crate::facts::{IndexFile, Repository, Worktree, given, restore as facts};
use crate::path::RepoPath;
use crate::placed::There;
use crate::plan::refusal::Refusal;
use crate::plan::restore::refusal::RestoreRefusal;
use crate::plan::restore::undo::{self, UndoPlan};
use crate::plan::restore::{self as plan, Committed, RestorePlan, Violation};
use crate::verify::{Layers, Strictness, verify};

/// Ends the note on a path that is not in order although it was put back.
const STILL: &str = "is still out of scope: somebody works there, or the shared info/attributes changes what git writes";

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
    /// Whether it was only looked at (`-n`).
    pub dry_run: bool,
    /// The plan.
    pub plan: RestorePlan,
    /// What was done; empty with `-n`.
    pub done: Done,
}

/// Holds what was brought back, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Whether it was only looked at (`-n`).
    pub dry_run: bool,
    /// The ref of the restore, which stays.
    pub rescue: String,
    /// The plan.
    pub plan: UndoPlan,
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
    // what it was may have changed while we waited
    let known = Worktree::load(&repository, &named.record.name)?;
    let repository = known.repository(&repository);
    let asked = asked(&repository, &known, words)?;
    match &options.undo {
        Some(named) => run_undo(&repository, &known, named.as_deref(), &asked, options),
        None => run_restore(session, &repository, &known, &asked, options),
    }
}

/// The paths: relative to where we stand in the worktree, else to its root.
fn asked(
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
    let committed = if options.rewrite {
        Committed::Rewritten
    } else {
        Committed::Undone
    };
    let facts = facts::read(repository, known, &survey);
    let plan = plan::plan(&facts, asked, committed).map_err(Refusal::from)?;
    session.check()?;
    let mut notes = Vec::new();
    let mut done = Done::default();
    if !options.dry_run && !plan.is_empty() {
        let time = Session::now().replace([':', '-'], "");
        done = restore(repository, known, &survey, &plan, asked, &time)?;
        // all is done: that it cannot be looked at again is no failure of it
        notes.extend(left(repository, known, &plan).unwrap_or_else(|error| {
            let name = &known.record.name;
            vec![format!("{error}; to verify it: git agentwt verify {name}")]
        }));
    }
    notes.extend(plan.stays.iter().map(|v| stays(known, v)));
    let lost = plan.paths.iter().filter(|v| v.cannot_be_saved());
    notes.extend(lost.map(|v| {
        let path = &v.path;
        format!("{path} is no file: it has no content to save, and --undo does not make it again")
    }));
    let all = plan.stays.is_empty();
    let restored = Restored {
        name: known.record.name.to_string(),
        path: known.record.path.clone(),
        dry_run: options.dry_run,
        plan,
        done,
    };
    let exit = if !all || notes.iter().any(|note| note.ends_with(STILL)) {
        ExitCode::Violations
    } else {
        ExitCode::Success
    };
    Ok(Outcome {
        answer: RestoreAnswer::Restored(restored),
        notes,
        exit,
    })
}

/// Says why a placed file was left as it is, and what to do about it.
fn stays(known: &Worktree, violation: &Violation) -> String {
    let (name, path) = (&known.record.name, &violation.path);
    let is = if violation.disk.is_some() {
        "is edited and stays as it is"
    } else {
        "is gone and cannot be put back"
    };
    match (violation.source, violation.disk) {
        (Some(There::Same | There::Newer), _) => format!(
            "{path} {is}: its source has changed since; to take that: git agentwt sync {name} --force"
        ),
        (Some(There::Gone), Some(_)) => format!(
            "{path} {is}: its source is gone; to make it the source: git agentwt sync {name} --pull {path}"
        ),
        (Some(There::Gone), None) => {
            format!("{path} {is}: its source is gone as well: git agentwt sync {name} --status")
        }
        (Some(There::None) | None, _) => {
            format!("{path} {is}: it is context, which nothing else holds")
        }
    }
}

/// Verifies again, for `list` and for what is still not in order.
fn left(
    repository: &Repository,
    known: &Worktree,
    plan: &RestorePlan,
) -> Result<Vec<String>, Error> {
    let survey = collect(repository, known, &IndexFile::Own)?;
    let report = verify(
        &known.scope,
        survey.changes,
        Layers::All,
        Strictness::Normal,
    );
    let name = &known.record.name;
    let mut notes = Vec::new();
    if let Err(error) = outcome::store(known, &report, &Session::now()) {
        notes.push(format!("the outcome is not kept for `list`: {error}"));
    }
    for finding in report.violations() {
        let path = finding.change.place.path();
        if let Some(path) = path.filter(|path| plan.paths.iter().any(|v| v.path == **path)) {
            notes.push(format!("{path} {STILL}"));
        }
    }
    match report.violations().count() {
        0 => {}
        1 => notes.push(format!("1 violation is left: git agentwt verify {name}")),
        n => notes.push(format!(
            "{n} violations are left: git agentwt verify {name}"
        )),
    }
    Ok(notes)
}

fn run_undo(
    repository: &Repository,
    known: &Worktree,
    named: Option<&str>,
    asked: &[RepoPath],
    options: &crate::cli::Restore,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let name = known.record.name.to_string();
    if let Some(path) = asked.first() {
        let text = path.to_string();
        return Err(Refusal::from(RestoreRefusal::UndoTakesNoPath { name, text }).into());
    }
    let saved = facts::find_saved(repository, known, named)?;
    let saved = saved.ok_or_else(|| match named {
        Some(text) => RestoreRefusal::UnknownRestore {
            name: name.clone(),
            text: crate::path::escape_for_terminal(text.as_bytes()),
        },
        None => RestoreRefusal::NothingToUndo { name: name.clone() },
    });
    let saved = saved.map_err(Refusal::from)?;
    let rescue = saved.rescue.clone();
    let survey = collect(repository, known, &IndexFile::Own)?;
    let facts = facts::read_undo(repository, known, &survey, saved)?;
    let plan = undo::plan(&facts).map_err(Refusal::from)?;
    let is_empty = plan.paths.is_empty() && plan.branch.is_none();
    if !options.dry_run && !is_empty {
        undo(repository, known, &plan, &rescue)?;
    }
    let lost = plan.lost.iter();
    let notes = lost.map(|path| format!("{path} was no file, and is not made again"));
    Ok(Outcome {
        notes: notes.collect(),
        ..Outcome::done(RestoreAnswer::Undone(Undone {
            name,
            path: known.record.path.clone(),
            dry_run: options.dry_run,
            rescue,
            plan,
        }))
    })
}
