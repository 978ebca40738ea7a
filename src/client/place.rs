//! Holds what a client is told of paths ([`PathState`]) and what it answers with ([`Layout`]).

use super::context::Context;
use super::{About, ClientRefusal};
use crate::path::RepoPath;

/// Says what will stand at a path of the worktree before we write there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing: it can be written.
    Free,
    /// Something that is not ours, which is never rewritten.
    Held(Held),
    /// Nothing may: the scope keeps it away. The text names the rule; none where no list has it.
    Excluded(Option<String>),
}

/// Says what holds a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A file that the commit has.
    Tracked,
    /// A file that is synced from the main worktree.
    Synced,
    /// A directory.
    Directory,
    /// A file, link or submodule where a directory above it would have to be.
    Above(RepoPath),
}

impl PathState {
    /// Whether it can be written.
    #[must_use]
    pub const fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }

    /// Whether a file that is not ours will be there for the client to read.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self, Self::Held(Held::Tracked | Held::Synced))
    }
}

/// Answers what stands at a path.
#[derive(Clone, Copy)]
pub struct Places<'p>(&'p dyn Fn(&RepoPath) -> PathState);

impl<'p> Places<'p> {
    /// Takes the function that knows.
    #[must_use]
    pub fn new(state: &'p dyn Fn(&RepoPath) -> PathState) -> Self {
        Self(state)
    }

    /// What stands at a path that a client names.
    #[must_use]
    pub fn state(self, path: &'static str) -> PathState {
        (self.0)(&path_of(path))
    }

    /// The first of these paths that is free.
    ///
    /// # Errors
    /// Refuses when none is, with what stands at each.
    pub(super) fn first_free(
        self,
        paths: &[&'static str],
        about: &'static About,
        context: &Context<'_>,
    ) -> Result<&'static str, ClientRefusal> {
        let free = paths.iter().find(|path| self.state(path).is_free());
        free.copied()
            .ok_or_else(|| self.refusal(paths, about, context))
    }

    /// The refusal that says what stands at these paths.
    pub(super) fn refusal(
        self,
        paths: &[&'static str],
        about: &'static About,
        context: &Context<'_>,
    ) -> ClientRefusal {
        ClientRefusal {
            client: about,
            worktree: context.name.to_string(),
            places: paths
                .iter()
                .map(|path| (*path, self.state(path)))
                .filter(|(_, state)| !state.is_free())
                .collect(),
        }
    }
}

fn path_of(path: &'static str) -> RepoPath {
    RepoPath::parse(path).expect("because a client names relative paths")
}

/// Holds what is written for a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The files.
    pub files: Vec<ContextFile>,
    /// What the user should know of how the client will read them.
    pub notes: Vec<String>,
}

impl Layout {
    /// One more file.
    #[must_use]
    pub(super) fn with(mut self, path: &'static str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push(ContextFile {
            path: path_of(path),
            content: content.into(),
        });
        self
    }

    /// One more note.
    #[must_use]
    pub(super) fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Holds a file that is written into the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: RepoPath,
    /// Its bytes.
    pub content: Vec<u8>,
}
