//! Reads durations, and writes points in time.

use std::time::Duration;

/// Reads a duration with a unit for each number: `500ms`, `1.5s`, `2m`, `12h`, `7d`, `2w`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.parse().ok()?;
    let duration = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours());
    duration.ok()?.try_into().ok()
}

/// Reads a whole number with one of these units, each a letter that [`parse_duration`] takes.
pub fn parse_whole_duration(text: &str, units: &str) -> Option<Duration> {
    let number = text.strip_suffix(|unit| units.contains(unit))?;
    let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole { parse_duration(text) } else { None }
}

/// Returns the time that it will be after `later`, in RFC 3339, UTC and whole seconds.
pub fn timestamp(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    let then = now.checked_add(later).unwrap_or(now);
    let whole = jiff::Timestamp::from_second(then.as_second()).unwrap_or(then);
    whole.to_string()
}
