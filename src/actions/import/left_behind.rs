//! Says what the import does with each thing that a command can leave beside commits on its branch:
//! [`LeftBehind::handling`] is the table; pure.
//!
//! Nothing of it is thrown away. What a repository can hold without the run (other branches, tags,
//! stashes, commits that were reset away) is fetched and kept by refs; what only the private git
//! directory can hold makes that directory stay, and the next command goes on in it.

use crate::record::run::Leftover;
use crate::words::path::RepoPath;

/// Something that a command left beside commits on its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftBehind {
    /// A HEAD that is detached or on another branch.
    OtherHead,
    /// A command of git that is in progress: a merge, a rebase …
    Operation(&'static str),
    /// A stash.
    Stash,
    /// Worktrees or submodules in the private git directory.
    Repositories,
    /// Commits, stashes or branches that git cannot fetch.
    UnfetchedCommits,
    /// Staged files that git cannot fetch.
    UnfetchedFiles,
    /// An index that cannot be read.
    UnreadableIndex,
    /// A directory of the worktree that is a repository.
    NestedRepository(RepoPath),
}

/// Says what becomes of the private git directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitDirectory {
    /// It goes, once all of it is in the repository.
    Goes,
    /// It stays, for the next command.
    Stays,
}

/// Says what becomes of the index of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunIndex {
    /// It becomes the index of the worktree.
    Comes,
    /// It stays in the run: it does not belong to the branch, or goes on being used.
    StaysInRun,
    /// It cannot come: it, or what it names, cannot be read.
    Unusable,
}

/// What the import does with something that was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// What becomes of the private git directory.
    pub git_directory: GitDirectory,
    /// What becomes of the index of the run.
    pub index: RunIndex,
}

impl LeftBehind {
    /// Returns what the import does with it.
    pub const fn handling(&self) -> Handling {
        use GitDirectory::{Goes, Stays};
        use RunIndex::{Comes, StaysInRun, Unusable};
        match self {
            Self::OtherHead | Self::Operation(_) => Handling::new(Stays, StaysInRun),
            Self::Stash | Self::Repositories | Self::UnfetchedCommits => {
                Handling::new(Stays, Comes)
            }
            Self::UnfetchedFiles => Handling::new(Stays, Unusable),
            Self::UnreadableIndex => Handling::new(Goes, Unusable),
            Self::NestedRepository(_) => Handling::new(Goes, Comes),
        }
    }

    /// Returns the word for it in the state of the run; none where the git directory does not stay
    /// for it.
    pub const fn leftover(&self) -> Option<Leftover> {
        match self {
            Self::OtherHead => Some(Leftover::OtherHead),
            Self::Operation(_) => Some(Leftover::Operation),
            Self::Stash => Some(Leftover::Stash),
            Self::Repositories => Some(Leftover::Repositories),
            Self::UnfetchedCommits => Some(Leftover::UnfetchedCommits),
            Self::UnfetchedFiles => Some(Leftover::UnfetchedFiles),
            Self::UnreadableIndex | Self::NestedRepository(_) => None,
        }
    }
}

impl Handling {
    const fn new(git_directory: GitDirectory, index: RunIndex) -> Self {
        Self {
            git_directory,
            index,
        }
    }
}

/// Returns what becomes of the index of a run that left all this.
pub fn index_of(left: &[LeftBehind]) -> RunIndex {
    let mut index = RunIndex::Comes;
    for left_behind in left {
        match left_behind.handling().index {
            RunIndex::Comes => {}
            RunIndex::Unusable => return RunIndex::Unusable,
            RunIndex::StaysInRun => index = RunIndex::StaysInRun,
        }
    }
    index
}

/// Returns what the private git directory stays for.
pub fn leftovers(left: &[LeftBehind]) -> Vec<Leftover> {
    left.iter().filter_map(LeftBehind::leftover).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_can_be_left_has_its_row() {
        use GitDirectory::{Goes, Stays};
        use RunIndex::{Comes, StaysInRun, Unusable};
        let nested = RepoPath::parse("src/nested").expect("a path");
        for (left, git_directory, index) in [
            (LeftBehind::OtherHead, Stays, StaysInRun),
            (LeftBehind::Operation("merge"), Stays, StaysInRun),
            (LeftBehind::Operation("rebase"), Stays, StaysInRun),
            (LeftBehind::Stash, Stays, Comes),
            (LeftBehind::Repositories, Stays, Comes),
            (LeftBehind::UnfetchedCommits, Stays, Comes),
            (LeftBehind::UnfetchedFiles, Stays, Unusable),
            (LeftBehind::UnreadableIndex, Goes, Unusable),
            (LeftBehind::NestedRepository(nested), Goes, Comes),
        ] {
            let handling = left.handling();
            assert_eq!(handling, Handling::new(git_directory, index), "{left:?}");
            let stays = handling.git_directory == Stays;
            assert_eq!(left.leftover().is_some(), stays, "{left:?}: it is told");
        }
    }

    #[test]
    fn an_index_that_cannot_be_read_never_comes() {
        let rebase = LeftBehind::Operation("rebase");
        let both = [LeftBehind::UnreadableIndex, rebase.clone()];
        assert_eq!(index_of(&both), RunIndex::Unusable);
        assert_eq!(index_of(&[LeftBehind::Stash, rebase]), RunIndex::StaysInRun);
        assert_eq!(index_of(&[LeftBehind::Stash]), RunIndex::Comes);
        assert_eq!(index_of(&[]), RunIndex::Comes);
    }
}
