//! Holds the copy against the disk.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the tests make files, start programs and say what they skip"
)]

mod child;
mod content;
mod file_systems;
mod metadata;
mod moved_in;
mod removed;
mod source;
mod support;
mod whole;
