//! Reads a file of git's as a whole.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that reads git's own files past git"
)]

use std::io::{self, ErrorKind};

use camino::Utf8Path;

/// Returns the content of a file, none when there is none.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub(super) fn read(path: &Utf8Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
