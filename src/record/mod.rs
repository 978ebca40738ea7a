//! Holds what is written down about a worktree, as values with their text form; knows no git.

pub mod accepted;
pub mod claim;
pub mod journal;
pub mod run;
pub mod worktree;
