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
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Says why a worktree is selected, or why not.
pub type SelectedWorktree = Result<String, String>;

/// Holds what is known of a worktree that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idleness {
    /// Whether its owner has ended.
    pub owner: SelectedWorktree,
    /// For how many seconds nothing happened there; none when that cannot be told.
    pub idle: Option<u64>,
    /// Whether its commits are merged; none until they are read.
    pub commits: Option<SelectedWorktree>,
}

/// Whether worktrees that are there are candidates.
pub const fn selects(asked: &Prune) -> bool {
    asked.merged || asked.dead_owners || asked.older_than.is_some()
}

/// Selects: what is merged or has a dead owner, if that was asked for, and of these, or of all,
/// those in which nothing happened for so long. None where the commits decide, which are not read.
pub fn select(asked: &Prune, standing: &Idleness) -> Option<SelectedWorktree> {
    let idle = match (asked.older_than, standing.idle) {
        (Some(age), Some(idle)) if idle < age => {
            return Some(Err(format!("something happened there {} ago", ago(idle))));
        }
        (Some(_), None) => {
            let why = "when something happened there cannot be determined";
            return Some(Err(why.to_owned()));
        }
        (Some(_), Some(idle)) => Some(format!("nothing happened there for {}", ago(idle))),
        (None, _) => None,
    };
    let mut against = Vec::new();
    for (is_asked, why) in [
        (asked.dead_owners, Some(&standing.owner)),
        (asked.merged, standing.commits.as_ref()),
    ] {
        match (is_asked, why, &idle) {
            (false, ..) => {}
            (true, None, _) => return None,
            (true, Some(Ok(why)), Some(idle)) => return Some(Ok(format!("{why}, and {idle}"))),
            (true, Some(Ok(why)), None) => return Some(Ok(why.clone())),
            (true, Some(Err(why)), _) => against.push(&**why),
        }
    }
    Some(match idle {
        Some(idle) if against.is_empty() => Ok(idle),
        Some(_) | None => Err(against.join(", ")),
    })
}

/// Whether the owner of a worktree has ended.
pub fn dead_owner(owner: Option<(&str, Alive)>) -> SelectedWorktree {
    match owner {
        None => Err("it has no owner".to_owned()),
        Some((id, Alive::No)) => Ok(format!("its owner `{id}` has ended")),
        Some((id, Alive::Yes)) => Err(format!("its owner `{id}` is alive")),
        Some((id, Alive::Unknown)) => Err(format!(
            "whether its owner `{id}` is alive cannot be determined from here"
        )),
    }
}

/// For how many seconds nothing happened: since it was made, since git wrote its index, moved its
/// HEAD or its branch, and since something was placed. That somebody looked at it is no work.
pub fn read_idle(repository: &Repository, worktree: &Worktree, now: i64) -> Option<u64> {
    let record = &worktree.record;
    let time = |text: &str| Some(text.parse::<jiff::Timestamp>().ok()?.as_second());
    let own = worktree.repository(repository);
    let branch = record.branch.full_ref();
    let files = [
        record.admin_dir.join("index"),
        record.admin_dir.join("HEAD"),
        record.admin_dir.join("logs/HEAD"),
        own.common_dir.join("logs").join(&branch),
        own.common_dir.join(&branch),
        worktree.dir.join("placed"),
        worktree.dir.join("record.toml"),
    ];
    let moments = files.iter().filter_map(|file| files::modified(file));
    // a record whose time cannot be read proves nothing
    let latest = moments.chain([time(&record.created)?]).max();
    latest.map(|at| age(now, at))
}

/// Whether its commits are merged.
///
/// # Errors
/// Fails when git does.
pub fn read_commits(
    repository: &Repository,
    shared: &SharedFacts,
    candidate: &RemovalCandidate,
    survey: &Survey,
) -> Result<SelectedWorktree, Error> {
    let worktree = &candidate.worktree;
    let facts = &candidate.facts;
    let heads = &survey.head;
    let record = &worktree.record;
    let tip = facts.branch_tip.as_ref().or(heads.branch.as_ref());
    let began = |tip: &CommitId| {
        *tip == record.base.commit
            || *tip == record.checked_out
            || worktree
                .recorded_refs()
                .is_ok_and(|refs| refs.contains(tip))
    };
    // where the log is there, it tells a commit from an update to what others did
    let has_own = if heads.reflog.is_empty() {
        tip.or(heads.head.as_ref()).is_some_and(|tip| !began(tip))
    } else {
        !heads.made_here().is_empty()
    };
    if !has_own {
        return Ok(Err("nothing was committed there yet".to_owned()));
    }
    let mut unmerged = facts.unmerged.len() + facts.unmerged_detached.len();
    if worktree.readable_repository(repository).is_clone() {
        // of a clone only what the repository around has counts as merged
        let home = repository.home();
        let objects = home.objects()?;
        for tip in heads.branch.iter().chain(&heads.head) {
            unmerged = unmerged.max(match objects.commit(tip) {
                Ok(_) => shared.unreachable_from_refs(home, tip)?.len(),
                Err(_) => survey.commits.len().max(1),
            });
        }
    }
    let how = facts.merged.as_ref().map(ToString::to_string);
    Ok(match unmerged {
        0 => Ok(how.unwrap_or_else(|| "its commits are merged or pushed".to_owned())),
        1 => Err("1 commit is on no other branch".to_owned()),
        more => Err(format!("{more} commits are on no other branch")),
    })
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
        let of = |alive: Option<Alive>, idle, commits: Option<SelectedWorktree>| Idleness {
            owner: dead_owner(alive.map(|alive| ("s", alive))),
            idle,
            commits,
        };
        let merged = || Some(Ok("merged".to_owned()));
        let not = || Some(Err("not merged".to_owned()));
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
        for (asked, standing, is_selected) in table {
            let found = select(&asked, &standing);
            assert!(!matches!(&found, Some(Err(why)) if why.is_empty()));
            let found = found.map(|why| why.is_ok());
            assert_eq!(found, is_selected, "{asked:?} {standing:?}");
        }
    }
}
