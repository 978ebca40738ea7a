//! Shows what `prune` removed and kept.

use serde_json::{Value, json};

use super::Printed;
use super::porcelain::Records;
use crate::answer::Paint;
use crate::commands::prune::{PruneLine, PruneResult, Pruned};
use crate::path::escape_for_terminal;
use crate::worktree::removal::plan::BranchFate;
use crate::worktree::trash::Trashed;

/// Two groups, each line with its reason; and a sum on stderr.
pub fn human(answer: &Pruned, paint: Paint) -> Printed {
    let goes = |line: &&PruneLine| match line.done {
        PruneResult::Removed | PruneResult::WouldRemove => true,
        PruneResult::Kept | PruneResult::Failed => false,
    };
    let gone: Vec<&PruneLine> = answer.lines.iter().filter(goes).collect();
    let kept: Vec<&PruneLine> = answer.lines.iter().filter(|line| !goes(line)).collect();
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

fn row(line: &PruneLine, paint: Paint) -> String {
    let kind = line.kind.as_str();
    let what = paint.name(&escape_for_terminal(line.what.as_bytes()));
    let why = shown(&line.why);
    let why = match line.done {
        PruneResult::Removed | PruneResult::WouldRemove | PruneResult::Kept => why,
        PruneResult::Failed => paint.bad(&format!("could not be removed: {why}")),
    };
    let went = went(line);
    let mut text = format!("  {kind} {what}: {why}{went}\n");
    if let Some(help) = &line.help {
        let label = paint.faint("to go on:");
        text.push_str(&format!("    {label} {}\n", shown(help)));
    }
    text
}

fn went(line: &PruneLine) -> String {
    let branch = match &line.branch {
        Some((branch, BranchFate::Stays)) => format!("; branch {branch} stays"),
        Some((branch, BranchFate::Deleted(tip))) => {
            format!("; branch {branch} (was {})", tip.short())
        }
        Some((branch, BranchFate::Private)) => format!("; branch {branch} went with its clone"),
        Some((_, BranchFate::Gone)) | None => String::new(),
    };
    let kept = line.trash.as_ref();
    let kept = kept.map(|trash| format!("; kept in {}", trash.shown()));
    format!("{branch}{}", kept.unwrap_or_default())
}

/// A line stays a line, whatever a name or an error has in it.
fn shown(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| escape_for_terminal(line.trim().as_bytes()))
        .collect();
    lines.join("; ")
}

const fn word(done: PruneResult) -> &'static str {
    match done {
        PruneResult::Removed => "removed",
        PruneResult::WouldRemove => "would-remove",
        PruneResult::Kept => "kept",
        PruneResult::Failed => "failed",
    }
}

/// What became of it, kind, what, why, how to go on, and where work was saved, a line each.
pub fn porcelain(records: &mut Records, answer: &Pruned) {
    for line in &answer.lines {
        let help = line.help.as_deref().unwrap_or_default();
        let saved = line.trash.as_ref().map(Trashed::shown).unwrap_or_default();
        let kind = line.kind.as_str();
        let fields = [word(line.done), kind, &line.what, &line.why, help, &saved];
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

fn candidate(line: &PruneLine) -> Value {
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
    if let Some((branch, fate)) = &line.branch {
        map.insert("branch".to_owned(), json!(branch));
        let deleted = match fate {
            BranchFate::Deleted(_) | BranchFate::Private => true,
            BranchFate::Stays | BranchFate::Gone => false,
        };
        map.insert("branch_deleted".to_owned(), json!(deleted));
    }
    if let Some(trash) = &line.trash {
        map.insert("trash".to_owned(), super::trash::entry(trash));
    }
    object
}
