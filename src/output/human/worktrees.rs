//! Shows worktrees and scopes.

use std::collections::BTreeMap;

use super::making::{made_by, status_lines};
use super::{age, count, out};
use crate::commands::list::{Details, Row, State};
use crate::commands::scope::{Decided, ScopeAnswer};
use crate::commands::status::StatusAnswer;
use crate::facts::scope::Counted;
use crate::output::table::{Cell, table};
use crate::output::{Paint, Printed};
use crate::path::RepoPath;
use crate::placed::{Drift, Here, PlacedFile, PlacedKind};
use crate::record::LastVerification;
use crate::scope::{Access, RuleList, ScopeRule};

/// One worktree a line.
pub fn list(rows: &[Row], paint: Paint) -> Printed {
    if rows.is_empty() {
        let stderr = "no worktrees yet; to make one: git agentwt add task-1\n".to_owned();
        return Printed {
            stdout: Vec::new(),
            stderr,
        };
    }
    let head = ["NAME", "BRANCH", "BASE", "SCOPE", "CHANGES", "VERIFIED"];
    let mut lines = vec![
        head.iter()
            .map(|h| Cell::new(h, |t| paint.heading(t)))
            .collect(),
    ];
    lines.extend(rows.iter().map(|row| line(row, paint)));
    let mut printed = out(table(&lines, ""));
    let changed = |row: &Row| {
        let count = row
            .details
            .as_ref()?
            .main_changed
            .filter(|count| *count > 0)?;
        Some(format!("{} ({count})", row.name))
    };
    let since: Vec<String> = rows.iter().filter_map(changed).collect();
    if !since.is_empty() {
        let since = since.join(", ");
        printed.stderr = format!("files changed in the main worktree since these began: {since}\n");
    }
    printed
}

fn line(row: &Row, paint: Paint) -> Vec<Cell> {
    let mut cells = vec![
        Cell::new(&row.name, |text| paint.name(text)),
        Cell::plain(&row.branch),
    ];
    let Some(details) = &row.details else {
        let state = match &row.state {
            State::Incomplete => "incomplete: its `add` runs, or was killed".to_owned(),
            State::Damaged(why) => format!("damaged: {why}"),
            State::Missing | State::Ready => String::new(),
        };
        cells.extend([Cell::plain(""), Cell::plain(""), Cell::plain("")]);
        cells.push(Cell::new(&state, |text| paint.bad(text)));
        return cells;
    };
    let base = format!("{} ({})", details.base.short(), details.revision);
    cells.push(Cell::plain(&base));
    cells.push(Cell::plain(details.profile.as_deref().unwrap_or("-")));
    let changed = details
        .last
        .as_ref()
        .map_or("-".to_owned(), |last| last.changed.to_string());
    cells.push(Cell::plain(&changed));
    cells.push(verified(row, details, paint));
    cells
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

fn outcome(last: &LastVerification) -> String {
    let violations = usize::try_from(last.violations).unwrap_or(usize::MAX);
    let said = match violations {
        0 => "ok".to_owned(),
        n => count(n, "violation", "violations"),
    };
    format!("{said}, {}", age(&last.at))
}

/// One worktree in full.
pub fn status(all: &[StatusAnswer], paint: Paint) -> Printed {
    let parts: Vec<String> = all.iter().map(|one| one_status(one, paint)).collect();
    out(parts.join("\n"))
}

fn one_status(one: &StatusAnswer, paint: Paint) -> String {
    let record = &one.record;
    let mut text = paint.heading(record.name.as_str());
    if let Some(made_by) = made_by(record.made_by) {
        text.push_str(&format!(" ({made_by})"));
    }
    let commits = count(
        usize::try_from(one.commits).unwrap_or(usize::MAX),
        "commit",
        "commits",
    );
    let base = format!("{} ({})", record.base.commit.short(), record.base.revision);
    text.push_str(&format!("\n  path     {}\n", one.path));
    text.push_str(&format!(
        "  branch   {}, {commits} since the base\n",
        record.branch
    ));
    text.push_str(&format!("  base     {base}, {}\n", age(&record.created)));
    let profile = record
        .profile
        .as_deref()
        .unwrap_or("given on the command line");
    text.push_str(&format!("  scope    {profile}\n"));
    for list in [RuleList::Write, RuleList::Read, RuleList::Exclude] {
        let rules = record.scope.iter().filter(|rule| rule.list == list);
        let patterns: Vec<String> = rules.map(|rule| escaped(&rule.pattern)).collect();
        if !patterns.is_empty() {
            text.push_str(&format!(
                "  {:<8} {}\n",
                list.to_string(),
                patterns.join("  ")
            ));
        }
    }
    if let Some(hooks) = &one.hooks {
        text.push_str(&status_lines(hooks, paint));
    }
    let last = one
        .last
        .as_ref()
        .map_or_else(|| "never".to_owned(), outcome);
    text.push_str(&format!("  verified {last}\n"));
    text.push_str(&placed_lines(one.placed.as_deref().unwrap_or_default()));
    let ignored = match one.ignored {
        0 => String::new(),
        n => format!(", {}", count(n, "ignored file", "ignored files")),
    };
    text.push_str(&format!(
        "  changed  {}, {} not committed{ignored}\n",
        count(one.changes.len(), "path", "paths"),
        one.uncommitted
    ));
    let rows: Vec<Vec<Cell>> = one
        .changes
        .iter()
        .map(|change| {
            vec![
                Cell::plain(change.kind.as_str()),
                Cell::plain(&change.place.to_string()),
            ]
        })
        .collect();
    text.push_str(&table(&rows, "    "));
    text
}

/// How many files were placed, and for each state that is not the same a line with the names.
fn placed_lines(placed: &[(PlacedFile, Drift)]) -> String {
    const SHOWN: usize = 8;
    let mut moved: BTreeMap<String, Vec<&RepoPath>> = BTreeMap::new();
    for (file, drift) in placed.iter().filter(|(_, drift)| !drift.is_same()) {
        moved.entry(drift.state()).or_default().push(&file.path);
    }
    let files = placed.iter();
    let files = files.filter(|(file, _)| file.kind != PlacedKind::Directory);
    let (same, all) = (
        files.clone().filter(|(_, drift)| drift.is_same()).count(),
        files.count(),
    );
    if placed.is_empty() {
        return String::new();
    }
    let same = match same {
        same if same == all => Here::Same.as_str().to_owned(),
        same => format!("{same} {}", Here::Same.as_str()),
    };
    let mut text = format!("  placed   {}, {same}\n", count(all, "file", "files"));
    for (state, paths) in moved {
        let names: Vec<_> = paths.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = match paths.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(", … and {n} more"),
        };
        let names = names.join(", ");
        text.push_str(&format!("    {} {state}: {names}{more}\n", paths.len()));
    }
    text
}

/// A scope with its counts, or one decision a line.
pub fn scope(answer: &ScopeAnswer, paint: Paint) -> Printed {
    match answer {
        ScopeAnswer::Whole(counted) => whole(counted, paint),
        ScopeAnswer::Paths(paths) => {
            let rows: Vec<_> = paths
                .iter()
                .map(|decided| decision(decided, paint))
                .collect();
            out(table(&rows, ""))
        }
    }
}

fn whole(counted: &Counted, paint: Paint) -> Printed {
    let row = |(rule, matches): &(ScopeRule, usize)| {
        vec![
            Cell::new(&rule.list.to_string(), |text| paint.heading(text)),
            Cell::plain(&escaped(&rule.pattern)),
            Cell::plain(&count(*matches, "file", "files")),
            Cell::new(&rule.origin.to_string(), |text| paint.faint(text)),
        ]
    };
    let rows: Vec<_> = counted.rules.iter().map(row).collect();
    let files = counted.files;
    let mut text = format!("{}\n", paint.name(&counted.name));
    text.push_str(&table(&rows, "  "));
    text.push_str(&format!(
        "  {} to edit, {} to read, {} excluded\n",
        count(files.write, "file", "files"),
        files.read,
        files.excluded
    ));
    let mut printed = out(text);
    printed.stderr = counted
        .advice
        .iter()
        .map(|advice| format!("note: {advice}\n"))
        .collect();
    printed
}

fn decision(decided: &Decided, paint: Paint) -> Vec<Cell> {
    let access = Cell::new(&decided.access.to_string(), |text| match decided.access {
        Access::Write => paint.good(text),
        Access::Read => paint.warning(text),
        Access::Excluded => paint.bad(text),
    });
    let rule = match &decided.rule {
        Some(rule) => format!("{}: {} {}", rule.origin, rule.list, escaped(&rule.pattern)),
        None => "no rule".to_owned(),
    };
    let path = crate::path::escape_for_terminal(&decided.given);
    vec![
        access,
        Cell::new(&rule, |text| paint.faint(text)),
        Cell::plain(&path),
    ]
}

fn escaped(pattern: &str) -> String {
    crate::scope::escape_for_rule(pattern)
}
