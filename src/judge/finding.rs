//! Decides what a change set means under a scope; pure.
//!
//! A *finding* is data, never an error. A net change of a path that the scope does not let the
//! worktree write is a violation, and so is damage to the worktree's integrity; what was touched
//! and put back, a write bit that was set, and what happened beside the worktree and cannot be
//! attributed to it are notices (`--strict` makes them violations).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::client::programs;
use crate::judge::change::{Cause, Change, ChangeSet, INDEX_LOCK, Kind, Place, SPARSE_LOCK, Seen};
use crate::scope::classifier::{Classifier, Verdict};
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, EntryKind, RuleText, ScopeRule};

/// Says why a change is a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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

/// A finding of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Why the change is a finding.
    #[serde(flatten, serialize_with = "serialize_reason")]
    #[schemars(with = "ReasonText")]
    pub reason: Reason,
    /// `violation` or `notice`.
    #[schemars(with = "String")]
    pub level: Level,
    /// The rule that decided; absent if no rule matches.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_rule"
    )]
    #[schemars(with = "Option<RuleText>")]
    pub rule: Option<ScopeRule>,
}

/// The keys of a reason in an answer.
#[derive(Serialize, JsonSchema)]
struct ReasonText {
    /// The reason: `read-only`, `excluded`, `outside`, `integrity`, `shared` or
    /// `history`.
    #[schemars(with = "String")]
    reason: Reason,
    /// `net` for a change that a merge would bring, `history` for a change that a later commit
    /// reset.
    layer: &'static str,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference to the field"
)]
fn serialize_reason<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    let text = ReasonText {
        reason: *reason,
        layer: reason.layer(),
    };
    text.serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn serialize_rule<S: Serializer>(
    rule: &Option<ScopeRule>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rule.as_ref().map(RuleText::from).serialize(serializer)
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

/// Says how a change of a path came to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It would be merged.
    Net,
    /// It would be merged, and does no harm.
    Harmless,
    /// A commit made it, and it is as before again.
    History,
}

/// Holds a set of changes against a scope.
pub fn verify(scope: &Scope, changes: ChangeSet, options: VerifyOptions) -> Report {
    let mut report = without_scope(changes);
    let mut classifier = scope.classifier();
    for (change, weight) in weighted_changes(&report.changes, options) {
        let finding = judge(&mut classifier, change, weight);
        report.findings.extend(finding);
    }
    if options.strict {
        for finding in &mut report.findings {
            finding.level = Level::Violation;
        }
    }
    report
        .findings
        .sort_by(|a, b| (a.level, &a.change).cmp(&(b.level, &b.change)));
    report
}

/// Lists the changes that are held against the scope, with how each counts. A harmless change of a
/// file is also among the net changes, and is judged once, as harmless.
fn weighted_changes(changes: &ChangeSet, options: VerifyOptions) -> Vec<(&Change, Weight)> {
    let mut weighted = Vec::new();
    let mut harmless_places = BTreeSet::new();
    for change in &changes.apart {
        weighted.push((change, Weight::Harmless));
        // a directory that ignores itself has no content: a net change of its place is another one
        if !change.now.is_empty() {
            harmless_places.insert(&change.place);
        }
    }
    for change in &changes.changes {
        if harmless_places.contains(&change.place) {
            continue;
        }
        let weight = if change.kind == Kind::Perm || is_client_state(change) {
            Weight::Harmless
        } else {
            Weight::Net
        };
        weighted.push((change, weight));
    }
    if !options.net {
        for change in &changes.history {
            weighted.push((change, Weight::History));
        }
    }
    weighted
}

/// Judges the change of one path; none if the scope allows it.
fn judge(classifier: &mut Classifier<'_>, change: &Change, weight: Weight) -> Option<Finding> {
    let path = change.place.path()?;
    let kind = if change.is_directory {
        EntryKind::Directory
    } else {
        EntryKind::File
    };
    let verdict = classifier.verdict(path, kind);
    let reason = reason_under_scope(change, weight, verdict)?;
    let level = match weight {
        Weight::Net => Level::Violation,
        Weight::Harmless | Weight::History => Level::Notice,
    };
    Some(Finding {
        change: change.clone(),
        reason,
        level,
        rule: verdict.rule.cloned(),
    })
}

/// Why the scope forbids a change; none if it allows the change.
fn reason_under_scope(change: &Change, weight: Weight, verdict: Verdict<'_>) -> Option<Reason> {
    if weight == Weight::History {
        let is_allowed = verdict.access == Access::Write && change.kind != Kind::Leak;
        return (!is_allowed).then_some(Reason::History);
    }
    match verdict.access {
        Access::Write => None,
        // The files in a directory are findings, not the directory.
        Access::Excluded
            if verdict.rule.is_some() && change.is_directory && weight == Weight::Harmless =>
        {
            None
        }
        Access::Excluded if verdict.rule.is_some() => Some(Reason::Excluded),
        // The base's own ignore rules allow build output wherever no pattern excludes it.
        Access::Excluded | Access::Read if change.is_ignored() => None,
        Access::Excluded => Some(Reason::Excluded),
        Access::Read => Some(Reason::ReadOnly),
    }
}

/// True for an untracked file that an agent program writes for itself, also one that was placed for
/// it.
fn is_client_state(change: &Change) -> bool {
    let mut seen = change.seen.iter();
    let is_untracked = seen.all(|seen| matches!(seen, Seen::Untracked | Seen::Synced));
    if !is_untracked || change.kind == Kind::Deleted {
        return false;
    }
    let path = change.place.path();
    path.is_some_and(|path| programs::is_state(path.as_bstr()))
}

/// Reports the findings that need no scope: all but those of net changes and of history. It is the
/// whole report of a worktree whose record, and so its scope, is lost.
pub fn without_scope(changes: ChangeSet) -> Report {
    let mut findings = Vec::new();
    for change in &changes.leaks {
        // what is ignored cannot be merged
        let level = if change.is_ignored() {
            Level::Notice
        } else {
            Level::Violation
        };
        findings.push(Finding::without_rule(change, Reason::Excluded, level));
    }
    for change in &changes.links_out {
        findings.push(Finding::without_rule(
            change,
            Reason::Outside,
            Level::Notice,
        ));
    }
    let locks = [INDEX_LOCK, SPARSE_LOCK].map(|lock| Place::Admin(lock.into()));
    for change in &changes.integrity {
        // a lock may be held by a git that runs now
        let level = if locks.contains(&change.place) {
            Level::Notice
        } else {
            Level::Violation
        };
        findings.push(Finding::without_rule(change, Reason::Integrity, level));
    }
    for change in &changes.noted {
        findings.push(Finding::without_rule(
            change,
            Reason::Integrity,
            Level::Notice,
        ));
    }
    for shared in &changes.shared {
        let level = if shared.cause == Cause::Unknown {
            Level::Notice
        } else {
            Level::Violation
        };
        findings.push(Finding::without_rule(&shared.change, Reason::Shared, level));
    }
    Report {
        changes,
        findings,
        accepted: Vec::new(),
    }
}

impl Report {
    /// True if there is no violation.
    pub fn valid(&self) -> bool {
        self.violations().next().is_none()
    }

    /// Returns the violations.
    pub fn violations(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.level == Level::Violation)
    }

    /// Returns the notices.
    pub fn notices(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.level == Level::Notice)
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

    /// Returns the word in every output format.
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

    /// The word for what it concerns: what would be merged and whether the worktree is as it was
    /// created (`net`), or what commits did on the way.
    pub const fn layer(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::ReadOnly | Self::Excluded | Self::Outside | Self::Integrity | Self::Shared => {
                "net"
            }
        }
    }
}

impl Finding {
    fn without_rule(change: &Change, reason: Reason, level: Level) -> Self {
        Self {
            change: change.clone(),
            reason,
            level,
            rule: None,
        }
    }
}

impl Level {
    /// Returns the word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Notice => "notice",
        }
    }
}
