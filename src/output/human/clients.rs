//! Shows the agent programs, and where each reads its context.

use super::out;
use crate::client::About;
use crate::output::table::{Cell, table};
use crate::output::{Paint, Printed};

/// How wide sentences are.
const WIDTH: usize = 96;

/// Each with its files as a table, then what is known.
pub fn clients(all: &[&About], paint: Paint) -> Printed {
    let mut text = String::new();
    for about in all {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}: {}\n", paint.name(about.name), about.title));
        let rows: Vec<Vec<Cell>> = about
            .files
            .iter()
            .map(|file| vec![Cell::plain(file.path), Cell::plain(file.when)])
            .collect();
        text.push_str(&table(&rows, "  "));
        for known in about.known {
            text.push_str(&bullet("- ", known));
        }
        for document in about.read_in {
            text.push_str(&bullet("read in ", document));
        }
    }
    out(text)
}

/// A sentence in lines of [`WIDTH`], indented below its first word.
fn bullet(head: &str, sentence: &str) -> String {
    let indent = " ".repeat(2 + head.len());
    let mut out = format!("  {head}");
    let mut column = out.len();
    for (at, word) in sentence.split(' ').enumerate() {
        if at > 0 && column + 1 + word.len() > WIDTH {
            out.push('\n');
            out.push_str(&indent);
            column = indent.len();
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
    out
}
