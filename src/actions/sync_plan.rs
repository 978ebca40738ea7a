//! Decides which of the candidates are copied into a worktree; pure.
//!
//! What the scope excludes and what the worktree's branch tracks is left out; what stands in the
//! worktree already is kept, brought up to date, or refused.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::answer::shapes::{CopiedFile, CopyReport, ExcludedFile};
use crate::config::{BYTES_PER_MB, CONFIG_PATH, FileSyncConfig};
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Placed, PlacedKind, PlacedOrigin};
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, EntryKind, ScopeRule};
use crate::sync::pattern::{Pattern, shown_pattern};
use crate::sync::{Candidate, Candidates, PatternOrigin};
use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::path::{RepoPath, escape_for_rule, first_of, shell_path};
use crate::words::path_text::{PathText, paths};
use crate::words::size::Size;

/// The patterns that count, and what they select in the main worktree.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// The limits.
    pub limits: FileSyncConfig,
    /// What they select.
    pub candidates: Candidates,
}

/// What is in a worktree at the paths of the candidates.
#[derive(Clone, Debug, Default)]
pub struct WorktreeFiles {
    /// What was placed.
    pub placed: Placed,
    /// What exists there.
    pub existing: BTreeMap<RepoPath, ExistingFile>,
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

/// What exists in the worktree at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExistingFile {
    /// Its stat data.
    pub stat: Stat,
    /// How it compares with the main worktree's.
    pub compared: ComparedFiles,
}

/// Says how something in the worktree compares with what would be copied over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedFiles {
    /// It is as it was placed.
    AsPlaced,
    /// It has the same content, and was not placed or was edited.
    Same,
    /// It is something else.
    Other,
}

/// What a sync is decided on.
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

/// What a sync will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// What is copied, sorted by path.
    pub copy: Vec<PlannedCopy>,
    /// How many files and links are there already and stay.
    pub kept: usize,
    /// What the scope excludes, with the rule that says so.
    pub excluded: Vec<(RepoPath, String)>,
    /// What is untracked in the main worktree and tracked in this one.
    pub tracked: Vec<RepoPath>,
    /// Which of the copies replace what was edited in the worktree; saved first.
    pub save: Vec<RepoPath>,
}

/// One thing to be copied.
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
        let all = self.copy.iter();
        let files = all.filter(|copy| copy.kind == PlacedKind::File);
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

/// Decides what is copied.
///
/// # Errors
/// Refuses a pattern that selects nothing, a file that cannot be copied or is too large, and what
/// would overwrite the worktree's own work.
pub fn plan(facts: &SyncFacts<'_>) -> Result<SyncPlan, SyncRefusal> {
    let mut plan = SyncPlan::default();
    let allowed = select_allowed(facts, &mut plan)?;
    require_limits(&facts.selection.limits, &allowed)?;
    let mut edited = Vec::new();
    for (candidate, access) in allowed {
        require_same_kind(facts, candidate)?;
        match compare_with_existing(facts, candidate) {
            PlaceNow::Free => plan.copy.push(planned_copy(candidate, access, None)),
            PlaceNow::Replaceable(existing) => {
                plan.copy
                    .push(planned_copy(candidate, access, Some(existing)));
            }
            PlaceNow::Kept => {
                plan.kept += usize::from(candidate.kind() != PlacedKind::Directory);
            }
            PlaceNow::Edited(existing) if facts.force => {
                plan.save.push(candidate.path.clone());
                plan.copy
                    .push(planned_copy(candidate, access, Some(existing)));
            }
            PlaceNow::Edited(_) => edited.push(candidate.path.clone()),
        }
    }
    if edited.is_empty() {
        return Ok(plan);
    }
    Err(refuse_edited(facts, edited))
}

/// The copy of a candidate, which replaces what has these stat data.
fn planned_copy(candidate: &Candidate, access: Access, over: Option<Stat>) -> PlannedCopy {
    let kind = candidate.kind();
    let stat = candidate.stat;
    PlannedCopy {
        path: candidate.path.clone(),
        kind,
        stat,
        bits: match kind {
            PlacedKind::File => bits(stat.mode, access),
            PlacedKind::Link | PlacedKind::Directory => stat.mode & 0o7777,
        },
        over,
    }
}

/// What stands where a file is to be copied.
enum PlaceNow {
    /// Nothing.
    Free,
    /// What stays: the file as it would be copied, a directory, or what the set-up wrote.
    Kept,
    /// Something of the worktree's own.
    Edited(Stat),
    /// Something in which nothing is of the worktree's own.
    Replaceable(Stat),
}

/// Looks at what stands where a candidate is to be copied.
fn compare_with_existing(facts: &SyncFacts<'_>, candidate: &Candidate) -> PlaceNow {
    let Some(existing) = facts.there.existing.get(&candidate.path) else {
        return PlaceNow::Free;
    };
    if candidate.kind() == PlacedKind::Directory {
        return PlaceNow::Kept;
    }
    let placed = facts.there.placed.get(&candidate.path);
    if placed.is_some_and(|file| file.origin == PlacedOrigin::Setup) && !facts.force {
        // the set-up wrote the file, and a copy would be read-only for its next run
        return PlaceNow::Kept;
    }
    let has_same_source = placed.is_some_and(|file| file.source == Some(candidate.stat));
    match existing.compared {
        ComparedFiles::AsPlaced if has_same_source => PlaceNow::Kept,
        ComparedFiles::AsPlaced | ComparedFiles::Same => PlaceNow::Replaceable(existing.stat),
        ComparedFiles::Other => PlaceNow::Edited(existing.stat),
    }
}

fn refuse_edited(facts: &SyncFacts<'_>, paths: Vec<RepoPath>) -> SyncRefusal {
    let name = facts.name;
    let here = facts.path;
    let there = facts.root;
    let first = shell_path(&paths[0]);
    let edited = match paths.len() {
        1 => "a file was edited there and is".to_owned(),
        count => format!("{count} files were edited there and are"),
    };
    let line = |path: &RepoPath| format!("\n  {here}/{path} and {there}/{path}");
    let mut files: String = paths.iter().take(SHOWN).map(line).collect();
    if let more @ 1.. = paths.len().saturating_sub(SHOWN) {
        files.push_str(&format!("\n  and {more} more"));
    }
    SyncRefusal::Edited {
        message: format!("cannot sync into `{name}`: {edited} not as in the main worktree:{files}"),
        help: format!(
            "to keep what is in the worktree: git agentwt sync {name} --pull {first}; to replace \
                it, saved first: git agentwt sync {name} --force"
        ),
        paths,
    }
}

/// The path of a file in the worktree of this name, for a shell.
pub fn path_there(name: &str, path: &RepoPath) -> String {
    format!("\"$(git agentwt path {name})\"/{}", shell_path(path))
}

/// Selects the candidates that may be copied, with the access to each. What the scope excludes and
/// what the worktree's branch tracks is noted in the plan instead.
fn select_allowed<'a>(
    facts: &SyncFacts<'a>,
    plan: &mut SyncPlan,
) -> Result<Vec<(&'a Candidate, Access)>, SyncRefusal> {
    let mut allowed = Vec::new();
    // the numbers of the patterns that select something that the scope does not exclude
    let mut patterns_in_scope = BTreeSet::new();
    let mut classifier = facts.scope.classifier();
    for candidate in &facts.selection.candidates.entries {
        let path = &candidate.path;
        let entry = match candidate.kind() {
            PlacedKind::Directory => EntryKind::Directory,
            PlacedKind::File | PlacedKind::Link => EntryKind::File,
        };
        let verdict = classifier.verdict(path, entry);
        if verdict.access == Access::Excluded {
            if entry == EntryKind::File {
                let no_rule = || "not in scope: no read or write pattern matches".to_owned();
                let rule = verdict.rule.map_or_else(no_rule, rule_line);
                plan.excluded.push((path.clone(), rule));
            }
            continue;
        }
        patterns_in_scope.extend(candidate.patterns.iter().copied());
        if facts.there.tracked.binary_search(path).is_ok() {
            plan.tracked.push(path.clone());
        } else if candidate.is_special() {
            return Err(SyncRefusal::blocked(
                format!("cannot sync {path}: it is a FIFO, a socket or a device"),
                "it has no content: take a pattern that leaves it out".to_owned(),
            ));
        } else {
            allowed.push((candidate, verdict.access));
        }
    }
    require_matches(facts.selection, &patterns_in_scope, &plan.excluded)?;
    Ok(allowed)
}

fn rule_line(rule: &ScopeRule) -> String {
    let pattern = escape_for_rule(&rule.pattern);
    format!("{} \"{pattern}\" ({})", rule.list, rule.origin)
}

/// Refuses a pattern that selects nothing, as a typo must not pass silently; and one that was given
/// for this worktree and of which the scope excludes everything. A pattern of the config is for all
/// scopes, and passes. `patterns_in_scope` are the numbers of those that select something that the
/// scope does not exclude; `excluded` is sorted by path.
fn require_matches(
    selection: &Selection,
    patterns_in_scope: &BTreeSet<usize>,
    excluded: &[(RepoPath, String)],
) -> Result<(), SyncRefusal> {
    for (number, pattern) in selection.patterns.iter().enumerate() {
        if pattern.is_optional() || patterns_in_scope.contains(&number) {
            continue;
        }
        let mut matching = Vec::new();
        for candidate in &selection.candidates.entries {
            if candidate.patterns.contains(&number) {
                matching.push(candidate);
            }
        }
        if matching.is_empty() {
            return Err(refuse_unmatched(pattern, number, &selection.candidates));
        }
        let is_of_all_scopes = matches!(
            pattern.origin(),
            PatternOrigin::File(_) | PatternOrigin::BuiltIn
        );
        if is_of_all_scopes {
            continue;
        }
        // none where only directories match: `excluded` has none of these
        let first_excluded = matching.iter().find_map(|candidate| {
            let found = excluded.binary_search_by(|(path, _)| path.cmp(&candidate.path));
            Some(&excluded[found.ok()?])
        });
        if let Some(first_excluded) = first_excluded {
            return Err(refuse_excluded(pattern, first_excluded));
        }
    }
    Ok(())
}

/// Returns how a refusal names a pattern.
fn named_pattern(pattern: &Pattern) -> String {
    let text = shown_pattern(pattern.text());
    format!("the sync pattern `{text}` ({})", pattern.origin())
}

/// Returns how a pattern may match nothing.
fn optional_instead(pattern: &Pattern) -> String {
    let text = shown_pattern(pattern.text());
    let verb = match pattern.origin() {
        PatternOrigin::File(_) => "move it to",
        PatternOrigin::Flag(_) | PatternOrigin::Record | PatternOrigin::BuiltIn => "have it in",
    };
    format!(
        "or {verb} `optional_patterns = [\"{text}\"]` in {CONFIG_PATH}, where it may match \
            nothing"
    )
}

fn refuse_excluded(pattern: &Pattern, left_out: &(RepoPath, String)) -> SyncRefusal {
    let (path, rule) = left_out;
    let named = named_pattern(pattern);
    let optional = optional_instead(pattern);
    SyncRefusal::Config {
        message: format!("the scope excludes everything that {named} matches, as {path}: {rule}"),
        help: format!("take one of the two out, {optional}"),
    }
}

fn refuse_unmatched(pattern: &Pattern, number: usize, candidates: &Candidates) -> SyncRefusal {
    let named = named_pattern(pattern);
    let optional = optional_instead(pattern);
    if let Some(tracked @ 1..) = candidates.tracked.get(number) {
        return SyncRefusal::Config {
            message: format!(
                "{named} matches only tracked files ({tracked}), which are never copied"
            ),
            help: format!("a worktree has them from its branch: take the pattern out, {optional}"),
        };
    }
    let closed = match candidates.not_entered.as_slice() {
        [] => String::new(),
        closed => format!(
            "; not entered, as a link, or another repository or worktree is there, or \
                git has something else: {}",
            first_of(closed, SHOWN)
        ),
    };
    SyncRefusal::Config {
        message: format!("{named} matches nothing"),
        help: format!("correct it, {optional}{closed}"),
    }
}

/// Refuses a file that is larger than the limit for one, and files that are larger together than
/// the limit for all. Links and directories do not count.
fn require_limits(
    limits: &FileSyncConfig,
    allowed: &[(&Candidate, Access)],
) -> Result<(), SyncRefusal> {
    let mut total = 0_u64;
    let mut largest = None::<&Candidate>;
    for (file, _) in allowed {
        if file.kind() != PlacedKind::File {
            continue;
        }
        let size = file.stat.size;
        if size > limits.max_file_bytes() {
            return Err(refuse_large_file(limits, file));
        }
        total = total.saturating_add(size);
        if largest.is_none_or(|other| other.stat.size < size) {
            largest = Some(file);
        }
    }
    match largest {
        Some(largest) if total > limits.max_total_bytes() => {
            Err(refuse_large_total(limits, total, largest))
        }
        Some(_) | None => Ok(()),
    }
}

fn refuse_large_file(limits: &FileSyncConfig, file: &Candidate) -> SyncRefusal {
    let size = file.stat.size;
    SyncRefusal::Config {
        message: format!(
            "cannot sync {}: it has {} ({size} bytes), and a file may have {} MiB",
            file.path,
            Size(size),
            limits.max_file_size_mb
        ),
        help: format!(
            "take a pattern that leaves it out, or {}",
            advice_to_raise("max_file_size_mb", size)
        ),
    }
}

fn refuse_large_total(limits: &FileSyncConfig, total: u64, largest: &Candidate) -> SyncRefusal {
    SyncRefusal::Config {
        message: format!(
            "cannot sync: the files have {} ({total} bytes) together, and may have {} MiB; the \
                largest is {} with {}",
            Size(total),
            limits.max_total_size_mb,
            largest.path,
            Size(largest.stat.size)
        ),
        help: format!(
            "take patterns that select less, or {}",
            advice_to_raise("max_total_size_mb", total)
        ),
    }
}

/// How the user raises a limit to so many bytes.
fn advice_to_raise(key: &str, bytes: u64) -> String {
    let limit = bytes.div_ceil(BYTES_PER_MB);
    format!("set `{key} = {limit}` in [worktree.file_sync] of {CONFIG_PATH}")
}

/// Refuses where something of another kind is in the way: nothing is written through a link, and no
/// directory takes the place of a file.
fn require_same_kind(facts: &SyncFacts<'_>, candidate: &Candidate) -> Result<(), SyncRefusal> {
    let path = &candidate.path;
    for above in &facts.there.in_the_way {
        if path.is_below(above.as_bstr()) {
            return Err(refuse_in_the_way(facts, above, EntryKind::File));
        }
    }
    let Some(existing) = facts.there.existing.get(path) else {
        return Ok(());
    };
    let is_directory = candidate.kind() == PlacedKind::Directory;
    if existing.stat.is_directory() && !is_directory {
        return Err(refuse_in_the_way(facts, path, EntryKind::Directory));
    }
    if !existing.stat.is_directory() && is_directory {
        return Err(refuse_in_the_way(facts, path, EntryKind::File));
    }
    Ok(())
}

/// Refuses as something of this kind stands at a path where the other kind has to be.
fn refuse_in_the_way(facts: &SyncFacts<'_>, path: &RepoPath, found: EntryKind) -> SyncRefusal {
    let name = facts.name;
    let sentence = match found {
        EntryKind::File => "is a file or a link there, and has to be a directory",
        EntryKind::Directory => "is a directory there, and has to be a file or a link",
    };
    SyncRefusal::blocked(
        format!("cannot sync into `{name}`: {path} {sentence}"),
        format!(
            "look at it: ls -ld {}; move it away, then: git \
                agentwt sync {name}",
            path_there(name, path)
        ),
    )
}

/// As many paths are named.
pub const SHOWN: usize = 5;

/// Says why nothing is copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
#[expect(missing_docs, reason = "the fields are what the messages show")]
pub enum SyncRefusal {
    /// The patterns or limits do not fit what is there.
    #[diagnostic(code(agentwt::sync::config), help("{help}"))]
    Config { message: String, help: String },
    /// Something is there that is never copied, or never replaced.
    #[diagnostic(code(agentwt::sync::blocked), help("{help}"))]
    Blocked { message: String, help: String },
    /// A copy would replace work; `--force` saves it first.
    #[diagnostic(code(agentwt::sync::edited), help("{help}"))]
    Edited {
        message: String,
        help: String,
        paths: Vec<RepoPath>,
    },
    /// Several worktrees cannot be pulled from at once.
    #[diagnostic(code(agentwt::sync::several_to_pull), help("{help}"))]
    Several { message: String, help: String },
}

impl Fault for SyncRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Config { .. } => ExitCode::Config,
            Self::Several { .. } => ExitCode::Usage,
            Self::Blocked { .. } | Self::Edited { .. } => ExitCode::Refused,
        }
    }
}

impl SyncRefusal {
    /// Something is there that is never copied, or never replaced.
    pub fn blocked(message: String, help: String) -> Self {
        Self::Blocked { message, help }
    }

    /// A hook of the user's created these files while the worktree was created.
    pub fn made_by_hook(name: &str, paths: &[RepoPath]) -> Self {
        let files = first_of(paths, SHOWN);
        Self::blocked(
            format!(
                "cannot place {files} in `{name}`: a post-checkout hook made it first, with \
                    another content"
            ),
            format!(
                "leave it to the hook (git agentwt add {name} --no-sync, or --client none for \
                    context), or take it out of the hook"
            ),
        )
    }
}

impl From<&SyncPlan> for CopyReport {
    fn from(plan: &SyncPlan) -> Self {
        let copied = plan.files().map(|copy| CopiedFile {
            path: PathText::from(&copy.path),
            bytes: copy.stat.size,
        });
        let excluded = plan.excluded.iter().map(|(path, rule)| ExcludedFile {
            path: PathText::from(path),
            rule: rule.clone(),
        });
        Self {
            files: plan.files().count(),
            bytes: plan.bytes(),
            copied: copied.collect(),
            kept: plan.kept,
            excluded: excluded.collect(),
            tracked: paths(&plan.tracked),
        }
    }
}

#[cfg(test)]
mod tests;
