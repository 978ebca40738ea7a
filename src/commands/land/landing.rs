//! Holds what the steps of a landing share.

use crate::commands::Session;
use crate::commands::land::arguments::Land;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Represents the landing of one worktree.
#[derive(Clone, Copy)]
pub struct Landing<'a> {
    pub session: &'a Session,
    pub repository: &'a Repository,
    pub options: &'a Land,
    pub worktree: &'a Worktree,
}
