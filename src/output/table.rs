//! Aligns columns by the width that a terminal shows.

use unicode_width::UnicodeWidthStr;

/// Holds a cell: what is shown, and how wide that is without its colours.
pub struct Cell {
    text: String,
    width: usize,
}

impl Cell {
    /// Makes a cell; `paint` adds colours, which have no width.
    pub fn new(text: &str, paint: impl FnOnce(&str) -> String) -> Self {
        Self {
            width: text.width(),
            text: paint(text),
        }
    }

    /// Makes a cell without colours.
    pub fn plain(text: &str) -> Self {
        Self::new(text, ToOwned::to_owned)
    }
}

/// Joins rows into lines: columns two spaces apart, no spaces at the end of a line.
pub fn table(rows: &[Vec<Cell>], indent: &str) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |at: usize| rows.iter().filter_map(|r| r.get(at)).map(|c| c.width).max();
    let widths: Vec<usize> = (0..columns).map(|at| width_of(at).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(indent);
        let mut owed = 0;
        for (cell, width) in row.iter().zip(&widths) {
            if cell.width > 0 {
                line.extend(std::iter::repeat_n(' ', owed));
                line.push_str(&cell.text);
                owed = 0;
            }
            owed += width - cell.width + 2;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let rows = vec![
            vec![Cell::plain("a"), Cell::plain(""), Cell::plain("x")],
            vec![Cell::plain("caf\u{e9}"), Cell::plain("b"), Cell::plain("y")],
            vec![
                Cell::plain("\u{65e5}\u{672c}"),
                Cell::plain(""),
                Cell::plain(""),
            ],
        ];
        assert_eq!(
            table(&rows, " "),
            " a        x\n caf\u{e9}  b  y\n \u{65e5}\u{672c}\n"
        );
    }
}
