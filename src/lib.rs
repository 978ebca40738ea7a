//! Gives each coding agent its own git worktree, and proves what was touched in it.
//!
//! This is the library behind `git agentwt`, and the map of its source. What a program may use is
//! [`library`] alone; all other modules are public for the tests and may change at any time.
//!
//! What a path may be is decided in one pure place, [`scope`], and used three ways: as
//! sparse-checkout patterns (what is present), as write bits (what is writable) and in
//! verification (what was allowed). There is one matcher, and `tests/it/baseline.rs` holds it
//! against git itself.
//!
//! # Five models
//! The rest of the program stands around five ideas.
//!
//! 1. **The truth** ([`truth`]). `git status` is never asked. `add` writes a manifest of every path
//!    ([`inventory`]); later the disk is walked and compared with it, trees are compared with
//!    trees, the index entry by entry. Each is compared with the *reference trees* of the base, so
//!    that upstream work that was merged in is not a change ([`judge`],
//!    `docs/decisions/0003-reference-trees.md`). Who moved which ref is read from reflogs and from
//!    the journal of our hooks. The verdict follows from the changes and the scope, and nothing
//!    else.
//! 2. **A removal is a move into the trash** ([`actions::remove`], [`actions::trash`]). The
//!    worktree is looked at, renamed into the trash, and looked at again there: the second look
//!    decides, since nobody finds the directory under its old path any more. Nothing that is
//!    written around a removal is lost (`docs/decisions/0040-look-again-in-the-trash.md`). Git does
//!    not list what is in the trash, and refs keep what `git gc` would collect of it
//!    (`docs/decisions/0055-one-trash.md`).
//! 3. **A fenced run has one state** ([`record::run`], `worktree/run_state.rs`). The command works
//!    on a private git directory ([`worktree::private_git`]) inside of a fence that the kernel
//!    enforces ([`fence`]); when it ends, [`actions::import`] verifies its commits and brings them
//!    home, or keeps them and says why (`docs/decisions/0054-one-state-of-a-run.md`).
//! 4. **What several commands do is an action** ([`actions`]). It is planned from facts by a pure
//!    function, and `-n` prints the plan. Each step is written into a journal before it is taken
//!    ([`record::journal`], [`worktree::journal`]), and undone when a later one fails, or by the
//!    next command when the program was killed ([`actions::journal`]).
//! 5. **A report is a value** ([`answer`]). A command returns what it found and did; only
//!    [`output`] prints it: for people, as JSON, as SARIF, or as rows for scripts.
//!
//! Every command that changes something is **facts → plan → apply → report**; every command that
//! looks is **inputs → passes → report**.
//!
//! # Floors
//! Imports go strictly down: no room imports one of its own floor, and no file imports itself by
//! way of others. `tests/it/floors.rs` reads every path in the code and holds it against this
//! table.
//!
//! | floor | rooms | what they are |
//! |---|---|---|
//! | 0 words | [`words`] | types that are parsed once and trusted afterwards: path, name, object id, exit status, error, time |
//! | 1 rules | [`scope`], [`inventory`] | the access of a path and the rule that decided; what was on disk when, what was placed |
//! | 2 rules | [`sync`], [`client`] | which untracked files are copied; what is known of each agent program |
//! | 3 config | [`config`] | `.agentwt/config.toml` and the settings as valid values |
//! | 4 judgement | [`judge`] | what differs from which reference, and what that means under a scope: pure |
//! | 5 options | [`arguments`] | options with their help that several commands take |
//! | 6 system | [`system`] | processes, users, the terminal, the environment, programs on `PATH`: one reader of `/proc`, with its twin for macOS |
//! | 7 world | [`git`], [`disk`], [`fence`] | the only places that start git and read its files, touch the disk, and start a command inside of a fence; they do not know each other |
//! | 8 record | [`record`] | what is written down about a worktree, as values with their text form |
//! | 9 worktree | [`worktree`] | one worktree of ours as it stands: record, lock, private git directory |
//! | 10 truth | [`truth`] | model 1 |
//! | 11 answer | [`answer`] | model 5: what every answer has |
//! | 12 actions | [`actions`] | models 2 and 4 |
//! | 13 refusals | [`refusal`] | every reason to refuse a command, with its exit status and the next command to type |
//! | 14 verbs | [`commands`] | one file or folder a verb: arguments with their help, the flow, the answer |
//! | 15 edge | [`cli`], [`output`] | the command line as a whole, man pages, completions; printing |
//! | 16 library | [`library`] | answers programs with values |
//! | 17 start | `run` | dispatch |
//!
//! # Speed
//! `gix` reads the repository (`git/repo.rs`) and checks files out (`git/checkout.rs`), so that few
//! commands start git. The walk trusts stat data, of directories too
//! ([`inventory::clean_directories`]), except where a file system leaves no trace of a write;
//! `GIT_AGENTWT_WALK=full` reads every file (`docs/decisions/0021-speed.md`).
//!
//! # Ten minutes
//! [`scope`] → `commands/add/mod.rs` (read `attempt` from top to bottom) → `commands/add/plan.rs` →
//! `git/repo.rs` → `truth/mod.rs` → `tests/it/verify.rs`.
#![cfg_attr(
    test,
    allow(
        clippy::fn_params_excessive_bools,
        clippy::shadow_unrelated,
        clippy::too_many_lines,
        reason = "a test is a story, and a table is as long as it has rows"
    )
)]

pub mod library;

#[doc(hidden)]
pub mod actions;
#[doc(hidden)]
pub mod answer;
#[doc(hidden)]
pub mod arguments;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod disk;
#[doc(hidden)]
pub mod fence;
#[doc(hidden)]
pub mod git;
#[doc(hidden)]
pub mod inventory;
#[doc(hidden)]
pub mod judge;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod refusal;
mod run;
#[doc(hidden)]
pub mod scope;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod system;
#[doc(hidden)]
pub mod truth;
#[doc(hidden)]
pub mod words;
#[doc(hidden)]
pub mod worktree;

pub use run::run;
