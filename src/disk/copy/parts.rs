//! Copies a large file by two threads, each a part after the other.
//!
//! BLAKE3 is a tree: the digests of parts are merged into that of the whole, in whatever order
//! they were taken. So one thread reads and hashes while the other writes, which the system lets
//! only one do at a time.

use std::sync::atomic::{AtomicU64, Ordering};

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};

use super::content::{CHUNK, Large};
use super::error::CopyError;
use crate::placed::Digest;

/// A part: a power of two, as the tree has it.
const PART: u64 = CHUNK as u64;

/// Copies the content of a file that is larger than a part, and returns its digest.
pub(super) fn copy(large: &Large<'_>, buffer: &mut [u8]) -> Result<Digest, CopyError> {
    let next = AtomicU64::new(0);
    let work = |buffer: &mut [u8]| {
        let done = some_parts(large, &next, buffer);
        if done.is_err() {
            // for the other thread nothing is left either
            next.store(large.size, Ordering::Relaxed);
        }
        done
    };
    let (ours, others) = std::thread::scope(|scope| {
        let other = scope.spawn(|| work(&mut vec![0; CHUNK]));
        let ours = work(buffer);
        let other = other.join();
        (
            ours,
            other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    let mut parts = ours?;
    parts.extend(others?);
    parts.sort_unstable_by_key(|part| part.at);
    Ok(whole(&parts, large.size))
}

struct Part {
    at: u64,
    value: ChainingValue,
}

fn some_parts(
    large: &Large<'_>,
    next: &AtomicU64,
    buffer: &mut [u8],
) -> Result<Vec<Part>, CopyError> {
    let mut parts = Vec::new();
    loop {
        let at = next.fetch_add(PART, Ordering::Relaxed);
        if at >= large.size {
            return Ok(parts);
        }
        let bytes = large.part(buffer, at, large.size)?;
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(at).update(bytes);
        parts.push(Part {
            at,
            value: hasher.finalize_non_root(),
        });
    }
}

fn whole(parts: &[Part], size: u64) -> Digest {
    let (left, right) = split(parts, size);
    Digest(merge_subtrees_root(&left, &right, Mode::Hash).into())
}

fn subtree(parts: &[Part], size: u64) -> ChainingValue {
    if let [part] = parts {
        return part.value;
    }
    let (left, right) = split(parts, size);
    merge_subtrees_non_root(&left, &right, Mode::Hash)
}

fn split(parts: &[Part], size: u64) -> (ChainingValue, ChainingValue) {
    let length = left_subtree_len(size);
    let (left, right) = parts.split_at(parts.partition_point(|p| p.at - parts[0].at < length));
    (subtree(left, length), subtree(right, size - length))
}
