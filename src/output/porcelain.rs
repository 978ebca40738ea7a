//! Prints records for programs: one a line, fields apart by a tab, in an order that only grows.

use super::{Answer, End, changed, doctor, listed, sync};
use crate::change::{Change, Place, by_kind};
use crate::client::About;
use crate::commands::hooks::{HooksAnswer, HooksDone};
use crate::commands::scope::{Decided, ScopeAnswer};
use crate::commands::status::StatusAnswer;
use crate::commands::verify::Verified;
use crate::git::hooks::{Installed, Method};
use crate::path::escape_for_tsv;
use crate::verify::Report;

/// Collects records.
pub(super) struct Records {
    pub out: Vec<u8>,
    pub end: End,
}

impl Records {
    pub fn push(&mut self, fields: &[&[u8]]) {
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.out.push(b'\t');
            }
            match self.end {
                End::Newline => self.out.extend_from_slice(escape_for_tsv(field).as_bytes()),
                End::Nul => self.out.extend_from_slice(field),
            }
        }
        self.out.push(match self.end {
            End::Newline => b'\n',
            End::Nul => 0,
        });
    }
}

/// Renders `--porcelain`.
pub fn porcelain(answer: &Answer, end: End) -> Vec<u8> {
    let mut records = Records {
        out: Vec::new(),
        end,
    };
    match answer {
        Answer::List(all) => listed::porcelain(&mut records, all),
        Answer::Status(answers) => answers.iter().for_each(|one| status(&mut records, one)),
        Answer::Scope(answer) => scope(&mut records, answer),
        Answer::Verify(all) => {
            let each = |one: &Verified| verify(&mut records, &one.name, &one.report);
            all.iter().for_each(each);
        }
        Answer::Range(one) => verify(&mut records, &one.range, &one.report),
        Answer::Changed { answer, shown } => changed::porcelain(&mut records, answer, *shown),
        Answer::Hooks(answer) => hooks(&mut records, answer),
        Answer::Prune(answer) => super::prune::porcelain(&mut records, answer),
        Answer::Doctor(answer) => doctor::porcelain(&mut records, answer),
        Answer::Clients(all) => all.iter().for_each(|about| client(&mut records, about)),
        Answer::Path(path) => records.push(&[path.as_str().as_bytes()]),
        Answer::Sync(all) => all
            .iter()
            .for_each(|one| sync::porcelain(&mut records, one)),
        Answer::Init(_)
        | Answer::Add(_)
        | Answer::Reapply(_)
        | Answer::Restore(_)
        | Answer::Remove(_)
        | Answer::Renew(_)
        | Answer::Revive(_)
        | Answer::Hook(_)
        | Answer::Text(_) => {}
    }
    records.out
}

/// Renders `--format=tsv`: path, kind, and for findings reason and level; always escaped.
pub fn tsv(answer: &Answer, end: End) -> Vec<u8> {
    let mut lines: Vec<String> = Vec::new();
    match answer {
        Answer::Changed { answer, shown } => {
            if let Some(patch) = changed::patch_alone(answer) {
                return patch;
            }
            lines.extend(changed::tsv(answer, *shown));
        }
        Answer::Verify(_) | Answer::Range(_) => {
            let verdicts = answer.verdicts().into_iter();
            for finding in verdicts.flat_map(|one| &one.report.findings) {
                lines.push(format!(
                    "{}\t{}\t{}\t{}",
                    finding.change.place.to_tsv(),
                    finding.change.kind.as_str(),
                    finding.reason.as_str(),
                    finding.level.as_str()
                ));
            }
        }
        Answer::Init(_)
        | Answer::Add(_)
        | Answer::List(_)
        | Answer::Status(_)
        | Answer::Path(_)
        | Answer::Clients(_)
        | Answer::Scope(_)
        | Answer::Reapply(_)
        | Answer::Restore(_)
        | Answer::Remove(_)
        | Answer::Prune(_)
        | Answer::Renew(_)
        | Answer::Revive(_)
        | Answer::Sync(_)
        | Answer::Hooks(_)
        | Answer::Doctor(_)
        | Answer::Hook(_)
        | Answer::Text(_) => {}
    }
    let end = if end == End::Nul { "\0" } else { "\n" };
    lines
        .into_iter()
        .map(|line| line + end)
        .collect::<String>()
        .into_bytes()
}

fn client(records: &mut Records, about: &About) {
    for file in about.files {
        let fields = [about.name, file.path, file.when];
        records.push(&fields.map(str::as_bytes));
    }
}

fn status(records: &mut Records, one: &StatusAnswer) {
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

fn scope(records: &mut Records, answer: &ScopeAnswer) {
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

fn verify(records: &mut Records, name: &str, report: &Report) {
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

fn hooks(records: &mut Records, answer: &HooksAnswer) {
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
