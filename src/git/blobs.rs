//! Reads many blobs from several threads: [`Blobs`].

use std::sync::Arc;

use gix::objs::Kind;

use super::error::GitError;
use super::objects::Objects;
use super::passing::Passing;
use crate::entry::ObjectId;

/// After how many blobs a reader opens the store anew: one after another they mostly stand so in a
/// pack too.
const MOST: usize = 4_000;

/// Represents the object database for many readers.
pub struct Blobs {
    store: Arc<gix::odb::Store>,
}

/// Represents one reader, for one thread.
pub struct BlobReader(Passing);

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
        BlobReader(Passing::new(&self.store, MOST))
    }
}

impl BlobReader {
    /// Reads how long a blob is.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no blob.
    pub fn size(&self, id: &ObjectId) -> Result<u64, GitError> {
        self.0.size(id)
    }

    /// Reads the raw bytes of a blob.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no blob.
    pub fn read<'b>(
        &mut self,
        id: &ObjectId,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], GitError> {
        let oid = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        self.0
            .find(&format_args!("blob {id}"), &oid, Kind::Blob, buffer)
    }
}
