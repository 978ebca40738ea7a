//! Says what is copied, and how far the copy is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use camino::Utf8Path;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::disk::files::remove_directory;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Digest, PlacedKind};
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Says what is to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// The path, the same in source and destination.
    pub path: RepoPath,
    /// What it is made from.
    pub from: Source,
    /// The permission bits of the copy.
    pub bits: u32,
}

/// Says what an entry is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// What stands at the same path of the source, as it was seen.
    File(PlacedKind, Stat),
    /// A text of ours.
    Text(Vec<u8>),
}

/// Describes an entry that is staged, or placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The path.
    pub path: RepoPath,
    /// Its kind.
    pub kind: PlacedKind,
    /// The digest of its content or link text; none for a directory and for a large clone.
    pub digest: Option<Digest>,
    /// Its stat data; until a directory is placed, those of its source.
    pub stat: Stat,
}

/// Says where to copy from and where to stage.
#[derive(Clone, Copy)]
pub struct Staging<'a> {
    /// The worktree that is copied from.
    pub source: &'a Utf8Path,
    /// The staging directory, which is not there yet.
    pub directory: &'a Utf8Path,
    /// Counts the bytes.
    pub progress: &'a Progress,
    /// Fails where the copy is to stop.
    pub stop: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

/// Says why nothing was placed.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum CopyError {
    #[error("{path} changed while it was copied")]
    #[diagnostic(code(agentwt::copy::changed))]
    #[diagnostic(help(
        "wait until nothing writes to it (`ls -l '{path}'`), then run the same command again"
    ))]
    Changed { path: RepoPath },
    #[error("cannot place {path}: a {} stands there", found.as_str())]
    #[diagnostic(code(agentwt::copy::in_the_way))]
    #[diagnostic(help(
        "nothing is written through a link or over a file: look with `ls -ld '{path}'`, \
         move it away, then run the same command again"
    ))]
    InTheWay { path: RepoPath, found: PlacedKind },
}

pub(super) fn changed(path: &RepoPath) -> Error {
    CopyError::Changed { path: path.clone() }.into()
}

/// Removes the staging directory. Returns why it could not be removed.
pub(super) fn drop_staging(directory: &Utf8Path) -> Vec<String> {
    match remove_directory(directory) {
        Ok(()) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}

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
