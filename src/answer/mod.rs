//! What a command answers: [`Answer`], a plain value that prints itself into a [`Text`].
//!
//! A verb's answer derives `Serialize`, which is its JSON: absent means not applicable, null asked
//! but unknown. [`shapes`] holds the parts that documents share. For lists, [`Answer::rows`] is the
//! one table that is rendered for people, as porcelain and as TSV; whatever else people read is
//! printed by [`Answer::print`].

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

use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::answer::verdict::VerdictField;

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
