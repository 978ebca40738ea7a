//! Reads and changes the disk: the walk that verification believes, write bits, our own files.
//!
//! Nothing here knows git or scopes. No symbolic link is followed anywhere below a worktree.

pub mod below;
pub mod candidates;
pub mod copy;
mod directories;
pub mod directory_modes;
pub mod drift;
pub mod error;
pub mod file_system;
pub mod files;
pub mod inventory;
mod listing;
pub mod lock;
pub mod lock_files;
pub mod locked_file;
pub mod mode;
pub mod mounts;
pub mod permissions;
mod pool;
pub mod progress;
pub mod put;
pub mod remains;
pub mod resolve;
pub mod scan;
pub mod standing;
pub mod stat;
pub mod trash_bin;
pub mod usage;
mod whole;

pub use error::DiskError;
