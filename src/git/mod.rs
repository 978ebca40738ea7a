//! Runs git and reads repositories: the only folder that starts `git` or knows `gix`.
//!
//! The files stand in layers; each imports only from those above it in this list:
//!
//! 1. Words: `version`, `lock_message`, `error`, `object_format`, `lfs`, `environment` (what git
//!    inherits), `git_dir` and `settings_file` (its small files), `quarantine`, `runner` (what
//!    starts the program), `own_thread` (what a checkout runs in).
//! 2. `retry` (another git holds a lock), `discover` (where a repository is), `repo` (one opened
//!    through `gix`).
//! 3. `process`: [`process::Git`], a directory and the way to ask git about it. `layout` opens its
//!    repository.
//! 4. One file for each part of a repository, most as methods of `Git`: `config`, `objects`,
//!    `trees`, `reflog`, `refs`, `reftable`, `index`, `history`, `remote`, `worktree`, `plumbing`,
//!    `patches` and the like.
//! 5. What is made of those: `quarantined_objects`, `holding`, `conversions` and `checkout`,
//!    `landing`, `forward`, `hooks`.
//!
//! Nothing above this folder sees a `gix` type or git's prose. Only `checkout` knows what the scope
//! allows of a path.

pub mod checkout;
mod checkout_options;
pub mod commit_memory;
pub mod config;
pub mod conversions;
pub mod discover;
pub mod environment;
pub mod error;
pub mod forward;
pub mod genuine;
pub mod git_dir;
pub mod history;
pub mod holding;
pub mod hooks;
pub mod ignore;
pub mod index;
mod index_trees;
pub mod landing;
pub mod layout;
pub mod lfs;
pub mod lock_message;
pub mod object_format;
pub mod objects;
mod own_thread;
pub mod patches;
pub mod plumbing;
pub mod process;
pub mod quarantine;
pub mod quarantined_objects;
pub mod readable;
pub mod reflog;
pub mod refs;
pub mod reftable;
pub mod remote;
pub mod repo;
pub mod retry;
pub mod runner;
pub mod settings_file;
pub mod tree_level;
pub mod trees;
pub mod version;
pub mod worktree;
