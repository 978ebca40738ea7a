//! Joins findings that are alike into one line.

use std::collections::{BTreeSet, HashMap};

use bstr::ByteSlice;

use crate::answer::paint::Paint;
use crate::answer::shapes::FindingField;
use crate::answer::table::{Cell, Row};
use crate::words::path::escape_for_terminal;

/// Findings that are one line: one finding, or all findings below a directory, which are alike.
pub struct FindingGroup<'a> {
    pub first: &'a FindingField,
    pub shown: String,
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
        format!("{} {}", self.first.change.kind, self.place())
    }

    /// The group in one line: where, what and why.
    pub fn message(&self, verified: &str) -> String {
        self.first.message_at(&self.place(), verified)
    }

    pub fn row(&self) -> Row {
        let change = &self.first.change;
        let (sign, paint): (&str, fn(Paint, &str) -> String) = match self.first.level {
            "violation" => ("!", Paint::bad),
            _notice => ("-", Paint::warning),
        };
        let seen = match self.number {
            1 => change.seen_in.join(", "),
            _several => String::new(),
        };
        Row::new(vec![
            Cell::people(sign).paint(paint),
            Cell::people(change.kind).paint(kind_paint(change.kind)),
            Cell::people(self.place()),
            Cell::people(seen).paint(Paint::faint).rank(1),
            Cell::people(self.first.why()).paint(Paint::faint),
        ])
    }
}

/// What findings of one group have in common.
type Likeness = (&'static str, &'static str, &'static str, String);

pub fn likeness(finding: &FindingField) -> Likeness {
    let kind = finding.change.kind;
    (kind, finding.reason, finding.level, finding.why())
}

/// Computes the groups, in the order of the findings: for each path the highest directory below
/// which all findings are alike, or each finding by itself.
pub fn groups<'a>(findings: &[&'a FindingField], joins: bool) -> Vec<FindingGroup<'a>> {
    let mut below: HashMap<&[u8], (Likeness, bool, usize)> = HashMap::new();
    let paths = findings
        .iter()
        .filter(|one| joins && one.change.path.is_some());
    for finding in paths {
        let alike = likeness(finding);
        for directory in directories(finding.change.bytes()) {
            let new = || (alike.clone(), true, 0);
            let (first, is_alike, number) = below.entry(directory).or_insert_with(new);
            *is_alike &= *first == alike;
            *number += 1;
        }
    }
    let mut groups: Vec<FindingGroup<'a>> = Vec::new();
    let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
    for finding in findings {
        let has_path = joins && finding.change.path.is_some();
        let path = has_path.then(|| finding.change.bytes());
        let mut above = path.into_iter().flat_map(directories);
        let group = above.find(|directory| below[directory].1 && below[directory].2 > 1);
        let shown = match group {
            Some(directory) if !seen.insert(directory) => continue,
            Some(directory) => format!("{}/", escape_for_terminal(directory)),
            None => finding.change.shown(),
        };
        let number = group.map_or(1, |directory| below[directory].2);
        groups.push(FindingGroup {
            first: finding,
            shown,
            number,
        });
    }
    groups
}

/// The directories above a path, the highest first.
pub fn directories(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.find_iter("/").map(|end| &path[..end])
}

/// The colour of a kind of change.
pub fn kind_paint(kind: &str) -> fn(Paint, &str) -> String {
    match kind {
        "created" => Paint::good,
        "deleted" | "integrity" | "present" | "leak" | "hook" => Paint::bad,
        _other => Paint::warning,
    }
}

impl FindingField {
    /// What the scope or the record says.
    pub fn why(&self) -> String {
        let detail = self.change.detail.as_deref();
        let said = match (self.reason, self.change.kind) {
            ("integrity" | "shared", _) => {
                return detail.unwrap_or("not as `add` left it").to_owned();
            }
            ("excluded", "leak") | ("outside", _) if detail.is_some() => {
                return detail.unwrap_or_default().to_owned();
            }
            ("history", _) => detail.unwrap_or("changed and reset"),
            ("excluded", _) if self.rule.is_none() => "not in scope",
            (reason, _) => reason,
        };
        let said = match detail {
            Some(detail) if self.reason != "history" => format!("{detail}; {said}"),
            Some(_) | None => said.to_owned(),
        };
        match &self.rule {
            Some(rule) => format!("{said}: {}", rule.text()),
            None => format!("{said}: no read or write pattern matches"),
        }
    }

    /// The finding in one line: where, what and why.
    pub fn message(&self, verified: &str) -> String {
        self.message_at(&self.change.shown(), verified)
    }

    /// As [`Self::message`], of all findings at a place that are like this one.
    pub fn message_at(&self, place: &str, verified: &str) -> String {
        let kind = self.change.kind;
        format!("{place} {kind} ({verified}): {}", self.why())
    }
}
