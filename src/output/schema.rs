//! Describes the JSON documents: their JSON Schema, and the section JSON of a man page.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::commands;
use crate::refusal::Refusal;
use crate::words::error::ErrorDocument;
use crate::words::path::escape_for_terminal;

/// The JSON Schema of each document (`docs/schema/<document>.json`), by name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        of::<commands::accept::AcceptAnswer>(),
        of::<commands::add::answer::AddAnswer>(),
        of::<commands::changed::answer::ChangedAnswer>(),
        of::<commands::clients::ClientsAnswer>(),
        of::<commands::doctor::answer::DoctorAnswer>(),
        of::<commands::env::EnvAnswer>(),
        of::<commands::exec::answer::ExecAnswer>(),
        of::<commands::hooks::HooksAnswer>(),
        of::<commands::hooks::claude::ClaudeHooksAnswer>(),
        of::<commands::init::InitAnswer>(),
        of::<commands::land::answer::LandAnswer>(),
        of::<commands::list::answer::ListAnswer>(),
        of::<commands::path::PathAnswer>(),
        of::<commands::prune::PruneAnswer>(),
        of::<commands::reapply::ReapplyAnswer>(),
        of::<commands::remove::answer::RemoveAnswer>(),
        of::<commands::renew::RenewAnswer>(),
        of::<commands::restore::answer::RestoreAnswer>(),
        of::<commands::scope::answer::ScopeAnswer>(),
        of::<commands::status::StatusAnswer>(),
        of::<commands::sync::answer::SyncAnswer>(),
        of::<commands::trust::TrustAnswer>(),
        of::<commands::verify::VerifyAnswer>(),
        ("error", schema_of::<ErrorDocument>()),
    ]
}

/// The text of `git agentwt schema`: the schema of a document, or the names of all of them.
///
/// # Errors
/// Fails when there is no document of this name.
pub fn schema_text(document: Option<&str>) -> Result<String, Refusal> {
    let schemas = schemas();
    let Some(document) = document else {
        let mut names = String::new();
        for (name, _) in schemas {
            names.push_str(name);
            names.push('\n');
        }
        return Ok(names);
    };
    for (name, schema) in schemas {
        if name == document {
            return Ok(format!("{schema:#}\n"));
        }
    }
    Err(Refusal::NoDocument {
        document: escape_for_terminal(document.as_bytes()),
    })
}

/// The schema of a type as it is written: a key that may be left out is not required.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// The schema of an answer in its envelope.
fn of<A: Answer + JsonSchema>() -> (&'static str, Value) {
    let mut schema = schema_of::<A>();
    let name = format!("agentwt.{}/1", A::DOCUMENT);
    if let Some(properties) = schema["properties"].as_object_mut() {
        let version = "The name and the version of the document.";
        let notes = "What the user should know beside the answer.";
        properties.insert(
            "schema".into(),
            json!({ "description": version, "const": name }),
        );
        let strings =
            json!({ "description": notes, "type": "array", "items": { "type": "string" } });
        properties.insert("notes".into(), strings);
    }
    match schema["required"].as_array_mut() {
        Some(required) => required.push("schema".into()),
        None => schema["required"] = json!(["schema"]),
    }
    schema["title"] = name.into();
    (A::DOCUMENT, schema)
}

/// The section JSON of the man page of a command, in roff; empty if there is no document.
pub fn man_section(command: &str) -> String {
    let schemas = schemas();
    let document = match command {
        "run" => "exec",
        other => other,
    };
    let Some((name, schema)) = schemas.iter().find(|(name, _)| *name == document) else {
        return String::new();
    };
    let mut text = format!(
        ".SH JSON\nWith\n.B \\-\\-json\nthe answer is one document,\n.BR agentwt.{name}/1 .\n\
        A key that does not apply is absent; null is unknown.\n\
        An error is a document too: see\n.BR git\\-agentwt (1).\n"
    );
    let mut keys = Vec::new();
    collect_keys(schema, &schema["$defs"], "", &mut keys);
    for (key, description) in keys {
        let description = roff(&description);
        text.push_str(&format!(
            ".TP\n.B {}\n{description}\n",
            key.replace('-', "\\-")
        ));
    }
    text
}

/// Collects the keys of a schema and of all below, as `worktrees[].base.commit`.
fn collect_keys(schema: &Value, defs: &Value, at: &str, keys: &mut Vec<(String, String)>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        collect_keys(&defs[name], defs, at, keys);
    }
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        collect_keys(one, defs, at, keys);
    }
    if schema["items"].is_object() {
        collect_keys(&schema["items"], defs, &format!("{at}[]"), keys);
    }
    let none = Map::new();
    for (key, property) in schema["properties"].as_object().unwrap_or(&none) {
        let at = if at.is_empty() {
            key.clone()
        } else {
            format!("{at}.{key}")
        };
        let description = property["description"].as_str().unwrap_or_default();
        keys.push((at.clone(), description.to_owned()));
        collect_keys(property, defs, &at, keys);
    }
}

/// A description in roff: code is bold.
fn roff(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\n', " ");
    let mut roff = String::new();
    for (index, part) in escaped.split('`').enumerate() {
        match index % 2 {
            0 => roff.push_str(part),
            _ => roff.push_str(&format!("\\fB{part}\\fR")),
        }
    }
    roff
}
