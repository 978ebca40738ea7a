//! Prints what `list` lists, and what `status` shows of it as well, for programs.

use serde_json::{Map, Value, json};

use super::json::{last, paths, put_path};
use super::porcelain::Records;
use crate::commands::list::{Details, Listed, Row, State};
use crate::config::{Choice, Strategy};
use crate::disk::usage::Usage;
use crate::facts::held::Held;
use crate::facts::position::Position;
use crate::scope::overlap::{Overlap, SharedPatterns};
use crate::worktree::{Alive, Record};

/// The body of the JSON document.
pub fn json(listed: &Listed) -> Value {
    match listed {
        Listed::Worktrees(rows) => json!({ "worktrees": rows.iter().map(row).collect::<Vec<_>>() }),
        Listed::Overlaps(all) => {
            json!({ "overlaps": all.iter().flat_map(overlap).collect::<Vec<_>>() })
        }
    }
}

/// Records, one for each worktree; or for each pair of worktrees and each file, and each pair of
/// patterns.
pub fn porcelain(records: &mut Records, listed: &Listed) {
    match listed {
        Listed::Worktrees(rows) => rows.iter().for_each(|row| record(records, row)),
        Listed::Overlaps(all) => all.iter().for_each(|one| overlap_records(records, one)),
    }
}

const fn word(state: &State) -> &'static str {
    match state {
        State::Ready => "ready",
        State::Missing => "missing",
        State::Incomplete { .. } => "incomplete",
        State::Damaged(_) => "damaged",
    }
}

fn row(row: &Row) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(row.name));
    object.insert("path".into(), json!(row.path));
    object.insert("state".into(), json!(word(&row.state)));
    match &row.state {
        State::Incomplete { began, process } => {
            object.insert("branch".into(), json!(row.branch));
            object.insert("began".into(), json!(began));
            object.insert("process".into(), json!(process));
        }
        State::Damaged(why) => {
            object.insert("detail".into(), json!(why));
        }
        State::Ready | State::Missing => {}
    }
    if let Some(details) = &row.details {
        put_details(&mut object, row, details);
    }
    Value::Object(object)
}

fn put_details(object: &mut Map<String, Value>, row: &Row, details: &Details) {
    object.insert("branch".into(), json!(row.branch));
    let base = json!({ "commit": details.base, "revision": details.revision });
    object.insert("base".into(), base);
    object.insert("head".into(), json!(details.position.head));
    object.insert("commits".into(), json!(details.position.commits));
    put_position(object, &details.position);
    object.insert("profile".into(), json!(details.profile));
    object.insert("created".into(), json!(details.created));
    put_held(object, &details.held);
    object.insert("hooks_silent".into(), json!(details.hooks_silent()));
    object.insert("main_changed".into(), json!(details.main_changed));
    if row.state == State::Ready {
        let counts = details.placed.as_ref().map(|placed| {
            json!({
                "files": placed.files,
                "edited": placed.edited,
                "missing": placed.missing,
                "source_newer": placed.source_newer,
                "source_gone": placed.source_gone,
            })
        });
        object.insert("placed".into(), json!(counts));
    }
    put_size(object, details.size);
    let verification = details.last.as_ref().map_or(Value::Null, last);
    object.insert("verification".into(), verification);
}

/// Adds where the branch stands. What there is no branch for is absent.
pub fn put_position(object: &mut Map<String, Value>, position: &Position) {
    if let Some(base) = &position.base_branch {
        if let Some(Value::Object(all)) = object.get_mut("base") {
            all.insert("branch".into(), json!(base.name));
            all.insert("moved".into(), json!(base.moved));
        }
        object.insert("ahead".into(), json!(base.ahead));
        object.insert("behind".into(), json!(base.behind));
    }
    if let Some(upstream) = &position.upstream {
        let (name, ahead, behind) = (&upstream.name, upstream.ahead, upstream.behind);
        let upstream = json!({ "name": name, "ahead": ahead, "behind": behind });
        object.insert("upstream".into(), upstream);
    }
}

/// Adds who has it.
pub fn put_held(object: &mut Map<String, Value>, held: &Held) {
    object.insert("strategy".into(), json!(held.strategy.as_str()));
    if let Some((owner, alive)) = &held.owner {
        object.insert("owner".into(), super::json::owner(owner, *alive));
    }
    if let Some(claim) = &held.claim {
        let (remote, commit, lease) = (&claim.remote, &claim.commit, claim.lease);
        let claim = json!({ "remote": remote, "commit": commit, "lease": lease });
        object.insert("claim".into(), claim);
    }
    if held.strategy == Strategy::Worktree {
        object.insert("locked".into(), json!(held.locked.is_some()));
    }
    if let Some(why) = held.locked.as_ref().filter(|why| !why.is_empty()) {
        object.insert("lock_reason".into(), json!(why));
    }
}

/// Adds the size, where it was asked for.
pub fn put_size(object: &mut Map<String, Value>, size: Usage) {
    let size = match size {
        Usage::NotAsked => return,
        Usage::Unknown => None,
        Usage::Bytes(bytes) => Some(bytes),
    };
    object.insert("size".into(), json!(size));
}

fn overlap(one: &Overlap) -> Vec<Value> {
    let pattern = |shared: &SharedPatterns| {
        let mut value = json!({ "patterns": [shared.first, shared.second] });
        if let Some(value) = value.as_object_mut() {
            let mut path = Map::new();
            put_path(&mut path, shared.example.as_bstr());
            value.insert("example".into(), Value::Object(path));
        }
        value
    };
    let files = paths(&one.files);
    let patterns: Vec<Value> = one.patterns.iter().map(pattern).collect();
    let pairs = one.pairs().into_iter();
    let value = pairs.map(|(first, second)| {
        json!({ "worktrees": [first, second], "files": files, "new_files": patterns })
    });
    value.collect()
}

fn overlap_records(records: &mut Records, one: &Overlap) {
    for (first, second) in one.pairs() {
        let pair = [first.as_bytes(), second.as_bytes()];
        for file in &one.files {
            records.push(&[pair[0], pair[1], b"file", file.as_bstr()]);
        }
        for shared in &one.patterns {
            let example: &[u8] = shared.example.as_bstr();
            let (first, second) = (shared.first.as_bytes(), shared.second.as_bytes());
            records.push(&[pair[0], pair[1], b"new", first, second, example]);
        }
    }
}

fn text(value: Option<impl ToString>) -> Vec<u8> {
    value.map_or_else(Vec::new, |value| value.to_string().into_bytes())
}

fn record(records: &mut Records, row: &Row) {
    let details = row.details.as_ref();
    let last = details.and_then(|d| d.last.as_ref());
    let mut fields: Vec<Vec<u8>> = vec![
        row.name.clone().into_bytes(),
        text(Some(word(&row.state))),
        row.branch.clone().into_bytes(),
        text(details.map(|d| &d.base)),
        text(details.and_then(|d| d.position.head.as_ref())),
        text(details.and_then(|d| d.profile.as_ref())),
        text(last.map(|l| l.changed)),
        text(last.map(|l| l.violations)),
        text(last.map(|l| &l.at)),
        text(Some(&row.path)),
    ];
    let base = details.and_then(|d| d.position.base_branch.as_ref());
    let held = details.map(|d| &d.held);
    let owner = held.and_then(|held| held.owner.as_ref());
    fields.extend([
        text(base.map(|base| &base.name)),
        text(base.and_then(|base| base.moved)),
        text(base.and_then(|base| base.ahead)),
        text(base.and_then(|base| base.behind)),
        text(held.map(|held| held.strategy.as_str())),
        text(owner.map(|(owner, _)| &owner.id)),
        text(owner.map(|(_, alive)| alive_word(*alive))),
        text(
            held.and_then(|held| held.claim.as_ref())
                .map(|claim| &claim.remote),
        ),
        text(held.and_then(|held| held.locked.as_ref()).map(|_| "locked")),
        text(details.and_then(|d| bytes(d.size))),
    ]);
    let fields: Vec<&[u8]> = fields.iter().map(Vec::as_slice).collect();
    records.push(&fields);
}

/// The bytes, where they are known.
pub const fn bytes(size: Usage) -> Option<u64> {
    match size {
        Usage::NotAsked | Usage::Unknown => None,
        Usage::Bytes(bytes) => Some(bytes),
    }
}

const fn alive_word(alive: Alive) -> &'static str {
    match alive {
        Alive::Yes => "alive",
        Alive::No => "ended",
        Alive::Unknown => "unknown",
    }
}

/// What `status` shows of where the branch stands and who has it: a key and a value each.
pub fn fields(record: &Record, position: &Position, held: &Held) -> Vec<(&'static str, String)> {
    let mut all = vec![("strategy", record.strategy.as_str().to_owned())];
    let mut put = |key, value: Option<String>| all.extend(value.map(|value| (key, value)));
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    if let Some(base) = &position.base_branch {
        put("base-branch", Some(base.name.clone()));
        put("moved", number(base.moved));
        put("ahead", number(base.ahead));
        put("behind", number(base.behind));
    }
    if let Some(upstream) = &position.upstream {
        put("upstream", Some(upstream.name.clone()));
        put("upstream-ahead", number(upstream.ahead));
        put("upstream-behind", number(upstream.behind));
    }
    if let Some((owner, alive)) = &held.owner {
        put("owner", Some(owner.id.clone()));
        put("owner-alive", Some(alive_word(*alive).to_owned()));
    }
    put(
        "claim",
        held.claim.as_ref().map(|claim| claim.remote.clone()),
    );
    put("locked", held.locked.clone());
    all
}
