//! The answer of `exec` and `run`.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::bring::kept_refs;
use crate::answer::Answer;
use crate::answer::shapes::BranchMove;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::verdict::VerdictReport;
use crate::answer::waiting::WaitingRun;
use crate::fence::supervise::CommandEnd;
use crate::git::environment::GitMode;
use crate::judge::change::Kind;
use crate::judge::finding::Finding;
use crate::record::run::Leftover;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::{BRANCH_REF, PrivateGit};
use crate::worktree::repository::Repository;

/// The answer of `exec` and `run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ExecAnswer {
    /// The run in one worktree; absent with `--all`.
    #[serde(flatten)]
    pub run: Option<ExecRun>,
    /// The runs of `--all`; absent for one worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<FleetRun>>,
    /// The policy, rendered as `--print-policy` asks.
    #[serde(skip)]
    pub policy: Option<Vec<u8>>,
}

/// What became of a command in a worktree, and of the worktree.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExecRun {
    /// The worktree.
    pub name: String,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch of the worktree.
    pub branch: String,
    /// How the command ended.
    pub command: CommandOutcome,
    /// The exit status of this program: that of the command, unless its changes are refused.
    pub status: u8,
    /// The verdict over the worktree with the commits of the command.
    pub verdict: VerdictReport,
    /// Where the branch was and where it is now; absent if it did not move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<BranchMove>,
    /// The same of the import of what an earlier command had left; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_before: Option<BranchMove>,
    /// The ref of the commits to which the branch did not move; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incoming: Option<String>,
    /// What was kept beside the branch: commits, stashes and branches of the command, and what it
    /// staged.
    pub kept: Vec<KeptWork>,
    /// What waits for the next command; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingRun>,
    /// What the command left in its git directory beside commits, which stays for the next command:
    /// `operation`, `other-head`, `stash`, `repositories`, `unfetched-commits`, `unfetched-files`,
    /// `locked-index`; absent if it left nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub left: Vec<Leftover>,
    /// With `run --rm`: whether the worktree was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<bool>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandOutcome {
    /// `exit` (by itself), `signal` (a signal ended it) or `timeout` (its time was over).
    pub ended: &'static str,
    /// The exit status, or the number of the signal; absent after `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u8>,
}

/// What is kept of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct KeptWork {
    /// The ref, or the directory of a git directory that cannot be read.
    pub place: String,
    /// The commit that the ref names; absent for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

impl From<CommandEnd> for CommandOutcome {
    fn from(ended: CommandEnd) -> Self {
        let (ended, number) = match ended {
            CommandEnd::Status(status) => ("exit", Some(status)),
            CommandEnd::Signal(signal) => ("signal", Some(signal)),
            CommandEnd::TimedOut => ("timeout", None),
        };
        Self { ended, number }
    }
}

impl KeptWork {
    /// Reads what is kept of the commands of a worktree.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn read(repository: &Repository, known: &Worktree) -> Result<BTreeSet<Self>, Error> {
        let git = repository.git.with_mode(GitMode::Hardened);
        let mut kept = BTreeSet::new();
        for one in git.for_each_ref(&[&kept_refs(known)])? {
            kept.insert(Self {
                place: one.name.to_string(),
                commit: Some(one.id),
            });
        }
        for directory in PrivateGit::find_damaged(known)? {
            kept.insert(Self {
                place: directory.into_string(),
                commit: None,
            });
        }
        Ok(kept)
    }
}

impl Answer for ExecAnswer {
    const DOCUMENT: &'static str = "exec";

    fn print(&self, text: &mut Text) {
        if let Some(policy) = &self.policy {
            text.put(policy);
        }
        if let Some(worktrees) = &self.worktrees {
            print_fleet(worktrees, text);
        }
        if let Some(run) = &self.run {
            run.print(text);
        }
    }
}

impl ExecRun {
    fn print(&self, text: &mut Text) {
        if let Some(BranchMove { from, to }) = &self.moved {
            let branch = &self.branch;
            let from = from.short();
            let to = to.short();
            text.tell(format!(
                "agentwt: verified, {branch} moved from {from} to {to}"
            ));
        }
        let verdict = &self.verdict;
        if verdict.valid {
            return;
        }
        text.tell(verdict.in_a_line(text.paint, "violation", "violations"));
        if self.waiting.is_none() {
            let name = verdict.verified();
            text.tell(format!("agentwt: all findings: git agentwt verify {name}"));
            return;
        }
        // no other command reports these: `verify` looks neither at commits that were not imported
        // nor at the index of the run
        for message in verdict.messages() {
            text.tell(format!("agentwt: {message}"));
        }
        for line in self.ways_on() {
            text.tell(format!("agentwt: {line}"));
        }
    }

    /// The command that puts HEAD back on the branch and touches no file, so that the `git reset`
    /// after it moves this branch and no other; empty where HEAD is on it.
    fn way_back_to_branch(&self) -> String {
        if !self.left.contains(&Leftover::OtherHead) {
            return String::new();
        }
        let name = self.verdict.verified();
        let branch = shell_word(&format!("refs/heads/{}", self.branch));
        format!("git agentwt exec {name} -- git symbolic-ref HEAD {branch}; ")
    }

    /// Says what became of work that is out of scope, and how it is taken and dropped.
    fn ways_on(&self) -> Vec<String> {
        let name = self.verdict.verified();
        let mut lines = Vec::new();
        if let Some(incoming) = &self.incoming {
            lines.push(format!("the branch stays; the commits: git log {incoming}"));
        }
        let leaks = self.verdict.violations.iter().filter(|one| is_leak(one));
        let number_of_leaks = leaks.count();
        // no scope allows the content of a file that it excludes (`docs/decisions/0060`)
        if number_of_leaks == 0 {
            lines.push(format!(
                "to take the changes, widen the scope (git agentwt scope {name} --add-write \
                 <path>) or accept them as they are (git agentwt accept {name} <path>; --refs for \
                 refs, --shared for settings and hooks), then: git agentwt exec {name} -- true"
            ));
        }
        let operation = self.waiting.as_ref().and_then(|waiting| waiting.operation);
        match operation {
            Some(operation) => lines.push(format!(
                "to leave them out, end the {operation} first: git agentwt exec {name}"
            )),
            None => {
                let back = self.way_back_to_branch();
                // a file with the content of another one may be the work itself: `restore` leaves it
                let then = if number_of_leaks == self.verdict.violations.len() {
                    "then take the content that the scope excludes out of them".to_owned()
                } else {
                    format!("then those out of scope: git agentwt restore {name}")
                };
                lines.push(format!(
                    "to leave them out, with the files as they are: \
                     {back}git agentwt exec {name} -- git reset -q {BRANCH_REF}; {then}"
                ));
            }
        }
        lines
    }
}

fn is_leak(finding: &Finding) -> bool {
    finding.change.kind == Kind::Leak
}

/// What became of the command in one worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FleetRun {
    /// The worktree.
    pub name: String,
    /// The exit status of `git agentwt exec <name>`.
    pub status: u8,
    /// `ok`, `failed` (the command), `refused` (its changes) or `not started`.
    pub outcome: &'static str,
}

impl FleetRun {
    pub fn new(name: String, status: u8) -> Self {
        let outcome = match status {
            0 => "ok",
            9 | 125 => "not started",
            120 | 121 => "refused",
            _ => "failed",
        };
        Self {
            name,
            status,
            outcome,
        }
    }
}

/// The table at the end.
fn print_fleet(runs: &[FleetRun], text: &mut Text) {
    let row = |run: &FleetRun| {
        let cells = [&run.name, run.outcome, &run.status.to_string()];
        Row::new(cells.map(Cell::people).to_vec())
    };
    let headings = ["NAME", "OUTCOME", "STATUS"].map(Cell::people).to_vec();
    let heading = std::iter::once(Row::headings(headings));
    let rows: Vec<Row> = heading.chain(runs.iter().map(row)).collect();
    text.table(&rows, "");
}
