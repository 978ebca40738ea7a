//! Says of every text that was written whether it must still be found: [`Ledger`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use sha1::{Digest, Sha1};

/// The blob id that git gives a text.
pub type BlobId = String;

/// Where a text is found, as far as its writer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// In a file or in the index: who overwrites it gives it up.
    Loose,
    /// In a commit that a branch or HEAD has.
    Committed,
    /// In an ignored file, or in a commit that only the reflog names: it may go with the worktree.
    UntilRemoval,
    /// Nowhere, for this reason.
    GivenUp(&'static str),
}

/// Represents one text that was written, which stands nowhere else.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The whole content of its file.
    pub text: String,
    /// The worktree, or `main`.
    pub name: String,
    /// The path in the worktree.
    pub path: String,
    /// Who wrote it, and by which act.
    pub act: String,
    /// When it was written, in milliseconds since the beginning.
    pub written: u128,
    /// Where it must be found.
    pub held: Held,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.trim_end();
        let written = self.written;
        let Entry {
            name,
            path,
            act,
            held,
            ..
        } = self;
        write!(f, "{text:?}: {name}:{path}, {written} ms, {act}, {held:?}")
    }
}

/// Holds every text that was written, by its blob id.
#[derive(Default)]
pub struct Ledger {
    entries: Mutex<HashMap<BlobId, Entry>>,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, HashMap<BlobId, Entry>> {
        self.entries.lock().expect("no writer has failed")
    }

    /// Adds a text that was written.
    pub fn add(&self, entry: Entry) {
        self.lock().insert(blob_id(&entry.text), entry);
    }

    /// Notes that a commit has these blobs.
    pub fn commit(&self, blobs: &[BlobId]) {
        let mut entries = self.lock();
        for blob in blobs {
            if let Some(entry) = entries.get_mut(blob) {
                entry.held = Held::Committed;
            }
        }
    }

    /// Notes that only the reflog has the commit with these blobs.
    pub fn replace_commit(&self, blobs: &[BlobId]) {
        let mut entries = self.lock();
        for blob in blobs {
            if let Some(entry) = entries.get_mut(blob) {
                entry.held = Held::UntilRemoval;
            }
        }
    }

    /// Notes that the owner destroyed the only copy, unless a commit has the text.
    pub fn give_up(&self, blob: &str, reason: &'static str) {
        if let Some(entry) = self.lock().get_mut(blob)
            && entry.held == Held::Loose
        {
            entry.held = Held::GivenUp(reason);
        }
    }

    /// Notes that a worktree was removed, or may have been: what was promised until then is over.
    pub fn remove_worktree(&self, name: &str) {
        for entry in self.lock().values_mut() {
            if entry.name == name && entry.held == Held::UntilRemoval {
                entry.held = Held::GivenUp("it went with the worktree");
            }
        }
    }

    /// Notes that any worktree may have been removed.
    pub fn remove_any_worktree(&self) {
        for entry in self.lock().values_mut() {
            if entry.held == Held::UntilRemoval {
                entry.held = Held::GivenUp("it may have gone with the worktree");
            }
        }
    }

    /// Returns the entries that must be found, of those whose worktree is meant.
    pub fn required(&self, is_meant: impl Fn(&str) -> bool) -> HashMap<BlobId, Entry> {
        let mut required = HashMap::new();
        for (blob, entry) in self.lock().iter() {
            let is_required = !matches!(entry.held, Held::GivenUp(_));
            if is_required && is_meant(&entry.name) {
                required.insert(blob.clone(), entry.clone());
            }
        }
        required
    }

    /// Counts all entries.
    pub fn len(&self) -> usize {
        self.lock().len()
    }
}

/// Returns the id that git gives a file with this content.
pub fn blob_id(text: &str) -> BlobId {
    blob_id_of(text.as_bytes())
}

/// Returns the id that git gives a file with these bytes.
pub fn blob_id_of(bytes: &[u8]) -> BlobId {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    let mut id = String::new();
    for byte in hasher.finalize() {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}
