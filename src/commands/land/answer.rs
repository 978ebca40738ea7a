//! Holds the answer of `git agentwt land`.

use std::fmt::Display;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::merge::landed::{LandedWork, MergeMethod};
use crate::actions::remove::plan::RemovePlan;
use crate::answer::Answer;
use crate::answer::text::{Detail, Text};
use crate::answer::verdict::VerdictReport;
use crate::words::text::would;

/// The answer of `land`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandAnswer {
    /// The worktrees, as far as the command came.
    pub worktrees: Vec<LandedWorktree>,
    /// Whether what is landed was pushed; absent without `--push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<bool>,
}

impl Answer for LandAnswer {
    const DOCUMENT: &'static str = "land";

    fn print(&self, text: &mut Text) {
        for one in &self.worktrees {
            if let Some(verdict) = &one.verdict {
                verdict.print(text, Detail::Groups);
            }
            if let Some(landed) = &one.landed {
                let name = text.paint.name(&one.name);
                text.line(line_of(landed, &name, one.dry_run_verb()));
            }
            if let Some(removal) = &one.removal {
                removal.print(&one.name, &one.path, &one.branch, text);
                // printed after the line above, as it follows from it
                text.hints += &std::mem::take(&mut text.stderr);
            }
            if !one.is_valid() {
                text.hints += &format!("{} was not landed\n", text.paint.name(&one.name));
            }
        }
    }

    fn verdicts(&self) -> Vec<&VerdictReport> {
        let all = self.worktrees.iter();
        all.filter_map(|one| one.verdict.as_ref()).collect()
    }
}

/// Says where the work of a worktree is now.
fn line_of(landed: &LandedWork, name: impl Display, verb: &str) -> String {
    let into = &landed.into;
    let from = landed.before.short();
    let to = match &landed.commit {
        Some(commit) => commit.short(),
        None => "a new commit",
    };
    match landed.how {
        MergeMethod::Already => format!("{into} has the work of {name} already: {to}"),
        how => format!("{verb} {name} in {into} by {}: {from}..{to}", how.name()),
    }
}

/// A worktree whose work was landed, or has violations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandedWorktree {
    /// The name.
    pub name: String,
    /// The directory.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch.
    pub branch: String,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The verdict; absent if an interrupted removal was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictReport>,
    /// How the work was landed; absent if it was not.
    #[serde(flatten)]
    pub landed: Option<LandedWork>,
    /// The removal; absent with `--keep`, and if the worktree stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal: Option<RemovePlan>,
}

impl LandedWorktree {
    fn dry_run_verb(&self) -> &'static str {
        would(self.dry_run, "landed", "would land")
    }

    pub fn is_valid(&self) -> bool {
        self.verdict.as_ref().is_none_or(|verdict| verdict.valid)
    }
}
