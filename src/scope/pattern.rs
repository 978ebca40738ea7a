//! Holds `ScopePattern`, one gitignore(5) pattern that was parsed and found useful.
//!
//! It answers for one path at one level. That a pattern which matches a directory covers all below
//! it is the business of those who walk the levels (`Classifier`).

use bstr::ByteSlice as _;

use crate::scope::descent::EntryPath;
use crate::scope::fault::PatternFault;
use crate::scope::glob::{Glob, Token};
use crate::scope::rule::{Case, EntryKind};

/// A pattern as git reads it.
#[derive(Clone, Debug)]
pub(super) struct ScopePattern {
    /// What was written, without trailing spaces and without a trailing `/`.
    pub(super) line: String,
    /// True if it is matched against the whole path from the root, because it has a leading or
    /// inner slash; else against the last component of a path, at any depth.
    pub(super) is_anchored: bool,
    /// True if it matches directories only, because of a trailing slash.
    pub(super) is_of_directories: bool,
    pub(super) glob: Glob,
}

/// What a pattern such as `Makefile` or `*.pem` looks for.
pub(super) enum PatternName<'p> {
    /// The whole name.
    Whole(&'p [u8]),
    /// The end of the name.
    Ending(&'p [u8]),
}

impl ScopePattern {
    /// Parses a pattern as git reads a line of a pattern file, and refuses what it would read in
    /// silence and never match.
    pub(super) fn parse(pattern: &str, case: Case) -> Result<Self, PatternFault> {
        if pattern.contains(['\0', '\n']) {
            return Err(PatternFault::LineEnd);
        }
        let written = without_trailing_spaces(pattern);
        match written.as_bytes() {
            [.., b'\r'] => return Err(PatternFault::LineEnd),
            b"/" => return Err(PatternFault::Empty),
            _ if written.trim().is_empty() => return Err(PatternFault::Empty),
            [b'!', ..] => return Err(PatternFault::Negation),
            [b'#', ..] => return Err(PatternFault::Comment),
            _ => {}
        }
        // Git looks for the slash at the end, at the start and within (`is_anchored`) as a byte,
        // also where it is escaped or in a class.
        let is_of_directories = written.ends_with('/');
        let line = written.strip_suffix('/').unwrap_or(written);
        let body = line.strip_prefix('/').unwrap_or(line).as_bytes();
        // Judged case-sensitively: what is refused must not depend on the machine.
        let plain = Glob::parse(body, Case::Sensitive)?;
        check(&plain.tokens)?;
        let glob = match case {
            Case::Sensitive => plain,
            Case::Insensitive => Glob::parse(body, case)?,
        };
        Ok(Self {
            line: line.to_owned(),
            is_anchored: line.contains('/'),
            is_of_directories,
            glob,
        })
    }

    /// True if it matches the entry itself. `name` is where the path's last component begins.
    pub(super) fn matches(&self, path: &[u8], name: usize, kind: EntryKind) -> bool {
        if self.is_of_directories && kind == EntryKind::File {
            return false;
        }
        let start = if self.is_anchored { 0 } else { name };
        self.glob.matches(&path[start..])
    }

    /// True if it can match an entry of this directory (`""` is the root), or below.
    pub(super) fn reaches_into(&self, directory: &[u8]) -> bool {
        if !self.is_anchored || directory.is_empty() {
            return true;
        }
        let inside = directory.iter().chain(b"/");
        let mut pairs = self.glob.prefix.iter().zip(inside);
        pairs.all(|(literal, byte)| literal == byte)
    }

    /// True if it can match an entry directly in this directory (`""` is the root), by the path of
    /// the directory alone: `**/name/…` by its name, not by those of the directories above.
    pub(super) fn begins_to_reach_entries_of(&self, directory: EntryPath<'_>) -> bool {
        if !self.is_anchored {
            return true;
        }
        let path = directory.path;
        if let Some(name) = &self.glob.floating {
            return path[directory.name_start..] == **name;
        }
        let start = path.len() + usize::from(!path.is_empty());
        let rest = self.glob.prefix.get(start..).unwrap_or_default();
        self.reaches_into(path) && !rest.contains(&b'/')
    }

    /// What the last component of every match is, or ends with; none if the pattern says more.
    pub(super) fn name(&self) -> Option<PatternName<'_>> {
        let Glob { tokens, suffix, .. } = &self.glob;
        if self.is_anchored {
            None
        } else if suffix.len() == tokens.len() {
            Some(PatternName::Whole(suffix))
        } else {
            let is_ending = tokens[0] == Token::Star && suffix.len() + 1 == tokens.len();
            is_ending.then_some(PatternName::Ending(suffix))
        }
    }

    /// True if it matches the path or a directory above it. The path is one of a file.
    pub(super) fn covers(&self, path: &[u8]) -> bool {
        let mut name = 0;
        for end in path.find_iter("/") {
            if self.matches(&path[..end], name, EntryKind::Directory) {
                return true;
            }
            name = end + 1;
        }
        self.matches(path, name, EntryKind::File)
    }

    /// A path that it matches or covers, with `filler` where any bytes may be.
    pub(super) fn example(&self, filler: &[u8]) -> Vec<u8> {
        let mut path = self.glob.example(filler);
        if self.is_of_directories {
            path.push(b'/');
            path.extend_from_slice(filler);
        }
        path
    }

    /// True if it matches every entry of the root, and so covers every path.
    pub(super) fn is_everything(&self) -> bool {
        !self.is_of_directories && match_every_entry(&self.glob.tokens)
    }

    /// True if it matches whatever lies below a directory, at any depth (`a/**`).
    pub(super) fn ends_with_everything(&self) -> bool {
        self.glob.tokens.last() == Some(&Token::Everything)
    }
}

/// True if the tokens match every entry of a directory, and maybe more.
pub(super) fn match_every_entry(tokens: &[Token]) -> bool {
    match tokens {
        [above @ .., Token::Star | Token::Everything] => {
            above.iter().all(|token| *token == Token::Directories)
        }
        _ => false,
    }
}

/// Refuses the tokens that no path can match.
fn check(tokens: &[Token]) -> Result<(), PatternFault> {
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Class(set) if !set.contains(&true) => return Err(PatternFault::BadClass),
            Token::Byte(b'/') => {
                check_component(&tokens[start..at])?;
                start = at + 1;
            }
            Token::Directories => start = at + 1,
            Token::Byte(_) | Token::Any | Token::Class(_) | Token::Star | Token::Everything => {}
        }
    }
    check_component(&tokens[start..])
}

/// Refuses a component that is empty, `.` or `..`.
fn check_component(component: &[Token]) -> Result<(), PatternFault> {
    const DOT: Token = Token::Byte(b'.');
    match component {
        [] | [DOT] | [DOT, DOT] => Err(PatternFault::Dots),
        _ => Ok(()),
    }
}

/// Git ignores trailing spaces unless they are quoted with a backslash; no other white space.
fn without_trailing_spaces(pattern: &str) -> &str {
    let trimmed = pattern.trim_end_matches(' ');
    let backslashes = trimmed
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'\\')
        .count();
    let quoted = backslashes % 2 == 1 && trimmed.len() < pattern.len();
    &pattern[..trimmed.len() + usize::from(quoted)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_spaces_go_unless_they_are_quoted() {
        for (pattern, line) in [
            ("a  ", "a"),
            (r"a\ ", r"a\ "),
            (r"a\   ", r"a\ "),
            (r"a\\ ", r"a\\"),
            (" a", " a"),
            ("a\t", "a\t"),
            ("a/ ", "a/"),
            (r"\ ", r"\ "),
        ] {
            assert_eq!(without_trailing_spaces(pattern), line, "{pattern:?}");
        }
    }

    #[test]
    fn a_pattern_that_could_never_match_is_refused() {
        for (pattern, fault) in [
            ("", PatternFault::Empty),
            ("   ", PatternFault::Empty),
            (" \t", PatternFault::Empty),
            ("!a", PatternFault::Negation),
            ("#a", PatternFault::Comment),
            ("/", PatternFault::Empty),
            ("a\nb", PatternFault::LineEnd),
            ("a\0", PatternFault::LineEnd),
            ("a\r", PatternFault::LineEnd),
            ("a\r  ", PatternFault::LineEnd),
            ("./a", PatternFault::Dots),
            ("a/../b", PatternFault::Dots),
            ("..", PatternFault::Dots),
            (r"a/\./b", PatternFault::Dots),
            ("**/.", PatternFault::Dots),
            ("a//b", PatternFault::Dots),
            ("//a", PatternFault::Dots),
            ("a//", PatternFault::Dots),
            ("a/**//", PatternFault::Dots),
            (r"\/a", PatternFault::Dots),
            (r"a\", PatternFault::LoneBackslash),
            (r"a\/", PatternFault::LoneBackslash),
            ("a[", PatternFault::OpenClass),
            ("a[/", PatternFault::OpenClass),
            ("[[:word:]]", PatternFault::BadClass),
            ("[/]", PatternFault::BadClass),
        ] {
            for case in [Case::Sensitive, Case::Insensitive] {
                let parsed = ScopePattern::parse(pattern, case).map(|p| p.line);
                assert_eq!(parsed, Err(fault), "{pattern:?}");
            }
        }
    }

    #[test]
    fn what_looks_odd_but_matches_something_is_accepted() {
        for pattern in [
            "...",
            ".a",
            "a/.b",
            r"\!a",
            r"\#a",
            "a#",
            r"\ ",
            "a\rb",
            "]",
            "{a,b}",
            "[a//b]",
            "[z-a]",
            "[]]",
            "~/x",
            "C:\\\\x",
            ".git/**",
            "***",
            "-x",
            "\u{feff}a",
            r"a\/b",
        ] {
            assert!(
                ScopePattern::parse(pattern, Case::Sensitive).is_ok(),
                "{pattern:?}"
            );
        }
    }

    #[test]
    fn everything_is_recognised_in_all_its_spellings() {
        for pattern in [
            "*", "**", "***", "/*", "/**", "**/*", "**/**", "/**/*", "* ",
        ] {
            let parsed = ScopePattern::parse(pattern, Case::Sensitive).expect("it is valid");
            assert!(parsed.is_everything(), "{pattern}");
        }
        for pattern in ["*/", "**/", "*/*", "*/**", "/*/", "?*", "*.*", "**/*/"] {
            let parsed = ScopePattern::parse(pattern, Case::Sensitive).expect("it is valid");
            assert!(!parsed.is_everything(), "{pattern}");
        }
    }
}
