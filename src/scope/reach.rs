//! Says where on the disk a pattern can match: [`Reach`], for those who have to name directories
//! and files (`fence`), and the pattern as an extended regular expression, for those who take one.
//!
//! It answers nothing about a path: that is [`Scope::verdict`].

use bstr::ByteSlice;

use crate::scope::compiled::Scope;
use crate::scope::glob::{Glob, Token, literal};
use crate::scope::pattern::{ScopePattern, match_every_entry};
use crate::scope::rule::{Case, RuleList, ScopeRule};
use crate::words::path::RepoPath;

/// Where a pattern can match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every path (`**`).
    Everything,
    /// Everything below one directory, and not the directory itself (`src/**`).
    Below(RepoPath),
    /// One path, and everything below (`/src`, `docs/a.md`).
    Path(RepoPath),
    /// One directory, and everything below (`/src/`).
    Directory(RepoPath),
    /// Some paths below one directory (`docs/*.md`).
    SomeBelow(RepoPath),
    /// Some paths anywhere (`*.md`, `Makefile`, `src/`).
    Anywhere,
}

impl Scope {
    /// Where the patterns of one of the user's lists can match, in order.
    pub fn reaches(&self, list: RuleList) -> impl Iterator<Item = (&ScopeRule, Reach)> {
        self.list(list)
            .map(|(rule, pattern)| (rule, pattern.reach()))
    }

    /// The patterns of a list as extended regular expressions (regex(7)) for a path from the root,
    /// which match what a pattern covers. There is none for a pattern that matches nothing.
    pub fn regexes(&self, list: RuleList) -> impl Iterator<Item = String> {
        self.list(list)
            .filter(|(_, pattern)| pattern.can_match(self.case))
            .map(|(_, pattern)| pattern.regex(self.case))
    }
}

impl ScopePattern {
    /// Where it can match. Letters are as they were written, whatever the case.
    fn reach(&self) -> Reach {
        if self.is_everything() {
            return Reach::Everything;
        }
        if !self.is_anchored {
            return Reach::Anywhere;
        }
        // parsed anew: a pattern that matches in either case holds lower case only; and only the
        // glob, as a space at its end is part of the name (`/a /`)
        let body = self.line.strip_prefix('/').unwrap_or(&self.line);
        let written = Glob::parse(body.as_bytes(), Case::Sensitive);
        let tokens = written.map_or(Vec::new(), |glob| glob.tokens);
        let literal_start: Vec<u8> = tokens.iter().map_while(literal).collect();
        if literal_start.len() == tokens.len() {
            return match RepoPath::parse(literal_start) {
                Ok(path) if self.is_of_directories => Reach::Directory(path),
                Ok(path) => Reach::Path(path),
                Err(_) => Reach::Anywhere,
            };
        }
        let Some(slash) = literal_start.rfind_byte(b'/') else {
            return Reach::Anywhere;
        };
        let Ok(directory) = RepoPath::parse(&literal_start[..slash]) else {
            return Reach::Anywhere;
        };
        if !self.is_of_directories && match_every_entry(&tokens[slash + 1..]) {
            Reach::Below(directory)
        } else {
            Reach::SomeBelow(directory)
        }
    }

    /// True if there is a path that it covers.
    fn can_match(&self, case: Case) -> bool {
        let tokens = &self.glob.tokens;
        tokens.iter().all(|token| can_match(token, case))
    }

    /// The extended regular expression for what it covers.
    fn regex(&self, case: Case) -> String {
        let mut regex = Vec::new();
        if !self.is_anchored {
            regex.extend_from_slice(b"(.*/)?");
        }
        for token in &self.glob.tokens {
            match token {
                Token::Byte(byte) => push_byte(&mut regex, *byte, case),
                Token::Any => regex.extend_from_slice(b"[^/]"),
                Token::Class(set) => regex.extend(regex_of_set(set, case).bytes()),
                Token::Star => regex.extend_from_slice(b"[^/]*"),
                Token::Directories => regex.extend_from_slice(b"(.*/)?"),
                Token::Everything => regex.extend_from_slice(b".*"),
            }
        }
        // a pattern covers what is below a directory that it matches
        let below: &[u8] = if self.is_of_directories {
            b"/.*"
        } else {
            b"(/.*)?"
        };
        regex.extend_from_slice(below);
        String::from_utf8_lossy(&regex).into_owned()
    }
}

/// True if some path has what a token matches; the paths for which expressions are written are
/// UTF-8. Where letters do not count, paths are folded and `[A]` and `\A` are not, as in git.
fn can_match(token: &Token, case: Case) -> bool {
    match token {
        Token::Byte(byte) => is_in_paths(*byte, case),
        Token::Class(set) => {
            // a set with some bytes beyond ASCII, and not all, has parts of characters
            let mut ascii = 0..0x80_u8;
            has_all_beyond_ascii(set)
                || ascii.any(|byte| set[usize::from(byte)] && is_in_paths(byte, case))
        }
        Token::Any | Token::Star | Token::Directories | Token::Everything => true,
    }
}

/// True if a path can have a byte, as it is held against a pattern.
fn is_in_paths(byte: u8, case: Case) -> bool {
    match case {
        Case::Sensitive => true,
        Case::Insensitive => !byte.is_ascii_uppercase(),
    }
}

/// Writes one byte of a pattern.
fn push_byte(regex: &mut Vec<u8>, byte: u8, case: Case) {
    match case {
        Case::Insensitive if byte.is_ascii_lowercase() => {
            regex.extend([b'[', byte, byte.to_ascii_uppercase(), b']']);
        }
        _ if b"\\.[]{}()*+?^$|".contains(&byte) => regex.extend([b'\\', byte]),
        _ => regex.push(byte),
    }
}

/// The expression that matches just this text.
pub fn quote_for_regex(text: &str) -> String {
    let mut regex = Vec::new();
    for byte in text.bytes() {
        push_byte(&mut regex, byte, Case::Sensitive);
    }
    String::from_utf8_lossy(&regex).into_owned()
}

/// True if a set has all bytes beyond ASCII.
fn has_all_beyond_ascii(set: &[bool; 256]) -> bool {
    !set[0x80..].contains(&false)
}

/// Writes a set of bytes as a bracket expression, by ranges of ASCII. With all bytes beyond ASCII, the
/// expression is negated, and lists the bytes that are not in the set; with some, it has none of
/// them.
fn regex_of_set(set: &[bool; 256], case: Case) -> String {
    let is_negated = has_all_beyond_ascii(set);
    let mut listed = Vec::new();
    for byte in 1..0x80_u8 {
        let folded = match case {
            Case::Sensitive => byte,
            Case::Insensitive => byte.to_ascii_lowercase(),
        };
        let is_in_set = set[usize::from(folded)];
        if is_in_set != is_negated {
            listed.push(byte);
        }
    }
    if is_negated {
        return format!("[^{}]", inside_brackets(&listed));
    }
    // `[^]` would be the beginning of a negated expression
    if listed == *b"^" {
        return r"\^".to_owned();
    }
    format!("[{}]", inside_brackets(&listed))
}

/// Writes these bytes of ASCII, which are sorted, as they stand inside of brackets: there, a `]`
/// stands for itself if it comes first, a `^` if it does not, and a `-` if it comes first or last
/// (regex(7)).
fn inside_brackets(bytes: &[u8]) -> String {
    let mut text = String::new();
    if bytes.contains(&b']') {
        text.push(']');
    }
    let mut plain = bytes.to_vec();
    plain.retain(|byte| !b"]^-".contains(byte));
    for run in plain.chunk_by(|a, b| a + 1 == *b) {
        push_run(&mut text, run);
    }
    let last_two = if text.is_empty() { *b"-^" } else { *b"^-" };
    for byte in last_two {
        if bytes.contains(&byte) {
            text.push(char::from(byte));
        }
    }
    text
}

/// Writes bytes that follow each other: as a range where that is shorter.
fn push_run(body: &mut String, run: &[u8]) {
    if let [first, _, .., last] = run {
        body.extend([char::from(*first), '-', char::from(*last)]);
    } else {
        body.extend(run.iter().copied().map(char::from));
    }
}
