//! Holds the scope of a new worktree against those of the worktrees that are there.

use crate::error::Error;
use crate::facts::Repository;
use crate::facts::add::Classified;
use crate::facts::overlap::live;
use crate::name::WorktreeName;
use crate::plan::overlap::{Sharing, decide, with};
use crate::scope::Scope;

/// What is to be said of what other worktrees may write as well.
///
/// Two that are made at the same moment do not see each other.
pub(super) fn check(
    repository: &Repository,
    name: &WorktreeName,
    scope: &Scope,
    classified: &Classified<'_>,
    options: &crate::cli::Add,
) -> Result<Vec<String>, Error> {
    let sharing = if options.exclusive {
        Sharing::Refused
    } else {
        Sharing::Allowed
    };
    let live = live(repository, Some(name))?;
    if live.is_empty() {
        return Ok(Vec::new());
    }
    let overlaps = with(scope, &live, &classified.writable());
    Ok(decide(name.as_str(), &overlaps, sharing)?)
}
