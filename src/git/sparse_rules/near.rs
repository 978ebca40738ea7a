//! Holds [`Near`], which finds the lines that can match a path without asking each of them.
//!
//! Each line stands under one thing that a path must have to be matched by it, as wildmatch takes
//! text before the first wildcard as it is, and `**/` for whole directories (gitignore(5), "PATTERN
//! FORMAT"): its last component or how that ends, the whole path, or a directory that it is in. A
//! line with nothing of that is asked everywhere.

use std::collections::HashMap;
use std::rc::Rc;

use bstr::{BStr, ByteSlice};
use gix_glob::Pattern;
use gix_glob::pattern::Mode;

/// Names a line by its place in the file.
pub(super) type Line = u32;

type Table = HashMap<Box<[u8]>, Vec<Line>>;

/// Represents the lines by what a path must have for them.
#[derive(Default)]
pub(super) struct Near {
    everywhere: Vec<Line>,
    /// By the whole path.
    paths: Table,
    /// By the last component.
    names: Table,
    /// By how the last component ends.
    endings: Endings,
    /// By the path of a directory that it is in.
    below: Table,
    /// By the last component of a directory that it is in.
    in_named: Table,
    /// By how that ends.
    in_ending: Endings,
}

/// Holds what is found by an ending, one table for each length.
#[derive(Default)]
struct Endings(Vec<(usize, Table)>);

/// Says what a path must have.
enum Needs<'p> {
    Nothing,
    Path(&'p [u8]),
    Name(&'p [u8]),
    Ending(&'p [u8]),
    Below(&'p [u8]),
    InNamed(&'p [u8]),
    InEnding(&'p [u8]),
}

impl Near {
    /// Sorts the lines.
    pub fn new(lines: &[Pattern]) -> Self {
        let mut near = Self::default();
        for (line, pattern) in (0..).zip(lines) {
            let all = match needs(pattern) {
                Needs::Nothing => &mut near.everywhere,
                Needs::Path(path) => near.paths.entry(path.into()).or_default(),
                Needs::Name(name) => near.names.entry(name.into()).or_default(),
                Needs::Ending(ending) => near.endings.of(ending),
                Needs::Below(path) => near.below.entry(path.into()).or_default(),
                Needs::InNamed(name) => near.in_named.entry(name.into()).or_default(),
                Needs::InEnding(ending) => near.in_ending.of(ending),
            };
            all.push(line);
        }
        near
    }

    /// The lines that need nothing, sorted.
    pub fn everywhere(&self) -> Rc<[Line]> {
        self.everywhere.as_slice().into()
    }

    /// The lines that can match what is inside of a directory because it is in there, sorted; those
    /// of the one above are given.
    pub fn inside(&self, directory: &BStr, above: Rc<[Line]>) -> Rc<[Line]> {
        let name = name_of(directory);
        let below = self.below.get(directory.as_bytes());
        let named = self.in_named.get(name);
        let mut more: Vec<Line> = below.into_iter().chain(named).flatten().copied().collect();
        self.in_ending.find(name, |line| more.push(line));
        if more.is_empty() {
            return above;
        }
        more.extend_from_slice(&above);
        more.sort_unstable();
        more.dedup();
        more.into()
    }

    /// Tells of the lines that can match a path by its own name, in no order.
    pub fn named(&self, path: &BStr, mut tell: impl FnMut(Line)) {
        let name = name_of(path);
        let (at, named) = (self.paths.get(path.as_bytes()), self.names.get(name));
        let all = at.into_iter().chain(named).flatten();
        all.for_each(|line| tell(*line));
        self.endings.find(name, tell);
    }
}

impl Endings {
    fn of(&mut self, ending: &[u8]) -> &mut Vec<Line> {
        let length = ending.len();
        let known = self.0.iter().position(|(known, _)| *known == length);
        let at = known.unwrap_or_else(|| {
            self.0.push((length, Table::default()));
            self.0.len() - 1
        });
        self.0[at].1.entry(ending.into()).or_default()
    }

    fn find(&self, name: &[u8], mut tell: impl FnMut(Line)) {
        for (length, table) in &self.0 {
            let ending = name.len().checked_sub(*length).map(|from| &name[from..]);
            let found = ending.and_then(|ending| table.get(ending));
            found.into_iter().flatten().for_each(|line| tell(*line));
        }
    }
}

fn name_of(path: &BStr) -> &[u8] {
    path.rfind_byte(b'/')
        .map_or(path, |at| path[at + 1..].as_bstr())
}

/// What a path must have to be matched; whether it is enough is not asked here.
fn needs(pattern: &Pattern) -> Needs<'_> {
    let text: &[u8] = &pattern.text;
    let is_name = pattern.mode.contains(Mode::NO_SUB_DIR) && !pattern.mode.contains(Mode::ABSOLUTE);
    let Some(wildcard) = pattern.first_wildcard_pos else {
        return if is_name {
            Needs::Name(text)
        } else {
            Needs::Path(text)
        };
    };
    if is_name {
        return match text.strip_prefix(b"*") {
            Some(ending) if is_plain(ending) => Needs::Ending(ending),
            Some(_) | None => Needs::Nothing,
        };
    }
    if let Some(slash) = text[..wildcard].rfind_byte(b'/') {
        return Needs::Below(&text[..slash]);
    }
    let Some(rest) = text.strip_prefix(b"**/") else {
        return Needs::Nothing;
    };
    let (part, is_last) = match rest.find_byte(b'/') {
        Some(slash) => (&rest[..slash], false),
        None => (rest, true),
    };
    let (part, ends) = match part.strip_prefix(b"*") {
        Some(ending) => (ending, true),
        None => (part, false),
    };
    match (is_plain(part), ends, is_last) {
        (false, _, _) => Needs::Nothing,
        (true, false, true) => Needs::Name(part),
        (true, true, true) => Needs::Ending(part),
        (true, false, false) => Needs::InNamed(part),
        (true, true, false) => Needs::InEnding(part),
    }
}

/// Whether it means itself and nothing else.
fn is_plain(text: &[u8]) -> bool {
    text.find_byteset(br"*?[\").is_none()
}
