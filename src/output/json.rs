//! Prints JSON: facts, not display strings, in an envelope with a version.
//!
//! A path that is not UTF-8 is given escaped in `path`, and its bytes in `path_bytes`.

use bstr::ByteSlice;
use serde_json::{Map, Value, json};

use crate::commands::remove::Removed;
use crate::path::RepoPath;
use crate::worktree::removal::plan::{BranchFate, Merged};

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

pub(super) fn removed(one: &Removed) -> Value {
    json!({
        "name": one.name,
        "path": one.path,
        "branch": one.branch,
        "dry_run": one.dry_run,
        "branch_fate": match &one.branch_fate {
            BranchFate::Stays => "stays",
            BranchFate::Deleted(_) => "deleted",
            BranchFate::Gone => "gone",
            BranchFate::Private => "private",
        },
        "saved": one.uncommitted.as_ref().map(paths),
        "trash": one.trash.as_ref().map(super::trash::entry),
        "ignored": one.ignored,
        "ignored_places": one
            .ignored_places
            .iter()
            .map(|(path, bytes)| json!({ "path": path, "bytes": bytes }))
            .collect::<Vec<_>>(),
        "merged": one.merged.as_ref().map(|merged| match merged {
            Merged::Picked(commit) => json!({ "how": "picked", "commit": commit }),
            Merged::Squashed(commit) => json!({ "how": "squashed", "commit": commit }),
            Merged::Contained(name) => json!({ "how": "contained", "ref": name }),
        }),
    })
}
