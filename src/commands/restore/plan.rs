//! Decides what `restore` and `restore --undo` put back, and what they refuse; pure.
//!
//! What a path gets back is what it would have if nobody had touched it here: what a merge in
//! progress brings from upstream, else HEAD's entry where that is in order, else the entry of the
//! nearest reference (`docs/decisions/0010-restore.md`).
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: its derive reads fields in a way that rustc warns about"
)]

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use crate::change::Kind;
use crate::entry::{Entry, Mode};
use crate::exit::ExitCode;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::worktree::saved::{SavedPath, SavedRestore};

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

impl RestoreRefusal {
    /// The status with which the program ends.
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unknown { .. } => ExitCode::Usage,
            Self::Blocked { .. } | Self::Branch { .. } | Self::Undo { .. } => ExitCode::Refused,
        }
    }

    fn blocked(message: String, help: String) -> Self {
        Self::Blocked { message, help }
    }
}

/// Holds what `restore` looks at.
#[derive(Clone, Debug)]
pub struct RestoreFacts {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its private git directory.
    pub admin_dir: Utf8PathBuf,
    /// The recorded branch.
    pub branch: String,
    /// What HEAD names, for people; none when that is the branch.
    pub elsewhere: Option<String>,
    /// The git command that is in progress, and that ends the operation.
    pub operation: Option<&'static str>,
    /// Whether its directory is there.
    pub is_there: bool,
    /// Whether its index cannot be read.
    pub index_damaged: bool,
    /// Paths that are violations, sorted.
    pub violations: Vec<Violation>,
    /// Read-only files that were only made writable.
    pub permissions: Vec<RepoPath>,
    /// Whether the sparse patterns or their settings are other ones.
    pub sparse: bool,
    /// Other paths that stand on disk, in the index or in HEAD, and are not as in the base.
    pub others: BTreeSet<RepoPath>,
    /// Paths that commits of the worktree touched out of scope, and that are as before again.
    pub history: Vec<RepoPath>,
}

/// Holds a path that is a violation, as it is in every state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path.
    pub path: RepoPath,
    /// What happened.
    pub kind: Kind,
    /// Whether the scope excludes it: then it is absent from the disk.
    pub excluded: bool,
    /// Whether a commit has it.
    pub committed: bool,
    /// What stands on disk.
    pub disk: Option<Entry>,
    /// What it gets back.
    pub target: Option<Entry>,
    /// Whether the source of what was placed there still is that, from which it can be put back;
    /// none where nothing was placed.
    pub source: Option<bool>,
}

/// Holds what `restore` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorePlan {
    /// The paths that are put back, sorted.
    pub paths: Vec<Violation>,
    /// Placed files that stay as they are, as nobody has any more what was placed.
    pub stays: Vec<Violation>,
    /// Read-only files that lose their write bits.
    pub permissions: Vec<RepoPath>,
    /// Whether the sparse patterns are put back.
    pub sparse: bool,
    /// Whether commits are made anew.
    pub rewrite: bool,
}

impl RestorePlan {
    /// Whether all is as the scope says.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.permissions.is_empty() && !self.sparse && !self.rewrite
    }

    /// The paths that a commit has.
    pub fn committed(&self) -> impl Iterator<Item = &Violation> {
        self.paths.iter().filter(|violation| violation.committed)
    }
}

impl Violation {
    /// What is to stand on disk.
    pub fn wanted(&self) -> Option<Entry> {
        self.target.filter(|_| !self.excluded)
    }

    /// Whether it gets back what was placed there, from its source.
    pub fn from_source(&self) -> bool {
        self.source == Some(true)
    }

    /// Whether it holds something that no commit of ours can: a FIFO, a socket, a device.
    pub fn cannot_be_saved(&self) -> bool {
        self.disk.is_some_and(|entry| entry.mode == Mode::Special)
    }

    /// The directory of the repository inside that the path is in.
    fn nested_root(&self) -> Option<String> {
        let holds = |entry: Entry| entry.mode != Mode::EmptyDirectory;
        let mut parts = self.path.as_bstr().split(|byte| *byte == b'/');
        let above: Vec<&[u8]> = parts.by_ref().take_while(|part| *part != b".git").collect();
        let is_in = self.path.as_bstr().split(|byte| *byte == b'/').count() > above.len();
        let root = RepoPath::parse(above.join(&b'/')).ok()?;
        (is_in && self.disk.is_some_and(holds)).then(|| root.to_string())
    }
}

/// Decides. Without paths, everything is put back; a path means itself and all below it. With
/// `rewrite`, commits are rewritten instead of undone by a new one.
///
/// # Errors
/// Refuses a path that is no violation, what no commit can save, and what would touch work that
/// is in scope.
pub fn plan(
    facts: &RestoreFacts,
    asked: &[RepoPath],
    rewrite: bool,
) -> Result<RestorePlan, RestoreRefusal> {
    let RestoreFacts { name, path, .. } = facts;
    if !facts.is_there {
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: {path} is gone"),
            format!("to forget it (its branch stays unless merged): git agentwt remove {name}"),
        ));
    }
    if facts.index_damaged {
        let index = facts.admin_dir.join("index");
        return Err(RestoreRefusal::blocked(
            format!("cannot restore {path}: its index cannot be read"),
            format!(
                "what was staged is lost; to make a new index from HEAD, without touching a file: mv {index} {index}.damaged && git -C {path} reset"
            ),
        ));
    }
    let violations = facts.violations.iter().map(|violation| &violation.path);
    let known: Vec<&RepoPath> = violations.chain(&facts.permissions).collect();
    let is_known = |asked: &&RepoPath| {
        let mut all = known.iter().copied().chain(&facts.history);
        all.any(|path| covers(asked, path))
    };
    if let Some(stranger) = asked.iter().find(|asked| !is_known(asked)) {
        let number = known.len();
        return Err(RestoreRefusal::Unknown {
            message: format!("{stranger} is no out-of-scope change of worktree `{name}`"),
            help: format!("see the {number} that there are: git agentwt verify {name}"),
        });
    }
    let stays = |violation: &Violation| violation.source == Some(false);
    let (stays, paths): (Vec<_>, Vec<_>) = selected(facts, asked).into_iter().partition(stays);
    let is_committed = paths.iter().any(|violation| violation.committed);
    let mut history = facts.history.iter();
    let rewrite = rewrite && (is_committed || history.any(|path| is_asked(asked, path)));
    check_disk(facts, &paths)?;
    if rewrite || is_committed {
        check_branch(facts)?;
    }
    let mut permissions = facts.permissions.clone();
    permissions.retain(|path| is_asked(asked, path));
    Ok(RestorePlan {
        permissions,
        sparse: facts.sparse && asked.is_empty(),
        paths,
        stays,
        rewrite,
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
fn selected(facts: &RestoreFacts, asked: &[RepoPath]) -> Vec<Violation> {
    let all = &facts.violations;
    let is_chosen = |v: &&Violation| is_asked(asked, &v.path);
    let is_in_the_way = |v: &&Violation| {
        let mut below = all.iter().filter(is_chosen);
        v.disk.is_some() && below.any(|below| below.path.is_below(v.path.as_bstr()))
    };
    let wanted = all.iter().filter(|v| is_chosen(v) || is_in_the_way(v));
    wanted.cloned().collect()
}

/// Refuses what cannot be saved, and what is in the way and is not ours to move.
fn check_disk(facts: &RestoreFacts, paths: &[Violation]) -> Result<(), RestoreRefusal> {
    let (name, root) = (&facts.name, &facts.path);
    let mut nested: Vec<String> = paths.iter().filter_map(Violation::nested_root).collect();
    nested.dedup();
    if let Some(first) = nested.first() {
        let all = nested.join(", ");
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: a repository is inside it: {all}"),
            format!("no commit can save its history: mv {root}/{first}/.git <elsewhere>"),
        ));
    }
    let is_gitlink = |v: &&Violation| {
        let gitlink = v.disk.is_some_and(|entry| entry.mode == Mode::Gitlink);
        gitlink && v.disk != v.wanted()
    };
    if let Some(Violation { path, target, .. }) = paths.iter().find(is_gitlink) {
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
    let chosen: BTreeSet<&RepoPath> = paths.iter().map(|v| &v.path).collect();
    let comes = |v: &&Violation| v.target.is_some() || v.from_source();
    for Violation { path, .. } in paths.iter().filter(comes) {
        let mut others = facts.others.iter();
        if let Some(other) = others.find(|other| !chosen.contains(other) && blocks(path, other)) {
            return Err(RestoreRefusal::blocked(
                format!(
                    "cannot restore {path} in worktree `{name}`: {other}, which is in scope or ignored, is in its way"
                ),
                format!("move it first: mv {root}/{other} <elsewhere>"),
            ));
        }
    }
    Ok(())
}

/// Whether two paths cannot both be files.
fn blocks(one: &RepoPath, other: &RepoPath) -> bool {
    one.is_below(other.as_bstr()) || other.is_below(one.as_bstr())
}

/// Refuses to move the branch while git works on it, or HEAD is elsewhere.
fn check_branch(facts: &RestoreFacts) -> Result<(), RestoreRefusal> {
    let RestoreFacts {
        name, path, branch, ..
    } = facts;
    let (why, help) = match (facts.operation, &facts.elsewhere) {
        (Some(operation), _) => (
            format!("a {operation} is in progress"),
            format!(
                "finish or abort it first: git -C {path} {operation} --continue, or --abort; changes that are not committed can be named: git agentwt restore {name} <path>"
            ),
        ),
        (None, Some(elsewhere)) => (
            format!("it is on {elsewhere}, not on `{branch}`"),
            format!("go back to it first: git -C {path} switch {branch}"),
        ),
        (None, None) => return Ok(()),
    };
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
    /// Whether somebody has worked on it since. A restore that was killed has left it as it was,
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
    pub branch: Option<(CommitId, CommitId)>,
}

impl UndoPlan {
    /// Whether all is as it was.
    pub const fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.branch.is_none()
    }
}

/// Decides how a restore is undone: `now` are its paths, `tip` is where the branch is.
///
/// # Errors
/// Refuses when the branch went on, or a path was worked on, since the restore.
pub fn plan_undo(
    facts: &RestoreFacts,
    saved: &SavedRestore,
    mut now: Vec<PathNow>,
    tip: Option<&CommitId>,
) -> Result<UndoPlan, RestoreRefusal> {
    let RestoreFacts {
        name, path, branch, ..
    } = facts;
    let branch = match &saved.made {
        Some(made) if tip == Some(made) => {
            check_branch(facts)?;
            Some((made.clone(), saved.previous.clone()))
        }
        Some(made) if tip != Some(&saved.previous) => {
            let now = tip.map_or("nothing", CommitId::short);
            let (previous, made) = (saved.previous.short(), made.short());
            return Err(RestoreRefusal::Branch {
                message: format!(
                    "cannot undo the restore of worktree `{name}`: `{branch}` has moved since, to {now}"
                ),
                help: format!(
                    "take what it did back, and keep what came since: git -C {path} rebase --onto {previous} {made}"
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
        return Err(RestoreRefusal::Undo {
            message: format!("cannot undo the restore of worktree `{name}`: changed since:{items}"),
            help: format!(
                "see what was saved: git -C {path} diff {} -- '{first}'",
                saved.rescue
            ),
        });
    }
    now.retain(|now| now.disk != now.saved.disk || now.index != now.saved.index);
    Ok(UndoPlan { paths: now, branch })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
