//! Holds [`Entry`]: what stands at a path, as git would say it, and [`ObjectId`].
//!
//! The same word serves a tree, the index and the disk, so that the three can be compared.

use std::fmt;

/// An object id: 20 bytes for SHA-1 repositories, 32 for SHA-256 ones
/// (gitformat-pack(5), "SHA-1 and SHA-256").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    bytes: [u8; 32],
    len: u8,
}

/// What kind of thing stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// A regular file, `100644`.
    File,
    /// A regular file with the owner's execute bit, `100755`: the only bit that git keeps.
    Executable,
    /// A symbolic link, `120000`; its content is the text of the link.
    Link,
    /// A commit of a submodule, `160000`; on disk a directory with a repository in it.
    Gitlink,
    /// An empty directory: only ever on disk.
    EmptyDirectory,
    /// The private directory of a repository inside the worktree: only ever on disk.
    NestedGit,
    /// A FIFO, socket or device: only ever on disk.
    Special,
}

/// What stands at a path: its kind and the id of its content, as a blob of the raw bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// What kind of thing it is.
    pub mode: Mode,
    /// Its content; [`ObjectId::none`] for what has none.
    pub id: ObjectId,
}

impl Entry {
    /// True for a file, and for a link: git stores its text like the content of a file.
    pub const fn has_content(self) -> bool {
        self.mode.is_regular() || matches!(self.mode, Mode::Link)
    }
}

impl ObjectId {
    /// Takes the raw bytes of an id; none unless there are 20 or 32.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        // lengths that are known when it is compiled need no call to copy
        let len = match raw.len() {
            20 => {
                bytes[..20].copy_from_slice(&raw[..20]);
                20
            }
            32 => {
                bytes.copy_from_slice(&raw[..32]);
                32
            }
            _ => return None,
        };
        Some(Self { bytes, len })
    }

    /// Takes an id as git prints it, 40 or 64 hexadecimal digits.
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let mut bytes = Vec::new();
        for pair in digits.chunks(2) {
            let text = std::str::from_utf8(pair).ok()?;
            bytes.push(u8::from_str_radix(text, 16).ok()?);
        }
        Self::from_bytes(&bytes)
    }

    /// Returns the id of what has no content.
    pub const fn none() -> Self {
        Self {
            bytes: [0; 32],
            len: 20,
        }
    }

    /// Returns the raw bytes, 20 or 32.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes()
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Mode {
    /// All kinds, in the order of their codes.
    const ALL: [Self; 7] = [
        Self::File,
        Self::Executable,
        Self::Link,
        Self::Gitlink,
        Self::EmptyDirectory,
        Self::NestedGit,
        Self::Special,
    ];

    /// Returns a small stable number, for files of ours.
    pub fn code(self) -> u8 {
        Self::ALL
            .iter()
            .position(|mode| *mode == self)
            .map_or(0, |at| at.to_le_bytes()[0])
    }

    /// Returns the kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Returns the mode as git prints it in trees, for what can stand in one.
    pub const fn git_octal(self) -> Option<&'static str> {
        match self {
            Self::File => Some("100644"),
            Self::Executable => Some("100755"),
            Self::Link => Some("120000"),
            Self::Gitlink => Some("160000"),
            Self::EmptyDirectory | Self::NestedGit | Self::Special => None,
        }
    }

    /// True if a directory stands there on disk.
    pub const fn is_directory(self) -> bool {
        match self {
            Self::Gitlink | Self::EmptyDirectory | Self::NestedGit => true,
            Self::File | Self::Executable | Self::Link | Self::Special => false,
        }
    }

    /// True if it is a regular file, executable or not.
    pub const fn is_regular(self) -> bool {
        match self {
            Self::File | Self::Executable => true,
            Self::Link | Self::Gitlink | Self::EmptyDirectory | Self::NestedGit | Self::Special => {
                false
            }
        }
    }
}
