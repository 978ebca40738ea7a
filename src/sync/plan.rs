//! Decides which of the candidates are copied into a worktree; pure.
//!
//! What the scope excludes and what the worktree's branch tracks is left out; what stands in the
//! worktree already is kept, brought up to date, or refused.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::refusal::{SHOWN, SyncRefusal, list, named, optional};
use super::{Candidate, CandidateKind, Candidates, Pattern};
use crate::config::{BYTES_PER_MB, CONFIG_PATH, FileSyncConfig};
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedKind};
use crate::scope::{Access, EntryKind, Scope, ScopeRule, escape_for_rule};
use crate::size::Size;

/// Holds the patterns that count, and what they select in the main worktree.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// The limits.
    pub limits: FileSyncConfig,
    /// What they select.
    pub candidates: Candidates,
}

/// Holds what is in a worktree at the paths of the candidates.
#[derive(Clone, Debug, Default)]
pub struct WorktreeFiles {
    /// What was placed.
    pub placed: Placed,
    /// What stands there.
    pub standing: BTreeMap<RepoPath, Standing>,
    /// What is not a directory and would have to be one.
    pub in_the_way: BTreeSet<RepoPath>,
    /// The paths that its branch tracks, sorted.
    pub tracked: Vec<RepoPath>,
}

impl WorktreeFiles {
    /// A worktree that is not there yet, of which only is known what its branch tracks.
    pub fn tracking<'p>(tracked: impl Iterator<Item = &'p RepoPath>) -> Self {
        Self {
            tracked: tracked.cloned().collect(),
            ..Self::default()
        }
    }
}

/// Holds what stands in the worktree at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its stat data.
    pub stat: Stat,
    /// How it compares with the main worktree's.
    pub compared: Compared,
}

/// Says how something in the worktree compares with what would be copied over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// It is as it was placed.
    AsPlaced,
    /// It has the same content, and was not placed or was edited.
    Same,
    /// It is something else.
    Other,
}

/// Holds what a sync is decided on.
pub struct SyncFacts<'a> {
    /// The worktree's name.
    pub name: &'a str,
    /// Its directory.
    pub path: &'a Utf8Path,
    /// Its scope.
    pub scope: &'a Scope,
    /// What is in it.
    pub there: &'a WorktreeFiles,
    /// The main worktree.
    pub root: &'a Utf8Path,
    /// What is selected there.
    pub selection: &'a Selection,
    /// Whether a file that was edited in the worktree is saved and replaced, and not refused.
    pub force: bool,
}

/// Holds what a sync will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// What is copied, sorted by path.
    pub copy: Vec<PlannedCopy>,
    /// How many files and links are there already as they are in the main worktree.
    pub kept: usize,
    /// What the scope excludes, with the rule that says so.
    pub excluded: Vec<(RepoPath, String)>,
    /// What is untracked in the main worktree and tracked in this one.
    pub tracked: Vec<RepoPath>,
    /// Which of the copies replace what was edited in the worktree; saved first.
    pub save: Vec<RepoPath>,
}

/// Holds one thing to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCopy {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: PlacedKind,
    /// Its stat data in the main worktree.
    pub stat: Stat,
    /// Its permission bits in the worktree.
    pub bits: u32,
    /// What it replaces there.
    pub over: Option<Stat>,
}

impl SyncPlan {
    /// The files and links that are copied.
    pub fn files(&self) -> impl Iterator<Item = &PlannedCopy> {
        let all = self.copy.iter();
        all.filter(|copy| copy.kind != PlacedKind::Directory)
    }

    /// How many bytes are copied.
    pub fn bytes(&self) -> u64 {
        let files = self
            .copy
            .iter()
            .filter(|copy| copy.kind == PlacedKind::File);
        files.map(|copy| copy.stat.size).sum()
    }
}

/// The permission bits that a file with these has in a worktree: what may not be edited cannot
/// be written.
pub const fn bits(mode: u32, access: Access) -> u32 {
    match access {
        Access::Write => mode & 0o7777,
        Access::Read | Access::Excluded => mode & 0o7777 & !0o222,
    }
}

/// Holds a candidate that may be in the worktree.
struct Allowed<'a> {
    candidate: &'a Candidate,
    kind: PlacedKind,
    access: Access,
}

/// Decides.
///
/// # Errors
/// Refuses a pattern that selects nothing, a file that cannot be copied or is too large, and what
/// would overwrite the worktree's own work.
pub fn plan(facts: &SyncFacts<'_>) -> Result<SyncPlan, SyncRefusal> {
    require_matches(facts.selection)?;
    let mut plan = SyncPlan::default();
    let allowed = allowed(facts, &mut plan)?;
    require_limits(&facts.selection.limits, &allowed)?;
    let mut edited = Vec::new();
    for allowed in allowed {
        let (path, kind) = (&allowed.candidate.path, allowed.kind);
        let over = match next(facts, allowed.candidate, kind)? {
            Next::Keep => {
                plan.kept += usize::from(kind != PlacedKind::Directory);
                continue;
            }
            Next::Copy(over) => over,
            Next::Edited(over) if facts.force => {
                plan.save.push(path.clone());
                Some(over)
            }
            Next::Edited(_) => {
                edited.push(path.clone());
                continue;
            }
        };
        let stat = allowed.candidate.stat;
        plan.copy.push(PlannedCopy {
            path: path.clone(),
            kind,
            stat,
            bits: match kind {
                PlacedKind::File => bits(stat.mode, allowed.access),
                PlacedKind::Link | PlacedKind::Directory => stat.mode & 0o7777,
            },
            over,
        });
    }
    match edited.first() {
        Some(first) => Err(refuse_edited(facts, first, &edited)),
        None => Ok(plan),
    }
}

fn refuse_edited(facts: &SyncFacts<'_>, first: &RepoPath, paths: &[RepoPath]) -> SyncRefusal {
    let (name, here, there) = (facts.name, facts.path, facts.root);
    let edited = match paths.len() {
        1 => "a file was edited there and is".to_owned(),
        count => format!("{count} files were edited there and are"),
    };
    let line = |path: &RepoPath| format!("\n  {here}/{path} and {there}/{path}");
    let files: String = paths.iter().take(SHOWN).map(line).collect();
    let more = match paths.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    SyncRefusal::Edited {
        message: format!(
            "cannot sync into `{name}`: {edited} not as in the main worktree:{files}{more}"
        ),
        help: format!(
            "to keep what is in the worktree: git agentwt sync {name} --pull {first}; to replace it, saved first: git agentwt sync {name} --force"
        ),
        paths: paths.to_vec(),
    }
}

/// Leaves out what the scope excludes and what the worktree's branch tracks, and notes it.
fn allowed<'a>(
    facts: &SyncFacts<'a>,
    plan: &mut SyncPlan,
) -> Result<Vec<Allowed<'a>>, SyncRefusal> {
    let candidates = &facts.selection.candidates.entries;
    let mut allowed = Vec::with_capacity(candidates.len());
    // the patterns of which the scope does not exclude everything
    let mut shown = BTreeSet::new();
    let mut classifier = facts.scope.classifier();
    for candidate in candidates {
        let is_directory = candidate.kind == CandidateKind::Directory;
        let entry = if is_directory {
            EntryKind::Directory
        } else {
            EntryKind::File
        };
        let verdict = classifier.verdict(&candidate.path, entry);
        if verdict.access == Access::Excluded {
            if !is_directory {
                let rule = verdict.rule.map_or_else(
                    || "not in scope: no read or write pattern matches".to_owned(),
                    rule_line,
                );
                plan.excluded.push((candidate.path.clone(), rule));
            }
            continue;
        }
        shown.extend(candidate.patterns.iter().copied());
        if facts.there.tracked.binary_search(&candidate.path).is_ok() {
            plan.tracked.push(candidate.path.clone());
            continue;
        }
        let kind = match candidate.kind {
            CandidateKind::File => PlacedKind::File,
            CandidateKind::Link => PlacedKind::Link,
            CandidateKind::Directory => PlacedKind::Directory,
            CandidateKind::Special(kind) => {
                return Err(SyncRefusal::blocked(
                    format!("cannot sync {}: it is {kind}", candidate.path),
                    "a FIFO, socket or device has no content: take a pattern that leaves it out"
                        .to_owned(),
                ));
            }
        };
        allowed.push(Allowed {
            candidate,
            kind,
            access: verdict.access,
        });
    }
    require_not_all_excluded(facts.selection, &shown, &plan.excluded)?;
    Ok(allowed)
}

fn rule_line(rule: &ScopeRule) -> String {
    let pattern = escape_for_rule(&rule.pattern);
    format!("{} \"{pattern}\" ({})", rule.list, rule.origin)
}

/// A pattern of which the scope excludes everything contradicts the scope.
fn require_not_all_excluded(
    selection: &Selection,
    shown: &BTreeSet<usize>,
    excluded: &[(RepoPath, String)],
) -> Result<(), SyncRefusal> {
    for (at, pattern) in selection.patterns.iter().enumerate() {
        if pattern.is_optional() || shown.contains(&at) {
            continue;
        }
        let candidates = selection.candidates.entries.iter();
        let mut own = candidates.filter(|candidate| candidate.patterns.contains(&at));
        let of_pattern = own.find_map(|candidate| {
            let at = excluded.binary_search_by(|(path, _)| path.cmp(&candidate.path));
            at.ok().map(|at| &excluded[at])
        });
        if let Some((path, rule)) = of_pattern {
            let (pattern, help) = (named(pattern), optional(pattern));
            return Err(SyncRefusal::config(
                format!("the scope excludes everything that {pattern} matches, as {path}: {rule}"),
                format!("take one of the two out, or {help}"),
            ));
        }
    }
    Ok(())
}

/// A typo must not pass silently.
fn require_matches(selection: &Selection) -> Result<(), SyncRefusal> {
    let candidates = &selection.candidates;
    let matched = |at| {
        let mut entries = candidates.entries.iter();
        entries.any(|candidate| candidate.patterns.contains(&at))
    };
    let mut patterns = selection.patterns.iter().enumerate();
    let Some((at, pattern)) = patterns.find(|(at, one)| !one.is_optional() && !matched(*at)) else {
        return Ok(());
    };
    let (pattern, optional) = (named(pattern), optional(pattern));
    let closed = match candidates.not_entered.as_slice() {
        [] => String::new(),
        closed => format!(
            "; not entered, as a link, or another repository or worktree is there, or git has something else: {}",
            list(closed)
        ),
    };
    Err(match candidates.tracked.get(at) {
        None | Some(0) => SyncRefusal::config(
            format!("{pattern} matches nothing"),
            format!("correct it, or {optional}{closed}"),
        ),
        Some(tracked) => SyncRefusal::config(
            format!("{pattern} matches only tracked files ({tracked}), which are never copied"),
            format!("a worktree has them from its branch: take the pattern out, or {optional}"),
        ),
    })
}

/// Compares the sizes with the limits, before anything is copied.
fn require_limits(limits: &FileSyncConfig, allowed: &[Allowed<'_>]) -> Result<(), SyncRefusal> {
    let files = allowed.iter().filter(|one| one.kind == PlacedKind::File);
    let files: Vec<&Candidate> = files.map(|one| one.candidate).collect();
    let help = |patterns: &str, key: &str, bytes: u64| {
        let limit = bytes.div_ceil(BYTES_PER_MB);
        format!(
            "take {patterns}, or set `{key} = {limit}` in [worktree.file_sync] of {CONFIG_PATH}"
        )
    };
    let too_large = |file: &&&Candidate| file.stat.size > limits.max_file_bytes();
    if let Some(file) = files.iter().find(too_large) {
        let (path, size, limit) = (&file.path, file.stat.size, limits.max_file_size_mb);
        return Err(SyncRefusal::config(
            format!(
                "cannot sync {path}: it has {} ({size} bytes), and a file may have {limit} MB",
                Size(size)
            ),
            help("a pattern that leaves it out", "max_file_size_mb", size),
        ));
    }
    let sizes = files.iter().map(|file| file.stat.size);
    let total = sizes.fold(0, u64::saturating_add);
    match files.iter().rev().max_by_key(|file| file.stat.size) {
        Some(largest) if total > limits.max_total_bytes() => {
            let (path, size) = (&largest.path, Size(largest.stat.size));
            let (together, limit) = (Size(total), limits.max_total_size_mb);
            Err(SyncRefusal::config(
                format!(
                    "cannot sync: the files have {together} ({total} bytes) together, and may have {limit} MB; the largest is {path} with {size}"
                ),
                help("patterns that select less", "max_total_size_mb", total),
            ))
        }
        Some(_) | None => Ok(()),
    }
}

/// Says what becomes of one candidate.
enum Next {
    Keep,
    Copy(Option<Stat>),
    Edited(Stat),
}

fn next(
    facts: &SyncFacts<'_>,
    candidate: &Candidate,
    kind: PlacedKind,
) -> Result<Next, SyncRefusal> {
    let there = facts.there;
    let refused = |path, found, wanted| SyncRefusal::in_the_way(facts.name, path, found, wanted);
    let mut in_the_way = there.in_the_way.iter();
    if let Some(above) = in_the_way.find(|above| candidate.path.is_below(above.as_bstr())) {
        return Err(refused(above, "a file or a link", "a directory"));
    }
    let Some(standing) = there.standing.get(&candidate.path) else {
        return Ok(Next::Copy(None));
    };
    let placed = there.placed.get(&candidate.path);
    let is_from = placed.is_some_and(|file| file.source == Some(candidate.stat));
    match (kind == PlacedKind::Directory, standing.stat.is_directory()) {
        (true, true) => return Ok(Next::Keep),
        (true, false) => return Err(refused(&candidate.path, "a file or a link", "a directory")),
        (false, true) => return Err(refused(&candidate.path, "a directory", "a file or a link")),
        (false, false) => {}
    }
    Ok(match standing.compared {
        Compared::AsPlaced if is_from => Next::Keep,
        // nothing of the worktree's own is in it
        Compared::AsPlaced | Compared::Same => Next::Copy(Some(standing.stat)),
        Compared::Other => Next::Edited(standing.stat),
    })
}

#[cfg(test)]
#[path = "tests/plan.rs"]
mod tests;
