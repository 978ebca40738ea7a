//! Holds the answer of `git agentwt changed`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bstr::ByteSlice;
use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::groups::{kind_cell, seen_texts};
use crate::answer::paint::Paint;
use crate::answer::shapes::WorktreeBase;
use crate::answer::table::{Cell, Row, records};
use crate::answer::text::{Text, TextStyle};
use crate::arguments::output::RecordEnd;
use crate::judge::change::{Change, Seen};
use crate::words::name::CommitId;
use crate::words::path::escape_for_terminal;
use crate::words::text::when;

/// The answer of `changed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedAnswer {
    /// The name of the worktree; null if it is unknown.
    pub name: Option<String>,
    /// The directory of the worktree; null if it is unknown.
    #[schemars(with = "Option<String>")]
    pub path: Option<Utf8PathBuf>,
    /// What was compared with; null if it is unknown.
    pub base: Option<WorktreeBase>,
    /// The commit that the worktree is on; null if it is unknown.
    pub head: Option<CommitId>,
    /// The net changes.
    pub changed: Vec<Change>,
    /// With `--roots`: the directories, resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// With `--roots`: the changes outside of these directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Vec<Change>>,
    /// With `--commits`: the commits of the worktree, the oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Vec<ChangedCommit>>,
    /// With `--commits`: the changes that are not committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<Uncommitted>,
    /// With `--patch`: the commit to which the patch applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_base: Option<CommitId>,
    /// With `--patch`: the patch.
    #[serde(flatten)]
    pub patch: Option<PatchText>,
    /// With `--best-effort`: what could not be read; absent if nothing is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// With `--patch`: what the patch cannot hold; absent if it holds everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_in_patch: Vec<String>,
}

/// The answer of `changed --name-only`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedNames(pub ChangedAnswer);

/// What people and scripts see of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    /// The kind, the path, and where the change was seen.
    Whole,
    /// The path (`--name-only`).
    Name,
}

/// What a change is listed among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed<'c> {
    /// The net changes.
    Net,
    /// The net changes after those of each commit (`--commits`).
    NetBesideCommits,
    /// The changes of a commit.
    Commit(&'c CommitId),
    /// The changes that are not committed.
    Uncommitted,
}

impl<'c> Listed<'c> {
    /// The first fields of a record.
    fn words(self) -> Vec<&'c str> {
        match self {
            Self::Net => Vec::new(),
            Self::NetBesideCommits => vec!["net"],
            Self::Commit(commit) => vec!["in", commit.as_str()],
            Self::Uncommitted => vec!["uncommitted"],
        }
    }

    /// True if people are told where the change was seen.
    fn shows_seen(self, change: &Change) -> bool {
        match self {
            Self::Net => true,
            Self::Commit(_) => false,
            Self::NetBesideCommits | Self::Uncommitted => {
                let mut seen = change.seen.iter();
                !seen.all(|seen| matches!(seen, Seen::Commit(_)))
            }
        }
    }
}

/// A change with what it is listed among.
struct ListedChange<'c> {
    change: &'c Change,
    among: Listed<'c>,
}

impl ListedChange<'_> {
    fn row(&self, columns: Columns) -> Row {
        let change = self.change;
        let mut cells = Vec::new();
        for word in self.among.words() {
            cells.push(Cell::porcelain(word));
        }
        let kind = change.kind;
        let place = change.place.to_string();
        let seen = seen_texts(&change.seen);
        let is_whole = columns == Columns::Whole;
        if is_whole {
            cells.push(kind_cell(kind));
            cells.push(Cell::porcelain(kind.as_str()));
        }
        cells.push(Cell::people(place));
        if is_whole && self.among.shows_seen(change) {
            cells.push(Cell::people(seen.join(", ")).paint(Paint::faint));
        }
        if is_whole && !matches!(self.among, Listed::Commit(_)) {
            cells.push(Cell::porcelain(seen.join(",")));
        }
        cells.push(Cell::porcelain(change.place.to_bytes()));
        Row::new(cells)
    }

    /// The line in TSV: the place, the kind, and what the change is listed among.
    fn tsv(&self) -> String {
        let mut fields = vec![
            self.change.place.to_tsv(),
            self.change.kind.as_str().to_owned(),
        ];
        fields.extend(self.among.words().last().map(ToString::to_string));
        fields.join("\t")
    }
}

/// A line of the list for scripts.
enum ListLine<'c> {
    /// The beginning of the changes of a commit.
    Commit(&'c ChangedCommit),
    Change(ListedChange<'c>),
}

impl ChangedAnswer {
    /// The changed paths, from the root of the file system: sorted, each once. What is no path is
    /// not among them.
    pub fn absolute_paths(&self) -> Vec<PathBuf> {
        let Some(root) = &self.path else {
            return Vec::new();
        };
        let mut paths = BTreeSet::new();
        for change in &self.changed {
            let bytes = change.place.path_bytes();
            if let Some(path) = bytes.and_then(|bytes| bytes.to_path().ok()) {
                paths.insert(root.as_std_path().join(path));
            }
        }
        paths.into_iter().collect()
    }

    /// The net changes, or with `--roots` those outside of the roots.
    fn listed(&self) -> &[Change] {
        self.outside.as_ref().unwrap_or(&self.changed)
    }

    /// The list for scripts.
    fn lines(&self) -> Vec<ListLine<'_>> {
        let mut lines = Vec::new();
        for commit in self.commits.iter().flatten() {
            lines.push(ListLine::Commit(commit));
            for change in &commit.paths {
                let among = Listed::Commit(&commit.commit);
                lines.push(ListLine::Change(ListedChange { change, among }));
            }
        }
        for change in self.uncommitted.iter().flat_map(|listed| &listed.paths) {
            let among = Listed::Uncommitted;
            lines.push(ListLine::Change(ListedChange { change, among }));
        }
        let among = match self.commits {
            Some(_) => Listed::NetBesideCommits,
            None => Listed::Net,
        };
        for change in self.listed() {
            lines.push(ListLine::Change(ListedChange { change, among }));
        }
        lines
    }

    fn rows_of(&self, columns: Columns) -> Vec<Row> {
        let mut rows = Vec::new();
        for line in self.lines() {
            rows.push(match line {
                ListLine::Commit(commit) => commit.heading(),
                ListLine::Change(change) => change.row(columns),
            });
        }
        rows
    }

    fn print_columns(&self, columns: Columns, text: &mut Text) {
        if let Some(commits) = &self.commits {
            self.print_commits(commits, columns, text);
        } else if let Some(patch) = &self.patch {
            return text.put(patch.bytes());
        } else {
            text.table(&self.rows_of(columns), "");
        }
        if let (Some(name), Some(_)) = (&self.name, &self.base)
            && text.stdout.is_empty()
        {
            let what = match self.outside {
                Some(_) => "outside the roots",
                None => "since the base",
            };
            text.tell(format!("{name}: nothing changed {what}"));
        }
    }

    fn print_commits(&self, commits: &[ChangedCommit], columns: Columns, text: &mut Text) {
        for commit in commits {
            commit.print_heading(text);
            let among = Listed::Commit(&commit.commit);
            print_changes(&commit.paths, among, columns, text);
            print_patch(commit.patch.as_ref(), text);
        }
        if let Some(uncommitted) = &self.uncommitted
            && !uncommitted.paths.is_empty()
        {
            text.line(text.paint.name("not committed"));
            print_changes(&uncommitted.paths, Listed::Uncommitted, columns, text);
            print_patch(uncommitted.patch.as_ref(), text);
        }
        let mut beside = self.changed.clone();
        beside.retain(|change| change.place.path_bytes().is_none());
        if !beside.is_empty() {
            text.line(text.paint.name("beside its files"));
            print_changes(&beside, Listed::NetBesideCommits, columns, text);
        }
    }

    /// The patch as people see it without colours, which stands in place of every list.
    fn patch_text(&self) -> Option<Vec<u8>> {
        self.patch.as_ref()?;
        let mut text = Text::new(TextStyle::PLAIN, RecordEnd::Newline);
        self.print(&mut text);
        Some(text.stdout)
    }
}

fn print_changes(changes: &[Change], among: Listed<'_>, columns: Columns, text: &mut Text) {
    let mut rows = Vec::new();
    for change in changes {
        rows.push(ListedChange { change, among }.row(columns));
    }
    text.table(&rows, "  ");
}

fn print_patch(patch: Option<&PatchText>, text: &mut Text) {
    if let Some(patch) = patch {
        text.put(patch.bytes());
    }
}

impl Answer for ChangedAnswer {
    const DOCUMENT: &'static str = "changed";

    fn print(&self, text: &mut Text) {
        self.print_columns(Columns::Whole, text);
    }

    fn rows(&self) -> Vec<Row> {
        self.rows_of(Columns::Whole)
    }

    fn records(&self, end: RecordEnd) -> Vec<u8> {
        let patch = self.patch_text();
        patch.unwrap_or_else(|| records(&self.rows(), end))
    }

    fn tsv(&self, end: RecordEnd) -> Vec<u8> {
        if let Some(patch) = self.patch_text() {
            return patch;
        }
        let mut out = Vec::new();
        for line in self.lines() {
            if let ListLine::Change(change) = line {
                out.extend(change.tsv().into_bytes());
                out.push(end.byte());
            }
        }
        out
    }
}

impl Answer for ChangedNames {
    const DOCUMENT: &'static str = ChangedAnswer::DOCUMENT;

    fn print(&self, text: &mut Text) {
        self.0.print_columns(Columns::Name, text);
    }

    fn rows(&self) -> Vec<Row> {
        self.0.rows_of(Columns::Name)
    }

    fn tsv(&self, end: RecordEnd) -> Vec<u8> {
        self.0.tsv(end)
    }
}

/// A commit of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedCommit {
    /// The commit.
    pub commit: CommitId,
    /// The parents of the commit.
    pub parents: Vec<CommitId>,
    /// When the commit was written, according to its author.
    pub authored: Option<String>,
    /// The first paragraph of the message, in one line.
    pub subject: String,
    /// The bytes of the subject, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_bytes: Option<Vec<u8>>,
    /// Whether the commit was amended, reset or rebased away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    /// What the commit changed; of a merge, only what differs from every parent.
    pub paths: Vec<Change>,
    /// With `--patch`: the patch.
    #[serde(flatten)]
    pub patch: Option<PatchText>,
}

impl ChangedCommit {
    fn subject_bytes(&self) -> &[u8] {
        let bytes = self.subject_bytes.as_deref();
        bytes.unwrap_or(self.subject.as_bytes())
    }

    /// The record before the paths of the commit.
    fn heading(&self) -> Row {
        let parents: Vec<&str> = self.parents.iter().map(CommitId::as_str).collect();
        let state: &[u8] = if self.abandoned {
            b"abandoned"
        } else {
            b"current"
        };
        Row::record(&[
            b"commit",
            self.commit.as_str().as_bytes(),
            self.authored.as_deref().unwrap_or_default().as_bytes(),
            parents.join(" ").as_bytes(),
            state,
            self.subject_bytes(),
        ])
    }

    fn print_heading(&self, text: &mut Text) {
        let paint = text.paint;
        let commit = paint.name(&format!("commit {}", self.commit.short()));
        let authored = paint.faint(self.authored.as_deref().unwrap_or("-"));
        let subject = escape_for_terminal(self.subject_bytes());
        let abandoned = paint.warning(when(self.abandoned, " (abandoned)"));
        text.line(format!("{commit} {authored} {subject}{abandoned}"));
    }
}

/// The changes that are not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Uncommitted {
    /// The changes.
    pub paths: Vec<Change>,
    /// With `--patch`: the patch.
    #[serde(flatten)]
    pub patch: Option<PatchText>,
}

/// A patch; use it flattened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PatchText {
    /// The patch, as git prints it.
    pub patch: String,
    /// The bytes of the patch, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_bytes: Option<Vec<u8>>,
}

impl PatchText {
    pub(super) fn new(patch: &[u8]) -> Self {
        Self {
            patch: patch.to_str_lossy().into_owned(),
            patch_bytes: bytes_unless_utf8(patch),
        }
    }

    /// The bytes of the patch.
    pub fn bytes(&self) -> &[u8] {
        let bytes = self.patch_bytes.as_deref();
        bytes.unwrap_or(self.patch.as_bytes())
    }
}

/// The bytes, unless they are a text.
pub fn bytes_unless_utf8(bytes: &[u8]) -> Option<Vec<u8>> {
    bytes.to_str().is_err().then(|| bytes.to_vec())
}
