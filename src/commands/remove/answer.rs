//! Holds the answer of `git agentwt remove`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::remove::plan::RemovePlan;
use crate::actions::trash::entry::Trashed;
use crate::answer::Answer;
use crate::answer::text::Text;
use crate::record::worktree::Record;
use crate::words::name::{CommitId, branch_of};
use crate::words::text::would;

/// The answer of `remove`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemoveAnswer {
    /// The worktrees.
    pub worktrees: Vec<RemovedWorktree>,
}

impl Answer for RemoveAnswer {
    const DOCUMENT: &'static str = "remove";

    /// What is kept, or the path of what came back, on stdout; the rest on stderr.
    fn print(&self, text: &mut Text) {
        for one in &self.worktrees {
            if let Some(removal) = &one.removal {
                removal.print(&one.name, &one.path, &one.branch, text);
                if let Some(kept) = removal.trash.as_ref().and_then(Trashed::lasting) {
                    text.line(kept);
                }
            }
            if let Some(undo) = &one.undo {
                undo.print(one, text);
            }
        }
    }
}

/// A worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovedWorktree {
    /// The name.
    pub name: String,
    /// The directory.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch.
    pub branch: String,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The removal; absent with `--undo`.
    #[serde(flatten)]
    pub removal: Option<RemovePlan>,
    /// What was undone; absent without `--undo`.
    #[serde(flatten)]
    pub undo: Option<UndoneRemoval>,
}

impl RemovedWorktree {
    /// A worktree of which nothing is said yet but what its record says.
    pub fn new(record: &Record) -> Self {
        Self {
            name: record.name.to_string(),
            path: record.path.clone(),
            branch: record.branch.to_string(),
            dry_run: false,
            removal: None,
            undo: None,
        }
    }
}

/// What was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoneRemoval {
    /// The commit of HEAD; null if the branch has none.
    pub head: Option<CommitId>,
    /// The directory in the trash that was moved back.
    pub undone: String,
    /// The removals of this name that were in the trash, the newest first.
    pub removals: Vec<Trashed>,
    /// The ref that HEAD names; null if HEAD is detached.
    pub head_ref: Option<String>,
}

impl UndoneRemoval {
    /// Prints what was undone.
    pub fn print(&self, worktree: &RemovedWorktree, text: &mut Text) {
        let name = text.paint.name(&worktree.name);
        let done = would(worktree.dry_run, "brought back", "would bring back");
        let head = self.head_text();
        text.tell(format!("{done} {name} {head}, from {}", self.undone));
        if !worktree.dry_run {
            text.line(worktree.path.as_str());
        }
    }

    /// Where HEAD is, in words.
    fn head_text(&self) -> String {
        let head_ref = self.head_ref.as_deref();
        let branch = head_ref.map(branch_of);
        match (branch, &self.head) {
            (Some(branch), None) => format!("on branch {branch}, which has no commit yet"),
            (Some(branch), Some(head)) => format!("at {}, branch {branch}", head.short()),
            (None, Some(head)) => format!("at {}, on no branch", head.short()),
            (None, None) => "with a HEAD that cannot be read".to_owned(),
        }
    }
}
