//! Prints: the only code that does. Turns an [`Answer`] into the text of a [`Format`].
//!
//! stdout carries the answer, stderr the conversation. JSON is the answer serialized, in an
//! envelope with a version (`"schema": "agentwt.<document>/1"`).

pub mod findings;
pub mod json;
pub mod schema;
pub mod screen;

use miette::{Diagnostic, SourceCode};

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::text::{Text, TextStyle};
use crate::arguments::output::{Format, OutputForm};
use crate::output::json::json;
use crate::words::snippet::snippet;

/// Renders an answer: what goes to stdout, and what to stderr.
pub fn render<A: Answer>(answer: &A, form: OutputForm, style: TextStyle, notes: &[String]) -> Text {
    let mut text = Text::new(style, form.end);
    match form.format {
        Format::Human => answer.print(&mut text),
        Format::Json => text.put(document(answer, notes)),
        Format::Porcelain => text.put(answer.records(form.end)),
        Format::Tsv => text.put(answer.tsv(form.end)),
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

/// Renders an error for stderr: each of its messages with the place in the file that it is about,
/// and with its help.
pub fn render_error(error: &dyn Diagnostic, paint: Paint) -> String {
    let source = error.source_code();
    let mut text = render_message(error, source, paint);
    for other in error.related().into_iter().flatten() {
        if source.is_some() {
            text.push('\n');
        }
        text.push_str(&render_message(
            other,
            other.source_code().or(source),
            paint,
        ));
    }
    text
}

fn render_message(error: &dyn Diagnostic, source: Option<&dyn SourceCode>, paint: Paint) -> String {
    let mut text = format!("{} {error}\n", paint.bad("error:"));
    let label = error.labels().and_then(|mut labels| labels.next());
    if let (Some(source), Some(label)) = (source, label) {
        let snippet = snippet(source, &label, |carets| paint.bad(carets));
        text.push_str(&snippet.unwrap_or_default());
    }
    if let Some(help) = error.help() {
        text.push_str(&format!("{} {help}\n", paint.name("help:")));
    }
    text
}
