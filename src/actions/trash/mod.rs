//! Keeps removed worktrees whole until they expire (`docs/decisions/0029-trash-by-rename.md`,
//! `docs/decisions/0055-one-trash.md`).
//!
//! | what | where it waits |
//! |---|---|
//! | directory | `.agentwt/worktrees/.trash/<name>-<time>` |
//! | record | `<common git dir>/agentwt/trash/<name>-<time>` |
//! | private git directory | `git` in the record, so that no tool lists the worktree |
//! | what `git gc` would collect of it | refs below `refs/agentwt/trash/+git/<name>-<time>/` |
//! | worktrees of git inside of it | where git has them, locked |
//! | commits that are kept for the user | `refs/agentwt/trash/<name>/<time>` |
//!
//! The file `removing` of the record says what is being done: with it, a removal and an undo are
//! one state, which either can finish. First comes the directory, then the private git directory,
//! last the record; an undo goes the other way round.

pub mod empty;
pub mod enter;
pub mod entry;
pub mod expiry;
pub mod hold;
mod inner_worktrees;
pub mod list;
pub mod private_git_dir;
mod registered;
pub mod undo;
