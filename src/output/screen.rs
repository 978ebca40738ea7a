//! Draws an answer on a terminal again and again while the answer becomes complete: [`Screen`].

use std::io::Write;
use std::sync::Mutex;

use bstr::ByteSlice;

/// Represents the part of a terminal in which an answer is drawn.
#[derive(Debug)]
pub struct Screen {
    /// The number of lines that fit.
    height: usize,
    /// The number of lines that are drawn.
    drawn: Mutex<usize>,
}

impl Screen {
    /// Creates a screen on a terminal of this height.
    pub fn new(height: usize) -> Self {
        let drawn = Mutex::new(0);
        Self { height, drawn }
    }

    /// Draws a text in place of the last one. A text that the terminal would scroll is not drawn, as
    /// a line that was scrolled away cannot be replaced.
    pub fn draw(&self, text: &[u8]) {
        let lines = text.lines().count();
        let Ok(mut drawn) = self.drawn.lock() else {
            return;
        };
        if lines < self.height {
            let mut stdout = std::io::stdout().lock();
            // CPL and ED (ECMA-48): to the line of the first row, and nothing from there on
            let clear = match *drawn {
                0 => String::new(),
                lines => format!("\x1b[{lines}F\x1b[J"),
            };
            let written = stdout.write_all(&[clear.as_bytes(), text].concat());
            if written.and_then(|()| stdout.flush()).is_ok() {
                *drawn = lines;
            }
        }
    }
}
