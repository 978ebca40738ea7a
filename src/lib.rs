//! skeleton
pub mod cli;
pub mod config;
pub mod exit;
pub mod git;
pub mod name;
pub mod path;
pub mod plan;
pub mod scope;
