//! Prints what was synced: for people, as records, and in JSON.

use serde_json::{Map, Value, json};

use super::Printed;
use super::human::count;
use super::json_legacy::{paths, put_path};
use super::porcelain::Records;
use crate::answer::Paint;
use crate::answer::copies::CopiesField;
use crate::commands::sync::{PlacedState, SyncDone, Synced};
use crate::path::RepoPath;
use crate::placed::Origin;
use crate::sync::SyncPlan;

/// The answer for people.
pub fn human(all: &[Synced], paint: Paint) -> Printed {
    let mut text = String::new();
    for one in all {
        match &one.done {
            SyncDone::Copied(plan) => text.push_str(&copied(one, plan, paint)),
            SyncDone::Status(states) => text.push_str(&status(one, states, all.len() > 1, paint)),
            SyncDone::Pulled(plan) => {
                let verb = if one.dry_run { "would pull" } else { "pulled" };
                let name = paint.name(&one.name);
                let files = count(plan.pull.len(), "file", "files");
                text.push_str(&format!("{verb} {files} from {name}\n"));
                text.push_str(&listed("  ", &plan.pull));
            }
            SyncDone::Cleaned(cleaned) => {
                let verb = if one.dry_run {
                    "would remove"
                } else {
                    "removed"
                };
                let name = paint.name(&one.name);
                let files = count(cleaned.removed.len(), "file", "files");
                text.push_str(&format!("{verb} {files} from {name}\n"));
                let edited = paint.warning("kept, edited here  ");
                text.push_str(&listed(&format!("  {edited}"), &cleaned.edited));
                let last = paint.warning("kept, gone at source  ");
                text.push_str(&listed(&format!("  {last}"), &cleaned.last));
                for (path, why) in &cleaned.stayed {
                    text.push_str(&format!("  {} {path}: {why}\n", paint.warning("kept")));
                }
            }
        }
        if let Some(rescue) = &one.rescue {
            text.push_str(&format!(
                "  what was replaced is saved in {}\n",
                rescue.name
            ));
        }
    }
    Printed {
        stdout: text.into_bytes(),
        stderr: String::new(),
    }
}

fn copied(one: &Synced, plan: &SyncPlan, paint: Paint) -> String {
    let copies = CopiesField::from(plan);
    let mut text = match (plan.files().count(), plan.kept) {
        (0, 0) => format!("{}: there is nothing to copy\n", paint.name(&one.name)),
        (0, kept) => format!(
            "{}: {} as in the main worktree\n",
            paint.name(&one.name),
            count(kept, "file is", "files are")
        ),
        _ => format!("{}\n", copies.summary(&one.name, one.dry_run, paint)),
    };
    for line in copies.left_out(&one.name) {
        text.push_str(&format!("{line}\n"));
    }
    if one.dry_run {
        let files: Vec<RepoPath> = plan.files().map(|copy| copy.path.clone()).collect();
        text.push_str(&listed("  ", &files));
    }
    text
}

fn listed(before: &str, paths: &[RepoPath]) -> String {
    paths
        .iter()
        .map(|path| format!("{before}{path}\n"))
        .collect()
}

fn status(one: &Synced, states: &[PlacedState], headed: bool, paint: Paint) -> String {
    let mut text = String::new();
    if headed {
        text.push_str(&format!("{}\n", paint.heading(&one.name)));
    }
    if states.is_empty() {
        text.push_str(&format!(
            "nothing was placed in {}\n",
            paint.name(&one.name)
        ));
        return text;
    }
    let words: Vec<String> = states.iter().map(|one| one.drift.state()).collect();
    let width = words.iter().map(String::len).max().unwrap_or(0);
    for (state, word) in states.iter().zip(&words) {
        let shown = format!("{word:width$}");
        let shown = if state.drift.is_same() {
            paint.faint(&shown)
        } else {
            paint.warning(&shown)
        };
        let context = match state.origin {
            Origin::Synced => String::new(),
            Origin::Context => paint.faint("  (context)"),
        };
        text.push_str(&format!("{shown}  {}{context}\n", state.path));
    }
    text
}

/// The records: name, what became of it or how it is, path, and what more there is to say.
pub fn porcelain(records: &mut Records, one: &Synced) {
    let name = one.name.as_bytes();
    let would = |done: &str, would: &str| {
        if one.dry_run {
            would.to_owned()
        } else {
            done.to_owned()
        }
    };
    let mut push = |word: &str, path: &RepoPath, more: &str| {
        records.push(&[name, word.as_bytes(), path.as_bstr(), more.as_bytes()]);
    };
    match &one.done {
        SyncDone::Copied(plan) => {
            for file in plan.files() {
                let size = file.stat.size.to_string();
                push(&would("copied", "would-copy"), &file.path, &size);
            }
            plan.excluded
                .iter()
                .for_each(|(path, rule)| push("excluded", path, rule));
            plan.tracked
                .iter()
                .for_each(|path| push("tracked", path, ""));
        }
        SyncDone::Status(states) => {
            for state in states {
                push(&state.drift.state(), &state.path, state.origin.as_str());
            }
        }
        SyncDone::Pulled(plan) => {
            let word = would("pulled", "would-pull");
            plan.pull.iter().for_each(|path| push(&word, path, ""));
        }
        SyncDone::Cleaned(cleaned) => {
            let word = would("removed", "would-remove");
            cleaned
                .removed
                .iter()
                .for_each(|path| push(&word, path, ""));
            cleaned
                .edited
                .iter()
                .for_each(|path| push("edited", path, ""));
            cleaned
                .last
                .iter()
                .for_each(|path| push("gone at source", path, ""));
            cleaned
                .stayed
                .iter()
                .for_each(|(path, why)| push("stayed", path, why));
        }
    }
}

/// One worktree in JSON.
pub fn json(one: &Synced) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("name", json!(one.name));
    put("path", json!(one.path));
    put("dry_run", json!(one.dry_run));
    match &one.done {
        SyncDone::Copied(plan) => {
            put("done", json!("copied"));
            let Value::Object(plan) = json!(CopiesField::from(plan)) else {
                return Value::Object(object);
            };
            object.extend(plan);
        }
        SyncDone::Status(states) => {
            put("done", json!("status"));
            put("placed", states.iter().map(state).collect());
        }
        SyncDone::Pulled(plan) => {
            put("done", json!("pulled"));
            put("pulled", json!(paths(&plan.pull)));
            put("unchanged", json!(plan.unchanged));
        }
        SyncDone::Cleaned(cleaned) => {
            put("done", json!("cleaned"));
            put("removed", json!(paths(&cleaned.removed)));
            put("edited", json!(paths(&cleaned.edited)));
            put("last", json!(paths(&cleaned.last)));
            put(
                "stayed",
                json!(paths(cleaned.stayed.iter().map(|(path, _)| path))),
            );
        }
    }
    if let Some(rescue) = &one.rescue {
        let rescue = json!({ "ref": rescue.name, "commit": rescue.commit });
        object.insert("rescue".to_owned(), rescue);
    }
    Value::Object(object)
}

/// What is copied, in JSON; sizes in bytes.
fn state(one: &PlacedState) -> Value {
    let mut object = Map::new();
    put_path(&mut object, one.path.as_bstr());
    object.insert("origin".to_owned(), json!(one.origin.as_str()));
    object.insert("state".to_owned(), json!(one.drift.words()));
    Value::Object(object)
}
