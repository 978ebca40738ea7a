//! The layers that a worktree answers for beside commits: the index, the disk, its submodules.

pub mod content;
pub mod converted;
pub mod disk;
pub mod ignore_rules;
pub mod index;
pub mod submodules;
pub mod untracked;
