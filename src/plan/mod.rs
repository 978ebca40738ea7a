//! Holds the planners: each takes facts and gives one plan, and touches nothing.

pub mod add;
pub mod context;
pub mod init;
pub mod range;
pub mod refusal;
pub mod remove;
pub mod restore;
pub mod rules;
pub mod sync;
