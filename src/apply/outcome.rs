//! Keeps the outcome of a verification where `list` and `status` find it.

use crate::change::by_kind;
use crate::disk::DiskError;
use crate::disk::files::{self, Durable};
use crate::facts::Worktree;
use crate::verify::{Finding, Report};
use crate::walked::Walked;
use crate::worktree::WALKED;
use crate::worktree::{KeptFinding, LastVerification, VERSION, to_text};

/// How many findings are kept.
const KEPT: usize = 100;

fn kept(finding: &Finding) -> KeptFinding {
    KeptFinding {
        place: finding.change.place.to_tsv(),
        kind: finding.change.kind.as_str().to_owned(),
        reason: finding.reason.as_str().to_owned(),
        level: finding.level.as_str().to_owned(),
    }
}

/// Writes the outcome of a verification into the record's directory, if that is still there.
///
/// # Errors
/// Fails when the disk refuses.
pub fn store(known: &Worktree, report: &Report, now: &str) -> Result<(), DiskError> {
    let changed = report.changes.counted().count();
    let kinds = by_kind(report.changes.counted());
    let last = LastVerification {
        version: VERSION,
        at: now.to_owned(),
        head: report.changes.head.clone(),
        looked: report.changes.looked,
        changed: changed as u64,
        kinds,
        violations: report.violations().count() as u64,
        notices: report.notices().count() as u64,
        findings: report.findings.iter().take(KEPT).map(kept).collect(),
    };
    let file = known.dir.join("verification.toml");
    files::write_beside(&file, to_text(&last).as_bytes(), Durable::No)
}

/// Keeps which directories need not be read again. That they are read again is no loss: what cannot
/// be written is not.
pub fn keep(known: &Worktree, walked: Option<&Walked>) {
    if let Some(walked) = walked {
        let _ = files::write_beside(&known.dir.join(WALKED), &walked.to_bytes(), Durable::No);
    }
}
