//! The answer of `prune`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::TrashField;
use crate::answer::{Answer, Row, Text, one_line};
use crate::path::escape_for_terminal;
use crate::worktree::leftover::LeftoverKind;

/// The answer of `prune`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PruneAnswer {
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The candidates.
    pub candidates: Vec<PrunedCandidate>,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PrunedCandidate {
    /// `removed`, `would-remove`, `kept` or `failed`.
    pub done: &'static str,
    /// `worktree`, `trash`, `lock`, …
    #[schemars(with = "String")]
    pub kind: LeftoverKind,
    /// The name or the path.
    pub what: String,
    /// Why.
    pub why: String,
    /// How to go on; absent if there is nothing more to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The branch of a removed worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether the branch was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_deleted: Option<bool>,
    /// What is kept of a removed worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<TrashField>,
    /// The branch and its fate in words.
    #[serde(skip)]
    pub branch_words: String,
}

impl PrunedCandidate {
    pub(super) fn new(kind: LeftoverKind, what: &str, done: &'static str, why: String) -> Self {
        Self {
            done,
            kind,
            what: what.to_owned(),
            why,
            help: None,
            branch: None,
            branch_deleted: None,
            trash: None,
            branch_words: String::new(),
        }
    }

    fn stays(&self) -> bool {
        matches!(self.done, "kept" | "failed")
    }

    fn print(&self, text: &mut Text) {
        let paint = text.paint;
        let what = paint.name(&escape_for_terminal(self.what.as_bytes()));
        let mut why = one_line(&self.why);
        if self.done == "failed" {
            why = paint.bad(&format!("could not be removed: {why}"));
        }
        if !self.branch_words.is_empty() {
            why.push_str(&format!("; {}", self.branch_words));
        }
        if let Some(trash) = &self.trash {
            why.push_str(&format!("; kept in {}", trash.shown()));
        }
        text.line(format!("  {} {what}: {why}", self.kind.as_str()));
        if let Some(help) = &self.help {
            let label = paint.faint("to go on:");
            text.line(format!("    {label} {}", one_line(help)));
        }
    }
}

impl Answer for PruneAnswer {
    const DOCUMENT: &'static str = "prune";

    fn print(&self, text: &mut Text) {
        let heading = if self.dry_run {
            "would remove"
        } else {
            "removed"
        };
        for (heading, stays) in [(heading, false), ("kept", true)] {
            let all = self.candidates.iter();
            let mut all = all.filter(|one| one.stays() == stays).peekable();
            if all.peek().is_some() {
                text.line(text.paint.heading(heading));
            }
            all.for_each(|one| one.print(text));
        }
        if self.candidates.is_empty() {
            text.tell("nothing to prune");
        }
    }

    /// The records: what became of it, kind, what, why, how to go on, and where it is kept.
    fn rows(&self) -> Vec<Row> {
        let row = |one: &PrunedCandidate| {
            let help = one.help.as_deref().unwrap_or_default();
            let kept = one.trash.as_ref().map_or("", TrashField::shown);
            let fields = [one.done, one.kind.as_str(), &one.what, &one.why, help, kept];
            Row::record(&fields.map(str::as_bytes))
        };
        self.candidates.iter().map(row).collect()
    }
}
