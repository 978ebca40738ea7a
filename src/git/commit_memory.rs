//! Remembers the headers of commits that were read: a question about history walks over mostly the
//! same commits as the one before.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use gix::hash::ObjectId;

/// How many commits are remembered: some 30 MB.
const MOST: usize = 100_000;

/// The headers of commits, each of which was held against its id. Several threads can use
/// it.
#[derive(Default)]
pub struct CommitMemory(Mutex<HashMap<ObjectId, Box<[u8]>>>);

impl CommitMemory {
    /// Copies the headers of a commit into a buffer. Returns false if it is not remembered.
    pub fn read(&self, id: &gix::hash::oid, buffer: &mut Vec<u8>) -> bool {
        let commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(headers) = commits.get(id) else {
            return false;
        };
        buffer.clear();
        buffer.extend_from_slice(headers);
        true
    }

    /// Returns true if a commit is remembered.
    pub fn has(&self, id: &gix::hash::oid) -> bool {
        let commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        commits.contains_key(id)
    }

    /// Remembers the headers of a commit, unless there are too many.
    pub fn add(&self, id: &gix::hash::oid, headers: &[u8]) {
        let mut commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if commits.len() < MOST {
            commits.insert(id.to_owned(), headers.into());
        }
    }
}
