//! Compares a content with what a pointer file of Git LFS says of it.

use std::io::Read;
use std::sync::atomic::AtomicBool;

use bstr::ByteSlice;

/// Whether a content is the one that a pointer file of Git LFS names, or it is no such file
/// (git-lfs, docs/spec.md: `oid sha256:<hex>`).
pub fn is_named_by(pointer: &[u8], content: &[u8]) -> bool {
    let Some(rest) = pointer.strip_prefix(b"version https://git-lfs.github.com/spec/") else {
        return true;
    };
    let mut lines = rest.lines();
    let oid = lines.find_map(|line| line.strip_prefix(b"oid sha256:"));
    oid.is_none_or(|oid| has_sha256(&mut &*content, content.len() as u64, oid))
}

/// Whether a content of this size has this SHA-256, in hexadecimal.
pub fn has_sha256(content: &mut dyn Read, size: u64, hex: &[u8]) -> bool {
    let (kind, progress) = (gix::hash::Kind::Sha256, &mut gix::progress::Discard);
    let digest = gix::hash::bytes(content, size, kind, progress, &AtomicBool::new(false));
    digest.is_ok_and(|digest| *hex == *digest.to_string().as_bytes())
}
