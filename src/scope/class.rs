//! Parses a bracket expression (`[a-z]`, `[!x]`, `[[:alpha:]]`) into the set of bytes it matches.
//!
//! It does not match anything by itself; [`Glob`](super::glob::Glob) does. The rules are those of
//! git's `wildmatch.c` (2.47), which are not POSIX's: a class works on bytes, `^` negates as `!`
//! does, and under `core.ignoreCase` a single upper-case member (`[A]`) matches nothing at all,
//! because git folds the text and not the member, while ranges and `[:upper:]` do fold.

use super::Case;
use super::error::Fault;

/// Holds a set of bytes, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    /// The bytes that are members.
    pub(super) fn of(is_member: impl Fn(u8) -> bool) -> Self {
        let mut set = Self([0; 4]);
        set.add_where(is_member);
        set
    }

    /// Whether the byte is in the set.
    pub(super) const fn contains(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] & (1 << (byte & 63)) != 0
    }

    fn add_where(&mut self, is_member: impl Fn(u8) -> bool) {
        for byte in 0..=u8::MAX {
            if is_member(byte) {
                self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
            }
        }
    }
}

/// Parses the class that begins after the `[` at the start of `text`. Returns its set and how many
/// bytes of `text` it took, with the closing `]`. `/` and NUL are never in the set: git's `*`, `?`
/// and classes do not cross a directory.
///
/// For [`Case::Insensitive`] the set answers for text that is already lower case.
pub(super) fn parse(text: &[u8], case: Case) -> Result<(ByteSet, usize), Fault> {
    let mut set = ByteSet([0; 4]);
    let negated = matches!(text.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    let mut at = start;
    let mut previous = None; // what a following `-` would make the start of a range
    loop {
        let byte = *text.get(at).ok_or(Fault::OpenClass)?;
        at += 1;
        match byte {
            b']' if at > start + 1 => break,
            b'\\' => {
                let escaped = *text.get(at).ok_or(Fault::OpenClass)?;
                at += 1;
                set.add_where(|b| b == escaped);
                previous = Some(escaped);
            }
            b'-' if previous.is_some() && text.get(at).is_some_and(|next| *next != b']') => {
                let low = previous.take().unwrap_or_default();
                at += usize::from(text[at] == b'\\');
                let high = *text.get(at).ok_or(Fault::OpenClass)?;
                at += 1;
                set.add_where(|b| is_in_range(b, low, high, case));
            }
            b'[' if text.get(at) == Some(&b':') => {
                let rest = &text[at + 1..];
                let end = rest.iter().position(|b| *b == b']');
                let inner = &rest[..end.ok_or(Fault::OpenClass)?];
                if let Some((b':', name)) = inner.split_last() {
                    add_named(&mut set, name, case)?;
                    at += inner.len() + 2;
                    previous = None;
                } else {
                    // No `:]`: git takes the `[` as an ordinary member.
                    set.add_where(|b| b == b'[');
                    previous = Some(b'[');
                }
            }
            member => {
                set.add_where(|b| b == member);
                previous = Some(member);
            }
        }
    }
    if negated {
        set.0 = set.0.map(|bits| !bits);
    }
    for never in [0, b'/'] {
        set.0[usize::from(never >> 6)] &= !(1 << (never & 63));
    }
    Ok((set, at))
}

fn is_in_range(byte: u8, low: u8, high: u8, case: Case) -> bool {
    let range = low..=high;
    match case {
        Case::Sensitive => range.contains(&byte),
        Case::Insensitive => range.contains(&byte) || range.contains(&byte.to_ascii_uppercase()),
    }
}

fn add_named(set: &mut ByteSet, name: &[u8], case: Case) -> Result<(), Fault> {
    let is_member: fn(u8) -> bool = match name {
        b"alnum" => |b| b.is_ascii_alphanumeric(),
        b"alpha" => |b| b.is_ascii_alphabetic(),
        b"blank" => |b| matches!(b, b' ' | b'\t'),
        b"cntrl" => |b| b.is_ascii_control(),
        b"digit" => |b| b.is_ascii_digit(),
        b"graph" => |b| b.is_ascii_graphic(),
        b"lower" => |b| b.is_ascii_lowercase(),
        b"print" => |b| matches!(b, 0x20..=0x7e),
        b"punct" => |b| b.is_ascii_punctuation(),
        // Git's own `isspace` knows no vertical tab and no form feed.
        b"space" => |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => match case {
            Case::Sensitive => |b| b.is_ascii_uppercase(),
            Case::Insensitive => |b| b.is_ascii_alphabetic(),
        },
        b"xdigit" => |b| b.is_ascii_hexdigit(),
        unknown => {
            return Err(Fault::UnknownClass(
                String::from_utf8_lossy(unknown).into_owned(),
            ));
        }
    };
    set.add_where(is_member);
    Ok(())
}

/// Whether no byte at all is in the class as it is written, whatever the case rule.
pub(super) fn is_empty(set: &ByteSet) -> bool {
    set.0 == [0; 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str, case: Case) -> String {
        let (set, length) = parse(text.as_bytes(), case).expect("the class is closed");
        assert_eq!(length, text.len(), "{text} is taken whole");
        (0x20..0x7f)
            .filter(|b| set.contains(*b))
            .map(char::from)
            .collect()
    }

    #[test]
    fn members_are_those_of_git() {
        for (text, expected) in [
            ("abc]", "abc"),
            ("a-c]", "abc"),
            ("]]", "]"),
            ("]-a]", "]^_`a"),
            ("a-]", "-a"),
            ("-a]", "-a"),
            ("c-a]", "c"),
            (r"\]]", "]"),
            (r"a-\c]", "abc"),
            ("[:digit:]x]", "0123456789x"),
            ("[:x]", ":[x"),
            ("[:]", ":["),
            ("a/b]", "ab"),
        ] {
            assert_eq!(members(text, Case::Sensitive), expected, "[{text}");
        }
        assert_eq!(members("!a]", Case::Sensitive).len(), 93, "all but / and a");
    }

    #[test]
    fn git_folds_ranges_but_not_single_members() {
        assert!(members("A]", Case::Insensitive).eq("A"));
        assert!(members("A-C]", Case::Insensitive).contains("abc"));
        assert!(members("[:upper:]]", Case::Insensitive).contains("abc"));
    }

    #[test]
    fn a_class_that_git_would_never_match_is_refused() {
        for text in ["", "a", "]", "!]", "a-", r"a\", r"\]", "[:alpha:]", "[:"] {
            let fault = parse(text.as_bytes(), Case::Sensitive);
            assert_eq!(fault, Err(Fault::OpenClass), "[{text}");
        }
        let fault = parse(b"[:word:]]", Case::Sensitive);
        assert_eq!(fault, Err(Fault::UnknownClass("word".into())));
    }
}
