//! Plans a merge from facts: where it is made, by which method, and what the base branch gets;
//! pure.

use camino::Utf8PathBuf;

use crate::actions::merge::landed::{LandedWork, MergeMethod};
use crate::actions::merge::obstacle::MergeObstacle;
use crate::actions::merge::work::MergeWish;
use crate::words::entry::ObjectId;
use crate::words::name::{BranchName, CommitId};

/// What stands in the worktree, and at the base branch.
#[derive(Clone, Debug)]
pub struct PlaceFacts {
    /// The command of git that is in progress in the worktree.
    pub operation: Option<&'static str>,
    /// Whether a command runs in a fence there.
    pub has_running_command: bool,
    /// The command of git that a command in a fence left unfinished in its own git directory: the
    /// worktree has its files.
    pub operation_of_run: Option<&'static str>,
    /// The verified commit of the worktree's branch; none where HEAD is not on it.
    pub verified: Option<CommitId>,
    /// The paths with work that is not committed.
    pub uncommitted: Vec<String>,
    /// The base branch.
    pub base: BaseBranchState,
    /// The worktrees that have it checked out.
    pub checkouts: Vec<BaseCheckout>,
    /// The git directory in which it is rebased or bisected.
    pub busy: Option<Utf8PathBuf>,
}

/// The branch from which the base of the worktree was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseBranchState {
    /// The base was no other branch.
    Unknown,
    /// The branch is gone.
    Gone(BranchName),
    /// It is there.
    At(BaseTip),
}

/// A base branch, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseTip {
    /// The branch.
    pub name: BranchName,
    /// Its commit.
    pub at: CommitId,
}

/// A worktree that has the base branch checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseCheckout {
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its tracked files with uncommitted changes.
    pub changed: Vec<String>,
    /// The command of git that is in progress there.
    pub operation: Option<&'static str>,
}

/// Where a merge is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePlace {
    /// The base branch.
    pub base: BaseTip,
    /// The commit that was verified.
    pub verified: CommitId,
    /// The worktree that has the base branch checked out; none where only the branch moves.
    pub checkout: Option<Utf8PathBuf>,
}

/// Decides where the merge is made.
///
/// # Errors
/// Refuses what would lose work, or stand in the way.
pub fn choose_place(facts: &PlaceFacts) -> Result<MergePlace, MergeObstacle> {
    if facts.has_running_command {
        return Err(MergeObstacle::CommandRuns);
    }
    if let Some(operation) = facts.operation {
        return Err(MergeObstacle::Operation(operation));
    }
    if let Some(operation) = facts.operation_of_run {
        return Err(MergeObstacle::OperationOfRun(operation));
    }
    let Some(verified) = &facts.verified else {
        return Err(MergeObstacle::NotOnBranch);
    };
    if !facts.uncommitted.is_empty() {
        return Err(MergeObstacle::Uncommitted(facts.uncommitted.clone()));
    }
    let base = match &facts.base {
        BaseBranchState::Unknown => return Err(MergeObstacle::NoBaseBranch { gone: None }),
        BaseBranchState::Gone(name) => {
            let gone = Some(name.clone());
            return Err(MergeObstacle::NoBaseBranch { gone });
        }
        BaseBranchState::At(base) => base,
    };
    Ok(MergePlace {
        base: base.clone(),
        verified: verified.clone(),
        checkout: checkout(facts, base)?,
    })
}

/// The worktree in which the base branch can move, if one has it checked out.
fn checkout(facts: &PlaceFacts, base: &BaseTip) -> Result<Option<Utf8PathBuf>, MergeObstacle> {
    for checkout in &facts.checkouts {
        if let Some(operation) = checkout.operation {
            return Err(MergeObstacle::BaseOperation {
                into: base.name.clone(),
                checkout: checkout.path.clone(),
                operation,
            });
        }
        if !checkout.changed.is_empty() {
            return Err(MergeObstacle::BaseChanged {
                into: base.name.clone(),
                checkout: checkout.path.clone(),
                changed: checkout.changed.clone(),
            });
        }
    }
    let second = facts.checkouts.get(1).map(|checkout| &checkout.path);
    if let Some(at) = facts.busy.as_ref().or(second) {
        return Err(MergeObstacle::BaseBusy {
            into: base.name.clone(),
            at: at.clone(),
        });
    }
    let first = facts.checkouts.first();
    Ok(first.map(|checkout| checkout.path.clone()))
}

/// How the work and the base branch stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryFacts {
    /// Which of them has commits of its own.
    pub relation: Relation,
    /// Who has the commit that the work began from.
    pub start: StartOfWork,
    /// The user's setting `merge.ff`.
    pub setting: FastForwardSetting,
}

/// Says whether the work or the base branch has commits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The base branch has the commits of the work.
    Contained,
    /// Only the work has commits of its own.
    Ahead,
    /// Both have commits of their own.
    Diverged,
}

/// Says who has the commit that the work began from. What came before it is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOfWork {
    /// The base branch has it, or the work has left it too.
    InBaseBranch,
    /// Only the work has it.
    OnlyInWork,
}

/// The setting `merge.ff` (git-config(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastForwardSetting {
    /// `true`, or not set.
    Allowed,
    /// `false`: a merge commit, also where a fast-forward would do.
    Never,
    /// `only`.
    Only,
}

/// Decides by which method the base branch gets the work.
///
/// # Errors
/// Refuses where more would be merged than was verified, or only a fast-forward is wanted and not
/// possible.
pub fn choose_method(
    facts: &HistoryFacts,
    wish: MergeWish,
    into: &BranchName,
) -> Result<MergeMethod, MergeObstacle> {
    if facts.relation == Relation::Contained {
        // first: where nothing is merged, nothing had to be verified
        return Ok(MergeMethod::Already);
    }
    if facts.start == StartOfWork::OnlyInWork {
        return Err(MergeObstacle::NotVerified(into.clone()));
    }
    if facts.relation == Relation::Ahead {
        // `merge.ff` counts only where the user did not say how
        return Ok(match wish {
            MergeWish::Squash => MergeMethod::Squash,
            MergeWish::AsConfigured if facts.setting == FastForwardSetting::Never => {
                MergeMethod::Merge
            }
            MergeWish::AsConfigured | MergeWish::FastForwardOnly | MergeWish::Rebase => {
                MergeMethod::FastForward
            }
        });
    }
    // both have commits of their own
    match wish {
        MergeWish::Squash => Ok(MergeMethod::Squash),
        MergeWish::Rebase => Ok(MergeMethod::Rebase),
        MergeWish::FastForwardOnly => Err(MergeObstacle::Diverged(into.clone())),
        MergeWish::AsConfigured => match facts.setting {
            FastForwardSetting::Allowed | FastForwardSetting::Never => Ok(MergeMethod::Merge),
            FastForwardSetting::Only => Err(MergeObstacle::Diverged(into.clone())),
        },
    }
}

/// What came of trying to create the commits of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// These are to be created, the oldest first; none for a method that creates none, and where
    /// the files of the base branch would not change.
    Commits(Vec<NewCommit>),
    /// The same lines changed in these paths.
    Conflict(Vec<String>),
    /// A rebase would drop this merge.
    MergeAmongCommits(CommitId),
}

/// A commit that is to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCommit {
    /// The commit that it comes from.
    pub source: CommitId,
    /// Its tree.
    pub tree: ObjectId,
}

/// How work is merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePlan {
    /// What is landed, and how.
    pub landed: LandedWork,
    /// The commits to create, the oldest first.
    pub new: Vec<NewCommit>,
    /// The worktree that has the base branch checked out; none where only the branch moves.
    pub checkout: Option<Utf8PathBuf>,
}

/// Plans the merge, after it was tried.
///
/// # Errors
/// Refuses where the trial failed.
pub fn plan(
    place: MergePlace,
    method: MergeMethod,
    trial: Trial,
) -> Result<MergePlan, MergeObstacle> {
    let MergePlace {
        base,
        verified,
        checkout,
    } = place;
    let new = match trial {
        Trial::Commits(new) => new,
        Trial::Conflict(paths) => {
            let into = base.name;
            return Err(MergeObstacle::Conflict { into, paths });
        }
        Trial::MergeAmongCommits(commit) => return Err(MergeObstacle::MergeAmongCommits(commit)),
    };
    let creates_commits = matches!(
        method,
        MergeMethod::Merge | MergeMethod::Squash | MergeMethod::Rebase
    );
    // a merge that would change nothing is none
    let how = if creates_commits && new.is_empty() {
        MergeMethod::Already
    } else {
        method
    };
    let commit = match how {
        MergeMethod::Already => Some(base.at.clone()),
        MergeMethod::FastForward => Some(verified.clone()),
        // known once it is created
        MergeMethod::Merge | MergeMethod::Squash | MergeMethod::Rebase => None,
    };
    Ok(MergePlan {
        landed: LandedWork {
            into: base.name,
            how,
            verified,
            before: base.at,
            commit,
        },
        new,
        checkout,
    })
}

#[cfg(test)]
mod tests;
