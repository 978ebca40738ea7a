//! Reads and decides what `restore` and `restore --undo` put back, and what they refuse.
//!
//! What a path gets back is what it would have if no process had touched it here: what a merge in
//! progress brings from upstream, else HEAD's entry where that is in order, else the entry of the
//! nearest reference (`docs/decisions/0010-restore.md`).

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::saved;
use crate::actions::saved::{SavedPath, SavedRestore};
use crate::answer::shapes::{PathField, paths};
use crate::commands::restore::answer::{BranchMove, RestoreAnswer, RestoredPath};
use crate::disk::drift::at_source;
use crate::disk::error::DiskError;
use crate::git::index::{IndexEntry, read_index};
use crate::inventory::placed::SourceState;
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::entry_in;
use crate::judge::finding::{Finding, Level, Reason, VerifyOptions};
use crate::record::worktree::Record;
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode};
use crate::words::error::{Error, Fault};
use crate::words::exit::ExitCode;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
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
    /// The branch cannot be moved, or its commits cannot be made anew.
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
    known: &'a Worktree,
    survey: &Survey,
    saved: Option<&SavedRestore>,
) -> RestoreFacts<'a> {
    let options = VerifyOptions::default();
    let report = known.judge(survey.changes.clone(), options);
    let mut facts = RestoreFacts {
        record: &known.record,
        busy: read_busy(&known.record, survey),
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
                let violation = violation(repository, known, survey, finding, path);
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
    facts.others = others(survey, &taken, saved.is_some());
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
    Some((survey.head.head_problem(record, false)?, help))
}

fn violation(
    repository: &Repository,
    known: &Worktree,
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
    let is_same = |file| at_source(&known.source_of(repository, file), file) == SourceState::Same;
    let disk = on_disk(survey, path, excluded);
    RestoredPath {
        shown: PathField::from(path.as_bstr()),
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
fn on_disk(survey: &Survey, path: &RepoPath, excluded: bool) -> Option<Entry> {
    let states = &survey.states;
    if states.placed.get(path).is_some() {
        return survey.placed_entry(path);
    }
    if excluded {
        states.disk.delta.get(path).copied().flatten()
    } else {
        entry_in(&states.manifest, &states.disk.delta, path)
    }
}

/// Changed paths that stand on disk, or also in HEAD or in the index, without these.
fn others(survey: &Survey, taken: &BTreeSet<&RepoPath>, on_disk: bool) -> BTreeSet<RepoPath> {
    let states = &survey.states;
    let mut all = vec![&states.disk.delta];
    if !on_disk {
        all.push(&states.references.head);
        all.extend(&states.index.deltas);
    }
    let stands = |path: &RepoPath| {
        all.iter()
            .any(|state| matches!(state.get(path), Some(Some(_))))
    };
    let changed = survey.changes.changes.iter();
    let changed = changed.filter_map(|change| change.place.path());
    let others = changed.filter(|path| !taken.contains(path) && stands(path));
    others.cloned().collect()
}

/// Decides. Without paths, everything is put back; a path means itself and all below it. With
/// `rewrite`, commits are rewritten instead of undone by a new one.
///
/// # Errors
/// Refuses a path that is no violation, what no commit can save, and what would touch work that
/// is in scope.
pub fn plan(
    facts: &RestoreFacts<'_>,
    asked: &[RepoPath],
    rewrite: bool,
) -> Result<RestoreAnswer, RestoreRefusal> {
    let name = &facts.record.name;
    let known = || {
        let violations = facts.violations.iter().map(|one| &one.path);
        violations.chain(&facts.permissions)
    };
    let is_known = |asked: &&RepoPath| {
        let mut all = known().chain(&facts.history);
        all.any(|path| covers(asked, path))
    };
    if let Some(stranger) = asked.iter().find(|asked| !is_known(asked)) {
        let number = known().count();
        return Err(RestoreRefusal::Unknown {
            message: format!("{stranger} is not an out-of-scope change of worktree `{name}`"),
            help: format!("see the {number} that there are: git agentwt verify {name}"),
        });
    }
    let stays = |one: &RestoredPath| one.source == Some(false);
    let (stays, restored): (Vec<_>, Vec<_>) = selected(facts, asked).into_iter().partition(stays);
    let is_committed = restored.iter().any(|one| one.committed);
    let mut history = facts.history.iter();
    let rewrite = rewrite && (is_committed || history.any(|path| is_asked(asked, path)));
    check_disk(facts.record, &facts.others, &restored)?;
    if rewrite || is_committed {
        check_branch(facts)?;
    }
    let bits = facts.permissions.iter();
    let bits = bits.filter(|path| is_asked(asked, path));
    Ok(RestoreAnswer {
        name: name.to_string(),
        path: facts.record.path.clone(),
        write_bits: paths(bits.map(RepoPath::as_bstr)),
        patterns: facts.sparse && asked.is_empty(),
        stays: stays.into_iter().map(|one| one.shown).collect(),
        restored,
        rewrite,
        ..RestoreAnswer::default()
    })
}

/// Whether a path is meant: all are when none was named.
pub fn is_asked(asked: &[RepoPath], path: &RepoPath) -> bool {
    asked.is_empty() || asked.iter().any(|asked| covers(asked, path))
}

fn covers(asked: &RepoPath, path: &RepoPath) -> bool {
    asked == path || path.is_below(asked.as_bstr())
}

/// What was asked for, with what stands in its way: a link in the place of a directory.
fn selected(facts: &RestoreFacts<'_>, asked: &[RepoPath]) -> Vec<RestoredPath> {
    let all = &facts.violations;
    let is_chosen = |one: &&RestoredPath| is_asked(asked, &one.path);
    let is_in_the_way = |one: &&RestoredPath| {
        let mut below = all.iter().filter(is_chosen);
        one.disk.is_some() && below.any(|below| below.path.is_below(one.path.as_bstr()))
    };
    let wanted = all.iter();
    let wanted = wanted.filter(|one| is_chosen(one) || is_in_the_way(one));
    wanted.cloned().collect()
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
        let all = nested.join(", ");
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: a repository is inside it: {all}"),
            format!("no commit can save its history: mv {root}/{first}/.git <elsewhere>"),
        ));
    }
    let is_gitlink = |one: &&RestoredPath| {
        let gitlink = one.disk.is_some_and(|entry| entry.mode == Mode::Gitlink);
        gitlink && one.disk != one.wanted()
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
    let chosen: BTreeSet<&RepoPath> = paths.iter().map(|one| &one.path).collect();
    let comes = |one: &&RestoredPath| one.target.is_some() || one.from_source();
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
fn nested_root(one: &RestoredPath) -> Option<String> {
    let parts: Vec<&[u8]> = one.path.as_bstr().split(|byte| *byte == b'/').collect();
    let at = parts.iter().position(|part| *part == b".git")?;
    let root = RepoPath::parse(parts[..at].join(&b'/')).ok()?;
    let holds = one.disk?.mode != Mode::EmptyDirectory;
    holds.then(|| root.to_string())
}

/// Whether two paths cannot both be files.
fn blocks(one: &RepoPath, other: &RepoPath) -> bool {
    one.is_below(other.as_bstr()) || other.is_below(one.as_bstr())
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
    let name = &facts.record.name;
    let path = &facts.record.path;
    let branch = match &saved.made {
        Some(made) if tip == Some(made) => {
            check_branch(facts)?;
            let from = made.clone();
            let to = saved.previous.clone();
            Some(BranchMove { from, to })
        }
        Some(made) if tip != Some(&saved.previous) => {
            let branch = &facts.record.branch;
            let now = tip.map_or("nothing", CommitId::short);
            let previous = saved.previous.short();
            let made = made.short();
            return Err(RestoreRefusal::Branch {
                message: format!(
                    "cannot undo the restore of worktree `{name}`: `{branch}` has moved since, to \
                        {now}"
                ),
                help: format!(
                    "take what it did back, and keep what came since: git -C {path} rebase --onto \
                        {previous} {made}"
                ),
            });
        }
        Some(_) | None => None,
    };
    let newer = now.iter().filter(|now| now.is_newer());
    let newer = newer.map(|now| &now.saved.path);
    let blocked = facts.others.iter().filter(|other| {
        let mut stands = now.iter().filter(|now| now.saved.disk.is_some());
        stands.any(|now| blocks(&now.saved.path, other))
    });
    let newer: BTreeSet<&RepoPath> = newer.chain(blocked).collect();
    if let Some(first) = newer.first() {
        let items: String = newer.iter().map(|path| format!("\n  {path}")).collect();
        let rescue = &saved.rescue;
        return Err(RestoreRefusal::Undo {
            message: format!("cannot undo the restore of worktree `{name}`: changed since:{items}"),
            help: format!("see what was saved: git -C {path} diff {rescue} -- '{first}'"),
        });
    }
    now.retain(|now| now.disk != now.saved.disk || now.index != now.saved.index);
    Ok(UndoPlan { paths: now, branch })
}

/// Reads the index of a worktree.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_own_index(repository: &Repository, known: &Worktree) -> Result<Vec<IndexEntry>, Error> {
    let file = known.record.admin_dir.join("index");
    Ok(read_index(&file, repository.format)?)
}

/// The entries of every path, with the number that git has for their stage.
pub fn stages(index: &[IndexEntry]) -> BTreeMap<&RepoPath, Vec<(u8, Entry)>> {
    let mut stages: BTreeMap<&RepoPath, Vec<(u8, Entry)>> = BTreeMap::new();
    for entry in index {
        let all = stages.entry(&entry.path).or_default();
        all.push((entry.stage as u8, entry.entry));
    }
    stages
}

/// Reads how the paths of a restore are now.
///
/// # Errors
/// Fails when the index cannot be read.
pub fn read_paths_now(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    saved: &SavedRestore,
) -> Result<Vec<PathNow>, Error> {
    let index = read_own_index(repository, known)?;
    let stages = stages(&index);
    let all = survey.changes.changes.iter();
    let all = all.filter(|change| change.kind != Kind::Perm);
    let changed: BTreeMap<_, _> = all.map(|change| (&change.place, &change.seen)).collect();
    let is_on_disk = |seen: &Seen| !matches!(seen, Seen::Commit(_) | Seen::Committed | Seen::Index);
    let mut now = Vec::new();
    for saved in &saved.paths {
        let path = &saved.path;
        let seen = changed.get(&Place::Path(path.clone()));
        let seen = || seen.into_iter().flat_map(|seen| *seen);
        let found = on_disk(survey, path, known.scope.excludes_file(path));
        let found = found.filter(|found| found.mode.git_octal().is_none());
        now.push(PathNow {
            disk: read_raw(repository, known, path)?.or(found),
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
    known: &Worktree,
    path: &RepoPath,
) -> Result<Option<Entry>, Error> {
    saved::read_entry(&known.record.path, path, |size, content| {
        let failed = |error| DiskError::new(format!("read {path}"), error);
        Ok(repository.format.hash_blob(size, content).map_err(failed)?)
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
