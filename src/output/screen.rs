//! Draws an answer on a terminal again and again while the answer becomes complete: [`Screen`].

use std::io::Write;

use bstr::ByteSlice;

/// Represents the part of a terminal in which an answer is drawn.
#[derive(Debug)]
pub struct Screen {
    /// The number of lines that fit.
    pub height: usize,
    /// The number of lines that are drawn.
    pub drawn: usize,
}

impl Screen {
    /// Draws a text in place of the last one. A text that the terminal would scroll is not drawn,
    /// as a line that was scrolled away cannot be replaced.
    pub fn draw(&mut self, text: &[u8]) {
        let new_lines = text.lines().count();
        if new_lines >= self.height {
            return;
        }
        // CPL and ED (ECMA-48): to the line of the first row, and nothing from there on
        let clear = match self.drawn {
            0 => String::new(),
            lines => format!("\x1b[{lines}F\x1b[J"),
        };
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(&[clear.as_bytes(), text].concat());
        if written.and_then(|()| stdout.flush()).is_ok() {
            self.drawn = new_lines;
        }
    }
}
