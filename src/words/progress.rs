//! Holds [`Progress`]: the bar of a copy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A copy that is done before this is not worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Counts what is to be copied and what is. Shared between threads.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    draws: AtomicBool,
}

impl Default for Progress {
    fn default() -> Self {
        let template = "copying {bar:24} {binary_bytes} of {binary_total_bytes}, {eta} left";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self {
            bar: ProgressBar::hidden().with_style(style.progress_chars("=> ")),
            draws: AtomicBool::new(false),
        }
    }
}

impl Progress {
    /// Lets it be drawn from now on: stderr is a terminal.
    pub fn draw(&self) {
        self.draws.store(true, Ordering::Relaxed);
    }

    /// Says how many bytes are to be copied, from now on.
    pub fn begin(&self, bytes: u64) {
        self.bar.reset();
        self.bar.set_length(bytes.max(1));
    }

    /// Says that nothing more is to be copied.
    pub fn end(&self) {
        self.bar.finish_and_clear();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Counts bytes.
    pub fn add_bytes(&self, bytes: u64) {
        self.bar.inc(bytes);
        let is_drawn = !self.draws.load(Ordering::Relaxed) || !self.bar.is_hidden();
        if !is_drawn && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Returns how many bytes are copied, and how many are to be.
    #[cfg(test)]
    pub fn reached(&self) -> (u64, Option<u64>) {
        (self.bar.position(), self.bar.length())
    }
}
