//! Decides what a change set means under a scope; pure.
//!
//! A *finding* is data, never an error. A net change of a path that the scope does not let the
//! worktree write is a violation, and so is damage to the worktree's integrity; what was touched
//! and put back, a write bit that was set, and what happened beside the worktree and cannot be
//! attributed to it are notices (`--strict` makes them violations).

use std::collections::BTreeSet;

use crate::client::programs;
use crate::judge::change::{Cause, Change, ChangeSet, INDEX_LOCK, Kind, Place, SPARSE_LOCK, Seen};
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, EntryKind, ScopeRule};

/// Says why a change is a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The scope lets the worktree read the path only.
    ReadOnly,
    /// The scope excludes the path.
    Excluded,
    /// A link leads out of what the scope lets the worktree write.
    Outside,
    /// The worktree, its index or its private git directory is not as it was made.
    Integrity,
    /// Something that other worktrees share was changed.
    Shared,
    /// A commit touched it, and it is as before again.
    History,
}

/// Says how much a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The scope or the integrity of the worktree is broken: exit 1.
    Violation,
    /// Worth knowing: exit 0.
    Notice,
}

/// Says how a set of changes is judged; by default both layers count, and notices stay notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Whether history does not count (`--net`).
    pub net: bool,
    /// Whether notices are violations (`--strict`).
    pub strict: bool,
}

/// Holds what verification says of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The change.
    pub change: Change,
    /// Why it is a finding.
    pub reason: Reason,
    /// How much it counts.
    pub level: Level,
    /// The rule of the scope that decided; none when no rule lets the path be seen, or when it
    /// is no path.
    pub rule: Option<ScopeRule>,
}

/// Holds the verdict over a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was verified.
    pub changes: ChangeSet,
    /// Violations first, then notices, each sorted by place.
    pub findings: Vec<Finding>,
    /// Findings that a person accepted, as they are now.
    pub accepted: Vec<Finding>,
}

/// Holds a set of changes against a scope.
pub fn verify(scope: &Scope, changes: ChangeSet, options: VerifyOptions) -> Report {
    let Report {
        changes,
        mut findings,
        accepted,
    } = without_scope(changes);
    let mut classifier = scope.classifier();
    let history = changes.history.iter().filter(|_| !options.net);
    // what does no harm is among the net changes as well; a directory that ignores itself is not
    let harmless = changes.apart.iter().filter(|one| !one.now.is_empty());
    let harmless: BTreeSet<&Place> = harmless.map(|one| &one.place).collect();
    let net = changes.changes.iter();
    let net = net.filter(|change| !harmless.contains(&change.place));
    let is_notice = |change: &Change| change.kind == Kind::Perm || is_client_state(change);
    let net = net.map(|change| (change, false, is_notice(change)));
    let notices = changes.apart.iter();
    let notices = notices.map(|change| (change, false, true));
    let notices = notices.chain(history.map(|change| (change, true, true)));
    for (change, is_history, is_notice) in net.chain(notices) {
        let Place::Path(path) = &change.place else {
            continue;
        };
        let kind = if change.is_directory {
            EntryKind::Directory
        } else {
            EntryKind::File
        };
        let verdict = classifier.verdict(path, kind);
        let reason = match verdict.access {
            Access::Write if !is_history || change.kind != Kind::Leak => continue,
            _ if is_history => Reason::History,
            // the base's own ignore rules allow for build output, wherever it is, unless a pattern
            // excludes the path
            Access::Read if change.is_ignored() => continue,
            Access::Excluded if change.is_ignored() && verdict.rule.is_none() => continue,
            // the files in it are findings
            Access::Excluded if is_notice && change.is_directory && verdict.rule.is_some() => {
                continue;
            }
            Access::Excluded => Reason::Excluded,
            _ => Reason::ReadOnly,
        };
        findings.push(Finding {
            change: change.clone(),
            reason,
            level: Level::of(is_notice),
            rule: verdict.rule.cloned(),
        });
    }
    if options.strict {
        let all = findings.iter_mut();
        all.for_each(|finding| finding.level = Level::Violation);
    }
    findings.sort_by(|a, b| (a.level, &a.change).cmp(&(b.level, &b.change)));
    Report {
        changes,
        findings,
        accepted,
    }
}

/// Whether it is an untracked file that an agent program writes for itself, also one that was placed for it.
fn is_client_state(change: &Change) -> bool {
    let mut seen = change.seen.iter();
    let is_untracked = seen.all(|seen| matches!(seen, Seen::Untracked | Seen::Synced));
    let is_there = change.kind != Kind::Deleted;
    let path = change.place.path().filter(|_| is_untracked && is_there);
    path.is_some_and(|path| programs::is_state(path.as_bstr()))
}

/// The report of all but net paths and history, which need no scope: also over a worktree of whose
/// scope nothing is known.
pub fn without_scope(changes: ChangeSet) -> Report {
    let locks = [INDEX_LOCK, SPARSE_LOCK].map(|lock| Place::Admin(lock.into()));
    let mut findings = Vec::new();
    let mut add = |change: &Change, reason, is_notice| {
        findings.push(Finding {
            change: change.clone(),
            reason,
            level: Level::of(is_notice),
            rule: None,
        });
    };
    let leaks = changes.leaks.iter();
    // what is ignored cannot be merged
    leaks.for_each(|change| add(change, Reason::Excluded, change.is_ignored()));
    let links = changes.links_out.iter();
    links.for_each(|change| add(change, Reason::Outside, true));
    // a lock may be held by a git that runs now
    let integrity = changes.integrity.iter();
    integrity.for_each(|change| {
        add(change, Reason::Integrity, locks.contains(&change.place));
    });
    let noted = changes.noted.iter();
    noted.for_each(|change| add(change, Reason::Integrity, true));
    let shared = changes.shared.iter();
    shared.for_each(|one| add(&one.change, Reason::Shared, one.cause == Cause::Unknown));
    Report {
        changes,
        findings,
        accepted: Vec::new(),
    }
}

impl Report {
    /// Whether there is no violation.
    pub fn valid(&self) -> bool {
        self.violations().next().is_none()
    }

    /// The violations.
    pub fn violations(&self) -> impl Iterator<Item = &Finding> {
        let all = self.findings.iter();
        all.filter(|one| one.level == Level::Violation)
    }

    /// The notices.
    pub fn notices(&self) -> impl Iterator<Item = &Finding> {
        let all = self.findings.iter();
        all.filter(|one| one.level == Level::Notice)
    }
}

impl Reason {
    /// Every reason, in the order in which they are documented.
    pub const ALL: [Self; 6] = [
        Self::ReadOnly,
        Self::Excluded,
        Self::Outside,
        Self::Integrity,
        Self::Shared,
        Self::History,
    ];

    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Excluded => "excluded",
            Self::Outside => "outside",
            Self::Integrity => "integrity",
            Self::Shared => "shared",
            Self::History => "history",
        }
    }
}

impl Finding {
    /// The word for what it concerns: what would be merged and whether the worktree is as it was
    /// created (`net`), or what commits did on the way.
    pub fn layer(&self) -> &'static str {
        match self.reason {
            Reason::History => "history",
            _ => "net",
        }
    }
}

impl Level {
    const fn of(is_notice: bool) -> Self {
        if is_notice {
            Self::Notice
        } else {
            Self::Violation
        }
    }

    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Notice => "notice",
        }
    }
}
