//! `git agentwt changed`: the ground truth.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::change::{Change, ChangeSet};
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::changes::collect;
use crate::facts::{IndexFile, Known};

/// Holds what changed in a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedAnswer {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// The whole set.
    pub set: ChangeSet,
    /// What is shown of it: ignored artefacts only when they were asked for.
    pub shown: Vec<Change>,
}

/// Collects what changed.
///
/// # Errors
/// Fails when the facts cannot be read; never says "nothing" instead.
pub fn run(
    session: &Session,
    options: &crate::cli::Changed,
) -> Result<Outcome<ChangedAnswer>, Error> {
    let repository = session.repository()?;
    let known = Known::of(&repository, options.name.as_deref())?;
    let set = collect(&repository, &known, &IndexFile::Own)?.changes;
    let shown = |change: &&Change| options.ignored || !change.is_ignored();
    let shown = set
        .changes
        .iter()
        .chain(&set.integrity)
        .chain(set.shared.iter().map(|one| &one.change))
        .filter(shown)
        .cloned()
        .collect();
    let name = known.record.name.to_string();
    let path = known.record.path;
    let answer = ChangedAnswer {
        name,
        path,
        set,
        shown,
    };
    Ok(Outcome {
        answer,
        notes: Vec::new(),
        exit: ExitCode::Success,
    })
}
