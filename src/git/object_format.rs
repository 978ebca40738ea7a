//! Names the hash function of a repository, and turns ids into those of `gix` and back.

use std::io::Read;

use crate::words::entry::ObjectId;
use crate::words::name::CommitId;

/// Names the hash function of a repository (`extensions.objectFormat`, git-config(1)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectFormat(pub gix::hash::Kind);

impl ObjectFormat {
    /// The hash function that made an id.
    pub fn of(id: &CommitId) -> Self {
        Self(oid_of(id).kind())
    }

    /// The length of an id in bytes.
    pub const fn length(self) -> usize {
        self.0.len_in_bytes()
    }

    /// Computes the id of these bytes as a blob; of those with which git refuses to work, no id.
    pub fn blob_id(self, bytes: &[u8]) -> ObjectId {
        let id = self.hash_blob(bytes.len() as u64, &mut &*bytes);
        id.unwrap_or(ObjectId::none())
    }

    /// Computes the id that git would give a blob of these bytes, `size` of them.
    ///
    /// # Errors
    /// Fails when reading fails, or gives more or fewer bytes than `size`.
    pub fn hash_blob(self, size: u64, content: &mut dyn Read) -> std::io::Result<ObjectId> {
        let mut hasher = gix::hash::hasher(self.0);
        hasher.update(format!("blob {size}\0").as_bytes());
        // room for all of it, and for one byte that should not be there
        let expected = usize::try_from(size).unwrap_or(AT_ONCE);
        let mut buffer = vec![0; expected.saturating_add(1).min(AT_ONCE)];
        let mut left = size;
        loop {
            let read = content.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            left = left.checked_sub(read as u64).ok_or_else(changing)?;
            hasher.update(&buffer[..read]);
        }
        if left != 0 {
            return Err(changing());
        }
        let id = hasher.try_finalize();
        let id = id.map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(id_of(&id))
    }
}

/// How much of a file is in memory at once.
const AT_ONCE: usize = 64 * 1024;

fn changing() -> std::io::Error {
    std::io::Error::other("it changed while it was read")
}

pub(super) fn id_of(id: &gix::hash::oid) -> ObjectId {
    ObjectId::from_bytes(id.as_bytes()).expect("because gix knows no other ids than these two")
}

/// The id as gix has it.
pub(super) fn oid_of(id: &CommitId) -> gix::hash::ObjectId {
    let id = gix::hash::ObjectId::from_hex(id.as_str().as_bytes());
    id.expect("because it is 40 or 64 digits")
}

pub(super) fn commit_id_of(id: &gix::hash::oid) -> CommitId {
    CommitId::parse(&id.to_string()).expect("because gix writes ids as 40 or 64 digits")
}
