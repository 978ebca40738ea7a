//! `git agentwt verify`: holds the ground truth against the scope.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::outcome;
use crate::apply::register::accept_shared;
use crate::disk::files::Lock;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::changes::collect;
use crate::facts::integrity;
use crate::facts::shared::main_changes;
use crate::facts::worktree::{Recorded, names};
use crate::facts::{IndexFile, Known, Repository};
use crate::verify::{Layers, Report, Strictness, verify};

/// Holds the verdict over one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// The report.
    pub report: Report,
}

/// Verifies one, several or all worktrees. Violations in any of them end with 1.
///
/// # Errors
/// Fails when the facts of one cannot be read: there is then no verdict at all.
pub fn run(
    session: &Session,
    options: &crate::cli::Verify,
) -> Result<Outcome<Vec<Verified>>, Error> {
    let repository = session.repository()?;
    let strictness = if options.strict {
        Strictness::Strict
    } else {
        Strictness::Normal
    };
    let layers = if options.net {
        Layers::Net
    } else {
        Layers::All
    };
    let mut outcome = Outcome::done(Vec::new());
    let chosen = chosen(&repository, options)?;
    let main = main_changes(&repository, &chosen.iter().collect::<Vec<_>>())?;
    for (mut known, main_changed) in chosen.into_iter().zip(main) {
        if options.accept_shared {
            let _one_at_a_time = Lock::wait(&repository.name_lock(&known.record.name))?;
            known = accept_shared(&repository, &known)?;
        }
        let mut changes = collect(&repository, &known, &IndexFile::Own)?.changes;
        changes.main_changed = main_changed;
        changes.integrity.extend(integrity::lock(&known.record));
        let report = verify(&known.scope, changes, layers, strictness);
        if !report.valid() {
            outcome.exit = ExitCode::Violations;
        }
        if let Err(error) = outcome::store(&known, &report, &Session::now()) {
            outcome
                .notes
                .push(format!("the outcome is not kept for `list`: {error}"));
        }
        let (name, path) = (known.record.name.to_string(), known.record.path);
        outcome.answer.push(Verified { name, path, report });
    }
    Ok(outcome)
}

fn chosen(repository: &Repository, options: &crate::cli::Verify) -> Result<Vec<Known>, Error> {
    let mut chosen = Vec::new();
    if options.all {
        for name in names(repository)? {
            if let Recorded::Whole(known) = Recorded::read(repository, &name)? {
                chosen.push(*known);
            }
        }
    } else if options.names.is_empty() {
        chosen.push(Known::of(repository, None)?);
    } else {
        for name in &options.names {
            let known = Known::of(repository, Some(name))?;
            if !chosen.iter().any(|other: &Known| other.dir == known.dir) {
                chosen.push(known);
            }
        }
    }
    Ok(chosen)
}
