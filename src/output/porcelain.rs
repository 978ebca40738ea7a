//! Prints records for programs: one a line, fields apart by a tab, in an order that only grows.

use super::listed;
use crate::answer::Row;
use crate::change::{Change, Place, by_kind};
use crate::commands::hooks::{HooksAnswer, HooksDone};
use crate::commands::scope::{Decided, ScopeAnswer};
use crate::commands::status::StatusAnswer;
use crate::git::hooks::{Installed, Method};
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

pub(super) fn status(records: &mut Records, one: &StatusAnswer) {
    let name = one.record.name.as_str().as_bytes();
    let mut field = |key: &str, value: &[u8]| records.push(&[name, key.as_bytes(), value]);
    field("path", one.path.as_str().as_bytes());
    field("branch", one.record.branch.as_str().as_bytes());
    field("base", one.record.base.commit.as_str().as_bytes());
    field("head", one.head.as_str().as_bytes());
    field("commits", one.commits.to_string().as_bytes());
    field("uncommitted", one.uncommitted.to_string().as_bytes());
    field("ignored", one.ignored.to_string().as_bytes());
    for (key, value) in listed::fields(&one.record, &one.position, &one.held) {
        field(key, value.as_bytes());
    }
    if let Some(size) = listed::bytes(one.size) {
        field("size", size.to_string().as_bytes());
    }
    for (kind, number) in by_kind(&one.changes) {
        let (kind, number) = (kind.as_bytes(), number.to_string());
        records.push(&[name, b"kind", kind, number.as_bytes()]);
    }
    let mut field = |key: &str, value: &[u8]| records.push(&[name, key.as_bytes(), value]);
    if let Some(last) = &one.last {
        field("verified", last.at.as_bytes());
        field("violations", last.violations.to_string().as_bytes());
        field("notices", last.notices.to_string().as_bytes());
    }
    for (file, drift) in one.placed.iter().flatten() {
        let (state, path) = (drift.state(), file.path.as_bstr());
        records.push(&[name, b"placed", state.as_bytes(), path]);
    }
    for change in &one.changes {
        let place = place(&change.place);
        records.push(&[name, b"change", change.kind.as_str().as_bytes(), &place]);
    }
}

pub(super) fn scope(records: &mut Records, answer: &ScopeAnswer) {
    match answer {
        ScopeAnswer::Whole(counted) => {
            for (rule, matches) in &counted.rules {
                records.push(&[
                    rule.list.to_string().as_bytes(),
                    rule.origin.to_string().as_bytes(),
                    matches.to_string().as_bytes(),
                    rule.pattern.as_bytes(),
                ]);
            }
        }
        ScopeAnswer::Paths(paths) => paths.iter().for_each(|path| decided(records, path)),
    }
}

fn decided(records: &mut Records, decided: &Decided) {
    let rule = decided.rule.as_ref();
    records.push(&[
        decided.access.to_string().as_bytes(),
        rule.map(|rule| rule.list.to_string())
            .unwrap_or_default()
            .as_bytes(),
        rule.map(|rule| rule.origin.to_string())
            .unwrap_or_default()
            .as_bytes(),
        rule.map_or("", |rule| rule.pattern.as_str()).as_bytes(),
        &decided.given,
    ]);
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

pub(super) fn hooks(records: &mut Records, answer: &HooksAnswer) {
    let method = |method: &Method| match method {
        Method::Configured => "configured",
        Method::HooksPath => "hooks-path",
    };
    let (state, how) = match &answer.done {
        HooksDone::Installed { method: how, .. } => ("installed", method(how)),
        HooksDone::WouldInstall(how) => ("would-install", method(how)),
        HooksDone::Uninstalled => ("uninstalled", ""),
        HooksDone::WouldUninstall => ("would-uninstall", ""),
        HooksDone::Status(status) => match &status.installed {
            Installed::No => ("missing", ""),
            Installed::Complete(how) => ("complete", method(how)),
            Installed::Partly { method: how, .. } => ("partly", method(how)),
            Installed::Overridden { .. } => ("overridden", ""),
        },
    };
    let name = answer.name.as_deref().unwrap_or("");
    let path = answer.path.as_str();
    records.push(&[
        name.as_bytes(),
        state.as_bytes(),
        how.as_bytes(),
        path.as_bytes(),
    ]);
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
