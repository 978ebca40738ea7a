//! Holds [`Drift`]: how a placed file has moved away from what was placed, here and at its source.

use super::PlacedFile;

/// Says how a placed file is in the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Here {
    /// It is what was placed.
    Same,
    /// Something else stands there: other content, another kind, other permissions, or another
    /// name of its source.
    Edited,
    /// Nothing stands there.
    Missing,
}

/// Says how the source of a placed file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum There {
    /// It is what was placed.
    Same,
    /// It is something else by now.
    Newer,
    /// There is nothing any more.
    Gone,
    /// It has none: it is context, or there is no main worktree.
    None,
}

/// Says how a placed file is on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift {
    /// In the worktree.
    pub here: Here,
    /// In the main worktree.
    pub there: There,
}

impl Drift {
    /// Whether nothing moved.
    pub const fn is_same(self) -> bool {
        matches!(self.here, Here::Same) && matches!(self.there, There::Same | There::None)
    }

    /// The words for it: `same`, or what moved, here first.
    pub fn words(self) -> Vec<&'static str> {
        let here = match self.here {
            Here::Same => None,
            Here::Edited => Some("edited here"),
            Here::Missing => Some("missing"),
        };
        let there = match self.there {
            There::Same | There::None => None,
            There::Newer => Some("source newer"),
            There::Gone => Some("gone at source"),
        };
        let moved: Vec<_> = here.into_iter().chain(there).collect();
        if moved.is_empty() {
            vec!["same"]
        } else {
            moved
        }
    }

    /// The words in one: `edited here, source newer`.
    pub fn state(self) -> String {
        self.words().join(", ")
    }
}

/// Counts placed files by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct DriftCounts {
    /// The number of files, without directories.
    pub files: usize,
    /// The number that is edited here.
    pub edited: usize,
    /// The number that is missing here.
    pub missing: usize,
    /// The number whose source has another content.
    pub source_newer: usize,
    /// The number whose source is gone.
    pub source_gone: usize,
}

impl DriftCounts {
    /// Counts files with their drift.
    pub fn of<'f>(all: impl Iterator<Item = (&'f PlacedFile, Drift)>) -> Self {
        let mut counts = Self::default();
        for (_, drift) in all.filter(|(file, _)| file.kind != super::PlacedKind::Directory) {
            counts.files += 1;
            counts.edited += usize::from(drift.here == Here::Edited);
            counts.missing += usize::from(drift.here == Here::Missing);
            counts.source_newer += usize::from(drift.there == There::Newer);
            counts.source_gone += usize::from(drift.there == There::Gone);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 5] = [
        "same",
        "edited here",
        "missing",
        "source newer",
        "gone at source",
    ];

    #[test]
    fn both_sides_are_named_and_nothing_twice() {
        let said = |here, there| Drift { here, there }.state();
        for (here, there, state) in [
            (Here::Same, There::Same, "same"),
            (Here::Same, There::None, "same"),
            (Here::Same, There::Newer, "source newer"),
            (Here::Same, There::Gone, "gone at source"),
            (Here::Edited, There::Same, "edited here"),
            (Here::Edited, There::Newer, "edited here, source newer"),
            (Here::Missing, There::Gone, "missing, gone at source"),
            (Here::Missing, There::None, "missing"),
        ] {
            assert_eq!(said(here, there), state);
            let drift = Drift { here, there };
            assert!(drift.words().iter().all(|word| WORDS.contains(word)));
            assert_eq!(drift.is_same(), state == "same");
        }
    }
}
