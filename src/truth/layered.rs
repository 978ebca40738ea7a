//! Holds what the passes hold against each other: plain data, of a worktree, of a proposed commit
//! or of a range of commits.

use std::collections::HashSet;
use std::time::SystemTime;

use crate::git::objects::Objects;
use crate::inventory::manifest::Manifest;
use crate::judge::change::Change;
use crate::judge::compare::{Delta, FormerEntries, State};
use crate::scope::compiled::Scope;
use crate::truth::history::History;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;

/// Holds the layers, each with what it is held against.
pub struct Layers<'a> {
    /// What may be edited.
    pub scope: &'a Scope,
    /// The tree from which each difference is; for a hook only the paths that commits touched.
    pub manifest: &'a Manifest,
    /// Where the whole of that tree is.
    pub whole_base: WholeBase<'a>,
    /// The layers with the references of each.
    pub states: Vec<State<'a>>,
    /// What stands in the layers, as differences, for who looks for a content.
    pub deltas: Vec<&'a Delta>,
    /// Changes that are compared with no reference: those of placed files.
    pub placed: Vec<Change>,
    /// What commits touched.
    pub history: &'a History,
    /// The references of HEAD.
    pub references: Vec<&'a Delta>,
    /// What upstream had since HEAD, or a branch beside HEAD, left it.
    pub since: Vec<&'a FormerEntries>,
    /// Which commits were created here.
    pub created_here: CreatedHere<'a>,
    /// The trees of upstream, beside the base, in which a content may be that of an excluded file.
    pub upstream_trees: Vec<&'a Delta>,
    /// The history of upstream; none if only its trees count.
    pub former_versions: Option<FormerVersions<'a>>,
}

impl<'a> Layers<'a> {
    /// Starts with no layer and no reference.
    pub fn new(
        scope: &'a Scope,
        manifest: &'a Manifest,
        whole_base: WholeBase<'a>,
        history: &'a History,
    ) -> Self {
        Self {
            scope,
            manifest,
            whole_base,
            states: Vec::new(),
            deltas: Vec::new(),
            placed: Vec::new(),
            history,
            references: Vec::new(),
            since: Vec::new(),
            created_here: CreatedHere::All,
            upstream_trees: Vec::new(),
            former_versions: None,
        }
    }
}

/// Says which commits were created here.
pub enum CreatedHere<'a> {
    /// All of them: whose a commit of a range is, nothing says.
    All,
    /// Those that HEAD was on.
    Among(HashSet<&'a CommitId>),
}

impl CreatedHere<'_> {
    /// True if a commit was created here.
    pub fn has(&self, commit: &CommitId) -> bool {
        match self {
            Self::All => true,
            Self::Among(commits) => commits.contains(commit),
        }
    }
}

/// Says where the whole tree of the base is.
pub enum WholeBase<'a> {
    /// Here.
    Read(&'a Manifest),
    /// In the record of a worktree, not read yet.
    Recorded(&'a Worktree),
}

impl WholeBase<'_> {
    /// Calls a function with the tree.
    ///
    /// # Errors
    /// Fails when the record is damaged, or the function fails.
    pub fn read<T>(&self, act: impl FnOnce(&Manifest) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Read(manifest) => act(manifest),
            Self::Recorded(worktree) => act(&worktree.manifest()?),
        }
    }
}

/// Says where the history of upstream is read.
pub struct FormerVersions<'a> {
    /// The objects of the repository.
    pub objects: &'a Objects,
    /// When the worktree was made: what came later is no former version.
    pub before: SystemTime,
    /// The commits that count as work of others.
    pub tips: &'a [CommitId],
}
