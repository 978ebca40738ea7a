//! Holds the answer of `git agentwt changed`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bstr::ByteSlice;
use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::groups::kind_paint;
use crate::answer::paint::Paint;
use crate::answer::shapes::{BaseField, ChangeField};
use crate::answer::table::{Cell, Row};
use crate::answer::text::{Text, TextStyle};
use crate::arguments::output::RecordEnd;
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
    pub base: Option<BaseField>,
    /// The commit that the worktree is on; null if it is unknown.
    pub head: Option<CommitId>,
    /// The net changes.
    pub changed: Vec<ChangeField>,
    /// With `--roots`: the directories, resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// With `--roots`: the changes outside of these directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Vec<ChangeField>>,
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
    pub patch: Option<PatchField>,
    /// With `--best-effort`: what could not be read; absent if nothing is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// What the patch cannot hold.
    #[serde(skip)]
    pub not_in_patch: Vec<String>,
    /// Whether only paths are printed.
    #[serde(skip)]
    pub name_only: bool,
}

impl ChangedAnswer {
    /// The changed paths, from the root of the file system: sorted, each once. What is no path is
    /// not among them.
    pub fn absolute_paths(&self) -> Vec<PathBuf> {
        let paths = self.changed.iter().filter_map(|change| {
            let path = change.path.as_ref()?.bytes().to_path().ok()?;
            Some(self.path.as_ref()?.as_std_path().join(path))
        });
        let paths: BTreeSet<PathBuf> = paths.collect();
        paths.into_iter().collect()
    }

    /// One change: for porcelain after some words, for TSV before one.
    fn row(&self, change: &ChangeField, words: &[&str], in_commit: bool) -> Row {
        let mut cells: Vec<Cell> = words.iter().map(Cell::porcelain).collect();
        if !self.name_only {
            cells.push(Cell::both(change.kind).paint(kind_paint(change.kind)));
        }
        cells.push(Cell::people(change.shown()));
        if !self.name_only && !in_commit {
            let only_commits = change.seen.iter().all(|seen| *seen == "commit");
            if self.commits.is_none() || !only_commits {
                cells.push(Cell::people(change.seen_in.join(", ")).paint(Paint::faint));
            }
            cells.push(Cell::porcelain(change.seen_in.join(",")));
        }
        cells.push(Cell::porcelain(change.bytes()));
        cells.extend([change.tsv(), change.kind.to_owned()].map(Cell::tsv));
        cells.extend(words.last().map(|word| Cell::tsv(*word)));
        Row::new(cells)
    }

    fn print_commits(&self, commits: &[ChangedCommit], text: &mut Text) {
        let paint = text.paint;
        let table = |changes: &[&ChangeField], in_commit, text: &mut Text| {
            let rows = changes.iter().map(|one| self.row(one, &[], in_commit));
            text.table(&rows.collect::<Vec<_>>(), "  ");
        };
        for one in commits {
            let abandoned = when(one.abandoned, " (abandoned)");
            text.line(format!(
                "{} {} {}{}",
                paint.name(&format!("commit {}", one.commit.short())),
                paint.faint(one.authored.as_deref().unwrap_or("-")),
                escape_for_terminal(one.subject_bytes()),
                paint.warning(abandoned)
            ));
            table(&one.paths.iter().collect::<Vec<_>>(), true, text);
            text.put(one.patch.as_ref().map_or(&b""[..], PatchField::bytes));
        }
        if let Some(left) = self.uncommitted.as_ref().filter(|l| !l.paths.is_empty()) {
            text.line(paint.name("not committed"));
            table(&left.paths.iter().collect::<Vec<_>>(), false, text);
            text.put(left.patch.as_ref().map_or(&b""[..], PatchField::bytes));
        }
        let beside = self.changed.iter().filter(|change| change.path.is_none());
        let beside: Vec<&ChangeField> = beside.collect();
        if !beside.is_empty() {
            text.line(paint.name("beside its files"));
            table(&beside, false, text);
        }
    }
}

impl Answer for ChangedAnswer {
    const DOCUMENT: &'static str = "changed";

    fn print(&self, text: &mut Text) {
        match (&self.commits, &self.patch) {
            (Some(commits), _) => self.print_commits(commits, text),
            (None, Some(patch)) => return text.put(patch.bytes()),
            (None, None) => text.table(&self.rows(), ""),
        }
        let known = self.name.as_ref().filter(|_| self.base.is_some());
        if let Some(name) = known.filter(|_| text.stdout.is_empty()) {
            let what = match self.outside {
                Some(_) => "outside the roots",
                None => "since the base",
            };
            text.tell(format!("{name}: nothing changed {what}"));
        }
    }

    /// A patch stands in place of every list.
    fn rows(&self) -> Vec<Row> {
        if self.patch.is_some() {
            let mut text = Text::new(TextStyle::PLAIN, RecordEnd::Newline);
            self.print(&mut text);
            return vec![Row::raw(text.stdout)];
        }
        let listed = self.outside.as_ref().unwrap_or(&self.changed).iter();
        let Some(commits) = &self.commits else {
            return listed.map(|one| self.row(one, &[], false)).collect();
        };
        let mut rows = Vec::new();
        for one in commits {
            rows.push(one.heading());
            let words = ["in", one.commit.as_str()];
            rows.extend(one.paths.iter().map(|c| self.row(c, &words, true)));
        }
        let left = self.uncommitted.iter().flat_map(|left| &left.paths);
        rows.extend(left.map(|one| self.row(one, &["uncommitted"], false)));
        rows.extend(listed.map(|one| self.row(one, &["net"], false)));
        rows
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
    pub paths: Vec<ChangeField>,
    /// With `--patch`: the patch.
    #[serde(flatten)]
    pub patch: Option<PatchField>,
}

impl ChangedCommit {
    fn subject_bytes(&self) -> &[u8] {
        let bytes = self.subject_bytes.as_deref();
        bytes.unwrap_or(self.subject.as_bytes())
    }

    /// What porcelain says before the paths of the commit.
    fn heading(&self) -> Row {
        let parents: Vec<&str> = self.parents.iter().map(CommitId::as_str).collect();
        Row::record(&[
            b"commit",
            self.commit.as_str().as_bytes(),
            self.authored.as_deref().unwrap_or("").as_bytes(),
            parents.join(" ").as_bytes(),
            if self.abandoned {
                b"abandoned"
            } else {
                b"current"
            },
            self.subject_bytes(),
        ])
    }
}

/// The changes that are not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Uncommitted {
    /// The changes.
    pub paths: Vec<ChangeField>,
    /// With `--patch`: the patch.
    #[serde(flatten)]
    pub patch: Option<PatchField>,
}

/// A patch; use it flattened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PatchField {
    /// The patch, as git prints it.
    pub patch: String,
    /// The bytes of the patch, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_bytes: Option<Vec<u8>>,
}

impl PatchField {
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

pub fn bytes_unless_utf8(bytes: &[u8]) -> Option<Vec<u8>> {
    bytes.to_str().is_err().then(|| bytes.to_vec())
}
