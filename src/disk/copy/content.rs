//! Copies the content of a large file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::entry::Copier;
use super::error::{Cause, CopyError};
use crate::path::RepoPath;
use crate::placed::Digest;

/// Holds a large file that is open, and the empty file that becomes its copy.
pub(super) struct Large<'a> {
    pub copier: &'a Copier<'a>,
    pub path: &'a RepoPath,
    pub from: &'a File,
    pub to: &'a File,
    pub size: u64,
}

/// Copies the content. Returns its digest, none for a large clone.
pub(super) fn copy(large: &Large<'_>) -> Result<Option<Digest>, CopyError> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        large.copier.go_on()?;
        let read = large.from.read_at(&mut buffer, at);
        let read = read.map_err(|error| Cause::disk("read", large.path, error))?;
        if read == 0 {
            break;
        }
        large
            .to
            .write_all_at(&buffer[..read], at)
            .map_err(|error| Cause::disk("copy", large.path, error))?;
        hasher.update(&buffer[..read]);
        at += read as u64;
        large.copier.staging.progress.add_bytes(read as u64);
    }
    if at != large.size {
        return Err(Cause::Changed(large.path.clone()).into());
    }
    Ok(Some(Digest(hasher.finalize().into())))
}
