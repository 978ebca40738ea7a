//! Holds [`Automaton`], what patterns cover as states and steps from byte to byte.
//!
//! A pattern covers what it matches and all below a directory that it matches. Matching a path
//! is [`Glob`](super::glob::Glob)'s business, which is faster at it; this is for questions about
//! all paths at once ([`Scope::collisions`](super::Scope::collisions)).

use super::Case;
use super::class::ByteSet;
use super::glob::Token;
use super::pattern::{Anchor, Pattern, Target};

/// Represents patterns of one list.
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    case: Case,
    nodes: Vec<Node>,
    starts: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    steps: Vec<(ByteSet, usize)>,
    /// Where it is as well, without a byte.
    free: Vec<usize>,
    /// Whether a path that ends here is covered.
    covered: bool,
    /// Whether whatever follows is covered too.
    all_below: bool,
}

/// Holds the nodes that some bytes lead to, sorted.
pub(super) type Reached = Vec<usize>;

impl Automaton {
    /// Makes one that covers what any of the patterns covers.
    pub(super) fn of<'p>(patterns: impl IntoIterator<Item = &'p Pattern>, case: Case) -> Self {
        let mut all = Self {
            case,
            nodes: Vec::new(),
            starts: Vec::new(),
        };
        for pattern in patterns {
            all.add(pattern);
        }
        all
    }

    fn add(&mut self, pattern: &Pattern) {
        let mut at = self.node();
        self.starts.push(at);
        if pattern.anchor == Anchor::Name {
            at = self.directories(at);
        }
        for token in pattern.tokens() {
            at = self.token(at, token);
        }
        self.nodes[at].covered = pattern.target == Target::Any;
        let below = self.node();
        self.step(at, slash(), below);
        self.step(below, anything(), below);
        self.nodes[below].covered = true;
        self.nodes[below].all_below = true;
    }

    fn token(&mut self, at: usize, token: &Token) -> usize {
        let one = |set| (set, self.nodes.len());
        let (set, next) = match token {
            Token::Byte(byte) => one(ByteSet::of(|b| b == *byte)),
            Token::Any => one(in_component()),
            Token::Class(set) => one(*set),
            Token::Star => return self.repeated(at, in_component()),
            Token::Everything => return self.repeated(at, anything()),
            Token::Directories => return self.directories(at),
        };
        self.nodes.push(Node::default());
        self.step(at, set, next);
        next
    }

    /// None, or any number of these bytes.
    fn repeated(&mut self, at: usize, set: ByteSet) -> usize {
        let next = self.node();
        self.nodes[at].free.push(next);
        self.step(next, set, next);
        next
    }

    /// None, or any bytes that end with a slash.
    fn directories(&mut self, at: usize) -> usize {
        let inside = self.repeated(at, anything());
        let next = self.node();
        self.step(inside, slash(), next);
        self.nodes[at].free.push(next);
        next
    }

    fn node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    fn step(&mut self, from: usize, set: ByteSet, to: usize) {
        self.nodes[from].steps.push((set, to));
    }

    /// Where it is before the first byte.
    pub(super) fn start(&self) -> Reached {
        self.closed(self.starts.clone())
    }

    /// Where a byte leads to from there.
    pub(super) fn next(&self, from: &Reached, byte: u8) -> Reached {
        let byte = self.folded(byte);
        let steps = from.iter().flat_map(|at| &self.nodes[*at].steps);
        let steps = steps.filter(|(set, _)| set.contains(byte));
        self.closed(steps.map(|(_, to)| *to).collect())
    }

    /// Whether a path that ends there is covered.
    pub(super) fn covers(&self, reached: &Reached) -> bool {
        reached.iter().any(|at| self.nodes[*at].covered)
    }

    /// Whether every path that begins so is covered.
    pub(super) fn covers_all_below(&self, reached: &Reached) -> bool {
        reached.iter().any(|at| self.nodes[*at].all_below)
    }

    /// The sets of bytes that it tells apart.
    pub(super) fn sets(&self) -> impl Iterator<Item = ByteSet> {
        let steps = self.nodes.iter().flat_map(|node| &node.steps);
        steps.map(|(set, _)| {
            let (set, case) = (*set, self.case);
            ByteSet::of(move |byte| set.contains(folded(byte, case)))
        })
    }

    fn folded(&self, byte: u8) -> u8 {
        folded(byte, self.case)
    }

    fn closed(&self, mut reached: Reached) -> Reached {
        let mut looked_at = 0;
        while let Some(at) = reached.get(looked_at).copied() {
            looked_at += 1;
            for free in &self.nodes[at].free {
                if !reached.contains(free) {
                    reached.push(*free);
                }
            }
        }
        reached.sort_unstable();
        reached.dedup();
        reached
    }
}

/// Under `core.ignoreCase` patterns answer for text in lower case.
const fn folded(byte: u8, case: Case) -> u8 {
    match case {
        Case::Sensitive => byte,
        Case::Insensitive => byte.to_ascii_lowercase(),
    }
}

fn slash() -> ByteSet {
    ByteSet::of(|byte| byte == b'/')
}

fn in_component() -> ByteSet {
    ByteSet::of(|byte| byte != b'/')
}

fn anything() -> ByteSet {
    ByteSet::of(|_| true)
}
