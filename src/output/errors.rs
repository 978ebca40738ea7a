//! Shows an error: what was attempted, the fact that stopped it, and the next command.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use crate::answer::Paint;

/// Renders an error for stderr. One with a source is shown with its line underlined; any other
/// is a line, and a line of help.
pub fn render(error: &dyn Diagnostic, paint: Paint, width: usize) -> String {
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
