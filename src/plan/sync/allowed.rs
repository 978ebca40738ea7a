//! Decides which candidates may be in a worktree, and refuses patterns that are mistakes.

use super::SyncFacts;
use super::refusal::{SyncRefusal, too_large};
use crate::path::RepoPath;
use crate::placed::PlacedKind;
use crate::scope::{Access, EntryKind};
use crate::sync::{Candidate, CandidateKind, Need, Pattern, Search, SelectedBy};

/// Holds the candidates that may be in the worktree, and those that may not.
pub(super) struct Allowed<'a> {
    pub candidates: Vec<(&'a Candidate, PlacedKind, Access)>,
    pub excluded: Vec<(RepoPath, String)>,
    pub tracked: Vec<RepoPath>,
}

/// Leaves out what the scope excludes and what the worktree's branch tracks.
pub(super) fn allowed<'a>(facts: &SyncFacts<'a>) -> Result<Allowed<'a>, SyncRefusal> {
    nothing_is_a_mistake(facts)?;
    let mut allowed = Allowed {
        candidates: Vec::with_capacity(facts.candidates.entries.len()),
        excluded: Vec::new(),
        tracked: Vec::new(),
    };
    let mut special = Vec::new();
    let mut of_pattern = vec![Shares::default(); facts.patterns.len()];
    let mut classifier = facts.scope.classifier();
    for candidate in &facts.candidates.entries {
        let entry = match candidate.kind {
            CandidateKind::Directory => EntryKind::Directory,
            CandidateKind::File | CandidateKind::Link | CandidateKind::Special(_) => {
                EntryKind::File
            }
        };
        let verdict = classifier.verdict(&candidate.path, entry);
        if let SelectedBy::Pattern(at) = candidate.by
            && let Some(shares) = of_pattern.get_mut(at)
        {
            shares.count(verdict.access);
        }
        if verdict.access == Access::Excluded {
            if candidate.kind != CandidateKind::Directory {
                let rule = verdict.rule.map(rule_line);
                let rule = rule.unwrap_or_else(|| "no list of the scope has it".to_owned());
                allowed.excluded.push((candidate.path.clone(), rule));
            }
            continue;
        }
        if (facts.is_tracked)(&candidate.path) {
            allowed.tracked.push(candidate.path.clone());
            continue;
        }
        let kind = match candidate.kind {
            CandidateKind::File => PlacedKind::File,
            CandidateKind::Link => PlacedKind::Link,
            CandidateKind::Directory => PlacedKind::Directory,
            CandidateKind::Special(what) => {
                special.push((candidate.path.to_string(), what));
                continue;
            }
        };
        allowed.candidates.push((candidate, kind, verdict.access));
    }
    excluded_as_a_whole(facts, &of_pattern, &allowed)?;
    if special.is_empty() {
        Ok(allowed)
    } else {
        Err(SyncRefusal::Special { items: special })
    }
}

/// Counts what one pattern was the first to select.
#[derive(Clone, Copy, Default)]
struct Shares {
    excluded: usize,
    others: usize,
}

impl Shares {
    const fn count(&mut self, access: Access) {
        match access {
            Access::Excluded => self.excluded += 1,
            Access::Read | Access::Write => self.others += 1,
        }
    }
}

fn rule_line(rule: &crate::scope::ScopeRule) -> String {
    let pattern = crate::scope::escape_for_rule(&rule.pattern);
    format!("{} \"{pattern}\" ({})", rule.list, rule.origin)
}

/// A typo must not pass silently.
fn nothing_is_a_mistake(facts: &SyncFacts<'_>) -> Result<(), SyncRefusal> {
    let matches = facts.patterns.iter().zip(&facts.candidates.matches);
    for (pattern, matches) in matches {
        if pattern.need() == Need::Optional || matches.untracked > 0 {
            continue;
        }
        let (pattern, origin) = (shown(pattern), pattern.origin().clone());
        let not_entered = facts.candidates.not_entered.iter();
        return Err(if matches.tracked > 0 {
            SyncRefusal::OnlyTracked {
                pattern,
                origin,
                tracked: matches.tracked,
            }
        } else {
            SyncRefusal::NoMatch {
                pattern,
                origin,
                not_entered: not_entered.map(ToString::to_string).collect(),
            }
        });
    }
    Ok(())
}

fn shown(pattern: &Pattern) -> String {
    crate::path::escape_for_terminal(pattern.text().as_bytes())
}

/// A pattern of which the scope excludes everything contradicts it.
fn excluded_as_a_whole(
    facts: &SyncFacts<'_>,
    of_pattern: &[Shares],
    allowed: &Allowed<'_>,
) -> Result<(), SyncRefusal> {
    for (pattern, shares) in facts.patterns.iter().zip(of_pattern) {
        if pattern.need() == Need::Optional || shares.others > 0 {
            continue;
        }
        let search = Search::new(std::slice::from_ref(pattern), facts.scope.case());
        // an earlier pattern may have been the first to select what this one does as well
        let others = allowed.candidates.iter();
        if others
            .map(|(one, ..)| one)
            .any(|one| search.selects(&one.path))
        {
            continue;
        }
        let mut excluded = allowed.excluded.iter();
        if let Some((path, rule)) = excluded.find(|(path, _)| search.selects(path)) {
            return Err(SyncRefusal::AllExcluded {
                pattern: shown(pattern),
                origin: pattern.origin().clone(),
                path: path.to_string(),
                rule: rule.clone(),
            });
        }
    }
    Ok(())
}

/// Holds the sizes against the limits, before anything is copied.
pub(super) fn within_limits(
    facts: &SyncFacts<'_>,
    candidates: &[(&Candidate, PlacedKind, Access)],
) -> Result<(), SyncRefusal> {
    let files = candidates.iter();
    let files = files.filter(|(one, ..)| one.kind == CandidateKind::File);
    let mut total = 0u64;
    let mut largest: Option<&Candidate> = None;
    for (file, ..) in files {
        let size = file.stat.size;
        if size > facts.limits.max_file_bytes() {
            let limit = facts.limits.max_file_size_mb;
            return Err(too_large(&file.path, size, limit));
        }
        total = total.saturating_add(size);
        if largest.is_none_or(|other| size > other.stat.size) {
            largest = Some(file);
        }
    }
    match largest {
        Some(largest) if total > facts.limits.max_total_bytes() => {
            Err(SyncRefusal::TotalTooLarge {
                total,
                limit: facts.limits.max_total_size_mb,
                largest: largest.path.to_string(),
                size: largest.stat.size,
            })
        }
        Some(_) | None => Ok(()),
    }
}
