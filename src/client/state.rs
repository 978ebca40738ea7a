//! Decides what comes back of a file of settings of which a client in a fence had a copy.
//!
//! Such a file names programs that the client runs for the user (`mcpServers`), and what it may do
//! without asking (`allowedTools`). So keys come back that are listed, and only where their values
//! are plain: a text, a number, or an object of such.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// The key below which claude keeps what it knows of a directory.
const PROJECTS: &str = "projects";

type Object = BTreeMap<String, Box<RawValue>>;

/// The text of a file of settings at three times; none where it was not there.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    /// The copy when the client began.
    pub before: Option<&'a [u8]>,
    /// The copy when it had ended.
    pub after: &'a [u8],
    /// The user's file then.
    pub now: Option<&'a [u8]>,
}

impl Versions<'_> {
    /// The user's file with the values of these keys that the client has changed; none where it
    /// stays as it is. `*.key` is one that is in an object of the user's file.
    pub fn brought_back(&self, keys: &[&str]) -> Option<Vec<u8>> {
        let after = parse(Some(self.after))?;
        let before = parse(self.before).unwrap_or_default();
        let mut users = match self.now {
            None => Object::new(),
            Some(_) => parse(self.now)?,
        };
        let mut is_changed = false;
        for key in keys {
            is_changed |= match key.strip_prefix("*.") {
                None => take_over(key, &before, &after, &mut users),
                Some(inner) => take_over_in_members(inner, &before, &after, &mut users),
            };
        }
        is_changed.then(|| text(&users))?
    }
}

/// A copy for a client, with what its last copy knew of the directory in which it starts, where the
/// user's file knows nothing of that: it does not ask again whether it is trusted.
pub fn with_last(copy: &[u8], last: &[u8], directory: &str) -> Option<Vec<u8>> {
    let mut settings = parse(Some(copy))?;
    let last_projects = object(parse(Some(last))?.get(PROJECTS)?)?;
    let last_project = last_projects.get(directory)?;
    let projects = settings.get(PROJECTS).and_then(|raw| object(raw));
    let mut projects_now = projects.unwrap_or_default();
    projects_now
        .entry(directory.to_owned())
        .or_insert_with(|| last_project.clone());
    let raw = serde_json::value::to_raw_value(&projects_now).ok()?;
    settings.insert(PROJECTS.to_owned(), raw);
    text(&settings)
}

/// Takes over the value of a key that the client has changed. True if it did.
fn take_over(key: &str, before: &Object, after: &Object, users: &mut Object) -> bool {
    let Some(value) = after.get(key).filter(|value| is_plain(value)) else {
        return false;
    };
    for earlier in [before.get(key), users.get(key)].into_iter().flatten() {
        if earlier.get() == value.get() {
            return false;
        }
    }
    users.insert(key.to_owned(), value.clone());
    true
}

/// As [`take_over`], in each object of the user's file that has the key. True if it did anywhere.
fn take_over_in_members(key: &str, before: &Object, after: &Object, users: &mut Object) -> bool {
    let mut is_changed = false;
    for (name, raw) in users {
        let Some(mut members) = object(raw) else {
            continue;
        };
        let members_before = member(before, name);
        let members_after = member(after, name);
        if members.contains_key(key)
            && take_over(key, &members_before, &members_after, &mut members)
            && let Ok(changed) = serde_json::value::to_raw_value(&members)
        {
            *raw = changed;
            is_changed = true;
        }
    }
    is_changed
}

/// Returns a member that is an object; an empty one where there is none.
fn member(settings: &Object, name: &str) -> Object {
    let raw = settings.get(name);
    raw.and_then(|raw| object(raw)).unwrap_or_default()
}

/// True if a value is a text, a number or the like, or an object of such.
fn is_plain(raw: &RawValue) -> bool {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(Value::Object(members)) => members.values().all(is_scalar),
        Ok(value) => is_scalar(&value),
        Err(_) => false,
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn parse(text: Option<&[u8]>) -> Option<Object> {
    serde_json::from_slice(text?).ok()
}

fn object(raw: &RawValue) -> Option<Object> {
    serde_json::from_str(raw.get()).ok()
}

fn text(object: &Object) -> Option<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(object).ok()?;
    text.push(b'\n');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brought_back(before: &str, after: &str, now: &str, keys: &[&str]) -> Option<Value> {
        let versions = Versions {
            before: Some(before.as_bytes()),
            after: after.as_bytes(),
            now: Some(now.as_bytes()),
        };
        let text = versions.brought_back(keys)?;
        Some(serde_json::from_slice(&text).expect("it is JSON"))
    }

    #[test]
    fn listed_keys_come_back_that_the_client_changed() {
        let before = r#"{"starts":1,"theme":"dark","env":{}}"#;
        let after =
            r#"{"starts":2,"theme":"dark","env":{"A":"b"},"mcpServers":{"x":{"command":"y"}}}"#;
        // the user's own client has changed it meanwhile
        let now = r#"{"starts":1,"theme":"light","env":{},"other":[1]}"#;
        let found = brought_back(before, after, now, &["starts", "theme"]);
        let expected = r#"{"starts":2,"theme":"light","env":{},"other":[1]}"#;
        assert_eq!(
            found,
            Some(serde_json::from_str(expected).expect("it is JSON"))
        );
        assert_eq!(
            brought_back(before, before, now, &["starts", "theme"]),
            None
        );
    }

    #[test]
    fn no_value_comes_back_that_is_not_plain_and_no_rubbish() {
        let keys = ["a"];
        for after in [r#"{"a":[1]}"#, r#"{"a":{"b":{}}}"#, "[]", "", r#"{"b":1}"#] {
            assert_eq!(brought_back("{}", after, "{}", &keys), None, "{after}");
        }
        assert_eq!(brought_back("{}", r#"{"a":1}"#, "rubbish", &keys), None);
        let whole = brought_back("{}", r#"{"a":{"b":1}}"#, "{}", &keys);
        assert!(whole.is_some());
    }

    #[test]
    fn a_token_comes_back_only_where_the_user_has_one() {
        let before = r#"{"one":{"type":"oauth","access":"1"},"url":{"type":"wellknown"}}"#;
        let after = r#"{"one":{"type":"wellknown","access":"2"},"url":{"access":"2"},"new":{"access":"3"}}"#;
        let found = brought_back(before, after, before, &["*.access"]);
        let expected = r#"{"one":{"type":"oauth","access":"2"},"url":{"type":"wellknown"}}"#;
        assert_eq!(
            found,
            Some(serde_json::from_str(expected).expect("it is JSON"))
        );
    }

    #[test]
    fn a_new_copy_knows_of_the_directory_what_the_last_did() {
        let known = |copy: &str| {
            let last =
                br#"{"projects":{"/w":{"hasTrustDialogAccepted":true},"/o":{}},"env":{"A":"b"}}"#;
            let text = with_last(copy.as_bytes(), last, "/w")?;
            Some(
                String::from_utf8_lossy(&text)
                    .split_whitespace()
                    .collect::<String>(),
            )
        };
        let trusted = r#"{"projects":{"/w":{"hasTrustDialogAccepted":true}},"theme":"dark"}"#;
        assert_eq!(known(r#"{"theme":"dark"}"#).as_deref(), Some(trusted));
        let own = r#"{"projects":{"/w":{}}}"#;
        assert_eq!(known(own).as_deref(), Some(own));
    }
}
