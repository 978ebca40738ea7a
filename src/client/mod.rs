//! Knows the agent programs: where each reads its context by itself, and how it is laid out there.
//!
//! A client is one file of this folder, and its `mod` line and its place in [`ALL`] below; the
//! config, the flags, the completions and `git agentwt clients` take it from there. All of it is
//! pure: a client is told what stands at a path, and answers with files or a [`ClientRefusal`].
//! It writes nothing and reads no disk. What was read of each program is in `docs/clients.md`.
//!
//! ```
//! use git_agentwt::client;
//! let codex = client::named("codex").expect("it is one of them");
//! assert_eq!(codex.about().files[0].path, "AGENTS.md");
//! ```

mod aider;
mod claude_code;
mod codex;
mod context;
mod gemini;
mod opencode;
mod place;
mod refusal;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

pub use context::{BEGIN, Context, END, Root};
pub use place::{ContextFile, Held, Layout, PathState, Places};
pub use refusal::ClientRefusal;

/// Every client, in the order in which they are shown.
pub const ALL: &[&dyn Client] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &aider::Aider,
    &opencode::Opencode,
];

/// Is implemented by an agent program.
pub trait Client: Sync {
    /// What is known of it.
    fn about(&self) -> &'static About;

    /// Lays its context out: what is written where, with `places` to ask what stands at a path.
    ///
    /// # Errors
    /// Refuses when no file that it reads by itself is free.
    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal>;
}

/// Holds what is known of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct About {
    /// The name in the config, in variables and on the command line.
    pub name: &'static str,
    /// What the program is, in one line.
    pub title: &'static str,
    /// The files that are written for the program, in the order in which they are tried.
    pub files: &'static [Reads],
    /// What is known of how the program reads them, a sentence each.
    pub known: &'static [&'static str],
    /// Where this was read, each with its version or date.
    pub read_in: &'static [&'static str],
    /// The command that gives the program a task where no file can.
    pub by_hand: &'static str,
}

/// Holds a file that a client reads by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reads {
    /// The path, from the worktree's root.
    pub path: &'static str,
    /// When the file is written, and what it then holds.
    pub when: &'static str,
}

/// Finds the client of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Client> {
    ALL.iter()
        .copied()
        .find(|client| client.about().name == name)
}
