//! What `list` and `status` show of a worktree: [`RecordedField`] and its parts, and the hooks.

use bstr::ByteSlice as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::position::Position;
use crate::answer::shapes::{BaseField, ScopeField};
use crate::answer::waiting::WaitingField;
use crate::config::value::{Choice as _, OnViolation, Strategy};
use crate::disk::files;
use crate::git::hooks::scripts::Method;
use crate::git::hooks::status::HooksState;
use crate::record::worktree::{Alive, HeldClaim, LastVerification, Owner};
use crate::words::name::CommitId;
use crate::words::path::escape_for_terminal;
use crate::words::size::Size;
use crate::words::text::{age, count, seconds_since};
use crate::worktree::loaded::{Worktree, is_locked_by_us};

/// What is recorded of a worktree, and where its branch stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedField {
    /// Where the worktree started.
    pub base: BaseField,
    /// Where the branch stands.
    #[serde(flatten)]
    pub position: Position,
    /// The scope; `git agentwt list` has the profile only.
    pub scope: ScopeField,
    /// When the worktree was created.
    pub created: String,
    /// `worktree` or `clone`.
    pub strategy: &'static str,
    /// The owner; absent if none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerField>,
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
    pub waiting: Option<WaitingField>,
    /// The number of files of the main worktree that are not committed; null if it is unknown.
    pub main_changed: Option<usize>,
    /// With `--size`, the bytes on disk; null if something cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Option<u64>>,
    /// The last verification; null if there was none.
    pub verification: Option<VerificationField>,
    /// The time of this verification; null if there was none.
    pub verified_at: Option<String>,
    /// Whether this command did this verification; false for a stored verdict, which may be out of
    /// date.
    pub live: bool,
}

impl RecordedField {
    /// Creates the field, without what waits, the number of files of the main worktree and the size.
    pub fn new(known: &Worktree, position: Position, scope: ScopeField) -> Self {
        let record = &known.record;
        let is_clone = record.strategy == Strategy::Clone;
        // gitrepository-layout(5), `worktrees/<id>/locked`; a clone cannot be locked
        let lock = files::read(&record.admin_dir.join("locked")).ok().flatten();
        // the removal that put ours there did not take the directory
        let is_ours = || is_locked_by_us(&record.admin_dir) && files::exists(&record.path);
        let lock = lock.filter(|_| !is_clone && !is_ours());
        let reason = lock.as_deref().map(|why| why.trim_ascii().to_str_lossy());
        let last = known.last_verification();
        Self {
            base: position.base(&record.base.commit, &record.base.revision),
            position,
            scope,
            created: record.created.clone(),
            strategy: record.strategy.as_str(),
            owner: record.owner.as_ref().map(OwnerField::new),
            claim: record.claim.clone(),
            locked: (!is_clone).then_some(lock.is_some()),
            lock_reason: reason.filter(|why| !why.is_empty()).map(Into::into),
            waiting: None,
            main_changed: None,
            size: None,
            verified_at: last.as_ref().map(|last| last.at.clone()),
            verification: last.map(VerificationField::new),
            live: false,
        }
    }

    /// Sets the verification.
    pub fn set_verification(&mut self, last: Option<LastVerification>) {
        self.verified_at = last.as_ref().map(|last| last.at.clone());
        self.verification = last.map(VerificationField::new);
    }

    /// Who has the worktree, and what keeps it: a key, the fact, and more about the fact.
    pub fn remarks(&self) -> Vec<(&'static str, String, String)> {
        let mut remarks = Vec::new();
        if self.strategy == "clone" {
            let more = ": a repository of its own".to_owned();
            remarks.push(("strategy", "clone".to_owned(), more));
        }
        if let Some(owner) = &self.owner {
            let id = escape_for_terminal(owner.id.as_bytes());
            let alive = match owner.alive {
                Some(true) => "alive",
                Some(false) => "has ended",
                None => "unknown whether alive",
            };
            let process = owner.pid.map(|pid| format!("process {pid} "));
            let process = process.unwrap_or_default();
            let host = &owner.host;
            let more = format!(" ({process}on {host}, {})", age(&owner.since));
            remarks.push(("owner", format!("{id}, {alive}"), more));
        }
        if let Some(HeldClaim { remote, lease, .. }) = &self.claim {
            let more = format!(", for {lease} at a time");
            remarks.push(("claim", format!("on {remote}"), more));
        }
        if self.locked == Some(true) {
            let why = self.lock_reason.as_deref().unwrap_or("without a reason");
            let why = escape_for_terminal(why.as_bytes());
            remarks.push(("locked", why, String::new()));
        }
        if let Some(waiting) = &self.waiting {
            let more = waiting.next_text();
            remarks.push(("waits", waiting.what(), more));
        }
        remarks
    }

    /// The word of porcelain for what waits.
    pub fn waiting_word(&self) -> Option<&'static str> {
        self.waiting.as_ref().map(WaitingField::word)
    }

    /// What porcelain has of a worktree, by key.
    pub fn facts(&self) -> [(&'static str, Option<String>); 16] {
        fn text(value: Option<impl ToString>) -> Option<String> {
            value.map(|value| value.to_string())
        }
        let last = self.verification.as_ref().map(|one| &one.last);
        let branch = self.position.base_branch.as_ref();
        let owner = self.owner.as_ref();
        let claim = self.claim.as_ref();
        let reason = || self.lock_reason.clone().unwrap_or_default();
        [
            ("base", text(self.base.commit.as_ref())),
            ("head", text(self.position.head.as_ref())),
            ("scope", self.scope.profile.clone()),
            ("paths", text(last.map(|last| last.changed))),
            ("violations", text(last.map(|last| last.violations))),
            ("verified", last.map(|last| last.at.clone())),
            ("base-branch", self.base.branch.clone()),
            ("moved", text(self.base.moved.flatten())),
            ("ahead", text(branch.and_then(|branch| branch.ahead))),
            ("behind", text(branch.and_then(|branch| branch.behind))),
            ("strategy", Some(self.strategy.to_owned())),
            ("owner", owner.map(|owner| owner.id.clone())),
            ("owner-alive", text(owner.map(OwnerField::alive_word))),
            ("claim", claim.map(|claim| claim.remote.clone())),
            ("locked", self.locked.filter(|is| *is).map(|_| reason())),
            ("size", text(self.size.flatten())),
        ]
    }

    /// The result of the last verification for people, with the age of a stored result.
    pub fn verdict(&self) -> String {
        let Some(VerificationField { last, .. }) = &self.verification else {
            return "not verified".to_owned();
        };
        let result = match usize::try_from(last.violations) {
            Ok(0) => "ok".to_owned(),
            number => count(number.unwrap_or(usize::MAX), "violation", "violations"),
        };
        if self.live {
            return result;
        }
        let looked = match last.looked.as_str() {
            "commits" => " (commits)",
            _everything => "",
        };
        format!("{result}{looked} {}", age(&last.at))
    }

    /// The size for people, if that was asked for.
    pub fn size_text(&self) -> Option<String> {
        let size = self.size?;
        Some(size.map_or("unknown".to_owned(), |bytes| Size(bytes).to_string()))
    }
}

/// Whether the branch, which is at `head`, has a commit that the journal does not know, so that no
/// hook ran there; `last` is the commit of the last verification.
pub fn hooks_silent(known: &Worktree, head: Option<&CommitId>, last: Option<&CommitId>) -> bool {
    let branch = known.record.branch.full_ref();
    let is_journaled = |head: &CommitId| {
        let journal = known.journal().ok().flatten().unwrap_or_default();
        let names = ["HEAD", &branch];
        let mut places = names
            .iter()
            .flat_map(|name| journal.places(name.as_bytes()));
        places.any(|place| place == head)
    };
    head.is_some_and(|head| {
        *head != known.record.base.commit
            && last != Some(head)
            && !known.recorded_refs().is_ok_and(|refs| refs.contains(head))
            && !is_journaled(head)
    })
}

/// The owner of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwnerField {
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

impl OwnerField {
    /// Creates the field.
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
}

/// A verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerificationField {
    /// What was recorded.
    #[serde(flatten)]
    pub last: LastVerification,
    /// The age in seconds.
    pub age: Option<i64>,
}

impl VerificationField {
    fn new(last: LastVerification) -> Self {
        let age = seconds_since(&last.at);
        Self { last, age }
    }
}

/// The hooks of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HooksField {
    /// `missing`, `complete`, `partly` or `overridden`.
    pub state: &'static str,
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
    /// The problems, as text.
    #[serde(skip)]
    pub fault: String,
}

/// The word for a method.
pub const fn method_word(method: &Method) -> &'static str {
    match method {
        Method::Configured => "configured",
        Method::HooksPath => "hooks-path",
    }
}

impl From<&HooksState> for HooksField {
    fn from(status: &HooksState) -> Self {
        let (state, fault) = match &status.overridden {
            _ if status.method.is_none() => ("missing", String::new()),
            Some((scope, path)) => ("overridden", format!("core.hooksPath = {path} ({scope})")),
            None if status.faults.is_empty() => ("complete", String::new()),
            None => ("partly", status.faults.join("; ")),
        };
        let is_ours = status.overridden.is_none();
        let method = status.method.as_ref().filter(|_| is_ours);
        Self {
            state,
            method: method.map(method_word),
            binary: status.binary.as_ref().map(|(path, _)| path.to_string()),
            binary_found: status.binary.as_ref().is_some_and(|(_, found)| *found),
            blocks_commits: status.on_violation == OnViolation::Block,
            user_directory: status.user_directory.to_string(),
            fault,
        }
    }
}

impl HooksField {
    /// Prints a line for each fact.
    pub fn print(&self, text: &mut super::Text) {
        let paint = text.paint;
        text.fact(
            "hooks",
            match (self.state, self.method) {
                ("complete", Some("configured")) => paint.good("installed, as configured hooks"),
                ("complete", _) => paint.good("installed, by core.hooksPath"),
                ("partly", _) => paint.bad(&format!("damaged: {}", self.fault)),
                ("overridden", _) => paint.bad(&format!("overridden by {}", self.fault)),
                (_, _) => paint.warning("not installed"),
            },
        );
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
