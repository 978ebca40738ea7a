//! Holds each JSON document that the program prints against its schema (json-schema.org, draft 2020-12), as far as
//! our schemas go.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use git_agentwt::output::schema::schemas;
use serde_json::{Map, Value};

/// Fails the test if a text is a document of ours that is not as its schema says.
#[track_caller]
pub fn check_document(text: &str) {
    if !text.starts_with('{') {
        return;
    }
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let faults = faults_of(&document);
    assert!(faults.is_empty(), "{}\n{text}", faults.join("\n"));
}

/// What of a document is not as its schema says; nothing where it is no document of ours.
pub fn faults_of(document: &Value) -> Vec<String> {
    static SCHEMAS: OnceLock<BTreeMap<&str, Value>> = OnceLock::new();
    let all = SCHEMAS.get_or_init(|| schemas().into_iter().collect());
    let version = document["schema"].as_str().unwrap_or_default();
    let Some(name) = version.strip_prefix("agentwt.") else {
        return Vec::new();
    };
    let name = name.strip_suffix("/1").unwrap_or(name);
    let Some(schema) = all.get(name) else {
        return vec![format!("there is no schema of {version}")];
    };
    let mut faults = Vec::new();
    let checker = Checker {
        defs: &schema["$defs"],
    };
    checker.check(schema, document, name, &mut faults);
    faults
}

struct Checker<'s> {
    defs: &'s Value,
}

impl Checker<'_> {
    /// Adds what of a value is not as a schema says; `at` is where the value is.
    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            self.check(&self.defs[name], value, at, faults);
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(all) = schema[choice].as_array() {
                let fits = |one: &&Value| {
                    let mut faults = Vec::new();
                    self.check(one, value, at, &mut faults);
                    faults.is_empty()
                };
                let fitting = all.iter().filter(fits).count();
                if fitting == 0 || choice == "oneOf" && fitting > 1 {
                    faults.push(format!("{at}: {fitting} of `{choice}` fit: {value}"));
                }
            }
        }
        if schema.get("const").is_some_and(|only| only != value) {
            faults.push(format!("{at}: not {}: {value}", schema["const"]));
        }
        let one_of = schema["enum"].as_array();
        if one_of.is_some_and(|all| !all.contains(value)) {
            faults.push(format!("{at}: none of the values: {value}"));
        }
        if !has_type(&schema["type"], value) {
            faults.push(format!("{at}: not a {}: {value}", schema["type"]));
        }
        let items = value.as_array().filter(|_| schema["items"].is_object());
        for (number, item) in items.into_iter().flatten().enumerate() {
            let at = format!("{at}[{number}]");
            self.check(&schema["items"], item, &at, faults);
        }
        if let Some(object) = value.as_object() {
            self.check_keys(schema, object, at, faults);
        }
    }

    fn check_keys(
        &self,
        schema: &Value,
        object: &Map<String, Value>,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        let required = schema["required"].as_array().into_iter().flatten();
        for key in required.filter_map(Value::as_str) {
            if !object.contains_key(key) {
                faults.push(format!("{at}.{key}: required, and not there"));
            }
        }
        let is_whole = schema["properties"].is_object()
            && ["$ref", "anyOf", "oneOf"]
                .iter()
                .all(|other| schema[other].is_null());
        for (key, value) in object {
            let at = format!("{at}.{key}");
            let others = &schema["additionalProperties"];
            match &schema["properties"][key] {
                Value::Null if others.is_object() => self.check(others, value, &at, faults),
                Value::Null if is_whole => faults.push(format!("{at}: not in the schema")),
                Value::Null => {}
                property => self.check(property, value, &at, faults),
            }
        }
    }
}

/// Whether a value has one of these types.
fn has_type(types: &Value, value: &Value) -> bool {
    let is = |word: &Value| match word.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _unknown => false,
    };
    match types {
        Value::Null => true,
        Value::Array(all) => all.iter().any(is),
        one => is(one),
    }
}
