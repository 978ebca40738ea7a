//! Holds [`Record`]: what is known of one worktree, written by `add`, read by everything else.
//!
//! It lives in `<common git dir>/agentwt/worktrees/<name>/`, outside the worktree and outside its
//! private git directory, both of which the agent may change. It is TOML with a version; the
//! [`Intent`] is what `add` writes before its first change, so that whatever a killed `add` left
//! behind can be told from what the user made.
//!
//! A process of the same user can still forge it: that is documented, until a fence closes it.

use std::collections::BTreeMap;
use std::fmt;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::config::value::{Client, OnViolation, Strategy};
use crate::judge::change::Extent;
use crate::record::accepted::Decision;
use crate::record::claim::Lease;
use crate::scope::rule::ScopeRule;
use crate::system::{processes, users};
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path;

/// What `add` wrote down of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its name.
    pub name: WorktreeName,
    /// When it was made, RFC 3339 in UTC.
    pub created: String,
    /// Who made it.
    pub made_by: MadeBy,
    /// The first of its block of ten ports; none where none was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// What the directory is: a linked worktree, or a repository of its own.
    #[serde(default)]
    pub strategy: Strategy,
    /// The agent program whose files `add` wrote; none where it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Who works there, if a user said.
    pub owner: Option<Owner>,
    /// What is held of it on a server, if anything is.
    pub claim: Option<HeldClaim>,
    /// Its directory, absolute.
    pub path: Utf8PathBuf,
    /// Its private git directory, absolute: never looked up again.
    pub admin_dir: Utf8PathBuf,
    /// The bytes of its `.git` file.
    pub dot_git: String,
    /// Its branch.
    pub branch: BranchName,
    /// True if `add` made the branch.
    pub branch_made: bool,
    /// The remote-tracking branch that `add` made the branch from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The pull request that the branch was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<PullRequest>,
    /// What it started from.
    pub base: Base,
    /// The commit that was checked out: the base, or the tip of a branch that was there.
    pub checked_out: CommitId,
    /// How names compare there.
    pub ignore_case: bool,
    /// True if the file system keeps the executable bit (`core.fileMode`).
    pub file_mode: bool,
    /// True if filters or line endings may make files on disk differ from what git stores.
    pub conversions: bool,
    /// The scope profile's name, none when flags gave every list.
    pub profile: Option<String>,
    /// What the hooks do about a violation.
    pub on_violation: OnViolation,
    /// How far the set-up of the config is; none where there was none to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<SetupState>,
    /// What git's own files beside the worktree held.
    pub integrity: Vec<Fingerprint>,
    /// The frozen scope.
    pub scope: Vec<ScopeRule>,
    /// What a person decided since: accepted findings, and rules that were added to the scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

/// A pull request, as a ref of the server: also one from a fork is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PullRequest {
    /// The remote.
    pub remote: String,
    /// The ref at the remote, as `refs/pull/123/head`.
    #[serde(rename = "ref")]
    pub ref_name: String,
}

impl Record {
    /// Creates the record of a new worktree. All but the name, the path and the time is a
    /// placeholder, until the caller fills it in.
    pub fn new(name: WorktreeName, path: Utf8PathBuf, created: String) -> Self {
        Self {
            branch: BranchName::from_git(name.as_str()),
            name,
            created,
            made_by: MadeBy::Add,
            ports: None,
            strategy: Strategy::default(),
            client: None,
            owner: None,
            claim: None,
            path,
            admin_dir: Utf8PathBuf::new(),
            dot_git: String::new(),
            branch_made: false,
            upstream: None,
            request: None,
            base: Base {
                commit: CommitId::unknown(),
                revision: String::new(),
                tips: Vec::new(),
            },
            checked_out: CommitId::unknown(),
            ignore_case: false,
            file_mode: true,
            conversions: false,
            profile: None,
            on_violation: OnViolation::default(),
            setup: None,
            integrity: Vec::new(),
            scope: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// The scope without the rules that a person added since.
    pub fn scope_at_add(&self) -> Vec<ScopeRule> {
        let mut rules = self.scope.clone();
        for decision in &self.decisions {
            rules.retain(|rule| !decision.rules.contains(rule));
        }
        rules
    }
}

/// How far the set-up of a worktree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupState {
    /// A second `add` runs it: it was skipped, failed, or was ended.
    Pending,
    /// It ended well.
    Done,
}

/// Who made a worktree: only what `add` made may be removed by `remove`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeBy {
    /// `git agentwt add`.
    Add,
    /// Plain git; `git agentwt hooks install` wrote the record.
    Git,
}

/// What a worktree started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// The commit.
    pub commit: CommitId,
    /// The revision that was asked for, for people.
    pub revision: String,
    /// Refs whose work may be taken over without blame, with where they were: the branch that
    /// the base was taken from and its upstream.
    pub tips: Vec<Tip>,
}

/// Where a ref was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tip {
    /// The full name of the ref.
    pub name: String,
    /// The commit it named.
    pub commit: CommitId,
    /// True if it had a reflog: one that is gone later proves nothing.
    pub logged: bool,
}

/// One of git's files that decide what git reports, with a digest of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Which file.
    pub file: WatchedFile,
    /// The object id of its bytes as a blob (of `config.worktree`, of what it says); none when
    /// there was no file.
    pub digest: Option<String>,
}

/// A file of the private git directory that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchedFile {
    /// `info/sparse-checkout` of the private git directory.
    SparseCheckout,
    /// `config.worktree` of the private git directory.
    ConfigWorktree,
    /// `agentwt/hooks/config` of the private git directory: what `config.worktree` includes.
    HooksConfig,
    /// `agentwt/bin` of the private git directory: which program the hooks start.
    HooksBinary,
    /// `agentwt/hooks` of the private git directory: our scripts, all of them.
    HooksScripts,
}

/// What `add` is about to create, for the command that finds an incomplete worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The process that creates it.
    pub process: u32,
    /// The commit at which the branch is created in this repository; none when it is not.
    pub branch_at: Option<CommitId>,
    /// The record as far as it is known.
    pub record: Record,
}

/// The last verification, as the hooks and `verify` leave it for `list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LastVerification {
    /// The time of the verification.
    pub at: String,
    /// The commit that was verified.
    pub head: CommitId,
    /// `everything`, or `commits` (by a hook in a large worktree): neither the index nor the files
    /// on disk.
    #[serde(default)]
    #[schemars(with = "String")]
    pub looked: Extent,
    /// The number of changed paths.
    pub changed: u64,
    /// The number of paths by kind of change (`created`, `modified`, `deleted`, …).
    #[serde(default)]
    pub kinds: BTreeMap<String, u64>,
    /// The number of violations.
    pub violations: u64,
    /// The number of notices.
    pub notices: u64,
    /// The findings, at most a hundred, violations first.
    pub findings: Vec<KeptFinding>,
}

/// A finding of an earlier verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeptFinding {
    /// The place, as in TSV.
    pub place: String,
    /// The kind of change.
    pub kind: String,
    /// The reason.
    pub reason: String,
    /// `violation` or `notice`.
    pub level: String,
}

impl WatchedFile {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::SparseCheckout,
        Self::ConfigWorktree,
        Self::HooksConfig,
        Self::HooksBinary,
        Self::HooksScripts,
    ];

    /// True if installing or removing our hooks changes it.
    pub const fn is_of_our_hooks(self) -> bool {
        !matches!(self, Self::SparseCheckout)
    }
}

/// Who works in a worktree: what `add --owner` said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The name it goes by: the scheduler's own word.
    pub id: String,
    /// The host it runs on.
    pub host: String,
    /// Its process there, if it named one: what tells whether it is alive.
    pub process: Option<OwnerProcess>,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

/// One process for ever: its number, which the system gives out again, with what only this
/// one has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerProcess {
    /// Its number.
    pub pid: u32,
    /// When it started, in the system's own words: equal for the same process only.
    pub started: String,
}

/// A claim on a server, as we last wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldClaim {
    /// The remote.
    pub remote: String,
    /// The commit of the claim.
    pub commit: CommitId,
    /// The number of seconds for which the claim counts without a renewal.
    #[schemars(with = "u64")]
    pub lease: Lease,
}

/// Whether an owner is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alive {
    /// Its process runs on this host.
    Yes,
    /// Its process has ended.
    #[default]
    No,
    /// It named no process, or is on another host.
    Unknown,
}

/// For people: `` `scheduler-3` (process 4711 on host-1, since 2026-11-21T10:00:00Z) ``.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escape = |text: &str| path::escape_for_terminal(text.as_bytes());
        write!(f, "`{}` (", escape(&self.id))?;
        if let Some(process) = &self.process {
            write!(f, "process {} ", process.pid)?;
        }
        write!(f, "on {}, since {})", escape(&self.host), self.since)
    }
}

impl Owner {
    /// Creates an owner with the process that was named; none when that process does not run.
    pub fn new(id: &str, pid: Option<u32>, since: String) -> Option<Self> {
        let process = match pid {
            Some(pid) => {
                let started = processes::start_time(pid)?;
                Some(OwnerProcess { pid, started })
            }
            None => None,
        };
        Some(Self {
            id: id.to_owned(),
            host: users::host(),
            process,
            since,
        })
    }

    /// Tells whether the owner is alive: only a process of this host can be looked at.
    pub fn alive(&self) -> Alive {
        match &self.process {
            Some(process) if self.host == users::host() => {
                if processes::is_alive(process.pid, &process.started) {
                    Alive::Yes
                } else {
                    Alive::No
                }
            }
            Some(_) | None => Alive::Unknown,
        }
    }
}

/// A removal that has begun, so that another call can finish the removal; in the trash,
/// what the worktree was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// When it began, RFC 3339 in UTC.
    pub began: String,
    /// When the worktree was made: a later worktree of the same name is another.
    pub created: String,
    /// Where the branch is that is deleted; none when the branch stays.
    pub branch_at: Option<CommitId>,
    /// The ref that keeps commits, if one does.
    pub saved: Option<String>,
    /// How the worktree goes into the trash; none when it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash: Option<TrashStamp>,
}

/// When a worktree went into the trash, and what its HEAD and branch were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrashStamp {
    /// The second half of the names in the trash: `20261122T083457Z`, or `…Z-2`.
    pub time: String,
    /// The commit of HEAD; none while its branch had no commit.
    pub head: Option<CommitId>,
    /// The ref that HEAD named; none when HEAD named a commit.
    pub on: Option<String>,
    /// The commit of the worktree's branch; none when the branch was gone.
    pub tip: Option<CommitId>,
    /// For how long it is kept.
    #[serde(default, skip_serializing_if = "Term::is_long")]
    pub term: Term,
}

/// For how long a removed worktree is kept in the trash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Term {
    /// As long as work is kept (`agentwt.trashExpire`).
    #[default]
    Long,
    /// As long as a worktree without work of its own is kept (`agentwt.trashExpireClean`).
    Short,
}

impl Term {
    /// True for the term of work.
    pub fn is_long(&self) -> bool {
        *self == Self::Long
    }
}

/// What was beside a worktree when it was made. Only digests are kept: a setting can hold a
/// password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// The hooks that git ran in the main worktree, by their paths as messages show them
    /// (`@git/hooks/pre-commit`, `@main/.husky/_/pre-commit`).
    pub hooks: Digests,
    /// The settings of the repository, by their keys as git lists them.
    pub settings: Digests,
    /// All else that is sealed.
    #[serde(default)]
    pub sealed: Sealed,
}

/// What else decides what git does beside a worktree, by places as messages show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The git directories that were walked; an older version looked for names and wrote none.
    #[serde(default)]
    pub directories: BTreeMap<String, GitDirOwner>,
    /// What was sealed of these.
    #[serde(default)]
    pub extent: SealExtent,
    /// Files that hooks can run, `info/*`, and the states of the main and other worktrees.
    pub files: Digests,
    /// The settings of each file that git reads here: the two of the repository, those that they
    /// include, and those of other worktrees and of submodules.
    pub settings: BTreeMap<String, Digests>,
    /// The values of these settings, by digest, as far as a message may show them.
    pub values: BTreeMap<String, String>,
}

/// Says what of a git directory was sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SealExtent {
    /// Its entries, as an older version did.
    #[default]
    Entries,
    /// Everything that is not known to be data, however deep.
    Everything,
}

/// Whose git directory one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GitDirOwner {
    /// That of the repository.
    Repository,
    /// That of a linked worktree.
    Worktree,
    /// That of a submodule.
    Submodule,
}

/// The object ids of contents as blobs, by name.
pub type Digests = BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::accepted::AcceptedFinding;
    use crate::scope::rule::{RuleList, RuleOrigin};
    use crate::words::toml_file::{TomlFileError, from_text, to_text};

    fn sample() -> Record {
        let commit = CommitId::parse(&"a".repeat(40)).expect("40 digits");
        Record {
            name: WorktreeName::parse("task-5").expect("a name"),
            created: "2026-11-21T10:00:00Z".into(),
            made_by: MadeBy::Add,
            ports: Some(20_000),
            strategy: Strategy::Clone,
            client: Some(Client::Codex),
            owner: Some(Owner {
                id: "scheduler-3".into(),
                host: "host-1".into(),
                process: Some(OwnerProcess {
                    pid: 17,
                    started: "boot 4711".into(),
                }),
                since: "2026-11-21T10:00:00Z".into(),
            }),
            claim: Some(HeldClaim {
                remote: "origin".into(),
                commit: commit.clone(),
                lease: Lease::DEFAULT,
            }),
            path: "/r/.agentwt/worktrees/task-5".into(),
            admin_dir: "/r/.git/worktrees/task-5".into(),
            dot_git: "gitdir: /r/.git/worktrees/task-5\n".into(),
            branch: BranchName::from_git("agentwt/task-5"),
            branch_made: true,
            upstream: None,
            request: None,
            checked_out: commit.clone(),
            base: Base {
                commit: commit.clone(),
                revision: "main".into(),
                tips: vec![Tip {
                    name: "refs/heads/main".into(),
                    commit,
                    logged: true,
                }],
            },
            ignore_case: false,
            file_mode: true,
            conversions: false,
            profile: Some("default".into()),
            on_violation: OnViolation::Report,
            setup: Some(SetupState::Done),
            integrity: vec![Fingerprint {
                file: WatchedFile::SparseCheckout,
                digest: None,
            }],
            scope: vec![ScopeRule::new(
                RuleList::Write,
                "src/**",
                RuleOrigin::Flag("--write".into()),
            )],
            decisions: vec![Decision {
                id: "0f".into(),
                at: "2026-11-21T10:00:00Z".into(),
                user: "ada".into(),
                host: "host-1".into(),
                worktree: WorktreeName::parse("task-5").expect("a name"),
                accepted: vec![AcceptedFinding {
                    place: "README.md".into(),
                    kind: "deleted".into(),
                    reason: "read-only".into(),
                    level: "violation".into(),
                    key: String::new(),
                    contents: ["absent".to_owned()].into(),
                    size: None,
                }],
                rules: Vec::new(),
            }],
        }
    }

    #[test]
    fn a_record_of_before_there_were_decisions_is_read() {
        let mut record = sample();
        record.decisions.clear();
        let text = to_text(&record);
        assert!(!text.contains("decisions"), "{text}");
        assert_eq!(from_text(&text), Ok(record));
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let record = sample();
        assert_eq!(from_text(&to_text(&record)), Ok(record));
    }

    #[test]
    fn a_record_from_before_there_were_owners_is_of_a_worktree_that_nobody_owns() {
        let mut record = sample();
        record.owner = None;
        record.claim = None;
        record.strategy = Strategy::Worktree;
        let text = to_text(&record).replace("strategy = \"worktree\"\n", "");
        assert!(!text.contains("strategy"), "{text}");
        assert_eq!(from_text(&text), Ok(record));
    }

    #[test]
    fn a_record_of_another_version_is_refused_whatever_is_in_it() {
        let text = to_text(&sample()).replace("version = 4", "version = 5\nnew = true");
        assert_eq!(from_text::<Record>(&text), Err(TomlFileError::Version(5)));
        let cut = &to_text(&sample())[..200];
        assert!(matches!(
            from_text::<Record>(cut),
            Err(TomlFileError::Damaged(_))
        ));
    }
}
