//! Holds what several commands do to a worktree: each action is planned from facts, and applied.

pub mod bring;
pub mod create;
pub mod dead_locks;
pub mod follower;
pub mod import;
pub mod journal;
pub mod leftover;
pub mod lfs_contents;
pub mod lock;
pub mod merge;
pub mod placing;
pub mod put_aside;
pub mod quarantine;
pub mod reapply;
pub mod register;
pub mod remove;
pub mod restore;
pub mod run_objects;
pub mod saved;
pub mod scope_edit;
pub mod selection;
pub mod setup;
pub mod sync_plan;
pub mod trash;
pub mod unfinished;
