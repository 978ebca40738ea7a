//! Holds what was on disk when a worktree was last known to be clean: its manifest, the directories
//! whose names were read, and the files that were placed in it.

pub mod clean_directories;
pub mod manifest;
pub mod placed;
