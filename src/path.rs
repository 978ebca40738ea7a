//! Holds [`RepoPath`], a path inside the repository as git spells it.
//!
//! It knows nothing of the disk. It is bytes, because git's paths are bytes: a newline, a quote
//! or an invalid UTF-8 sequence is a name like any other and is only escaped when it is shown.
//!
//! ```
//! use git_agentwt::path::RepoPath;
//! let path = RepoPath::parse("docs/guide.md").expect("it is relative and normal");
//! assert_eq!(path.parents().map(|p| p.to_string()).collect::<Vec<_>>(), ["docs"]);
//! ```

use std::fmt;

use bstr::{BStr, BString, ByteSlice};

/// Represents a path in the repository: bytes, separated by `/`, relative to the root, never
/// empty, without `.`, `..`, an empty component or NUL. Parsed once, trusted afterwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(BString);

/// Says why some bytes are not a [`RepoPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepoPathError {
    /// No bytes at all.
    #[error("a path may not be empty")]
    Empty,
    /// It begins with `/`.
    #[error("a path in the repository is relative to its root")]
    Absolute,
    /// One of its components is empty, `.` or `..`.
    #[error("a path may not have an empty, `.` or `..` component")]
    Component,
    /// It contains a NUL byte.
    #[error("a path may not contain a NUL byte")]
    Nul,
}

impl RepoPath {
    /// Parses the bytes that git or the disk gave; nothing is normalised.
    ///
    /// # Errors
    /// Returns what makes the bytes something else than a normal relative path.
    pub fn parse(bytes: impl Into<BString>) -> Result<Self, RepoPathError> {
        let bytes: BString = bytes.into();
        if bytes.is_empty() {
            return Err(RepoPathError::Empty);
        }
        if bytes.contains(&0) {
            return Err(RepoPathError::Nul);
        }
        if bytes[0] == b'/' {
            return Err(RepoPathError::Absolute);
        }
        if bytes
            .split(|byte| *byte == b'/')
            .any(|c| matches!(c, b"" | b"." | b".."))
        {
            return Err(RepoPathError::Component);
        }
        Ok(Self(bytes))
    }

    /// Joins a directory (none for the root) and one component that a directory listing or a
    /// tree object gave.
    #[must_use]
    pub fn child(parent: Option<&Self>, component: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(parent.map_or(0, |p| p.0.len() + 1) + component.len());
        if let Some(parent) = parent {
            bytes.extend_from_slice(&parent.0);
            bytes.push(b'/');
        }
        bytes.extend_from_slice(component);
        Self(bytes.into())
    }

    /// The bytes as git spells them.
    #[must_use]
    pub fn as_bstr(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &BStr {
        self.0
            .rsplit(|b| *b == b'/')
            .next()
            .unwrap_or(&self.0)
            .as_bstr()
    }

    /// The directory it is in, or none for an entry of the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.rfind_byte(b'/').map(|at| Self(self.0[..at].into()))
    }

    /// Every directory above it, the nearest first, without the root.
    pub fn parents(&self) -> impl Iterator<Item = &BStr> {
        let mut rest: &[u8] = &self.0;
        std::iter::from_fn(move || {
            let at = rest.rfind_byte(b'/')?;
            rest = &rest[..at];
            Some(rest.as_bstr())
        })
    }

    /// Whether it lies below the given directory.
    #[must_use]
    pub fn is_below(&self, directory: &BStr) -> bool {
        self.0.len() > directory.len()
            && self.0.starts_with(directory)
            && self.0[directory.len()] == b'/'
    }

    /// The same path as the operating system takes it, relative to the repository's root.
    ///
    /// # Errors
    /// Fails only where the system cannot hold the bytes (not on Unix).
    pub fn to_os_path(&self) -> Result<std::path::PathBuf, bstr::Utf8Error> {
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            Ok(std::ffi::OsStr::from_bytes(&self.0).into())
        }
        #[cfg(not(unix))]
        {
            Ok(self.0.to_str()?.into())
        }
    }
}

impl fmt::Display for RepoPath {
    /// Writes the path escaped for a terminal: bytes outside printable ASCII that are not valid
    /// UTF-8, control characters and `\` are written as `\ooo`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_for_terminal(&self.0))
    }
}

/// Escapes any bytes for a terminal: printable UTF-8 stays, control characters, `\` and what is
/// not UTF-8 become `\ooo` (three octal digits a byte).
#[must_use]
pub fn escape_for_terminal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for (start, end, c) in bytes.char_indices() {
        let raw = &bytes[start..end];
        let broken = c == char::REPLACEMENT_CHARACTER && raw != "\u{fffd}".as_bytes();
        if broken || c.is_control() || c == '\\' || is_invisible(c) {
            push_octal(&mut out, raw);
        } else {
            out.push(c);
        }
    }
    out
}

/// Escapes any bytes for a line of tab-separated values: every byte outside `0x20..=0x7e` and
/// `\` becomes `\ooo`.
#[must_use]
pub fn escape_for_tsv(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if (0x20..=0x7e).contains(byte) && *byte != b'\\' {
            out.push(char::from(*byte));
        } else {
            push_octal(&mut out, std::slice::from_ref(byte));
        }
    }
    out
}

/// Reads what [`escape_for_tsv`] wrote.
#[must_use]
pub fn unescape_tsv(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let byte =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

fn push_octal(out: &mut String, bytes: &[u8]) {
    use fmt::Write as _;
    for byte in bytes {
        let _ = write!(out, "\\{byte:03o}");
    }
}

/// Bidirectional controls and zero-width characters, with which a name can look like another.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_refuses_what_is_not_a_normal_relative_path() {
        for (text, error) in [
            ("", RepoPathError::Empty),
            ("/a", RepoPathError::Absolute),
            ("a//b", RepoPathError::Component),
            ("a/", RepoPathError::Component),
            ("./a", RepoPathError::Component),
            ("a/../b", RepoPathError::Component),
            ("a\0b", RepoPathError::Nul),
        ] {
            assert_eq!(RepoPath::parse(text), Err(error), "{text:?}");
        }
        for text in ["a", ".a", "a..b/..c", "-rf", ":(top)x", "a\nb", " x "] {
            assert!(RepoPath::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn parents_come_nearest_first() {
        let path = RepoPath::parse("a/b/c").expect("it is normal");
        assert_eq!(path.parents().collect::<Vec<_>>(), ["a/b", "a"]);
        assert_eq!(path.file_name(), "c");
        assert!(path.is_below("a".into()) && path.is_below("a/b".into()));
        assert!(!path.is_below("a/b/c".into()) && !path.is_below("a/".into()));
    }

    #[test]
    fn names_are_escaped_and_never_dropped() {
        assert_eq!(
            escape_for_terminal(b"a\nb\\\xff\xc3\xa9"),
            "a\\012b\\134\\377\u{e9}"
        );
        assert_eq!(
            escape_for_terminal("\u{202e}x".as_bytes()),
            "\\342\\200\\256x"
        );
        assert_eq!(
            escape_for_tsv("caf\u{e9} \t".as_bytes()),
            "caf\\303\\251 \\011"
        );
    }
}
