//! Reads and changes the disk: the walk that verification believes, write bits, our own files.
//!
//! Nothing here knows git or scopes. No symbolic link is followed anywhere below a worktree.

pub mod below;
pub mod candidates;
pub mod copy;
pub mod drift;
pub mod entries;
pub mod error;
pub mod file_system;
pub mod files;
mod listing;
pub mod lock;
pub mod locked_file;
pub mod mode;
mod pool;
pub mod progress;
pub mod remains;
pub mod scan;
pub mod stat;
pub mod trash_bin;
mod whole;

pub use error::DiskError;
