//! Selects worktrees that are there, by their commits, owner, and when something happened: [`select`].

use crate::disk::files;
use crate::truth::Survey;
use crate::worktree::Alive;
use crate::worktree::leftover::{age, ago};
use crate::worktree::removal::facts::Around;
use crate::worktree::removal::plan::RemoveFacts;
use crate::worktree::{Repository, Worktree, WorktreeError};

/// Holds what the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `--merged`.
    pub merged: bool,
    /// `--dead-owners`.
    pub dead_owners: bool,
    /// `--older-than`, in seconds.
    pub older_than: Option<u64>,
}

impl Selection {
    /// Whether worktrees that are there are candidates.
    pub const fn selects(&self) -> bool {
        self.merged || self.dead_owners || self.older_than.is_some()
    }
}

/// Holds what is known of a worktree that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idleness {
    /// Its owner, if it has one, and whether that is alive.
    pub owner: Option<(String, Alive)>,
    /// For how many seconds nothing happened there; none when that was not asked.
    pub idle: Option<u64>,
    /// Its commits; none until they are read.
    pub commits: Option<Commits>,
}

/// Says what is with the commits of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commits {
    /// There are none of its own.
    None,
    /// So many are nowhere else.
    Unmerged(usize),
    /// All are elsewhere, or merged; how, if only by content.
    Merged(Option<String>),
}

/// Says whether a worktree is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// It is, for this reason.
    Yes(String),
    /// It is not, for this reason.
    No(String),
    /// Its commits decide.
    LookAtCommits,
}

/// Selects: whoever is merged or has a dead owner, if that was asked for, and of these, or of all,
/// those in which nothing happened for so long.
pub fn select(asked: Selection, standing: &Idleness) -> Selected {
    let idle = match (asked.older_than, standing.idle) {
        (Some(age), Some(idle)) if idle < age => {
            return Selected::No(format!("something happened there {} ago", ago(idle)));
        }
        (Some(_), None) => {
            return Selected::No("it cannot be told when something happened there".to_owned());
        }
        (Some(_), Some(idle)) => Some(format!("nothing happened there for {}", ago(idle))),
        (None, _) => None,
    };
    let also = |why: String| match &idle {
        Some(idle) => Selected::Yes(format!("{why}, and {idle}")),
        None => Selected::Yes(why),
    };
    let mut against = Vec::new();
    if asked.dead_owners {
        match dead(standing) {
            Ok(why) => return also(why),
            Err(why) => against.push(why),
        }
    }
    if asked.merged {
        match &standing.commits {
            None => return Selected::LookAtCommits,
            Some(commits) => match merged(commits) {
                Ok(why) => return also(why),
                Err(why) => against.push(why),
            },
        }
    }
    match idle {
        Some(idle) if against.is_empty() => Selected::Yes(idle),
        Some(_) | None => Selected::No(against.join(", ")),
    }
}

fn dead(standing: &Idleness) -> Result<String, String> {
    match &standing.owner {
        None => Err("it has no owner".to_owned()),
        Some((id, Alive::No)) => Ok(format!("its owner `{id}` has ended")),
        Some((id, Alive::Yes)) => Err(format!("its owner `{id}` is alive")),
        Some((id, Alive::Unknown)) => Err(format!(
            "it cannot be told from here whether its owner `{id}` is alive"
        )),
    }
}

fn merged(commits: &Commits) -> Result<String, String> {
    match commits {
        Commits::None => Err("nothing was committed there yet".to_owned()),
        Commits::Unmerged(1) => Err("1 commit is on no other branch".to_owned()),
        Commits::Unmerged(more) => Err(format!("{more} commits are on no other branch")),
        Commits::Merged(None) => Ok("its commits are merged or pushed".to_owned()),
        Commits::Merged(Some(how)) => Ok(how.clone()),
    }
}

/// The owner of a worktree, and whether that is alive.
pub fn read_owner(known: &Worktree) -> Option<(String, Alive)> {
    let owner = known.record.owner.as_ref()?;
    Some((owner.id.clone(), owner.alive()))
}

/// For how many seconds nothing happened: since it was made, since git wrote its index, moved its
/// HEAD or its branch, since the last verification, and since something was placed.
pub fn read_idle(repository: &Repository, known: &Worktree, now: i64) -> Option<u64> {
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
pub fn read_commits(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_select_together_and_the_age_narrows_them() {
        let asked = |merged, dead_owners, older_than| Selection {
            merged,
            dead_owners,
            older_than,
        };
        let of = |alive: Option<Alive>, idle, commits: Option<Commits>| Idleness {
            owner: alive.map(|alive| ("s".to_owned(), alive)),
            idle,
            commits,
        };
        let merged = || Some(Commits::Merged(None));
        let table = [
            (asked(true, false, None), of(None, None, None), None),
            (
                asked(true, false, None),
                of(None, None, merged()),
                Some(true),
            ),
            (
                asked(true, false, None),
                of(None, None, Some(Commits::None)),
                Some(false),
            ),
            (
                asked(true, false, None),
                of(None, None, Some(Commits::Unmerged(2))),
                Some(false),
            ),
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
                of(None, Some(61), Some(Commits::None)),
                Some(false),
            ),
            (
                asked(false, true, Some(60)),
                of(Some(Alive::No), Some(61), None),
                Some(true),
            ),
        ];
        for (asked, standing, is_selected) in table {
            let found = match select(asked, &standing) {
                Selected::Yes(_) => Some(true),
                Selected::No(why) => {
                    assert!(!why.is_empty());
                    Some(false)
                }
                Selected::LookAtCommits => None,
            };
            assert_eq!(found, is_selected, "{asked:?} {standing:?}");
        }
    }
}
