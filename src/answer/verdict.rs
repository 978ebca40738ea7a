//! The verdict of a verification: [`VerdictField`], for `verify` and the hooks.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::groups::{FindingGroup, groups};
use crate::answer::paint::Paint;
use crate::answer::shapes::{BaseField, ChangeField, FindingField, ScopeField};
use crate::answer::table::{Cell, Row};
use crate::answer::waiting::WaitingField;
use crate::judge::finding::Report;
use crate::words::name::CommitId;
use crate::words::text::{and_count, count};

/// The verdict over a worktree or a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerdictField {
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
    pub scope: Option<ScopeField>,
    /// What was compared with.
    pub base: BaseField,
    /// The commit that was verified; null if it is unknown.
    pub head: Option<CommitId>,
    /// Whether there is no violation.
    pub valid: bool,
    /// What breaks the scope or the integrity of the worktree.
    pub violations: Vec<FindingField>,
    /// What does not affect the verdict.
    pub notices: Vec<FindingField>,
    /// What a person accepted as it is now; `git agentwt status` shows who and when.
    pub accepted: Vec<FindingField>,
    /// What changed, in scope or not.
    pub changed: Vec<ChangeField>,
    /// What of commands in a fence waits, of which the verdict says nothing; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingField>,
}

impl VerdictField {
    /// The violations in one line, for a hook and for the end of a run: their number, as these words say
    /// it, and the first groups.
    pub fn in_a_line(&self, paint: Paint, one: &str, many: &str) -> String {
        /// The number of groups that are named.
        const SHOWN: usize = 3;
        let violations: Vec<&FindingField> = self.violations.iter().collect();
        let groups = groups(&violations, true);
        let mut words: Vec<String> = groups.iter().take(SHOWN).map(FindingGroup::words).collect();
        words.extend((groups.len() > SHOWN).then(|| "…".to_owned()));
        let no = paint.bad("NO");
        let name = self.verified();
        let number = count(violations.len(), one, many);
        format!("agentwt: {no} {name}: {number}: {}", words.join(", "))
    }

    /// The violations, a line for each group.
    pub fn messages(&self) -> Vec<String> {
        let violations: Vec<&FindingField> = self.violations.iter().collect();
        let groups = groups(&violations, true);
        let message = |group: &FindingGroup| group.message(self.verified());
        groups.iter().map(message).collect()
    }

    fn new(report: &Report) -> Self {
        let head = Some(&report.changes.head).filter(|head| head.is_known());
        Self {
            base: BaseField::commit(&report.changes.base),
            head: head.cloned(),
            valid: report.valid(),
            violations: report.violations().map(FindingField::from).collect(),
            notices: report.notices().map(FindingField::from).collect(),
            accepted: report.accepted.iter().map(FindingField::from).collect(),
            changed: ChangeField::all(report.changes.counted()),
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
            scope: Some(ScopeField::profile(profile)),
            ..Self::new(report)
        }
    }

    /// The name of the worktree, or the range.
    pub fn verified(&self) -> &str {
        let verified = self.name.as_deref().or(self.range.as_deref());
        verified.unwrap_or_default()
    }

    /// The violations, then the notices.
    pub fn findings(&self) -> impl Iterator<Item = &FindingField> {
        self.violations.iter().chain(&self.notices)
    }

    /// The result in one line.
    pub fn line(&self, paint: Paint) -> String {
        let name = paint.name(self.verified());
        let profile = self.scope.as_ref().and_then(|scope| scope.profile.as_ref());
        let profile = profile.map_or_else(String::new, |profile| format!(" ({profile})"));
        let changed = count(self.changed.len(), "path changed", "paths changed");
        let notices = and_count(self.notices.len(), "notice", "notices");
        let accepted = and_count(self.accepted.len(), "accepted", "accepted");
        if self.valid {
            let ok = paint.good("ok");
            return format!("{ok} {name}: in scope{profile}, {changed}{notices}{accepted}\n");
        }
        let violations = count(self.violations.len(), "violation", "violations");
        let no = paint.bad("NO");
        let violations = paint.bad(&violations);
        format!("{no} {name}: {violations}{profile}{notices}, {changed}{accepted}\n")
    }

    /// One row a finding, for programs: people read groups of findings (`answer/report.rs`).
    pub fn rows(&self) -> Vec<Row> {
        self.findings().map(|one| self.row(one)).collect()
    }

    fn row(&self, finding: &FindingField) -> Row {
        let change = &finding.change;
        let rule = finding.rule.as_ref();
        let record: [&[u8]; 9] = [
            self.verified().as_bytes(),
            finding.level.as_bytes(),
            change.kind.as_bytes(),
            finding.reason.as_bytes(),
            finding.layer.as_bytes(),
            &change.seen_in.join(",").into_bytes(),
            rule.map_or(b"", |rule| rule.origin.as_bytes()),
            rule.map_or(b"", |rule| rule.pattern.as_bytes()),
            change.bytes(),
        ];
        let mut cells: Vec<Cell> = record.map(Cell::porcelain).into();
        cells.push(Cell::tsv(change.tsv()));
        cells.extend([change.kind, finding.reason, finding.level].map(Cell::tsv));
        Row::new(cells)
    }
}
