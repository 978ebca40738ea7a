//! Holds what one worktree of ours is, for every verb: its record, intent, manifest, placed files,
//! owner and lock; what is saved when something of it is replaced or removed, and what remains of it.

pub mod claims;
pub mod error;
pub mod ignore_rules;
pub mod loaded;
mod owner;
pub mod record;
mod removal;
pub mod repository;
pub mod saved;
mod shared;
mod trash;

pub use error::{WorktreeError, git_error};
pub use loaded::*;
pub use owner::{Alive, HeldClaim, Owner, OwnerProcess};
pub use record::*;
pub use removal::Removal;
pub(crate) use repository::joined;
pub use repository::{Main, Repository};
pub use shared::{HookFile, Setting, Shared};
pub use trash::{Trash, Usual};
pub mod excluding;
pub mod placing;
pub mod selection;
