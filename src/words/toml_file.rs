//! Reads and writes the files of the program's own: TOML with a version. Reads and writes times.

use std::time::Duration;

use serde::Serialize;

/// The version of the files' form.
const VERSION: u32 = 4;

/// Says that a file of ours cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It was written by another version of the program.
    #[error("it has version {0}, and this program writes version {VERSION}")]
    Version(i64),
    /// It is no file of ours.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// Writes a file of ours: its version, then what it holds.
///
/// # Panics
/// Never: the types above have no value that TOML cannot hold.
pub fn to_text<T: Serialize>(value: &T) -> String {
    let text = toml::to_string(value);
    let text = text.expect("because these types hold only what TOML can write");
    format!("version = {VERSION}\n{text}")
}

/// Reads a file of ours.
///
/// # Errors
/// Fails when it is of another version, or damaged.
pub fn from_text<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, RecordError> {
    let mut table: toml::Table = text.parse().map_err(|error| damaged(&error))?;
    match table
        .remove("version")
        .and_then(|version| version.as_integer())
    {
        Some(version) if version == i64::from(VERSION) => {}
        Some(version) => return Err(RecordError::Version(version)),
        None => return Err(RecordError::Damaged("it has no version".to_owned())),
    }
    table.try_into().map_err(|error| damaged(&error))
}

fn damaged(error: &toml::de::Error) -> RecordError {
    RecordError::Damaged(error.message().to_owned())
}

/// Reads how long something takes, with a unit for each number: `500ms`, `1.5s`, `2m`, `12h`, `7d`, `2w`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.parse().ok()?;
    let duration = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours());
    duration.ok()?.try_into().ok()
}

/// Reads a whole number with one of these units, each a letter that [`parse_duration`] takes.
pub fn parse_whole_duration(text: &str, units: &str) -> Option<Duration> {
    let number = text.strip_suffix(|unit| units.contains(unit))?;
    let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    parse_duration(text).filter(|_| is_whole)
}

/// The present, plus this, RFC 3339 in UTC, in whole seconds.
pub fn timestamp(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    let then = now.checked_add(later).unwrap_or(now);
    let whole = jiff::Timestamp::from_second(then.as_second()).unwrap_or(then);
    whole.to_string()
}
