//! Reads very many objects, most of them once, in little memory: [`Passing`].
//!
//! A pack is mapped, and what was read of a mapping counts as memory of ours for as long as it is
//! there, a page with up to fifteen around it for each object: all trees of a large repository, or
//! all its files, come to the size of its packs. So a reader opens the store anew now and then,
//! which ends the mappings of the one before.

use std::fmt;
use std::sync::Arc;

use gix::objs::{Find, Kind};
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::odb::{HandleArc, Store};

use super::error::{GitError, unreadable};
use super::objects::of_kind;

/// How much of the bases of deltas is kept.
const KEPT: usize = 16 * 1024 * 1024;
/// After how many bytes of content the store is opened anew.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Represents one reader, for one thread.
pub(super) struct Passing {
    handle: HandleArc,
    /// After how many objects the store is opened anew.
    most: usize,
    /// What it has given since the store was opened.
    objects: usize,
    bytes: usize,
}

impl Passing {
    /// Begins with a store that is open, to be opened anew after so many objects at the latest.
    pub fn new(store: &Arc<Store>, most: usize) -> Self {
        let mut handle = store.to_cache_arc();
        handle.prevent_pack_unload();
        handle.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(KEPT)));
        Self {
            handle,
            most,
            objects: 0,
            bytes: 0,
        }
    }

    /// Reads the raw bytes of an object.
    pub fn find<'b>(
        &mut self,
        what: &dyn fmt::Display,
        id: &gix::hash::oid,
        kind: Kind,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], GitError> {
        if self.objects >= self.most || self.bytes >= MOST_BYTES {
            self.let_go()?;
        }
        let data = of_kind(what, kind, self.handle.try_find(id, buffer))?;
        self.objects += 1;
        self.bytes += data.len();
        Ok(data)
    }

    fn let_go(&mut self) -> Result<(), GitError> {
        let store = self.handle.store_ref();
        let (directory, hash) = (store.path().to_owned(), store.object_hash());
        let opened = gix::odb::at(&directory, hash);
        let opened = opened.map_err(|error| unreadable(&directory.display(), &error))?;
        *self = Self::new(&opened.store(), self.most);
        Ok(())
    }
}
