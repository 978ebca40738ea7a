//! Holds the planners: each takes facts and gives one plan, and touches nothing.

pub mod refusal;
