//! Brings what a fenced command committed home, all or nothing: [`import`].
//!
//! Killed at any point, the branch is where it was, and the next import does it again
//! (`docs/decisions/0039-private-git-directory.md`).

pub mod apply;
pub mod examine;
pub mod fetch;
pub mod kept;
pub mod left_behind;
pub mod not_given;
pub mod outcome;
pub mod plan;
pub mod run;
pub mod staged;
pub mod verify;

use crate::actions::import::apply::{Applied, Incoming, apply};
use crate::actions::import::fetch::{Fetched, fetch, fetch_staged};
use crate::actions::import::kept::take_own_lock;
use crate::actions::import::left_behind::LeftBehind;
use crate::actions::import::outcome::{ImportFailure, Imported};
use crate::actions::import::plan::{
    BranchStep, GitDirectoryStep, ImportFacts, ImportPlan, ImportVerdict, IndexLockHolder,
    StagedStep, UserHead, UserIndex, plan,
};
use crate::actions::import::run::RunToImport;
use crate::actions::import::staged::{compare_user_index, keep_staged};
use crate::actions::import::verify::{Verified, seal_of, verify};
use crate::actions::lfs_contents::copy_lfs_contents;
use crate::answer::shapes::BranchMove;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::locked_file::MarkedLock;
use crate::truth::options::LargeFiles;
use crate::words::error::Error;
use crate::words::path::escape_for_terminal;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::read_operation;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;

/// Imports what the last run left. The processes of that run have ended, and the lock of the name
/// is held. `now` is the time, RFC 3339 in UTC.
///
/// 1. The git directory of the run is made readable, and what the run left is listed.
/// 2. All of it is fetched with fsck, and named by refs: from here on nothing can be lost.
/// 3. The worktree is verified as if its branch had the commits already.
/// 4. Under the lock of the index, what the user did meanwhile is read.
/// 5. What becomes of branch, index and git directory is planned.
/// 6. The index of the run becomes that of the worktree, the branch moves by compare-and-swap, and
///    the git directory goes, or stays for what only it has.
///
/// # Errors
/// Fails when git or the disk does: then the branch is where it was, and the git directory of the
/// run stays.
pub fn import(
    repository: &Repository,
    worktree: &Worktree,
    private: &PrivateGit,
    now: &str,
) -> Result<Imported, ImportFailure> {
    // 1
    let run = RunToImport::read(repository, worktree, private)?;
    // 2
    let fetched = fetch(&run)?;
    copy_lfs_contents(&private.git_dir(), &repository.common_dir)
        .map_err(|error| ImportFailure::in_git_directory(error.into()))?;
    // 3
    let verified = verify(&run, LargeFiles::Unread)?;
    let left_behind = find_left_behind(&run, &fetched, &verified)?;
    // 4
    let lock = take_own_lock(worktree, &worktree.record.admin_dir.join("index"))?;
    let user_index = compare_user_index(&run);
    if user_index == UserIndex::AsInRun && lock.is_some() {
        // git can have written it anew: the next import compares with this one
        private.link_index(worktree)?;
    }
    let facts = read_facts(&run, &verified, left_behind, user_index, lock.as_ref())?;
    // 5
    let plan = plan(&facts);
    // 6
    let mut notes = fetched.notes;
    for left in &facts.left {
        notes.extend(note_of(&run, left));
    }
    if plan.staged == StagedStep::KeptByRef {
        notes.extend(keep_staged(&run, &verified.staged_only)?);
    }
    if verified.verdict() == ImportVerdict::Violations {
        notes.extend(note_of_fetched(&run));
    }
    // as if the branch stayed: `perform` corrects that
    let mut imported = Imported {
        moved: None,
        stays_away: facts.tip.clone(),
        branch_commit: facts.now.clone(),
        conflict: facts.conflict(),
        left: facts.leftovers(),
        index: facts.user_index,
        seal: seal_of(&run, &verified.report),
        report: verified.report,
        notes,
    };
    let incoming = Incoming {
        index: verified.index,
        tip_owner: verified.tip_owner,
    };
    perform(&run, &plan, incoming, &mut imported)?;
    worktree.write_verification(&imported.report, now)?;
    Ok(imported)
}

/// Finds what the run left beside commits on its branch, and fetches the staged files, as only that
/// shows which of them git cannot fetch.
fn find_left_behind(
    run: &RunToImport<'_>,
    fetched: &Fetched,
    verified: &Verified,
) -> Result<Vec<LeftBehind>, Error> {
    let mut left = Vec::new();
    for path in &verified.nested {
        left.push(LeftBehind::NestedRepository(path.clone()));
    }
    if verified.index.is_none() {
        left.push(LeftBehind::UnreadableIndex);
    } else if !fetch_staged(run, &verified.staged)? {
        left.push(LeftBehind::UnfetchedFiles);
    }
    if let Some(operation) = run.result.operation {
        // it ends first, with HEAD detached or where it began: the import after that tells where
        left.push(LeftBehind::Operation(operation));
    } else if !run.result.is_on_branch(run.worktree) {
        left.push(LeftBehind::OtherHead);
    }
    if !run.result.stashes.is_empty() {
        left.push(LeftBehind::Stash);
    }
    if run.private.has_repositories() {
        left.push(LeftBehind::Repositories);
    }
    if !fetched.lost.is_empty() {
        left.push(LeftBehind::UnfetchedCommits);
    }
    Ok(left)
}

/// Reads the facts by which the import is planned. `lock` is that of the user's index: with it,
/// nothing is staged between here and the end; without it, a git works on that index, and the plan
/// takes that for a conflict.
fn read_facts(
    run: &RunToImport<'_>,
    verified: &Verified,
    left: Vec<LeftBehind>,
    user_index: UserIndex,
    lock: Option<&MarkedLock>,
) -> Result<ImportFacts, Error> {
    let worktree = run.worktree;
    let branch = worktree.record.branch.full_ref();
    let head_ref = worktree.git(run.repository).symbolic_ref_head()?;
    let head = if head_ref.as_ref() == Some(&branch) {
        UserHead::OnBranch
    } else {
        UserHead::Elsewhere
    };
    let lock_holder = match lock {
        Some(_) => IndexLockHolder::Import,
        None => IndexLockHolder::Git,
    };
    Ok(ImportFacts {
        verdict: verified.verdict(),
        began: run.began.clone(),
        before: run.before.clone(),
        tip: run.tip.clone(),
        head,
        // what the user commits waits for the lock by now
        now: run.repository.git.rev_parse_commit(&branch)?,
        operation: read_operation(&worktree.record),
        lock: lock_holder,
        user_index,
        left,
    })
}

/// Performs the plan, writes down in which state the run is then, and corrects `imported`.
/// Where the index of the run cannot be read, the next command gets that of the worktree.
fn perform(
    run: &RunToImport<'_>,
    plan: &ImportPlan,
    incoming: Incoming,
    imported: &mut Imported,
) -> Result<(), Error> {
    let is_index_readable = incoming.index.is_some();
    match &plan.branch {
        BranchStep::Kept(why) => {
            note_failure(run.private.run_file().record_kept(*why), imported);
        }
        BranchStep::Stays | BranchStep::Moves { .. } => {
            apply_and_record(run, plan, incoming, imported)?;
        }
    }
    if !is_index_readable && run.private.is_there() {
        files::remove_file(&run.private.index())?;
    }
    Ok(())
}

/// Performs a plan whose branch step is not [`BranchStep::Kept`], and writes into the run file and
/// into `imported` what came of it.
fn apply_and_record(
    run: &RunToImport<'_>,
    plan: &ImportPlan,
    incoming: Incoming,
    imported: &mut Imported,
) -> Result<(), Error> {
    let run_file = run.private.run_file();
    match apply(run, plan, imported.index, incoming)? {
        Applied::NotAtAll(conflict) => {
            imported.conflict = Some(conflict);
            note_failure(run_file.record_conflict(conflict), imported);
        }
        Applied::Wholly => {
            if let BranchStep::Moves { from, to } = &plan.branch {
                imported.stays_away = None;
                imported.branch_commit = Some(to.clone());
                imported.moved = Some(BranchMove {
                    from: from.clone(),
                    to: to.clone(),
                });
            }
            // a git directory that is removed takes its run file along
            if let GitDirectoryStep::Stays(left) = &plan.git_directory {
                note_failure(run_file.record_imported(left.clone()), imported);
            }
        }
    }
    Ok(())
}

/// Notes that the state of the run could not be written. The import stands without it.
fn note_failure(recorded: Result<(), DiskError>, imported: &mut Imported) {
    if let Err(error) = recorded {
        imported.notes.push(error.to_string());
    }
}

/// Says how what the command fetched becomes work of others: the repository knows of it only by the
/// command.
fn note_of_fetched(run: &RunToImport<'_>) -> Option<String> {
    let first = run.result.fetched.first()?;
    let name = &run.worktree.record.name;
    let shown_ref = escape_for_terminal(first);
    Some(format!(
        "the command fetched {shown_ref}: what it took of that counts as its own until you have \
         fetched it too: git fetch --all; then: git agentwt exec {name} -- true"
    ))
}

/// Says what the user should know of something that was left behind.
fn note_of(run: &RunToImport<'_>, left: &LeftBehind) -> Option<String> {
    let name = &run.worktree.record.name;
    let branch = &run.worktree.record.branch;
    let directory = run.private.git_dir();
    match left {
        LeftBehind::NestedRepository(path) => Some(format!(
            "{path} is a repository of its own: a git that you start there runs its settings"
        )),
        LeftBehind::UnfetchedFiles => Some(format!(
            "what is staged cannot be fetched from {directory}, which stays"
        )),
        LeftBehind::UnreadableIndex => {
            Some("the index of the command cannot be read: nothing is staged".to_owned())
        }
        LeftBehind::Operation(operation) => Some(format!(
            "the command ended in the middle of a {operation}; to go on: git agentwt exec {name}"
        )),
        LeftBehind::OtherHead => Some(format!(
            "the command left {branch} for another branch: only the commits of {branch} count"
        )),
        LeftBehind::Stash | LeftBehind::Repositories | LeftBehind::UnfetchedCommits => None,
    }
}
