//! Reads who works in a worktree, and what keeps it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::{ClaimField, OwnerField};
use crate::config::{Choice, Strategy};
use crate::disk::files;
use crate::worktree::Record;

/// Who has a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Held {
    /// `worktree` or `clone`.
    pub strategy: &'static str,
    /// The owner; absent if none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerField>,
    /// The claim on a server; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimField>,
    /// Whether `git worktree lock` locked the worktree; absent for a clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
    /// Why the worktree is locked, if a reason was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_reason: Option<String>,
}

impl Held {
    /// Reads the owner, the claim and the lock of a worktree.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let is_clone = record.strategy == Strategy::Clone;
        // gitrepository-layout(5), `worktrees/<id>/locked`; a clone cannot be locked
        let lock = if is_clone {
            None
        } else {
            files::read(&record.admin_dir.join("locked")).ok().flatten()
        };
        let reason = lock
            .as_ref()
            .map(|why| String::from_utf8_lossy(why.trim_ascii()));
        let owner = record.owner.as_ref();
        Self {
            strategy: record.strategy.as_str(),
            owner: owner.map(OwnerField::new),
            claim: record.claim.as_ref().map(ClaimField::from),
            locked: (!is_clone).then_some(lock.is_some()),
            lock_reason: reason.filter(|why| !why.is_empty()).map(Into::into),
        }
    }
}
