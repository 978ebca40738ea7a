//! Holds [`ConfigError`]: every [`Mistake`] of a config file or of the settings, at once.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: false in derived diagnostics"
)]

use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::path::escape_for_terminal;

/// Holds all mistakes of one file, or of the settings around it, in the order of the file.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(code(agentwt::config::mistake))]
pub struct ConfigError {
    /// What was attempted, and the mistake, or how many there are.
    pub message: String,
    /// The file; none for variables and flags.
    #[source_code]
    source_text: Option<Arc<NamedSource<String>>>,
    /// The place in the file, if there is one mistake.
    #[label]
    pub span: Option<SourceSpan>,
    /// What to write, if there is one mistake.
    #[help]
    pub help: Option<String>,
    /// The mistakes, if there are several; each with its own lines, underline and help.
    #[related]
    pub mistakes: Vec<Mistake>,
}

/// Holds one mistake: what it is, where it is, and what to write in its place.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(code(agentwt::config::mistake))]
pub struct Mistake {
    /// The fact: lower case, one line, escaped for a terminal.
    pub message: String,
    /// The bytes to underline, in the text without its byte order mark; none for a variable or a
    /// flag.
    #[label]
    pub span: Option<SourceSpan>,
    /// What to write.
    #[help]
    pub help: String,
}

impl ConfigError {
    /// Collects the mistakes of a file; `text` is what the spans point into.
    pub(super) fn in_file(name: &str, text: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.span.map(|span| span.offset()));
        let name = escape_for_terminal(name.as_bytes());
        let source = NamedSource::new(&name, printable(text));
        Self::collect(
            &format!("cannot read {name}"),
            Some(Arc::new(source)),
            mistakes,
        )
    }

    /// Collects the mistakes of variables and flags.
    pub(super) fn in_settings(mistakes: Vec<Mistake>) -> Self {
        Self::collect("cannot use the settings", None, mistakes)
    }

    fn collect(
        attempt: &str,
        source_text: Option<Arc<NamedSource<String>>>,
        mut mistakes: Vec<Mistake>,
    ) -> Self {
        let one = if mistakes.len() == 1 {
            mistakes.pop()
        } else {
            None
        };
        let several = format!("{} mistakes", mistakes.len());
        let (message, span, help) = match one {
            Some(one) => (one.message, one.span, Some(one.help)),
            None => (several, None, None),
        };
        Self {
            message: format!("{attempt}: {message}"),
            source_text,
            span,
            help,
            mistakes,
        }
    }
}

/// Replaces what could act on a terminal, byte for byte, so that the underlines stay right.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let line_end = c == '\n' || c == '\r' && chars.peek() == Some(&'\n');
        let mut bytes = [0; 4];
        let shown = c.encode_utf8(&mut bytes);
        if line_end || c == '\t' || c == '\\' || escape_for_terminal(shown.as_bytes()) == *shown {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n('?', c.len_utf8()));
        }
    }
    out
}
