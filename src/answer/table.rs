//! One table for people and programs: [`Row`] and its [`Cell`]s.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthStr;

use crate::answer::paint::{Paint, Painter};
use crate::arguments::output::RecordEnd;
use crate::words::path::{escape_for_terminal, escape_for_tsv};

/// One record.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The cells, from left to right, for people and in a record.
    pub cells: Vec<Cell>,
    /// A line that people see below the row.
    pub below: Option<String>,
    kind: RowKind,
}

/// What the cells of a row are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RowKind {
    /// The headings of the columns.
    Headings,
    /// Values.
    #[default]
    Values,
}

/// A value of a record, for people, for scripts, or for both.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The text for people, without colour; none in a field for scripts alone.
    shown: Option<String>,
    /// The field for scripts; none in a cell for people alone.
    field: Option<Field>,
    paint: Painter,
    /// How early the column is left out of a table that is too wide: 0 for never.
    rank: u8,
}

/// A field of a record.
#[derive(Clone, Debug)]
enum Field {
    /// Bytes that are escaped when the record is written.
    Raw(Vec<u8>),
    /// A text that is escaped already.
    Escaped(String),
}

impl Cell {
    const fn new(shown: Option<String>, field: Option<Field>) -> Self {
        Self {
            shown,
            field,
            paint: plain,
            rank: 0,
        }
    }

    /// Creates a cell for people and for scripts.
    pub fn both(value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        let shown = escape_for_terminal(value);
        Self::new(Some(shown), Some(Field::Raw(value.to_vec())))
    }

    /// Creates a cell for people and for scripts of a text that is escaped already.
    pub fn escaped(text: &str) -> Self {
        Self::new(Some(text.to_owned()), Some(Field::Escaped(text.to_owned())))
    }

    /// Creates a cell for people.
    pub fn people(text: impl Into<String>) -> Self {
        Self::new(Some(text.into()), None)
    }

    /// Creates a field for scripts.
    pub fn porcelain(value: impl AsRef<[u8]>) -> Self {
        Self::new(None, Some(Field::Raw(value.as_ref().to_vec())))
    }

    /// Lets the column be left out where the table is too wide, the highest rank first, or where
    /// only the heading has a value.
    pub fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// Sets the colour, for people.
    pub fn paint(mut self, paint: Painter) -> Self {
        self.paint = paint;
        self
    }

    fn is_empty(&self) -> bool {
        self.shown.as_ref().is_none_or(String::is_empty)
    }

    fn width(&self) -> usize {
        self.shown.as_ref().map_or(0, |text| text.width())
    }
}

fn plain(_: Paint, text: &str) -> String {
    text.to_owned()
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
            kind: RowKind::Headings,
            ..Self::new(cells)
        }
    }

    /// Creates a record of fields for scripts alone.
    pub fn record(fields: &[&[u8]]) -> Self {
        Self::new(fields.iter().map(Cell::porcelain).collect())
    }

    /// The cells that people see.
    fn shown_cells(&self) -> Vec<&Cell> {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.shown.is_some()).collect()
    }
}

/// Writes rows for scripts: fields with tabs between, records that end with a newline, or with
/// NUL, where no field is escaped.
pub fn records(rows: &[Row], end: RecordEnd) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        let mut fields: Vec<Cow<'_, [u8]>> = Vec::new();
        for cell in &row.cells {
            match &cell.field {
                None => {}
                Some(Field::Escaped(text)) => fields.push(text.as_bytes().into()),
                Some(Field::Raw(bytes)) => fields.push(match end {
                    RecordEnd::Newline => escape_for_tsv(bytes).into_bytes().into(),
                    RecordEnd::Nul => bytes.into(),
                }),
            }
        }
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

/// Renders rows for people: columns two spaces apart, no spaces at the end of a line, and lines
/// wrapped at `width` between words.
pub(super) fn table(rows: &[Row], indent: &str, paint: Paint, width: Option<usize>) -> String {
    let columns = columns(rows);
    let room = width.map(|width| width.saturating_sub(indent.len()));
    let layout = Layout {
        kept: kept_columns(&columns, room),
        columns,
        indent,
        paint,
        width,
    };
    let mut out = String::new();
    for row in rows {
        let cells = row.shown_cells();
        if !cells.is_empty() {
            out.push_str(layout.line(&cells).trim_end());
            out.push('\n');
        }
        if let Some(below) = &row.below {
            let indent = format!("{indent}  ");
            for line in wrapped(below, layout.room_after(indent.len())) {
                out.push_str(&format!("{indent}{line}\n"));
            }
        }
    }
    out
}

/// What is known of a column.
#[derive(Clone, Copy, Default)]
struct Column {
    width: usize,
    /// The highest rank of a cell.
    rank: u8,
    /// Whether a cell below the heading has a value.
    has_values: bool,
}

/// Where the cells of a table stand.
struct Layout<'t> {
    columns: Vec<Column>,
    /// The numbers of the columns that are shown.
    kept: Vec<usize>,
    indent: &'t str,
    paint: Paint,
    width: Option<usize>,
}

impl Layout<'_> {
    /// The columns of the terminal that are left after so many.
    fn room_after(&self, used: usize) -> Option<usize> {
        self.width.map(|width| width.saturating_sub(used))
    }

    /// Renders one row; the spaces at its end are not removed.
    fn line(&self, cells: &[&Cell]) -> String {
        let mut line = String::from(self.indent);
        // the spaces before the next cell that is not empty
        let mut spaces = 0;
        // where the cell begins, as a column of the terminal
        let mut start = self.indent.len();
        for number in &self.kept {
            let Some(cell) = cells.get(*number) else {
                continue;
            };
            if !cell.is_empty() {
                // the last cell can be on several lines, unless it is alone
                let may_wrap = self.kept.last() == Some(number) && start > self.indent.len();
                let width = self.width.filter(|_| may_wrap);
                let spacing = Spacing {
                    start,
                    spaces,
                    width,
                };
                line.push_str(&self.spaced(cell, spacing));
                spaces = 0;
            }
            let column_width = self.columns[*number].width;
            spaces += column_width - cell.width() + GAP;
            start += column_width + GAP;
        }
        line
    }

    /// A cell with the spaces before it, on as many lines as it needs.
    fn spaced(&self, cell: &Cell, spacing: Spacing) -> String {
        let text = cell.shown.as_deref().unwrap_or_default();
        let spaces = " ".repeat(spacing.spaces);
        let end = spacing.start + cell.width();
        let Some(width) = spacing.width.filter(|width| end > *width) else {
            return spaces + &(cell.paint)(self.paint, text);
        };
        // words for which the column is too narrow stand below the row
        let is_below = spacing.start + NARROW > width;
        let margin = if is_below {
            self.indent.len() + 4
        } else {
            spacing.start
        };
        let line_break = format!("\n{}", " ".repeat(margin));
        let mut lines = Vec::new();
        for line in wrapped(text, Some(width.saturating_sub(margin))) {
            lines.push((cell.paint)(self.paint, &line));
        }
        let before = if is_below { &line_break } else { &spaces };
        format!("{before}{}", lines.join(&line_break))
    }
}

/// Where a cell stands in its line.
#[derive(Clone, Copy)]
struct Spacing {
    /// The column of the terminal where the cell begins.
    start: usize,
    /// The spaces before the cell.
    spaces: usize,
    /// The width at which the cell is wrapped; `None` if it may be longer.
    width: Option<usize>,
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

/// Measures the columns of a table.
fn columns(rows: &[Row]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for row in rows {
        let cells = row.shown_cells();
        if columns.len() < cells.len() {
            columns.resize(cells.len(), Column::default());
        }
        for (cell, column) in cells.iter().zip(&mut columns) {
            column.width = column.width.max(cell.width());
            column.rank = column.rank.max(cell.rank);
            column.has_values |= row.kind == RowKind::Values && !cell.is_empty();
        }
    }
    columns
}

/// The numbers of the columns that are shown: without those that have a rank and no values, and
/// without those of the highest ranks while the table is too wide.
fn kept_columns(columns: &[Column], room: Option<usize>) -> Vec<usize> {
    let mut kept = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        if column.rank == 0 || column.has_values {
            kept.push(number);
        }
    }
    while room.is_some_and(|room| least_width(columns, &kept) > room + GAP)
        && let Some(highest) = kept.iter().map(|number| columns[*number].rank).max()
        && highest > 0
        && let Some(last) = kept
            .iter()
            .rposition(|number| columns[*number].rank == highest)
    {
        kept.remove(last);
    }
    kept
}

/// The width of some columns with the gaps after them; a last column without a rank does not count,
/// as it can be wrapped.
fn least_width(columns: &[Column], kept: &[usize]) -> usize {
    let mut total = 0;
    for number in kept {
        let column = columns[*number];
        if column.rank > 0 || kept.last() != Some(number) {
            total += column.width + GAP;
        }
    }
    total
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
        rows[0].kind = RowKind::Headings;
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
            Cell::escaped("t\\001"),
            Cell::people("p"),
            Cell::both("a\n"),
            Cell::porcelain("b"),
        ])];
        let people = table(&rows, "", Paint::Plain, None);
        assert_eq!(people, "t\\001  p  a\\012\n");
        let lines = records(&rows, RecordEnd::Newline);
        assert_eq!(lines, b"t\\001\ta\\012\tb\n");
        let records = records(&rows, RecordEnd::Nul);
        assert_eq!(records, b"t\\001\ta\n\tb\0");
    }
}
