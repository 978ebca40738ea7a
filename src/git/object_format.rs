//! Names the hash function of a repository, and turns ids into those of `gix` and back.

use std::fmt;
use std::io::Read;

use crate::words::entry::ObjectId;
use crate::words::name::CommitId;

/// How much of a file is in memory at once.
const BUFFER_SIZE: usize = 64 * 1024;

/// The hash function of a repository (`extensions.objectFormat`, git-config(1)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectFormat(pub(super) gix::hash::Kind);

impl ObjectFormat {
    /// Takes the name of a hash function, as git writes it; none if it is unknown.
    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// Returns the hash function that made an id.
    pub fn of(id: &CommitId) -> Self {
        Self(oid_of(id).kind())
    }

    /// Returns the length of an id in bytes.
    pub const fn length(self) -> usize {
        self.0.len_in_bytes()
    }

    /// Computes the id of these bytes as a blob; of those with which git refuses to work, no id.
    pub fn blob_id(self, bytes: &[u8]) -> ObjectId {
        let mut content = bytes;
        self.hash_blob(bytes.len() as u64, &mut content)
            .unwrap_or(ObjectId::none())
    }

    /// Computes the id that git would give a blob of these bytes, `size` of them.
    ///
    /// # Errors
    /// Fails when reading fails, or gives more or fewer bytes than `size`.
    pub fn hash_blob(self, size: u64, content: &mut dyn Read) -> std::io::Result<ObjectId> {
        let mut hasher = gix::hash::hasher(self.0);
        hasher.update(format!("blob {size}\0").as_bytes());
        let mut buffer = vec![0; buffer_size(size)];
        let mut missing = size;
        loop {
            let count = content.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            missing = missing
                .checked_sub(count as u64)
                .ok_or_else(changed_while_read)?;
            hasher.update(&buffer[..count]);
        }
        if missing != 0 {
            return Err(changed_while_read());
        }
        match hasher.try_finalize() {
            Ok(id) => Ok(id_of(&id)),
            Err(error) => Err(std::io::Error::other(error.to_string())),
        }
    }
}

impl fmt::Display for ObjectFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns room for a whole content, and for one byte that should not be there.
fn buffer_size(content: u64) -> usize {
    match usize::try_from(content) {
        Ok(size) => size.saturating_add(1).min(BUFFER_SIZE),
        Err(_) => BUFFER_SIZE,
    }
}

fn changed_while_read() -> std::io::Error {
    std::io::Error::other("it changed while it was read")
}

/// Turns an id of `gix` into ours.
pub(super) fn id_of(id: &gix::hash::oid) -> ObjectId {
    ObjectId::from_bytes(id.as_bytes()).expect("because gix knows no other ids than these two")
}

/// Turns our id into that of `gix`.
pub(super) fn gix_id(id: &ObjectId) -> gix::hash::ObjectId {
    gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes())
}

/// Turns the id of a commit into that of `gix`.
pub(super) fn oid_of(id: &CommitId) -> gix::hash::ObjectId {
    gix::hash::ObjectId::from_hex(id.as_str().as_bytes()).expect("because it is 40 or 64 digits")
}

/// Turns an id of `gix` into that of a commit.
pub(super) fn commit_id_of(id: &gix::hash::oid) -> CommitId {
    CommitId::parse(&id.to_string()).expect("because gix writes ids as 40 or 64 digits")
}
