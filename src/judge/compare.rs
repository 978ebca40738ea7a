//! Decides which paths differ from the base, from states and reference trees; pure.
//!
//! Everything is a difference ([`Delta`]) from the tree that was checked out when the
//! worktree was made: the base's, or that of a branch that was there. A *state* is something
//! that this worktree answers for: the tree of a commit, the index, the disk. A *reference* is a
//! tree that it may have taken over without touching anything: the base, and upstream work that
//! was merged or rebased in. A path of a state is changed when its entry is that of **no**
//! reference (`docs/decisions/0003-reference-trees.md`).

use std::collections::{BTreeMap, BTreeSet};

use crate::inventory::manifest::Manifest;
use crate::judge::change::{Change, Content, Kind, Place, Seen};
use crate::words::entry::{Entry, Mode};
use crate::words::path::RepoPath;

/// Holds what is not as it was checked out: the entry now, or none for what is gone.
pub type Delta = BTreeMap<RepoPath, Option<Entry>>;

/// Holds the entries that each path had in some commits.
pub type FormerEntries = BTreeMap<RepoPath, BTreeSet<Option<Entry>>>;

/// True if a path had an entry there.
pub fn had_entry(former: &FormerEntries, path: &RepoPath, entry: Option<Entry>) -> bool {
    former
        .get(path)
        .is_some_and(|entries| entries.contains(&entry))
}

/// Holds one state and the references that its entries may equal.
pub struct State<'a> {
    /// What is not as in the base.
    pub delta: &'a Delta,
    /// The references, the nearest first; never empty.
    pub references: &'a [Delta],
    /// What upstream had since the state left it: an entry of these is no change either.
    pub since: Option<&'a FormerEntries>,
    /// How a change in it is reported.
    pub seen: &'a dyn Fn(&RepoPath) -> Seen,
    /// Paths of which the state says nothing: what the scope excludes is absent from the disk.
    pub silent: &'a dyn Fn(&RepoPath) -> bool,
}

impl<'a> State<'a> {
    /// A state that says something of every path.
    pub fn new(
        delta: &'a Delta,
        references: &'a [Delta],
        seen: &'a dyn Fn(&RepoPath) -> Seen,
    ) -> Self {
        let silent = &|_: &RepoPath| false;
        Self {
            delta,
            references,
            since: None,
            seen,
            silent,
        }
    }

    /// The same state, with what upstream had since the state left it.
    pub fn with_since(self, since: Option<&'a FormerEntries>) -> Self {
        Self { since, ..self }
    }
}

/// Compares every state with its references and joins what differs to one change a path.
pub fn compare(base: &Manifest, states: &[State<'_>]) -> Vec<Change> {
    let mut changes: BTreeMap<RepoPath, Change> = BTreeMap::new();
    for state in states {
        let in_nearest = state.references.first().into_iter().flat_map(Delta::keys);
        let candidates: BTreeSet<&RepoPath> = state.delta.keys().chain(in_nearest).collect();
        for path in candidates {
            let Some(change) = change_in(base, state, path) else {
                continue;
            };
            match changes.get_mut(path) {
                Some(earlier) => earlier.join(change),
                None => drop(changes.insert(path.clone(), change)),
            }
        }
    }
    changes.into_values().collect()
}

/// Returns how a path of a state differs from the nearest reference; none if any has it so, or
/// upstream had it so since.
fn change_in(base: &Manifest, state: &State<'_>, path: &RepoPath) -> Option<Change> {
    if (state.silent)(path) {
        return None;
    }
    let now = entry_in(base, state.delta, path);
    let mut references = state
        .references
        .iter()
        .map(|delta| entry_in(base, delta, path));
    let nearest = references.next()?;
    if same(nearest, now) || references.any(|reference| same(reference, now)) {
        return None;
    }
    if state.since.is_some_and(|since| had_entry(since, path, now)) {
        return None;
    }
    let was_directory = || base.has_directory(path);
    change_between(path, nearest, now, (state.seen)(path), &was_directory)
}

impl Change {
    /// Adds what another state says of the same path.
    fn join(&mut self, other: Self) {
        // what would be merged counts first, but content says more than a bit
        if self.kind == Kind::Mode {
            self.kind = other.kind;
        }
        self.seen.extend(other.seen);
        self.now.extend(other.now);
    }
}

/// Makes of several references what a merge of them would make, path by path. There are several
/// results if they differ from their common ancestor in different ways: each way of a path is in
/// one of them.
pub fn merge_references(references: &[Delta], ancestor: &Delta) -> Vec<Delta> {
    let deltas = references.iter().chain([ancestor]);
    let paths: BTreeSet<&RepoPath> = deltas.flat_map(Delta::keys).collect();
    let mut merged = vec![Delta::new()];
    for path in paths {
        let outcomes = merge_path(references, ancestor, path);
        while merged.len() < outcomes.len() {
            merged.extend(merged.last().cloned());
        }
        for (number, result) in merged.iter_mut().enumerate() {
            let outcome = outcomes.get(number).or(outcomes.last()).copied().flatten();
            if let Some(entry) = outcome {
                result.insert(path.clone(), *entry);
            } else {
                result.remove(path);
            }
        }
    }
    merged
}

/// Returns what the references made of a path, each way once. One that has what the ancestor has
/// counts only if all do: a path cannot be put back to what upstream has changed since.
fn merge_path<'d>(
    references: &'d [Delta],
    ancestor: &'d Delta,
    path: &RepoPath,
) -> Vec<Option<&'d Option<Entry>>> {
    let in_ancestor = ancestor.get(path);
    let mut outcomes = Vec::new();
    for reference in references {
        let in_reference = reference.get(path);
        if in_reference != in_ancestor && !outcomes.contains(&in_reference) {
            outcomes.push(in_reference);
        }
    }
    if outcomes.is_empty() {
        outcomes.push(in_ancestor);
    }
    outcomes
}

/// Returns what stands at a path in a tree that is given as a difference from the base's.
pub fn entry_in(base: &Manifest, delta: &Delta, path: &RepoPath) -> Option<Entry> {
    match delta.get(path) {
        Some(entry) => *entry,
        None => base.base(path),
    }
}

/// True if a state's entry is the reference's. A submodule that was never filled is an empty
/// directory on disk, and elsewhere an empty directory is nothing to git.
pub fn same(reference: Option<Entry>, now: Option<Entry>) -> bool {
    if reference == now {
        return true;
    }
    let is_empty_directory = now.is_some_and(|entry| entry.mode == Mode::EmptyDirectory);
    is_empty_directory && reference.is_none_or(|entry| entry.mode == Mode::Gitlink)
}

/// Returns what happened to a path between two trees; `was_directory` says whether the first has
/// something below it. None when it is in neither.
pub fn change_between(
    path: &RepoPath,
    before: Option<Entry>,
    now: Option<Entry>,
    seen: Seen,
    was_directory: &dyn Fn() -> bool,
) -> Option<Change> {
    let kind = match (before, now) {
        (None, None) => return None,
        (None, Some(_)) if was_directory() => Kind::Typechange,
        (None, Some(_)) => Kind::Created,
        (Some(_), None) => Kind::Deleted,
        (Some(before), Some(now)) => kind_of_change(before, now),
    };
    let mut entries = before.into_iter().chain(now);
    Some(Change {
        is_directory: entries.any(|entry| entry.mode.is_directory()),
        now: vec![Content::Entry(now)],
        ..Change::new(Place::Path(path.clone()), kind, seen)
    })
}

/// Returns what happened to an entry that is not as before.
fn kind_of_change(before: Entry, now: Entry) -> Kind {
    let are_files = before.mode.is_regular() && now.mode.is_regular();
    if are_files && before.id == now.id {
        Kind::Mode
    } else if are_files || before.mode == now.mode {
        Kind::Modified
    } else {
        Kind::Typechange
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::manifest::Item;
    use crate::words::entry::ObjectId;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("it is normal")
    }

    fn entry(mode: Mode, byte: u8) -> Entry {
        Entry {
            mode,
            id: ObjectId::from_bytes(&[byte; 20]).expect("20 bytes"),
        }
    }

    fn file(byte: u8) -> Entry {
        entry(Mode::File, byte)
    }

    fn delta(items: &[(&str, Option<Entry>)]) -> Delta {
        items
            .iter()
            .map(|(text, entry)| (path(text), *entry))
            .collect()
    }

    /// The base has `a`, `b` and `d/e` with content 1.
    fn base() -> Manifest {
        let item = |text| Item {
            path: path(text),
            base: Some(file(1)),
            disk: None,
        };
        Manifest::new(vec![item("a"), item("b"), item("d/e")], 0)
    }

    fn changes(state: &Delta, references: &[Delta]) -> Vec<(String, Kind)> {
        let found = compare(&base(), &[State::new(state, references, &|_| Seen::Disk)]);
        found
            .iter()
            .map(|change| (change.place.to_string(), change.kind))
            .collect()
    }

    #[test]
    fn what_differs_from_the_base_is_named() {
        let state = delta(&[("a", Some(file(2))), ("b", None), ("c", Some(file(1)))]);
        let expected = [
            ("a".to_owned(), Kind::Modified),
            ("b".to_owned(), Kind::Deleted),
            ("c".to_owned(), Kind::Created),
        ];
        assert_eq!(changes(&state, &[Delta::new()]), expected);
    }

    #[test]
    fn a_file_where_a_directory_was_is_a_change_of_type() {
        let state = delta(&[("d", Some(file(1))), ("d/e", None)]);
        let expected = [
            ("d".to_owned(), Kind::Typechange),
            ("d/e".to_owned(), Kind::Deleted),
        ];
        assert_eq!(changes(&state, &[Delta::new()]), expected);
    }

    #[test]
    fn upstream_work_that_was_taken_over_is_nobodys_change() {
        let upstream = delta(&[("a", Some(file(2))), ("c", Some(file(3)))]);
        assert_eq!(changes(&upstream, std::slice::from_ref(&upstream)), []);
    }

    #[test]
    fn upstream_work_that_was_dropped_is_a_change() {
        let upstream = delta(&[("a", Some(file(2))), ("c", Some(file(3)))]);
        let expected = [
            ("a".to_owned(), Kind::Modified),
            ("c".to_owned(), Kind::Deleted),
        ];
        assert_eq!(changes(&Delta::new(), &[upstream]), expected);
    }

    #[test]
    fn a_path_is_unchanged_when_one_of_several_references_has_it() {
        let one = delta(&[("a", Some(file(2)))]);
        let two = delta(&[("b", Some(file(2)))]);
        let merged = delta(&[("a", Some(file(2))), ("b", Some(file(2)))]);
        assert_eq!(changes(&merged, &[one, two]), []);
    }

    #[test]
    fn a_path_is_changed_when_none_of_several_references_has_it() {
        let one = delta(&[("a", Some(file(2)))]);
        let two = delta(&[("a", Some(file(3)))]);
        let state = delta(&[("a", Some(file(4)))]);
        let expected = [("a".to_owned(), Kind::Modified)];
        assert_eq!(changes(&state, &[one, two]), expected);
    }

    #[test]
    fn a_path_of_which_a_state_says_nothing_is_no_change() {
        let delta = delta(&[("a", Some(file(2))), ("b", None)]);
        let references = [Delta::new()];
        let state = State {
            silent: &|path| path.as_bstr() == "b",
            ..State::new(&delta, &references, &|_| Seen::Disk)
        };
        let found = compare(&base(), &[state]);
        let places: Vec<String> = found.iter().map(|one| one.place.to_string()).collect();
        assert_eq!(places, ["a"]);
    }

    #[test]
    fn of_several_references_those_that_changed_a_path_count() {
        let one = delta(&[("a", Some(file(2))), ("b", Some(file(2)))]);
        let two = delta(&[("b", Some(file(3))), ("c", None)]);
        let merged = merge_references(&[one, two], &Delta::new());
        let first = delta(&[("a", Some(file(2))), ("b", Some(file(2))), ("c", None)]);
        let second = delta(&[("a", Some(file(2))), ("b", Some(file(3))), ("c", None)]);
        assert_eq!(merged, [first, second]);
        // `a` was 2 in the ancestor already, and one of them put it back to what the base has
        let ancestor = delta(&[("a", Some(file(2)))]);
        let kept = ancestor.clone();
        assert_eq!(
            merge_references(&[Delta::new(), kept], &ancestor),
            [Delta::new()]
        );
        // what all have from the ancestor stays, and what all did alike is there once
        let all = delta(&[("a", Some(file(2))), ("b", Some(file(3)))]);
        assert_eq!(
            merge_references(&[all.clone(), all.clone()], &ancestor),
            [all]
        );
    }

    /// A tree in which these three are not as in the base.
    fn tree(a: u8, b: u8, c: u8) -> Delta {
        delta(&[
            ("a", Some(file(a))),
            ("b", Some(file(b))),
            ("c", Some(file(c))),
        ])
    }

    #[test]
    fn three_references_that_went_different_ways_are_three() {
        let references = [tree(2, 2, 2), tree(3, 3, 3), tree(3, 4, 3)];
        let merged = merge_references(&references, &Delta::new());
        assert_eq!(merged, references);
    }

    #[test]
    fn only_the_executable_bit_is_a_mode_change() {
        let state = delta(&[
            ("a", Some(entry(Mode::Executable, 1))),
            ("b", Some(entry(Mode::Link, 1))),
        ]);
        let expected = [
            ("a".to_owned(), Kind::Mode),
            ("b".to_owned(), Kind::Typechange),
        ];
        assert_eq!(changes(&state, &[Delta::new()]), expected);
        // back from the link to the file
        let link = delta(&[("b", Some(entry(Mode::Link, 1)))]);
        let expected = [("b".to_owned(), Kind::Typechange)];
        assert_eq!(changes(&Delta::new(), &[link]), expected);
    }
}
