//! The answer of `remove` and `remove --undo`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::{PathField, TrashField};
use crate::answer::{Answer, Text, count};
use crate::name::CommitId;
use crate::size::Size;
use crate::worktree::removal::plan::Merged;

/// The answer of `remove`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemoveAnswer {
    /// The worktrees.
    pub worktrees: Vec<RemovedWorktree>,
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
    pub removal: Option<RemovalField>,
    /// What was undone; absent without `--undo`.
    #[serde(flatten)]
    pub undo: Option<UndoField>,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovalField {
    /// `deleted`, `stays`, `gone` (before), or `private` (to a clone).
    pub branch_fate: &'static str,
    /// How the branch was merged, if only its content was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<MergedField>,
    /// The paths with uncommitted work; null if they were not read.
    pub saved: Option<Vec<PathField>>,
    /// What is kept; absent if everything was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<TrashField>,
    /// The number of ignored files, which are deleted; null if they were not counted.
    pub ignored: Option<usize>,
    /// The directories with ignored files, the largest first.
    pub ignored_places: Vec<IgnoredPlace>,
    /// The branch and its fate in words.
    #[serde(skip)]
    pub branch_words: String,
    /// Whether the whole worktree is kept.
    #[serde(skip)]
    pub is_kept: bool,
    /// The number of commits that a ref keeps.
    #[serde(skip)]
    pub commits: usize,
}

/// How the content of a branch was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergedField {
    /// `picked` (each commit), `squashed` (in one commit) or `contained` (in a ref).
    pub how: &'static str,
    /// The commit that has the content, or the last of these commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The ref that has the content.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl From<&Merged> for MergedField {
    fn from(merged: &Merged) -> Self {
        let (how, commit, reference) = match merged {
            Merged::Picked(commit) => ("picked", Some(commit.clone()), None),
            Merged::Squashed(commit) => ("squashed", Some(commit.clone()), None),
            Merged::Contained(name) => ("contained", None, Some(name.clone())),
        };
        Self {
            how,
            commit,
            reference,
        }
    }
}

/// A directory with ignored files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IgnoredPlace {
    /// The directory.
    pub path: String,
    /// The bytes of the ignored files.
    pub bytes: u64,
}

/// What was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoField {
    /// The commit of HEAD; null if the branch has none.
    pub head: Option<CommitId>,
    /// The directory in the trash that was moved back.
    pub undone: String,
    /// The removals of this name that were in the trash, the newest first.
    pub removals: Vec<TrashField>,
    /// Where HEAD is, in words.
    #[serde(skip)]
    pub place: String,
}

impl Answer for RemoveAnswer {
    const DOCUMENT: &'static str = "remove";

    /// What is kept, or the path of what came back, on stdout; the rest on stderr.
    fn print(&self, text: &mut Text) {
        for one in &self.worktrees {
            if let Some(removal) = &one.removal {
                one.print_removal(removal, text);
            }
            if let Some(undo) = &one.undo {
                one.print_undo(undo, text);
            }
        }
    }
}

impl RemovedWorktree {
    fn print_removal(&self, removal: &RemovalField, text: &mut Text) {
        let (name, path) = (text.paint.name(&self.name), &self.path);
        let (branch, ignored) = (&removal.branch_words, removal.ignored_words());
        let verb = if self.dry_run {
            "would remove"
        } else {
            "removed"
        };
        text.tell(format!("{verb} {name}: {path}, {branch}{ignored}"));
        if let Some(trash) = &removal.trash {
            let shown = trash.shown();
            text.tell(match trash.directory {
                Some(_) => {
                    format!("kept in {shown}; to bring it back: git agentwt remove --undo {name}")
                }
                None => format!("kept its commits; to see them: git log {shown}"),
            });
            text.line(shown);
        } else if self.dry_run && removal.is_kept {
            let files = removal.saved.as_ref().map_or(0, Vec::len);
            let files = count(files, "uncommitted file", "uncommitted files");
            text.tell(format!("  would keep it in the trash, with {files}"));
        } else if self.dry_run && removal.commits > 0 {
            let below = format!("refs/agentwt/trash/{}/", self.name);
            text.tell(format!("  would keep its commits under {below}"));
        }
    }

    fn print_undo(&self, undo: &UndoField, text: &mut Text) {
        let name = text.paint.name(&self.name);
        let UndoField { undone, place, .. } = undo;
        if !self.dry_run {
            text.tell(format!("brought back {name} {place}, from {undone}"));
            return text.line(self.path.as_str());
        }
        text.tell(format!("would bring back {name} {place}, from {undone}"));
        for other in undo.removals.iter().map(TrashField::shown) {
            if other != undone {
                text.tell(format!("  another removal of this name: {other}"));
            }
        }
    }
}

impl RemovalField {
    /// The number of ignored files, and where most of them were.
    fn ignored_words(&self) -> String {
        const SHOWN: usize = 3;
        let number = self.ignored.unwrap_or(0);
        if number == 0 {
            return String::new();
        }
        let files = count(number, "ignored file", "ignored files");
        let places = self.ignored_places.iter().take(SHOWN);
        let mut places: Vec<String> = places
            .map(|place| format!("{} {}", place.path, Size(place.bytes)))
            .collect();
        if self.ignored_places.len() > SHOWN {
            places.push("…".to_owned());
        }
        format!(", {files} ({})", places.join(", "))
    }
}
