//! Puts numbers, times and choices into text.

use crate::words::path::escape_for_terminal;

/// A number with its noun: `1 file`, `2 files`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{number} {noun}")
}

/// A comma and a number with its noun, or nothing for none: `, 2 files`.
pub fn and_count(number: usize, one: &str, many: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!(", {}", count(number, one, many)),
    }
}

/// The words for what was done, or in a dry run would be.
pub fn would<'w>(dry_run: bool, did: &'w str, would: &'w str) -> &'w str {
    if dry_run { would } else { did }
}

/// The text when it applies, else nothing.
pub fn when(applies: bool, text: &str) -> &str {
    if applies { text } else { "" }
}

/// How long ago a time was.
pub fn age(at: &str) -> String {
    match seconds_since(at) {
        None => escape_for_terminal(at.as_bytes()),
        Some(0..=59) => "just now".to_owned(),
        Some(seconds @ 60..=3599) => format!("{} min ago", seconds / 60),
        Some(seconds @ 3600..=86_399) => format!("{} h ago", seconds / 3600),
        Some(seconds) => format!("{} d ago", seconds / 86_400),
    }
}

/// How many seconds ago a time was; none if the text is not a time.
pub fn seconds_since(at: &str) -> Option<i64> {
    let then = at.parse::<jiff::Timestamp>().ok()?;
    let now = jiff::Timestamp::now().as_second();
    Some(now.saturating_sub(then.as_second()).max(0))
}

/// The lines of a text in one, escaped for a terminal.
pub fn one_line(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        if !joined.is_empty() {
            joined.push_str("; ");
        }
        joined.push_str(&escape_for_terminal(line.trim().as_bytes()));
    }
    joined
}
