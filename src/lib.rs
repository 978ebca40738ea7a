//! skeleton
pub mod exit;
pub mod git;
pub mod name;
pub mod path;
pub mod scope;
