//! Parses the text as TOML, and tells in our words what the parser found.

use toml::de::{DeTable, Error};

use super::error::MistakeKind;
use super::raw::Reader;
use super::value::{quoted, toml_string};

impl<'t> Reader<'t> {
    /// Parses the text. A key that is set twice does not hide the other mistakes; any other
    /// syntax error does, as it is not known what the rest means, and only the first is told.
    pub(super) fn document(&mut self) -> Option<DeTable<'t>> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        let (twice, mut broken): (Vec<_>, Vec<_>) = errors
            .into_iter()
            .partition(|error| error.message() == "duplicate key");
        broken.sort_by_key(|error| error.span().map(|span| span.start));
        if let Some(error) = broken.first() {
            self.syntax_error(error);
            return None;
        }
        for error in twice {
            let span = error.span().unwrap_or_default();
            let key = quoted(self.text.get(span.clone()).unwrap_or_default());
            let message = format!("{key} is set twice");
            let help = "keep one of the two".into();
            self.add(MistakeKind::DuplicateKey, message, span, "again here", help);
        }
        Some(document.into_inner())
    }

    fn syntax_error(&mut self, error: &Error) {
        let (what, expected) = match error.message().split_once(", expected ") {
            Some((what, expected)) => (what, Some(expected)),
            None => (error.message(), None),
        };
        let span = error.span().unwrap_or_default();
        let text = self.text.get(span.clone()).unwrap_or_default();
        let help = match expected {
            Some("literal string") if !text.is_empty() => {
                format!("write {} if it is a text", toml_string(text))
            }
            Some("nothing") | None => "see https://toml.io for the syntax".into(),
            Some(expected) => format!("TOML expects here: {expected}"),
        };
        let message = format!("not TOML: {what}");
        self.add(MistakeKind::Syntax, message, span, "here", help);
    }
}
