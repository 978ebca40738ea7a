//! What `list` and `status` show of a worktree: [`RecordedWorktree`] and its parts, and the hooks.

use bstr::ByteSlice as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::position::{BranchPosition, Position};
use crate::answer::shapes::{ScopePatterns, WorktreeBase};
use crate::answer::text::Text;
use crate::answer::waiting::WaitingRun;
use crate::config::value::{Choice as _, OnViolation, Strategy};
use crate::disk::files;
use crate::git::hooks::scripts::Method;
use crate::git::hooks::status::HooksState;
use crate::judge::change::Extent;
use crate::record::worktree::{Alive, HeldClaim, LastVerification, Owner, Record};
use crate::words::name::CommitId;
use crate::words::path::escape_for_terminal;
use crate::words::size::Size;
use crate::words::text::{age, count, seconds_since};
use crate::worktree::loaded::{Worktree, is_locked_by_us};

/// What is recorded of a worktree, and where its branch stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedWorktree {
    /// Where the worktree started.
    pub base: WorktreeBase,
    /// Where the branch stands.
    #[serde(flatten)]
    pub position: Position,
    /// The scope; `git agentwt list` has the profile only.
    pub scope: ScopePatterns,
    /// When the worktree was created.
    pub created: String,
    /// `worktree` or `clone`.
    pub strategy: &'static str,
    /// The owner; absent if none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerState>,
    /// The claim on a server; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<HeldClaim>,
    /// Whether `git worktree lock` locked the worktree; absent for a clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
    /// Why the worktree is locked, if a reason was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_reason: Option<String>,
    /// What of commands in a fence waits; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingRun>,
    /// The number of files of the main worktree that are not committed; null if it is unknown.
    pub main_changed: Option<usize>,
    /// With `--size`, the disk usage.
    #[serde(flatten)]
    pub usage: Option<DiskUsage>,
    /// The last verification; null if there was none.
    pub verification: Option<DatedVerification>,
    /// The time of this verification; null if there was none.
    pub verified_at: Option<String>,
    /// Whether this command did this verification; false for a stored verdict, which may be out of
    /// date.
    pub live: bool,
}

/// The disk usage of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiskUsage {
    /// With `--size`, the bytes on disk; null if something cannot be read.
    pub size: Option<u64>,
}

/// A fact about a worktree that people see.
pub struct Remark {
    /// What the fact is about: `owner`, `locked`, …
    pub key: &'static str,
    /// The fact.
    pub fact: String,
    /// More about the fact.
    pub more: String,
}

/// The lock of a worktree, by `git worktree lock`.
enum WorktreeLock {
    Unlocked,
    /// Locked; the reason, if one was given.
    Locked(Option<String>),
}

impl WorktreeLock {
    /// Reads the lock (gitrepository-layout(5), `worktrees/<id>/locked`), unless a removal locked
    /// the worktree that did not take the directory.
    fn read(record: &Record) -> Self {
        let lock = files::read(&record.admin_dir.join("locked")).ok().flatten();
        let Some(reason) = lock else {
            return Self::Unlocked;
        };
        if is_locked_by_us(&record.admin_dir) && files::exists(&record.path) {
            return Self::Unlocked;
        }
        let reason = reason.trim_ascii().to_str_lossy();
        Self::Locked(Some(reason.into_owned()).filter(|reason| !reason.is_empty()))
    }
}

impl RecordedWorktree {
    /// Reads what is recorded, with the last verification. The caller adds what waits, the number
    /// of changed files of the main worktree and the disk usage.
    pub fn new(worktree: &Worktree, branch: BranchPosition, scope: ScopePatterns) -> Self {
        let record = &worktree.record;
        let mut locked = None;
        let mut lock_reason = None;
        // a clone cannot be locked
        if record.strategy == Strategy::Worktree {
            let lock = WorktreeLock::read(record);
            locked = Some(matches!(lock, WorktreeLock::Locked(_)));
            if let WorktreeLock::Locked(reason) = lock {
                lock_reason = reason;
            }
        }
        let mut recorded = Self {
            base: branch.base,
            position: branch.position,
            scope,
            created: record.created.clone(),
            strategy: record.strategy.as_str(),
            owner: record.owner.as_ref().map(OwnerState::new),
            claim: record.claim.clone(),
            locked,
            lock_reason,
            waiting: None,
            main_changed: None,
            usage: None,
            verification: None,
            verified_at: None,
            live: false,
        };
        recorded.set_verification(worktree.last_verification());
        recorded
    }

    /// Sets the verification.
    pub fn set_verification(&mut self, last: Option<LastVerification>) {
        self.verified_at = last.as_ref().map(|last| last.at.clone());
        self.verification = last.map(DatedVerification::new);
    }

    /// What is special about the worktree: its strategy, owner, claim and lock, and what waits.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if self.strategy == Strategy::Clone.as_str() {
            remarks.push(Remark {
                key: "strategy",
                fact: "clone".to_owned(),
                more: ": a repository of its own".to_owned(),
            });
        }
        if let Some(owner) = &self.owner {
            remarks.push(owner.remark());
        }
        if let Some(claim) = &self.claim {
            remarks.push(Remark {
                key: "claim",
                fact: format!("on {}", claim.remote),
                more: format!(", for {} at a time", claim.lease),
            });
        }
        if self.locked == Some(true) {
            let reason = self.lock_reason.as_deref().unwrap_or("without a reason");
            remarks.push(Remark {
                key: "locked",
                fact: escape_for_terminal(reason.as_bytes()),
                more: String::new(),
            });
        }
        if let Some(waiting) = &self.waiting {
            remarks.push(Remark {
                key: "waits",
                fact: waiting.what(),
                more: waiting.next_text(),
            });
        }
        remarks
    }

    /// What `list` and `status` print for scripts, each value as text.
    pub fn facts(&self) -> RecordedFacts {
        let mut facts = RecordedFacts {
            base: self.base.commit.as_ref().map(ToString::to_string),
            head: self.position.head.as_ref().map(ToString::to_string),
            scope: self.scope.profile.clone(),
            strategy: Some(self.strategy.to_owned()),
            claim: self.claim.as_ref().map(|claim| claim.remote.clone()),
            waiting: self.waiting.as_ref().map(|one| one.word().to_owned()),
            size: self.usage.and_then(|usage| usage.size).map(decimal),
            ..RecordedFacts::default()
        };
        if let Some(verification) = &self.verification {
            facts.paths = Some(decimal(verification.last.changed));
            facts.violations = Some(decimal(verification.last.violations));
            facts.verified = Some(verification.last.at.clone());
        }
        if let Some(branch) = &self.base.branch {
            facts.base_branch = Some(branch.name.clone());
            facts.moved = branch.moved.map(decimal);
        }
        if let Some(distance) = self.position.distance {
            facts.ahead = distance.ahead.map(decimal);
            facts.behind = distance.behind.map(decimal);
        }
        if let Some(owner) = &self.owner {
            facts.owner = Some(owner.id.clone());
            facts.owner_alive = Some(owner.alive_word().to_owned());
        }
        if self.locked == Some(true) {
            facts.locked = Some(self.lock_reason.clone().unwrap_or_default());
        }
        facts
    }

    /// The result of the last verification for people, with the age of a stored result.
    pub fn verdict(&self) -> String {
        let Some(verification) = &self.verification else {
            return "not verified".to_owned();
        };
        let last = &verification.last;
        let result = match usize::try_from(last.violations) {
            Ok(0) => "ok".to_owned(),
            number => count(number.unwrap_or(usize::MAX), "violation", "violations"),
        };
        if self.live {
            return result;
        }
        let looked = match last.looked {
            Extent::Commits => " (commits)",
            Extent::Everything => "",
        };
        format!("{result}{looked} {}", age(&last.at))
    }

    /// The disk usage for people, if that was asked for.
    pub fn size_text(&self) -> Option<String> {
        Some(match self.usage?.size {
            Some(bytes) => Size(bytes).to_string(),
            None => "unknown".to_owned(),
        })
    }
}

fn decimal(number: u64) -> String {
    number.to_string()
}

/// What the records of `list` and `status` have of a worktree; `None` if it is unknown, or does
/// not apply.
#[derive(Default)]
pub struct RecordedFacts {
    pub base: Option<String>,
    pub head: Option<String>,
    pub scope: Option<String>,
    pub paths: Option<String>,
    pub violations: Option<String>,
    pub verified: Option<String>,
    pub base_branch: Option<String>,
    pub moved: Option<String>,
    pub ahead: Option<String>,
    pub behind: Option<String>,
    pub strategy: Option<String>,
    pub owner: Option<String>,
    pub owner_alive: Option<String>,
    pub claim: Option<String>,
    /// The reason of the lock, which may be empty.
    pub locked: Option<String>,
    pub size: Option<String>,
    pub waiting: Option<String>,
}

/// True if no hook of ours has seen the commit `head` of the branch: it is neither recorded nor in
/// the journal. `last` is the commit of the last verification.
pub fn hooks_silent(worktree: &Worktree, head: Option<&CommitId>, last: Option<&CommitId>) -> bool {
    let Some(head) = head else {
        return false;
    };
    if *head == worktree.record.base.commit || last == Some(head) {
        return false;
    }
    let recorded = worktree.recorded_refs();
    if recorded.is_ok_and(|refs| refs.contains(head)) {
        return false;
    }
    let journal = worktree.journal().ok().flatten().unwrap_or_default();
    let branch = worktree.record.branch.full_ref();
    for name in ["HEAD", &branch] {
        if journal.places(name.as_bytes()).any(|place| place == head) {
            return false;
        }
    }
    true
}

/// The owner of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwnerState {
    /// The name of the owner.
    pub id: String,
    /// The host of the owner.
    pub host: String,
    /// The number of the owner's process; absent without a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The time at which the owner was recorded.
    pub since: String,
    /// Whether the process runs; null if unknown on this host.
    pub alive: Option<bool>,
}

impl OwnerState {
    /// Looks whether an owner is alive.
    pub fn new(owner: &Owner) -> Self {
        Self {
            id: owner.id.clone(),
            host: owner.host.clone(),
            pid: owner.process.as_ref().map(|process| process.pid),
            since: owner.since.clone(),
            alive: match owner.alive() {
                Alive::Yes => Some(true),
                Alive::No => Some(false),
                Alive::Unknown => None,
            },
        }
    }

    /// The word of porcelain for whether the owner is alive.
    const fn alive_word(&self) -> &'static str {
        match self.alive {
            Some(true) => "alive",
            Some(false) => "ended",
            None => "unknown",
        }
    }

    fn remark(&self) -> Remark {
        let id = escape_for_terminal(self.id.as_bytes());
        let alive = match self.alive {
            Some(true) => "alive",
            Some(false) => "has ended",
            None => "unknown whether alive",
        };
        let process = match self.pid {
            Some(pid) => format!("process {pid} "),
            None => String::new(),
        };
        let since = age(&self.since);
        Remark {
            key: "owner",
            fact: format!("{id}, {alive}"),
            more: format!(" ({process}on {}, {since})", self.host),
        }
    }
}

/// A verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DatedVerification {
    /// What was recorded.
    #[serde(flatten)]
    pub last: LastVerification,
    /// The age in seconds.
    pub age: Option<i64>,
}

impl DatedVerification {
    fn new(last: LastVerification) -> Self {
        let age = seconds_since(&last.at);
        Self { last, age }
    }
}

/// The hooks of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HooksReport {
    /// `missing`, `complete`, `partly` or `overridden`.
    #[schemars(with = "String")]
    pub state: HooksCondition,
    /// `configured` or `hooks-path`; null if the hooks are not installed.
    pub method: Option<&'static str>,
    /// The program that the hooks start; null if none is recorded.
    pub binary: Option<String>,
    /// Whether the program exists.
    pub binary_found: bool,
    /// Whether a commit out of scope is refused.
    pub blocks_commits: bool,
    /// The directory of the user's own hooks, which also run.
    pub user_directory: String,
    /// What is wrong with the hooks, as text; absent if they are missing or complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// How the hooks of a worktree are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HooksCondition {
    /// The hooks are not installed.
    Missing,
    /// The hooks are installed.
    Complete,
    /// The hooks are not as they were installed.
    Partly,
    /// Another `core.hooksPath` counts.
    Overridden,
}

impl HooksCondition {
    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Complete => "complete",
            Self::Partly => "partly",
            Self::Overridden => "overridden",
        }
    }
}

/// The word for a method.
pub const fn method_word(method: &Method) -> &'static str {
    match method {
        Method::Configured => "configured",
        Method::HooksPath => "hooks-path",
    }
}

impl From<&HooksState> for HooksReport {
    fn from(hooks: &HooksState) -> Self {
        let mut fault = None;
        let state = if hooks.method.is_none() {
            HooksCondition::Missing
        } else if let Some((scope, path)) = &hooks.overridden {
            fault = Some(format!("core.hooksPath = {path} ({scope})"));
            HooksCondition::Overridden
        } else if hooks.faults.is_empty() {
            HooksCondition::Complete
        } else {
            fault = Some(hooks.faults.join("; "));
            HooksCondition::Partly
        };
        let is_ours = hooks.overridden.is_none();
        let method = hooks.method.as_ref().filter(|_| is_ours);
        Self {
            state,
            method: method.map(method_word),
            binary: hooks.binary.as_ref().map(|(path, _)| path.to_string()),
            binary_found: hooks.binary.as_ref().is_some_and(|(_, found)| *found),
            blocks_commits: hooks.on_violation == OnViolation::Block,
            user_directory: hooks.user_directory.to_string(),
            fault,
        }
    }
}

impl HooksReport {
    /// Prints a line for each fact.
    pub fn print(&self, text: &mut Text) {
        let paint = text.paint;
        let fault = self.fault.as_deref().unwrap_or_default();
        let configured = method_word(&Method::Configured);
        let state = match self.state {
            HooksCondition::Complete if self.method == Some(configured) => {
                paint.good("installed, as configured hooks")
            }
            HooksCondition::Complete => paint.good("installed, by core.hooksPath"),
            HooksCondition::Partly => paint.bad(&format!("damaged: {fault}")),
            HooksCondition::Overridden => paint.bad(&format!("overridden by {fault}")),
            HooksCondition::Missing => paint.warning("not installed"),
        };
        text.fact("hooks", state);
        match &self.binary {
            Some(path) if self.binary_found => text.fact("program", path),
            Some(path) => text.fact("program", paint.bad(&format!("{path} is missing"))),
            None => {}
        }
        if self.blocks_commits {
            text.fact("commits", "are refused when there are violations");
        }
        text.fact("user's", &self.user_directory);
    }
}
