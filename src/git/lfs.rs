//! Compares a content with what a pointer file of Git LFS says of it.

use std::io::Read;
use std::sync::atomic::AtomicBool;

use bstr::ByteSlice;

/// True if a content is the one that a pointer file of Git LFS names, or the pointer is no such
/// file (git-lfs, docs/spec.md: `oid sha256:<hex>`).
pub fn is_named_by(pointer: &[u8], content: &[u8]) -> bool {
    let Some(keys) = pointer.strip_prefix(b"version https://git-lfs.github.com/spec/") else {
        return true;
    };
    for line in keys.lines() {
        if let Some(hex) = line.strip_prefix(b"oid sha256:") {
            let mut reader = content;
            return has_sha256(&mut reader, content.len() as u64, hex);
        }
    }
    true
}

/// True if a content of this size has this SHA-256, in hexadecimal.
pub fn has_sha256(content: &mut dyn Read, size: u64, hex: &[u8]) -> bool {
    let digest = gix::hash::bytes(
        content,
        size,
        gix::hash::Kind::Sha256,
        &mut gix::progress::Discard,
        &AtomicBool::new(false),
    );
    match digest {
        Ok(digest) => digest.to_string().as_bytes() == hex,
        Err(_) => false,
    }
}
