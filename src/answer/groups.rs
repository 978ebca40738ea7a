//! Joins findings that are alike into one line.

use std::collections::{BTreeSet, HashMap};

use bstr::ByteSlice;

use crate::answer::paint::{Paint, Painter};
use crate::answer::table::{Cell, Row};
use crate::judge::change::{Kind, Seen};
use crate::judge::finding::{Finding, Level, Reason};
use crate::scope::rule::RuleText;
use crate::words::path::escape_for_terminal;

/// Whether findings that are alike are one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// All findings below a directory, if they are alike, are one line.
    ByDirectory,
    /// Each finding is one line.
    Single,
}

/// Findings that are one line: one finding, or all findings below a directory, which are alike.
pub struct FindingGroup<'a> {
    /// The first of the findings.
    pub first: &'a Finding,
    /// The place of the finding or the directory, escaped for a terminal.
    pub shown: String,
    /// The number of findings.
    pub number: usize,
}

impl FindingGroup<'_> {
    /// The place, with the number of findings where they are several: `docs/new/ (12)`.
    pub fn place(&self) -> String {
        match self.number {
            1 => self.shown.clone(),
            number => format!("{} ({number})", self.shown),
        }
    }

    /// The group in some words: `modified docs/guide.md`, `created docs/new/ (12)`.
    pub fn words(&self) -> String {
        format!("{} {}", self.first.change.kind.as_str(), self.place())
    }

    /// The group in one line: where, what and why.
    pub fn message(&self, verified: &str) -> String {
        self.first.message_at(&self.place(), verified)
    }

    /// The group in a table for people.
    pub fn row(&self) -> Row {
        let change = &self.first.change;
        let seen = match self.number {
            1 => seen_texts(&change.seen).join(", "),
            _several => String::new(),
        };
        Row::new(vec![
            level_cell(Some(self.first.level)),
            kind_cell(change.kind),
            Cell::people(self.place()),
            Cell::people(seen).paint(Paint::faint).rank(1),
            Cell::people(self.first.why()).paint(Paint::faint),
        ])
    }
}

/// The findings below a directory, as far as they were read.
struct Directory {
    /// What the first finding has in common with those that are alike.
    first: Likeness,
    /// Whether all findings are like the first.
    is_alike: bool,
    /// The number of findings.
    number: usize,
}

/// What the findings of one group have in common.
#[derive(Clone, PartialEq, Eq)]
struct Likeness {
    kind: Kind,
    reason: Reason,
    level: Level,
    why: String,
}

/// Groups findings, in their order. With [`Grouping::ByDirectory`] a group has the findings below a
/// directory, the highest below which all are alike; other findings are groups of their own.
pub fn groups<'a>(findings: &[&'a Finding], grouping: Grouping) -> Vec<FindingGroup<'a>> {
    let directories = match grouping {
        Grouping::ByDirectory => directories_of(findings),
        Grouping::Single => HashMap::new(),
    };
    let mut groups = Vec::new();
    let mut grouped: BTreeSet<&[u8]> = BTreeSet::new();
    for finding in findings {
        let Some((path, number)) = highest_alike(finding, &directories) else {
            groups.push(FindingGroup {
                first: finding,
                shown: finding.change.place.to_string(),
                number: 1,
            });
            continue;
        };
        if grouped.insert(path) {
            groups.push(FindingGroup {
                first: finding,
                shown: format!("{}/", escape_for_terminal(path)),
                number,
            });
        }
    }
    groups
}

/// Every directory above a finding, with its findings.
fn directories_of<'a>(findings: &[&'a Finding]) -> HashMap<&'a [u8], Directory> {
    let mut directories: HashMap<&[u8], Directory> = HashMap::new();
    for finding in findings {
        let Some(path) = finding.change.place.path_bytes() else {
            continue;
        };
        let likeness = Likeness {
            kind: finding.change.kind,
            reason: finding.reason,
            level: finding.level,
            why: finding.why(),
        };
        for parent in parents(path) {
            let directory = directories.entry(parent).or_insert_with(|| Directory {
                first: likeness.clone(),
                is_alike: true,
                number: 0,
            });
            directory.is_alike &= directory.first == likeness;
            directory.number += 1;
        }
    }
    directories
}

/// The highest directory above a finding below which several findings are, all alike, and their
/// number.
fn highest_alike<'a>(
    finding: &'a Finding,
    directories: &HashMap<&[u8], Directory>,
) -> Option<(&'a [u8], usize)> {
    for parent in parents(finding.change.place.path_bytes()?) {
        let directory = directories.get(parent)?;
        if directory.is_alike && directory.number > 1 {
            return Some((parent, directory.number));
        }
    }
    None
}

/// The directories above a path, the highest first.
pub fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.find_iter("/").map(|end| &path[..end])
}

/// The sign of a finding for people: `!` for a violation, `-` for a notice.
pub fn level_cell(level: Option<Level>) -> Cell {
    match level {
        Some(Level::Violation) => Cell::people("!").paint(Paint::bad),
        Some(Level::Notice) => Cell::people("-").paint(Paint::warning),
        None => Cell::people(""),
    }
}

/// The kind of a change for people.
pub fn kind_cell(kind: Kind) -> Cell {
    Cell::people(kind.as_str()).paint(kind_paint(kind))
}

/// The colour of a kind of change.
pub const fn kind_paint(kind: Kind) -> Painter {
    match kind {
        Kind::Created => Paint::good,
        Kind::Deleted | Kind::Integrity | Kind::Present | Kind::Leak | Kind::Hook => Paint::bad,
        Kind::Modified
        | Kind::Typechange
        | Kind::Mode
        | Kind::Ref
        | Kind::Config
        | Kind::Worktree
        | Kind::Perm => Paint::warning,
    }
}

/// Where a change was seen, for people.
pub fn seen_texts(seen: &BTreeSet<Seen>) -> Vec<String> {
    seen.iter().map(ToString::to_string).collect()
}

impl Finding {
    /// Why this is a finding: the detail of the change, and the rule of the scope if one decided.
    pub fn why(&self) -> String {
        let detail = self.change.detail.as_deref();
        match self.reason {
            Reason::Integrity | Reason::Shared => {
                detail.unwrap_or("not as `add` left it").to_owned()
            }
            Reason::History => self.with_rule(detail.unwrap_or("changed and reset")),
            Reason::ReadOnly | Reason::Excluded | Reason::Outside => self.why_by_scope(detail),
        }
    }

    fn why_by_scope(&self, detail: Option<&str>) -> String {
        let Some(detail) = detail else {
            return self.with_rule(self.reason_text());
        };
        let is_leak = self.reason == Reason::Excluded && self.change.kind == Kind::Leak;
        if is_leak || self.reason == Reason::Outside {
            // no rule decided: the detail says where the content or the link comes from
            return detail.to_owned();
        }
        self.with_rule(&format!("{detail}; {}", self.reason_text()))
    }

    fn reason_text(&self) -> &'static str {
        if self.reason == Reason::Excluded && self.rule.is_none() {
            return "not in scope";
        }
        self.reason.as_str()
    }

    /// A text with the rule that decided.
    fn with_rule(&self, text: &str) -> String {
        match &self.rule {
            Some(rule) => format!("{text}: {}", RuleText::from(rule).text()),
            None => format!("{text}: no read or write pattern matches"),
        }
    }

    /// The finding in one line: where, what and why.
    pub fn message(&self, verified: &str) -> String {
        self.message_at(&self.change.place.to_string(), verified)
    }

    /// The same line for a group of findings at `place`.
    pub fn message_at(&self, place: &str, verified: &str) -> String {
        let kind = self.change.kind.as_str();
        format!("{place} {kind} ({verified}): {}", self.why())
    }
}
