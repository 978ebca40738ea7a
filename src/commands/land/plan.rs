//! Decides how work is landed, or why it is not; pure.

use camino::Utf8PathBuf;

use super::facts::{BaseBranch, LandFacts, Trial};
use crate::cli::Land;
use crate::config::Strategy;
use crate::exit::ExitCode;
use crate::name::{BranchName, CommitId};
use crate::worktree::Record;
use crate::worktree::removal::plan::{RemoveRefusal, shortened};

/// Holds a landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandPlan {
    /// The branch that work is landed in.
    pub into: BranchName,
    /// The commit that it names now.
    pub before: CommitId,
    /// The commit that was verified.
    pub verified: CommitId,
    /// How.
    pub trial: Trial,
    /// The worktree that has the branch checked out; none where only the branch moves.
    pub checkout: Option<Utf8PathBuf>,
}

/// Says why work is not landed: `agentwt::land::<code>`.
pub fn refusal(code: &str, record: &Record, reason: String, help: String) -> RemoveRefusal {
    RemoveRefusal {
        exit: ExitCode::Refused,
        code: format!("land::{code}"),
        message: format!("cannot land worktree `{}`: {reason}", record.name),
        reason,
        help,
    }
}

/// Says that a worktree could not be removed after its work was landed.
pub fn not_removable(record: &Record, refused: &RemoveRefusal) -> RemoveRefusal {
    let start = format!("cannot remove worktree `{}`: ", record.name);
    let reason = refused.message.replacen(&start, "", 1);
    let keep = format!(
        "or keep the worktree: git agentwt land --keep {}",
        record.name
    );
    refusal(
        "in_use",
        record,
        reason,
        format!("{}; {keep}", refused.help),
    )
}

/// Decides.
///
/// # Errors
/// Refuses what would lose work, and what git would have to ask the user about.
pub fn plan(record: &Record, facts: &LandFacts, options: &Land) -> Result<LandPlan, RemoveRefusal> {
    let (name, path, branch) = (&record.name, &record.path, &record.branch);
    let refused = |code, reason, help| Err(refusal(code, record, reason, help));
    let again = format!("git agentwt land {name}");
    if facts.start.starts_with(path) {
        let help = format!("cd {} && {again}", facts.root);
        return refused("inside", "you are inside it".to_owned(), help);
    }
    let Some(verified) = &facts.verified else {
        let reason = format!("it is not on its branch {branch}");
        let help = format!("git -C {path} status, then: git -C {path} switch {branch}");
        return refused("not_on_branch", reason, help);
    };
    if !facts.uncommitted.is_empty() {
        let items = listed(&facts.uncommitted);
        let reason = format!("it has work that is not committed:{items}");
        let help = format!("git -C {path} add -A && git -C {path} commit, then: {again}");
        return refused("uncommitted", reason, help);
    }
    let base = facts.base.as_ref();
    let Some((base, before)) = base.and_then(|base| Some((base, base.tip.as_ref()?))) else {
        let by_hand = format!("to merge by hand: git agentwt verify {name} && git merge {branch}");
        let (reason, help) = if let Some(BaseBranch { branch: gone, .. }) = &facts.base {
            let was = &record.base.commit;
            let again = format!("create it again: git branch {gone} {was}; {by_hand}");
            (format!("its base branch {gone} is gone"), again)
        } else {
            let from = &record.base.revision;
            (
                format!("its base {from} is not another branch here"),
                by_hand,
            )
        };
        return refused("no_base_branch", reason, help);
    };
    if let Some((reason, help)) = in_use(base, &again) {
        return refused("base_in_use", reason, help);
    }
    if let Some((code, reason, help)) = stopped(&facts.trial, record, &base.branch, options) {
        return refused(code, reason, help);
    }
    Ok(LandPlan {
        into: base.branch.clone(),
        before: before.clone(),
        verified: verified.clone(),
        trial: facts.trial.clone(),
        checkout: base.checkouts.first().map(|(path, _)| path.clone()),
    })
}

/// Why the base branch cannot move, with the next commands.
fn in_use(base: &BaseBranch, again: &str) -> Option<(String, String)> {
    let into = &base.branch;
    if let Some(dir) = &base.busy {
        let reason = format!("{into} is being rebased or bisected ({dir})");
        return Some((
            reason,
            format!("finish that there, or abort it, then: {again}"),
        ));
    }
    if let Some((at, changed)) = base.checkouts.iter().find(|(_, all)| !all.is_empty()) {
        let items = listed(changed);
        return Some((
            format!("{into} is checked out in {at}, which has uncommitted changes:{items}"),
            format!("commit them there, or: git -C {at} stash && {again} && git -C {at} stash pop"),
        ));
    }
    let [_, (second, _), ..] = base.checkouts.as_slice() else {
        return None;
    };
    let reason = format!("{into} is checked out twice, in {second} as well");
    let help = format!("switch one away from it: git -C {second} switch <branch>");
    Some((reason, help))
}

/// Why a trial is no landing, with the next commands: those that resolve a conflict in the worktree.
fn stopped(
    trial: &Trial,
    record: &Record,
    into: &BranchName,
    options: &Land,
) -> Option<(&'static str, String, String)> {
    let (name, path, branch) = (&record.name, &record.path, &record.branch);
    let is_rebased = options.rebase || options.ff_only;
    let (resolve, next) = resolution(record, into, is_rebased);
    let again = format!("git agentwt land {name}");
    Some(match trial {
        Trial::Landed | Trial::FastForward | Trial::Tree(_) | Trial::Picked(_) => return None,
        Trial::Conflict(paths) => (
            "conflict",
            format!("it conflicts with {into}:{}", listed(paths)),
            format!(
                "resolve it in the worktree: {resolve}, edit the files, git -C {path} add -A && git -C {path} {next}; then: {again}"
            ),
        ),
        Trial::Diverged => (
            "diverged",
            format!("{into} went on, so it cannot be fast-forwarded"),
            format!("{resolve}, then: {again}; or without --ff-only (merge.ff)"),
        ),
        Trial::HasMerges(commit) => (
            "merges",
            format!("{} is a merge, which a rebase would drop", commit.short()),
            format!("git agentwt land --squash {name}, or without --rebase: {again}"),
        ),
        Trial::Rewound => {
            let base = &record.base.commit;
            let short = base.short();
            (
                "not_verified",
                format!(
                    "{into} does not have its base {short}, so more would be merged than was verified"
                ),
                format!(
                    "see what: git log {into}..{short}; to merge that first: git merge {short}; to leave it out: git -C {path} rebase --onto {into} {short}; then: {again}"
                ),
            )
        }
        Trial::Unrelated => (
            "unrelated",
            format!("{branch} and {into} have no commit in common"),
            format!("push it where it came from: git -C {path} push origin {branch}"),
        ),
    })
}

/// The command that brings the base branch into the worktree, and the one of git that goes on after a
/// conflict.
fn resolution(record: &Record, into: &BranchName, is_rebased: bool) -> (String, &'static str) {
    let path = &record.path;
    let (verb, next) = if is_rebased {
        ("rebase", "rebase --continue")
    } else {
        ("merge", "commit --no-edit")
    };
    let resolve = match record.strategy {
        Strategy::Worktree => format!("git -C {path} {verb} {into}"),
        // a clone has its own branches
        Strategy::Clone => {
            format!("git -C {path} fetch ../../.. {into} && git -C {path} {verb} FETCH_HEAD")
        }
    };
    (resolve, next)
}

fn listed(items: &[String]) -> String {
    let items = shortened(items.iter().cloned());
    items.iter().map(|item| format!("\n  {item}")).collect()
}
