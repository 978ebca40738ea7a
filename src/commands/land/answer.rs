//! Holds the answer of `git agentwt land`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::remove::RemovalCandidate;
use crate::actions::remove::plan::{Merged, RemovePlan};
use crate::answer::Answer;
use crate::answer::text::{Detail, Text};
use crate::answer::verdict::VerdictReport;
use crate::words::name::{BranchName, CommitId};
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
                let into = &landed.into;
                let from = landed.before.short();
                let to = landed.commit.as_ref();
                let to = to.map_or("a new commit", CommitId::short);
                text.line(match landed.how {
                    "already" => format!("{into} has the work of {name} already: {to}"),
                    how => {
                        let verb = would(one.dry_run, "landed", "would land");
                        format!("{verb} {name} in {into} by {how}: {from}..{to}")
                    }
                });
            }
            if let Some(removal) = &one.removal {
                removal.print(&one.name, &one.path, &one.branch, text);
                // after the answer that it follows from
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
    pub fn is_valid(&self) -> bool {
        self.verdict.as_ref().is_none_or(|verdict| verdict.valid)
    }
}

/// How work was landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandedWork {
    /// The base branch.
    #[schemars(with = "String")]
    pub into: BranchName,
    /// `fast-forward`, `merge`, `squash`, `rebase`, or `already` (the base branch had it).
    pub how: &'static str,
    /// The commit that was verified.
    pub verified: CommitId,
    /// The commit of the base branch before.
    pub before: CommitId,
    /// The commit of the base branch now; null with `-n`, where the commit would be new.
    pub commit: Option<CommitId>,
}

impl LandedWork {
    /// Takes the branch as merged, for its removal.
    pub fn assume_in(&self, candidate: &mut RemovalCandidate) {
        // in these ways the base branch does not have its commits
        let is_content = matches!(self.how, "squash" | "rebase" | "already");
        let merged = is_content.then(|| Merged {
            how: "contained",
            commit: None,
            reference: Some(self.into.full_ref()),
        });
        candidate.assume_merged(&self.verified, merged);
    }
}
