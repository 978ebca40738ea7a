//! Keeps what one run has opened of object stores, and the commits that it has read: [`Stores`].
//!
//! To open a store is to list its packs and to map their indexes, and a verification asks five times
//! for each commit of a worktree. What an id names never changes, and a store looks again for new
//! packs where it does not find an id.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use gix::hash::ObjectId;
use gix::odb::{Handle, Store};

use super::objects::ObjectFormat;

/// How many commits are kept.
const MOST: usize = 10_000;

/// Represents the stores that are open, by the directory of their objects.
#[derive(Clone, Default)]
pub struct Stores {
    open: Arc<Mutex<HashMap<Utf8PathBuf, Opened>>>,
}

#[derive(Clone)]
struct Opened {
    store: Arc<Store>,
    commits: KeptCommits,
}

/// Represents the commits that were read of one store and held against their ids.
#[derive(Clone, Default)]
pub struct KeptCommits {
    raw: Arc<Mutex<HashMap<ObjectId, Arc<[u8]>>>>,
}

impl Stores {
    /// The objects of the repository with this common git directory, alternates included
    /// (gitrepository-layout(5), `objects/info/alternates`), and what is kept of them.
    ///
    /// # Errors
    /// Fails when the directory cannot be read.
    pub fn open(
        &self,
        common_dir: &Utf8Path,
        format: ObjectFormat,
    ) -> std::io::Result<(Handle, KeptCommits)> {
        let directory = common_dir.join("objects");
        let mut open = locked(&self.open);
        if let Some(opened) = open.get(&directory)
            && opened.store.object_hash() == format.kind()
        {
            return Ok((opened.store.to_cache_arc(), opened.commits.clone()));
        }
        let handle = gix::odb::at(directory.as_std_path(), format.kind())?;
        let commits = KeptCommits::default();
        let opened = Opened {
            store: handle.store(),
            commits: commits.clone(),
        };
        open.insert(directory, opened);
        Ok((handle, commits))
    }
}

impl KeptCommits {
    /// The bytes of a commit, if it was read before.
    #[must_use]
    pub fn get(&self, id: &ObjectId) -> Option<Arc<[u8]>> {
        locked(&self.raw).get(id).cloned()
    }

    /// Keeps the bytes of a commit, which are what its id says.
    pub fn keep(&self, id: ObjectId, raw: &[u8]) {
        let mut all = locked(&self.raw);
        if all.len() < MOST {
            all.insert(id, raw.into());
        }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = locked(&self.open);
        f.debug_set().entries(open.keys()).finish()
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
