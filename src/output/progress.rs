//! Draws how far a long copy is, on a terminal, once it takes longer than half a second.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::disk::progress::{Progress, Reached};

/// A copy that is done before this is not worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often it is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Represents the drawing of a bar, which ends with it.
#[must_use = "it ends when it is dropped"]
pub struct Drawing {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Watches a copy, and draws it on stderr.
pub fn draw(progress: Arc<Progress>) -> Drawing {
    let (stop, stopped) = channel();
    let thread = std::thread::Builder::new().name("progress".to_owned());
    // without a thread there is no bar, which is no harm
    let thread = thread.spawn(move || watch(&progress, &stopped)).ok();
    Drawing {
        stop: Some(stop),
        thread,
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(progress: &Progress, stopped: &Receiver<()>) {
    let mut since: Option<Instant> = None;
    let mut bar: Option<ProgressBar> = None;
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let reached = progress.reached();
        if reached.files == 0 {
            since = None;
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
            continue;
        }
        let begun = *since.get_or_insert_with(Instant::now);
        if begun.elapsed() + TICK >= PATIENCE {
            show(bar.get_or_insert_with(|| new_bar(begun)), reached);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(begun: Instant) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "copying {bar:24} {msg}, {binary_bytes} of {binary_total_bytes}, {eta} left";
    let style = ProgressStyle::with_template(style);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style.progress_chars("=> "))
        .with_elapsed(begun.elapsed())
}

fn show(bar: &ProgressBar, reached: Reached) {
    let Reached {
        files,
        bytes,
        files_done,
        bytes_done,
    } = reached;
    bar.set_length(bytes.max(1));
    bar.set_message(format!("{files_done} of {files} files"));
    bar.set_position(bytes_done.min(bytes));
}
