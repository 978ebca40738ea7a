//! Reads what commands decide on: the read half of every command. Nothing here changes anything.

pub mod add;
pub mod adopt;
pub(crate) mod apart;
mod config;
pub mod doctor;
pub mod given;
mod gone;
pub mod held;
pub mod kept;
mod merged;
pub mod overlap;
pub mod owner;
pub mod prompt;
pub mod proposed;
pub mod prune;
pub mod remove;
pub mod scope;
pub mod trash;

pub(crate) use crate::worktree::joined;
pub use crate::worktree::{Main, Repository, Worktree, WorktreeError};
pub use config::{Environment, LoadError, Loaded, load_config, load_config_of};
