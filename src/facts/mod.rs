//! Reads what commands decide on: the read half of every command. Nothing here changes anything.

pub mod add;
pub mod adopt;
pub mod changes;
pub mod commits;
mod config;
mod disk_state;
pub mod effort;
pub mod error;
pub mod given;
pub(crate) mod heads;
mod history;
mod ignored;
mod index_state;
pub(crate) mod integrity;
mod leaks;
pub mod patch;
pub mod proposed;
pub mod range;
mod references;
pub mod remove;
pub mod repository;
pub mod restore;
pub mod roots;
pub mod scope;
pub mod shared;
mod submodule;
mod surroundings;
mod tips;
pub mod worktree;

pub use config::{Environment, LoadError, Loaded, load_config, load_config_of};
pub use effort::Effort;
pub use error::FactsError;
pub use index_state::IndexFile;
pub use repository::{Main, Repository};
pub use worktree::Known;
