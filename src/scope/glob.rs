//! Holds `Glob`, the body of a pattern, matched against text byte by byte as git does, and the
//! bracket expressions in it.
//!
//! It knows no anchors, no directories and no lists: that is `Pattern`. It follows git's
//! `wildmatch.c` with `WM_PATHNAME`. It is our own and not `gix-glob`'s because that one (0.29.1)
//! was measured to differ from git under `core.ignoreCase` (it folds class members and escaped
//! letters, which git does not) and gives up, silently as "no match", beyond 64 nested stars; for
//! an exclude rule that is the wrong side. Here a pattern is parsed once into tokens and matched
//! without recursion: at most two places are kept to come back to.

use bstr::{ByteSlice, Finder};

use crate::scope::fault::PatternFault;
use crate::scope::rule::Case;

/// One step of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Exactly this byte.
    Byte(u8),
    /// `?`: any byte but `/`.
    Any,
    /// `[…]`: one byte of the set.
    Class(ByteSet),
    /// `*`, and every run of stars that is not a whole component: any bytes but `/`.
    Star,
    /// `**/` as a whole component: nothing, or any bytes that end with `/`.
    Directories,
    /// `**` as the last component: any bytes.
    Everything,
}

/// The parsed body of a pattern, without its leading and trailing `/`.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    /// The steps, for those who judge or render the pattern.
    pub(super) tokens: Vec<Token>,
    /// The literal bytes that it begins with.
    pub(super) prefix: Vec<u8>,
    /// The literal bytes that it ends with.
    pub(super) suffix: Vec<u8>,
    /// The longest run of literal bytes between: looked for before anything is tried.
    middle: Option<Finder<'static>>,
    /// The directory that every match has in its path, for `**/directory/…`.
    pub(super) floating: Option<Vec<u8>>,
}

impl Glob {
    /// Parses a body. For [`Case::Insensitive`] it answers for text that is already lower case.
    pub(super) fn parse(body: &[u8], case: Case) -> Result<Self, PatternFault> {
        let mut tokens = Vec::with_capacity(body.len());
        let mut at = 0;
        while let Some(byte) = body.get(at) {
            match byte {
                b'?' => {
                    tokens.push(Token::Any);
                    at += 1;
                }
                b'*' => {
                    let (stars, length) = star(body, at);
                    tokens.extend_from_slice(stars);
                    at += length;
                }
                b'[' => {
                    let (set, length) = parse_class(&body[at + 1..], case)?;
                    tokens.push(Token::Class(set));
                    at += 1 + length;
                }
                b'\\' => {
                    let escaped = body.get(at + 1).ok_or(PatternFault::LoneBackslash)?;
                    // Not folded, as in git: under `core.ignoreCase` the text is lower case, so
                    // that `\F` never matches.
                    tokens.push(Token::Byte(*escaped));
                    at += 2;
                }
                literal => {
                    tokens.push(Token::Byte(match case {
                        Case::Sensitive => *literal,
                        Case::Insensitive => literal.to_ascii_lowercase(),
                    }));
                    at += 1;
                }
            }
        }
        Ok(Self::new(tokens))
    }

    /// Finds the literal parts of the tokens.
    fn new(tokens: Vec<Token>) -> Self {
        let prefix: Vec<u8> = tokens.iter().map_while(literal).collect();
        let mut suffix: Vec<u8> = tokens.iter().rev().map_while(literal).collect();
        suffix.reverse();
        let literal_runs = tokens.split(|token| literal(token).is_none());
        let longest_run = literal_runs.max_by_key(|run| run.len()).unwrap_or_default();
        let mut middle = None;
        if longest_run.len() > prefix.len().max(suffix.len()) {
            let bytes: Vec<u8> = longest_run.iter().filter_map(literal).collect();
            middle = Some(Finder::new(&bytes).into_owned());
        }
        Self {
            floating: floating(&tokens),
            tokens,
            prefix,
            suffix,
            middle,
        }
    }

    /// A text that it matches, with `filler` where any bytes may be.
    pub(super) fn example(&self, filler: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for token in &self.tokens {
            match token {
                Token::Byte(byte) => text.push(*byte),
                Token::Any => text.extend(filler.first()),
                Token::Class(set) => text.extend((b' '..=u8::MAX).find(|b| is_in(set, *b))),
                Token::Star | Token::Everything => text.extend_from_slice(filler),
                Token::Directories => {}
            }
        }
        text
    }

    /// True if the pattern matches all of the text.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        if self.prefix.len() == self.tokens.len() {
            return self.prefix.len() == text.len() && begins_with(&self.prefix, text);
        }
        let Some(rest) = text.len().checked_sub(self.suffix.len()) else {
            return false;
        };
        // The suffix first, because neighbours often begin alike.
        self.prefix.len() <= rest
            && begins_with(&self.suffix, &text[rest..])
            && begins_with(&self.prefix, text)
            && (self.middle.as_ref()).is_none_or(|middle| middle.find(text).is_some())
            && self.matches_from(text, self.prefix.len())
    }

    /// Matches the tokens after the literal prefix, which has `start` tokens and bytes. `*` cannot
    /// cross `/` and every `**` stands between slashes, so the last `*` and the last `**` are all
    /// there is to come back to: what an earlier one would take instead, the later `**` can take as
    /// well.
    fn matches_from(&self, text: &[u8], start: usize) -> bool {
        let mut token = start;
        let mut at = start;
        let mut star: Option<Resume> = None;
        let mut directories: Option<Resume> = None;
        loop {
            let is_match = match self.tokens.get(token) {
                None if at == text.len() => return true,
                None => false,
                Some(Token::Everything) => return true,
                Some(Token::Star) => {
                    token += 1;
                    star = Some(Resume { token, at });
                    continue;
                }
                Some(Token::Directories) => {
                    star = None;
                    token += 1;
                    directories = Some(Resume { token, at });
                    continue;
                }
                Some(Token::Byte(byte)) => text.get(at) == Some(byte),
                Some(Token::Any) => text.get(at).is_some_and(|b| *b != b'/'),
                Some(Token::Class(set)) => text.get(at).is_some_and(|b| is_in(set, *b)),
            };
            if is_match {
                token += 1;
                at += 1;
                continue;
            }
            star = star.and_then(|resume| resume.with_one_byte_more(text));
            if star.is_none() {
                directories = directories.and_then(|resume| resume.with_one_directory_more(text));
            }
            let Some(resume) = star.or(directories) else {
                return false;
            };
            token = resume.token;
            at = resume.at;
        }
    }
}

/// Where matching can be taken up again: at this token, with this much text consumed.
#[derive(Clone, Copy)]
struct Resume {
    token: usize,
    at: usize,
}

impl Resume {
    /// The same with one byte more for `*`; none if that is a slash, or the text has ended.
    fn with_one_byte_more(self, text: &[u8]) -> Option<Self> {
        let byte = text.get(self.at)?;
        if *byte == b'/' {
            return None;
        }
        Some(Self {
            token: self.token,
            at: self.at + 1,
        })
    }

    /// The same with one directory more for `**`; none if no slash follows.
    fn with_one_directory_more(self, text: &[u8]) -> Option<Self> {
        let slash = text[self.at..].find_byte(b'/')?;
        Some(Self {
            token: self.token,
            at: self.at + slash + 1,
        })
    }
}

/// True if the text begins with a literal. Most differ in the first byte or two, for which a call
/// of `memcmp` was measured to cost ten times as much.
fn begins_with(literal: &[u8], text: &[u8]) -> bool {
    literal.iter().zip(text).all(|(a, b)| a == b)
}

/// Returns the directory that every match has in its path, for `**/directory/…`.
fn floating(tokens: &[Token]) -> Option<Vec<u8>> {
    let [Token::Directories, rest @ ..] = tokens else {
        return None;
    };
    let name: Vec<u8> = rest.iter().map_while(literal).collect();
    let end = name.find_byte(b'/')?;
    Some(name[..end].to_vec())
}

/// Returns the byte of a token that is one.
pub(super) fn literal(token: &Token) -> Option<u8> {
    match token {
        Token::Byte(byte) => Some(*byte),
        Token::Any | Token::Class(_) | Token::Star | Token::Directories | Token::Everything => None,
    }
}

/// Reads the run of stars at `at`: its tokens and its length. Two stars or more are `**` only as a
/// whole component (gitignore(5): "other consecutive asterisks are considered regular asterisks").
fn star(body: &[u8], at: usize) -> (&'static [Token], usize) {
    // `**\/`: git lets the stars cross directories here too, but not stand for none.
    const ONE_OR_MORE: &[Token] = &[Token::Star, Token::Byte(b'/'), Token::Directories];
    let run = body[at..].iter().take_while(|b| **b == b'*').count();
    let starts_component = at == 0 || body[at - 1] == b'/';
    let rest = &body[at + run..];
    if run == 1 || !starts_component {
        (&[Token::Star], run)
    } else if rest.is_empty() {
        (&[Token::Everything], run)
    } else if rest.starts_with(b"/") {
        (&[Token::Directories], run + 1)
    } else if rest.starts_with(br"\/") {
        (ONE_OR_MORE, run + 2)
    } else {
        (&[Token::Star], run)
    }
}

/// A set of bytes.
pub(super) type ByteSet = Box<[bool; 256]>;

fn is_in(set: &ByteSet, byte: u8) -> bool {
    set[usize::from(byte)]
}

/// Adds the bytes that are members.
fn add_where(set: &mut ByteSet, is_member: impl Fn(u8) -> bool) {
    for (byte, is_in) in (0..=u8::MAX).zip(set.iter_mut()) {
        *is_in |= is_member(byte);
    }
}

/// Parses the bracket expression that begins after the `[` at the start of `text`. Returns its set
/// and how many bytes of `text` it took, with the closing `]`. `/` and NUL are never in the set:
/// git's `*`, `?` and classes do not cross a directory.
///
/// The rules are those of git's `wildmatch.c` (2.47), which are not POSIX's: a class works on
/// bytes, `^` negates as `!` does, and under `core.ignoreCase` a single upper-case member (`[A]`)
/// matches nothing at all, because git folds the text and not the member, while ranges and
/// `[:upper:]` do fold. For [`Case::Insensitive`] the set answers for text that is already lower
/// case.
pub(super) fn parse_class(text: &[u8], case: Case) -> Result<(ByteSet, usize), PatternFault> {
    let mut set: ByteSet = Box::new([false; 256]);
    let is_negated = matches!(text.first(), Some(b'!' | b'^'));
    let start = usize::from(is_negated);
    let mut class = ClassText { text, at: start };
    // what a following `-` makes the start of a range
    let mut previous = None;
    loop {
        let is_first = class.at == start;
        let byte = class.byte()?;
        if byte == b']' && !is_first {
            break;
        }
        if let Some(low) = previous
            && byte == b'-'
            && class.peek() != Some(b']')
        {
            if class.peek() == Some(b'\\') {
                class.at += 1;
            }
            let high = class.byte()?;
            add_where(&mut set, |b| is_in_range(b, low, high, case));
            previous = None;
            continue;
        }
        if byte == b'['
            && let Some(name) = class.name()?
        {
            add_named(&mut set, name, case)?;
            previous = None;
            continue;
        }
        let member = if byte == b'\\' { class.byte()? } else { byte };
        set[usize::from(member)] = true;
        previous = Some(member);
    }
    if is_negated {
        set.iter_mut().for_each(|is_in| *is_in = !*is_in);
    }
    for never in [0, b'/'] {
        set[usize::from(never)] = false;
    }
    Ok((set, class.at))
}

/// A bracket expression that is being read.
struct ClassText<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> ClassText<'t> {
    /// The byte that is read next.
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads one byte.
    fn byte(&mut self) -> Result<u8, PatternFault> {
        let byte = self.peek().ok_or(PatternFault::OpenClass)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads the rest of `[:name:]`, of which `[` was read. None if there is no `:]`: git takes
    /// the `[` as an ordinary member.
    fn name(&mut self) -> Result<Option<&'t [u8]>, PatternFault> {
        let Some(rest) = self.text[self.at..].strip_prefix(b":") else {
            return Ok(None);
        };
        let end = rest.find_byte(b']').ok_or(PatternFault::OpenClass)?;
        let Some(name) = rest[..end].strip_suffix(b":") else {
            return Ok(None);
        };
        self.at += end + 2;
        Ok(Some(name))
    }
}

/// True if a range of a bracket expression has a byte.
fn is_in_range(byte: u8, low: u8, high: u8, case: Case) -> bool {
    let range = low..=high;
    match case {
        Case::Sensitive => range.contains(&byte),
        Case::Insensitive => range.contains(&byte) || range.contains(&byte.to_ascii_uppercase()),
    }
}

/// Adds the bytes of a named class, such as `alpha`.
fn add_named(set: &mut ByteSet, name: &[u8], case: Case) -> Result<(), PatternFault> {
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
        _ => return Err(PatternFault::BadClass),
    };
    add_where(set, is_member);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(body: &str, text: &str) -> bool {
        let glob = Glob::parse(body.as_bytes(), Case::Sensitive).expect("the body is valid");
        glob.matches(text.as_bytes())
    }

    #[test]
    fn stars_stop_at_slashes_and_double_stars_do_not() {
        for (body, yes, no) in [
            ("a*c", &["ac", "abc", "abcc"][..], &["a/c", "ab", "bc"][..]),
            ("a?c", &["abc"], &["a/c", "ac"]),
            ("a/*", &["a/b"], &["a/b/c", "a"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "ab"]),
            ("a/**/c", &["a/c", "a/b/c", "a/b/b/c"], &["a/bc", "ac"]),
            ("**/c", &["c", "a/c", "a/b/c"], &["ac", "c/d"]),
            ("**/a/**/b*c", &["a/bc", "x/a/y/a/bxc"], &["a/b/c", "a/bcd"]),
            ("**/*b/c", &["b/c", "xx/yb/c"], &["b/x/c"]),
            ("a**/c", &["ab/c", "a/c"], &["a/b/c", "ac"]),
            ("a/**c", &["a/c", "a/bc"], &["a/b/c"]),
            ("*/c", &["a/c"], &["c", "a/b/c"]),
            ("*a*b*/**/x", &["ab/x", "0a1b2/y/x"], &["a/b/x", "ba/x"]),
            ("?[!b]", &["ac"], &["ab", "a/", "a"]),
            (r"\*\a", &["*a"], &["xa"]),
            (r"a/**\/c", &["a/b/c", "a/b/b/c"], &["a/c"]),
            (r"a/***\/c", &["a/b/c"], &["a/c"]),
        ] {
            for text in yes {
                assert!(matches(body, text), "{body} matches {text}");
            }
            for text in no {
                assert!(!matches(body, text), "{body} does not match {text}");
            }
        }
    }

    #[test]
    fn many_stars_neither_give_up_nor_take_long() {
        let body = "*a".repeat(200);
        assert!(matches(&body, &"xa".repeat(200)));
        assert!(!matches(&body, &"xa".repeat(199)));
        assert!(!matches(&"**/a*".repeat(40), &"ab/".repeat(2000)));
    }

    fn class_members(text: &str, case: Case) -> String {
        let (set, length) = parse_class(text.as_bytes(), case).expect("the class is closed");
        assert_eq!(length, text.len(), "{text} is taken whole");
        (0x20..0x7f)
            .filter(|b| is_in(&set, *b))
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
            ("a:digit:]", ":adgit"),
            ("[:]", ":["),
            ("a/b]", "ab"),
        ] {
            assert_eq!(class_members(text, Case::Sensitive), expected, "[{text}");
        }
        assert_eq!(
            class_members("!a]", Case::Sensitive).len(),
            93,
            "all but / and a"
        );
    }

    #[test]
    fn git_folds_ranges_but_not_single_class_members() {
        assert!(class_members("A]", Case::Insensitive).eq("A"));
        assert!(class_members("A-C]", Case::Insensitive).contains("abc"));
        assert_eq!(class_members("a-c]", Case::Insensitive), "abc");
        assert!(class_members("[:upper:]]", Case::Insensitive).contains("abc"));
    }

    #[test]
    fn a_class_that_git_would_never_match_is_refused() {
        for text in ["", "a", "]", "!]", "a-", r"a\", r"\]", "[:alpha:]", "[:"] {
            let fault = parse_class(text.as_bytes(), Case::Sensitive);
            assert_eq!(fault, Err(PatternFault::OpenClass), "[{text}");
        }
        let fault = parse_class(b"[:word:]]", Case::Sensitive);
        assert_eq!(fault, Err(PatternFault::BadClass));
    }
}
