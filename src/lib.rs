//! Gives each coding agent its own git worktree, and proves what was touched in it.

pub mod apply;
pub mod change;
pub mod cli;
pub mod compare;
pub mod config;
pub mod disk;
pub mod entry;
pub mod error;
pub mod exit;
pub mod facts;
pub mod git;
pub mod manifest;
pub mod name;
pub mod path;
pub mod plan;
pub mod record;
pub mod scope;
pub mod verify;
