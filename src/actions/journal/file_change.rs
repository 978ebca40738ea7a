//! Looks at files that a command changed; the journal itself writes back what they held.

use crate::disk::error::DiskError;
use crate::record::journal::{Now, SharedFileChange};
use crate::worktree::journal::digest_of_file;

/// Looks at what a file holds.
///
/// # Errors
/// Fails when the disk refuses.
pub fn now(change: &SharedFileChange) -> Result<Now, DiskError> {
    Ok(digest_of_file(&change.path)?.map_or(Now::Nothing, Now::File))
}
