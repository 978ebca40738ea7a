//! Shows answers to people: aligned, coloured on a terminal, and free to change.

pub(super) mod making;

pub(super) use crate::answer::count;
