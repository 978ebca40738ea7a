//! Answers that do not print themselves yet.

use serde::{Serialize, Serializer};
use serde_json::json;

use super::human::{changed as human_changed, findings, making};
use super::porcelain::{self, Records};
use super::{changed, doctor, json_legacy as json, prune, sync, trash};
use crate::answer::{Answer, Cell, Row, Text, Verdict};
use crate::commands::add::Added;
use crate::commands::changed::ChangedAnswer;
use crate::commands::doctor::Doctored;
use crate::commands::hook::HookAnswer;
use crate::commands::prune::Pruned;
use crate::commands::remove::Removed;
use crate::commands::revive::Revived;
use crate::commands::sync::Synced;
use crate::commands::verify::Verified;
use crate::commands::verify::range::RangeVerdict;

/// Says how the paths of changes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// From the root of the file system (`--absolute`).
    pub absolute: bool,
    /// Without what happened (`--name-only`).
    pub name_only: bool,
}

/// Holds what goes where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The answer.
    pub stdout: Vec<u8>,
    /// The conversation.
    pub stderr: String,
}

fn put(text: &mut Text, printed: Printed) {
    text.put(printed.stdout);
    text.stderr.push_str(&printed.stderr);
}

fn collected(collect: impl FnOnce(&mut Records)) -> Vec<Row> {
    let mut records = Records::default();
    collect(&mut records);
    records.rows
}

fn tsv(lines: Vec<String>) -> impl Iterator<Item = Row> {
    lines
        .into_iter()
        .map(|line| Row::new(vec![Cell::tsv(line)]))
}

macro_rules! legacy {
    ($name:ident($inner:ty), $document:literal, $json:expr, $human:expr, $rows:expr) => {
        #[expect(missing_docs, reason = "gone soon")]
        pub struct $name(pub $inner);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let json: fn(&$inner) -> serde_json::Value = $json;
                json(&self.0).serialize(serializer)
            }
        }

        impl Answer for $name {
            const DOCUMENT: &'static str = $document;
            const IGNORES_QUIET: bool = matches!($document.as_bytes(), b"hook");
            fn print(&self, text: &mut Text) {
                let human: fn(&$inner, crate::answer::Paint) -> Printed = $human;
                put(text, human(&self.0, text.paint));
            }
            fn rows(&self) -> Vec<Row> {
                let rows: fn(&$inner) -> Vec<Row> = $rows;
                rows(&self.0)
            }
            fn verdicts(&self) -> Vec<Verdict<'_>> {
                self.0.legacy_verdicts()
            }
        }
    };
}

trait LegacyVerdicts {
    fn legacy_verdicts(&self) -> Vec<Verdict<'_>> {
        Vec::new()
    }
}

macro_rules! no_verdicts { ($($inner:ty),*) => { $(impl LegacyVerdicts for $inner {})* } }
no_verdicts!(
    Added,
    (ChangedAnswer, Shown),
    Vec<Removed>,
    Vec<Revived>,
    Vec<Synced>,
    Doctored,
    Pruned,
    HookAnswer
);

impl LegacyVerdicts for Vec<Verified> {
    fn legacy_verdicts(&self) -> Vec<Verdict<'_>> {
        let verdicts = self.iter().map(|one| Verdict {
            name: &one.name,
            profile: None,
            report: &one.report,
        });
        verdicts.collect()
    }
}

impl LegacyVerdicts for RangeVerdict {
    fn legacy_verdicts(&self) -> Vec<Verdict<'_>> {
        vec![Verdict {
            name: &self.range,
            profile: self.profile.as_deref(),
            report: &self.report,
        }]
    }
}

legacy!(AddAnswer(Added), "add", json::add, making::add, |_| vec![]);
legacy!(
    ChangedAnswers((ChangedAnswer, Shown)),
    "changed",
    |(answer, shown)| changed::json(answer, *shown),
    |(answer, shown), paint| human_changed::changed(answer, *shown, paint),
    |(answer, shown)| {
        let mut rows = collected(|records| changed::porcelain(records, answer, *shown));
        if changed::patch_alone(answer).is_none() {
            rows.extend(tsv(changed::tsv(answer, *shown)));
        }
        rows
    }
);
legacy!(
    Verifications(Vec<Verified>),
    "verify",
    |all| json!({
        "valid": all.iter().all(|one| one.report.valid()),
        "worktrees": all.iter().map(json::verified).collect::<Vec<_>>(),
    }),
    |all, paint| findings::verify(all, paint),
    |all| all
        .iter()
        .flat_map(|one| verdict_rows(&one.name, &one.report))
        .collect()
);
legacy!(
    RangeAnswer(RangeVerdict),
    "verify",
    json::range,
    findings::range,
    |one| { verdict_rows(&one.range, &one.report) }
);
legacy!(
    Removals(Vec<Removed>),
    "remove",
    |all| json!({ "worktrees": all.iter().map(json::removed).collect::<Vec<_>>() }),
    |all, paint| making::remove(all, paint),
    |_| vec![]
);
legacy!(
    Revivals(Vec<Revived>),
    "remove",
    |all| json!({ "worktrees": all.iter().map(trash::json).collect::<Vec<_>>() }),
    |all, paint| trash::human(all, paint),
    |_| vec![]
);
legacy!(
    Syncs(Vec<Synced>),
    "sync",
    |all| json!({ "worktrees": all.iter().map(sync::json).collect::<Vec<_>>() }),
    |all, paint| sync::human(all, paint),
    |all| collected(|records| all.iter().for_each(|one| sync::porcelain(records, one)))
);
legacy!(
    DoctorAnswer(Doctored),
    "doctor",
    doctor::json,
    doctor::human,
    |one| { collected(|records| doctor::porcelain(records, one)) }
);
legacy!(
    PruneAnswer(Pruned),
    "prune",
    prune::json,
    prune::human,
    |one| { collected(|records| prune::porcelain(records, one)) }
);
legacy!(
    HookAnswers(HookAnswer),
    "hook",
    |one| json!({ "refused": one.refused }),
    findings::hook,
    |_| vec![]
);

fn verdict_rows(name: &str, report: &crate::verify::Report) -> Vec<Row> {
    let mut rows = collected(|records| porcelain::verify(records, name, report));
    let lines = report.findings.iter().map(|finding| {
        format!(
            "{}\t{}\t{}\t{}",
            finding.change.place.to_tsv(),
            finding.change.kind.as_str(),
            finding.reason.as_str(),
            finding.level.as_str()
        )
    });
    rows.extend(tsv(lines.collect()));
    rows
}
