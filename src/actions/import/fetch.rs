//! Fetches all that a run made: from here on nothing of it can be lost.
//!
//! The tip of its branch comes into `refs/agentwt/incoming/<name>`, what else it made or left into
//! `refs/agentwt/run/<name>/<id>`, its branches and tags into `refs/agentwt/kept/<name>/<id>`. What
//! the repository has already can be there for an import that was stopped, or for a reflog: only a
//! ref keeps it, so that is fetched all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::BString;

use crate::actions::bring;
use crate::actions::bring::{kept_ref, kept_refs};
use crate::actions::import::examine::{
    Examination, examine_content, examine_objects, is_no_commit,
};
use crate::actions::import::outcome::{ImportFailure, NoCommit};
use crate::actions::import::run::RunToImport;
use crate::actions::run_objects::{BATCH, fetch_each, find_abandoned};
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::landing::FetchCheck;
use crate::git::process::Git;
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::escape_for_terminal;
use crate::worktree::private_git::{incoming_ref, run_refs};

/// How long git may take to fetch the commits of a run, whose objects can be of any size.
const LONGEST_FETCH: Duration = Duration::from_secs(600);
/// How many branches and tags are named.
const MOST_NAMED: usize = 20;

/// Says what of a run was fetched.
#[derive(Default)]
pub struct Fetched {
    /// Commits, stashes and branches that git could not fetch.
    pub lost: Vec<CommitId>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What is to be fetched beside the tip of the branch, each with its ref.
struct Wanted<'a> {
    /// What HEAD, stashes, branches and tags name.
    work: BTreeMap<&'a CommitId, String>,
    /// Of it, the branches and tags.
    branches: Vec<(&'a BString, &'a CommitId)>,
    /// What the run amended or reset away.
    abandoned: BTreeMap<&'a CommitId, String>,
}

/// Fetches all that the run made. Without the tip of its branch there is no import; all else is
/// here then.
///
/// # Errors
/// Fails when git does.
pub fn fetch(run: &RunToImport<'_>) -> Result<Fetched, ImportFailure> {
    let tip_result = run.tip.as_ref().map(|tip| fetch_tip(run, tip));
    let wanted = find_wanted(run)?;
    let git = hardened(run).with_limit(LONGEST_FETCH);
    let lost = fetch_each(&git, run.private, &wanted.work);
    fetch_each(&git, run.private, &wanted.abandoned);
    tip_result.transpose()?;
    if let Some(tip) = &run.tip {
        point_incoming(run, tip)?;
    }
    let mut notes = Vec::new();
    if let [first, more @ ..] = lost.as_slice() {
        let more = more.len();
        let directory = run.private.git_dir();
        notes.push(format!(
            "{first} and {more} more cannot be fetched from {directory}, which stays"
        ));
    }
    notes.extend(note_of_branches(run, &wanted, &lost));
    Ok(Fetched { lost, notes })
}

/// Fetches the objects of staged files, of which no commit may know, and returns whether all are
/// here now.
///
/// # Errors
/// Fails when the repository cannot be read.
pub fn fetch_staged(run: &RunToImport<'_>, staged: &BTreeSet<ObjectId>) -> Result<bool, Error> {
    let objects = run.repository.objects()?;
    let mut missing = Vec::new();
    for id in staged {
        if !objects.is_blob(id) {
            missing.push(id.to_string());
        }
    }
    for batch in missing.chunks(BATCH) {
        if fetch_specs(run, batch).is_err() {
            return Ok(false);
        }
    }
    Ok(staged.iter().all(|id| objects.is_blob(id)))
}

/// Fetches the tip of the branch. Where git fails though all objects can be read, it is started
/// once more: a child of it can have been ended, as for want of memory. The failure says whether a
/// later import may succeed.
fn fetch_tip(run: &RunToImport<'_>, tip: &CommitId) -> Result<(), ImportFailure> {
    if is_no_commit(run.repository, run.private, tip) {
        let record = &run.worktree.record;
        let no_commit = NoCommit {
            name: record.name.to_string(),
            branch: record.branch.to_string(),
            id: tip.to_string(),
        };
        return Err(ImportFailure::UnreadableRun(no_commit.into()));
    }
    let specs = [spec(tip, &run_ref(run, tip))];
    let Err(first_error) = fetch_specs(run, &specs) else {
        return Ok(());
    };
    if examine_objects(run.repository, run.private, tip) == Examination::Unreadable {
        return Err(ImportFailure::UnreadableRun(first_error.into()));
    }
    let Err(error) = fetch_specs(run, &specs) else {
        return Ok(());
    };
    let examination = if matches!(error, GitError::TimedOut { .. }) {
        // no later import would have more time
        Examination::Unreadable
    } else {
        examine_content(
            run.repository,
            run.worktree,
            run.private,
            tip,
            LONGEST_FETCH,
        )
    };
    match examination {
        Examination::Unreadable => Err(ImportFailure::UnreadableRun(error.into())),
        Examination::Readable => Err(ImportFailure::Stopped(error.into())),
    }
}

/// Finds what is to be fetched beside the tip of the branch: what no ref names yet, and branches
/// and tags also where only a ref for a time names them.
fn find_wanted<'a>(run: &'a RunToImport<'_>) -> Result<Wanted<'a>, Error> {
    let git = hardened(run);
    let result = &run.result;
    let mut lasting = named_by_refs(&git, &kept_refs(run.worktree))?;
    lasting.extend(run.before.iter().chain(&run.tip).cloned());
    // the user's own refs, which the run began with
    lasting.extend(result.began.iter().cloned());
    // the refs for a time too: an import that was stopped has fetched what they name
    let mut named = named_by_refs(&git, &run_refs(run.worktree))?;
    named.extend(lasting.iter().cloned());
    let mut work = BTreeMap::new();
    for id in result.head.iter().chain(&result.stashes) {
        if !named.contains(id) {
            work.insert(id, run_ref(run, id));
        }
    }
    let mut branches = Vec::new();
    for (name, id) in &result.others {
        if !lasting.contains(id) {
            branches.push((name, id));
            // in place of the ref for a time that was chosen above, where HEAD is on the same commit
            work.insert(id, kept_ref(run.worktree, id));
        }
    }
    let mut been_on: Vec<&CommitId> = result.been_on.iter().collect();
    been_on.retain(|id| !named.contains(*id));
    // the branch first: it is near, and most are reached from there
    let branch: Vec<&CommitId> = run.before.iter().chain(&run.tip).collect();
    let began: Vec<&CommitId> = result.began.iter().collect();
    let mut abandoned = BTreeMap::new();
    for id in find_abandoned(run.repository, run.private, been_on, &[branch, began])? {
        if !work.contains_key(id) {
            abandoned.insert(id, run_ref(run, id));
        }
    }
    Ok(Wanted {
        work,
        branches,
        abandoned,
    })
}

/// Moves the ref of what came in to the tip, with what it named before kept.
fn point_incoming(run: &RunToImport<'_>, tip: &CommitId) -> Result<(), Error> {
    let incoming = incoming_ref(run.worktree);
    bring::point(run.repository, &incoming, tip, &|id| run_ref(run, id))?;
    Ok(hardened(run).delete_ref(&run_ref(run, tip), tip)?)
}

/// Says which branches and tags of the run are kept by refs.
fn note_of_branches(
    run: &RunToImport<'_>,
    wanted: &Wanted<'_>,
    lost: &[CommitId],
) -> Option<String> {
    let mut names = Vec::new();
    for (name, id) in &wanted.branches {
        if !lost.contains(*id) {
            names.push(escape_for_terminal(name));
        }
    }
    if names.is_empty() {
        return None;
    }
    let count = names.len();
    names.truncate(MOST_NAMED);
    let listed = names.join(", ");
    let worktree = &run.worktree.record.name;
    Some(format!(
        "refs of the command are kept ({count}): {listed}; to see them: git log \
         --glob=refs/agentwt/kept/{worktree}"
    ))
}

fn fetch_specs(run: &RunToImport<'_>, specs: &[String]) -> Result<(), GitError> {
    let git = hardened(run).with_limit(LONGEST_FETCH);
    let from = run.private.git_dir();
    git.fetch_objects(from.as_str(), FetchCheck::Fsck, specs)
}

fn hardened(run: &RunToImport<'_>) -> Git {
    run.repository.git.with_mode(GitMode::Hardened)
}

/// The ref that names an object of a run for a time.
fn run_ref(run: &RunToImport<'_>, id: &CommitId) -> String {
    run_refs(run.worktree) + id.as_str()
}

/// The refspec that brings an object into a ref.
fn spec(id: &CommitId, name: &str) -> String {
    format!("{id}:{name}")
}

/// The objects that the refs below a name name.
fn named_by_refs(git: &Git, below: &str) -> Result<BTreeSet<CommitId>, GitError> {
    let refs = git.for_each_ref(&[below])?;
    Ok(refs.into_iter().map(|named| named.id).collect())
}
