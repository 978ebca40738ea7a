//! skeleton
pub mod exit;
pub mod name;
pub mod path;
