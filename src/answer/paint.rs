//! Colours words, or does not.

use anstyle::{AnsiColor, Style};

/// Colours a text, or does not.
pub type Painter = fn(Paint, &str) -> String;

/// Says whether words are coloured; all output makes sense without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// They are.
    Colour,
    /// They are not.
    Plain,
}

impl Paint {
    pub fn with(self, style: Style, text: &str) -> String {
        match self {
            Self::Colour => format!("{style}{text}{style:#}"),
            Self::Plain => text.to_owned(),
        }
    }

    /// What is wrong.
    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// What is right.
    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// What asks for attention.
    pub fn warning(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// What is a name.
    pub fn name(self, text: &str) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// What matters less.
    pub fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// What heads a part.
    pub fn heading(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }
}
