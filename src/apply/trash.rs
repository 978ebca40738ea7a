//! Saves a worktree before it is removed: as a commit under `refs/agentwt/trash/<name>/<time>`,
//! from which `remove --undo` brings it back (`docs/decisions/0019-trash.md`).
//!
//! Its tree is HEAD's with what is on disk, so that git's own commands show the work; its first
//! parent is HEAD. Its last parent holds the rest: how every file was, the index, the private git
//! directory and the record. No index is touched, no filter runs.

mod clone;
mod files;
mod state;

use std::collections::BTreeSet;
use std::time::Duration;

use camino::Utf8Path;

use crate::disk::files::names;
use crate::disk::remains::{Suspect, remove_dead_locks};
use crate::error::Error;
use crate::facts::trash::TRASH;
use crate::facts::{Repository, Worktree};
use crate::git::objects::Objects;
use crate::git::trees::Edits;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::plan::remove::RemovePlan;
use crate::plan::trash::{Trashed, expired};
use crate::scope::{Access, EntryKind};
use crate::truth::Survey;
use crate::worktree::saved::{Rescue, unused_ref};
pub use files::Since;

/// Holds what was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTrash {
    /// Where.
    pub rescue: Rescue,
    /// What is not in it, for people.
    pub notes: Vec<String>,
}

/// Holds what is saved, and when.
pub(super) struct Saving<'a> {
    pub repository: &'a Repository,
    pub known: &'a Worktree,
    pub survey: &'a Survey,
    pub objects: &'a Objects,
    /// What git would lose.
    pub work: BTreeSet<&'a RepoPath>,
    /// Whether the whole history is saved: that of a clone of another repository.
    pub whole: bool,
    /// The commit whose tree the files are compared with.
    pub head: &'a CommitId,
    /// Now, RFC 3339.
    pub time: &'a str,
}

/// Saves the whole worktree. `since` was taken before it was surveyed: what is changed from then on
/// is refused.
///
/// # Errors
/// Fails when somebody works there, a file cannot be read or git fails; no ref then stays.
pub fn save(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    plan: &RemovePlan,
    since: &Since,
    time: &str,
) -> Result<SavedTrash, Error> {
    let objects = repository.objects()?;
    let head = match survey.heads.unborn() {
        // what the manifest was made of: each of its paths is looked at
        Some(_) => Some(&known.record.checked_out),
        None => survey.heads.head.as_ref().or(plan.keep.first()),
    };
    let saving = Saving {
        repository,
        known,
        survey,
        objects: &objects,
        work: plan.save.iter().collect(),
        whole: clone::is_whole(repository, known)?,
        head: head.unwrap_or(&known.record.base.commit),
        time,
    };
    let files = files::save(&saving)?;
    let state = state::save(&saving, &files, &plan.keep)?;
    let tree = objects.commit(saving.head)?.tree;
    let tree = objects.write_tree(Some(&tree), work(&saving, &files))?;
    let mut parents = vec![saving.head];
    parents.extend(plan.keep.iter().filter(|commit| *commit != saving.head));
    parents.push(&state);
    let name = &known.record.name;
    let message = format!(
        "git-agentwt: what was not committed in {name} when it was removed\n\n\
         To bring the worktree back: git agentwt remove --undo {name}\n"
    );
    let git = &repository.git;
    let commit = git.commit_tree(&tree.to_string(), &message, &parents)?;
    let rescue = write_ref(repository, known, commit, time)?;
    // as late as can be
    files::check(&saving, &files, since).inspect_err(|_| {
        let _ = git.delete_ref(&rescue.name, &rescue.commit);
    })?;
    let notes = files.notes;
    Ok(SavedTrash { rescue, notes })
}

/// Saves only commits that nothing else holds once the branch is deleted; none when there are none.
///
/// # Errors
/// Fails when git does; no ref is then written.
pub fn save_commits(
    repository: &Repository,
    known: &Worktree,
    plan: &RemovePlan,
    time: &str,
) -> Result<Option<SavedTrash>, Error> {
    let commit = match plan.keep.as_slice() {
        [] => return Ok(None),
        [only] => only.clone(),
        [first, ..] => {
            let tree = repository.objects()?.commit(first)?.tree.to_string();
            let name = &known.record.name;
            let message = format!("git-agentwt: commits of {name} when it was removed\n");
            let parents: Vec<&CommitId> = plan.keep.iter().collect();
            repository.git.commit_tree(&tree, &message, &parents)?
        }
    };
    let rescue = write_ref(repository, known, commit, time)?;
    let notes = Vec::new();
    Ok(Some(SavedTrash { rescue, notes }))
}

fn write_ref(
    repository: &Repository,
    known: &Worktree,
    commit: CommitId,
    time: &str,
) -> Result<Rescue, Error> {
    let time = time.replace([':', '-'], "");
    let name = format!("{TRASH}{}/{time}", known.record.name);
    let name = unused_ref(repository, &name)?;
    let reason = "agentwt: saved before removal";
    end_locks(repository, known);
    let written = repository.git.update_ref(&name, &commit, None, reason);
    written.inspect_err(|error| {
        if error.was_killed() {
            end_locks(repository, known);
        }
    })?;
    Ok(Rescue { name, commit })
}

/// Removes what a git left that was killed while it saved this worktree: nobody else writes there
/// while we hold the lock of the name.
fn end_locks(repository: &Repository, known: &Worktree) {
    let below = format!("{TRASH}{}", known.record.name);
    let directory = repository.common_dir.join(below);
    let names = names(&directory).unwrap_or_default();
    let locks = names
        .iter()
        .filter(|name| Utf8Path::new(name).extension() == Some("lock"));
    let suspects: Vec<Suspect> = locks
        .map(|lock| Suspect {
            file: directory.join(lock),
            patience: Duration::from_millis(200),
        })
        .collect();
    remove_dead_locks(&suspects, &known.dir.join("record.toml"));
}

/// What turns HEAD's tree into what is on disk, where that is work.
fn work(saving: &Saving<'_>, files: &files::Files) -> Edits {
    let mut edits = Edits::new();
    for path in &saving.work {
        let content = files.content.get(*path);
        let verdict = saving.known.scope.verdict(path, EntryKind::File);
        // an excluded path is absent on purpose, not deleted; of a directory that is gone only
        // what was staged is left
        let on_purpose = verdict.access == Access::Excluded || files.is_gone;
        match content {
            Some(entry) => drop(edits.insert(path.as_bstr().to_vec(), Some((*entry).into()))),
            None if on_purpose => {}
            None => drop(edits.insert(path.as_bstr().to_vec(), None)),
        }
    }
    edits
}

/// Deletes what was removed at this moment or before ([`crate::facts::trash::expiry`]); what was
/// deleted. Git collects the objects later.
///
/// # Errors
/// Fails when git does; what was deleted until then stays deleted.
pub fn expire(
    repository: &Repository,
    all: &[Trashed],
    moment: i64,
) -> Result<Vec<Trashed>, Error> {
    let mut gone = Vec::new();
    for one in expired(all, moment) {
        repository.git.delete_ref(&one.reference, &one.commit)?;
        gone.push(one.clone());
    }
    Ok(gone)
}
