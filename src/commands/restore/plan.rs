//! Decides what `restore` puts back, and what it refuses; pure.
//!
//! What a path gets back is what it would have if nobody had touched it here: what a merge in
//! progress brings from upstream, else HEAD's entry where that is in order, else the entry of the
//! nearest reference (`docs/decisions/0010-restore.md`).

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::refusal::RestoreRefusal;
use crate::change::Kind;
use crate::entry::{Entry, Mode};
use crate::path::RepoPath;
use crate::placed::There;

/// Holds what `restore` looks at.
#[derive(Clone, Debug)]
pub struct RestoreFacts {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its private git directory.
    pub admin_dir: Utf8PathBuf,
    /// Its branch, and where HEAD is.
    pub standing: Standing,
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
    /// Paths that stand on disk, in the index or in HEAD, are not as in the base, and are in
    /// scope or ignored.
    pub others: BTreeSet<RepoPath>,
    /// Paths that commits of the worktree touched out of scope, and that are as before again.
    pub history: Vec<RepoPath>,
}

/// Says where HEAD is, and whether git is in the middle of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The recorded branch.
    pub branch: String,
    /// What HEAD names, for people; none when that is the branch.
    pub elsewhere: Option<String>,
    /// What is in progress.
    pub operation: Option<Operation>,
}

/// Names the git command that is in progress, and that ends the operation.
pub type Operation = &'static str;

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
    /// How the source of what was placed there is; none where nothing was. Only from one that is
    /// the same can it be put back.
    pub source: Option<There>,
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
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.permissions.is_empty() && !self.sparse && !self.rewrite
    }

    /// The paths that a commit has.
    pub fn committed(&self) -> impl Iterator<Item = &Violation> {
        self.paths.iter().filter(|violation| violation.committed)
    }
}

impl Violation {
    /// The path, and what commits and the index get back.
    #[must_use]
    pub fn change(&self) -> (&[u8], Option<Entry>) {
        (self.path.as_bstr(), self.target)
    }

    /// What is to stand on disk.
    #[must_use]
    pub fn wanted(&self) -> Option<Entry> {
        self.target.filter(|_| !self.excluded)
    }

    /// Whether it gets back what was placed there, from its source.
    #[must_use]
    pub fn from_source(&self) -> bool {
        self.source == Some(There::Same)
    }

    fn stays(&self) -> bool {
        self.source.is_some() && !self.from_source()
    }

    /// Whether it holds something that no commit of ours can: a FIFO, a socket, a device.
    #[must_use]
    pub fn cannot_be_saved(&self) -> bool {
        self.disk.is_some_and(|entry| entry.mode == Mode::Special)
    }

    fn is_in_nested_repository(&self) -> bool {
        let parts = self.path.as_bstr().split(|byte| *byte == b'/');
        let holds = |entry: Entry| entry.mode != Mode::EmptyDirectory;
        parts.into_iter().any(|part| part == b".git") && self.disk.is_some_and(holds)
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
    let name = || facts.name.clone();
    if !facts.is_there {
        let path = facts.path.clone();
        return Err(RestoreRefusal::DirectoryGone { name: name(), path });
    }
    if facts.index_damaged {
        let path = facts.path.clone();
        let index = facts.admin_dir.join("index");
        return Err(RestoreRefusal::DamagedIndex { path, index });
    }
    if let Some(stranger) = asked.iter().find(|path| !is_known(facts, path)) {
        let paths = facts.violations.iter().map(|violation| &violation.path);
        let name = name();
        let there: Vec<&RepoPath> = paths.chain(&facts.permissions).collect();
        let there = match there.as_slice() {
            [] => format!("there is none at all: git agentwt verify {name}"),
            [only] => format!("there is {only}: git agentwt restore {name}"),
            [first, ..] => format!(
                "there are {}, {first} among them: git agentwt verify {name}",
                there.len()
            ),
        };
        return Err(RestoreRefusal::NoViolation {
            name,
            path: stranger.to_string(),
            there,
        });
    }
    let (stays, paths): (Vec<_>, Vec<_>) = selected(facts, asked)
        .into_iter()
        .partition(Violation::stays);
    let rewrite = rewrite
        && (paths.iter().any(|violation| violation.committed)
            || facts.history.iter().any(|path| is_asked(asked, path)));
    check_disk(facts, &paths)?;
    if rewrite || paths.iter().any(|violation| violation.committed) {
        facts.standing.check(&facts.name, &facts.path)?;
    }
    let permissions = facts.permissions.iter();
    Ok(RestorePlan {
        permissions: permissions
            .filter(|path| is_asked(asked, path))
            .cloned()
            .collect(),
        sparse: facts.sparse && asked.is_empty(),
        paths,
        stays,
        rewrite,
    })
}

/// Whether a path is meant: all are when none was named.
#[must_use]
pub fn is_asked(asked: &[RepoPath], path: &RepoPath) -> bool {
    asked.is_empty() || asked.iter().any(|asked| covers(asked, path))
}

fn covers(asked: &RepoPath, path: &RepoPath) -> bool {
    asked == path || path.is_below(asked.as_bstr())
}

fn is_known(facts: &RestoreFacts, asked: &RepoPath) -> bool {
    let paths = facts.violations.iter().map(|violation| &violation.path);
    paths
        .chain(&facts.permissions)
        .chain(&facts.history)
        .any(|path| covers(asked, path))
}

/// What was asked for, with what stands in its way: a link in the place of a directory.
fn selected(facts: &RestoreFacts, asked: &[RepoPath]) -> Vec<Violation> {
    let all = &facts.violations;
    let chosen = all.iter().filter(|v| is_asked(asked, &v.path));
    let chosen: Vec<&Violation> = chosen.collect();
    let stands_in_the_way = |v: &&Violation| {
        v.disk.is_some()
            && chosen
                .iter()
                .any(|below| below.path.is_below(v.path.as_bstr()))
    };
    let wanted = |v: &&Violation| is_asked(asked, &v.path) || stands_in_the_way(v);
    all.iter().filter(wanted).cloned().collect()
}

/// Refuses what cannot be saved, and what is in the way and is not ours to move.
fn check_disk(facts: &RestoreFacts, paths: &[Violation]) -> Result<(), RestoreRefusal> {
    let name = facts.name.clone();
    let nested = paths.iter().filter(|v| v.is_in_nested_repository());
    let mut nested: Vec<String> = nested.filter_map(|v| nested_root(&v.path)).collect();
    nested.dedup();
    if let Some(first) = nested.first() {
        return Err(RestoreRefusal::NestedRepository {
            name,
            first: facts.path.join(first).join(".git"),
            items: nested,
        });
    }
    let is_gitlink = |v: &&Violation| {
        let gitlink = v.disk.is_some_and(|entry| entry.mode == Mode::Gitlink);
        gitlink && v.disk != v.wanted()
    };
    if let Some(submodule) = paths.iter().find(is_gitlink) {
        let path = submodule.path.to_string();
        let directory = facts.path.join(&path);
        let advice = match submodule.target {
            Some(Entry { id, .. }) => {
                format!("save what is in it, then: git -C {directory} checkout --force {id}")
            }
            None => format!("no commit can save its history: mv {directory} <elsewhere>"),
        };
        return Err(RestoreRefusal::Submodule { name, path, advice });
    }
    let chosen: BTreeSet<&RepoPath> = paths.iter().map(|v| &v.path).collect();
    let comes = |v: &&Violation| v.target.is_some() || v.from_source();
    for violation in paths.iter().filter(comes) {
        let other = facts.others.iter();
        let in_the_way = other.filter(|other| !chosen.contains(other)).find(|other| {
            other.is_below(violation.path.as_bstr()) || violation.path.is_below(other.as_bstr())
        });
        if let Some(other) = in_the_way {
            return Err(RestoreRefusal::InTheWay {
                name,
                path: violation.path.to_string(),
                other: other.to_string(),
                directory: facts.path.clone(),
            });
        }
    }
    Ok(())
}

/// The directory that has a `.git` in it.
fn nested_root(path: &RepoPath) -> Option<String> {
    let parts = path.as_bstr().split(|byte| *byte == b'/');
    let above: Vec<&[u8]> = parts.take_while(|part| *part != b".git").collect();
    let root = RepoPath::parse(above.join(&b'/')).ok()?;
    Some(root.to_string())
}

impl Standing {
    /// Refuses to move the branch while git works on it, or HEAD is elsewhere.
    ///
    /// # Errors
    /// Says which.
    pub fn check(&self, name: &str, path: &Utf8Path) -> Result<(), RestoreRefusal> {
        let (name, path) = (name.to_owned(), path.to_owned());
        match (self.operation, &self.elsewhere) {
            (Some(operation), _) => Err(RestoreRefusal::InProgress {
                name,
                path,
                operation,
            }),
            (None, Some(elsewhere)) => Err(RestoreRefusal::Elsewhere {
                name,
                path,
                branch: self.branch.clone(),
                elsewhere: elsewhere.clone(),
            }),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
