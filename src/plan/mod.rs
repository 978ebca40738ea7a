//! Holds the planners: each takes facts and gives one plan, and touches nothing.

pub mod doctor;
pub mod prune;
pub mod refusal;
pub mod remove;
pub mod trash;
