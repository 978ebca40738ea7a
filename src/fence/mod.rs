//! Fences: how the kernel keeps a command to its scope while it runs.
//!
//! A [`Fence`] is a mechanism of the system that refuses writes outside of a scope. A `Policy` says
//! what is to be enforced, and is computed once, without a look at the system; each fence renders it
//! in its own language. What a fence cannot say exactly is said to the user, and is found by the
//! verification after the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a fence, the weakest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Fence {
    /// Nothing is enforced.
    None,
    /// The write bits of the files, as `add` sets them.
    Perms,
    /// Landlock (landlock(7)) and seccomp(2), without other namespaces.
    Landlock,
    /// The sandbox of macOS (sandbox-exec(1)).
    Seatbelt,
    /// Namespaces by bubblewrap (bwrap(1)), with Landlock and seccomp inside.
    Mount,
    /// A container of podman or docker.
    Container,
}

impl Fence {
    /// All of them, the weakest first.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Perms,
        Self::Landlock,
        Self::Seatbelt,
        Self::Mount,
        Self::Container,
    ];

    /// The word in options, config and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Perms => "perms",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
            Self::Mount => "mount",
            Self::Container => "container",
        }
    }
}
