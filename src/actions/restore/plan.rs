//! Decides what `restore` puts back, and what it refuses.
//!
//! What a path gets back is what it would have if no process had touched it here: what a merge in
//! progress brings from upstream, else HEAD's entry where that is in order, else the entry of the
//! nearest reference (`docs/decisions/0010-restore.md`).

use std::collections::BTreeSet;
use std::ops::Bound;

use bstr::{BStr, BString, ByteSlice};

use crate::actions::restore::refusal::RestoreRefusal;
use crate::record::worktree::Record;
use crate::words::entry::{Entry, Mode};
use crate::words::path::{RepoPath, shell_word};

/// A path that `restore` puts back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPath {
    /// The path.
    pub path: RepoPath,
    /// What happened: `created`, `modified`, `deleted`, …
    pub kind: &'static str,
    /// Whether a commit has the change.
    pub committed: bool,
    /// Whether the content can be saved: a FIFO, a socket or a device has none.
    pub can_be_saved: bool,
    /// Whether the scope excludes it: then it is absent from the disk.
    pub excluded: bool,
    /// What stands on disk.
    pub disk: Option<Entry>,
    /// What it gets back.
    pub target: Option<Entry>,
    /// Whether a file that was placed there can be copied again.
    pub source: PlacedSource,
}

/// Says whether a placed file can be copied from its source again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedSource {
    /// No file was placed there, or one that the scope excludes since.
    NotPlaced,
    /// It can: the source is as it was when the file was placed.
    Same,
    /// It cannot: the source is changed, or gone.
    Changed,
}

impl PlannedPath {
    /// Returns what is to stand on disk.
    pub fn wanted(&self) -> Option<Entry> {
        self.target.filter(|_| !self.excluded)
    }

    /// True if it gets back what was placed there, from its source.
    pub fn from_source(&self) -> bool {
        self.source == PlacedSource::Same
    }
}

/// What `restore` will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    /// The paths that are put back, sorted.
    pub restored: Vec<PlannedPath>,
    /// The read-only files that lose their write bits.
    pub write_bits: Vec<RepoPath>,
    /// Whether the sparse patterns are put back.
    pub patterns: bool,
    /// The placed files that stay as they are, as their source is not what was placed any more.
    pub stays: Vec<RepoPath>,
}

impl RestorePlan {
    /// True if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.restored.is_empty() && self.write_bits.is_empty() && !self.patterns
    }
}

/// What `restore` decides on.
#[derive(Clone, Debug)]
pub struct RestoreFacts<'a> {
    /// The worktree's record.
    pub record: &'a Record,
    /// Why the branch cannot be moved now, and what to do; none where it can.
    pub busy: Option<(String, String)>,
    /// Paths that are violations, sorted.
    pub violations: Vec<PlannedPath>,
    /// Read-only files that were only made writable.
    pub permissions: Vec<RepoPath>,
    /// Whether the sparse patterns or their settings are other ones.
    pub sparse: bool,
    /// Other paths that are not as in the base: those that stand on disk, in the index or in HEAD.
    pub others: BTreeSet<RepoPath>,
    /// Those of `others` that stand on disk.
    pub others_on_disk: BTreeSet<RepoPath>,
    /// Paths that commits of the worktree touched out of scope, and that are as before again.
    pub history: Vec<RepoPath>,
}

/// Decides what is put back. Without paths that is everything; a path means itself and all below
/// it.
///
/// # Errors
/// Refuses a path that is no violation, what no commit can save, and what would touch work that
/// is in scope.
pub fn plan(facts: &RestoreFacts<'_>, asked: &[RepoPath]) -> Result<RestorePlan, RestoreRefusal> {
    require_violations(facts, asked)?;
    let mut stays = Vec::new();
    let mut restored = Vec::new();
    for planned in selected(facts, asked) {
        if planned.source == PlacedSource::Changed {
            stays.push(planned.path);
        } else {
            restored.push(planned);
        }
    }
    require_no_repository(facts.record, &restored)?;
    require_no_submodule(facts.record, &restored)?;
    require_free(facts, &restored)?;
    if restored.iter().any(|planned| planned.committed) {
        require_movable_branch(facts)?;
    }
    let mut write_bits = facts.permissions.clone();
    write_bits.retain(|path| is_asked(asked, path));
    Ok(RestorePlan {
        write_bits,
        patterns: facts.sparse && asked.is_empty(),
        stays,
        restored,
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
fn is_asked(asked: &[RepoPath], path: &RepoPath) -> bool {
    asked.is_empty() || asked.iter().any(|asked| covers(asked, path))
}

fn covers(asked: &RepoPath, path: &RepoPath) -> bool {
    asked == path || path.is_below(asked.as_bstr())
}

/// What was asked for, with what stands in its way: a link in the place of a directory.
fn selected(facts: &RestoreFacts<'_>, asked: &[RepoPath]) -> Vec<PlannedPath> {
    let mut chosen = Vec::new();
    for violation in &facts.violations {
        if is_asked(asked, &violation.path) {
            chosen.push(&violation.path);
        }
    }
    let mut selected = Vec::new();
    for violation in &facts.violations {
        let path = &violation.path;
        let is_in_the_way = violation.disk.is_some() && has_below(&chosen, path);
        if is_in_the_way || is_asked(asked, path) {
            selected.push(violation.clone());
        }
    }
    selected
}

/// True if one of these paths, which are sorted, is below a directory.
pub fn has_below(sorted: &[&RepoPath], directory: &RepoPath) -> bool {
    let start = start_of_paths_below(directory);
    let first = sorted.partition_point(|path| *path.as_bstr() < *start);
    sorted
        .get(first)
        .is_some_and(|path| path.is_below(directory.as_bstr()))
}

/// The bytes that every path below a directory is not less than, and every lesser one is not below.
fn start_of_paths_below(directory: &RepoPath) -> BString {
    let mut start = directory.as_bstr().to_owned();
    start.push(b'/');
    start
}

/// Refuses where a repository is inside of the worktree: no commit can save its history.
fn require_no_repository(record: &Record, paths: &[PlannedPath]) -> Result<(), RestoreRefusal> {
    let mut roots: Vec<String> = paths.iter().filter_map(root_of_repository).collect();
    roots.dedup();
    let Some(first) = roots.first() else {
        return Ok(());
    };
    let name = &record.name;
    let places = roots.join(", ");
    let git_dir = shell_word(record.path.join(first).join(".git").as_str());
    Err(RestoreRefusal::blocked(
        format!("cannot restore worktree `{name}`: a repository is inside it: {places}"),
        format!("no commit can save its history: mv {git_dir} <elsewhere>"),
    ))
}

/// The directory of the repository inside of the worktree that a path is in.
fn root_of_repository(planned: &PlannedPath) -> Option<String> {
    let root = planned.path.repository_inside()?;
    let holds_something = planned.disk?.mode != Mode::EmptyDirectory;
    holds_something.then(|| root.to_string())
}

/// Refuses where a submodule is not as it is to be.
fn require_no_submodule(record: &Record, paths: &[PlannedPath]) -> Result<(), RestoreRefusal> {
    let name = &record.name;
    let root = &record.path;
    for planned in paths {
        let is_submodule = planned.disk.is_some_and(|disk| disk.mode == Mode::Gitlink);
        if !is_submodule || planned.disk == planned.wanted() {
            continue;
        }
        let path = &planned.path;
        let word = shell_word(root.join(path.to_string()).as_str());
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: the submodule {path} is not as in the base"),
            match planned.target {
                Some(Entry { id, .. }) => {
                    format!(
                        "save what is in it, then: git -C {word} checkout --force {id} && \
                         git -C {word} clean -ffd"
                    )
                }
                None => format!("no commit can save its history: mv {word} <elsewhere>"),
            },
        ));
    }
    Ok(())
}

/// Refuses where something that is not restored is in the way of what comes back.
fn require_free(facts: &RestoreFacts<'_>, paths: &[PlannedPath]) -> Result<(), RestoreRefusal> {
    for planned in paths {
        if planned.target.is_none() && !planned.from_source() {
            continue;
        }
        let path = &planned.path;
        if let Some(other) = blocking(path, &facts.others).next() {
            let name = &facts.record.name;
            return Err(RestoreRefusal::blocked(
                format!(
                    "cannot restore {path} in worktree `{name}`: {other}, which is in scope or \
                     ignored, is in its way"
                ),
                way_out_of_the_way(facts, other),
            ));
        }
    }
    Ok(())
}

/// Says how to move away what is in the way of a path: from the disk, or, where it is not there any
/// more, from the index and the branch.
fn way_out_of_the_way(facts: &RestoreFacts<'_>, other: &RepoPath) -> String {
    let root = &facts.record.path;
    if facts.others_on_disk.contains(other) {
        let place = shell_word(root.join(other.to_string()).as_str());
        return format!("move it first: mv {place} <elsewhere>");
    }
    let worktree = shell_word(root.as_str());
    let path = shell_word(&other.to_string());
    format!(
        "it is not on disk: take it out of the index and of the branch first: git -C {worktree} rm \
         --quiet --cached --ignore-unmatch -- {path} && git -C {worktree} commit"
    )
}

/// Returns those of these paths that cannot be files where `path` is one: those above or below it.
pub fn blocking<'o>(
    path: &'o RepoPath,
    others: &'o BTreeSet<RepoPath>,
) -> impl Iterator<Item = &'o RepoPath> {
    let above = path.parents().filter_map(|directory| others.get(directory));
    let start = start_of_paths_below(path);
    let below = others
        .range::<BStr, _>((Bound::Included(start.as_bstr()), Bound::Unbounded))
        .take_while(|other| other.is_below(path.as_bstr()));
    above.chain(below)
}

/// Refuses to move the branch while git works on it, or HEAD is elsewhere.
///
/// # Errors
/// The refusal.
pub fn require_movable_branch(facts: &RestoreFacts<'_>) -> Result<(), RestoreRefusal> {
    let Some((why, help)) = facts.busy.clone() else {
        return Ok(());
    };
    let name = &facts.record.name;
    let message = format!("cannot undo commits of worktree `{name}`: {why}");
    Err(RestoreRefusal::Branch { message, help })
}
