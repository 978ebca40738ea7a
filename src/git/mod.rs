//! Speaks to git: `process.rs` and `runner.rs` start the program, `repo.rs` opens a repository with
//! `gix`, and each other file reads or changes one part of it.
//!
//! Nothing above this folder sees a `gix` type or git's prose. Only `checkout.rs` knows what the scope
//! allows of a path.

pub mod checkout;
pub mod config;
pub mod contention;
pub mod discover;
pub mod environment;
pub mod error;
pub mod forward;
pub mod genuine;
pub mod history;
pub mod hooks;
pub mod ignore;
pub mod index;
pub mod landing;
pub mod objects;
pub mod plumbing;
pub mod process;
pub mod refs;
pub mod reftable;
pub mod remote;
pub mod repo;
pub mod runner;
pub mod scratch;
pub mod trees;
pub mod worktree;
