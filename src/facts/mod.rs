//! Reads what commands decide on: the read half of every command. Nothing here changes anything.

mod gone;
pub mod held;

pub(crate) use crate::worktree::joined;
pub use crate::worktree::{
    Environment, Loaded, Main, Repository, Worktree, WorktreeError, load_config, load_config_of,
};
