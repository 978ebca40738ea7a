//! Collects what is printed for people.

use std::fmt::Display;

use crate::answer::paint::Paint;
use crate::answer::table::{Row, table};
use crate::arguments::output::RecordEnd;

/// How much of a verdict people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Groups of findings, so many as fit on a terminal.
    Groups,
    /// Every finding (`-v`).
    Everything,
}

/// How a text for people looks.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Whether words are coloured.
    pub paint: Paint,
    /// The number of columns; `None` for any number.
    pub width: Option<usize>,
    /// How much of a verdict `verify` prints.
    pub detail: Detail,
}

impl TextStyle {
    /// No colours, and lines of any length.
    pub const PLAIN: Self = Self {
        paint: Paint::Plain,
        width: None,
        detail: Detail::Groups,
    };
}

/// Collects what is printed for people: the answer on stdout, the conversation on stderr.
#[derive(Clone, Debug)]
pub struct Text {
    /// Whether words are coloured.
    pub paint: Paint,
    /// How records end.
    pub end: RecordEnd,
    /// The number of columns; `None` for any number.
    pub width: Option<usize>,
    /// How much of a verdict `verify` prints.
    pub detail: Detail,
    /// The answer.
    pub stdout: Vec<u8>,
    /// The conversation.
    pub stderr: String,
    /// The end of the conversation, which comes after the answer.
    pub hints: String,
}

impl Text {
    /// Creates an empty text.
    pub fn new(style: TextStyle, end: RecordEnd) -> Self {
        Self {
            paint: style.paint,
            end,
            width: style.width,
            detail: style.detail,
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
        self.put(table(rows, indent, self.paint, self.width));
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
