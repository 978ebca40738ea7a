//! Puts out-of-scope changes back, after saving them, and brings them back.
//!
//! What is saved stands under a ref; the journal has one step that names the ref
//! (`Step::RestoredPaths`). Where a step fails, for the next command after a kill, and by `restore
//! --undo`, the same code brings all back from there ([`bring_back`]).

pub mod apply;
pub mod bring_back;
pub mod change;
pub mod facts;
pub mod plan;
pub mod refusal;
pub mod undo_plan;

#[cfg(test)]
mod tests;
