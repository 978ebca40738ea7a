//! Prints: the only code that does. Turns an [`Answer`] into the text of a [`Format`].
//!
//! stdout carries the answer, stderr the conversation. JSON is the answer serialized, in an
//! envelope with a version (`"schema": "agentwt.<document>/1"`).

pub mod findings;
pub mod schema;
pub mod screen;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::table::{Form, records};
use crate::answer::text::Text;
use crate::arguments::output::Format;

/// Renders an answer: what goes to stdout, and what to stderr.
pub fn render<A: Answer>(
    answer: &A,
    format: Format,
    nul: bool,
    (paint, width): (Paint, Option<usize>),
    notes: &[String],
) -> Text {
    let mut text = Text::new(paint, nul);
    text.width = width;
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

/// Renders an error for stderr. One with a source is shown with its line underlined; any other
/// is a line, and a line of help.
pub fn render_error(error: &dyn Diagnostic, paint: Paint, width: usize) -> String {
    if has_source(error) {
        let theme = match paint {
            Paint::Colour => GraphicalTheme::unicode(),
            Paint::Plain => GraphicalTheme::unicode_nocolor(),
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width)
            .with_links(false);
        let mut text = String::new();
        if handler.render_report(&mut text, error).is_ok() {
            return text;
        }
    }
    let mut text = plain(error, paint);
    for other in error.related().into_iter().flatten() {
        text.push_str(&plain(other, paint));
    }
    text
}

fn has_source(error: &dyn Diagnostic) -> bool {
    let of_related = |mut related: Box<dyn Iterator<Item = &dyn Diagnostic> + '_>| {
        related.any(|other| other.source_code().is_some())
    };
    error.source_code().is_some() || error.related().is_some_and(of_related)
}

fn plain(error: &dyn Diagnostic, paint: Paint) -> String {
    let mut text = format!("{} {error}\n", paint.bad("error:"));
    if let Some(help) = error.help() {
        text.push_str(&format!("{} {help}\n", paint.name("help:")));
    }
    text
}
