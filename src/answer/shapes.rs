//! The parts that documents share. Their comments are the descriptions in the man pages.
//!
//! An absent key is not applicable, null is unknown; no value has a space.

use std::collections::BTreeMap;

use bstr::ByteSlice;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::paint::Paint;
use crate::inventory::placed::{Drift, PlacedFile};
use crate::judge::change::{Change, Seen};
use crate::judge::finding::Finding;
use crate::scope::rule::{RuleList, ScopeRule};
use crate::words::name::CommitId;
use crate::words::path::{escape_for_rule, escape_for_terminal, escape_for_tsv};
use crate::words::size::Size;
use crate::words::text::{count, would};

/// A path; use it flattened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathField {
    /// The path; escaped as in TSV if it is not UTF-8.
    pub path: String,
    /// The bytes of the path, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<Vec<u8>>,
}

impl<T: AsRef<[u8]>> From<T> for PathField {
    fn from(path: T) -> Self {
        let bytes = path.as_ref();
        match bytes.to_str() {
            Ok(text) => Self {
                path: text.to_owned(),
                path_bytes: None,
            },
            Err(_) => Self {
                path: escape_for_tsv(bytes),
                path_bytes: Some(bytes.to_vec()),
            },
        }
    }
}

impl PathField {
    /// The path, escaped for a terminal.
    pub fn shown(&self) -> String {
        escape_for_terminal(self.bytes())
    }

    /// The bytes of the path.
    pub fn bytes(&self) -> &[u8] {
        let bytes = self.path_bytes.as_deref();
        bytes.unwrap_or(self.path.as_bytes())
    }
}

/// Converts paths.
pub fn paths<T: AsRef<[u8]>>(paths: impl IntoIterator<Item = T>) -> Vec<PathField> {
    paths.into_iter().map(PathField::from).collect()
}

/// Where a worktree started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BaseField {
    /// The base commit; null if unknown.
    pub commit: Option<CommitId>,
    /// The revision that named the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The branch of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The number of commits that this branch has and the base does not have; null if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Option<u64>>,
}

impl BaseField {
    /// Creates the field for a commit alone.
    pub fn commit(commit: &CommitId) -> Self {
        Self {
            commit: Some(commit.clone()).filter(CommitId::is_known),
            ..Self::default()
        }
    }

    /// Creates the field for a commit and the revision that named it.
    pub fn named(commit: &CommitId, revision: &str) -> Self {
        Self {
            revision: Some(revision.to_owned()),
            ..Self::commit(commit)
        }
    }
}

/// A scope: the profile and the patterns of its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeField {
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

impl ScopeField {
    /// Creates the field for a profile alone.
    pub fn profile(profile: Option<&str>) -> Self {
        Self {
            profile: profile.map(ToOwned::to_owned),
            ..Self::default()
        }
    }

    /// Creates the field for a profile and all rules.
    pub fn whole(profile: Option<&str>, rules: &[ScopeRule]) -> Self {
        let list = |list: RuleList| {
            let rules = rules.iter().filter(|rule| rule.list == list);
            Some(rules.map(|rule| rule.pattern.clone()).collect())
        };
        Self {
            write: list(RuleList::Write),
            read: list(RuleList::Read),
            exclude: list(RuleList::Exclude),
            ..Self::profile(profile)
        }
    }
}

/// A rule of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleField {
    /// `write`, `read` or `exclude`.
    pub list: String,
    /// The pattern.
    pub pattern: String,
    /// Where the rule was written: file and line, an option, `default` or `built-in`.
    pub origin: String,
}

impl RuleField {
    /// The rule for people: `read ** (default)`.
    pub fn text(&self) -> String {
        let pattern = escape_for_rule(&self.pattern);
        format!("{} {pattern} ({})", self.list, self.origin)
    }
}

impl From<&ScopeRule> for RuleField {
    fn from(rule: &ScopeRule) -> Self {
        Self {
            list: rule.list.to_string(),
            pattern: rule.pattern.clone(),
            origin: rule.origin.to_string(),
        }
    }
}

/// A rule that excludes files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExclusionField {
    /// The rule; null for files that no pattern matches.
    pub rule: Option<RuleField>,
    /// The number of tracked files.
    pub files: usize,
}

impl ExclusionField {
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

/// A changed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeField {
    /// The path.
    #[serde(flatten)]
    pub path: Option<PathField>,
    /// The changed entry, if it is not a path: `@head`, `@git/<ref>`, `@wt/<file>`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The kind of change: `created`, `modified`, `deleted`, …
    pub kind: &'static str,
    /// Where the change was seen: `commit`, `index`, `disk`, …
    pub seen: Vec<&'static str>,
    /// The commits in which the change was seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitId>,
    /// More about the change, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Where the change was seen, for people.
    #[serde(skip)]
    pub seen_in: Vec<String>,
    /// The key of a setting of the repository that had no value before.
    #[serde(skip)]
    pub added_key: Option<String>,
    /// Whether its content is known, so that it can be accepted.
    #[serde(skip)]
    pub has_content: bool,
}

impl ChangeField {
    /// Converts a change; with a root, the path is absolute.
    pub fn new(change: &Change, root: Option<&camino::Utf8Path>) -> Self {
        let path = change.place.path().map(|path| match root {
            Some(root) => [root.as_str().as_bytes(), b"/", path.as_bstr().as_bytes()].concat(),
            None => path.as_bstr().to_vec(),
        });
        let mut seen: Vec<&str> = change.seen.iter().map(Seen::as_str).collect();
        seen.dedup();
        Self {
            place: path.is_none().then(|| change.place.to_string()),
            path: path.map(PathField::from),
            kind: change.kind.as_str(),
            seen,
            commits: change
                .seen
                .iter()
                .filter_map(Seen::commit)
                .cloned()
                .collect(),
            detail: change.detail.clone(),
            has_content: !change.now.is_empty(),
            added_key: change.added_key().map(ToOwned::to_owned),
            seen_in: change.seen.iter().map(ToString::to_string).collect(),
        }
    }

    /// Where the change is, as in TSV: a path that begins with `@` is written `\100…`.
    pub fn tsv(&self) -> String {
        let text = escape_for_tsv(self.bytes());
        match text.strip_prefix('@') {
            Some(rest) if self.path.is_some() => format!("\\100{rest}"),
            Some(_) | None => text,
        }
    }

    /// Where the change is, escaped for a terminal.
    pub fn shown(&self) -> String {
        let path = self.path.as_ref().map(PathField::shown);
        path.or_else(|| self.place.clone()).unwrap_or_default()
    }

    /// Where the change is, for porcelain.
    pub fn bytes(&self) -> &[u8] {
        let place = self.place.as_deref().unwrap_or_default().as_bytes();
        self.path.as_ref().map_or(place, PathField::bytes)
    }

    /// Converts changes.
    pub fn all<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Vec<Self> {
        let changes = changes.into_iter();
        changes.map(|change| Self::new(change, None)).collect()
    }
}

/// A finding of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingField {
    /// The change.
    #[serde(flatten)]
    pub change: ChangeField,
    /// The reason: `read-only`, `excluded`, `outside`, `integrity`, `shared` or
    /// `history`.
    pub reason: &'static str,
    /// `violation` or `notice`.
    pub level: &'static str,
    /// `net` for a change that a merge would bring, `history` for a change that a later commit reset.
    pub layer: &'static str,
    /// The rule that decided; absent if no rule matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleField>,
}

impl From<&Finding> for FindingField {
    fn from(finding: &Finding) -> Self {
        Self {
            change: ChangeField::new(&finding.change, None),
            reason: finding.reason.as_str(),
            level: finding.level.as_str(),
            layer: finding.layer(),
            rule: finding.rule.as_ref().map(RuleField::from),
        }
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
pub struct SavedField {
    /// The ref that keeps the commit.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

/// A file that was placed in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedField {
    /// The path.
    #[serde(flatten)]
    pub path: PathField,
    /// `synced` or `context`.
    pub origin: &'static str,
    /// `file`, `link` or `directory`.
    pub kind: &'static str,
    /// `same`, or `edited-here` or `missing`, and `source-newer` or `gone-at-source`.
    pub state: Vec<String>,
}

impl PlacedField {
    /// Creates the field.
    pub fn new(file: &PlacedFile, drift: Drift) -> Self {
        let words = drift.words().into_iter();
        Self {
            path: PathField::from(file.path.as_bstr()),
            origin: file.origin.as_str(),
            kind: file.kind.as_str(),
            state: words.map(|word| word.replace(' ', "-")).collect(),
        }
    }

    /// The state in words.
    pub fn state(&self) -> String {
        self.state.join(", ").replace('-', " ")
    }
}

/// The number of paths of one kind that people see.
const SHOWN: usize = 20;

/// What is copied from the main worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CopiesField {
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
    pub tracked: Vec<PathField>,
}

/// A file that is copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CopiedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathField,
    /// The size.
    pub bytes: u64,
}

/// A selected file that the scope excludes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathField,
    /// The rule that excludes the file.
    pub rule: String,
}

impl CopiesField {
    /// The number of files and their size: `3 files (2.50 MiB)`.
    pub fn size(&self) -> String {
        format!(
            "{} ({})",
            count(self.files, "file", "files"),
            Size(self.bytes)
        )
    }

    /// What was copied: `copied 3 files (2.50 MiB) into task-5`.
    pub fn summary(&self, name: &str, dry_run: bool, paint: Paint) -> String {
        let verb = would(dry_run, "copied", "would copy");
        format!("{verb} {} into {}", self.size(), paint.name(name))
    }

    /// What was selected and is not copied: a line for each rule that excludes files, and for each
    /// tracked file.
    pub fn left_out(&self, name: &str) -> Vec<String> {
        let not_copied = |path: &PathField| format!("  {} is not copied", path.shown());
        let mut by_rule: BTreeMap<&str, Vec<&PathField>> = BTreeMap::new();
        for one in &self.excluded {
            by_rule.entry(&one.rule).or_default().push(&one.path);
        }
        let line = |(rule, paths): (&str, Vec<&PathField>)| match paths.as_slice() {
            [path] => format!("{}: {rule}", not_copied(path)),
            paths => {
                let number = paths.len();
                let first = paths[0].shown();
                format!("  {number} files are not copied, such as {first}: {rule}")
            }
        };
        let mut lines: Vec<String> = by_rule.into_iter().map(line).collect();
        let tracked = self.tracked.iter().take(SHOWN);
        lines.extend(tracked.map(|path| format!("{}: it is tracked in {name}", not_copied(path))));
        lines
    }
}
