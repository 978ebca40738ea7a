//! Finds out whether two scopes may write the same paths, those included that nobody has made yet.
//!
//! It is exact: two write patterns collide if there is any path at all that both cover, and that
//! neither scope excludes. The two patterns and the two exclude lists are followed byte by byte
//! through all paths at once, the short ones first, until one is found or all states are known
//! (gitignore patterns are regular). Only where that takes more than a fixed number of states, two
//! patterns are called colliding without an example.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::automaton::{Automaton, Reached};
use super::class::ByteSet;
use super::{Case, RuleList, Scope, ScopeRule};
use crate::path::RepoPath;

/// Names two write patterns, one of each scope, that both let a path be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision<'s> {
    /// The rule of the first scope.
    pub first: &'s ScopeRule,
    /// The rule of the second.
    pub second: &'s ScopeRule,
    /// A short path that both may write; none where it would have taken too long to find one.
    pub example: Option<RepoPath>,
}

/// Represents what decides about writing: scopes in which it is equal may write the same paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writing(BTreeSet<(RuleList, String)>, Case);

/// How many states are looked at for one pair of patterns.
const LIMIT: usize = 5_000;

impl Scope {
    /// Returns every pair of write patterns of the two scopes that collide.
    #[must_use]
    pub fn collisions<'s>(&'s self, other: &'s Self) -> Vec<Collision<'s>> {
        let (ours, theirs) = (self.writers(), other.writers());
        if ours.is_empty() || theirs.is_empty() {
            return Vec::new();
        }
        let closed = [self.closed_to_writing(), other.closed_to_writing()];
        let mut sets: BTreeSet<ByteSet> = closed.iter().flat_map(Automaton::sets).collect();
        for (_, automaton) in ours.iter().chain(&theirs) {
            sets.extend(automaton.sets());
        }
        let bytes = representatives(&sets);
        let mut found = Vec::new();
        for (first, one) in &ours {
            for (second, two) in &theirs {
                let meeting = Meeting {
                    open: [one, two],
                    closed: &closed,
                    bytes: &bytes,
                };
                let example = match meeting.search() {
                    Met::Never => continue,
                    Met::At(path) => RepoPath::parse(path).ok(),
                    Met::Unknown => None,
                };
                found.push(Collision {
                    first,
                    second,
                    example,
                });
            }
        }
        found
    }

    /// What decides about writing.
    #[must_use]
    pub fn writing(&self) -> Writing {
        let rules = self.rules.iter().filter(|rule| rule.list != RuleList::Read);
        let rules = rules.map(|rule| (rule.list, rule.pattern.clone()));
        Writing(rules.collect(), self.case)
    }

    fn writers(&self) -> Vec<(&ScopeRule, Automaton)> {
        let one = |(rule, pattern)| (rule, Automaton::of([pattern], self.case));
        self.list(RuleList::Write).map(one).collect()
    }

    /// What no write pattern opens: excluded paths, and those of the built-in rules.
    fn closed_to_writing(&self) -> Automaton {
        let excluded = self.list(RuleList::Exclude).map(|(_, pattern)| pattern);
        Automaton::of(excluded.chain(self.built_in()), self.case)
    }
}

/// One byte for each set of bytes that no pattern tells apart, such as are read well first.
fn representatives(sets: &BTreeSet<ByteSet>) -> Vec<u8> {
    let rank = |byte: &u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' | b'0'..=b'9' => 1,
        b'!'..=b'~' => 2,
        _ => 3,
    };
    let mut all: Vec<u8> = (1..=u8::MAX).collect();
    all.sort_by_key(rank);
    let mut seen = BTreeSet::new();
    let told_apart = |byte: &u8| {
        let own = [*byte == b'/', *byte == b'.'];
        let mut key: Vec<bool> = sets.iter().map(|set| set.contains(*byte)).collect();
        key.extend(own);
        seen.insert(key)
    };
    all.into_iter().filter(told_apart).collect()
}

/// Says where in a component a path is: no component is empty, `.` or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Component {
    Start,
    Dot,
    DotDot,
    Name,
}

impl Component {
    const fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Name, b'/') => Some(Self::Start),
            (Self::Start | Self::Dot | Self::DotDot, b'/') => None,
            (Self::Start, b'.') => Some(Self::Dot),
            (Self::Dot, b'.') => Some(Self::DotDot),
            (Self::Start | Self::Dot | Self::DotDot | Self::Name, _) => Some(Self::Name),
        }
    }
}

/// Holds two patterns that may meet at a path, and what is closed to either.
struct Meeting<'a> {
    open: [&'a Automaton; 2],
    closed: &'a [Automaton; 2],
    bytes: &'a [u8],
}

/// Says where two patterns meet.
enum Met {
    Never,
    At(Vec<u8>),
    Unknown,
}

/// Holds all that matters of the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    open: [Reached; 2],
    closed: [Reached; 2],
    component: Component,
}

impl Meeting<'_> {
    fn search(&self) -> Met {
        let start = State {
            open: self.open.map(Automaton::start),
            closed: [self.closed[0].start(), self.closed[1].start()],
            component: Component::Start,
        };
        // how each state was reached: from which, and by which byte
        let mut trail: Vec<(usize, u8)> = vec![(0, 0)];
        let mut known = HashMap::from([(start.clone(), 0)]);
        let mut soon = VecDeque::from([(start, 0)]);
        // hidden names make poor examples: they wait
        let mut later = VecDeque::new();
        while let Some((state, at)) = soon.pop_front().or_else(|| later.pop_front()) {
            if self.is_met(&state) {
                return Met::At(path(&trail, at));
            }
            for byte in self.bytes {
                let Some(next) = self.next(&state, *byte) else {
                    continue;
                };
                if known.contains_key(&next) {
                    continue;
                }
                let id = trail.len();
                if id == LIMIT {
                    return Met::Unknown;
                }
                trail.push((at, *byte));
                known.insert(next.clone(), id);
                match next.component {
                    Component::Dot => later.push_back((next, id)),
                    Component::Start | Component::DotDot | Component::Name => {
                        soon.push_back((next, id));
                    }
                }
            }
        }
        Met::Never
    }

    /// The state after a byte; none when no path that begins so can be one where they meet.
    fn next(&self, state: &State, byte: u8) -> Option<State> {
        let component = state.component.next(byte)?;
        let mut next = State {
            component,
            ..state.clone()
        };
        for side in 0..2 {
            next.open[side] = self.open[side].next(&state.open[side], byte);
            if next.open[side].is_empty() {
                return None;
            }
            next.closed[side] = self.closed[side].next(&state.closed[side], byte);
            if self.closed[side].covers_all_below(&next.closed[side]) {
                return None;
            }
        }
        Some(next)
    }

    fn is_met(&self, state: &State) -> bool {
        let side = |side: usize| {
            self.open[side].covers(&state.open[side])
                && !self.closed[side].covers(&state.closed[side])
        };
        state.component == Component::Name && side(0) && side(1)
    }
}

/// The bytes that led to a state.
fn path(trail: &[(usize, u8)], mut at: usize) -> Vec<u8> {
    let mut path = Vec::new();
    while at != 0 {
        let (from, byte) = trail[at];
        path.push(byte);
        at = from;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests;
