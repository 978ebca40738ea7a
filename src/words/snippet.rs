//! Shows the place in a text that an error is about, as compilers do.

use miette::{LabeledSpan, SourceCode};
use unicode_width::UnicodeWidthStr as _;

/// Returns the line that a label is in and the line before it, with the label underlined by what
/// `paint` makes of the carets; none if the label lies outside of the text.
///
/// ```text
///  --> .agentwt/config.toml:3:12
///   |
/// 2 | [worktree]
/// 3 | strategy = "clon"
///   |            ^^^^^^
/// ```
pub fn snippet(
    source: &dyn SourceCode,
    label: &LabeledSpan,
    paint: impl Fn(&str) -> String,
) -> Option<String> {
    // Asked for a line after, as without one the text would end with the label.
    let contents = source.read_span(label.inner(), 1, 1).ok()?;
    let text = std::str::from_utf8(contents.data()).ok()?;
    let label_start = label.offset() - contents.span().offset();
    let labelled = first_line(text.get(label_start..label_start + label.len())?);
    let above = &text[..label_start];
    let line_start = above.rfind('\n').map_or(0, |newline| newline + 1);
    let before_label = &text[line_start..label_start];

    let file = contents.name().unwrap_or_default();
    let number = contents.line() + above.matches('\n').count() + 1;
    let column = before_label.chars().count() + 1;
    let digits = number.to_string().len();
    let margin = " ".repeat(digits);
    let mut shown = format!("{margin}--> {file}:{number}:{column}\n{margin} |\n");
    if line_start > 0 {
        let line_before = expanded(first_line(text));
        shown += &format!("{:>digits$} | {line_before}\n", number - 1);
    }
    let line = expanded(first_line(&text[line_start..]));
    shown += &format!("{number} | {line}\n");
    let indent = " ".repeat(expanded(before_label).width());
    let carets = "^".repeat(expanded(labelled).width().max(1));
    shown += &format!("{margin} | {indent}{}\n", paint(&carets));
    Some(shown)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Returns the text with spaces for tabs, as no underline knows how wide a terminal shows a tab.
fn expanded(text: &str) -> String {
    text.replace('\t', "    ")
}
