//! Reads what is needed to say which worktrees may write the same files.

use super::add::Listing;
use crate::disk::files;
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::scope::EntryKind;
use crate::scope::overlap::WorktreeScope;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;
use crate::worktree::{RecordState, names};

/// Lists the scopes of the worktrees that an agent may be working in: those whose record is whole and
/// whose directory exists, but for this one.
///
/// # Errors
/// Fails when the records cannot be listed. A damaged one has no scope that could be compared.
pub fn worktree_scopes(
    repository: &Repository,
    but: Option<&WorktreeName>,
) -> Result<Vec<WorktreeScope>, WorktreeError> {
    let mut scopes = Vec::new();
    for name in names(repository)? {
        if but == Some(&name) {
            continue;
        }
        let Ok(RecordState::Complete(known)) = RecordState::read(repository, &name) else {
            continue;
        };
        if files::is_directory(&known.record.path) {
            let name = name.to_string();
            scopes.push(WorktreeScope {
                name,
                scope: known.scope,
            });
        }
    }
    Ok(scopes)
}

/// The paths of a listing, and how patterns match them.
#[must_use]
pub fn tracked(listing: &Listing) -> Vec<(RepoPath, EntryKind)> {
    let entries = listing.entries.iter();
    let one = entries.map(|(path, entry)| (path.clone(), EntryKind::of(entry.mode)));
    one.collect()
}
