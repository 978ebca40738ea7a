//! Holds [`RepoPath`], a path inside the repository as git spells it.
//!
//! It knows nothing of the disk. It is bytes, because git's paths are bytes: a newline, a quote
//! or an invalid UTF-8 sequence is a name like any other and is only escaped when it is shown.
//!
//! ```
//! use git_agentwt::words::path::RepoPath;
//! let path = RepoPath::parse("docs/guide.md").expect("it is relative and normal");
//! assert_eq!(path.parents().map(|p| p.to_string()).collect::<Vec<_>>(), ["docs"]);
//! ```

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

/// A path in the repository: bytes, separated by `/`, relative to the root, never
/// empty, without `.`, `..`, an empty component or NUL. Parsed once, trusted afterwards.
///
/// Many of them can stand in one place of memory ([`Paths`]), which lives as long as one of them.
#[derive(Clone)]
pub struct RepoPath {
    bytes: Arc<Vec<u8>>,
    start: u32,
    end: u32,
}

/// Why some bytes are not a [`RepoPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepoPathError {
    /// It is absolute, or one of its components is empty, `.` or `..`.
    #[error("a path is relative to the repository's root, without an empty, `.` or `..` component")]
    Component,
    /// It contains a NUL byte.
    #[error("a path may not contain a NUL byte")]
    Nul,
    /// It has four gibibytes or more.
    #[error("a path is shorter than 4 GiB")]
    Long,
}

impl RepoPath {
    /// Parses the bytes that git or the disk gave; nothing is normalised.
    ///
    /// # Errors
    /// Returns what makes the bytes something else than a normal relative path.
    pub fn parse(bytes: impl Into<BString>) -> Result<Self, RepoPathError> {
        let path: BString = bytes.into();
        check(&path)?;
        let end = u32::try_from(path.len()).map_err(|_| RepoPathError::Long)?;
        Ok(Self {
            bytes: Arc::new(Vec::from(path)),
            start: 0,
            end,
        })
    }

    /// Takes bytes that are part of a path, or of one and a name: nothing has to be looked at.
    fn trusted(bytes: Vec<u8>) -> Self {
        let end = u32::try_from(bytes.len());
        Self {
            bytes: Arc::new(bytes),
            start: 0,
            end: end.expect("because no system has names of 4 GiB"),
        }
    }

    /// Joins a directory (none for the root) and one component that a directory listing or a
    /// tree object gave.
    pub fn child(parent: Option<&Self>, component: &[u8]) -> Self {
        match parent {
            None => Self::trusted(component.to_vec()),
            Some(parent) => Self::trusted([parent.as_bstr().as_bytes(), b"/", component].concat()),
        }
    }

    /// Returns the bytes as git spells them.
    pub fn as_bstr(&self) -> &BStr {
        self.bytes[self.start as usize..self.end as usize].as_bstr()
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &BStr {
        let path = self.as_bstr();
        match path.rfind_byte(b'/') {
            Some(slash) => path[slash + 1..].as_bstr(),
            None => path,
        }
    }

    /// Returns the directory it is in; none for an entry of the root.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.as_bstr().rfind_byte(b'/')?;
        Some(Self::trusted(self.as_bstr()[..slash].to_vec()))
    }

    /// Returns every directory above it, the nearest first, without the root.
    pub fn parents(&self) -> impl Iterator<Item = &BStr> {
        let mut rest: &[u8] = self.as_bstr();
        std::iter::from_fn(move || {
            let at = rest.rfind_byte(b'/')?;
            rest = &rest[..at];
            Some(rest.as_bstr())
        })
    }

    /// Returns the directory of the repository inside of the worktree that the path is in, by its
    /// first `.git`; none if there is no `.git`, or that of the worktree itself.
    pub fn repository_inside(&self) -> Option<Self> {
        let mut length: usize = 0;
        for part in self.as_bstr().split(|byte| *byte == b'/') {
            if part == b".git" {
                // without the slash before it
                let directory = self.as_bstr().get(..length.checked_sub(1)?)?;
                return Some(Self::trusted(directory.to_vec()));
            }
            length += part.len() + 1;
        }
        None
    }

    /// True if it lies below the given directory.
    pub fn is_below(&self, directory: &BStr) -> bool {
        let rest = self.as_bstr().strip_prefix(directory.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"/"))
    }

    /// Returns the path as the operating system takes it, relative to the repository's root.
    ///
    /// # Errors
    /// Fails only where the system cannot hold the bytes (not on Unix).
    pub fn to_os_path(&self) -> Result<std::path::PathBuf, bstr::Utf8Error> {
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            Ok(std::ffi::OsStr::from_bytes(self.as_bstr()).into())
        }
        #[cfg(not(unix))]
        {
            Ok(self.as_bstr().to_str()?.into())
        }
    }
}

impl AsRef<[u8]> for RepoPath {
    fn as_ref(&self) -> &[u8] {
        self.as_bstr()
    }
}

/// A set of paths can be asked for bytes: both are compared and hashed alike.
impl Borrow<BStr> for RepoPath {
    fn borrow(&self) -> &BStr {
        self.as_bstr()
    }
}

impl PartialEq for RepoPath {
    fn eq(&self, other: &Self) -> bool {
        self.as_bstr() == other.as_bstr()
    }
}

impl Eq for RepoPath {}

impl PartialOrd for RepoPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RepoPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bstr().cmp(other.as_bstr())
    }
}

impl Hash for RepoPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bstr().hash(state);
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RepoPath").field(&self.as_bstr()).finish()
    }
}

impl fmt::Display for RepoPath {
    /// Writes the path escaped for a terminal: bytes outside printable ASCII that are not valid
    /// UTF-8, control characters and `\` are written as `\ooo`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_for_terminal(self.as_bstr()))
    }
}

impl serde::Serialize for RepoPath {
    /// Writes the path escaped as for a terminal, from which it can be read again.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for RepoPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(unescape(&text)).map_err(serde::de::Error::custom)
    }
}

/// Collects paths that come in order into one place of memory, a few bytes each beside their own.
#[derive(Debug, Default)]
pub struct Paths {
    bytes: Vec<u8>,
    /// Where each begins; one ends where the next begins.
    starts: Vec<u32>,
}

impl Paths {
    /// Expects about so many.
    pub fn with_capacity(paths: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(paths.saturating_mul(32)),
            starts: Vec::with_capacity(paths),
        }
    }

    /// Returns how many there are.
    pub const fn len(&self) -> usize {
        self.starts.len()
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Adds a path that shares so many bytes with the one before it. Returns how it compares with
    /// that one; none when that is shorter than what is to be shared.
    ///
    /// # Errors
    /// Returns what makes the bytes something else than a path, as [`RepoPath::parse`] does.
    pub fn push(&mut self, shared: usize, rest: &[u8]) -> Result<Option<Ordering>, RepoPathError> {
        let start = self.bytes.len();
        let before = self.starts.last().map_or(start, |start| *start as usize);
        if before + shared > start {
            return Ok(None);
        }
        let order = if self.starts.is_empty() {
            Ordering::Greater
        } else {
            compare(rest, &self.bytes[before + shared..])
        };
        self.bytes.extend_from_within(before..before + shared);
        self.bytes.extend_from_slice(rest);
        // What is shared was checked before, but for the component that the rest continues.
        let path = &self.bytes[start..];
        let checked = path[..shared].rfind_byte(b'/').map_or(0, |slash| slash + 1);
        check(&path[checked..])?;
        u32::try_from(self.bytes.len()).map_err(|_| RepoPathError::Long)?;
        self.starts
            .push(u32::try_from(start).map_err(|_| RepoPathError::Long)?);
        Ok(Some(order))
    }

    /// Returns all of them, in order.
    pub fn into_paths(self) -> impl Iterator<Item = RepoPath> {
        let end_of_last = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        let all_bytes = Arc::new(self.bytes);
        let mut starts = self.starts.into_iter().peekable();
        std::iter::from_fn(move || {
            Some(RepoPath {
                bytes: Arc::clone(&all_bytes),
                start: starts.next()?,
                end: starts.peek().copied().unwrap_or(end_of_last),
            })
        })
    }
}

/// Compares bytes, by the first one where that decides: this runs for each path of a manifest.
fn compare(bytes: &[u8], other: &[u8]) -> Ordering {
    match (bytes.first(), other.first()) {
        (Some(first), Some(first_of_other)) if first != first_of_other => first.cmp(first_of_other),
        _ => bytes.cmp(other),
    }
}

/// Checks that bytes are a path, looking at every byte once.
fn check(bytes: &[u8]) -> Result<(), RepoPathError> {
    let mut length = 0;
    let mut has_only_dots = true;
    for byte in bytes {
        match byte {
            0 => return Err(RepoPathError::Nul),
            b'/' if length < 3 && has_only_dots => return Err(RepoPathError::Component),
            b'/' => {
                length = 0;
                has_only_dots = true;
            }
            _ => {
                length += 1;
                has_only_dots &= *byte == b'.';
            }
        }
    }
    if length < 3 && has_only_dots {
        return Err(RepoPathError::Component);
    }
    Ok(())
}

/// Escapes any bytes for a terminal: printable UTF-8 stays, control characters, `\` and what is
/// not UTF-8 become `\ooo` (three octal digits a byte).
pub fn escape_for_terminal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for (start, end, c) in bytes.char_indices() {
        let raw = &bytes[start..end];
        let is_not_utf8 = c == char::REPLACEMENT_CHARACTER && raw != "\u{fffd}".as_bytes();
        if is_not_utf8 || c.is_control() || c == '\\' || is_invisible(c) {
            push_octal(&mut out, raw);
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the bytes of which [`escape_for_terminal`] or [`escape_for_tsv`] made a text.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.extend_from_slice(plain.as_bytes());
        let digits = escaped.get(..3).unwrap_or_default();
        out.extend(u8::from_str_radix(digits, 8));
        rest = escaped.get(3..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Lists the first `shown` of some names, and the number of the others.
pub fn first_of(names: impl IntoIterator<Item = impl fmt::Display>, shown: usize) -> String {
    let mut texts: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let more = texts.len().saturating_sub(shown);
    texts.truncate(shown);
    match more {
        0 => texts.join(", "),
        more => format!("{} and {more} more", texts.join(", ")),
    }
}

/// Quotes a word for a shell, where it needs that.
pub fn shell_word(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain_for_shell) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Quotes a path for a shell, where it needs that.
pub fn shell_path(path: &RepoPath) -> String {
    shell_word(&path.to_string())
}

fn is_plain_for_shell(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_=+.,/:@%^".contains(c)
}

/// Escapes any bytes for a line of tab-separated values: every byte outside `0x20..=0x7e` and
/// `\` becomes `\ooo`.
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

/// Writes a pattern escaped for a terminal: a backslash is syntax there and stays readable.
pub fn escape_for_rule(pattern: &str) -> String {
    let mut parts = Vec::new();
    for part in pattern.split('\\') {
        parts.push(escape_for_terminal(part.as_bytes()));
    }
    parts.join("\\")
}

fn push_octal(out: &mut String, bytes: &[u8]) {
    use fmt::Write as _;
    for byte in bytes {
        let _ = write!(out, "\\{byte:03o}");
    }
}

/// True for bidirectional controls and zero-width characters, with which a name can look like
/// another.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_inside_is_the_directory_of_the_first_dot_git() {
        for (text, directory) in [
            ("docs/n/.git", Some("docs/n")),
            ("docs/n/.git/config", Some("docs/n")),
            ("n/.git/modules/a/.git/HEAD", Some("n")),
            (".git/config", None),
            ("docs/.github/x", None),
        ] {
            let path = RepoPath::parse(text).expect("a path");
            let found = path.repository_inside().map(|found| found.to_string());
            assert_eq!(found.as_deref(), directory, "{text}");
        }
    }

    #[test]
    fn parse_refuses_what_is_not_a_normal_relative_path() {
        for (text, error) in [
            ("", RepoPathError::Component),
            ("/a", RepoPathError::Component),
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
    fn what_is_pushed_is_a_path_where_it_would_be_parsed_as_one() {
        let longer = |all: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let ends = |start: &Vec<u8>| b"a./\0".map(|end| [start.as_slice(), &[end]].concat());
            all.iter().flat_map(ends).collect()
        };
        let mut rests = vec![vec![]];
        for length in 0..5 {
            let from = rests.iter().position(|rest: &Vec<u8>| rest.len() == length);
            let more = longer(&rests[from.unwrap_or(0)..]);
            rests.extend(more);
        }
        for before in ["abc", "a", "abcd/..a/bcd", "a/b/.cd", "ab/.ab/cd/e"] {
            for shared in 0..=before.len() {
                for rest in &rests {
                    let mut paths = Paths::default();
                    paths.push(0, before.as_bytes()).expect("it is a path");
                    let pushed = paths.push(shared, rest);
                    let whole = [&before.as_bytes()[..shared], rest].concat();
                    let parsed = RepoPath::parse(whole.clone());
                    assert_eq!(pushed.is_ok(), parsed.is_ok(), "{:?}", whole.as_bstr());
                    if let (Ok(order), true) = (pushed, before[shared..] != *"") {
                        let bytes = before.as_bytes();
                        assert_eq!(
                            order,
                            Some(whole.as_slice().cmp(bytes)),
                            "{before} {shared}"
                        );
                        let last = paths.into_paths().last();
                        assert_eq!(last, parsed.ok());
                    }
                }
            }
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
        for bytes in [
            &b"a\nb\\\xff\xc3\xa9"[..],
            "\u{202e}\\101".as_bytes(),
            b"",
            b"x",
        ] {
            assert_eq!(unescape(&escape_for_terminal(bytes)), bytes);
            assert_eq!(unescape(&escape_for_tsv(bytes)), bytes);
        }
    }
}
