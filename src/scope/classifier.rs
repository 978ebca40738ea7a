//! Holds [`Classifier`], which answers for many paths and remembers what it found for directories, and
//! [`Coverage`]: how many tracked paths each rule matches, and what looks like a mistake. That counts
//! what a rule's own pattern matches, whatever other rules say of the path, because an author asks
//! whether a line does anything.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bstr::ByteSlice;

use foldhash::HashMap;

use crate::scope::pattern::{PatternName, ScopePattern};
use crate::scope::{Access, Case, EntryKind, Origin, RuleList, Scope, ScopeRule, Verdict};
use crate::words::path::{RepoPath, escape_for_rule};

/// Answers like [`Scope::verdict`] for a stream of paths. Any order is right; in sorted order each
/// directory is judged once.
#[derive(Clone, Debug)]
pub struct Classifier<'s> {
    scope: &'s Scope,
    descent: Descent<JudgedDirectory>,
}

/// Holds the verdict on a directory.
#[derive(Clone, Debug)]
struct JudgedDirectory {
    decision: RuleDecision,
    near: Near,
}

/// Holds the rules that can match in a directory, by their places in the scope, without those that
/// [`NameSet`] finds.
#[derive(Clone, Debug)]
struct Near {
    /// Those that can match an entry at any depth.
    below: Arc<[usize]>,
    /// Those that can match an entry directly in the directory.
    here: Arc<[usize]>,
}

/// The places of rules in the scope, by what their patterns look for.
type RulePlaces = HashMap<Vec<u8>, Vec<usize>>;

/// Finds the rules that match any entry of a name (`Makefile`) or of an ending (`*.pem`).
#[derive(Clone, Debug, Default)]
pub(super) struct NameSet {
    whole: RulePlaces,
    /// By the length of the ending.
    endings: BTreeMap<usize, RulePlaces>,
}

impl NameSet {
    pub(super) fn new(patterns: &[ScopePattern]) -> Self {
        let mut names = Self::default();
        for (place, pattern) in patterns.iter().enumerate() {
            let (name, found) = match pattern.name() {
                Some(PatternName::Whole(name)) => (name, &mut names.whole),
                Some(PatternName::Ending(end)) => {
                    (end, names.endings.entry(end.len()).or_default())
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
type RuleDecision = [Option<usize>; 4];

impl<'s> Classifier<'s> {
    pub(super) fn new(scope: &'s Scope) -> Self {
        let root = JudgedDirectory {
            decision: RuleDecision::default(),
            near: scope.near_root(),
        };
        let descent = Descent::new(scope.case, root);
        Self { scope, descent }
    }

    /// The access of a path, and the rule that decided.
    pub fn verdict(&mut self, path: &RepoPath, kind: EntryKind) -> Verdict<'s> {
        let scope = self.scope;
        let judge = |above: &JudgedDirectory, directory: DirectoryLevel<'_>| JudgedDirectory {
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
    fn near_root(&self) -> Near {
        let unnamed = |place: &usize| self.patterns[*place].name().is_none();
        let below = (0..self.rules.len()).filter(unnamed).collect();
        let here = Arc::default();
        self.near(&Near { below, here }, b"")
    }

    /// The rules that can match inside a directory, of those that can inside the directory above.
    fn near(&self, above: &Near, directory: &[u8]) -> Near {
        let pattern = |place: &usize| &self.patterns[*place];
        let below = only(&above.below, |place| pattern(place).reaches_into(directory));
        let here = only(&below, |place| pattern(place).reaches_entry_of(directory));
        Near { below, here }
    }

    /// The rules that may match an entry of the directory that `near` is of.
    fn candidates<'n>(
        &'n self,
        near: &'n Near,
        level: DirectoryLevel<'n>,
    ) -> impl Iterator<Item = usize> + 'n {
        let named = self.names.find(&level.path[level.name..]);
        near.here.iter().rev().copied().chain(named)
    }

    fn decide(
        &self,
        above: &JudgedDirectory,
        level: DirectoryLevel<'_>,
        kind: EntryKind,
    ) -> RuleDecision {
        let mut last = RuleDecision::default();
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
        let mut decision = RuleDecision::default();
        for rank in 0..decision.len() {
            decision[rank] = last[rank].or(above.decision[rank]);
            if decision[rank].is_some() {
                break;
            }
        }
        decision
    }
}

/// Those of the rules; the same memory where it is all of them.
fn only(all: &Arc<[usize]>, reaches: impl Fn(&usize) -> bool) -> Arc<[usize]> {
    if all.iter().all(&reaches) {
        return Arc::clone(all);
    }
    all.iter().copied().filter(reaches).collect()
}

/// Remembers one value for each directory on the way to the current path. Paths come sorted from git
/// and from a walk, so that neighbours share most of their directories.
#[derive(Clone, Debug)]
struct Descent<T> {
    case: Case,
    path: Vec<u8>,
    levels: Vec<(usize, T)>, // the length of the directory's path, and its value
    root: T,
}

/// Represents an entry that is judged: its path (folded if need be) and where its name begins.
#[derive(Clone, Copy, Debug)]
struct DirectoryLevel<'p> {
    path: &'p [u8],
    name: usize,
}

impl<T> Descent<T> {
    /// Starts at the root, which has this value.
    fn new(case: Case, root: T) -> Self {
        Self {
            case,
            path: Vec::new(),
            levels: Vec::new(),
            root,
        }
    }

    /// Goes to a path. Each directory that was not on the way before gets its value from its
    /// parent's and `judge`. Returns the path's own level with its parent's value.
    fn enter(
        &mut self,
        path: &[u8],
        judge: impl Fn(&T, DirectoryLevel<'_>) -> T,
    ) -> (DirectoryLevel<'_>, &T) {
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
            let value = judge(parent, DirectoryLevel { path, name });
            self.levels.push((end, value));
            name = end + 1;
        }
        let parent = self.levels.last().map_or(&self.root, |(_, value)| value);
        let path = &self.path;
        (DirectoryLevel { path, name }, parent)
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

/// Says what the rules of a scope match among the tracked paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// How many tracked paths each rule of [`Scope::rules`] matches, in its order, those below a
    /// matching directory included.
    pub matches: Vec<usize>,
    /// One line for each likely mistake, in the order of the rules, which are valid all the same.
    pub advice: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    matches: usize,
    is_in_root: bool,
    /// The first path that matches below the root.
    below: Option<RepoPath>,
}

/// Holds what is known of the directories above a path.
#[derive(Clone, Debug)]
struct Above {
    near: Near,
    /// The rules that match one of them, and whether the first such directory is in the root.
    matched: Arc<[(usize, bool)]>,
}

impl Scope {
    /// Counts the tracked paths that each rule matches and looks for likely mistakes. Sorted paths
    /// are fast.
    pub fn coverage<P: Borrow<RepoPath>>(
        &self,
        tracked: impl IntoIterator<Item = (P, EntryKind)>,
    ) -> Coverage {
        let root = Above {
            near: self.near_root(),
            matched: Arc::default(),
        };
        let mut tallies = vec![Tally::default(); self.users];
        let mut descent = Descent::new(self.case, root);
        for (path, kind) in tracked {
            let path = path.borrow();
            let enter = |above: &Above, directory: DirectoryLevel<'_>| above.enter(self, directory);
            let (level, above) = descent.enter(path.as_bstr(), enter);
            let matched = above.matched.iter().copied();
            for (place, is_in_root) in matched.chain(above.more(self, level, kind)) {
                let tally = &mut tallies[place];
                tally.matches += 1;
                tally.is_in_root |= is_in_root;
                if !is_in_root && tally.below.is_none() {
                    tally.below = Some(path.clone());
                }
            }
        }
        let rules = self.rules().iter().zip(&self.patterns).zip(&tallies);
        Coverage {
            advice: rules
                .filter_map(|((rule, pattern), tally)| advice(rule, pattern, tally))
                .collect(),
            matches: tallies.iter().map(|tally| tally.matches).collect(),
        }
    }
}

impl Above {
    fn enter(&self, scope: &Scope, directory: DirectoryLevel<'_>) -> Self {
        let mut more = (self.more(scope, directory, EntryKind::Directory)).peekable();
        let matched = if more.peek().is_none() {
            Arc::clone(&self.matched)
        } else {
            self.matched.iter().copied().chain(more).collect()
        };
        Self {
            near: scope.near(&self.near, directory.path),
            matched,
        }
    }

    /// The user's rules that match this path itself, and no directory above it.
    fn more<'n>(
        &'n self,
        scope: &'n Scope,
        level: DirectoryLevel<'n>,
        kind: EntryKind,
    ) -> impl Iterator<Item = (usize, bool)> + 'n {
        let candidates = scope.candidates(&self.near, level);
        let users = candidates.filter(|place| *place < scope.users);
        let is_new = move |place: &usize| {
            scope.patterns[*place].matches(level.path, level.name, kind)
                && !self.matched.iter().any(|(known, _)| known == place)
        };
        users
            .filter(is_new)
            .map(move |place| (place, level.name == 0))
    }
}

/// The likely mistake of a rule.
fn advice(rule: &ScopeRule, pattern: &ScopePattern, tally: &Tally) -> Option<String> {
    if matches!(rule.origin, Origin::Default | Origin::BuiltIn) {
        return None;
    }
    let text = escape_for_rule(&rule.pattern);
    let what = if tally.matches > 0 {
        let is_meant_for_root = tally.is_in_root
            && rule.list == RuleList::Write
            && !pattern.is_anchored
            && !pattern.is_everything();
        let example = tally.below.as_ref().filter(|_| is_meant_for_root)?;
        format!("also matches below the root (`{example}`); write `/{text}` for the root only")
    } else if pattern.line.contains('{') && pattern.line.contains(',') {
        "matches no tracked file: braces do not expand in these patterns; write one for each".into()
    } else if pattern
        .line
        .trim_start_matches(['*', '/'])
        .starts_with(".git/")
    {
        // git tracks no such path, and it means nothing in any list
        return None;
    } else {
        "matches no tracked file".to_owned()
    };
    let (origin, list) = (&rule.origin, rule.list);
    Some(format!("{origin}: the {list} pattern `{text}` {what}"))
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

    fn scope(rules: &[(RuleList, &str)]) -> Scope {
        let flag = |list: &RuleList| Origin::Flag(format!("--{list}"));
        let rules = rules
            .iter()
            .map(|(list, pattern)| ScopeRule::new(*list, *pattern, flag(list)));
        Scope::compile(rules.collect(), Case::Sensitive).expect("the rules are valid")
    }

    fn tracked() -> Vec<(RepoPath, EntryKind)> {
        [
            "a/x/package.json",
            "package.json",
            "src/lib.rs",
            "src/main.rs",
        ]
        .map(|path| {
            (
                RepoPath::parse(path).expect("it is normal"),
                EntryKind::File,
            )
        })
        .into()
    }

    use RuleList::{Exclude, Read, Write};

    #[test]
    fn every_rule_is_counted_by_its_own_pattern() {
        let scope = scope(&[
            (Exclude, "*.rs"),
            (Read, "**"),
            (Write, "/src"),
            (Write, "x/"),
        ]);
        assert_eq!(scope.coverage(tracked()).matches, [2, 4, 2, 1]);
    }

    #[test]
    fn likely_mistakes_are_named() {
        let scope = scope(&[
            (Write, "*.{rs,toml}"),
            (Write, "package.json"),
            (Write, "/package.json"),
            (Write, "*.rs"),
            (Read, "package.json"),
            (Write, "*"),
            (Exclude, "secret/"),
            (Exclude, ".git/**"),
        ]);
        assert_eq!(
            scope.coverage(tracked()).advice,
            [
                "--write: the write pattern `*.{rs,toml}` matches no tracked file: braces do \
                 not expand in these patterns; write one for each",
                "--write: the write pattern `package.json` also matches below the root \
                 (`a/x/package.json`); write `/package.json` for the root only",
                "--exclude: the exclude pattern `secret/` matches no tracked file",
            ]
        );
    }
}
