//! Holds [`Lookup`], which finds the patterns that match a path without asking each of them.
//!
//! Most patterns say one of few things: a name at any depth (`Makefile`, `*.pem`), one path
//! (`/package.json`), or all that is inside a directory (`docs/**`, `**/secrets/**`). Those are found
//! by a hash of the name, its ending, the path or the directory. Of the others, those that begin
//! with a directory (`src/**/*.rs`) are asked only inside of it. What is left is asked for every
//! path. The answers are those of [`Pattern::matches`]; a test holds both against each other.

use std::sync::Arc;

use foldhash::HashMap;

use super::EntryKind;
use super::descent::Level;
use super::glob::Token;
use super::pattern::{Anchor, Pattern, Target};

/// Names a pattern by its place among those that the lookup was made of.
pub(super) type Place = u32;

type Table = HashMap<Box<[u8]>, Vec<Place>>;

/// Represents many patterns, sorted by what they say.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    kinds: Vec<Target>,
    /// By the last component.
    names: HashMap<Box<[u8]>, Named>,
    /// A bit for each length that a name in `names` has, modulo their number.
    lengths: u64,
    /// By the length of the ending, the longest first.
    endings: Vec<(usize, Table)>,
    rooms: Rooms,
    root: Inside,
}

/// Holds the patterns that say a name.
#[derive(Clone, Debug, Default)]
struct Named {
    anywhere: Vec<Place>,
    /// With the whole path.
    at: Vec<(Box<[u8]>, Place)>,
}

/// Holds what applies inside of certain directories.
#[derive(Clone, Debug, Default)]
struct Rooms {
    /// By the path of the directory.
    at: HashMap<Box<[u8]>, Room>,
    /// By the last component of what the path of the directory ends with.
    floating: HashMap<Box<[u8]>, Floating>,
}

/// By all that the path of the directory ends with.
type Floating = Vec<(Box<[u8]>, Room)>;

/// Holds the patterns that apply inside of one directory.
#[derive(Clone, Debug, Default)]
struct Room {
    whole: Vec<Place>,
    ask: Vec<Place>,
}

/// Holds the patterns that apply inside of the current directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside {
    /// Those that match whatever is in it, at any depth.
    whole: Arc<[Place]>,
    /// Those that have to be asked.
    ask: Arc<[Place]>,
}

/// Says what a pattern is found by.
enum Shape<'t> {
    Name(Box<[u8]>),
    Ending(Box<[u8]>),
    Path(Box<[u8]>),
    Inside {
        directory: Directory,
        rest: &'t [Token],
    },
    Other,
}

/// Names a directory by its path, or by what its path ends with.
enum Directory {
    Root,
    At(Box<[u8]>),
    Floating(Box<[u8]>),
}

impl Lookup {
    /// Sorts the patterns.
    pub(super) fn new<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let mut lookup = Self::default();
        let mut root = Room::default();
        for (place, pattern) in (0..).zip(patterns) {
            lookup.kinds.push(pattern.target);
            lookup.insert(place, pattern, &mut root);
        }
        let longest_first = |ending: &(usize, Table)| std::cmp::Reverse(ending.0);
        lookup.endings.sort_unstable_by_key(longest_first);
        lookup.root = Inside::default().with(&root);
        lookup
    }

    fn insert(&mut self, place: Place, pattern: &Pattern, root: &mut Room) {
        match shape(pattern) {
            Shape::Name(name) => self.named(&name).anywhere.push(place),
            Shape::Path(path) => {
                let named = self.named(last_of(&path));
                named.at.push((path, place));
            }
            Shape::Ending(ending) => {
                let length = ending.len();
                let known = self.endings.iter().position(|(known, _)| *known == length);
                let at = known.unwrap_or_else(|| {
                    self.endings.push((length, Table::default()));
                    self.endings.len() - 1
                });
                self.endings[at].1.entry(ending).or_default().push(place);
            }
            Shape::Inside { directory, rest } => {
                let inside = match directory {
                    Directory::Root => root,
                    Directory::At(path) => self.rooms.at.entry(path).or_default(),
                    Directory::Floating(path) => self.rooms.floating(path),
                };
                // a pattern for directories does not match the files there
                if rest == [Token::Everything] && pattern.target == Target::Any {
                    inside.whole.push(place);
                } else {
                    inside.ask.push(place);
                }
            }
            Shape::Other => root.ask.push(place),
        }
    }

    fn named(&mut self, name: &[u8]) -> &mut Named {
        self.lengths |= bit(name);
        self.names.entry(name.into()).or_default()
    }

    /// What applies inside of the root.
    pub(super) fn root(&self) -> Inside {
        self.root.clone()
    }

    /// What applies inside of a directory, where `above` applies inside of the one above it.
    pub(super) fn enter(&self, above: &Inside, directory: Level<'_>) -> Inside {
        let mut inside = above.clone();
        if let Some(room) = self.rooms.at.get(directory.path) {
            inside = inside.with(room);
        }
        let name = &directory.path[directory.name..];
        for (path, room) in self.rooms.floating.get(name).into_iter().flatten() {
            if ends_with_path(directory.path, path) {
                inside = inside.with(room);
            }
        }
        inside
    }

    /// Tells of every pattern that matches a path itself, in no order; one of `rooms` may be told
    /// of more than once. `ask` asks the pattern of a place, or does not where the answer is of no
    /// interest.
    pub(super) fn matches(
        &self,
        level: Level<'_>,
        kind: EntryKind,
        inside: &Inside,
        ask: impl Fn(Place) -> bool,
        mut found: impl FnMut(Place),
    ) {
        inside.whole.iter().for_each(|place| found(*place));
        let name = &level.path[level.name..];
        let endings = self.endings.iter().filter_map(|(length, table)| {
            let from = name.len().checked_sub(*length)?;
            table.get(&name[from..])
        });
        let is_right = |place: Place| {
            kind == EntryKind::Directory || self.kinds[place as usize] == Target::Any
        };
        let ended = endings.flatten().copied().filter(|place| is_right(*place));
        ended.for_each(&mut found);
        if self.lengths & bit(name) != 0
            && let Some(named) = self.names.get(name)
        {
            let at = named.at.iter().filter(|(path, _)| **path == *level.path);
            let all = named.anywhere.iter().chain(at.map(|(_, place)| place));
            let right = all.copied().filter(|place| is_right(*place));
            right.for_each(&mut found);
        }
        let asked = inside.ask.iter().filter(|place| ask(**place));
        asked.for_each(|place| found(*place));
    }
}

impl Rooms {
    fn floating(&mut self, path: Box<[u8]>) -> &mut Room {
        let rooms = self.floating.entry(last_of(&path).into()).or_default();
        let at = rooms.iter().position(|(known, _)| *known == path);
        let at = at.unwrap_or_else(|| {
            rooms.push((path, Room::default()));
            rooms.len() - 1
        });
        &mut rooms[at].1
    }
}

impl Inside {
    fn with(self, room: &Room) -> Self {
        let joined = |own: Arc<[Place]>, more: &[Place]| {
            if more.is_empty() {
                own
            } else {
                own.iter().chain(more).copied().collect()
            }
        };
        Self {
            whole: joined(self.whole, &room.whole),
            ask: joined(self.ask, &room.ask),
        }
    }
}

fn bit(name: &[u8]) -> u64 {
    1 << (name.len() % 64)
}

/// The last component of a path.
fn last_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Whether a path is this one, or ends with it after a `/`.
fn ends_with_path(path: &[u8], end: &[u8]) -> bool {
    let above = path.strip_suffix(end);
    above.is_some_and(|above| above.is_empty() || above.ends_with(b"/"))
}

fn shape(pattern: &Pattern) -> Shape<'_> {
    let tokens = pattern.tokens();
    let rest = match tokens.split_first() {
        Some((Token::Directories, rest)) => Some(rest),
        Some(_) | None => None,
    };
    // `**/x` says the same as `x`
    match (pattern.anchor, rest) {
        (Anchor::Name, _) => by_name(tokens),
        (Anchor::Root, Some(rest)) if rest.iter().all(stays_in_component) => by_name(rest),
        (Anchor::Root, Some(rest)) => by_directory(rest, Directory::Floating),
        (Anchor::Root, None) => match literal(tokens) {
            Some(path) => Shape::Path(path),
            None => by_directory(tokens, Directory::At),
        },
    }
}

fn by_name(tokens: &[Token]) -> Shape<'_> {
    if let Some(name) = literal(tokens) {
        return Shape::Name(name);
    }
    match tokens.split_first() {
        Some((Token::Star, rest)) => literal(rest).map_or(Shape::Other, Shape::Ending),
        Some(_) | None => Shape::Other,
    }
}

/// The literal directory that the tokens begin with, and what follows.
fn by_directory(tokens: &[Token], place: fn(Box<[u8]>) -> Directory) -> Shape<'_> {
    if tokens == [Token::Everything] {
        let directory = Directory::Root;
        return Shape::Inside {
            directory,
            rest: tokens,
        };
    }
    let bytes: Vec<u8> = tokens.iter().map_while(byte).collect();
    let Some(slash) = bytes.iter().rposition(|byte| *byte == b'/') else {
        return Shape::Other;
    };
    Shape::Inside {
        directory: place(bytes[..slash].into()),
        rest: &tokens[slash + 1..],
    }
}

fn literal(tokens: &[Token]) -> Option<Box<[u8]>> {
    tokens.iter().map(byte).collect()
}

fn byte(token: &Token) -> Option<u8> {
    match token {
        Token::Byte(byte) => Some(*byte),
        Token::Any | Token::Class(_) | Token::Star | Token::Directories | Token::Everything => None,
    }
}

/// Whether it matches nothing that goes beyond one component.
fn stays_in_component(token: &Token) -> bool {
    match token {
        Token::Byte(byte) => *byte != b'/',
        Token::Any | Token::Class(_) | Token::Star => true,
        Token::Directories | Token::Everything => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Case;
    use super::super::descent::Descent;
    use super::*;

    /// Numbers that are the same in every run.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: u64) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from((self.0 >> 33) % sides).expect("it is small")
        }

        fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
            of[self.roll(of.len() as u64)]
        }
    }

    const COMPONENTS: &[&str] = &["a", "b", "ab", "a.b", "B", "x.rs", "y.rs", ".rs", "rs"];
    const GLOBS: &[&str] = &[
        "a", "b", "ab", "*", "**", "*.rs", "?", "a*", "*b", "[ab]", "x.*", "**", "A", "a.b", "*.b",
    ];

    fn joined(dice: &mut Dice, of: &[&str]) -> String {
        let length = 1 + dice.roll(4);
        let parts: Vec<&str> = (0..length).map(|_| dice.pick(of)).collect();
        parts.join("/")
    }

    #[test]
    fn what_is_looked_up_is_what_each_pattern_says_by_itself() {
        let mut dice = Dice(7);
        let mut matched = 0;
        for round in 0..400 {
            let case = if round % 4 == 0 {
                Case::Insensitive
            } else {
                Case::Sensitive
            };
            let pattern = |dice: &mut Dice| {
                let text = joined(dice, GLOBS);
                let (before, after) = (dice.pick(&["", "", "/"]), dice.pick(&["", "", "/"]));
                Pattern::parse(&format!("{before}{text}{after}"), case)
            };
            let patterns: Vec<Pattern> = (0..12).filter_map(|_| pattern(&mut dice).ok()).collect();
            let lookup = Lookup::new(patterns.iter());
            let mut descent = Descent::new(case, lookup.root());
            for _ in 0..40 {
                let path = joined(&mut dice, COMPONENTS);
                let kind = [EntryKind::File, EntryKind::Directory][dice.roll(2)];
                let enter = |above: &Inside, directory: Level<'_>| lookup.enter(above, directory);
                let (level, inside) = descent.enter(path.as_bytes(), enter);
                let says =
                    |at: &Place| patterns[*at as usize].matches(level.path, level.name, kind);
                let all = 0..Place::try_from(patterns.len()).expect("they are few");
                let expected: Vec<Place> = all.filter(says).collect();
                let mut found = Vec::new();
                lookup.matches(
                    level,
                    kind,
                    inside,
                    |place| says(&place),
                    |at| found.push(at),
                );
                found.sort_unstable();
                found.dedup();
                let lines: Vec<&str> = patterns.iter().map(|p| p.line.as_str()).collect();
                assert_eq!(found, expected, "{path} ({kind:?}) in {lines:?}");
                matched += found.len();
            }
        }
        assert!(matched > 10_000, "{matched}: the patterns match something");
    }
}
