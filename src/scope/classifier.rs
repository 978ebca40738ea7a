//! Holds [`Classifier`], which answers for many paths and remembers what it found for directories.

use std::sync::Arc;

use bstr::ByteSlice;

use foldhash::HashMap;

use super::pattern::{Pattern, PatternName};
use super::{Access, Case, EntryKind, RuleList, Scope, Verdict};
use crate::path::RepoPath;

/// Answers like [`Scope::verdict`] for a stream of paths. Any order is right; in sorted order each
/// directory is judged once.
#[derive(Clone, Debug)]
pub struct Classifier<'s> {
    scope: &'s Scope,
    descent: Descent<Judged>,
}

/// Holds the verdict on a directory.
#[derive(Clone, Debug)]
struct Judged {
    decision: Decision,
    near: Near,
}

/// Holds the rules that can match in a directory, by their places in the scope, without those that
/// [`Names`] finds.
#[derive(Clone, Debug)]
pub(super) struct Near {
    /// Those that can match an entry at any depth.
    below: Arc<[usize]>,
    /// Those that can match an entry directly in the directory.
    here: Arc<[usize]>,
}

/// The places of rules in the scope, by what their patterns look for.
type Places = HashMap<Vec<u8>, Vec<usize>>;

/// Finds the rules that match any entry of a name (`Makefile`) or of an ending (`*.pem`).
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    whole: Places,
    /// By the length of the ending.
    endings: Vec<(usize, Places)>,
}

impl Names {
    pub(super) fn new(patterns: &[Pattern]) -> Self {
        let mut names = Self::default();
        for (place, pattern) in patterns.iter().enumerate() {
            let (name, found) = match pattern.name() {
                Some(PatternName::Whole(name)) => (name, &mut names.whole),
                Some(PatternName::Ending(end)) => {
                    let known = names
                        .endings
                        .iter()
                        .position(|(length, _)| *length == end.len());
                    let at = known.unwrap_or_else(|| {
                        names.endings.push((end.len(), HashMap::default()));
                        names.endings.len() - 1
                    });
                    (end, &mut names.endings[at].1)
                }
                None => continue,
            };
            found.entry(name.to_vec()).or_default().push(place);
        }
        names
    }

    fn find<'n>(&'n self, name: &'n [u8]) -> impl Iterator<Item = usize> + 'n {
        let ended = self.endings.iter().filter_map(|(length, found)| {
            let start = name.len().checked_sub(*length)?;
            found.get(&name[start..])
        });
        self.whole
            .get(name)
            .into_iter()
            .chain(ended)
            .flatten()
            .copied()
    }
}

/// Holds the deciding rule of each list: the nearest level's, there the last one. The built-in rules
/// come first, then exclude, write, read; a list after a decided one has none, neither for the path
/// nor for anything below.
type Decision = [Option<usize>; 4];

impl<'s> Classifier<'s> {
    pub(super) fn new(scope: &'s Scope) -> Self {
        let root = Judged {
            decision: Decision::default(),
            near: scope.near_root(),
        };
        let descent = Descent::new(scope.case, root);
        Self { scope, descent }
    }

    /// The access of a path, and the rule that decided.
    pub fn verdict(&mut self, path: &RepoPath, kind: EntryKind) -> Verdict<'s> {
        let scope = self.scope;
        let judge = |above: &Judged, directory: Level<'_>| Judged {
            decision: scope.decide(above, directory, EntryKind::Directory),
            near: scope.near(&above.near, directory.path),
        };
        let (level, above) = self.descent.enter(path.as_bstr(), judge);
        let decision = scope.decide(above, level, kind);
        let rule = decision.into_iter().flatten().next();
        let rule = rule.map(|place| &scope.rules[place]);
        Verdict {
            access: rule.map_or(Access::Excluded, |rule| rule.list.into()),
            rule,
        }
    }
}

impl Scope {
    pub(super) fn near_root(&self) -> Near {
        let unnamed = |place: &usize| self.patterns[*place].name().is_none();
        let below: Arc<[usize]> = (0..self.rules.len()).filter(unnamed).collect();
        Near {
            here: self.here(&below, b""),
            below,
        }
    }

    /// The rules that can match inside a directory, of those that can inside the directory above.
    pub(super) fn near(&self, above: &Near, directory: &[u8]) -> Near {
        let reaches = |place: &usize| self.patterns[*place].reaches_into(directory);
        let below = if above.below.iter().all(reaches) {
            Arc::clone(&above.below)
        } else {
            above.below.iter().copied().filter(reaches).collect()
        };
        Near {
            here: self.here(&below, directory),
            below,
        }
    }

    fn here(&self, below: &Arc<[usize]>, directory: &[u8]) -> Arc<[usize]> {
        let reaches = |place: &usize| self.patterns[*place].reaches_entry_of(directory);
        if below.iter().all(reaches) {
            return Arc::clone(below);
        }
        below.iter().copied().filter(reaches).collect()
    }

    /// The rules that may match an entry of the directory that `near` is of.
    pub(super) fn candidates<'n>(
        &'n self,
        near: &'n Near,
        level: Level<'n>,
    ) -> impl Iterator<Item = usize> + 'n {
        let named = self.names.find(&level.path[level.name..]);
        near.here.iter().rev().copied().chain(named)
    }

    fn decide(&self, above: &Judged, level: Level<'_>, kind: EntryKind) -> Decision {
        let mut last = Decision::default();
        for place in self.candidates(&above.near, level) {
            let rank = match self.rules[place].list {
                _ if place >= self.users => 0,
                RuleList::Exclude => 1,
                RuleList::Write => 2,
                RuleList::Read => 3,
            };
            let is_later = last[rank].is_none_or(|known| known < place);
            if is_later && self.patterns[place].matches(level.path, level.name, kind) {
                last[rank] = Some(place);
            }
        }
        let mut decision = Decision::default();
        for rank in 0..decision.len() {
            decision[rank] = last[rank].or(above.decision[rank]);
            if decision[rank].is_some() {
                break;
            }
        }
        decision
    }
}

/// Remembers one value for each directory on the way to the current path. Paths come sorted from git
/// and from a walk, so that neighbours share most of their directories.
#[derive(Clone, Debug)]
pub(super) struct Descent<T> {
    case: Case,
    path: Vec<u8>,
    levels: Vec<(usize, T)>, // the length of the directory's path, and its value
    root: T,
}

/// Represents an entry that is judged: its path (folded if need be) and where its name begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<'p> {
    pub(super) path: &'p [u8],
    pub(super) name: usize,
}

impl<T> Descent<T> {
    /// Starts at the root, which has this value.
    pub(super) fn new(case: Case, root: T) -> Self {
        Self {
            case,
            path: Vec::new(),
            levels: Vec::new(),
            root,
        }
    }

    /// Goes to a path. Each directory that was not on the way before gets its value from its
    /// parent's and `judge`. Returns the path's own level with its parent's value.
    pub(super) fn enter(
        &mut self,
        path: &[u8],
        judge: impl Fn(&T, Level<'_>) -> T,
    ) -> (Level<'_>, &T) {
        let common = self.common_prefix(path);
        self.levels
            .retain(|(end, _)| *end < common || (*end == common && path.get(*end) == Some(&b'/')));
        self.path.truncate(common);
        self.path.extend_from_slice(&path[common..]);
        if matches!(self.case, Case::Insensitive) {
            self.path[common..].make_ascii_lowercase();
        }
        let mut name = self.levels.last().map_or(0, |(end, _)| end + 1);
        while let Some(slash) = self.path[name..].find_byte(b'/') {
            let end = name + slash;
            let parent = self.levels.last().map_or(&self.root, |(_, value)| value);
            let path = &self.path[..end];
            let value = judge(parent, Level { path, name });
            self.levels.push((end, value));
            name = end + 1;
        }
        let parent = self.levels.last().map_or(&self.root, |(_, value)| value);
        let path = &self.path;
        (Level { path, name }, parent)
    }

    fn common_prefix(&self, path: &[u8]) -> usize {
        let same = |old: u8, new: u8| match self.case {
            Case::Sensitive => old == new,
            Case::Insensitive => old == new.to_ascii_lowercase(),
        };
        let pairs = self.path.iter().zip(path);
        pairs.take_while(|(old, new)| same(**old, **new)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_is_judged_once_while_paths_are_sorted() {
        let judged = std::cell::RefCell::new(Vec::new());
        let mut descent = Descent::new(Case::Sensitive, 0);
        for (path, depth) in [
            ("a/b/c", 2),
            ("a/b/d", 2),
            ("a/bc/d", 2),
            ("a/b", 1),
            ("a", 0),
            ("a/b/c/d", 3),
            ("x", 0),
        ] {
            let (level, parent) = descent.enter(path.as_bytes(), |parent, level| {
                let text = String::from_utf8_lossy(level.path).into_owned();
                judged.borrow_mut().push(text);
                parent + 1
            });
            assert_eq!((level.path, *parent), (path.as_bytes(), depth), "{path}");
            assert!(!level.path[level.name..].contains(&b'/'));
        }
        let expected = ["a", "a/b", "a/bc", "a", "a/b", "a/b/c"];
        assert_eq!(*judged.borrow(), expected);
    }
}
