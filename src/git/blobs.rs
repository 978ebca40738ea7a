//! Reads many blobs from several threads: [`Blobs`].

use std::sync::Arc;

use gix::objs::{Find, Kind};
use gix::odb::Header as _;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;

use super::error::GitError;
use super::objects::{Objects, unreadable};
use crate::entry::ObjectId;

/// How much of the bases of deltas each thread keeps.
const KEPT: usize = 32 * 1024 * 1024;

/// Represents the object database for many readers.
pub struct Blobs {
    store: Arc<gix::odb::Store>,
}

/// Represents one reader, for one thread.
pub struct BlobReader {
    handle: gix::odb::HandleArc,
}

impl Objects {
    /// The same objects, for readers in several threads.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        Blobs {
            store: self.store.store(),
        }
    }
}

impl Blobs {
    /// Makes a reader.
    #[must_use]
    pub fn reader(&self) -> BlobReader {
        let mut handle = self.store.to_cache_arc();
        handle.prevent_pack_unload();
        handle.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(KEPT)));
        BlobReader { handle }
    }
}

impl BlobReader {
    /// Reads how long a blob is.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no blob.
    pub fn size(&self, id: &ObjectId) -> Result<u64, GitError> {
        let oid = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        let what = format_args!("blob {id}");
        match self.handle.try_header(&oid) {
            Ok(Some(header)) if header.kind() == Kind::Blob => Ok(header.size()),
            Ok(Some(header)) => Err(unreadable(&what, &format!("it is a {}", header.kind()))),
            Ok(None) => Err(unreadable(&what, &"it is not in the repository")),
            Err(error) => Err(unreadable(&what, &error)),
        }
    }

    /// Reads the raw bytes of a blob.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no blob.
    pub fn read<'b>(&self, id: &ObjectId, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], GitError> {
        let oid = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        let what = format_args!("blob {id}");
        match self.handle.try_find(&oid, buffer) {
            Ok(Some(data)) if data.kind == Kind::Blob => Ok(data.data),
            Ok(Some(data)) => Err(unreadable(&what, &format!("it is a {}", data.kind))),
            Ok(None) => Err(unreadable(&what, &"it is not in the repository")),
            Err(error) => Err(unreadable(&what, &error)),
        }
    }
}
