//! The answer of `sync`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::shapes::{CopyReport, PlacedState, SavedWork};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::inventory::placed::PlacedOrigin;
use crate::words::path_text::PathText;
use crate::words::text::{count, when, would};

/// The answer of `sync`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncAnswer {
    /// The worktrees.
    pub worktrees: Vec<SyncedWorktree>,
}

/// A worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncedWorktree {
    /// The name of the worktree.
    pub name: String,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// `copied`, `status`, `pulled` or `cleaned`.
    pub done: &'static str,
    /// What was copied; absent with `--status`, `--pull` and `--clean`.
    #[serde(flatten)]
    pub copies: Option<CopyReport>,
    /// The placed files and their state; only with `--status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Vec<PlacedState>>,
    /// The edited files that were copied back; only with `--pull`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulled: Option<Vec<PathText>>,
    /// The number of files that were given and are unchanged; only with `--pull`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<usize>,
    /// What was removed; only with `--clean`.
    #[serde(flatten)]
    pub cleaned: Option<CleanedFiles>,
    /// Where replaced files are saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue: Option<SavedWork>,
}

/// The files of `--clean`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CleanedFiles {
    /// The unchanged copies that were removed.
    pub removed: Vec<PathText>,
    /// The files that were edited in the worktree.
    pub edited: Vec<PathText>,
    /// The files that the main worktree does not have any more: these are the last copies.
    pub last: Vec<PathText>,
    /// The files that could not be removed.
    pub stayed: Vec<StayedFile>,
}

/// A file that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StayedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// Why the file could not be removed.
    pub detail: String,
}

impl Answer for SyncAnswer {
    const DOCUMENT: &'static str = "sync";

    fn print(&self, text: &mut Text) {
        let heading = if self.worktrees.len() > 1 {
            Heading::WithName
        } else {
            Heading::None
        };
        for worktree in &self.worktrees {
            worktree.print(heading, text);
            if let Some(rescue) = &worktree.rescue {
                let saved = &rescue.reference;
                text.line(format!("  replaced files are saved in {saved}"));
            }
        }
    }

    /// The records: name, what became of the file or its state, path, and a detail.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for worktree in &self.worktrees {
            for file in worktree.files() {
                rows.push(Row::record(&[
                    worktree.name.as_bytes(),
                    file.state.as_bytes(),
                    file.path.bytes(),
                    file.detail.as_bytes(),
                ]));
            }
        }
        rows
    }
}

/// What stands above the placed files of a worktree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heading {
    /// The name of the worktree.
    WithName,
    None,
}

/// A file of a worktree, for scripts.
struct SyncedFile<'a> {
    /// What became of the file, or its state.
    state: String,
    path: &'a PathText,
    detail: String,
}

impl<'a> SyncedFile<'a> {
    fn new(state: &str, path: &'a PathText) -> Self {
        Self {
            state: state.to_owned(),
            path,
            detail: String::new(),
        }
    }

    fn with_detail(state: &str, path: &'a PathText, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            ..Self::new(state, path)
        }
    }
}

impl SyncedWorktree {
    /// Each file with what became of it, or with its state, for scripts.
    fn files(&self) -> Vec<SyncedFile<'_>> {
        let mut files = Vec::new();
        if let Some(copies) = &self.copies {
            let copied = would(self.dry_run, "copied", "would-copy");
            for file in &copies.copied {
                let size = file.bytes.to_string();
                files.push(SyncedFile::with_detail(copied, &file.path, size));
            }
            for file in &copies.excluded {
                files.push(SyncedFile::with_detail("excluded", &file.path, &file.rule));
            }
            for path in &copies.tracked {
                files.push(SyncedFile::new("tracked", path));
            }
        }
        for placed in self.placed.iter().flatten() {
            let origin = placed.origin.as_str();
            files.push(SyncedFile::with_detail(
                &placed.state(),
                &placed.path,
                origin,
            ));
        }
        let pulled = would(self.dry_run, "pulled", "would-pull");
        for path in self.pulled.iter().flatten() {
            files.push(SyncedFile::new(pulled, path));
        }
        if let Some(cleaned) = &self.cleaned {
            let removed = would(self.dry_run, "removed", "would-remove");
            for (state, paths) in [
                (removed, &cleaned.removed),
                ("edited", &cleaned.edited),
                ("gone at source", &cleaned.last),
            ] {
                files.extend(paths.iter().map(|path| SyncedFile::new(state, path)));
            }
            for file in &cleaned.stayed {
                files.push(SyncedFile::with_detail("stayed", &file.path, &file.detail));
            }
        }
        files
    }

    fn print(&self, heading: Heading, text: &mut Text) {
        if let Some(copies) = &self.copies {
            self.print_copies(copies, text);
        }
        if let Some(placed) = &self.placed {
            if heading == Heading::WithName {
                text.line(text.paint.heading(&self.name));
            }
            self.print_placed(placed, text);
        }
        let name = text.paint.name(&self.name);
        if let Some(pulled) = &self.pulled {
            let files = count(pulled.len(), "file", "files");
            let verb = would(self.dry_run, "pulled", "would pull");
            text.line(format!("{verb} {files} from {name}"));
            print_paths("", pulled, text);
        }
        if let Some(cleaned) = &self.cleaned {
            let files = count(cleaned.removed.len(), "file", "files");
            let verb = would(self.dry_run, "removed", "would remove");
            text.line(format!("{verb} {files} from {name}"));
            cleaned.print(text);
        }
    }

    fn print_copies(&self, copies: &CopyReport, text: &mut Text) {
        let name = text.paint.name(&self.name);
        let summary = if copies.files > 0 {
            copies.summary(&self.name, self.dry_run, text.paint)
        } else if copies.kept > 0 {
            let files = count(copies.kept, "file is", "files are");
            format!("{name}: {files} as in the main worktree")
        } else {
            format!("{name}: there is nothing to copy")
        };
        text.line(summary);
        for line in copies.not_copied(&self.name) {
            text.line(line);
        }
        if self.dry_run {
            for file in &copies.copied {
                text.line(format!("  {}", file.path.shown()));
            }
        }
    }

    fn print_placed(&self, placed: &[PlacedState], text: &mut Text) {
        if placed.is_empty() {
            let name = text.paint.name(&self.name);
            text.line(format!("nothing was placed in {name}"));
        }
        let mut rows = Vec::new();
        for file in placed {
            let paint = if file.drift.is_same() {
                Paint::faint
            } else {
                Paint::warning
            };
            let context = when(file.origin == PlacedOrigin::Context, "(context)");
            rows.push(Row::new(vec![
                Cell::people(file.state()).paint(paint),
                Cell::people(file.path.shown()),
                Cell::people(context).paint(Paint::faint),
            ]));
        }
        text.table(&rows, "");
    }
}

impl CleanedFiles {
    /// Prints the files that were not removed.
    fn print(&self, text: &mut Text) {
        let edited = text.paint.warning("kept, edited here  ");
        print_paths(&edited, &self.edited, text);
        let last = text.paint.warning("kept, gone at source  ");
        print_paths(&last, &self.last, text);
        let kept = text.paint.warning("kept");
        for StayedFile { path, detail } in &self.stayed {
            text.line(format!("  {kept} {}: {detail}", path.shown()));
        }
    }
}

/// Prints a line for each path, with some words before it.
fn print_paths(words: &str, paths: &[PathText], text: &mut Text) {
    for path in paths {
        text.line(format!("  {words}{}", path.shown()));
    }
}
