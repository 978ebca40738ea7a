//! Decides what a change set means under a scope; pure.
//!
//! A *finding* is data, never an error. A net change of a path that the scope does not let the
//! worktree write is a violation, and so is damage to the worktree's integrity; what was touched
//! and put back, a write bit that was set, and what happened beside the worktree and cannot be
//! attributed to it are notices (`--strict` makes them violations).

use crate::change::{Cause, Change, ChangeSet, INDEX_LOCK, Kind, Place};
use crate::scope::{Access, EntryKind, Scope, ScopeRule};

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

/// Names one of the two things that verification looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// What would be merged, and whether the worktree is as it was made.
    Net,
    /// What commits did on the way, even if it was put back.
    History,
}

/// Says how a set of changes is judged; by default both layers count, and notices stay notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Whether only [`Layer::Net`] counts (`--net`).
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
}

/// Holds a set of changes against a scope.
#[must_use]
pub fn verify(scope: &Scope, changes: ChangeSet, options: VerifyOptions) -> Report {
    let mut findings = Vec::new();
    let mut classifier = scope.classifier();
    for change in &changes.changes {
        let Place::Path(path) = &change.place else {
            continue;
        };
        let verdict = classifier.verdict(path, entry_kind(change));
        let reason = match verdict.access {
            Access::Write => continue,
            // the base's own ignore rules allow for build output, not for what is excluded
            Access::Read if change.is_ignored() => continue,
            Access::Read => Reason::ReadOnly,
            Access::Excluded => Reason::Excluded,
        };
        let level = if change.kind == Kind::Perm {
            Level::Notice
        } else {
            Level::Violation
        };
        let rule = verdict.rule.cloned();
        findings.push(Finding {
            change: change.clone(),
            reason,
            level,
            rule,
        });
    }
    for change in changes.history.iter().filter(|_| !options.net) {
        let Place::Path(path) = &change.place else {
            continue;
        };
        let verdict = classifier.verdict(path, entry_kind(change));
        if verdict.access != Access::Write || change.kind == Kind::Leak {
            let rule = verdict.rule.cloned();
            let (reason, level) = (Reason::History, Level::Notice);
            findings.push(Finding {
                change: change.clone(),
                reason,
                level,
                rule,
            });
        }
    }
    findings.extend(beside(&changes));
    if options.strict {
        findings
            .iter_mut()
            .for_each(|finding| finding.level = Level::Violation);
    }
    findings.sort_by(|a, b| (a.level, &a.change).cmp(&(b.level, &b.change)));
    Report { changes, findings }
}

/// A lock may be held by a git that runs now.
fn level_of_integrity(place: &Place) -> Level {
    match place {
        Place::Admin(name) if name == INDEX_LOCK => Level::Notice,
        Place::Admin(_)
        | Place::Head
        | Place::Worktree
        | Place::Path(_)
        | Place::Git(_)
        | Place::Main(_)
        | Place::Outside(_) => Level::Violation,
    }
}

/// What is found of all but net paths and history, which need no scope.
fn beside(changes: &ChangeSet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (changes, reason, level) in [
        (&changes.leaks, Reason::Excluded, Level::Violation),
        (&changes.links_out, Reason::Outside, Level::Notice),
    ] {
        findings.extend(changes.iter().map(|change| Finding {
            change: change.clone(),
            reason,
            level,
            rule: None,
        }));
    }
    findings.extend(changes.integrity.iter().map(|change| Finding {
        change: change.clone(),
        reason: Reason::Integrity,
        level: level_of_integrity(&change.place),
        rule: None,
    }));
    findings.extend(changes.shared.iter().map(|one| Finding {
        change: one.change.clone(),
        reason: Reason::Shared,
        level: level_of(one.cause),
        rule: None,
    }));
    findings
}

/// The report over a worktree of whose scope nothing is known.
#[must_use]
pub fn without_scope(changes: ChangeSet) -> Report {
    let findings = beside(&changes);
    Report { changes, findings }
}

const fn level_of(cause: Cause) -> Level {
    match cause {
        Cause::MadeHere | Cause::RunsCode | Cause::Hides => Level::Violation,
        Cause::Unknown => Level::Notice,
    }
}

fn entry_kind(change: &Change) -> EntryKind {
    if change.is_directory {
        EntryKind::Directory
    } else {
        EntryKind::File
    }
}

impl Report {
    /// Whether there is no violation.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.violations().next().is_none()
    }

    /// The violations.
    pub fn violations(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.level == Level::Violation)
    }

    /// The notices.
    pub fn notices(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.level == Level::Notice)
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
    #[must_use]
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
    /// The layer in which it was found.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        match self.reason {
            Reason::History => Layer::History,
            Reason::ReadOnly
            | Reason::Excluded
            | Reason::Outside
            | Reason::Integrity
            | Reason::Shared => Layer::Net,
        }
    }
}

impl Layer {
    /// The word in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::History => "history",
        }
    }
}

impl Level {
    /// The word in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Notice => "notice",
        }
    }
}
