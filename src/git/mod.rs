//! Speaks to git: `process.rs` and `runner.rs` start the program, `repo.rs` opens a repository with
//! `gix`, and each other file reads or changes one part of it.
//!
//! Nothing above this folder sees a `gix` type or git's prose. Only `checkout.rs` knows what the scope
//! allows of a path.

pub mod checkout;
pub mod config;
mod contention;
pub mod discover;
mod environment;
pub mod error;
pub mod forward;
pub mod genuine;
mod history;
pub mod hooks;
pub mod ignore;
pub mod index;
pub mod landing;
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

pub use environment::LOCAL_VARIABLES;
pub use error::GitError;
pub use history::Reach;
pub use process::{Git, GitMode, GitVersion};
pub use repo::require_file;
pub use runner::{Call, Duct, Family, Output, Runner, SharedRunner, Stoppable, Trace, TraceEvent};
