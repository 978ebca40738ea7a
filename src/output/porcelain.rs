//! Prints records for programs: one a line, fields apart by a tab, in an order that only grows.

use crate::answer::Row;
use crate::change::{Change, Place};
use crate::verify::Report;

/// Collects records.
#[derive(Default)]
pub(super) struct Records {
    pub rows: Vec<Row>,
}

impl Records {
    pub fn push(&mut self, fields: &[&[u8]]) {
        self.rows.push(Row::record(fields));
    }
}

pub(super) fn seen(change: &Change) -> String {
    change
        .seen
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

pub(super) fn verify(records: &mut Records, name: &str, report: &Report) {
    for finding in &report.findings {
        let rule = finding.rule.as_ref();
        records.push(&[
            name.as_bytes(),
            finding.level.as_str().as_bytes(),
            finding.change.kind.as_str().as_bytes(),
            finding.reason.as_str().as_bytes(),
            finding.layer().as_str().as_bytes(),
            seen(&finding.change).as_bytes(),
            rule.map(|rule| rule.origin.to_string())
                .unwrap_or_default()
                .as_bytes(),
            rule.map_or("", |rule| rule.pattern.as_str()).as_bytes(),
            &place(&finding.change.place),
        ]);
    }
}

/// A path as it is; other places as they are shown.
pub(super) fn place(place: &Place) -> Vec<u8> {
    match place {
        Place::Path(path) => path.as_bstr().to_vec(),
        Place::Git(_)
        | Place::Admin(_)
        | Place::Head
        | Place::Worktree
        | Place::Main(_)
        | Place::Outside(_) => place.to_tsv().into_bytes(),
    }
}
