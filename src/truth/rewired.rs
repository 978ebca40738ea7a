//! Finds the remotes that lead elsewhere than when a worktree was made.

use std::collections::BTreeSet;

use crate::record::worktree::Digests;
use crate::truth::keys::remote_of;
use crate::truth::seal;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Lists the remotes that lead elsewhere than at `add`, by name; an empty one stands for all, as
/// another rule rewrites URLs.
pub fn rewired_remotes(before: &Digests, now: &Digests) -> Vec<String> {
    let mut remotes = Vec::new();
    for key in differing(before, now) {
        if let Some(remote) = remote_of(key) {
            remotes.push(remote.to_owned());
        } else if key.starts_with("url.") && key.ends_with(".insteadof") {
            remotes.push(String::new());
        }
    }
    remotes
}

/// Lists the remotes of a worktree's repository that lead elsewhere now than at `add`.
///
/// # Errors
/// Fails when git does, or the record is damaged.
pub fn rewired_remotes_now(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<String>, Error> {
    let recorded = worktree.shared()?.settings;
    let accepted = worktree.settings_as_accepted(&recorded);
    Ok(rewired_remotes(&accepted, &seal::settings(repository)?))
}

/// Lists the keys that have another digest, or are in one of the two only.
pub fn differing<'d>(before: &'d Digests, now: &'d Digests) -> impl Iterator<Item = &'d str> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    keys.into_iter()
        .map(String::as_str)
        .filter(|key| before.get(*key) != now.get(*key))
}
