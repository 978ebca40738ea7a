//! Shows answers to people: aligned, coloured on a terminal, and free to change.

pub(super) mod changed;
pub(super) mod findings;
pub(super) mod making;

pub(super) use super::Printed;
pub(super) use crate::answer::count;

fn out(text: String) -> Printed {
    Printed {
        stdout: text.into_bytes(),
        stderr: String::new(),
    }
}
