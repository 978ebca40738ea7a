//! Shows answers to people: aligned, coloured on a terminal, and free to change.

pub(super) mod changed;
pub(super) mod findings;
pub(super) mod listing;
pub(super) mod making;
pub(super) mod restoring;
pub(super) mod worktrees;

pub(super) use super::Printed;
use crate::answer::age;
pub(super) use crate::answer::count;

fn out(text: String) -> Printed {
    Printed {
        stdout: text.into_bytes(),
        stderr: String::new(),
    }
}
