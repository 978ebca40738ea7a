//! Holds what one worktree of ours is, for every verb: its record, intent, manifest, placed files,
//! owner and lock; what is saved when something of it is replaced or removed, and what remains of
//! it.

pub mod absence;
pub mod admin_dir;
pub mod caller;
pub mod claims;
pub mod decisions;
pub mod error;
pub mod gitdir;
pub mod ignore_rules;
pub mod journal;
pub mod loaded;
pub mod lost;
pub mod operands;
pub mod operation;
pub mod private_git;
pub mod recorded_git_dirs;
pub mod repository;
pub mod run_state;
pub mod run_status;
pub mod settings;
pub mod trust;
pub mod variables;
