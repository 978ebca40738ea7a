//! Says how our program ends that was started to become another one.

/// How our program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramEnd {
    /// The status to end with: that of the other program, or what env(1) has where it was not
    /// started.
    pub status: u8,
    /// What to say; empty for nothing.
    pub message: String,
}

impl ProgramEnd {
    /// The end with a status, and nothing to say.
    pub fn quiet(status: u8) -> Self {
        Self {
            status,
            message: String::new(),
        }
    }
}
