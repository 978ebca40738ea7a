//! Reads a glob into tokens and expands its braces, as globset reads them.
//!
//! It is given globs that globset accepts. Every special character is ASCII, so bytes are read.

use super::fault::{MOST_ALTERNATIVES, PatternFault};

/// Represents one token of a glob without braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This byte.
    Byte(u8),
    /// `?`.
    Any,
    /// `*`.
    Star,
    /// A `[…]`, by its place in the list of them.
    Class(usize),
}

/// Represents a `[…]`: ASCII characters, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// As it is written.
    pub text: String,
    /// Whether it begins with `!` or `^`.
    pub negated: bool,
    /// What is in it.
    pub set: u128,
}

impl Class {
    /// Whether a byte of a name is in it; ASCII letters fold if `fold` says so.
    pub fn has(&self, byte: u8, fold: bool) -> bool {
        let bit = |byte: u8| byte.is_ascii() && self.set & (1 << byte) != 0;
        let inside =
            bit(byte) || fold && (bit(byte.to_ascii_lowercase()) || bit(byte.to_ascii_uppercase()));
        inside != self.negated
    }

    /// The only byte that it stands for.
    fn only(&self) -> Option<u8> {
        let one = !self.negated && self.set.is_power_of_two();
        one.then(|| u8::try_from(self.set.trailing_zeros()).unwrap_or_default())
    }
}

/// Holds what the braces of a glob stand for.
pub(super) struct Expanded {
    /// Each as tokens.
    pub alternatives: Vec<Vec<Token>>,
    /// The `[…]` of all.
    pub classes: Vec<Class>,
}

/// One open brace: the alternatives that are finished, and the one that is read, which braces in
/// it may have made several.
struct Frame {
    finished: Vec<Vec<Token>>,
    reading: Vec<Vec<Token>>,
}

impl Frame {
    fn new() -> Self {
        Self {
            finished: Vec::new(),
            reading: vec![Vec::new()],
        }
    }

    fn push(&mut self, token: Token) {
        for tokens in &mut self.reading {
            tokens.push(token);
        }
    }

    fn end(mut self) -> Vec<Vec<Token>> {
        self.finished.append(&mut self.reading);
        self.finished
    }
}

/// Expands the braces of a glob that globset accepts.
pub(super) fn expand(glob: &str) -> Result<Expanded, PatternFault> {
    let mut classes = Vec::new();
    let mut outer = Vec::new();
    let mut frame = Frame::new();
    let mut bytes = glob.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => frame.push(Token::Byte(bytes.next().unwrap_or(b'\\'))),
            b'?' => frame.push(Token::Any),
            b'*' => frame.push(Token::Star),
            b'[' => {
                let class = read_class(&mut bytes)?;
                if let Some(only) = class.only() {
                    frame.push(Token::Byte(only));
                } else {
                    frame.push(Token::Class(classes.len()));
                    classes.push(class);
                }
            }
            b'{' => outer.push(std::mem::replace(&mut frame, Frame::new())),
            b',' if !outer.is_empty() => {
                let finished = std::mem::replace(&mut frame.reading, vec![Vec::new()]);
                frame.finished.extend(finished);
            }
            b'}' if !outer.is_empty() => {
                let Some(above) = outer.pop() else { continue };
                let inner = std::mem::replace(&mut frame, above).end();
                frame.reading = joined(&frame.reading, &inner)?;
            }
            other => frame.push(Token::Byte(other)),
        }
    }
    Ok(Expanded {
        alternatives: frame.end(),
        classes,
    })
}

/// Every one of the first followed by every one of the second.
fn joined(first: &[Vec<Token>], second: &[Vec<Token>]) -> Result<Vec<Vec<Token>>, PatternFault> {
    if first.len().saturating_mul(second.len()) > MOST_ALTERNATIVES {
        return Err(PatternFault::Alternatives);
    }
    let each = |one: &Vec<Token>| {
        let one = one.clone();
        second.iter().map(move |two| [&one[..], two].concat())
    };
    Ok(first.iter().flat_map(each).collect())
}

/// Reads a `[…]` after its bracket, as globset does: `]` and `-` stand for themselves in the
/// first place, nothing escapes.
fn read_class(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> Result<Class, PatternFault> {
    let mut text = String::from("[");
    let negated = matches!(bytes.peek(), Some(b'!' | b'^'));
    if negated {
        bytes.next();
        text.push('!');
    }
    let mut set = 0;
    let (mut first, mut in_range, mut last) = (true, false, 0);
    for byte in bytes {
        if byte == b'/' {
            return Err(PatternFault::SlashInClass);
        }
        if !byte.is_ascii() {
            return Err(PatternFault::ClassBeyondAscii);
        }
        text.push(char::from(byte));
        match byte {
            b']' if !first => break,
            b'-' if !first && !in_range => in_range = true,
            _ => {
                let from = if in_range { last } else { byte };
                set |= (from..=byte).fold(0, |set: u128, byte| set | 1 << byte);
                in_range = false;
                last = byte;
            }
        }
        first = false;
    }
    if in_range {
        set |= 1 << b'-';
    }
    Ok(Class { text, negated, set })
}
