//! Reads and changes the disk: the walk that verification believes, write bits, our own files.
//!
//! Nothing here knows git or scopes. No symbolic link is followed anywhere below a worktree.

pub mod backup;
pub mod candidates;
pub mod copy;
pub mod digest;
pub mod drift;
pub mod entries;
pub mod error;
pub mod file_system;
pub mod files;
pub mod lock;
pub mod locked_file;
pub mod mode;
pub mod open;
pub mod pool;
pub mod remains;
pub mod rename;
pub mod resolve;
pub mod scan;
pub mod stat;
pub mod trash_bin;
pub mod writable;
