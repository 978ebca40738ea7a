//! What people read: [`Text`], and the words for counts and times.

use super::table::{Row, table};
use super::{Cell, Paint};
use crate::path::escape_for_terminal;

/// Collects what is printed for people: the answer on stdout, the conversation on stderr.
#[derive(Clone, Debug)]
pub struct Text {
    /// Whether words are coloured.
    pub paint: Paint,
    /// Whether records end with NUL (`-z`).
    pub nul: bool,
    /// The answer.
    pub stdout: Vec<u8>,
    /// The conversation.
    pub stderr: String,
}

impl Text {
    /// Creates an empty text.
    pub fn new(paint: Paint, nul: bool) -> Self {
        Self {
            paint,
            nul,
            stdout: Vec::new(),
            stderr: String::new(),
        }
    }

    /// Adds text to the answer, as it is.
    pub fn put(&mut self, text: impl AsRef<[u8]>) {
        self.stdout.extend_from_slice(text.as_ref());
    }

    /// Adds a line to the answer.
    pub fn line(&mut self, line: impl AsRef<[u8]>) {
        self.put(line);
        self.stdout.push(b'\n');
    }

    /// Adds aligned rows to the answer.
    pub fn table(&mut self, rows: &[Row], indent: &str) {
        self.put(table(rows, indent, self.paint));
    }

    /// Adds aligned columns of plain words to the answer.
    pub fn columns<const N: usize>(&mut self, rows: &[[String; N]], indent: &str) {
        let row = |row: &[String; N]| Row::new(row.iter().map(Cell::people).collect());
        self.table(&rows.iter().map(row).collect::<Vec<_>>(), indent);
    }

    /// Adds a line to the conversation.
    pub fn tell(&mut self, line: impl AsRef<str>) {
        self.stderr.push_str(line.as_ref());
        self.stderr.push('\n');
    }
}

/// A number with its noun: `1 file`, `2 files`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{number} {noun}")
}

/// How long ago a time was.
pub fn age(at: &str) -> String {
    match seconds_since(at) {
        None => at.to_owned(),
        Some(0..=59) => "just now".to_owned(),
        Some(seconds @ 60..=3599) => format!("{} min ago", seconds / 60),
        Some(seconds @ 3600..=86_399) => format!("{} h ago", seconds / 3600),
        Some(seconds) => format!("{} d ago", seconds / 86_400),
    }
}

/// How many seconds ago a time was; none where the text is not a time.
pub fn seconds_since(at: &str) -> Option<i64> {
    let then = at.parse::<jiff::Timestamp>().ok()?;
    let now = jiff::Timestamp::now().as_second();
    Some(now.saturating_sub(then.as_second()).max(0))
}

/// The lines of a text in one, escaped for a terminal.
pub fn one_line(text: &str) -> String {
    let lines = text.lines();
    let lines: Vec<String> = lines
        .map(|line| escape_for_terminal(line.trim().as_bytes()))
        .collect();
    lines.join("; ")
}
