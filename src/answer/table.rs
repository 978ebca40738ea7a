//! One table for people and programs: [`Row`] and its [`Cell`]s.

use unicode_width::UnicodeWidthStr;

use super::Paint;
use crate::path::{escape_for_terminal, escape_for_tsv};

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
        let mut cell = Self::new(text.into(), &[Form::Tsv]);
        cell.escaped = true;
        cell
    }

    /// Sets what people see.
    pub fn shown(mut self, text: impl Into<String>) -> Self {
        self.shown = text.into();
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
pub fn records(rows: &[Row], form: Form, nul: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        let cells = row.cells.iter().filter(|cell| cell.forms.contains(&form));
        let as_is = nul && form == Form::Porcelain;
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
            out.push(if nul { 0 } else { b'\n' });
        }
    }
    out
}

/// Renders rows for people: columns two spaces apart, no spaces at the end of a line.
pub(super) fn table(rows: &[Row], indent: &str, paint: Paint) -> String {
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
    let mut out = String::new();
    for (cells, row) in &rows {
        let mut line = String::from(indent);
        let mut owed = 0;
        for (cell, width) in cells.iter().zip(&widths) {
            if !cell.shown.is_empty() {
                line.extend(std::iter::repeat_n(' ', owed));
                line.push_str(&(cell.paint)(paint, &cell.shown));
                owed = 0;
            }
            owed += width - cell.shown.width() + 2;
        }
        if !cells.is_empty() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if let Some(below) = &row.below {
            out.push_str(&format!("{indent}  {below}\n"));
        }
    }
    out
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
            table(&rows, " ", Paint::Plain),
            " a        x\n caf\u{e9}  b  y\n \u{65e5}\u{672c}\n"
        );
    }

    #[test]
    fn each_form_takes_its_cells_and_escapes_unless_records_end_with_nul() {
        let rows = [Row::new(vec![
            Cell::tsv("t\\001"),
            Cell::people("p"),
            Cell::both("a\n"),
            Cell::porcelain("b"),
        ])];
        assert_eq!(table(&rows, "", Paint::Plain), "p  a\\012\n");
        assert_eq!(records(&rows, Form::Porcelain, false), b"a\\012\tb\n");
        assert_eq!(records(&rows, Form::Porcelain, true), b"a\n\tb\0");
        assert_eq!(records(&rows, Form::Tsv, false), b"t\\001\n");
    }
}
