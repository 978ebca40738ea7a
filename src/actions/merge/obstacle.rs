//! Says why work cannot be merged, before anything is changed.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::merge::refusal::{cannot_land, listed};
use crate::actions::merge::work::{MergeWish, WorkToMerge};
use crate::config::value::Strategy;
use crate::disk::files;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{BranchName, CommitId};
use crate::words::path::shell_word;
use crate::worktree::operation::{way_to_branch, way_to_name_back, ways_to_end};
use crate::worktree::private_git::PrivateGit;

/// Why work cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeObstacle {
    /// A command runs in a fence there.
    CommandRuns,
    /// This command of git is in progress in the worktree.
    Operation(&'static str),
    /// A command in a fence left this command of git unfinished.
    OperationOfRun(&'static str),
    /// HEAD is not on the branch of the worktree.
    NotOnBranch,
    /// These paths are not committed.
    Uncommitted(Vec<String>),
    /// The base of the worktree is no branch here.
    NoBaseBranch {
        /// The base branch, which is gone; none where the base never was another branch.
        gone: Option<BranchName>,
    },
    /// The worktree that has the base branch checked out is in the middle of a command of git.
    BaseOperation {
        /// The base branch.
        into: BranchName,
        /// The worktree.
        checkout: Utf8PathBuf,
        /// The command.
        operation: &'static str,
    },
    /// The worktree that has the base branch checked out has uncommitted changes.
    BaseChanged {
        /// The base branch.
        into: BranchName,
        /// The worktree.
        checkout: Utf8PathBuf,
        /// The changed files.
        changed: Vec<String>,
    },
    /// The base branch is rebased or bisected, or checked out twice.
    BaseBusy {
        /// The base branch.
        into: BranchName,
        /// Where.
        at: Utf8PathBuf,
    },
    /// The base branch does not have the base: more would be merged than was verified.
    NotVerified(BranchName),
    /// The base branch has other commits, and only a fast-forward is wanted.
    Diverged(BranchName),
    /// A rebase would drop this merge.
    MergeAmongCommits(CommitId),
    /// These paths would change that were not verified, and that the scope does not let it write.
    Carried {
        /// The base branch.
        into: BranchName,
        /// The paths.
        paths: Vec<String>,
    },
    /// The work and the base branch change the same.
    Conflict {
        /// The base branch.
        into: BranchName,
        /// The paths in conflict.
        paths: Vec<String>,
    },
}

impl MergeObstacle {
    const fn code(&self) -> &'static str {
        match self {
            Self::CommandRuns => "running",
            Self::Operation(_) | Self::OperationOfRun(_) => "operation",
            Self::NotOnBranch => "not_on_branch",
            Self::Uncommitted(_) => "uncommitted",
            Self::NoBaseBranch { .. } => "no_base_branch",
            Self::BaseOperation { .. } | Self::BaseChanged { .. } | Self::BaseBusy { .. } => {
                "base_in_use"
            }
            Self::NotVerified(_) => "not_verified",
            Self::Diverged(_) => "diverged",
            Self::MergeAmongCommits(_) => "merges",
            Self::Carried { .. } => "carried",
            Self::Conflict { .. } => "conflict",
        }
    }

    fn reason(&self, work: &WorkToMerge<'_>) -> String {
        let record = &work.worktree.record;
        match self {
            Self::CommandRuns => "a command is running in its fence".to_owned(),
            Self::Operation(operation) => format!("a {operation} is in progress there"),
            Self::OperationOfRun(operation) => {
                format!("a command in its fence left a {operation} unfinished")
            }
            Self::NotOnBranch => format!("it is not on its branch {}", record.branch),
            Self::Uncommitted(paths) => {
                format!("it has work that is not committed:{}", listed(paths))
            }
            Self::NoBaseBranch { .. } => {
                let base = &record.base.revision;
                format!("its base {base} is not another branch here")
            }
            Self::BaseOperation {
                into,
                checkout,
                operation,
            } => format!("{into} is checked out in {checkout}, where a {operation} is in progress"),
            Self::BaseChanged {
                into,
                checkout,
                changed,
            } => format!(
                "{into} is checked out in {checkout}, which has uncommitted changes:{}",
                listed(changed)
            ),
            Self::BaseBusy { into, at } => {
                format!("{into} is being rebased or bisected, or checked out twice: see {at}")
            }
            Self::NotVerified(into) => format!(
                "{into} does not have its base {}, so more would be merged than was verified",
                record.base.commit.short()
            ),
            Self::Diverged(into) => format!("{into} went on, so it cannot be fast-forwarded"),
            Self::MergeAmongCommits(commit) => {
                format!("{} is a merge, which a rebase would drop", commit.short())
            }
            Self::Carried { into, paths } => format!(
                "{into} renamed files that it changed to where its scope does not let it write:{}",
                listed(paths)
            ),
            Self::Conflict { into, paths } => {
                format!("it conflicts with {into}:{}", listed(paths))
            }
        }
    }

    fn help(&self, work: &WorkToMerge<'_>) -> String {
        let name = &work.worktree.record.name;
        let path = shell_word(work.worktree.record.path.as_str());
        let again = &work.request.command;
        match self {
            Self::CommandRuns => format!("wait until it has ended, then: {again}"),
            Self::Operation(operation) => {
                help_with_operation(operation, &work.worktree.record.path, again)
            }
            Self::OperationOfRun(operation) => format!(
                "finish or abort it in the fence: git agentwt exec {name} (opens a shell there; \
                 git {operation} --continue, or --abort); then: {again}"
            ),
            Self::NotOnBranch => help_off_branch(work),
            Self::Uncommitted(paths) => {
                let mut first = advice_on_run(work);
                first.push_str(&advice_on_submodules(work, paths));
                format!("{first}git -C {path} add -A && git -C {path} commit, then: {again}")
            }
            Self::NoBaseBranch { gone } => help_without_base(work, gone.as_ref()),
            Self::BaseOperation {
                checkout,
                operation,
                ..
            } => help_with_operation(operation, checkout, again),
            // the changes come back also where the next try is refused
            Self::BaseChanged { checkout, .. } => format!(
                "commit them there, or: git -C {0} stash && {{ {again}; git -C {0} stash pop \
                 --index; }}",
                shell_word(checkout.as_str())
            ),
            Self::BaseBusy { .. } => {
                format!("finish or abort that, or switch there, then: {again}")
            }
            Self::NotVerified(into) => help_with_unverified(work, into),
            Self::Diverged(into) => format!(
                "{}, then: {again}; or without --ff-only (merge.ff)",
                bring_base_in(work, into)
            ),
            Self::MergeAmongCommits(_) => format!(
                "git agentwt land --squash {name}, or without --rebase: git agentwt land {name}"
            ),
            Self::Carried { into, .. } => format!(
                "bring {into} in, and decide there what stays: {}; git agentwt verify {name}",
                bring_base_in(work, into)
            ),
            Self::Conflict { into, .. } => help_with_conflict(work, into),
        }
    }
}

impl WorkToMerge<'_> {
    /// Makes the error of an obstacle.
    pub fn refuse(&self, obstacle: &MergeObstacle) -> Error {
        let name = &self.worktree.record.name;
        let code = obstacle.code();
        let reason = obstacle.reason(self);
        let help = obstacle.help(self);
        cannot_land(name, ExitCode::Refused, code, reason, help).into()
    }
}

fn help_with_operation(operation: &str, place: &Utf8Path, again: &str) -> String {
    let ways = ways_to_end(operation, place);
    format!("{ways}; then: {again}")
}

fn help_off_branch(work: &WorkToMerge<'_>) -> String {
    let record = &work.worktree.record;
    let path = shell_word(record.path.as_str());
    let switch = way_to_branch(record);
    let rename = way_to_name_back(record);
    format!("git -C {path} status, then: {switch}; or where it was renamed: {rename}")
}

/// Says to import first what a command in a fence left: a commit of its files would part from its
/// commits.
fn advice_on_run(work: &WorkToMerge<'_>) -> String {
    if !PrivateGit::new(work.worktree).is_there() {
        return String::new();
    }
    let name = &work.worktree.record.name;
    format!("git agentwt exec {name} -- true; then, if something is left: ")
}

/// Says to commit in the submodules among these paths first: `git add` in the worktree around them
/// takes only what is committed there.
fn advice_on_submodules(work: &WorkToMerge<'_>, paths: &[String]) -> String {
    let mut advice = String::new();
    for path in paths {
        let directory = work.worktree.record.path.join(path);
        if files::exists(&directory.join(".git")) {
            let place = shell_word(directory.as_str());
            advice.push_str(&format!(
                "git -C {place} status, and commit or remove what it lists; then: "
            ));
        }
    }
    advice
}

fn help_without_base(work: &WorkToMerge<'_>, gone: Option<&BranchName>) -> String {
    let record = &work.worktree.record;
    let mut help = String::new();
    if let Some(gone) = gone {
        let commit = &record.base.commit;
        help = format!("to create it again: git branch {gone} {commit}; ");
    }
    let name = &record.name;
    let branch = &record.branch;
    help += &format!("to merge by hand: git agentwt verify {name} && git merge {branch}");
    help
}

fn help_with_unverified(work: &WorkToMerge<'_>, into: &BranchName) -> String {
    let path = shell_word(work.worktree.record.path.as_str());
    let start = work.worktree.record.base.commit.short();
    let again = &work.request.command;
    format!(
        "see what: git log {into}..{start}; to merge that first: git merge {start}; to leave it \
         out: git -C {path} rebase --onto {into} {start}; then: {again}"
    )
}

fn help_with_conflict(work: &WorkToMerge<'_>, into: &BranchName) -> String {
    let path = shell_word(work.worktree.record.path.as_str());
    let again = &work.request.command;
    let next = match work.request.wish {
        MergeWish::Rebase => "rebase --continue",
        MergeWish::AsConfigured | MergeWish::FastForwardOnly | MergeWish::Squash => {
            "commit --no-edit"
        }
    };
    format!(
        "resolve it in the worktree: {}, edit the files, git -C {path} add -A && git -C {path} \
         {next}; then: {again}",
        bring_base_in(work, into)
    )
}

/// The command that brings the base branch into the worktree.
fn bring_base_in(work: &WorkToMerge<'_>, into: &BranchName) -> String {
    let path = shell_word(work.worktree.record.path.as_str());
    let verb = match work.request.wish {
        MergeWish::Rebase | MergeWish::FastForwardOnly => "rebase",
        MergeWish::AsConfigured | MergeWish::Squash => "merge",
    };
    match work.worktree.record.strategy {
        Strategy::Worktree => format!("git -C {path} {verb} {into}"),
        // a clone has its own branches
        Strategy::Clone => {
            format!("git -C {path} fetch ../../.. {into} && git -C {path} {verb} FETCH_HEAD")
        }
    }
}
