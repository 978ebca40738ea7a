//! Holds the steps with effects that several commands take: the write half that they share.
//!
//! Each does one thing and says how to undo it, or leaves nothing when it fails.

pub mod leaving;
pub mod prune;
pub mod remove;
pub mod revive;
pub mod trash;
pub mod trash_bin;
