//! Speaks to git: one place that starts the program, one that reads its files.
//!
//! Nothing above this folder sees an argument list, a `gix` type or git's prose. Nothing in it
//! knows what a scope is.

pub mod blobs;
pub mod checkout;
pub mod claim;
pub mod clone;
mod config;
mod contention;
pub mod error;
pub mod hooks;
pub mod ignore;
pub mod include;
pub mod index;
pub mod index_edit;
pub mod index_write;
mod level;
pub mod listing;
mod merged;
pub mod objects;
mod own;
mod passing;
mod patch;
pub mod quarantine;
pub mod refs;
pub mod reset;
pub mod run;
mod runner;
pub mod scratch;
mod settings;
pub mod settings_file;
pub mod sparse_files;
pub mod sparse_rules;
pub mod stores;
mod trace;
pub mod trees;
mod users_files;
pub mod worktree;

pub use error::GitError;
pub use own::Reading;
pub use run::{Git, GitVersion, Mode as GitMode};
pub use runner::{Call, Duct, Family, Output, Runner, SharedRunner, Stoppable};
pub use trace::{Asked, Trace};
