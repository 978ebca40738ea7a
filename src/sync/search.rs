//! Holds [`Search`]: follows patterns down a tree, one name at a time.
//!
//! A [`State`] says of a directory what can still match in it, so that a walk enters only where
//! something can. Whether an entry matches is globset's verdict on the whole path.

use std::sync::OnceLock;

use globset::{Candidate, GlobMatcher};

use super::Pattern;
use super::component::Component;
use super::pattern::{Alternative, build};
use crate::path::RepoPath;
use crate::scope::Case;

/// Represents a list of patterns, ready to be searched for.
pub struct Search<'p> {
    alternatives: Vec<Own<'p>>,
    case: Case,
}

/// One alternative of the pattern at this place in the list.
struct Own<'p> {
    pattern: usize,
    is: &'p Alternative,
    matcher: OnceLock<Option<GlobMatcher>>,
}

/// Says what is looked for in one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Alternatives that can still match, each with the component that is next, sorted.
    places: Vec<(usize, usize)>,
    /// Patterns that matched a directory above: everything here is theirs, sorted.
    whole: Vec<usize>,
}

/// Says what an entry of a directory is to the patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The patterns that match it, or a directory above it, sorted.
    pub matched: Vec<usize>,
    /// What is looked for in it, if it is a directory.
    pub below: State,
    /// A pattern that names it outright as a directory on its way.
    pub through: Option<usize>,
}

impl State {
    /// Whether nothing can match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.whole.is_empty()
    }
}

impl<'p> Search<'p> {
    /// Takes the patterns.
    #[must_use]
    pub fn new(patterns: &'p [Pattern], case: Case) -> Self {
        let own = |(pattern, of): (usize, &'p Pattern)| {
            let own = move |is| Own {
                pattern,
                is,
                matcher: OnceLock::new(),
            };
            of.alternatives().iter().map(own)
        };
        let alternatives = patterns.iter().enumerate().flat_map(own).collect();
        Self { alternatives, case }
    }

    /// What is looked for in the root.
    #[must_use]
    pub fn start(&self) -> State {
        let mut places = Vec::new();
        for at in 0..self.alternatives.len() {
            self.add(&mut places, at, 0);
        }
        places.sort_unstable();
        State {
            places,
            whole: Vec::new(),
        }
    }

    /// The only names that can match in a directory, sorted; none if it has to be listed.
    #[must_use]
    pub fn names<'s>(&'s self, state: &State) -> Option<Vec<&'s [u8]>> {
        if self.case == Case::Insensitive || !state.whole.is_empty() {
            return None;
        }
        let name = |(at, next): &(usize, usize)| match self.component(*at, *next) {
            Some(Component::Literal(name)) => Some(name.as_slice()),
            Some(Component::Glob(_) | Component::AnyNumber) | None => None,
        };
        let mut names: Vec<&[u8]> = state.places.iter().map(name).collect::<Option<_>>()?;
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// Whether a pattern matches a path that is no directory, or a directory above it.
    #[must_use]
    pub fn selects(&self, path: &RepoPath) -> bool {
        let mut state = self.start();
        let mut parents: Vec<_> = path.parents().collect();
        parents.reverse();
        for parent in parents {
            let Ok(parent) = RepoPath::parse(parent) else {
                return false;
            };
            let step = self.step(&state, &parent, Kind::Directory);
            if !step.matched.is_empty() {
                return true;
            }
            state = step.below;
        }
        !self.step(&state, path, Kind::Other).matched.is_empty()
    }

    /// What an entry of a directory is.
    #[must_use]
    pub fn step(&self, state: &State, path: &RepoPath, kind: Kind) -> Step {
        let mut step = Step {
            matched: state.whole.clone(),
            ..Step::default()
        };
        let name: &[u8] = path.file_name();
        let fold = self.case == Case::Insensitive;
        let mut next = Vec::new();
        for (at, component) in &state.places {
            let Some(here) = self.component(*at, *component) else {
                continue;
            };
            if !here.matches(name, fold) {
                continue;
            }
            let own = &self.alternatives[*at];
            let last = component + 1 == own.is.components.len();
            if last && self.agrees(own, path, kind) {
                step.matched.push(own.pattern);
            }
            if *here == Component::AnyNumber {
                self.add(&mut next, *at, *component);
            } else if !last {
                self.add(&mut next, *at, component + 1);
                if *component < own.is.literal_directories() {
                    step.through.get_or_insert(own.pattern);
                }
            }
        }
        step.matched.sort_unstable();
        step.matched.dedup();
        next.sort_unstable();
        next.dedup();
        let whole = &step.matched;
        next.retain(|(at, _)| {
            whole
                .binary_search(&self.alternatives[*at].pattern)
                .is_err()
        });
        if kind == Kind::Directory {
            step.below = State {
                places: next,
                whole: step.matched.clone(),
            };
        }
        step
    }

    fn component(&self, at: usize, next: usize) -> Option<&Component> {
        self.alternatives.get(at)?.is.components.get(next)
    }

    /// Adds a place; `**` may stand for no name, but not at the end.
    fn add(&self, places: &mut Vec<(usize, usize)>, at: usize, next: usize) {
        places.push((at, next));
        let any = self.component(at, next) == Some(&Component::AnyNumber);
        if any && self.component(at, next + 1).is_some() {
            places.push((at, next + 1));
        }
    }

    /// Asks globset.
    fn agrees(&self, own: &Own<'_>, path: &RepoPath, kind: Kind) -> bool {
        if own.is.directories_only && kind == Kind::Other {
            return false;
        }
        let build = || Some(build(&own.is.glob, self.case).ok()?.compile_matcher());
        let matcher = own.matcher.get_or_init(build);
        let path: &[u8] = path.as_bstr();
        let candidate = Candidate::from_bytes(path);
        matcher
            .as_ref()
            .is_some_and(|matcher| matcher.is_match_candidate(&candidate))
    }
}

/// Says whether an entry is a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is, and no link to one.
    Directory,
    /// It is anything else.
    Other,
}
