//! What a command answers: [`Answer`], a plain value that prints itself into a [`Text`].
//!
//! A verb's answer derives `Serialize`, which is its JSON: absent means not applicable, null asked
//! but unknown. [`shapes`] holds the parts that documents share. For lists, [`Answer::rows`] is the
//! one table that is rendered for people, as porcelain and as TSV; whatever else people read is
//! printed by [`Answer::print`].

mod report;
pub mod shapes;
mod table;
mod verdict;
mod waiting;
pub mod worktree;

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::path::escape_for_terminal;

pub use report::{FindingGroup, groups};
pub use table::{Cell, Form, Row, records};
pub use verdict::{VerdictField, kind_paint};
pub use waiting::{WaitingField, WaitingState};

/// Represents what a command answers.
pub trait Answer: Serialize {
    /// The name of the JSON document: `add` in `agentwt.add/1`.
    const DOCUMENT: &'static str;
    /// Whether `-q` leaves the text on stderr: a hook that refuses a commit.
    const IGNORES_QUIET: bool = false;

    /// Prints for people. The default is the table of the rows.
    fn print(&self, text: &mut Text) {
        text.table(&self.rows(), "");
    }

    /// The table: one row a record.
    fn rows(&self) -> Vec<Row> {
        Vec::new()
    }

    /// The verdicts of verification, for SARIF and GitHub.
    fn verdicts(&self) -> Vec<&VerdictField> {
        Vec::new()
    }
}
/// Says whether words are coloured; all output makes sense without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// They are.
    Colour,
    /// They are not.
    Plain,
}

impl Paint {
    fn with(self, style: Style, text: &str) -> String {
        match self {
            Self::Colour => format!("{style}{text}{style:#}"),
            Self::Plain => text.to_owned(),
        }
    }

    /// What is wrong.
    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// What is right.
    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// What asks for attention.
    pub fn warning(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// What is a name.
    pub fn name(self, text: &str) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// What matters less.
    pub fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// What heads a part.
    pub fn heading(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }
}

/// Collects what is printed for people: the answer on stdout, the conversation on stderr.
#[derive(Clone, Debug)]
pub struct Text {
    /// Whether words are coloured.
    pub paint: Paint,
    /// Whether records end with NUL (`-z`).
    pub nul: bool,
    /// The number of columns; none for any number.
    pub width: Option<usize>,
    /// The answer.
    pub stdout: Vec<u8>,
    /// The conversation.
    pub stderr: String,
    /// The end of the conversation, which comes after the answer.
    pub hints: String,
}

impl Text {
    /// Creates an empty text.
    pub fn new(paint: Paint, nul: bool) -> Self {
        Self {
            paint,
            nul,
            width: None,
            stdout: Vec::new(),
            stderr: String::new(),
            hints: String::new(),
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

    /// Adds a key and its value to the answer.
    pub fn fact(&mut self, key: &str, value: impl Display) {
        self.line(format!("  {key:<8} {value}"));
    }

    /// Adds aligned rows to the answer.
    pub fn table(&mut self, rows: &[Row], indent: &str) {
        self.put(table::table(rows, indent, self.paint, self.width));
    }

    /// Adds a line to the conversation.
    pub fn tell(&mut self, line: impl AsRef<str>) {
        self.stderr.push_str(line.as_ref());
        self.stderr.push('\n');
    }

    /// Adds to the conversation how to take a decision about a worktree back.
    pub fn tell_undo(&mut self, verb: &str, name: &str) {
        self.tell(format!(
            "to take that back: git agentwt {verb} {name} --undo"
        ));
    }
}

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
