//! `git agentwt status`: one worktree in full.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::change::Change;
use crate::disk::drift::drift;
use crate::disk::files;
use crate::disk::usage::{Usage, usage};
use crate::error::Error;
use crate::facts::changes::{Survey, collect};
use crate::facts::held::Held;
use crate::facts::position::{Position, position};
use crate::facts::shared::main_changed;
use crate::facts::{IndexFile, Repository};
use crate::git::hooks::HooksStatus;
use crate::name::CommitId;
use crate::placed::{Drift, PlacedFile, PlacedKind};
use crate::worktree::Worktree;
use crate::worktree::{LastVerification, Record};

/// Holds all that is known of one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusAnswer {
    /// Its record.
    pub record: Box<Record>,
    /// The commit it is on.
    pub head: CommitId,
    /// How many commits its branch has that the base does not.
    pub commits: u64,
    /// What changed since the base, ignored artefacts apart.
    pub changes: Vec<Change>,
    /// How many of these paths are not committed.
    pub uncommitted: usize,
    /// How many ignored files are there.
    pub ignored: usize,
    /// How many files of the main worktree are not as committed; none where that is not known.
    pub main_changed: Option<usize>,
    /// The hooks; none when they cannot be looked at.
    pub hooks: Option<HooksStatus>,
    /// What was placed, with how it has moved; none when its directory is gone. Directories only
    /// if they have.
    pub placed: Option<Vec<(PlacedFile, Drift)>>,
    /// Where its branch stands.
    pub position: Position,
    /// Who has it.
    pub held: Held,
    /// How much of the disk it takes.
    pub size: Usage,
    /// The last verification.
    pub last: Option<LastVerification>,
    /// Its directory.
    pub path: Utf8PathBuf,
}

/// Shows the named worktrees, or the one that we are in.
///
/// # Errors
/// Fails when the facts of one cannot be read.
pub fn run(
    session: &Session,
    options: &crate::cli::Status,
) -> Result<Outcome<Vec<StatusAnswer>>, Error> {
    let repository = session.repository()?;
    let mut chosen: Vec<Worktree> = Vec::new();
    if options.names.is_empty() {
        chosen.push(Worktree::of(&repository, None)?);
    }
    for name in &options.names {
        let known = Worktree::of(&repository, Some(name))?;
        if !chosen.iter().any(|other| other.dir == known.dir) {
            chosen.push(known);
        }
    }
    let answers = chosen
        .into_iter()
        .map(|known| known.unless_gone(&repository, of(&repository, known.clone(), options)));
    Ok(Outcome::done(answers.collect::<Result<_, _>>()?))
}

fn of(
    repository: &Repository,
    known: Worktree,
    options: &crate::cli::Status,
) -> Result<StatusAnswer, Error> {
    let home = repository;
    let repository = &known.readable_repository(repository);
    let survey = collect(repository, &known, &IndexFile::Own)?;
    let record = &known.record;
    let hooks = known.hooks(repository);
    let hooks = hooks.and_then(|hooks| hooks.status()).ok();
    let uncommitted = survey.uncommitted(&known).len();
    let ignored = survey.ignored();
    let placed = placed(repository, &known, &survey)?;
    let set = survey.changes;
    let commits = repository
        .git
        .rev_list_count(&record.base.commit, &set.head)?;
    let measured = if options.size && files::is_directory(&record.path) {
        usage(&[&record.path]).pop().unwrap_or(Usage::Unknown)
    } else {
        Usage::NotAsked
    };
    let changes = set.changes.into_iter().chain(set.integrity);
    Ok(StatusAnswer {
        head: set.head,
        commits,
        changes: changes.filter(|change| !change.is_ignored()).collect(),
        uncommitted,
        ignored,
        main_changed: main_changed(home, &[&known]).ok().flatten(),
        hooks,
        placed,
        position: position(home, &known)?,
        held: Held::of(record),
        size: measured,
        last: known.last_verification(),
        path: record.path.clone(),
        record: Box::new(known.record),
    })
}

/// What was placed and is not tracked by now.
fn placed(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
) -> Result<Option<Vec<(PlacedFile, Drift)>>, Error> {
    let (root, placed) = (&known.record.path, &survey.states.placed);
    if !files::is_directory(root) {
        return Ok(None);
    }
    let drifts = drift(root, Some(&repository.root), placed)?;
    let all = placed.files().iter().cloned().zip(drifts);
    let counts = |(file, drift): &(PlacedFile, Drift)| {
        file.kind != PlacedKind::Directory || !drift.is_same()
    };
    Ok(Some(all.filter(counts).collect()))
}
