//! Holds [`Near`]: which rules can match in a directory, so that no other is tried there.

use std::sync::Arc;

use crate::scope::compiled::Scope;
use crate::scope::descent::EntryPath;

/// The rules that can match in a directory, by their places in the scope, without those that
/// [`NameSet`](crate::scope::names::NameSet) finds.
#[derive(Clone, Debug)]
pub(super) struct Near {
    /// Those that can match an entry below the directory, at any depth.
    at_any_depth: Arc<[usize]>,
    /// Those of them that can match an entry directly in the directory.
    direct: Arc<[usize]>,
}

impl Scope {
    /// The rules that can match inside the root.
    pub(super) fn near_root(&self) -> Near {
        let root = EntryPath {
            path: b"",
            name_start: 0,
        };
        let mut unnamed = Vec::new();
        for (place, pattern) in self.patterns.iter().enumerate() {
            if pattern.name().is_none() {
                unnamed.push(place);
            }
        }
        let above_root = Near {
            at_any_depth: unnamed.into(),
            direct: Arc::default(),
        };
        self.near(&above_root, root)
    }

    /// The rules that can match inside a directory, of those that can inside the directory above.
    pub(super) fn near(&self, above: &Near, directory: EntryPath<'_>) -> Near {
        let at_any_depth = filtered(&above.at_any_depth, |place| {
            self.patterns[*place].reaches_into(directory.path)
        });
        // a rule that reaches the entries of one directory reaches those of each directory below
        let direct = filtered(&at_any_depth, |place| {
            self.patterns[*place].begins_to_reach_entries_of(directory)
                || above.direct.binary_search(place).is_ok()
        });
        Near {
            at_any_depth,
            direct,
        }
    }

    /// The rules that may match an entry of the directory that `near` is of.
    pub(super) fn candidates<'n>(
        &'n self,
        near: &'n Near,
        entry: EntryPath<'n>,
    ) -> impl Iterator<Item = usize> + 'n {
        let named = self.names.find(&entry.path[entry.name_start..]);
        near.direct.iter().rev().copied().chain(named)
    }
}

/// The places that are accepted; shares the memory where all are.
fn filtered(places: &Arc<[usize]>, is_accepted: impl Fn(&usize) -> bool) -> Arc<[usize]> {
    if places.iter().all(&is_accepted) {
        return Arc::clone(places);
    }
    places.iter().copied().filter(is_accepted).collect()
}
