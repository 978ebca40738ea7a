//! Holds [`Component`]: what one name on the way to a file must be.
//!
//! It tells the walk where something can match at all. What matches in the end is globset's to
//! say, of the whole path; this agrees with it.

use super::braces::{Class, Token};

/// Represents one component of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Component {
    /// This name.
    Literal(Vec<u8>),
    /// A name that these parts match.
    Glob(Vec<Part>),
    /// `**`: any number of names.
    AnyNumber,
}

/// Represents one part of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// This byte.
    Byte(u8),
    /// `?`.
    Any,
    /// `*`.
    Star,
    /// `[…]`.
    Class(Class),
}

impl Component {
    /// Takes the tokens between two slashes.
    pub fn new(tokens: &[Token], classes: &[Class]) -> Self {
        if tokens == [Token::Star, Token::Star] {
            return Self::AnyNumber;
        }
        let byte = |token: &Token| match token {
            Token::Byte(byte) => Some(*byte),
            Token::Any | Token::Star | Token::Class(_) => None,
        };
        if let Some(name) = tokens.iter().map(byte).collect() {
            return Self::Literal(name);
        }
        let part = |token: &Token| match token {
            Token::Byte(byte) => Part::Byte(*byte),
            Token::Any => Part::Any,
            Token::Star => Part::Star,
            Token::Class(at) => classes.get(*at).cloned().map_or(Part::Any, Part::Class),
        };
        Self::Glob(tokens.iter().map(part).collect())
    }

    /// Whether a name matches; ASCII letters fold if `fold` says so.
    pub fn matches(&self, name: &[u8], fold: bool) -> bool {
        match self {
            Self::Literal(own) if fold => own.eq_ignore_ascii_case(name),
            Self::Literal(own) => own == name,
            Self::Glob(parts) => matches_parts(parts, name, fold),
            Self::AnyNumber => true,
        }
    }
}

/// Matches from the left; after a mismatch the last `*` takes one byte more.
fn matches_parts(parts: &[Part], name: &[u8], fold: bool) -> bool {
    let (mut part, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if part == parts.len() && at == name.len() {
            return true;
        }
        if parts.get(part) == Some(&Part::Star) {
            part += 1;
            star = Some((part, at));
            continue;
        }
        let one = parts.get(part).zip(name.get(at));
        if one.is_some_and(|(part, byte)| part.has(*byte, fold)) {
            part += 1;
            at += 1;
            continue;
        }
        match &mut star {
            Some((after, from)) if *from < name.len() => {
                *from += 1;
                (part, at) = (*after, *from);
            }
            Some(_) | None => return false,
        }
    }
}

impl Part {
    fn has(&self, byte: u8, fold: bool) -> bool {
        match self {
            Self::Byte(own) if fold => own.eq_ignore_ascii_case(&byte),
            Self::Byte(own) => *own == byte,
            Self::Any | Self::Star => true,
            Self::Class(class) => class.has(byte, fold),
        }
    }
}
