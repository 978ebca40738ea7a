//! Selects worktrees that are there, by their commits, owner, and when something happened:
//! [`select`].

use crate::actions::leftover::{age, ago};
use crate::actions::remove::RemovalCandidate;
use crate::actions::remove::facts::SharedFacts;
use crate::commands::prune::arguments::Prune;
use crate::disk::files;
use crate::record::worktree::Alive;
use crate::truth::survey::Survey;
use crate::words::error::Error;
use crate::words::name::BranchName;
use crate::words::text::count;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Whether a worktree that is there is to be removed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PruneChoice {
    /// It is to be removed.
    Remove(String),
    /// It stays.
    Keep(String),
}

/// What decides whether a worktree that is there is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneCriteria {
    /// Whether its owner has ended.
    pub owner: PruneChoice,
    /// For how many seconds nothing happened there; `None` without `--older-than`, or if that
    /// cannot be determined.
    pub idle: Option<u64>,
    /// Whether its commits are merged; `None` until they are read.
    pub commits: Option<PruneChoice>,
}

/// True if the options select worktrees that are there, beside leftovers.
pub const fn selects(options: &Prune) -> bool {
    options.merged || options.dead_owners || options.older_than.is_some()
}

/// Decides whether a worktree that is there is removed; `None` if its commits decide, and were not
/// read yet.
///
/// Called only where [`selects`] is true. `--older-than` keeps every worktree in which something
/// happened lately. Of the others, `--dead-owners` or `--merged` alone is enough; without both, the
/// age is.
pub fn select(options: &Prune, criteria: &PruneCriteria) -> Option<PruneChoice> {
    let mut why_idle = None;
    if let Some(age) = options.older_than {
        let Some(idle) = criteria.idle else {
            let why = "when something happened there cannot be determined";
            return Some(PruneChoice::Keep(why.to_owned()));
        };
        if idle < age {
            let why = format!("something happened there {} ago", ago(idle));
            return Some(PruneChoice::Keep(why));
        }
        why_idle = Some(format!("nothing happened there for {}", ago(idle)));
    }
    // the owner first: if it has ended, the commits need not be read
    let mut choices = Vec::new();
    if options.dead_owners {
        choices.push(Some(&criteria.owner));
    }
    if options.merged {
        choices.push(criteria.commits.as_ref());
    }
    if choices.is_empty()
        && let Some(why) = why_idle
    {
        return Some(PruneChoice::Remove(why));
    }
    let mut reasons_to_keep: Vec<&str> = Vec::new();
    for choice in choices {
        match choice? {
            PruneChoice::Keep(why) => reasons_to_keep.push(why),
            PruneChoice::Remove(why) => {
                let reason = match why_idle {
                    Some(idle) => format!("{why}, and {idle}"),
                    None => why.clone(),
                };
                return Some(PruneChoice::Remove(reason));
            }
        }
    }
    Some(PruneChoice::Keep(reasons_to_keep.join(", ")))
}

/// Decides by the owner: a worktree whose owner has ended is removed.
pub fn select_by_owner(owner: Option<(&str, Alive)>) -> PruneChoice {
    let Some((id, alive)) = owner else {
        return PruneChoice::Keep("it has no owner".to_owned());
    };
    match alive {
        Alive::No => PruneChoice::Remove(format!("its owner `{id}` has ended")),
        Alive::Yes => PruneChoice::Keep(format!("its owner `{id}` is alive")),
        Alive::Unknown => PruneChoice::Keep(format!(
            "whether its owner `{id}` is alive cannot be determined from here"
        )),
    }
}

/// For how many seconds nothing happened: since it was made, since git wrote its index, moved its
/// HEAD or its branch, and since something was placed. That somebody looked at it is no work.
pub fn read_idle(repository: &Repository, worktree: &Worktree, now: i64) -> Option<u64> {
    let record = &worktree.record;
    // a record whose time cannot be read proves nothing
    let created: jiff::Timestamp = record.created.parse().ok()?;
    let common_dir = worktree.repository(repository).common_dir;
    let branch = record.branch.full_ref();
    let files = [
        record.admin_dir.join("index"),
        record.admin_dir.join("HEAD"),
        record.admin_dir.join("logs/HEAD"),
        common_dir.join("logs").join(&branch),
        common_dir.join(&branch),
        worktree.dir.join("placed"),
        worktree.dir.join("record.toml"),
    ];
    let mut latest = created.as_second();
    for written in files.iter().filter_map(|file| files::modified(file)) {
        latest = latest.max(written);
    }
    Some(age(now, latest))
}

/// Decides by commits: a worktree with commits of its own that are all merged is removed. The
/// `task_branches` of worktrees, with which `candidate` was read, are nothing that it is merged into:
/// another task that stands on its work is in progress as well.
///
/// # Errors
/// Fails when git does.
pub fn select_by_commits(
    repository: &Repository,
    shared: &SharedFacts,
    candidate: &RemovalCandidate,
    survey: &Survey,
    task_branches: &[BranchName],
) -> Result<PruneChoice, Error> {
    if !has_own_commits(candidate, survey) {
        let why = "nothing was committed there yet".to_owned();
        return Ok(PruneChoice::Keep(why));
    }
    let facts = &candidate.facts;
    let mut unmerged = facts.unmerged.len() + facts.unmerged_detached.len();
    let own_repository = candidate.worktree.readable_repository(repository);
    if own_repository.is_clone() {
        let home = repository.home();
        unmerged = unmerged.max(unmerged_of_clone(home, shared, survey, task_branches)?);
    }
    if unmerged > 0 {
        let commits = count(unmerged, "commit is", "commits are");
        let why = format!("{commits} not merged or pushed");
        return Ok(PruneChoice::Keep(why));
    }
    Ok(PruneChoice::Remove(match &facts.merged {
        Some(how) => how.to_string(),
        None => "its commits are merged or pushed".to_owned(),
    }))
}

/// The number of commits of a clone that the repository around it does not have: only what that has
/// counts as merged.
fn unmerged_of_clone(
    home: &Repository,
    shared: &SharedFacts,
    survey: &Survey,
    task_branches: &[BranchName],
) -> Result<usize, Error> {
    let objects = home.objects()?;
    let heads = &survey.head;
    let mut unmerged = 0;
    for tip in heads.branch.iter().chain(&heads.head) {
        let unmerged_of_tip = match objects.commit(tip) {
            Ok(_) => {
                let commits = shared.unreachable_from_refs(home, tip, task_branches)?;
                commits.len()
            }
            Err(_) => survey.commits.len().max(1),
        };
        unmerged = unmerged.max(unmerged_of_tip);
    }
    Ok(unmerged)
}

/// True if something was committed in the worktree. The reflog of HEAD tells a commit from an
/// update to what others did; without a reflog, the tip is compared with where it began.
fn has_own_commits(candidate: &RemovalCandidate, survey: &Survey) -> bool {
    let heads = &survey.head;
    if !heads.reflog.is_empty() {
        return !heads.made_here().is_empty();
    }
    let branch_tip = candidate.facts.branch_tip.as_ref();
    let tips = [branch_tip, heads.branch.as_ref(), heads.head.as_ref()];
    let Some(tip) = tips.into_iter().flatten().next() else {
        return false;
    };
    let worktree = &candidate.worktree;
    if *tip == worktree.record.base.commit || *tip == worktree.record.checked_out {
        return false;
    }
    match worktree.recorded_refs() {
        Ok(refs) => !refs.contains(tip),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_select_together_and_the_age_narrows_them() {
        let asked = |merged, dead_owners, older_than| Prune {
            merged,
            dead_owners,
            older_than,
            ..Prune::default()
        };
        let of = |alive: Option<Alive>, idle, commits: Option<PruneChoice>| PruneCriteria {
            owner: select_by_owner(alive.map(|alive| ("s", alive))),
            idle,
            commits,
        };
        let merged = || Some(PruneChoice::Remove("merged".to_owned()));
        let not = || Some(PruneChoice::Keep("not merged".to_owned()));
        let table = [
            (asked(true, false, None), of(None, None, None), None),
            (
                asked(true, false, None),
                of(None, None, merged()),
                Some(true),
            ),
            (asked(true, false, None), of(None, None, not()), Some(false)),
            (asked(true, false, None), of(None, None, not()), Some(false)),
            (
                asked(false, true, None),
                of(Some(Alive::No), None, None),
                Some(true),
            ),
            (
                asked(false, true, None),
                of(Some(Alive::Yes), None, None),
                Some(false),
            ),
            (
                asked(false, true, None),
                of(Some(Alive::Unknown), None, None),
                Some(false),
            ),
            (
                asked(false, true, None),
                of(None, None, merged()),
                Some(false),
            ),
            (
                asked(true, true, None),
                of(Some(Alive::Yes), None, merged()),
                Some(true),
            ),
            (
                asked(true, true, None),
                of(Some(Alive::No), None, None),
                Some(true),
            ),
            (
                asked(false, false, Some(60)),
                of(None, Some(60), None),
                Some(true),
            ),
            (
                asked(false, false, Some(60)),
                of(None, Some(59), None),
                Some(false),
            ),
            (
                asked(false, false, Some(60)),
                of(None, None, None),
                Some(false),
            ),
            (
                asked(true, false, Some(60)),
                of(None, Some(59), merged()),
                Some(false),
            ),
            (
                asked(true, false, Some(60)),
                of(None, Some(61), not()),
                Some(false),
            ),
            (
                asked(false, true, Some(60)),
                of(Some(Alive::No), Some(61), None),
                Some(true),
            ),
        ];
        for (options, criteria, expected) in table {
            let is_removed = select(&options, &criteria).map(|choice| match choice {
                PruneChoice::Remove(_) => true,
                PruneChoice::Keep(why) => {
                    assert!(!why.is_empty(), "{options:?} {criteria:?}");
                    false
                }
            });
            assert_eq!(is_removed, expected, "{options:?} {criteria:?}");
        }
    }
}
