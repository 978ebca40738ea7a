//! Shows changes and findings.

use super::{count, out};
use crate::answer::Paint;
use crate::change::{Change, Kind, Seen};
use crate::commands::hook::HookAnswer;
use crate::commands::verify::Verified;
use crate::commands::verify::range::RangeVerdict;
use crate::output::Printed;
use crate::output::table::{Cell, table};
use crate::verify::{Finding, Level, Reason, Report};

/// How many findings a hook shows: an agent reads the first lines.
const IN_HOOK: usize = 5;

pub(super) fn kind(kind: Kind, paint: Paint) -> Cell {
    Cell::new(kind.as_str(), |text| match kind {
        Kind::Created => paint.good(text),
        Kind::Deleted | Kind::Integrity | Kind::Present | Kind::Leak | Kind::Hook => {
            paint.bad(text)
        }
        Kind::Modified
        | Kind::Typechange
        | Kind::Mode
        | Kind::Ref
        | Kind::Config
        | Kind::Worktree
        | Kind::Perm => paint.warning(text),
    })
}

pub(super) fn seen(change: &Change, paint: Paint) -> Cell {
    let places: Vec<String> = change.seen.iter().map(ToString::to_string).collect();
    Cell::new(&places.join(", "), |text| paint.faint(text))
}

/// A verdict for each worktree, with its findings.
pub fn verify(all: &[Verified], paint: Paint) -> Printed {
    let mut text = String::new();
    for one in all {
        text.push_str(&verdict(&one.name, None, &one.report, paint));
        text.push_str(&findings(one.report.findings.iter(), paint));
    }
    let mut printed = out(text);
    let has_paths = |one: &&Verified| {
        let mut violations = one.report.violations();
        violations.any(|finding| matches!(finding.reason, Reason::ReadOnly | Reason::Excluded))
    };
    for one in all.iter().filter(has_paths) {
        let name = &one.name;
        printed.stderr.push_str(&format!(
            "to put these paths back: git agentwt restore {name}\n"
        ));
    }
    printed
}

/// The verdict over a range, with its findings.
pub fn range(one: &RangeVerdict, paint: Paint) -> Printed {
    let mut text = verdict(&one.range, one.profile.as_deref(), &one.report, paint);
    text.push_str(&findings(one.report.findings.iter(), paint));
    out(text)
}

/// One line of what was looked at and what came of it.
pub fn verdict(name: &str, profile: Option<&str>, report: &Report, paint: Paint) -> String {
    let profile = profile.map_or_else(String::new, |profile| format!(" ({profile})"));
    let changed = report.changes.counted().count();
    let changed = count(changed, "path changed", "paths changed");
    let notices = report.notices().count();
    let notices = match notices {
        0 => String::new(),
        n => format!(", {}", count(n, "notice", "notices")),
    };
    if report.valid() {
        format!(
            "{} {}: in scope{profile}, {changed}{notices}\n",
            paint.good("ok"),
            paint.name(name)
        )
    } else {
        let violations = count(report.violations().count(), "violation", "violations");
        let violations = paint.bad(&violations);
        format!(
            "{} {}: {violations}{profile}{notices}, {changed}\n",
            paint.bad("NO"),
            paint.name(name)
        )
    }
}

fn findings<'f>(findings: impl Iterator<Item = &'f Finding>, paint: Paint) -> String {
    let row = |finding: &Finding| {
        let sign = match finding.level {
            Level::Violation => Cell::new("!", |text| paint.bad(text)),
            Level::Notice => Cell::new("-", |text| paint.warning(text)),
        };
        vec![
            sign,
            kind(finding.change.kind, paint),
            Cell::plain(&finding.change.place.to_string()),
            seen(&finding.change, paint),
            Cell::new(&why(finding), |text| paint.faint(text)),
        ]
    };
    table(&findings.map(row).collect::<Vec<_>>(), "  ")
}

fn history(finding: &Finding) -> &str {
    let said = finding.change.detail.as_deref();
    said.unwrap_or("touched and put back")
}

/// What the scope, or the record, says of it.
pub fn why(finding: &Finding) -> String {
    let said = match finding.reason {
        Reason::ReadOnly => "read-only",
        Reason::Excluded => "excluded",
        Reason::Outside => "leads out of the scope",
        Reason::Integrity | Reason::Shared => {
            let detail = finding.change.detail.clone();
            return detail.unwrap_or_else(|| "not as `add` left it".to_owned());
        }
        Reason::History => history(finding),
    };
    let said = match &finding.change.detail {
        Some(detail) if finding.change.seen.contains(&Seen::Synced) => {
            format!("{detail}; {said}")
        }
        Some(_) | None => said.to_owned(),
    };
    match &finding.rule {
        Some(rule) => {
            let pattern = crate::scope::escape_for_rule(&rule.pattern);
            format!("{said}: {} {pattern} ({})", rule.list, rule.origin)
        }
        None => format!("{said}: no rule lets it be seen"),
    }
}

/// What an agent sees after its commit: nothing when all is well, else a short list.
pub fn hook(answer: &HookAnswer, paint: Paint) -> Printed {
    let Some((name, report)) = &answer.report else {
        return Printed::default();
    };
    let mut text = format!("agentwt: {}", verdict(name, None, report, paint));
    text.push_str(&findings(report.violations().take(IN_HOOK), paint));
    let more = report.violations().count().saturating_sub(IN_HOOK);
    if more > 0 {
        text.push_str(&format!("  … and {more} more: git agentwt verify {name}\n"));
    }
    if answer.refused {
        text.push_str(&way_back(name, report));
    }
    Printed {
        stdout: Vec::new(),
        stderr: text,
    }
}

/// How to take the paths out of the commit, ready to be run: it saves them first, and knows what
/// upstream has brought since the base.
fn way_back(name: &str, report: &Report) -> String {
    if report
        .violations()
        .all(|one| one.change.place.path().is_none())
    {
        return "agentwt: the commit is refused\n".to_owned();
    }
    format!(
        "agentwt: the commit is refused; to put these paths back, saving them first:\n  \
         git agentwt restore {name}\n"
    )
}
