//! What was copied from the main worktree, for `add` and `sync`.

use schemars::JsonSchema;
use serde::Serialize;

use super::shapes::{PathField, paths};
use super::{Paint, count};
use crate::size::Size;
use crate::sync::SyncPlan;

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

impl From<&SyncPlan> for CopiesField {
    fn from(plan: &SyncPlan) -> Self {
        let copied = plan.files().map(|one| CopiedFile {
            path: PathField::from(&one.path),
            bytes: one.stat.size,
        });
        let excluded = plan.excluded.iter().map(|(path, rule)| ExcludedFile {
            path: PathField::from(path),
            rule: rule.clone(),
        });
        Self {
            files: plan.files().count(),
            bytes: plan.bytes(),
            copied: copied.collect(),
            kept: plan.kept,
            excluded: excluded.collect(),
            tracked: paths(&plan.tracked),
        }
    }
}

impl CopiesField {
    /// The number of files and their size: `3 files (2.5 MB)`.
    pub fn size(&self) -> String {
        format!(
            "{} ({})",
            count(self.files, "file", "files"),
            Size(self.bytes)
        )
    }

    /// What was copied: `copied 3 files (2.5 MB) into task-5`.
    pub fn summary(&self, name: &str, dry_run: bool, paint: Paint) -> String {
        let verb = if dry_run { "would copy" } else { "copied" };
        format!("{verb} {} into {}", self.size(), paint.name(name))
    }

    /// What was selected and is not copied, a line each.
    pub fn left_out(&self, name: &str) -> Vec<String> {
        let excluded = self.excluded.iter().take(SHOWN);
        let not_copied = |path: &PathField| format!("  {} is not copied", path.shown());
        let mut lines: Vec<String> = excluded
            .map(|one| format!("{}: {}", not_copied(&one.path), one.rule))
            .collect();
        if let more @ 1.. = self.excluded.len().saturating_sub(SHOWN) {
            let more = count(more, "file", "files");
            lines.push(format!("  and {more} more that the scope excludes"));
        }
        let tracked = self.tracked.iter().take(SHOWN);
        lines.extend(tracked.map(|path| format!("{}: it is tracked in {name}", not_copied(path))));
        lines
    }
}
