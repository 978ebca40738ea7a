//! The verdict of a verification: [`VerdictReport`], for `verify` and the hooks.

use bstr::ByteSlice as _;
use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::groups::{FindingGroup, Grouping, groups, seen_texts};
use crate::answer::paint::Paint;
use crate::answer::shapes::{ScopePatterns, WorktreeBase};
use crate::answer::table::Row;
use crate::answer::waiting::WaitingRun;
use crate::judge::change::Change;
use crate::judge::finding::{Finding, Report};
use crate::words::name::CommitId;
use crate::words::text::{and_count, count};

/// The verdict over a worktree or a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerdictReport {
    /// The name of the worktree; absent for a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The directory of the worktree; absent for a range.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Utf8PathBuf>,
    /// The range as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// The scope profile of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopePatterns>,
    /// What was compared with.
    pub base: WorktreeBase,
    /// The commit that was verified; null if it is unknown.
    pub head: Option<CommitId>,
    /// Whether there is no violation.
    pub valid: bool,
    /// What breaks the scope or the integrity of the worktree.
    pub violations: Vec<Finding>,
    /// What does not affect the verdict.
    pub notices: Vec<Finding>,
    /// What a person accepted as it is now; `git agentwt status` shows who and when.
    pub accepted: Vec<Finding>,
    /// What changed, in scope or not.
    pub changed: Vec<Change>,
    /// What of commands in a fence waits, of which the verdict says nothing; absent if nothing
    /// does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingRun>,
}

impl VerdictReport {
    fn new(report: &Report) -> Self {
        let head = &report.changes.head;
        Self {
            base: WorktreeBase::commit(&report.changes.base),
            head: head.is_known().then(|| head.clone()),
            valid: report.valid(),
            violations: report.violations().cloned().collect(),
            notices: report.notices().cloned().collect(),
            accepted: report.accepted.clone(),
            changed: report.changes.counted().cloned().collect(),
            ..Self::default()
        }
    }

    /// Creates the verdict over a worktree.
    pub fn worktree(name: &str, path: Utf8PathBuf, report: &Report) -> Self {
        Self {
            name: Some(name.to_owned()),
            path: Some(path),
            ..Self::new(report)
        }
    }

    /// Creates the verdict over a range.
    pub fn range(range: String, profile: Option<&str>, report: &Report) -> Self {
        Self {
            range: Some(range),
            scope: Some(ScopePatterns::profile(profile)),
            ..Self::new(report)
        }
    }

    /// The name of the worktree, or the range.
    pub fn verified(&self) -> &str {
        let name = self.name.as_deref();
        name.or(self.range.as_deref()).unwrap_or_default()
    }

    /// The violations, then the notices.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.violations.iter().chain(&self.notices)
    }

    /// The violations, those that are alike joined.
    fn violation_groups(&self) -> Vec<FindingGroup<'_>> {
        let violations: Vec<&Finding> = self.violations.iter().collect();
        groups(&violations, Grouping::ByDirectory)
    }

    /// The violations in one line, for a hook and for the end of a run: their number, as these
    /// words say it, and the first groups.
    pub fn in_a_line(&self, paint: Paint, one: &str, many: &str) -> String {
        /// The number of groups that are named.
        const SHOWN: usize = 3;
        let groups = self.violation_groups();
        let mut words: Vec<String> = groups.iter().take(SHOWN).map(FindingGroup::words).collect();
        if groups.len() > SHOWN {
            words.push("…".to_owned());
        }
        let no = paint.bad("NO");
        let name = self.verified();
        let number = count(self.violations.len(), one, many);
        format!("agentwt: {no} {name}: {number}: {}", words.join(", "))
    }

    /// The violations, a line for each group.
    pub fn messages(&self) -> Vec<String> {
        let groups = self.violation_groups().into_iter();
        groups.map(|group| group.message(self.verified())).collect()
    }

    /// The result in one line.
    pub fn line(&self, paint: Paint) -> String {
        let name = paint.name(self.verified());
        let profile = match self.scope.as_ref().and_then(|scope| scope.profile.as_ref()) {
            Some(profile) => format!(" ({profile})"),
            None => String::new(),
        };
        let changed = count(self.changed.len(), "path changed", "paths changed");
        let notices = and_count(self.notices.len(), "notice", "notices");
        let accepted = and_count(self.accepted.len(), "accepted", "accepted");
        if self.valid {
            let ok = paint.good("ok");
            return format!("{ok} {name}: in scope{profile}, {changed}{notices}{accepted}\n");
        }
        let no = paint.bad("NO");
        let number = count(self.violations.len(), "violation", "violations");
        let violations = paint.bad(&number);
        format!("{no} {name}: {violations}{profile}{notices}, {changed}{accepted}\n")
    }

    /// One row a finding, for programs: people read groups of findings (`answer/report.rs`).
    pub fn rows(&self) -> Vec<Row> {
        self.findings().map(|finding| self.row(finding)).collect()
    }

    fn row(&self, finding: &Finding) -> Row {
        let change = &finding.change;
        let mut origin = String::new();
        let mut pattern = "";
        if let Some(rule) = &finding.rule {
            origin = rule.origin.to_string();
            pattern = &rule.pattern;
        }
        Row::record(&[
            self.verified().as_bytes(),
            finding.level.as_str().as_bytes(),
            change.kind.as_str().as_bytes(),
            finding.reason.as_str().as_bytes(),
            finding.reason.layer().as_bytes(),
            seen_texts(&change.seen).join(",").as_bytes(),
            origin.as_bytes(),
            pattern.as_bytes(),
            change.place.to_bytes().as_bytes(),
        ])
    }

    /// One line a finding in TSV: place, kind, reason and level.
    pub fn tsv(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for finding in self.findings() {
            let change = &finding.change;
            let place = change.place.to_tsv();
            let kind = change.kind.as_str();
            let reason = finding.reason.as_str();
            let level = finding.level.as_str();
            lines.push(format!("{place}\t{kind}\t{reason}\t{level}"));
        }
        lines
    }
}
