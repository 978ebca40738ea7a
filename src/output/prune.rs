//! Shows what `prune` removed and kept.

use serde_json::{Value, json};

use super::Printed;
use super::porcelain::Records;
use crate::answer::Paint;
use crate::commands::prune::{Done, Line, Pruned, Went};
use crate::path::escape_for_terminal;
use crate::plan::remove::BranchFate;

/// Two groups, each line with its reason; and a sum on stderr.
pub fn human(answer: &Pruned, paint: Paint) -> Printed {
    let goes = |line: &&Line| match line.done {
        Done::Removed | Done::WouldRemove => true,
        Done::Kept | Done::Failed => false,
    };
    let gone: Vec<&Line> = answer.lines.iter().filter(goes).collect();
    let kept: Vec<&Line> = answer.lines.iter().filter(|line| !goes(line)).collect();
    let heading = if answer.dry_run {
        "would remove"
    } else {
        "removed"
    };
    let mut text = String::new();
    for (heading, lines) in [(heading, &gone), ("kept", &kept)] {
        if !lines.is_empty() {
            text.push_str(&format!("{}\n", paint.heading(heading)));
            lines
                .iter()
                .for_each(|line| text.push_str(&row(line, paint)));
        }
    }
    let stderr = if answer.lines.is_empty() {
        "nothing to prune\n".to_owned()
    } else {
        String::new()
    };
    Printed {
        stdout: text.into_bytes(),
        stderr,
    }
}

fn row(line: &Line, paint: Paint) -> String {
    let kind = line.kind.as_str();
    let what = paint.name(&escape_for_terminal(line.what.as_bytes()));
    let why = shown(&line.why);
    let why = match line.done {
        Done::Removed | Done::WouldRemove | Done::Kept => why,
        Done::Failed => paint.bad(&format!("could not be removed: {why}")),
    };
    let went = line.worktree.as_ref().map(went).unwrap_or_default();
    let mut text = format!("  {kind} {what}: {why}{went}\n");
    if let Some(help) = &line.help {
        let label = paint.faint("to go on:");
        text.push_str(&format!("    {label} {}\n", shown(help)));
    }
    text
}

fn went(went: &Went) -> String {
    let branch = match &went.fate {
        BranchFate::Stays => format!("; branch {} stays", went.branch),
        BranchFate::Deleted(tip) => format!("; branch {} (was {})", went.branch, tip.short()),
        BranchFate::Private => format!("; branch {} went with its clone", went.branch),
        BranchFate::Gone => String::new(),
    };
    let saved = went.trash.as_ref();
    let saved = saved.map(|saved| format!("; saved in {}", saved.name));
    format!("{branch}{}", saved.unwrap_or_default())
}

/// A line stays a line, whatever a name or an error has in it.
fn shown(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| escape_for_terminal(line.trim().as_bytes()))
        .collect();
    lines.join("; ")
}

const fn word(done: Done) -> &'static str {
    match done {
        Done::Removed => "removed",
        Done::WouldRemove => "would-remove",
        Done::Kept => "kept",
        Done::Failed => "failed",
    }
}

/// What became of it, kind, what, why, how to go on, and where work was saved, a line each.
pub fn porcelain(records: &mut Records, answer: &Pruned) {
    for line in &answer.lines {
        let help = line.help.as_deref().unwrap_or_default();
        let saved = line.worktree.as_ref().and_then(|went| went.trash.as_ref());
        let saved = saved.map_or("", |saved| saved.name.as_str());
        let kind = line.kind.as_str();
        let fields = [word(line.done), kind, &line.what, &line.why, help, saved];
        records.push(&fields.map(str::as_bytes));
    }
}

/// The whole answer.
pub fn json(answer: &Pruned) -> Value {
    json!({
        "dry_run": answer.dry_run,
        "candidates": answer.lines.iter().map(candidate).collect::<Vec<_>>(),
    })
}

fn candidate(line: &Line) -> Value {
    let mut object = json!({
        "done": word(line.done),
        "kind": line.kind.as_str(),
        "what": line.what,
        "why": line.why,
    });
    let Some(map) = object.as_object_mut() else {
        return object;
    };
    if let Some(help) = &line.help {
        map.insert("help".to_owned(), json!(help));
    }
    if let Some(went) = &line.worktree {
        map.insert("branch".to_owned(), json!(went.branch));
        let deleted = match &went.fate {
            BranchFate::Deleted(_) | BranchFate::Private => true,
            BranchFate::Stays | BranchFate::Gone => false,
        };
        map.insert("branch_deleted".to_owned(), json!(deleted));
        if let Some(saved) = &went.trash {
            let saved = json!({ "ref": saved.name, "commit": saved.commit });
            map.insert("trash".to_owned(), saved);
        }
    }
    object
}
