//! Holds the planners: each takes facts and gives one plan, and touches nothing.

pub mod add;
pub mod context;
pub mod doctor;
pub mod owner;
pub mod prune;
pub mod refusal;
pub mod remove;
pub mod retry;
pub mod rules;
pub mod trash;
