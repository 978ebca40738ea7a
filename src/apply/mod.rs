//! Holds the steps with effects that several commands take: the write half that they share.
//!
//! Each does one thing and says how to undo it, or leaves nothing when it fails.

pub mod bring;
pub mod clone;
pub mod leaving;
pub mod made;
pub mod outcome;
pub mod prune;
pub mod register;
pub mod remove;
pub mod revive;
pub mod rewritten;
pub mod sparse;
mod take_back;
pub mod trash;
pub mod trash_bin;
pub mod write_bits;
