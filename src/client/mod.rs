//! Knows the agent programs: where each reads its context by itself, and which files hold it.
//!
//! A program is one row of [`ALL`](programs::ALL); the config, the flags, the completions and `git
//! agentwt clients` take it from there. All of it is pure:
//! [`layout`](program::AgentProgram::layout) is told what stands at a path, and answers with files
//! or a [`ClientRefusal`](layout::ClientRefusal).
//!
//! The prompt is the first bytes of the file, whatever they are. Our part is the last that stands
//! between a line [`BEGIN`](context::BEGIN) and a line [`END`](context::END): a prompt may hold
//! such lines itself, and what comes from patterns and paths cannot, as it has no line breaks. It
//! is Markdown; patterns stand in code spans, where no client looks for imports (`@path`).
//!
//! What a program enforces by itself, and by which files, is in the same row; `guards` generates
//! those files, and [`call`] reads the tool calls of which the program asks.
//!
//! ```
//! use git_agentwt::client::programs;
//! let codex = programs::named("codex").expect("it is one of them");
//! assert_eq!(codex.files[0].path, "AGENTS.md");
//! ```

pub mod call;
pub mod claude;
pub mod context;
pub mod guards;
pub mod layout;
pub mod program;
pub mod programs;
pub mod state;
#[cfg(test)]
mod tests;
