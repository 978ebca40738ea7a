//! Compares the scope of a new worktree with those of the existing ones.

use crate::error::Error;
use crate::name::WorktreeName;
use crate::refusal::Refusal;
use crate::scope::Scope;
use crate::scope::overlap::{Overlap, overlaps_of, some};
use crate::worktree::listing::Classified;
use crate::worktree::{Repository, worktree_scopes};

/// How many names a note holds.
const SHOWN: usize = 3;
/// How many groups of worktrees get a note each.
const NOTES: usize = 5;
/// How many files a refusal names for each worktree.
const REFUSED: usize = 20;

/// Notes what other worktrees may write as well.
///
/// Two that are created at the same moment do not see each other.
///
/// # Errors
/// Refuses an overlap where `--exclusive` is given.
pub(super) fn check(
    repository: &Repository,
    name: &WorktreeName,
    scope: &Scope,
    classified: &Classified<'_>,
    options: &crate::cli::Add,
) -> Result<Vec<String>, Error> {
    let others = worktree_scopes(repository, Some(name))?;
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let overlaps = overlaps_of(scope, &others, &classified.writable());
    if options.exclusive && !overlaps.is_empty() {
        let name = name.to_string();
        let items = refused_items(&overlaps);
        return Err(Refusal::Overlap { name, items }.into());
    }
    Ok(notes(&overlaps))
}

fn quoted_names(overlap: &Overlap, shown: usize) -> String {
    some(overlap.second.iter().map(|name| format!("`{name}`")), shown)
}

fn refused_items(overlaps: &[Overlap]) -> Vec<String> {
    let mut items = Vec::new();
    for overlap in overlaps {
        let names = quoted_names(overlap, usize::MAX);
        items.push(format!("{names}: {}", overlap.summary(REFUSED)));
        if !overlap.files.is_empty() && !overlap.patterns.is_empty() {
            let patterns = overlap.patterns.iter().map(ToString::to_string);
            items.push(format!("  by {}", some(patterns, REFUSED)));
        }
    }
    items
}

fn notes(overlaps: &[Overlap]) -> Vec<String> {
    let note = |overlap: &Overlap| {
        let (names, what) = (quoted_names(overlap, SHOWN), overlap.summary(SHOWN));
        format!("{names} may write {what}; to see them: git agentwt list --overlap")
    };
    let mut notes: Vec<String> = overlaps.iter().take(NOTES).map(note).collect();
    let others = overlaps
        .iter()
        .skip(NOTES)
        .map(|overlap| overlap.second.len());
    if let more @ 1.. = others.sum() {
        let worktrees = if more == 1 { "worktree" } else { "worktrees" };
        notes.push(format!(
            "{more} more {worktrees} may write the same files or new ones; to see them: git agentwt list --overlap"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_groups_get_a_note_each() {
        let overlap = |name: &str| Overlap {
            second: vec![name.to_owned()],
            files: vec![crate::path::RepoPath::parse("a").expect("it is normal")],
            ..Overlap::default()
        };
        let overlaps: Vec<Overlap> = ["a", "b", "c", "d", "e", "f", "g"].map(overlap).into();
        let notes = notes(&overlaps);
        assert_eq!(notes.len(), 6);
        assert!(
            notes[0].starts_with("`a` may write the same file: a;"),
            "{notes:?}"
        );
        assert!(
            notes[5].starts_with("2 more worktrees may write"),
            "{notes:?}"
        );
        assert_eq!(refused_items(&overlaps)[1], "`b`: the same file: a");
    }
}
