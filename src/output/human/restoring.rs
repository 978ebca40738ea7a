//! Shows what `restore` did.

use super::count;
use crate::answer::Paint;
use crate::change::Kind;
use crate::commands::restore::{RestoreAnswer, Restored, Undone};
use crate::output::Printed;
use crate::output::table::{Cell, table};

/// The paths on stdout; what was done with them on stderr.
pub fn restore(answer: &RestoreAnswer, paint: Paint) -> Printed {
    match answer {
        RestoreAnswer::Restored(restored) => restored_paths(restored, paint),
        RestoreAnswer::Undone(undone) => undone_paths(undone, paint),
    }
}

fn restored_paths(restored: &Restored, paint: Paint) -> Printed {
    let plan = &restored.plan;
    let row = |kind: Kind, path: &dyn std::fmt::Display| {
        vec![
            Cell::new(kind.as_str(), |text| paint.warning(text)),
            Cell::plain(&path.to_string()),
        ]
    };
    let mut rows: Vec<_> = plan.paths.iter().map(|v| row(v.kind, &v.path)).collect();
    rows.extend(plan.permissions.iter().map(|path| row(Kind::Perm, path)));
    let name = paint.name(&restored.name);
    let mut stderr = String::new();
    if plan.is_empty() {
        let nothing = if plan.stays.is_empty() {
            "nothing to restore"
        } else {
            "nothing can be put back"
        };
        stderr.push_str(&format!("{name}: {nothing}\n"));
    } else {
        let would = if restored.dry_run {
            "would put back"
        } else {
            "put back"
        };
        let paths = count(rows.len(), "path", "paths");
        let sparse = if plan.sparse {
            " and the sparse patterns"
        } else {
            ""
        };
        stderr.push_str(&format!("{name}: {would} {paths}{sparse}\n"));
        stderr.push_str(&commits(restored));
    }
    Printed {
        stdout: table(&rows, "").into_bytes(),
        stderr,
    }
}

/// What became of commits, and how to undo all of it.
fn commits(restored: &Restored) -> String {
    let mut text = String::new();
    let done = &restored.done;
    if let Some(rewritten) = done.rewritten.as_ref().filter(|r| r.made + r.dropped > 0) {
        let made = count(rewritten.made, "commit", "commits");
        let dropped = match rewritten.dropped {
            0 => String::new(),
            n => format!(", {n} dropped"),
        };
        text.push_str(&format!("made {made} anew, without signatures{dropped}\n"));
    }
    if let Some(commit) = &done.commit {
        text.push_str(&format!("committed as {}\n", commit.short()));
    }
    if let Some(rescue) = &done.rescue {
        text.push_str(&format!(
            "saved what was there as {}; to bring it back: git agentwt restore {} --undo\n",
            rescue.name, restored.name
        ));
    }
    if restored.dry_run && restored.plan.rewrite {
        text.push_str("would make commits anew\n");
    } else if restored.dry_run && restored.plan.committed().next().is_some() {
        text.push_str("would undo what is committed by a new commit\n");
    }
    text
}

fn undone_paths(undone: &Undone, paint: Paint) -> Printed {
    let plan = &undone.plan;
    let paths = plan.paths.iter().filter(|p| !plan.lost.contains(&p.path));
    let stdout: String = paths.map(|saved| format!("{}\n", saved.path)).collect();
    let name = paint.name(&undone.name);
    let rescue = &undone.rescue;
    let would = if undone.dry_run {
        "would bring back"
    } else {
        "brought back"
    };
    let mut stderr = if plan.paths.is_empty() && plan.branch.is_none() {
        format!("{name}: all is as it was before {rescue}\n")
    } else {
        let paths = count(stdout.lines().count(), "path", "paths");
        format!("{name}: {would} {paths} from {rescue}\n")
    };
    if let Some((from, to)) = &plan.branch {
        let (from, to) = (from.short(), to.short());
        let goes = if undone.dry_run { "would go" } else { "went" };
        stderr.push_str(&format!("its branch {goes} back from {from} to {to}\n"));
    }
    Printed {
        stdout: stdout.into_bytes(),
        stderr,
    }
}
