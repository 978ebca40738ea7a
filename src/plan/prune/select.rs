//! Selects worktrees that are there: [`select`].

use super::{Asked, ago};
use crate::worktree::Alive;

/// Holds what is known of a worktree that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its owner, if it has one, and whether that is alive.
    pub owner: Option<(String, Alive)>,
    /// For how many seconds nothing happened there; none when nobody asked.
    pub idle: Option<u64>,
    /// Its commits; none as long as nobody has looked.
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
#[must_use]
pub fn select(asked: Asked, standing: &Standing) -> Selected {
    let idle = match (asked.older_than, standing.idle) {
        (Some(age), Some(idle)) if idle < age => {
            return Selected::No(format!("something happened there {} ago", ago(idle)));
        }
        (Some(_), None) => {
            return Selected::No("nobody can tell when something happened there".to_owned());
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

fn dead(standing: &Standing) -> Result<String, String> {
    match &standing.owner {
        None => Err("nobody owns it".to_owned()),
        Some((id, Alive::No)) => Ok(format!("its owner `{id}` has ended")),
        Some((id, Alive::Yes)) => Err(format!("its owner `{id}` is alive")),
        Some((id, Alive::Unknown)) => Err(format!(
            "nobody can tell from here whether its owner `{id}` is alive"
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
