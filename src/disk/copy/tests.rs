//! Holds the copy against the disk.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the tests make files, start programs and say what they skip"
)]

pub mod child;
pub mod content;
pub mod file_systems;
pub mod metadata;
pub mod moved_in;
pub mod removed;
pub mod source;
mod support;
pub mod whole;
