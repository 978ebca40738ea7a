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

/// A BLAKE3 digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Says why a file was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacedOrigin {
    /// It is a copy of the main worktree's.
    Synced,
    /// It tells the client about its task.
    Context,
    /// The user's set-up created it.
    Setup,
}

impl PlacedOrigin {
    /// Returns the word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Context => "context",
            Self::Setup => "setup",
        }
    }
}

/// Says what was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacedKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory that we made; what is in it stands beside it in the list.
    Directory,
}

impl PlacedKind {
    /// Returns the kind of what has these stat data.
    pub const fn of(stat: &Stat) -> Self {
        match stat.mode & 0o170_000 {
            0o040_000 => Self::Directory,
            0o120_000 => Self::Link,
            _other => Self::File,
        }
    }

    /// Returns the word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Link => "link",
            Self::Directory => "directory",
        }
    }
}

/// One placed file.
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

/// All that was placed in one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The globs of `add --sync`, which a later `sync` goes by as well.
    pub globs: Vec<String>,
    /// Whether `add --no-sync` left the patterns of the config out.
    pub without_config: bool,
    files: Vec<PlacedFile>,
    settled: i64,
}

/// The change time of stat data that prove nothing: nothing that is changed now has it.
const NEVER: i64 = i64::MAX;

impl Placed {
    /// Creates the empty list of a worktree that is made with these globs.
    pub fn none(globs: Vec<String>) -> Self {
        Self {
            globs,
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

    /// Returns all files, directories too, sorted by path.
    pub fn files(&self) -> &[PlacedFile] {
        &self.files
    }

    /// Returns the time up to which stat data prove nothing, in nanoseconds since the epoch.
    pub const fn settled(&self) -> i64 {
        self.settled
    }

    /// Returns what was placed at a path.
    pub fn get(&self, path: &RepoPath) -> Option<&PlacedFile> {
        let at = self.files.binary_search_by(|file| file.path.cmp(path));
        Some(&self.files[at.ok()?])
    }

    /// True if these stat data prove that a file is what was placed (see
    /// [`crate::inventory::manifest`]).
    pub fn proves(&self, file: &PlacedFile, now: &Stat) -> bool {
        file.stat == *now && file.stat.ctime < self.settled
    }

    /// Returns the same list, whose stat data prove nothing but of files without a digest: nothing
    /// else is known of those.
    pub fn unproven(mut self) -> Self {
        for file in &mut self.files {
            if file.digest.is_some() {
                file.stat.ctime = NEVER;
            }
        }
        self
    }

    /// Returns the same list without the files at these paths.
    pub fn without(&self, paths: &BTreeSet<RepoPath>) -> Self {
        let mut list = self.clone();
        list.files.retain(|file| !paths.contains(&file.path));
        list
    }

    /// Returns the same list, in which new files take the place of what was at their paths.
    pub fn replaced_by(&self, new: Vec<PlacedFile>, settled: i64) -> Self {
        let new_paths: BTreeSet<&RepoPath> = new.iter().map(|file| &file.path).collect();
        let mut kept = Vec::new();
        for file in &self.files {
            if !new_paths.contains(&file.path) {
                kept.push(file.clone());
            }
        }
        self.with_files(kept, new, settled)
    }

    /// Returns the same list with other files. What the stat data of a kept file did not prove,
    /// the later time does not prove either.
    pub fn with_files(&self, kept: Vec<PlacedFile>, new: Vec<PlacedFile>, settled: i64) -> Self {
        let mut files = new;
        // many thousands are held twice otherwise
        files.reserve_exact(kept.len());
        for mut file in kept {
            if file.stat.ctime >= self.settled {
                file.stat.ctime = NEVER;
            }
            files.push(file);
        }
        Self {
            globs: self.globs.clone(),
            without_config: self.without_config,
            ..Self::new(files, settled)
        }
    }
}

/// Says how a placed file is in the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyState {
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
pub enum SourceState {
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
    pub copy: CopyState,
    /// In the main worktree.
    pub source: SourceState,
}

impl Drift {
    /// True if neither side changed.
    pub const fn is_same(self) -> bool {
        matches!(self.copy, CopyState::Same)
            && matches!(self.source, SourceState::Same | SourceState::None)
    }

    /// Returns the words for it: `same`, or what changed, the worktree first.
    pub fn words(self) -> Vec<&'static str> {
        let mut words = Vec::new();
        match self.copy {
            CopyState::Same => {}
            CopyState::Edited => words.push("edited here"),
            CopyState::Missing => words.push("missing"),
        }
        match self.source {
            SourceState::Same | SourceState::None => {}
            SourceState::Newer => words.push("source newer"),
            SourceState::Gone => words.push("gone at source"),
        }
        if words.is_empty() {
            words.push("same");
        }
        words
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
    pub fn of<'f>(files: impl Iterator<Item = (&'f PlacedFile, Drift)>) -> Self {
        let mut counts = Self::default();
        for (file, drift) in files {
            if file.kind == PlacedKind::Directory {
                continue;
            }
            counts.files += 1;
            counts.edited += usize::from(drift.copy == CopyState::Edited);
            counts.missing += usize::from(drift.copy == CopyState::Missing);
            counts.source_newer += usize::from(drift.source == SourceState::Newer);
            counts.source_gone += usize::from(drift.source == SourceState::Gone);
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
        let said = |copy, source| Drift { copy, source }.words().join(", ");
        for (copy, source, state) in [
            (CopyState::Same, SourceState::Same, "same"),
            (CopyState::Same, SourceState::None, "same"),
            (CopyState::Same, SourceState::Newer, "source newer"),
            (CopyState::Same, SourceState::Gone, "gone at source"),
            (CopyState::Edited, SourceState::Same, "edited here"),
            (
                CopyState::Edited,
                SourceState::Newer,
                "edited here, source newer",
            ),
            (
                CopyState::Missing,
                SourceState::Gone,
                "missing, gone at source",
            ),
            (CopyState::Missing, SourceState::None, "missing"),
        ] {
            assert_eq!(said(copy, source), state);
            let drift = Drift { copy, source };
            assert!(drift.words().iter().all(|word| WORDS.contains(word)));
            assert_eq!(drift.is_same(), state == "same");
        }
    }
}
