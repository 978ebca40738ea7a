//! Finds the untracked files of the main worktree that are selected for syncing.
//!
//! The walk enters only where something can match, and never git's directory, another worktree or
//! repository, or what `.agentwt` has beside the memory bank.

mod chooser;
mod tracked;

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use self::chooser::Chooser;
use self::tracked::{Tracked, folded};
use crate::disk::candidates::{Found, Selected, walk};
use crate::disk::files;
use crate::git::ignore::NameCase;
use crate::git::include::IncludeRules;
use crate::git::worktree::WorktreeEntry;
use crate::path::RepoPath;
use crate::scope::Case;
use crate::sync::{Candidate, Candidates, Matches, Pattern, PatternOrigin, Search, SelectedBy};
use crate::worktree::WorktreeError;
use crate::worktree::repository::{Main, Repository, joined};

/// The file whose rules select among ignored files, at the root.
pub const WORKTREE_INCLUDE: &str = ".worktreeinclude";

/// Says whether `.worktreeinclude` selects too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    /// It does, if it is there.
    Read,
    /// It does not: only the patterns do.
    Leave,
}

/// Finds what the patterns and `.worktreeinclude` select.
///
/// # Errors
/// As [`candidates_of`].
pub fn candidates(
    repository: &Repository,
    patterns: &[Pattern],
) -> Result<Candidates, WorktreeError> {
    candidates_of(repository, patterns, Include::Read)
}

/// Finds what is selected. There is nothing to select in a bare repository.
///
/// # Errors
/// Fails when git or the disk cannot be read, and when a pattern names a directory that is a
/// link: nothing behind that is read.
pub fn candidates_of(
    repository: &Repository,
    patterns: &[Pattern],
    include: Include,
) -> Result<Candidates, WorktreeError> {
    let nothing = || Candidates {
        matches: vec![Matches::default(); patterns.len()],
        ..Candidates::default()
    };
    if repository.main == Main::Bare {
        return Ok(nothing());
    }
    let (case, worktrees) = std::thread::scope(|scope| {
        let worktrees = scope.spawn(|| repository.worktrees());
        (repository.case(), joined(worktrees))
    });
    let (case, worktrees) = (case?, worktrees?);
    let include = include_rules(repository, include, case)?;
    if patterns.is_empty() && include.is_none() {
        return Ok(nothing());
    }
    let chooser = Chooser {
        search: Search::new(patterns, case),
        include,
        tracked: Tracked::read(repository, case)?,
        closed: below(repository, &worktrees, case),
        case,
        counts: patterns.iter().map(|_| AtomicUsize::new(0)).collect(),
        through: Mutex::default(),
    };
    let mut found = walk(&repository.root, chooser.start(), &chooser)?;
    let through = chooser.through.into_inner();
    let through = through.unwrap_or_else(PoisonError::into_inner);
    refuse_links(patterns, through, &mut found.closed)?;
    keep_ignored(repository, &mut found)?;
    let tracked = chooser.counts.into_iter().map(AtomicUsize::into_inner);
    Ok(counted(tracked, found))
}

/// Reads `.worktreeinclude`; none where it is not, or not wanted.
fn include_rules(
    repository: &Repository,
    include: Include,
    case: Case,
) -> Result<Option<IncludeRules>, WorktreeError> {
    let text = match include {
        Include::Read => files::read(&repository.root.join(WORKTREE_INCLUDE))?,
        Include::Leave => None,
    };
    let case = match case {
        Case::Sensitive => NameCase::Sensitive,
        Case::Insensitive => NameCase::Insensitive,
    };
    Ok(text.map(|text| IncludeRules::new(&text, case)))
}

/// The worktrees of git that are below the root.
fn below(repository: &Repository, list: &[WorktreeEntry], case: Case) -> BTreeSet<BString> {
    let below = |path: &Utf8Path| {
        let path = path.strip_prefix(&repository.root).ok()?.as_str();
        (!path.is_empty()).then(|| folded(path.as_bytes().as_bstr(), case))
    };
    list.iter().filter_map(|entry| below(&entry.path)).collect()
}

/// Refuses what a pattern names behind a link. Nobody wrote the memory bank's pattern, so a link
/// there is only not entered.
fn refuse_links(
    patterns: &[Pattern],
    through: BTreeSet<(RepoPath, usize)>,
    not_entered: &mut Vec<RepoPath>,
) -> Result<(), WorktreeError> {
    for (link, pattern) in through {
        let pattern = &patterns[pattern];
        match pattern.origin() {
            PatternOrigin::BuiltIn => not_entered.push(link),
            PatternOrigin::File(_) | PatternOrigin::Flag(_) | PatternOrigin::Record => {
                return Err(WorktreeError::SyncThroughLink {
                    pattern: pattern.text().to_owned(),
                    origin: pattern.origin().clone(),
                    link,
                });
            }
        }
    }
    not_entered.sort_unstable();
    Ok(())
}

/// Drops what only `.worktreeinclude` selects and git does not ignore. Git is asked of what is
/// not in a selected directory first: all in a directory that is ignored is ignored too
/// (gitignore(5)), and git is not quick to say so of each.
fn keep_ignored(
    repository: &Repository,
    found: &mut Found<Vec<usize>>,
) -> Result<(), WorktreeError> {
    let by_pattern = |one: &Selected<Vec<usize>>| !one.mark.is_empty();
    let asked = found.selected.iter().filter(|one| !by_pattern(one));
    let asked: Vec<&RepoPath> = asked.map(|one| &one.path).collect();
    let all: HashSet<&BStr> = asked.iter().map(|path| path.as_bstr()).collect();
    let first = |path: &&RepoPath| !path.parents().any(|above| all.contains(above));
    let (first, rest): (Vec<_>, Vec<_>) = asked.into_iter().partition(first);
    let mut ignored = repository.git.check_ignore(&first)?;
    let whole: HashSet<&BStr> = ignored.iter().map(RepoPath::as_bstr).collect();
    let below = |path: &&RepoPath| path.parents().any(|above| whole.contains(above));
    let (known, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(below);
    let known: Vec<RepoPath> = known.into_iter().cloned().collect();
    ignored.extend(repository.git.check_ignore(&rest)?);
    ignored.extend(known);
    found
        .selected
        .retain(|one| by_pattern(one) || ignored.contains(&one.path));
    Ok(())
}

/// Counts what each pattern matched.
fn counted(tracked: impl Iterator<Item = usize>, found: Found<Vec<usize>>) -> Candidates {
    let untracked = 0;
    let mut matches: Vec<Matches> = tracked
        .map(|tracked| Matches { untracked, tracked })
        .collect();
    let mut entries = Vec::with_capacity(found.selected.len());
    for one in found.selected {
        for pattern in &one.mark {
            matches[*pattern].untracked += 1;
        }
        let by = one.mark.first().map(|first| SelectedBy::Pattern(*first));
        entries.push(Candidate {
            path: one.path,
            kind: one.kind,
            stat: one.stat,
            by: by.unwrap_or(SelectedBy::WorktreeInclude),
        });
    }
    Candidates {
        entries,
        matches,
        not_entered: found.closed,
    }
}
