//! Prints records for programs: one a line, fields apart by a tab, in an order that only grows.

use crate::answer::Row;

/// Collects records.
#[derive(Default)]
pub(super) struct Records {
    pub rows: Vec<Row>,
}

impl Records {
    pub fn push(&mut self, fields: &[&[u8]]) {
        self.rows.push(Row::record(fields));
    }
}
