//! What a command answers: [`Answer`], a plain value that prints itself.
//!
//! A verb's answer derives `Serialize`, which is its JSON: absent means not applicable, null asked
//! but unknown. [`shapes`] holds the parts that documents share. For lists, [`Answer::rows`] is the
//! one table that is rendered for people, as porcelain and as TSV; whatever else people read is
//! printed by [`Answer::print`].

pub mod copies;
pub mod hooks;
mod paint;
pub mod shapes;
mod table;
mod text;
mod verdict;

use serde::Serialize;

pub use paint::Paint;
pub use table::{Cell, Form, Row, records};
pub use text::{Text, age, count, one_line, seconds_since};
pub use verdict::{VerdictField, kind_paint};

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
