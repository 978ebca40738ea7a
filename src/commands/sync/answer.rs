//! The answer of `sync`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::shapes::{CopiesField, PathField, PlacedField, SavedField};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
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
    pub copies: Option<CopiesField>,
    /// The placed files and their state; only with `--status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Vec<PlacedField>>,
    /// The edited files that were copied back; only with `--pull`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulled: Option<Vec<PathField>>,
    /// The number of files that were given and are unchanged; only with `--pull`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<usize>,
    /// What was removed; only with `--clean`.
    #[serde(flatten)]
    pub cleaned: Option<CleanedFiles>,
    /// Where replaced files are saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue: Option<SavedField>,
}

/// The files of `--clean`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CleanedFiles {
    /// The unchanged copies that were removed.
    pub removed: Vec<PathField>,
    /// The files that were edited in the worktree.
    pub edited: Vec<PathField>,
    /// The files that the main worktree does not have any more: these are the last copies.
    pub last: Vec<PathField>,
    /// The files that could not be removed.
    pub stayed: Vec<StayedFile>,
}

/// A file that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StayedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathField,
    /// Why the file could not be removed.
    pub detail: String,
}

impl Answer for SyncAnswer {
    const DOCUMENT: &'static str = "sync";

    fn print(&self, text: &mut Text) {
        for one in &self.worktrees {
            one.print(self.worktrees.len() > 1, text);
            if let Some(rescue) = &one.rescue {
                let saved = &rescue.reference;
                text.line(format!("  replaced files are saved in {saved}"));
            }
        }
    }

    /// The records: name, what became of the file or its state, path, and a detail.
    fn rows(&self) -> Vec<Row> {
        let row = |one: &SyncedWorktree| -> Vec<Row> {
            let name = one.name.as_bytes();
            let files = one.files().into_iter();
            let row = |(word, path, detail): (String, &PathField, String)| {
                Row::record(&[name, word.as_bytes(), path.bytes(), detail.as_bytes()])
            };
            files.map(row).collect()
        };
        self.worktrees.iter().flat_map(row).collect()
    }
}

impl SyncedWorktree {
    /// The files: what became of each or its state, the path, and a detail.
    fn files(&self) -> Vec<(String, &PathField, String)> {
        let mut files = Vec::new();
        let mut push = |word: &str, path, detail: &str| {
            files.push((word.to_owned(), path, detail.to_owned()));
        };
        if let Some(copies) = &self.copies {
            let word = would(self.dry_run, "copied", "would-copy");
            for file in &copies.copied {
                push(word, &file.path, &file.bytes.to_string());
            }
            for file in &copies.excluded {
                push("excluded", &file.path, &file.rule);
            }
            for path in &copies.tracked {
                push("tracked", path, "");
            }
        }
        for placed in self.placed.iter().flatten() {
            push(&placed.state(), &placed.path, placed.origin);
        }
        for path in self.pulled.iter().flatten() {
            push(would(self.dry_run, "pulled", "would-pull"), path, "");
        }
        if let Some(cleaned) = &self.cleaned {
            let word = would(self.dry_run, "removed", "would-remove");
            let [removed, edited, last] = [&cleaned.removed, &cleaned.edited, &cleaned.last];
            for (word, paths) in [
                (word, removed),
                ("edited", edited),
                ("gone at source", last),
            ] {
                paths.iter().for_each(|path| push(word, path, ""));
            }
            for file in &cleaned.stayed {
                push("stayed", &file.path, &file.detail);
            }
        }
        files
    }

    fn print(&self, headed: bool, text: &mut Text) {
        let name = text.paint.name(&self.name);
        let list = |text: &mut Text, before: &str, paths: &mut dyn Iterator<Item = &PathField>| {
            paths.for_each(|path| text.line(format!("  {before}{}", path.shown())));
        };
        if let Some(copies) = &self.copies {
            text.line(match (copies.files, copies.kept) {
                (0, 0) => format!("{name}: there is nothing to copy"),
                (0, kept) => {
                    let files = count(kept, "file is", "files are");
                    format!("{name}: {files} as in the main worktree")
                }
                _ => copies.summary(&self.name, self.dry_run, text.paint),
            });
            let left_out = copies.left_out(&self.name);
            left_out.iter().for_each(|line| text.line(line));
            if self.dry_run {
                list(text, "", &mut copies.copied.iter().map(|file| &file.path));
            }
        }
        if let Some(placed) = &self.placed {
            if headed {
                text.line(text.paint.heading(&self.name));
            }
            if placed.is_empty() {
                text.line(format!("nothing was placed in {name}"));
            }
            let row = |placed: &PlacedField| {
                let is_same = placed.state == ["same"];
                let paint = if is_same {
                    Paint::faint
                } else {
                    Paint::warning
                };
                let is_context = placed.origin == "context";
                let context = when(is_context, "(context)");
                Row::new(vec![
                    Cell::people(placed.state()).paint(paint),
                    Cell::people(placed.path.shown()),
                    Cell::people(context).paint(Paint::faint),
                ])
            };
            text.table(&placed.iter().map(row).collect::<Vec<_>>(), "");
        }
        if let Some(pulled) = &self.pulled {
            let files = count(pulled.len(), "file", "files");
            let verb = would(self.dry_run, "pulled", "would pull");
            text.line(format!("{verb} {files} from {name}"));
            list(text, "", &mut pulled.iter());
        }
        if let Some(cleaned) = &self.cleaned {
            let files = count(cleaned.removed.len(), "file", "files");
            let verb = would(self.dry_run, "removed", "would remove");
            text.line(format!("{verb} {files} from {name}"));
            let edited = text.paint.warning("kept, edited here  ");
            list(text, &edited, &mut cleaned.edited.iter());
            let only = text.paint.warning("kept, gone at source  ");
            list(text, &only, &mut cleaned.last.iter());
            for StayedFile { path, detail } in &cleaned.stayed {
                let kept = text.paint.warning("kept");
                text.line(format!("  {kept} {}: {detail}", path.shown()));
            }
        }
    }
}
