//! Says what differs from which reference, and what that means under a scope: pure.

pub mod change;
pub mod compare;
pub mod finding;
#[cfg(test)]
mod tests;
