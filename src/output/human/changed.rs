//! Shows what changed: in all, commit by commit, or as a patch.

use super::findings::{kind, seen};
use super::out;
use crate::answer::Paint;
use crate::change::{Change, Place};
use crate::commands::changed::{ChangedAnswer, Collected};
use crate::output::table::{Cell, table};
use crate::output::{Printed, Shown};
use crate::path::escape_for_terminal;
use crate::truth::commits::OwnCommit;

/// One change a line; with commits, the lines of each below its own.
pub fn changed(answer: &ChangedAnswer, shown: Shown, paint: Paint) -> Printed {
    let collected = &answer.collected;
    if let (None, Some(patch)) = (&collected.commits, &collected.patch) {
        return Printed {
            stdout: patch.text.clone(),
            stderr: String::new(),
        };
    }
    let changes = match &answer.outside {
        Some(outside) => &outside.changes,
        None => &collected.shown,
    };
    let name = collected.name.as_deref();
    let quiet = match (&answer.outside, name, &collected.set) {
        (Some(_), Some(name), Some(_)) => format!("{name}: nothing changed outside the roots\n"),
        (None, Some(name), Some(_)) => format!("{name}: nothing changed since the base\n"),
        (_, _, None) | (_, None, _) => String::new(),
    };
    let commits = collected.commits.as_ref();
    let mut printed = match commits {
        Some(commits) => Printed {
            stdout: by_commit(collected, commits, shown, paint),
            stderr: String::new(),
        },
        None => out(lines(collected, changes, "", shown, paint)),
    };
    if printed.stdout.is_empty() {
        printed.stderr = quiet;
    }
    printed
}

fn by_commit(
    collected: &Collected,
    commits: &[(OwnCommit, Option<Vec<u8>>)],
    shown: Shown,
    paint: Paint,
) -> Vec<u8> {
    let mut all = Vec::new();
    let rows = |changes: &[Change]| lines(collected, changes, "  ", shown, paint).into_bytes();
    for (commit, patch) in commits {
        let abandoned = if commit.abandoned { " (abandoned)" } else { "" };
        let heading = format!(
            "{} {} {}{}\n",
            paint.name(&format!("commit {}", commit.commit.short())),
            paint.faint(commit.authored.as_deref().unwrap_or("-")),
            escape_for_terminal(&commit.subject),
            paint.warning(abandoned)
        );
        all.extend(heading.into_bytes());
        all.extend(rows(&commit.changes));
        all.extend(patch.iter().flatten());
    }
    if let Some((changes, patch)) = collected
        .uncommitted
        .as_ref()
        .filter(|(c, _)| !c.is_empty())
    {
        all.extend(format!("{}\n", paint.name("not committed")).into_bytes());
        all.extend(rows(changes));
        all.extend(patch.iter().flat_map(|patch| &patch.text));
    }
    let beside = collected.shown.iter().filter(|c| c.place.path().is_none());
    let beside: Vec<Change> = beside.cloned().collect();
    if !beside.is_empty() {
        all.extend(format!("{}\n", paint.name("beside its files")).into_bytes());
        all.extend(rows(&beside));
    }
    all
}

fn lines(
    collected: &Collected,
    changes: &[Change],
    indent: &str,
    shown: Shown,
    paint: Paint,
) -> String {
    let row = |change: &Change| {
        let place = match (&change.place, shown.absolute, &collected.path) {
            (Place::Path(path), true, Some(root)) => format!("{root}/{path}"),
            (other, _, _) => other.to_string(),
        };
        let place = Cell::plain(&place);
        if shown.name_only {
            return vec![place];
        }
        let only_there = change.seen.iter().all(|seen| seen.commit().is_some());
        if collected.commits.is_some() && only_there {
            return vec![kind(change.kind, paint), place];
        }
        vec![kind(change.kind, paint), place, seen(change, paint)]
    };
    table(&changes.iter().map(row).collect::<Vec<_>>(), indent)
}
