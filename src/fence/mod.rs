//! Fences: how the kernel keeps a command to its scope while it runs.
//!
//! A [`Fence`] is a mechanism of the system that refuses writes outside of a scope. A `Policy` says
//! what is to be enforced, and is computed once, without a look at the system; each fence renders it
//! in its own language. What a fence cannot say exactly is said to the user, and is found by the
//! verification after the run.

pub use crate::config::{Fence, Net};

pub mod container;
pub mod landlock;
mod limits;
pub mod mount;
pub mod policy;
pub mod presets;
pub mod seatbelt;

#[cfg(test)]
mod tests;
