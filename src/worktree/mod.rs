//! Holds what one worktree of ours is, for every verb: its record, intent, manifest, placed files,
//! owner and lock; what is saved when something of it is replaced or removed, and what remains of it.

pub mod apart;
pub mod arguments;
pub mod bring;
pub mod caller;
pub mod claims;
pub mod decisions;
pub mod error;
pub mod ignore_rules;
pub mod leftover;
pub mod loaded;
pub mod private_git;
pub mod record;
pub mod recorded_git_dirs;
pub mod register;
pub mod removal;
pub mod repository;
pub mod saved;
pub mod scope_edit;
pub mod settings;
pub mod setup;
pub mod trash;
pub mod trust;
pub mod unfinished;
pub mod variables;

pub use error::{SetupFault, WorktreeFault};
pub use loaded::*;
pub use record::*;
pub use repository::{Main, Repository};
pub use settings::{Environment, GitSettings, Loaded, load_config, load_config_of, rules_of};
pub mod placing;
pub mod selection;
