//! Computes the digests by which placed files are known.

use std::io;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::open::{Opened, open_below};
use crate::inventory::placed::{Digest, PlacedKind};
use crate::words::path::RepoPath;

/// Returns the kind and the digest of what stands at a path below a root; none if nothing with
/// content does.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn digest_below(root: &Utf8Path, path: &RepoPath) -> io::Result<Option<(PlacedKind, Digest)>> {
    match open_below(root, path)? {
        Opened::File { content, .. } => Ok(Some((PlacedKind::File, digest_of(content)?))),
        Opened::Link(text) => Ok(Some((PlacedKind::Link, digest_of(text.as_bytes())?))),
        Opened::Other => Ok(None),
    }
}

/// Hashes everything that can be read.
///
/// # Errors
/// Fails when it cannot be read.
pub fn digest_of(content: impl io::Read) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(content)?;
    Ok(Digest(*hasher.finalize().as_bytes()))
}
