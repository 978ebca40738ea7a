//! The parts that documents share. Their comments are the descriptions in the man pages.
//!
//! An absent key is not applicable, null is unknown; no value has a space.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::answer::paint::Paint;
use crate::disk::mode::RefusedBits;
use crate::inventory::placed::{Drift, PlacedFile, PlacedKind, PlacedOrigin};
use crate::scope::rule::{RuleList, RuleText, ScopeRule};
use crate::words::name::CommitId;
use crate::words::path::escape_for_rule;
use crate::words::path_text::PathText;
use crate::words::size::Size;
use crate::words::text::{count, would};

/// Where a worktree started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorktreeBase {
    /// The base commit; null if unknown.
    pub commit: Option<CommitId>,
    /// The revision that named the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The branch that the base was taken from, if any.
    #[serde(flatten)]
    pub branch: Option<BaseBranch>,
}

/// The branch that a base was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BaseBranch {
    /// The branch of the base.
    #[serde(rename = "branch")]
    pub name: String,
    /// The number of commits that this branch has and the base does not have; null if unknown.
    pub moved: Option<u64>,
}

impl WorktreeBase {
    /// A base of which only the commit is known.
    pub fn commit(commit: &CommitId) -> Self {
        Self {
            commit: Some(commit.clone()).filter(CommitId::is_known),
            ..Self::default()
        }
    }

    /// A base with the revision that named it.
    pub fn named(commit: &CommitId, revision: &str) -> Self {
        Self {
            revision: Some(revision.to_owned()),
            ..Self::commit(commit)
        }
    }
}

/// A file whose write bits cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// Why the write bits cannot be set.
    pub detail: String,
}

impl RefusedFile {
    /// All of these files.
    pub fn all(refused: &RefusedBits) -> Vec<Self> {
        let mut files = Vec::new();
        for (path, detail) in refused {
            files.push(Self {
                path: PathText::from(path),
                detail: detail.clone(),
            });
        }
        files
    }

    /// The line for people.
    pub fn message(&self) -> String {
        let path = self.path.shown();
        format!("cannot set the write bits of {path}: {}", self.detail)
    }
}

/// A scope: the profile and the patterns of its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopePatterns {
    /// The scope profile; null if options gave the whole scope.
    pub profile: Option<String>,
    /// The patterns of files that may be edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// The patterns of files that may be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// The patterns of files that are excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
}

impl ScopePatterns {
    /// A scope of which only the profile is shown.
    pub fn profile(profile: Option<&str>) -> Self {
        Self {
            profile: profile.map(ToOwned::to_owned),
            ..Self::default()
        }
    }

    /// A scope with all patterns.
    pub fn whole(profile: Option<&str>, rules: &[ScopeRule]) -> Self {
        Self {
            write: Some(patterns(rules, RuleList::Write)),
            read: Some(patterns(rules, RuleList::Read)),
            exclude: Some(patterns(rules, RuleList::Exclude)),
            ..Self::profile(profile)
        }
    }
}

/// The patterns of one list.
fn patterns(rules: &[ScopeRule], list: RuleList) -> Vec<String> {
    let mut patterns = Vec::new();
    for rule in rules {
        if rule.list == list {
            patterns.push(rule.pattern.clone());
        }
    }
    patterns
}

/// A rule that excludes files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exclusion {
    /// The rule; null for files that no pattern matches.
    pub rule: Option<RuleText>,
    /// The number of tracked files.
    pub files: usize,
}

impl Exclusion {
    /// What is excluded, for people.
    pub fn text(&self) -> String {
        let files = count(self.files, "file", "files");
        let Some(rule) = &self.rule else {
            return format!("{files} that no read or write pattern matches");
        };
        let pattern = escape_for_rule(&rule.pattern);
        format!("{files} by \"{pattern}\" ({})", rule.origin)
    }
}

/// The number of files by access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccessCounts {
    /// The number of files that may be edited.
    pub write: usize,
    /// The number of files that may only be read.
    pub read: usize,
    /// The number of files that are excluded.
    pub excluded: usize,
}

impl AccessCounts {
    /// The counts for people.
    pub fn text(&self) -> String {
        let write = count(self.write, "file", "files");
        let read = self.read;
        let excluded = self.excluded;
        format!("{write} to edit, {read} to read, {excluded} excluded")
    }
}

/// Saved work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavedWork {
    /// The ref that keeps the commit.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

/// How a branch was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchMove {
    /// The commit on which the branch was.
    pub from: CommitId,
    /// The commit on which the branch is.
    pub to: CommitId,
}

impl From<(CommitId, CommitId)> for BranchMove {
    fn from((from, to): (CommitId, CommitId)) -> Self {
        Self { from, to }
    }
}

/// A file that was placed in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedState {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// `synced`, `context` or `setup`.
    #[schemars(with = "String")]
    pub origin: PlacedOrigin,
    /// `file`, `link` or `directory`.
    #[schemars(with = "String")]
    pub kind: PlacedKind,
    /// `same`, or `edited-here` or `missing`, and `source-newer` or `gone-at-source`.
    #[serde(rename = "state", serialize_with = "serialize_drift")]
    #[schemars(with = "Vec<String>")]
    pub drift: Drift,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference to the field"
)]
fn serialize_drift<S: Serializer>(drift: &Drift, serializer: S) -> Result<S::Ok, S::Error> {
    let words = drift.words();
    serializer.collect_seq(words.iter().map(|word| word.replace(' ', "-")))
}

impl PlacedState {
    /// The state of a placed file.
    pub fn new(file: &PlacedFile, drift: Drift) -> Self {
        Self {
            path: PathText::from(file.path.as_bstr()),
            origin: file.origin,
            kind: file.kind,
            drift,
        }
    }

    /// The state in words.
    pub fn state(&self) -> String {
        self.drift.words().join(", ")
    }
}

/// The number of paths of one kind that people see.
const SHOWN: usize = 20;

/// What is copied from the main worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CopyReport {
    /// The number of files that are copied.
    pub files: usize,
    /// The size of the files that are copied.
    pub bytes: u64,
    /// The files that are copied.
    pub copied: Vec<CopiedFile>,
    /// The number of files that are the same as in the main worktree.
    pub kept: usize,
    /// The selected files that the scope excludes.
    pub excluded: Vec<ExcludedFile>,
    /// The selected files that the branch of the worktree tracks.
    pub tracked: Vec<PathText>,
}

/// A file that is copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CopiedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The size.
    pub bytes: u64,
}

/// A selected file that the scope excludes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The rule that excludes the file.
    pub rule: String,
}

impl CopyReport {
    /// The number of files and their size: `3 files (2.50 MiB)`.
    pub fn size(&self) -> String {
        let files = count(self.files, "file", "files");
        format!("{files} ({})", Size(self.bytes))
    }

    /// What was copied: `copied 3 files (2.50 MiB) into task-5`.
    pub fn summary(&self, name: &str, dry_run: bool, paint: Paint) -> String {
        let verb = would(dry_run, "copied", "would copy");
        format!("{verb} {} into {}", self.size(), paint.name(name))
    }

    /// The selected files that are not copied: a line for each rule that excludes files, and for
    /// each tracked file.
    pub fn not_copied(&self, name: &str) -> Vec<String> {
        let mut by_rule: BTreeMap<&str, Vec<&PathText>> = BTreeMap::new();
        for file in &self.excluded {
            by_rule.entry(&file.rule).or_default().push(&file.path);
        }
        let mut lines = Vec::new();
        for (rule, paths) in by_rule {
            let first = paths[0].shown();
            lines.push(match paths.len() {
                1 => format!("  {first} is not copied: {rule}"),
                number => format!("  {number} files are not copied, such as {first}: {rule}"),
            });
        }
        for path in self.tracked.iter().take(SHOWN) {
            let path = path.shown();
            lines.push(format!("  {path} is not copied: it is tracked in {name}"));
        }
        lines
    }
}
