//! Prints: the only code that does. Turns an [`Answer`] into the text of a [`Format`].
//!
//! stdout carries the answer, stderr the conversation. JSON is the answer serialized, in an
//! envelope with a version (`"schema": "agentwt.<document>/1"`).

mod errors;
mod findings;
pub mod schema;

pub use errors::render as render_error;

use serde::Serialize;

use crate::answer::{Answer, Form, Paint, Text, records};
use crate::cli::Format;

/// Renders an answer: what goes to stdout, and what to stderr.
pub fn render<A: Answer>(
    answer: &A,
    format: Format,
    nul: bool,
    paint: Paint,
    notes: &[String],
) -> Text {
    let mut text = Text::new(paint, nul);
    match format {
        Format::Human => answer.print(&mut text),
        Format::Json => text.put(document(answer, notes)),
        Format::Porcelain => text.put(records(&answer.rows(), Form::Porcelain, nul)),
        Format::Tsv => text.put(records(&answer.rows(), Form::Tsv, nul)),
        Format::Sarif => text.put(findings::render_sarif(&answer.verdicts())),
        Format::Github => findings::render_github(&answer.verdicts(), &mut text),
    }
    text
}

/// Renders the JSON document of an answer.
fn document<A: Answer>(answer: &A, notes: &[String]) -> Vec<u8> {
    let mut body = serde_json::to_value(answer).unwrap_or_default();
    if let Some(body) = body.as_object_mut() {
        body.insert(
            "schema".to_owned(),
            format!("agentwt.{}/1", A::DOCUMENT).into(),
        );
        if !notes.is_empty() {
            body.insert("notes".to_owned(), notes.into());
        }
    }
    json(&body)
}

/// Renders a JSON document.
pub fn json<T: Serialize>(document: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
    text.push(b'\n');
    text
}
