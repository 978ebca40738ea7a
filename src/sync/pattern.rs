//! Holds [`Pattern`]: a glob that selects files to sync, checked and taken apart.
//!
//! It is a globset glob relative to the repository's root, in which `*` does not match `/` and
//! does match a leading dot. A trailing `/` means directories only, and what matches a directory
//! selects everything in it.
//!
//! ```
//! use git_agentwt::sync::{Need, Pattern, PatternFault, PatternOrigin};
//! let parse = |glob| Pattern::parse(glob, PatternOrigin::Flag("--sync"), Need::Required);
//! assert_eq!(parse("config/*.json").expect("it is fine").text(), "config/*.json");
//! assert_eq!(parse("config/{a,..}/x"), Err(PatternFault::Parent));
//! ```

use std::sync::Arc;

use globset::{Glob, GlobBuilder};

use super::braces::{Class, Token, expand};
use super::component::Component;
use super::fault::{MOST_BYTES, PatternFault};
use super::{Need, PatternOrigin};
use crate::scope::Case;

/// What is always synced: the untracked files of the memory bank.
const MEMORY_BANK: &str = ".agentwt/memory/**";

/// Represents a glob that selects files to sync. It can match nothing outside the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    origin: PatternOrigin,
    need: Need,
    alternatives: Arc<[Alternative]>,
}

/// Represents one of the patterns that the braces of a pattern stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alternative {
    /// A glob without braces and without a `/` at its end.
    pub glob: String,
    /// Its components.
    pub components: Vec<Component>,
    /// Whether it selects directories only.
    pub directories_only: bool,
}

impl Pattern {
    /// Checks a glob and takes it apart.
    ///
    /// # Errors
    /// Says what is wrong with it; nothing is read for that.
    pub fn parse(glob: &str, origin: PatternOrigin, need: Need) -> Result<Self, PatternFault> {
        check_text(glob)?;
        build(glob, Case::Sensitive)
            .map_err(|error| PatternFault::Glob(error.kind().to_string()))?;
        let expanded = expand(glob)?;
        let mut alternatives: Vec<Alternative> = Vec::new();
        for tokens in &expanded.alternatives {
            let alternative = Alternative::new(tokens, &expanded.classes)?;
            if !alternatives.contains(&alternative) {
                alternatives.push(alternative);
            }
        }
        Ok(Self {
            text: glob.to_owned(),
            origin,
            need,
            alternatives: alternatives.into(),
        })
    }

    /// What is always synced, and may be absent.
    #[must_use]
    pub fn memory_bank() -> Self {
        Self::parse(MEMORY_BANK, PatternOrigin::BuiltIn, Need::Optional)
            .expect("because a test parses it")
    }

    /// The glob as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who wrote it.
    #[must_use]
    pub const fn origin(&self) -> &PatternOrigin {
        &self.origin
    }

    /// What it means that it selects nothing.
    #[must_use]
    pub const fn need(&self) -> Need {
        self.need
    }

    pub(super) fn alternatives(&self) -> &[Alternative] {
        &self.alternatives
    }
}

/// Builds a glob as all of ours are meant.
pub(super) fn build(glob: &str, case: Case) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .case_insensitive(case == Case::Insensitive)
        .build()
}

/// Refuses what needs no reading of the glob.
fn check_text(glob: &str) -> Result<(), PatternFault> {
    if glob.contains('\0') {
        return Err(PatternFault::Nul);
    }
    if glob.len() > MOST_BYTES {
        return Err(PatternFault::Long(glob.len()));
    }
    match glob.bytes().next() {
        None => Err(PatternFault::Empty),
        Some(b'!') => Err(PatternFault::Negation),
        Some(_) => Ok(()),
    }
}

impl Alternative {
    fn new(tokens: &[Token], classes: &[Class]) -> Result<Self, PatternFault> {
        let slash = Token::Byte(b'/');
        match tokens.first() {
            None => return Err(PatternFault::Empty),
            Some(first) if *first == slash => return Err(PatternFault::Absolute),
            Some(Token::Byte(b'~')) => return Err(PatternFault::Home),
            Some(_) => {}
        }
        let (tokens, directories_only) = match tokens {
            [rest @ .., last] if *last == slash => (rest, true),
            all => (all, false),
        };
        let mut components: Vec<Component> = Vec::new();
        for tokens in tokens.split(|token| *token == slash) {
            let component = Component::new(tokens, classes);
            // `**/**` is `**`
            if component != Component::AnyNumber || components.last() != Some(&component) {
                components.push(component);
            }
        }
        check_components(&components)?;
        Ok(Self {
            glob: glob_of(tokens, classes),
            components,
            directories_only,
        })
    }

    /// How many directories at its beginning are named outright.
    pub fn literal_directories(&self) -> usize {
        let (_, directories) = self
            .components
            .split_last()
            .unwrap_or((&Component::AnyNumber, &[]));
        let literal = |component: &&Component| matches!(component, Component::Literal(_));
        directories.iter().take_while(literal).count()
    }
}

fn check_components(components: &[Component]) -> Result<(), PatternFault> {
    for component in components {
        let Component::Literal(name) = component else {
            continue;
        };
        match name.as_slice() {
            b"" => return Err(PatternFault::EmptyComponent),
            b"." => return Err(PatternFault::Current),
            b".." => return Err(PatternFault::Parent),
            name if name.eq_ignore_ascii_case(b".git") => return Err(PatternFault::Git),
            _ => {}
        }
    }
    match components {
        [Component::Literal(first), Component::Literal(second), ..]
            if first == b".agentwt" && second != b"memory" =>
        {
            Err(PatternFault::Agentwt)
        }
        _ => Ok(()),
    }
}

/// Writes tokens as a glob again.
fn glob_of(tokens: &[Token], classes: &[Class]) -> String {
    let mut glob = Vec::with_capacity(tokens.len());
    let mut components = tokens.split(|token| *token == Token::Byte(b'/')).peekable();
    while let Some(component) = components.next() {
        for (at, token) in component.iter().enumerate() {
            match token {
                Token::Byte(byte) => {
                    if b"*?[]{},\\!".contains(byte) {
                        glob.push(b'\\');
                    }
                    glob.push(*byte);
                }
                Token::Any => glob.push(b'?'),
                // `a**` is `a*`
                Token::Star if component.len() != 2 && at > 0 && component[at - 1] == *token => {}
                Token::Star => glob.push(b'*'),
                Token::Class(at) => glob.extend(classes.get(*at).map_or("", |c| &c.text).bytes()),
            }
        }
        if components.peek().is_some() {
            glob.push(b'/');
        }
    }
    String::from_utf8_lossy(&glob).into_owned()
}
