//! Looks at a worktree that is there: its owner, its commits, and when something happened in it.

use super::age;
use crate::disk::files;
use crate::facts::remove::Around;
use crate::plan::prune::select::Commits;
use crate::plan::remove::RemoveFacts;
use crate::truth::Survey;
use crate::worktree::Alive;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Its owner, and whether that is alive.
#[must_use]
pub fn owner(known: &Worktree) -> Option<(String, Alive)> {
    let owner = known.record.owner.as_ref()?;
    Some((owner.id.clone(), owner.alive()))
}

/// For how many seconds nothing happened: since it was made, since git wrote its index, moved its
/// HEAD or its branch, since the last verification, and since something was placed.
#[must_use]
pub fn idle(repository: &Repository, known: &Worktree, now: i64) -> Option<u64> {
    let record = &known.record;
    let time = |text: &str| Some(text.parse::<jiff::Timestamp>().ok()?.as_second());
    let own = known.repository(repository);
    let branch = record.branch.full_ref();
    let files = [
        record.admin_dir.join("index"),
        record.admin_dir.join("HEAD"),
        record.admin_dir.join("logs/HEAD"),
        own.common_dir.join("logs").join(&branch),
        own.common_dir.join(&branch),
        known.dir.join("placed"),
        known.dir.join("record.toml"),
    ];
    let mut moments: Vec<i64> = files
        .iter()
        .filter_map(|file| files::modified(file))
        .collect();
    // a record whose time cannot be read proves nothing
    moments.push(time(&record.created)?);
    moments.extend(known.last_verification().and_then(|last| time(&last.at)));
    moments.iter().max().map(|at| age(now, *at))
}

/// What is with its commits.
///
/// # Errors
/// Fails when git does.
pub fn commits(
    repository: &Repository,
    around: &Around,
    known: &Worktree,
    survey: &Survey,
    facts: &RemoveFacts,
) -> Result<Commits, WorktreeError> {
    let heads = &survey.heads;
    let record = &known.record;
    let tip = facts
        .branch_tip
        .as_ref()
        .or(heads.branch.as_ref())
        .or(heads.head.as_ref());
    let began = |tip: &&crate::name::CommitId| {
        **tip == record.base.commit
            || **tip == record.checked_out
            || known.recorded_refs().is_ok_and(|refs| refs.contains(*tip))
    };
    let is_moved = tip.is_some_and(|tip| !began(&tip));
    // where the log is there, it tells a commit from an update to what others did
    let has_own = if heads.reflog.is_empty() {
        is_moved
    } else {
        !heads.made_here().is_empty()
    };
    if !has_own {
        return Ok(Commits::None);
    }
    let own = known.readable_repository(repository);
    if own.is_clone() {
        return in_home(repository, around, survey);
    }
    let unmerged = facts.unmerged.branch.len() + facts.unmerged.detached.len();
    Ok(match unmerged {
        0 => Commits::Merged(facts.merged.as_ref().map(ToString::to_string)),
        more => Commits::Unmerged(more),
    })
}

/// Of a clone only what the repository around has counts as merged.
fn in_home(
    repository: &Repository,
    around: &Around,
    survey: &Survey,
) -> Result<Commits, WorktreeError> {
    let home = repository.home();
    let objects = home.objects()?;
    let heads = &survey.heads;
    let mut unmerged = 0;
    for tip in heads.branch.iter().chain(&heads.head) {
        unmerged = unmerged.max(match objects.commit(tip) {
            Ok(_) => around.nowhere(home, tip)?.len(),
            Err(_) => survey.commits.len().max(1),
        });
    }
    Ok(match unmerged {
        0 => Commits::Merged(None),
        more => Commits::Unmerged(more),
    })
}
