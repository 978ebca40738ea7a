//! Holds the copy against the disk.
#![allow(clippy::disallowed_methods, reason = "the tests make files")]

mod support;
mod whole;
