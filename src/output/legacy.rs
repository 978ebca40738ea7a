//! Answers that do not print themselves yet.

use serde::{Serialize, Serializer};
use serde_json::json;

use super::human::making;
use super::porcelain::Records;
use super::{json_legacy as json, prune, trash};
use crate::answer::{Answer, Row, Text};
use crate::commands::prune::Pruned;
use crate::commands::remove::Removed;
use crate::commands::remove::undo::Undone;

/// Holds what goes where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The answer.
    pub stdout: Vec<u8>,
    /// The conversation.
    pub stderr: String,
}

fn put(text: &mut Text, printed: Printed) {
    text.put(printed.stdout);
    text.stderr.push_str(&printed.stderr);
}

fn collected(collect: impl FnOnce(&mut Records)) -> Vec<Row> {
    let mut records = Records::default();
    collect(&mut records);
    records.rows
}

macro_rules! legacy {
    ($name:ident($inner:ty), $document:literal, $json:expr, $human:expr, $rows:expr) => {
        #[expect(missing_docs, reason = "gone soon")]
        pub struct $name(pub $inner);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let json: fn(&$inner) -> serde_json::Value = $json;
                json(&self.0).serialize(serializer)
            }
        }

        impl Answer for $name {
            const DOCUMENT: &'static str = $document;
            fn print(&self, text: &mut Text) {
                let human: fn(&$inner, crate::answer::Paint) -> Printed = $human;
                put(text, human(&self.0, text.paint));
            }
            fn rows(&self) -> Vec<Row> {
                let rows: fn(&$inner) -> Vec<Row> = $rows;
                rows(&self.0)
            }
        }
    };
}

legacy!(
    Removals(Vec<Removed>),
    "remove",
    |all| json!({ "worktrees": all.iter().map(json::removed).collect::<Vec<_>>() }),
    |all, paint| making::remove(all, paint),
    |_| vec![]
);
legacy!(
    Revivals(Vec<Undone>),
    "remove",
    |all| json!({ "worktrees": all.iter().map(trash::json).collect::<Vec<_>>() }),
    |all, paint| trash::human(all, paint),
    |_| vec![]
);
legacy!(
    PruneAnswer(Pruned),
    "prune",
    prune::json,
    prune::human,
    |one| { collected(|records| prune::porcelain(records, one)) }
);
