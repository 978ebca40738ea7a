//! Prints what changed for programs: records, TSV and JSON.

use bstr::ByteSlice;
use serde_json::{Map, Value, json};

use super::json_legacy::{change, put_path};
use super::porcelain::{Records, place, seen};
use super::{Shown, human};
use crate::answer::{Paint, Row};
use crate::change::Change;
use crate::commands::changed::{ChangedAnswer, Collected};
use crate::name::CommitId;
use crate::path::escape_for_tsv;
use crate::truth::commits::OwnCommit;

/// The patch, where one was asked for: it stands in place of every list.
pub fn patch_alone(answer: &ChangedAnswer) -> Option<Vec<u8>> {
    let shown = Shown::default();
    let text = || human::changed::changed(answer, shown, Paint::Plain).stdout;
    answer.collected.patch.as_ref().map(|_| text())
}

/// The records; with commits, each begins with a word that says what it is.
pub fn porcelain(records: &mut Records, answer: &ChangedAnswer, shown: Shown) {
    if let Some(patch) = patch_alone(answer) {
        records.rows = vec![Row::raw(patch)];
        return;
    }
    let collected = &answer.collected;
    let Some(commits) = &collected.commits else {
        for change in listed(answer) {
            let path = path_of(collected, change, shown);
            let (kind, seen) = (change.kind.as_str(), seen(change));
            let all = [kind.as_bytes(), seen.as_bytes(), &path];
            records.push(if shown.name_only { &all[2..] } else { &all });
        }
        return;
    };
    for (commit, _) in commits {
        heading(records, commit);
        let id = commit.commit.as_str().as_bytes();
        for change in &commit.changes {
            let path = path_of(collected, change, shown);
            let kind = change.kind.as_str().as_bytes();
            if shown.name_only {
                records.push(&[b"in", id, &path]);
            } else {
                records.push(&[b"in", id, kind, &path]);
            }
        }
    }
    let left = collected
        .uncommitted
        .iter()
        .flat_map(|(changes, _)| changes);
    let net = collected
        .shown
        .iter()
        .map(|change| (b"net".as_slice(), change));
    for (word, change) in left
        .map(|change| (b"uncommitted".as_slice(), change))
        .chain(net)
    {
        let path = path_of(collected, change, shown);
        let kind = change.kind.as_str().as_bytes();
        if shown.name_only {
            records.push(&[word, &path]);
        } else {
            records.push(&[word, kind, seen(change).as_bytes(), &path]);
        }
    }
}

fn heading(records: &mut Records, commit: &OwnCommit) {
    let parents: Vec<&str> = commit.parents.iter().map(CommitId::as_str).collect();
    let state = if commit.abandoned {
        "abandoned"
    } else {
        "current"
    };
    records.push(&[
        b"commit",
        commit.commit.as_str().as_bytes(),
        commit.authored.as_deref().unwrap_or("").as_bytes(),
        parents.join(" ").as_bytes(),
        state.as_bytes(),
        &commit.subject,
    ]);
}

/// The lines of TSV; with commits, the third field says in which, or `net`.
pub fn tsv(answer: &ChangedAnswer, shown: Shown) -> Vec<String> {
    let collected = &answer.collected;
    let line = |change: &Change| {
        let place = match change.place.path() {
            Some(_) if shown.absolute => escape_for_tsv(&path_of(collected, change, shown)),
            Some(_) | None => change.place.to_tsv(),
        };
        format!("{place}\t{}", change.kind.as_str())
    };
    let Some(commits) = &collected.commits else {
        return listed(answer).iter().map(line).collect();
    };
    let mut lines = Vec::new();
    for (commit, _) in commits {
        let with_id = |change| format!("{}\t{}", line(change), commit.commit);
        lines.extend(commit.changes.iter().map(with_id));
    }
    let left = collected
        .uncommitted
        .iter()
        .flat_map(|(changes, _)| changes);
    lines.extend(left.map(|change| format!("{}\tuncommitted", line(change))));
    let net = collected.shown.iter();
    lines.extend(net.map(|change| format!("{}\tnet", line(change))));
    lines
}

fn listed(answer: &ChangedAnswer) -> &[Change] {
    match &answer.outside {
        Some(outside) => &outside.changes,
        None => &answer.collected.shown,
    }
}

/// The path of a change as it is asked for; what is no path, as it is shown.
fn path_of(collected: &Collected, change: &Change, shown: Shown) -> Vec<u8> {
    match (change.place.path(), &collected.path) {
        (Some(path), Some(root)) if shown.absolute => {
            [root.as_str().as_bytes(), b"/", path.as_bstr().as_bytes()].concat()
        }
        (_, _) => place(&change.place),
    }
}

/// Renders the JSON document.
pub fn json(answer: &ChangedAnswer, shown: Shown) -> Value {
    let collected = &answer.collected;
    let root = collected.path.as_ref().filter(|_| shown.absolute);
    let all = |changes: &[Change]| -> Vec<Value> {
        let objects = changes.iter().map(|c| Value::Object(change(c, root)));
        objects.collect()
    };
    let mut body = json!({
        "name": collected.name,
        "path": collected.path,
        "base": collected.set.as_ref().map(|set| &set.base),
        "head": collected.set.as_ref().map(|set| &set.head),
        "changed": all(&collected.shown),
    });
    let Some(fields) = body.as_object_mut() else {
        return body;
    };
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    if let Some(outside) = &answer.outside {
        let roots = outside.roots.iter().map(|root| root.to_string_lossy());
        put("roots", json!(roots.collect::<Vec<_>>()));
        put("outside", json!(all(&outside.changes)));
    }
    if let Some(commits) = &collected.commits {
        let commits = commits
            .iter()
            .map(|(c, patch)| commit(c, patch.as_deref(), root));
        put("commits", commits.collect());
    }
    if let Some((changes, patch)) = &collected.uncommitted {
        let mut object = Map::new();
        object.insert("paths".to_owned(), json!(all(changes)));
        if let Some(patch) = patch {
            put_bytes(&mut object, "patch", &patch.text);
        }
        put("uncommitted", Value::Object(object));
    }
    if let Some(patch) = &collected.patch {
        put("patch_base", json!(patch.onto));
        put_bytes(fields, "patch", &patch.text);
    }
    if !collected.incomplete.is_empty() {
        fields.insert("incomplete".to_owned(), json!(collected.incomplete));
    }
    body
}

fn commit(own: &OwnCommit, patch: Option<&[u8]>, root: Option<&camino::Utf8PathBuf>) -> Value {
    let paths = own.changes.iter().map(|change| {
        let mut object = Map::new();
        let below = change.place.path().map_or(&b""[..], |path| path.as_bstr());
        match root {
            Some(root) => put_path(
                &mut object,
                &[root.as_str().as_bytes(), b"/", below].concat(),
            ),
            None => put_path(&mut object, below),
        }
        object.insert("kind".to_owned(), json!(change.kind.as_str()));
        Value::Object(object)
    });
    let mut object = Map::new();
    object.insert("paths".to_owned(), paths.collect());
    object.insert("commit".to_owned(), json!(own.commit));
    object.insert("parents".to_owned(), json!(own.parents));
    object.insert("authored".to_owned(), json!(own.authored));
    put_bytes(&mut object, "subject", &own.subject);
    if own.abandoned {
        object.insert("abandoned".to_owned(), json!(true));
    }
    if let Some(patch) = patch {
        put_bytes(&mut object, "patch", patch);
    }
    Value::Object(object)
}

/// Text as it is; what is not UTF-8 as it can be shown, and its bytes beside it.
fn put_bytes(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_owned(), json!(bytes.to_str_lossy()));
    if bytes.to_str().is_err() {
        object.insert(format!("{key}_bytes"), json!(bytes));
    }
}
