//! What a command answers: [`Answer`], a plain value that prints itself into a [`Text`].
//!
//! A verb's answer derives `Serialize`, which is its JSON: absent means not applicable, null asked
//! but unknown. [`shapes`] holds the parts that documents share. The text for people and the
//! records for scripts are written from the same value.

pub mod groups;
pub mod paint;
pub mod position;
pub mod report;
pub mod shapes;
pub mod table;
pub mod text;
pub mod verdict;
pub mod waiting;
pub mod worktree;

use serde::Serialize;

use crate::answer::table::{Row, records};
use crate::answer::text::Text;
use crate::answer::verdict::VerdictReport;
use crate::arguments::output::RecordEnd;

/// Represents what a command answers.
pub trait Answer: Serialize {
    /// The name of the JSON document: `add` in `agentwt.add/1`.
    const DOCUMENT: &'static str;
    /// Whether `-q` leaves the notes and the text on stderr: a hook that refuses a commit.
    const IGNORES_QUIET: bool = false;

    /// Prints for people. The default is the table of the rows.
    fn print(&self, text: &mut Text) {
        text.table(&self.rows(), "");
    }

    /// The table: one row a record.
    fn rows(&self) -> Vec<Row> {
        Vec::new()
    }

    /// The records for scripts (`--porcelain`).
    fn records(&self, end: RecordEnd) -> Vec<u8> {
        records(&self.rows(), end)
    }

    /// The records of `--format tsv`: the same, but a finding or a change begins with its path.
    fn tsv(&self, end: RecordEnd) -> Vec<u8> {
        self.records(end)
    }

    /// The verdicts of verification, for SARIF and GitHub.
    fn verdicts(&self) -> Vec<&VerdictReport> {
        Vec::new()
    }
}
