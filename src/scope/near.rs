//! Holds [`Near`]: which rules can match in a directory, so that no other is tried there.

use std::sync::Arc;

use crate::scope::compiled::Scope;
use crate::scope::descent::DirectoryLevel;

/// The rules that can match in a directory, by their places in the scope, without those that
/// [`NameSet`] finds.
#[derive(Clone, Debug)]
pub(super) struct Near {
    /// Those that can match an entry at any depth.
    below: Arc<[usize]>,
    /// Those that can match an entry directly in the directory.
    here: Arc<[usize]>,
}

impl Scope {
    pub(super) fn near_root(&self) -> Near {
        let mut unnamed = Vec::new();
        for (place, pattern) in self.patterns.iter().enumerate() {
            if pattern.name().is_none() {
                unnamed.push(place);
            }
        }
        let above = Near {
            below: unnamed.into(),
            here: Arc::default(),
        };
        self.near(&above, b"")
    }

    /// The rules that can match inside a directory, of those that can inside the directory above.
    pub(super) fn near(&self, above: &Near, directory: &[u8]) -> Near {
        let below = only(&above.below, |place| {
            self.patterns[*place].reaches_into(directory)
        });
        let here = only(&below, |place| {
            self.patterns[*place].reaches_entry_of(directory)
        });
        Near { below, here }
    }

    /// The rules that may match an entry of the directory that `near` is of.
    pub(super) fn candidates<'n>(
        &'n self,
        near: &'n Near,
        level: DirectoryLevel<'n>,
    ) -> impl Iterator<Item = usize> + 'n {
        let named = self.names.find(&level.path[level.name..]);
        near.here.iter().rev().copied().chain(named)
    }
}

/// Those of the rules; the same memory where it is all of them.
fn only(all: &Arc<[usize]>, reaches: impl Fn(&usize) -> bool) -> Arc<[usize]> {
    if all.iter().all(&reaches) {
        return Arc::clone(all);
    }
    all.iter().copied().filter(reaches).collect()
}
