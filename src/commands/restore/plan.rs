//! Reads and decides what `restore` and `restore --undo` put back, and what they refuse.
//!
//! What a path gets back is what it would have if no process had touched it here: what a merge in
//! progress brings from upstream, else HEAD's entry where that is in order, else the entry of the
//! nearest reference (`docs/decisions/0010-restore.md`).

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::saved;
use crate::actions::saved::{SavedPath, SavedRestore};
use crate::answer::shapes::BranchMove;
use crate::commands::restore::answer::{RestoreAnswer, RestoredPath};
use crate::disk::drift::at_source;
use crate::disk::error::DiskError;
use crate::git::index::{IndexEntry, read_index};
use crate::inventory::placed::SourceState;
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{Delta, entry_in};
use crate::judge::finding::{Finding, Level, Reason, VerifyOptions};
use crate::record::worktree::Record;
use crate::scope::rule::{Access, EntryKind};
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode};
use crate::words::error::{Error, Fault};
use crate::words::exit::ExitCode;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::path_text::{PathText, paths};
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::read_operation;
use crate::worktree::repository::Repository;

/// Says why nothing is put back, with the next command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
#[expect(missing_docs, reason = "the fields are what the messages show")]
pub enum RestoreRefusal {
    /// What was named cannot be restored.
    #[diagnostic(code(agentwt::restore::unknown), help("{help}"))]
    Unknown { message: String, help: String },
    /// Something is there that cannot be saved, or is in the way.
    #[diagnostic(code(agentwt::restore::blocked), help("{help}"))]
    Blocked { message: String, help: String },
    /// The branch cannot be moved.
    #[diagnostic(code(agentwt::restore::branch), help("{help}"))]
    Branch { message: String, help: String },
    /// There is nothing to undo, or what is there is newer.
    #[diagnostic(code(agentwt::restore::undo), help("{help}"))]
    Undo { message: String, help: String },
}

impl Fault for RestoreRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unknown { .. } => ExitCode::Usage,
            Self::Blocked { .. } | Self::Branch { .. } | Self::Undo { .. } => ExitCode::Refused,
        }
    }
}

impl RestoreRefusal {
    pub(super) fn blocked(message: String, help: String) -> Self {
        Self::Blocked { message, help }
    }

    /// Returns the refusal of the option `--rewrite`, which this command no longer has.
    pub(super) fn rewrite() -> Self {
        Self::Unknown {
            message: "`restore --rewrite` was removed".to_owned(),
            help: "to undo the commits by a new commit, leave out --rewrite; to land the work as \
                one commit: git agentwt land --squash"
                .to_owned(),
        }
    }
}

/// Holds what `restore` decides on.
#[derive(Clone, Debug)]
pub struct RestoreFacts<'a> {
    /// The worktree's record.
    pub record: &'a Record,
    /// Why the branch cannot be moved now, and what to do; none where it can.
    pub busy: Option<(String, String)>,
    /// Paths that are violations, sorted.
    pub violations: Vec<RestoredPath>,
    /// Read-only files that were only made writable.
    pub permissions: Vec<RepoPath>,
    /// Whether the sparse patterns or their settings are other ones.
    pub sparse: bool,
    /// Other paths that stand on disk, in the index or in HEAD, and are not as in the base.
    pub others: BTreeSet<RepoPath>,
    /// Paths that commits of the worktree touched out of scope, and that are as before again.
    pub history: Vec<RepoPath>,
}

/// Reads what `restore` decides on; with a restore, what undoing it does.
pub fn read<'a>(
    repository: &Repository,
    worktree: &'a Worktree,
    survey: &Survey,
    saved: Option<&SavedRestore>,
) -> RestoreFacts<'a> {
    let options = VerifyOptions::default();
    let report = worktree.judge(survey.changes.clone(), options);
    let mut facts = RestoreFacts {
        record: &worktree.record,
        busy: read_busy(&worktree.record, survey),
        violations: Vec::new(),
        permissions: Vec::new(),
        sparse: survey.changes.integrity.iter().any(is_sparse),
        others: BTreeSet::new(),
        history: Vec::new(),
    };
    for finding in &report.findings {
        let Some(path) = finding.change.place.path() else {
            continue;
        };
        match (finding.reason, finding.change.kind) {
            // the file may be the work itself: taking it away is for a person
            (_, Kind::Leak) => {}
            (Reason::History, _) => facts.history.push(path.clone()),
            (Reason::ReadOnly | Reason::Excluded, Kind::Perm) => {
                facts.permissions.push(path.clone());
            }
            (Reason::ReadOnly | Reason::Excluded, _) if finding.level == Level::Violation => {
                let violation = violation(repository, worktree, survey, finding, path);
                // what only another branch has that was made here stays there
                if violation.committed || !finding.change.seen.iter().all(is_commit) {
                    facts.violations.push(violation);
                }
            }
            _other => {}
        }
    }
    facts.violations.sort_by(|a, b| a.path.cmp(&b.path));
    facts.permissions.sort_unstable();
    let taken: BTreeSet<&RepoPath> = match saved {
        Some(saved) => saved.paths.iter().map(|saved| &saved.path).collect(),
        None => facts.violations.iter().map(|one| &one.path).collect(),
    };
    let layers = match saved {
        Some(_) => vec![&survey.states.disk.delta],
        None => all_layers(survey),
    };
    facts.others = others(survey, &taken, &layers);
    facts
}

fn is_sparse(change: &Change) -> bool {
    matches!(&change.place, Place::Admin(name)
        if *name == "info/sparse-checkout" || *name == "config.worktree")
}

fn read_busy(record: &Record, survey: &Survey) -> Option<(String, String)> {
    let name = &record.name;
    let path = &record.path;
    let branch = &record.branch;
    if let Some(operation) = read_operation(record) {
        let help = format!(
            "finish or abort it first: git -C {path} {operation} --continue, or --abort; changes \
                that are not committed can be named: git agentwt restore {name} <path>"
        );
        return Some((format!("a {operation} is in progress"), help));
    }
    let help = format!("go back to it first: git -C {path} switch {branch}");
    Some((survey.head.head_problem(record)?, help))
}

fn violation(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    finding: &Finding,
    path: &RepoPath,
) -> RestoredPath {
    let states = &survey.states;
    let excluded = finding.reason == Reason::Excluded;
    // a commit on another branch that was made there is not undone on this one
    let at = |delta| entry_in(&states.manifest, delta, path);
    let is_on_head = at(&states.references.head) != at(states.references.reference());
    let committed = finding.change.seen.iter().any(is_commit) && is_on_head;
    let nearest = if committed {
        states.references.reference()
    } else {
        &states.references.head
    };
    let in_tree = || entry_in(&states.manifest, nearest, path);
    let arriving = states.references.arriving.get(path).copied();
    let is_same =
        |file| at_source(&worktree.source_of(repository, file), file) == SourceState::Same;
    let access = if excluded {
        Access::Excluded
    } else {
        Access::Read
    };
    let disk = on_disk(survey, path, access);
    RestoredPath {
        shown: PathText::from(path.as_bstr()),
        kind: Some(finding.change.kind.as_str()),
        committed,
        saved: disk.is_none_or(|entry| entry.mode != Mode::Special),
        path: path.clone(),
        excluded,
        disk,
        target: arriving.unwrap_or_else(in_tree),
        source: states.placed.get(path).map(is_same),
    }
}

const fn is_commit(seen: &Seen) -> bool {
    matches!(seen, Seen::Commit(_) | Seen::Committed)
}

/// What stands on disk. What is excluded and absent is in no difference from the base.
fn on_disk(survey: &Survey, path: &RepoPath, access: Access) -> Option<Entry> {
    let states = &survey.states;
    if states.placed.get(path).is_some() {
        return survey.placed_entry(path);
    }
    match access {
        Access::Excluded => states.disk.delta.get(path).copied().flatten(),
        Access::Read | Access::Write => entry_in(&states.manifest, &states.disk.delta, path),
    }
}

/// Returns how the disk, HEAD and the index differ from the base.
fn all_layers(survey: &Survey) -> Vec<&Delta> {
    let states = &survey.states;
    let mut layers = vec![&states.disk.delta, &states.references.head];
    layers.extend(&states.index.deltas);
    layers
}

/// Returns the changed paths, without those that are `taken`, that stand in any of these layers.
fn others(survey: &Survey, taken: &BTreeSet<&RepoPath>, layers: &[&Delta]) -> BTreeSet<RepoPath> {
    let mut others = BTreeSet::new();
    for change in &survey.changes.changes {
        let Some(path) = change.place.path() else {
            continue;
        };
        let stands = layers
            .iter()
            .any(|layer| matches!(layer.get(path), Some(Some(_))));
        if stands && !taken.contains(path) {
            others.insert(path.clone());
        }
    }
    others
}

/// Decides what is put back. Without paths that is everything; a path means itself and all below
/// it.
///
/// # Errors
/// Refuses a path that is no violation, what no commit can save, and what would touch work that
/// is in scope.
pub fn plan(facts: &RestoreFacts<'_>, asked: &[RepoPath]) -> Result<RestoreAnswer, RestoreRefusal> {
    require_violations(facts, asked)?;
    let mut stays = Vec::new();
    let mut restored = Vec::new();
    for path in selected(facts, asked) {
        if path.source == Some(false) {
            stays.push(path.shown);
        } else {
            restored.push(path);
        }
    }
    check_disk(facts.record, &facts.others, &restored)?;
    if restored.iter().any(|path| path.committed) {
        check_branch(facts)?;
    }
    let write_bits = facts
        .permissions
        .iter()
        .filter(|path| is_asked(asked, path))
        .map(RepoPath::as_bstr);
    Ok(RestoreAnswer {
        name: facts.record.name.to_string(),
        path: facts.record.path.clone(),
        write_bits: paths(write_bits),
        patterns: facts.sparse && asked.is_empty(),
        stays,
        restored,
        ..RestoreAnswer::default()
    })
}

/// Refuses a named path that covers no out-of-scope change.
fn require_violations(facts: &RestoreFacts<'_>, asked: &[RepoPath]) -> Result<(), RestoreRefusal> {
    let mut restorable: Vec<&RepoPath> = Vec::new();
    for violation in &facts.violations {
        restorable.push(&violation.path);
    }
    restorable.extend(&facts.permissions);
    for path in asked {
        let mut touched = restorable.iter().copied().chain(&facts.history);
        if !touched.any(|other| covers(path, other)) {
            let name = &facts.record.name;
            let number = restorable.len();
            return Err(RestoreRefusal::Unknown {
                message: format!("{path} is not an out-of-scope change of worktree `{name}`"),
                help: format!("see the {number} that there are: git agentwt verify {name}"),
            });
        }
    }
    Ok(())
}

/// True if `path` is meant; without named paths, every one is.
pub fn is_asked(asked: &[RepoPath], path: &RepoPath) -> bool {
    asked.is_empty() || asked.iter().any(|asked| covers(asked, path))
}

fn covers(asked: &RepoPath, path: &RepoPath) -> bool {
    asked == path || path.is_below(asked.as_bstr())
}

/// What was asked for, with what stands in its way: a link in the place of a directory.
fn selected(facts: &RestoreFacts<'_>, asked: &[RepoPath]) -> Vec<RestoredPath> {
    let chosen: Vec<&RepoPath> = facts
        .violations
        .iter()
        .map(|violation| &violation.path)
        .filter(|path| is_asked(asked, path))
        .collect();
    let mut selected = Vec::new();
    for violation in &facts.violations {
        let path = &violation.path;
        let is_chosen = is_asked(asked, path);
        let is_in_the_way =
            violation.disk.is_some() && chosen.iter().any(|below| below.is_below(path.as_bstr()));
        if is_chosen || is_in_the_way {
            selected.push(violation.clone());
        }
    }
    selected
}

/// Refuses what cannot be saved, and what is in the way and is not ours to move.
fn check_disk(
    record: &Record,
    others: &BTreeSet<RepoPath>,
    paths: &[RestoredPath],
) -> Result<(), RestoreRefusal> {
    let name = &record.name;
    let root = &record.path;
    let mut nested: Vec<String> = paths.iter().filter_map(nested_root).collect();
    nested.dedup();
    if let Some(first) = nested.first() {
        let places = nested.join(", ");
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: a repository is inside it: {places}"),
            format!("no commit can save its history: mv {root}/{first}/.git <elsewhere>"),
        ));
    }
    let is_gitlink = |restored: &&RestoredPath| {
        let gitlink = restored
            .disk
            .is_some_and(|entry| entry.mode == Mode::Gitlink);
        gitlink && restored.disk != restored.wanted()
    };
    if let Some(RestoredPath { path, target, .. }) = paths.iter().find(is_gitlink) {
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: the submodule {path} is not as in the base"),
            match target {
                Some(Entry { id, .. }) => {
                    format!("save what is in it, then: git -C {root}/{path} checkout --force {id}")
                }
                None => format!("no commit can save its history: mv {root}/{path} <elsewhere>"),
            },
        ));
    }
    let chosen: BTreeSet<&RepoPath> = paths.iter().map(|restored| &restored.path).collect();
    let comes = |restored: &&RestoredPath| restored.target.is_some() || restored.from_source();
    for RestoredPath { path, .. } in paths.iter().filter(comes) {
        let mut others = others.iter();
        if let Some(other) = others.find(|other| !chosen.contains(other) && blocks(path, other)) {
            return Err(RestoreRefusal::blocked(
                format!(
                    "cannot restore {path} in worktree `{name}`: {other}, which is in scope or \
                        ignored, is in its way"
                ),
                format!("move it first: mv {root}/{other} <elsewhere>"),
            ));
        }
    }
    Ok(())
}

/// The directory of the repository inside that a path is in.
fn nested_root(restored: &RestoredPath) -> Option<String> {
    let parts: Vec<&[u8]> = restored
        .path
        .as_bstr()
        .split(|byte| *byte == b'/')
        .collect();
    let at = parts.iter().position(|part| *part == b".git")?;
    let root = RepoPath::parse(parts[..at].join(&b'/')).ok()?;
    let holds = restored.disk?.mode != Mode::EmptyDirectory;
    holds.then(|| root.to_string())
}

/// True if two paths cannot both be files, as one is below the other.
fn blocks(path: &RepoPath, other: &RepoPath) -> bool {
    path.is_below(other.as_bstr()) || other.is_below(path.as_bstr())
}

/// Refuses to move the branch while git works on it, or HEAD is elsewhere.
fn check_branch(facts: &RestoreFacts<'_>) -> Result<(), RestoreRefusal> {
    let Some((why, help)) = facts.busy.clone() else {
        return Ok(());
    };
    let name = &facts.record.name;
    let message = format!("cannot undo commits of worktree `{name}`: {why}");
    Err(RestoreRefusal::Branch { message, help })
}

/// Holds a path that was restored, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNow {
    /// How it was.
    pub saved: SavedPath,
    /// What stands on disk.
    pub disk: Option<Entry>,
    /// Its entries in the index.
    pub index: Vec<(u8, Entry)>,
    /// Whether the disk is not as in the base.
    pub disk_changed: bool,
    /// Whether the index is not as in the base.
    pub index_changed: bool,
}

impl PathNow {
    /// Whether it was worked on since. A restore that was killed has left it as it was,
    /// or taken it away; what is not there holds no work.
    fn is_newer(&self) -> bool {
        let disk = self.disk_changed && self.disk.is_some() && self.disk != self.saved.disk;
        let staged = self.index_changed && !self.index.is_empty();
        disk || staged && self.index != self.saved.index
    }
}

/// Holds what `restore --undo` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// What is brought back, sorted; none of it holds anything newer.
    pub paths: Vec<PathNow>,
    /// From where the branch goes back to where.
    pub branch: Option<BranchMove>,
}

/// Decides how a restore is undone: `now` are its paths, `tip` is where the branch is.
///
/// # Errors
/// Refuses when the branch went on, or a path was worked on, since the restore.
pub fn plan_undo(
    facts: &RestoreFacts<'_>,
    saved: &SavedRestore,
    mut now: Vec<PathNow>,
    tip: Option<&CommitId>,
) -> Result<UndoPlan, RestoreRefusal> {
    let branch = plan_branch_undo(facts, saved, tip)?;
    require_nothing_newer(facts, saved, &now)?;
    now.retain(|path| path.disk != path.saved.disk || path.index != path.saved.index);
    Ok(UndoPlan { paths: now, branch })
}

/// Decides how the branch goes back; it stays where the restore made no commit, or is undone there
/// already.
fn plan_branch_undo(
    facts: &RestoreFacts<'_>,
    saved: &SavedRestore,
    tip: Option<&CommitId>,
) -> Result<Option<BranchMove>, RestoreRefusal> {
    let Some(made) = &saved.made else {
        return Ok(None);
    };
    if tip == Some(made) {
        check_branch(facts)?;
        return Ok(Some(BranchMove {
            from: made.clone(),
            to: saved.previous.clone(),
        }));
    }
    if tip == Some(&saved.previous) {
        return Ok(None);
    }
    let name = &facts.record.name;
    let path = &facts.record.path;
    let branch = &facts.record.branch;
    let current = tip.map_or("nothing", CommitId::short);
    let onto = saved.previous.short();
    let upstream = made.short();
    Err(RestoreRefusal::Branch {
        message: format!(
            "cannot undo the restore of worktree `{name}`: `{branch}` has moved since, to \
                {current}"
        ),
        help: format!(
            "take what it did back, and keep what came since: git -C {path} rebase --onto {onto} \
                {upstream}"
        ),
    })
}

/// Refuses to undo where a path was worked on since the restore, or another stands in its way.
fn require_nothing_newer(
    facts: &RestoreFacts<'_>,
    saved: &SavedRestore,
    now: &[PathNow],
) -> Result<(), RestoreRefusal> {
    let mut newer: BTreeSet<&RepoPath> = BTreeSet::new();
    for path in now {
        if path.is_newer() {
            newer.insert(&path.saved.path);
        }
        if path.saved.disk.is_some() {
            newer.extend(
                facts
                    .others
                    .iter()
                    .filter(|other| blocks(&path.saved.path, other)),
            );
        }
    }
    let Some(first) = newer.first() else {
        return Ok(());
    };
    let name = &facts.record.name;
    let root = &facts.record.path;
    let rescue = &saved.rescue;
    let items: String = newer.iter().map(|path| format!("\n  {path}")).collect();
    Err(RestoreRefusal::Undo {
        message: format!("cannot undo the restore of worktree `{name}`: changed since:{items}"),
        help: format!("see what was saved: git -C {root} diff {rescue} -- '{first}'"),
    })
}

/// Reads the index of a worktree.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_own_index(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<IndexEntry>, Error> {
    let file = worktree.record.admin_dir.join("index");
    Ok(read_index(&file, repository.format)?)
}

/// The entries of every path, with the number that git has for their stage.
pub fn stages(index: &[IndexEntry]) -> BTreeMap<&RepoPath, Vec<(u8, Entry)>> {
    let mut stages: BTreeMap<&RepoPath, Vec<(u8, Entry)>> = BTreeMap::new();
    for entry in index {
        let entries = stages.entry(&entry.path).or_default();
        entries.push((entry.stage as u8, entry.entry));
    }
    stages
}

/// Reads how the paths of a restore are now.
///
/// # Errors
/// Fails when the index cannot be read.
pub fn read_paths_now(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    saved: &SavedRestore,
) -> Result<Vec<PathNow>, Error> {
    let index = read_own_index(repository, worktree)?;
    let stages = stages(&index);
    let mut changed = BTreeMap::new();
    for change in &survey.changes.changes {
        if change.kind != Kind::Perm {
            changed.insert(&change.place, &change.seen);
        }
    }
    let is_on_disk = |seen: &Seen| !matches!(seen, Seen::Commit(_) | Seen::Committed | Seen::Index);
    let mut now = Vec::new();
    for saved in &saved.paths {
        let path = &saved.path;
        let change = changed.get(&Place::Path(path.clone()));
        let seen = || change.into_iter().flat_map(|seen| *seen);
        let access = worktree.scope.verdict(path, EntryKind::File).access;
        let without_content =
            on_disk(survey, path, access).filter(|entry| entry.mode.git_octal().is_none());
        now.push(PathNow {
            disk: read_raw(repository, worktree, path)?.or(without_content),
            index: stages.get(path).cloned().unwrap_or_default(),
            disk_changed: seen().any(is_on_disk),
            index_changed: seen().any(|seen| *seen == Seen::Index),
            saved: saved.clone(),
        });
    }
    Ok(now)
}

/// Reads what stands at a path, with the id of its raw bytes.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_raw(
    repository: &Repository,
    worktree: &Worktree,
    path: &RepoPath,
) -> Result<Option<Entry>, Error> {
    saved::read_entry(&worktree.record.path, path, |size, content| {
        let failed = |error| DiskError::new(format!("read {path}"), error);
        Ok(repository.format.hash_blob(size, content).map_err(failed)?)
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
