//! Speaks to git: one place that starts the program, one that reads its files.
//!
//! Nothing above this folder sees a `gix` type or git's prose. Nothing in it knows what a scope is.

pub mod checkout;
pub mod config;
mod contention;
pub mod discover;
mod environment;
pub mod error;
mod history;
pub mod hooks;
pub mod ignore;
pub mod index;
pub mod objects;
pub mod plumbing;
mod process;
pub mod refs;
mod reftable;
pub mod remote;
mod repo;
mod runner;
pub mod scratch;
pub mod trees;
pub mod worktree;

pub use error::GitError;
pub use process::{Git, GitMode, GitVersion};
pub use repo::require_file;
pub use runner::{Call, Duct, Family, Output, Runner, SharedRunner, Stoppable, Trace, TraceEvent};
