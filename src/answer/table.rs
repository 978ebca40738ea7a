//! One table for people and programs: [`Row`] and its [`Cell`]s.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthStr;

use crate::answer::paint::Paint;
use crate::arguments::output::RecordEnd;
use crate::words::path::{escape_for_terminal, escape_for_tsv};

/// Names a rendering of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Aligned columns, for people.
    Table,
    /// All fields of a record, for scripts.
    Porcelain,
    /// Findings, tab-separated.
    Tsv,
}

/// Holds one record.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The cells, from left to right in every form.
    pub cells: Vec<Cell>,
    /// A line that people see below the row.
    pub below: Option<String>,
    /// Whether the cells are the headings of the columns.
    is_heading: bool,
    /// Bytes that stand in place of the record, as they are.
    raw: Option<Vec<u8>>,
}

/// Holds a value and the forms in which it stands.
#[derive(Clone, Debug)]
pub struct Cell {
    /// As programs get it.
    value: Vec<u8>,
    /// As people get it, without colour.
    shown: String,
    paint: fn(Paint, &str) -> String,
    forms: &'static [Form],
    /// Whether the value is escaped already.
    escaped: bool,
    /// How early the column is left out of a table that is too wide: 0 for never.
    rank: u8,
}

impl Cell {
    /// Creates a cell that stands in these forms.
    pub fn new(value: impl AsRef<[u8]>, forms: &'static [Form]) -> Self {
        let value = value.as_ref().to_vec();
        Self {
            shown: escape_for_terminal(&value),
            value,
            paint: |_, text| text.to_owned(),
            forms,
            escaped: false,
            rank: 0,
        }
    }

    /// Creates a cell for people and for porcelain.
    pub fn both(value: impl AsRef<[u8]>) -> Self {
        Self::new(value, &[Form::Table, Form::Porcelain])
    }

    /// Creates a cell for people.
    pub fn people(text: impl Into<String>) -> Self {
        Self::new("", &[Form::Table]).shown(text)
    }

    /// Creates a cell for porcelain.
    pub fn porcelain(value: impl AsRef<[u8]>) -> Self {
        Self::new(value, &[Form::Porcelain])
    }

    /// Creates a cell for TSV, escaped already.
    pub fn tsv(text: impl Into<String>) -> Self {
        Self::new(text.into(), &[Form::Tsv]).escaped()
    }

    /// Leaves the value as it is, which is escaped already.
    pub fn escaped(mut self) -> Self {
        self.shown = String::from_utf8_lossy(&self.value).into_owned();
        self.escaped = true;
        self
    }

    /// Sets what people see.
    pub fn shown(mut self, text: impl Into<String>) -> Self {
        self.shown = text.into();
        self
    }

    /// Lets the column be left out where the table is too wide, the highest rank first, or where only
    /// the heading has a value.
    pub fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// Sets the colour, for people.
    pub fn paint(mut self, paint: fn(Paint, &str) -> String) -> Self {
        self.paint = paint;
        self
    }
}

impl Row {
    /// Creates a row of these cells.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self {
            cells,
            ..Self::default()
        }
    }

    /// Creates the row of the headings.
    pub fn headings(cells: Vec<Cell>) -> Self {
        Self {
            is_heading: true,
            ..Self::new(cells)
        }
    }

    /// Creates what programs get as it is, in place of records.
    pub fn raw(bytes: Vec<u8>) -> Self {
        Self {
            raw: Some(bytes),
            ..Self::default()
        }
    }

    /// Creates a record of fields for porcelain alone.
    pub fn record(fields: &[&[u8]]) -> Self {
        Self::new(fields.iter().map(Cell::porcelain).collect())
    }
}

/// Renders rows for programs: fields with tabs between, records that end with a newline, or with
/// NUL. With NUL nothing is escaped but in TSV.
pub fn records(rows: &[Row], form: Form, end: RecordEnd) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        let cells = row.cells.iter().filter(|cell| cell.forms.contains(&form));
        let as_is = end == RecordEnd::Nul && form == Form::Porcelain;
        let field = |cell: &Cell| {
            if as_is || cell.escaped {
                cell.value.clone()
            } else {
                escape_for_tsv(&cell.value).into_bytes()
            }
        };
        let fields: Vec<Vec<u8>> = cells.map(field).collect();
        out.extend(row.raw.iter().flatten());
        if !fields.is_empty() {
            out.extend(bstr::join("\t", fields));
            out.push(end.byte());
        }
    }
    out
}

/// The spaces between two columns.
const GAP: usize = 2;
/// The columns below which the words of a last cell stand below their row.
const NARROW: usize = 24;

/// Renders rows for people: columns two spaces apart, no spaces at the end of a line, and no word
/// broken at the end of a line of `width`.
pub(super) fn table(rows: &[Row], indent: &str, paint: Paint, width: Option<usize>) -> String {
    let cells = |row: &Row| -> Vec<Cell> {
        let cells = row.cells.iter();
        let cells = cells.filter(|cell| cell.forms.contains(&Form::Table));
        cells.cloned().collect()
    };
    let rows: Vec<(Vec<Cell>, &Row)> = rows.iter().map(|row| (cells(row), row)).collect();
    let mut widths: Vec<usize> = Vec::new();
    for (cells, _) in &rows {
        widths.resize(widths.len().max(cells.len()), 0);
        for (cell, width) in cells.iter().zip(&mut widths) {
            *width = cell.shown.width().max(*width);
        }
    }
    let kept = kept_columns(
        &rows,
        &widths,
        width.map(|width| width.saturating_sub(indent.len())),
    );
    let mut out = String::new();
    for (cells, row) in &rows {
        let mut line = String::from(indent);
        let mut owed = 0;
        let mut start = indent.len();
        for at in kept.iter().filter(|at| **at < cells.len()) {
            let cell = &cells[*at];
            let column = widths[*at];
            if !cell.shown.is_empty() {
                let is_last = kept.last() == Some(at) && start > indent.len();
                let width = width.filter(|width| is_last && start + cell.shown.width() > *width);
                // below the row where the column is too narrow for words
                let is_below = width.is_some_and(|width| start + NARROW > width);
                let margin = " ".repeat(if is_below { indent.len() + 4 } else { start });
                line.push_str(&if is_below {
                    format!("\n{margin}")
                } else {
                    " ".repeat(owed)
                });
                let room = width.map(|width| width.saturating_sub(margin.len()));
                let lines = wrapped(&cell.shown, room);
                let lines = lines.iter().map(|line| (cell.paint)(paint, line));
                line.push_str(&lines.collect::<Vec<_>>().join(&format!("\n{margin}")));
                owed = 0;
            }
            owed += column - cell.shown.width() + GAP;
            start += column + GAP;
        }
        if !cells.is_empty() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if let Some(below) = &row.below {
            let indent = format!("{indent}  ");
            let room = width.map(|width| width.saturating_sub(indent.len()));
            for line in wrapped(below, room) {
                out.push_str(&format!("{indent}{line}\n"));
            }
        }
    }
    out
}

/// The lines of a text of which no word is broken.
fn wrapped(text: &str, room: Option<usize>) -> Vec<Cow<'_, str>> {
    let Some(room) = room else {
        return vec![text.into()];
    };
    let options = Options::new(room)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
}

/// The columns that are shown.
fn kept_columns(rows: &[(Vec<Cell>, &Row)], widths: &[usize], within: Option<usize>) -> Vec<usize> {
    let column = |at: usize| rows.iter().filter_map(move |(cells, _)| cells.get(at));
    let ranks: Vec<u8> = (0..widths.len())
        .map(|at| column(at).map(|cell| cell.rank).max().unwrap_or(0))
        .collect();
    let has_values = |at: &usize| {
        let mut values = rows.iter().filter(|(_, row)| !row.is_heading);
        let is_empty = |cell: &Cell| cell.shown.is_empty();
        ranks[*at] == 0 || values.any(|(cells, _)| !cells.get(*at).is_none_or(is_empty))
    };
    let mut kept: Vec<usize> = (0..widths.len()).filter(has_values).collect();
    let too_wide = |kept: &[usize]| {
        // the last column can be wrapped
        let is_counted = |at: &&usize| ranks[**at] > 0 || Some(*at) != kept.last();
        let counted = kept.iter().filter(is_counted);
        let total = counted.map(|at| widths[*at] + GAP).sum::<usize>();
        within.is_some_and(|within| total > within + GAP)
    };
    while too_wide(&kept)
        && let Some(least) = (0..kept.len()).max_by_key(|at| ranks[kept[*at]])
        && ranks[kept[least]] > 0
    {
        kept.remove(least);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_the_width_on_a_terminal() {
        let row = |cells: [&str; 3]| Row::new(cells.map(Cell::both).to_vec());
        let rows = [
            row(["a", "", "x"]),
            row(["caf\u{e9}", "b", "y"]),
            row(["\u{65e5}\u{672c}", "", ""]),
        ];
        assert_eq!(
            table(&rows, " ", Paint::Plain, None),
            " a        x\n caf\u{e9}  b  y\n \u{65e5}\u{672c}\n"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_loses_the_columns_that_matter_least() {
        let row = |cells: [&str; 4]| {
            let ranks = [0, 1, 3, 2];
            let cells = cells.iter().zip(ranks);
            Row::new(
                cells
                    .map(|(cell, rank)| Cell::both(cell).rank(rank))
                    .collect(),
            )
        };
        let mut rows = [
            row(["NAME", "SIZE", "MORE", "NONE"]),
            row(["a", "1", "2", ""]),
        ];
        rows[0].is_heading = true;
        rows[1].below = Some("some words of-a remark".to_owned());
        let at = |width| table(&rows, "", Paint::Plain, Some(width));
        let below = "  some words of-a remark\n";
        assert_eq!(at(24), format!("NAME  SIZE  MORE\na     1     2\n{below}"));
        let below = "  some words\n  of-a remark\n";
        assert_eq!(at(16), format!("NAME  SIZE  MORE\na     1     2\n{below}"));
        assert_eq!(at(15), format!("NAME  SIZE\na     1\n{below}"));
        assert_eq!(at(3), "NAME\na\n  some\n  words\n  of-a\n  remark\n");
    }

    #[test]
    fn the_last_cell_is_wrapped_between_words() {
        let row = |cells: [&str; 2]| Row::new(cells.map(Cell::people).to_vec());
        let rows = [row([
            "docs/a.md",
            "not in scope: exclude **/a.md (config:3)",
        ])];
        let at = |width| table(&rows, " ", Paint::Plain, Some(width));
        let wide = at(40);
        assert_eq!(
            wide,
            " docs/a.md  not in scope: exclude\n            **/a.md (config:3)\n"
        );
        let narrow = " docs/a.md\n     not in scope: exclude\n     **/a.md (config:3)\n";
        assert_eq!(at(32), narrow);
    }

    #[test]
    fn each_form_takes_its_cells_and_escapes_unless_records_end_with_nul() {
        let rows = [Row::new(vec![
            Cell::tsv("t\\001"),
            Cell::people("p"),
            Cell::both("a\n"),
            Cell::porcelain("b"),
        ])];
        assert_eq!(table(&rows, "", Paint::Plain, None), "p  a\\012\n");
        assert_eq!(
            records(&rows, Form::Porcelain, RecordEnd::Newline),
            b"a\\012\tb\n"
        );
        assert_eq!(records(&rows, Form::Porcelain, RecordEnd::Nul), b"a\n\tb\0");
        assert_eq!(records(&rows, Form::Tsv, RecordEnd::Newline), b"t\\001\n");
    }
}
