//! Holds [`Placed`]: every file that we put into a worktree, with what it was then.
//!
//! A *placed file* was synced from the main worktree, or is context for the client. It lives in
//! the record as `placed`, beside the manifest and apart from it: `sync` writes it anew, the
//! manifest is of `add`. A placed file is unchanged while its stat data or its digest say so.
//!
//! The digest is BLAKE3 of the content (of a link, of its text). It is absent where a large file
//! was cloned by the file system, which reads nothing: such a file is unchanged while its stat
//! data prove it, or while it is equal to its source and that is as it was.

pub mod codec;
pub mod overlay;

use std::collections::BTreeSet;
use std::fmt;

use crate::inventory::manifest::Stat;
use crate::words::path::RepoPath;

/// Holds a BLAKE3 digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Says why a file was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlacedOrigin {
    /// It is a copy of the main worktree's.
    Synced,
    /// It tells the client about its task.
    Context,
    /// The user's set-up created it.
    Setup,
}

impl PlacedOrigin {
    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Context => "context",
            Self::Setup => "setup",
        }
    }
}

impl PlacedKind {
    /// What these are the stat data of.
    pub const fn of(stat: &Stat) -> Self {
        match stat.mode & 0o170_000 {
            0o040_000 => Self::Directory,
            0o120_000 => Self::Link,
            _other => Self::File,
        }
    }

    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Link => "link",
            Self::Directory => "directory",
        }
    }
}

/// Says what was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlacedKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory that we made; what is in it stands beside it in the list.
    Directory,
}

/// Holds one placed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    /// Its path, the same in the main worktree.
    pub path: RepoPath,
    /// Why it was placed.
    pub origin: PlacedOrigin,
    /// What it is.
    pub kind: PlacedKind,
    /// Its content; none for a directory, and for a large file that was cloned.
    pub digest: Option<Digest>,
    /// Its stat data once it was in its place.
    pub stat: Stat,
    /// The stat data of what it was copied from; none for context and set-up.
    pub source: Option<Stat>,
}

/// Represents all that was placed in one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The globs of `add --sync`, which a later `sync` goes by as well.
    pub globs: Vec<String>,
    /// Whether `add --no-sync` left the patterns of the config out.
    pub without_config: bool,
    files: Vec<PlacedFile>,
    settled: i64,
}

impl Placed {
    /// Nothing is placed yet in a worktree that was made with these options.
    pub fn nothing(globs: Vec<String>, without_config: bool) -> Self {
        Self {
            globs,
            without_config,
            ..Self::default()
        }
    }

    /// Takes the files in any order; two of one path are not allowed. `settled` is the file
    /// system's time at which all of them were there.
    pub fn new(mut files: Vec<PlacedFile>, settled: i64) -> Self {
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        debug_assert!(
            files.windows(2).all(|w| w[0].path < w[1].path),
            "a path stands once"
        );
        Self {
            files,
            settled,
            ..Self::default()
        }
    }

    /// All of them, directories too, sorted by path.
    pub fn files(&self) -> &[PlacedFile] {
        &self.files
    }

    /// The time up to which stat data prove nothing, nanoseconds since the epoch.
    pub const fn settled(&self) -> i64 {
        self.settled
    }

    /// What was placed at a path.
    pub fn get(&self, path: &RepoPath) -> Option<&PlacedFile> {
        let at = self.files.binary_search_by(|file| file.path.cmp(path));
        at.ok().map(|at| &self.files[at])
    }

    /// Whether these stat data prove that a file is what was placed (see [`crate::inventory::manifest`]).
    pub fn proves(&self, file: &PlacedFile, now: &Stat) -> bool {
        file.stat == *now && file.stat.ctime < self.settled
    }

    /// The same list, of which stat data prove nothing but of files that have no digest: there is
    /// nothing else to know those by.
    pub fn unproven(mut self) -> Self {
        for file in self.files.iter_mut().filter(|file| file.digest.is_some()) {
            file.stat.ctime = i64::MAX;
        }
        self
    }

    /// The same list without the files at these paths.
    pub fn without(&self, paths: &BTreeSet<RepoPath>) -> Self {
        let mut list = self.clone();
        list.files.retain(|file| !paths.contains(&file.path));
        list
    }

    /// The same list, in which these stand for what was at their paths.
    pub fn replaced_by(&self, mut new: Vec<PlacedFile>, settled: i64) -> Self {
        new.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let is_new = |path: &RepoPath| new.binary_search_by(|file| file.path.cmp(path)).is_ok();
        let kept = self.files.iter().filter(|file| !is_new(&file.path));
        let kept = kept.cloned().collect();
        self.with_files(kept, new, settled)
    }

    /// The same list with other files. What the stat data of a kept file did not prove, the later
    /// time does not prove either.
    pub fn with_files(
        &self,
        kept: Vec<PlacedFile>,
        mut new: Vec<PlacedFile>,
        settled: i64,
    ) -> Self {
        let before = self.settled;
        let kept = kept.into_iter().map(|mut file| {
            if file.stat.ctime >= before {
                file.stat.ctime = i64::MAX;
            }
            file
        });
        // many thousands are held twice otherwise
        new.extend(kept);
        Self {
            globs: self.globs.clone(),
            without_config: self.without_config,
            ..Self::new(new, settled)
        }
    }
}

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
    /// It has none: it is context or of the set-up, or there is no main worktree.
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
        for (_, drift) in all.filter(|(file, _)| file.kind != PlacedKind::Directory) {
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
        let said = |here, there| Drift { here, there }.words().join(", ");
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
