//! Shows the worktrees in a table, and which may write the same files.

use super::worktrees::outcome;
use super::{age, count, out};
use crate::answer::Paint;
use crate::commands::list::{Details, Listed, Row, State};
use crate::config::Strategy;
use crate::disk::usage::Usage;
use crate::facts::held::Held;
use crate::facts::position::{BaseBranch, Position, Upstream};
use crate::output::Printed;
use crate::output::table::{Cell, table};
use crate::placed::DriftCounts;
use crate::scope::overlap::{Overlap, some};
use crate::size::Size;
use crate::worktree::Alive;

/// What was listed.
pub fn list(listed: &Listed, paint: Paint) -> Printed {
    match listed {
        Listed::Worktrees(rows) => worktrees(rows, paint),
        Listed::Overlaps(all) => overlaps(all, paint),
    }
}

/// One worktree a line; below it what is not as usual.
fn worktrees(rows: &[Row], paint: Paint) -> Printed {
    if rows.is_empty() {
        let stderr = "no worktrees yet; to make one: git agentwt add task-1\n".to_owned();
        return Printed {
            stdout: Vec::new(),
            stderr,
        };
    }
    let with_size = rows.iter().any(|row| size(row).is_some());
    let mut head = vec![
        "NAME", "BRANCH", "BASE", "AHEAD", "BEHIND", "SCOPE", "CHANGES", "VERIFIED",
    ];
    head.extend(with_size.then_some("SIZE"));
    let heading = |text: &&str| Cell::new(text, |text| paint.heading(text));
    let mut lines = vec![head.iter().map(heading).collect()];
    lines.extend(rows.iter().map(|row| line(row, paint)));
    let table = table(&lines, "");
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (row, line) in rows.iter().zip(lines) {
        text.push_str(&format!("{line}\n"));
        let remarks = remarks(row, paint);
        if !remarks.is_empty() {
            text.push_str(&format!("  {}\n", remarks.join("; ")));
        }
    }
    out(text)
}

/// How much it takes, where somebody asked.
fn size(row: &Row) -> Option<String> {
    shown_size(row.details.as_ref()?.size)
}

/// How much of the disk something takes, where somebody asked.
pub(super) fn shown_size(size: Usage) -> Option<String> {
    match size {
        Usage::NotAsked => None,
        Usage::Unknown => Some("unknown".to_owned()),
        Usage::Bytes(bytes) => Some(Size(bytes).to_string()),
    }
}

fn line(row: &Row, paint: Paint) -> Vec<Cell> {
    let mut cells = vec![
        Cell::new(&row.name, |text| paint.name(text)),
        Cell::plain(&row.branch),
    ];
    let Some(details) = &row.details else {
        cells.extend((0..5).map(|_| Cell::plain("")));
        let state = match &row.state {
            State::Incomplete { .. } => "incomplete",
            State::Damaged(_) => "damaged",
            State::Missing | State::Ready => "",
        };
        cells.push(Cell::new(state, |text| paint.bad(text)));
        return cells;
    };
    let branch = details.position.base_branch.as_ref();
    cells.push(Cell::plain(&base(&details.revision, &details.position)));
    cells.push(number(branch, |branch| branch.ahead));
    cells.push(number(branch, |branch| branch.behind));
    cells.push(Cell::plain(details.profile.as_deref().unwrap_or("-")));
    let changed = details.last.as_ref().map(|last| last.changed.to_string());
    cells.push(Cell::plain(changed.as_deref().unwrap_or("-")));
    cells.push(verified(row, details, paint));
    cells.extend(size(row).map(|size| Cell::plain(&size)));
    cells
}

/// A number that is worth saying.
fn number(branch: Option<&BaseBranch>, of: impl Fn(&BaseBranch) -> Option<u64>) -> Cell {
    match branch.map(of) {
        None | Some(Some(0)) => Cell::plain("-"),
        Some(None) => Cell::plain("?"),
        Some(Some(number)) => Cell::plain(&number.to_string()),
    }
}

/// The base as it was asked for, and how far its branch moved on.
pub(super) fn base(revision: &str, position: &Position) -> String {
    let is_id = revision.len() >= 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    let revision = if is_id { &revision[..10] } else { revision };
    let branch = position.base_branch.as_ref();
    match branch.and_then(|branch| Some((branch, branch.moved.filter(|moved| *moved > 0)?))) {
        None => revision.to_owned(),
        Some((branch, moved)) if branch.name == revision => format!("{revision} +{moved}"),
        Some((branch, moved)) => format!("{revision} ({} +{moved})", branch.name),
    }
}

fn verified(row: &Row, details: &Details, paint: Paint) -> Cell {
    if row.state == State::Missing {
        return Cell::new("directory is gone", |text| paint.bad(text));
    }
    let silent = if details.hooks_silent() {
        ", hooks silent"
    } else {
        ""
    };
    match &details.last {
        None if silent.is_empty() => Cell::new("never", |text| paint.faint(text)),
        None => Cell::new("never, hooks silent", |text| paint.warning(text)),
        Some(last) => {
            let text = format!("{}{silent}", outcome(last));
            Cell::new(&text, |text| match (last.violations, silent.is_empty()) {
                (0, true) => paint.good(text),
                (0, false) => paint.warning(text),
                (_, _) => paint.bad(text),
            })
        }
    }
}

/// What is not as usual.
fn remarks(row: &Row, paint: Paint) -> Vec<String> {
    let mut remarks = Vec::new();
    match &row.state {
        State::Incomplete { began, process } => {
            let began = age(began);
            remarks.push(format!(
                "its `add` runs, or was killed: process {process}, began {began}"
            ));
        }
        State::Damaged(why) => remarks.push(why.clone()),
        State::Ready | State::Missing => {}
    }
    let Some(details) = &row.details else {
        return remarks;
    };
    remarks.extend(held(&details.held, paint));
    remarks.extend(details.position.upstream.as_ref().and_then(upstream));
    remarks.extend(details.placed.as_ref().and_then(placed));
    remarks
}

/// Who has it, and what keeps it.
pub(super) fn held(held: &Held, paint: Paint) -> Vec<String> {
    let mut said = Vec::new();
    match held.strategy {
        Strategy::Worktree => {}
        Strategy::Clone => said.push("a repository of its own".to_owned()),
    }
    if let Some((owner, alive)) = &held.owner {
        let id = crate::path::escape_for_terminal(owner.id.as_bytes());
        said.push(match alive {
            Alive::Yes => format!("owner {id}, {}", paint.good("alive")),
            Alive::No => format!("owner {id}, {}", paint.bad("has ended")),
            Alive::Unknown => format!("owner {id} on {}", owner.host),
        });
    }
    if let Some(claim) = &held.claim {
        said.push(format!("claimed on {}", claim.remote));
    }
    if let Some(why) = &held.locked {
        let why = crate::path::escape_for_terminal(why.as_bytes());
        let locked = paint.warning("locked");
        said.push(if why.is_empty() {
            locked
        } else {
            format!("{locked}: {why}")
        });
    }
    said
}

/// How the upstream differs.
pub(super) fn upstream(upstream: &Upstream) -> Option<String> {
    let name = &upstream.name;
    match (upstream.ahead, upstream.behind) {
        (Some(0), Some(0)) => None,
        (Some(ahead), Some(0)) => Some(format!("{ahead} ahead of {name}")),
        (Some(0), Some(behind)) => Some(format!("{behind} behind {name}")),
        (Some(ahead), Some(behind)) => Some(format!("{ahead} ahead of and {behind} behind {name}")),
        (None, _) | (_, None) => Some(format!("its upstream {name} is gone")),
    }
}

fn placed(counts: &DriftCounts) -> Option<String> {
    let states = [
        (counts.edited, "edited"),
        (counts.missing, "missing"),
        (counts.source_newer, "newer at the source"),
        (counts.source_gone, "gone at the source"),
    ];
    let states = states.iter().filter(|(number, _)| *number > 0);
    let states: Vec<String> = states
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    (!states.is_empty()).then(|| format!("placed files: {}", states.join(", ")))
}

/// How many names and files are shown.
const SHOWN: usize = 8;

fn overlaps(all: &[Overlap], paint: Paint) -> Printed {
    if all.is_empty() {
        let stderr = "no two worktrees may write the same files\n".to_owned();
        return Printed {
            stdout: Vec::new(),
            stderr,
        };
    }
    out(all.iter().map(|one| one_overlap(one, paint)).collect())
}

fn one_overlap(one: &Overlap, paint: Paint) -> String {
    let names = |names: &[String]| some(names.iter().map(|name| paint.name(name)), SHOWN);
    let mut text = names(&one.first);
    if !one.second.is_empty() {
        text.push_str(&format!(" and {}", names(&one.second)));
    }
    let files = count(one.files.len(), "file", "files");
    text.push_str(&format!(": {files} that both may write\n"));
    for file in one.files.iter().take(SHOWN) {
        text.push_str(&format!("  {file}\n"));
    }
    if let more @ 1.. = one.files.len().saturating_sub(SHOWN) {
        text.push_str(&format!("  … and {more} more (all: --porcelain)\n"));
    }
    if !one.patterns.is_empty() {
        let patterns = one.patterns.iter().map(ToString::to_string);
        text.push_str(&format!("  new files by {}\n", some(patterns, SHOWN)));
    }
    text
}
