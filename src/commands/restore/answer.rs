//! Holds the answer of `git agentwt restore`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::shapes::{BranchMove, RefusedFile, SavedWork};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::judge::finding::Finding;
use crate::words::name::CommitId;
use crate::words::path_text::PathText;
use crate::words::text::{count, when, would};

/// The number of remaining violations that notes name.
pub const SHOWN: usize = 10;

/// The answer of `restore`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoreAnswer {
    /// The name of the worktree.
    pub name: String,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// Whether a restore was undone (`--undo`).
    pub undo: bool,
    /// The paths that were put back, or with `--undo` brought back.
    pub restored: Vec<RestoredPath>,
    /// The read-only files that lost their write bits.
    pub write_bits: Vec<PathText>,
    /// The files whose write bits cannot be set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedFile>,
    /// Whether the sparse patterns were put back.
    pub patterns: bool,
    /// The placed files that stay as they are, as their source is not what was placed any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<PathText>,
    /// The FIFOs, sockets and devices, which `--undo` does not make again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<PathText>,
    /// Where all that was put back is saved, or what `--undo` brought back; absent if there was
    /// nothing to lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue: Option<SavedWork>,
    /// The commit that undoes what was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The violations that remain; absent if there are none, and with `-n` or `--undo`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Finding>,
    /// How `--undo` moved the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchMove>,
}

impl Answer for RestoreAnswer {
    const DOCUMENT: &'static str = "restore";

    /// The paths on stdout; what was done with them on stderr.
    fn print(&self, text: &mut Text) {
        let mut rows = Vec::new();
        for path in &self.restored {
            rows.push(path_row(path.kind, &path.shown));
        }
        for path in &self.write_bits {
            rows.push(path_row(Some("perm"), path));
        }
        text.table(&rows, "");
        let error = text.paint.bad("error:");
        for refused in &self.refused {
            text.tell(format!("{error} {}", refused.message()));
        }
        let number = count(rows.len(), "path", "paths");
        let summary = match &self.rescue {
            Some(rescue) if self.undo => self.undo_summary(&rescue.reference, &number),
            Some(_) | None => self.restore_summary(&number),
        };
        text.tell(format!("{}: {summary}", text.paint.name(&self.name)));
        self.print_commits(text);
    }
}

impl RestoreAnswer {
    /// What `--undo` did, in words; `number` is that of the paths.
    fn undo_summary(&self, rescue: &str, number: &str) -> String {
        if self.changes_nothing() && self.lost.is_empty() {
            return format!("all is as it was before {rescue}");
        }
        let brought = would(self.dry_run, "brought", "would bring");
        format!("{brought} back {number} from {rescue}")
    }

    /// What a restore did, in words; `number` is that of the paths.
    fn restore_summary(&self, number: &str) -> String {
        if self.changes_nothing() && self.stays.is_empty() && self.refused.is_empty() {
            return "nothing to restore".to_owned();
        }
        if self.changes_nothing() {
            return "nothing can be put back".to_owned();
        }
        let would = when(self.dry_run, "would ");
        let sparse = when(self.patterns, " and the sparse patterns");
        format!("{would}put back {number}{sparse}")
    }

    /// True if no path, no pattern and no branch was changed.
    fn changes_nothing(&self) -> bool {
        self.restored.is_empty()
            && self.write_bits.is_empty()
            && !self.patterns
            && self.branch.is_none()
    }

    /// What became of commits, and how to undo all of it.
    fn print_commits(&self, text: &mut Text) {
        if let Some(BranchMove { from, to }) = &self.branch {
            let goes = would(self.dry_run, "went", "would go");
            let from = from.short();
            let to = to.short();
            text.tell(format!("its branch {goes} back from {from} to {to}"));
        }
        if let Some(commit) = &self.commit {
            text.tell(format!("committed as {}", commit.short()));
        }
        if let Some(rescue) = self.rescue.as_ref().filter(|_| !self.undo) {
            let rescue = &rescue.reference;
            let name = &self.name;
            text.tell(format!(
                "saved what was there as {rescue}; to bring it back: git agentwt restore {name} \
                    --undo"
            ));
        }
        if self.dry_run && self.restored.iter().any(|one| one.committed) {
            text.tell("would undo what is committed by a new commit");
        }
    }
}

/// The row of a path, with what had happened to it if that is known.
fn path_row(kind: Option<&str>, path: &PathText) -> Row {
    let mut cells = Vec::new();
    if let Some(kind) = kind {
        cells.push(Cell::people(kind).paint(Paint::warning));
    }
    cells.push(Cell::people(path.shown()));
    Row::new(cells)
}

/// A path that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoredPath {
    /// The path.
    #[serde(flatten)]
    pub shown: PathText,
    /// What had happened: `created`, `modified`, `deleted`, …; absent with `--undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Whether a commit had the change.
    pub committed: bool,
    /// Whether the content was saved: a FIFO, a socket or a device has none.
    pub saved: bool,
}
