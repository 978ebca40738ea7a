//! Shows worktrees and scopes.

use std::collections::BTreeMap;

use super::listing::{shown_size, upstream};
use super::making::{made_by, status_lines};
use super::{age, count, out};
use crate::answer::Paint;
use crate::change::{Change, Looked, by_kind};
use crate::commands::scope::{Decided, ScopeAnswer};
use crate::commands::status::StatusAnswer;
use crate::config::Strategy;
use crate::facts::held::Held;
use crate::facts::position::Position;
use crate::facts::scope::Counted;
use crate::output::Printed;
use crate::output::table::{Cell, table};
use crate::path::{RepoPath, escape_for_terminal};
use crate::placed::{Drift, Here, PlacedFile, PlacedKind};
use crate::scope::{Access, RuleList, ScopeRule};
use crate::worktree::{Alive, LastVerification};

pub(super) fn outcome(last: &LastVerification) -> String {
    let violations = usize::try_from(last.violations).unwrap_or(usize::MAX);
    let said = match violations {
        0 => "ok".to_owned(),
        n => count(n, "violation", "violations"),
    };
    let of = match last.looked {
        Looked::Everything => "",
        Looked::Commits => " (commits)",
    };
    format!("{said}{of}, {}", age(&last.at))
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
    text.push_str(&position_lines(&one.position));
    text.push_str(&held_lines(&one.held, paint));
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
    if let Some(size) = shown_size(one.size) {
        text.push_str(&format!("  size     {size}\n"));
    }
    text.push_str(&format!(
        "  changed  {}{}, {} not committed{ignored}\n",
        count(one.changes.len(), "path", "paths"),
        kinds(&one.changes),
        one.uncommitted
    ));
    if let Some(changed @ 1..) = one.main_changed {
        let files = count(changed, "file", "files");
        text.push_str(&format!(
            "  main     {files} of the main worktree not committed\n"
        ));
    }
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

/// How many of them were created, modified, …; nothing where there are none.
fn kinds(changes: &[Change]) -> String {
    let kinds = by_kind(changes).into_iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, number)| format!("{number} {kind}"))
        .collect();
    if kinds.is_empty() {
        String::new()
    } else {
        format!(" ({})", kinds.join(", "))
    }
}

/// Where the branch stands, as far as that is worth saying.
fn position_lines(position: &Position) -> String {
    let commits = |number: u64| {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        count(number, "commit", "commits")
    };
    let mut text = String::new();
    if let Some(base) = &position.base_branch {
        let moved = base.moved.unwrap_or(0);
        if moved > 0 || base.ahead != position.commits {
            let number = |number: Option<u64>| number.map_or("?".to_owned(), |n| n.to_string());
            text.push_str(&format!(
                "  beside   {}, which moved on by {}: {} ahead, {} behind\n",
                base.name,
                commits(moved),
                number(base.ahead),
                number(base.behind),
            ));
        }
    }
    if let Some(tracked) = &position.upstream {
        let said = upstream(tracked).unwrap_or_else(|| format!("as {}", tracked.name));
        text.push_str(&format!("  upstream {said}\n"));
    }
    text
}

/// Who has it, and what keeps it.
fn held_lines(held: &Held, paint: Paint) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {key:<8} {value}\n"));
    match held.strategy {
        Strategy::Worktree => {}
        Strategy::Clone => line("strategy", "clone: a repository of its own"),
    }
    if let Some((owner, alive)) = &held.owner {
        let alive = match alive {
            Alive::Yes => paint.good("alive"),
            Alive::No => paint.bad("has ended"),
            Alive::Unknown => "nobody can tell whether it is alive".to_owned(),
        };
        let process = owner.process.as_ref();
        let process = process.map_or(String::new(), |one| format!("process {} ", one.pid));
        let (id, since) = (escape_for_terminal(owner.id.as_bytes()), age(&owner.since));
        line(
            "owner",
            &format!("{id}, {alive} ({process}on {}, {since})", owner.host),
        );
    }
    if let Some(claim) = &held.claim {
        line(
            "claim",
            &format!("on {}, for {} s at a time", claim.remote, claim.lease),
        );
    }
    match held.locked.as_deref() {
        None => {}
        Some("") => line("locked", "nobody said why"),
        Some(why) => line("locked", &escape_for_terminal(why.as_bytes())),
    }
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
