//! `git agentwt remove --undo`: brings removed worktrees back as they were.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::revive::Reviving;
use crate::disk::files::Lock;
use crate::error::Error;
use crate::facts::trash::{self as facts, Saved};
use crate::facts::{Repository, WorktreeError};
use crate::name::WorktreeName;
use crate::plan::refusal::Refusal;
use crate::plan::trash::refusal::TrashRefusal;
use crate::plan::trash::{RevivePlan, Trashed, chosen, plan};
use crate::worktree::RecordState;
use crate::worktree::unfinished::remove_unfinished;

/// Holds one worktree that came back, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revived {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whether it was only looked at (`-n`).
    pub dry_run: bool,
    /// What was done.
    pub plan: RevivePlan,
    /// Every removal of this name that is kept, the newest last.
    pub all: Vec<Trashed>,
}

/// Brings the named worktrees back, one after the other.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails: that one is then not there, those before it
/// are.
pub fn run(
    session: &Session,
    options: &crate::cli::Remove,
) -> Result<Outcome<Vec<Revived>>, Error> {
    let repository = session.repository_to_change()?;
    let count = options.names.len();
    if options.from.is_some() && count > 1 {
        return Err(Refusal::from(TrashRefusal::SeveralFrom { count }).into());
    }
    let mut revived = Vec::new();
    let mut notes = Vec::new();
    for text in &options.names {
        session.check()?;
        let name = WorktreeName::parse(text).map_err(|error| Refusal::BadName {
            text: crate::path::escape_for_terminal(text.as_bytes()),
            why: error.to_string(),
        })?;
        let _one_at_a_time = Lock::wait(&repository.name_lock(&name))?;
        let (one, more) = revive(session, &repository, &name, options)?;
        revived.push(one);
        notes.extend(more);
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(revived)
    })
}

fn revive(
    session: &Session,
    repository: &Repository,
    name: &WorktreeName,
    options: &crate::cli::Remove,
) -> Result<(Revived, Vec<String>), Error> {
    let everything = facts::all(repository)?;
    let of_name = everything.iter().filter(|one| one.name == *name);
    let all: Vec<Trashed> = of_name.cloned().collect();
    let one = chosen(&all, options.from.as_deref());
    let Some(one) = one else {
        let kept = facts::kept(repository, name)?;
        return Err(unknown(name, options.from.as_deref(), &all, &everything, kept).into());
    };
    let objects = repository.objects()?;
    let saved = Saved::read(&objects, one)?;
    let saved = saved.ok_or_else(|| TrashRefusal::OnlyCommits {
        name: name.to_string(),
        branch: format!("agentwt/{name}"),
        reference: one.reference.clone(),
    });
    let saved = saved.map_err(Refusal::from)?;
    if let RecordState::Incomplete(intent) = RecordState::read(repository, name)? {
        // we hold the lock of the name, so whoever wrote this is gone
        if options.dry_run {
            let name = name.to_string();
            return Err(WorktreeError::Incomplete { name }.into());
        }
        remove_unfinished(repository, &intent)?;
    }
    let facts = facts::read_revive(repository, &saved, one)?;
    let plan = plan(&facts).map_err(Refusal::from)?;
    let mut notes = Vec::new();
    if !options.dry_run {
        let check = || session.check();
        let reviving = Reviving {
            repository,
            saved: &saved,
            plan: &plan,
            time: Session::now(),
            binary: &session.binary,
            check: &check,
        };
        notes = reviving.apply()?;
    }
    let revived = Revived {
        name: name.to_string(),
        path: plan.path.clone(),
        branch: plan.trash.branch.to_string(),
        dry_run: options.dry_run,
        plan,
        all,
    };
    Ok((revived, notes))
}

fn unknown(
    name: &WorktreeName,
    from: Option<&str>,
    all: &[Trashed],
    everything: &[Trashed],
    kept: Vec<String>,
) -> Refusal {
    let name = name.to_string();
    let refusal = match from {
        Some(text) if !all.is_empty() => TrashRefusal::Unknown {
            name,
            text: text.to_owned(),
        },
        Some(_) | None => {
            let mut others: Vec<String> = everything.iter().map(|t| t.name.to_string()).collect();
            others.dedup();
            TrashRefusal::Nothing { name, others, kept }
        }
    };
    refusal.into()
}
