//! Gives each coding agent its own git worktree, and proves what was touched in it.
//!
//! This is the library behind `git agentwt` and the map of its source. Every command is
//! **facts → plan → apply → report**. *Facts* are read from the repository and the disk. A
//! *plan* is a plain value that a pure function computes from facts; `-n` prints it. *Apply* is a
//! short straight-line function that performs the plan and undoes it when a step fails. A
//! *report* is a plain value that only [`output`] prints.
//!
//! What a path may be is decided in one pure place, [`scope`], and used three ways: as
//! sparse-checkout patterns (what is present), as write bits (what is writable) and in
//! verification (what was allowed). There is one matcher, and `tests/it/baseline.rs` holds it
//! against git itself.
//!
//! # Floors
//! Imports go down only; `tests/it/floors.rs` reads every `use crate::` and holds it against this
//! table.
//!
//! | floor | modules | what they are |
//! |---|---|---|
//! | 0 words | [`path`], [`name`], [`exit`], [`entry`], [`packed`], [`size`], [`versioned`], [`log`], [`error`] | types that are parsed once and trusted afterwards |
//! | 1 rules | [`scope`], [`change`], [`compare`], [`verify`], [`config`], [`manifest`], [`walked`], [`placed`], [`sync`], [`client`], [`claim`], [`accepted`] | pure: the access of a path; what happened to which path; findings; what was on disk; what was placed; the config |
//! | 2 world | [`git`], [`disk`], [`process`], [`fence`] | the only places that start git and read its files, that touch the disk, that look at processes and start the user's own programs, and that start a command inside a fence; they do not know each other |
//! | 3 worktrees | [`worktree`], [`truth`], [`cli`], [`answer`] | one worktree of ours; the ground truth about it; the arguments of the commands; what every answer has |
//! | 4 verbs | [`commands`], [`refusal`] | one folder a verb: facts, plan, apply, answer |
//! | 5 edge | [`output`], [`run`], [`library`] | prints, and maps every error to a status; answers programs with values |
//!
//! # The ground truth
//! [`truth::collect`] never asks `git status`. `add` writes a [`manifest`] of every path; later
//! the disk is walked and held against it, trees are compared with trees, the index entry by
//! entry, each with the *reference trees* of the base, so that upstream work that was merged in
//! is not a change ([`compare`], `docs/decisions/0003-reference-trees.md`).
//!
//! # Speed
//! `gix` reads the repository (`git/repo.rs`) and checks files out (`git/checkout.rs`), so that few
//! commands start git. The walk believes stat data, of directories too ([`walked`]), except where a file
//! system leaves no trace of a write; `GIT_AGENTWT_WALK=full` reads every file (`docs/decisions/0021-speed.md`).
//!
//! # Fences
//! `exec` computes a [`Policy`](fence::policy::Policy) of the scope, which each fence renders in the language
//! of its mechanism. The command works on a private git directory (`worktree/private_git.rs`), and
//! `commands/exec/import.rs` brings its commits back when they are verified.
//!
//! # Ten minutes
//! [`scope`] → `commands/add/mod.rs` (read `attempt` from top to bottom) → `commands/add/plan.rs` →
//! `git/repo.rs` → `truth/mod.rs` → `tests/it/verify.rs`.

pub mod accepted;
pub mod answer;
pub mod change;
pub mod claim;
pub mod cli;
pub mod client;
pub mod commands;
pub mod compare;
pub mod config;
pub mod disk;
pub mod entry;
pub mod error;
pub mod exit;
pub mod fence;
pub mod git;
pub mod library;
pub mod log;
pub mod manifest;
pub mod name;
pub mod output;
pub mod packed;
pub mod path;
pub mod placed;

pub mod process;
pub mod refusal;
mod run;
pub mod scope;
pub mod size;
pub mod sync;
pub mod truth;
pub mod verify;
pub mod versioned;
pub mod walked;
pub mod worktree;

pub use run::run;
