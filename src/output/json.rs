//! Prints JSON: facts, not display strings, in an envelope with a version.
//!
//! A path that is not UTF-8 is given escaped in `path`, and its bytes in `path_bytes`.

use bstr::ByteSlice;
use serde_json::{Map, Value, json};

use super::sync;
use crate::client::ContextFile;
use crate::commands::add::{Added, Done};
use crate::commands::remove::Removed;
use crate::config::{Choice, Client};
use crate::path::RepoPath;
use crate::plan::add::PlannedBranch;
use crate::plan::remove::{BranchFate, Merged};
use crate::scope::RuleList;

pub(super) fn put_path(object: &mut Map<String, Value>, bytes: &[u8]) {
    match bytes.to_str() {
        Ok(text) => {
            object.insert("path".to_owned(), json!(text));
        }
        Err(_) => {
            object.insert("path".to_owned(), json!(crate::path::escape_for_tsv(bytes)));
            object.insert("path_bytes".to_owned(), json!(bytes));
        }
    }
}

pub(super) fn paths<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> Vec<Value> {
    let object = |path: &RepoPath| {
        let mut object = Map::new();
        put_path(&mut object, path.as_bstr());
        Value::Object(object)
    };
    paths.into_iter().map(object).collect()
}

pub(super) fn add(added: &Added) -> Value {
    let plan = &added.plan;
    let list = |list: RuleList| -> Vec<&str> {
        let rules = plan.rules.iter().filter(|rule| rule.list == list);
        rules.map(|rule| rule.pattern.as_str()).collect()
    };
    let mut body = json!({
        "done": match added.done {
            Done::Made => "made",
            Done::Kept => "kept",
            Done::Planned => "planned",
        },
        "name": plan.name,
        "path": plan.path,
        "branch": plan.branch.name(),
        "branch_made": matches!(plan.branch, PlannedBranch::Make(_)),
        "base": { "commit": plan.base, "revision": plan.revision },
        "profile": plan.profile,
        "strategy": plan.strategy.as_str(),
        "attempts": added.attempts,
        "on_violation": plan.on_violation.as_str(),
        "scope": {
            "read": list(RuleList::Read),
            "write": list(RuleList::Write),
            "exclude": list(RuleList::Exclude),
        },
        "files": {
            "write": added.files.write,
            "read": added.files.read,
            "excluded": added.files.excluded,
        },
    });
    if let (Some(owner), Some(body)) = (&added.owner, body.as_object_mut()) {
        body.insert(
            "owner".to_owned(),
            json!(crate::answer::shapes::OwnerField::new(owner, added.alive)),
        );
    }
    if let (Some(synced), Some(body)) = (&added.synced, body.as_object_mut()) {
        body.insert("synced".to_owned(), sync::plan_json(synced));
    }
    if let (Some(claim), Some(body)) = (&added.claim, body.as_object_mut()) {
        body.insert(
            "claim".to_owned(),
            json!(crate::answer::shapes::ClaimField::from(claim)),
        );
    }
    if plan.client != Client::None
        && let Some(body) = body.as_object_mut()
    {
        let file = |file: &ContextFile| {
            let mut object = Map::new();
            put_path(&mut object, file.path.as_bstr());
            object.insert("size".to_owned(), json!(file.content.len()));
            Value::Object(object)
        };
        let files: Vec<Value> = plan.context.iter().map(file).collect();
        body.insert("client".to_owned(), json!(plan.client));
        body.insert("context".to_owned(), json!(files));
    }
    body
}

pub(super) fn removed(one: &Removed) -> Value {
    json!({
        "name": one.name,
        "path": one.path,
        "branch": one.branch,
        "dry_run": one.dry_run,
        "branch_fate": match &one.plan.branch {
            BranchFate::Stays => "stays",
            BranchFate::Deleted(_) => "deleted",
            BranchFate::Gone => "gone",
            BranchFate::Private => "private",
        },
        "saved": paths(&one.plan.save),
        "trash": one.trash.as_ref().map(|trash| json!({
            "ref": trash.name,
            "commit": trash.commit,
        })),
        "ignored": one.ignored,
        "ignored_places": one
            .ignored_places
            .iter()
            .map(|(path, bytes)| json!({ "path": path, "bytes": bytes }))
            .collect::<Vec<_>>(),
        "merged": one.plan.merged.as_ref().map(|merged| match merged {
            Merged::Picked(commit) => json!({ "how": "picked", "commit": commit }),
            Merged::Squashed(commit) => json!({ "how": "squashed", "commit": commit }),
            Merged::Contained(name) => json!({ "how": "contained", "ref": name }),
        }),
    })
}
