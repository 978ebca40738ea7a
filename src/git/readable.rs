//! Reads all objects of a history, to find out whether git can: [`Objects::read_history`].

use std::collections::HashSet;
use std::io::ErrorKind;

use gix::ObjectId as GixId;
use gix::objs::{CommitRefIter, Exists as _, Find as _, Kind, TagRefIter, TreeRefIter};
use gix::odb::Header as _;

use crate::git::object_format::oid_of;
use crate::git::objects::Objects;
use crate::words::name::CommitId;

/// The content of a larger blob is not read: it would have to be in memory.
const LARGEST: u64 = 256 << 20;

/// Says whether all objects of a history can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryState {
    /// Each is there, and has the content that its id says.
    Readable,
    /// One is damaged.
    Damaged,
    /// One is missing.
    Missing,
    /// The system did not let one be read.
    Refused,
}

impl Objects {
    /// Reads all that can be reached from a commit or tag, without what `others` have.
    pub fn read_history(&self, tip: &CommitId, others: &Self) -> HistoryState {
        let mut seen: HashSet<GixId> = HashSet::new();
        let mut pending = vec![oid_of(tip)];
        let mut buffer = Vec::new();
        while let Some(id) = pending.pop() {
            if others.store.exists(&id) || !seen.insert(id) {
                continue;
            }
            match self.read_object(&id, &mut buffer) {
                Ok(named) => pending.extend(named),
                Err(state) => return state,
            }
        }
        HistoryState::Readable
    }

    /// Reads one object, and returns the objects that it names; or why it cannot be read.
    fn read_object(&self, id: &GixId, buffer: &mut Vec<u8>) -> Result<Vec<GixId>, HistoryState> {
        // git knows it without an object of it
        if id.is_empty_tree() {
            return Ok(Vec::new());
        }
        let header = self
            .store
            .try_header(id)
            .map_err(|error| state_after(&error))?
            .ok_or(HistoryState::Missing)?;
        if header.kind() == Kind::Blob && header.size() > LARGEST {
            return Ok(Vec::new());
        }
        let data = self
            .store
            .try_find(id, buffer)
            .map_err(|error| state_after(&error))?
            .ok_or(HistoryState::Missing)?;
        if data.verify_checksum(id).is_err() {
            return Err(HistoryState::Damaged);
        }
        named_objects(data.kind, data.data, self.format.0).ok_or(HistoryState::Damaged)
    }
}

/// Returns the objects that an object names, without the commits of submodules; none if it
/// cannot be parsed.
fn named_objects(kind: Kind, data: &[u8], hash: gix::hash::Kind) -> Option<Vec<GixId>> {
    let mut named = Vec::new();
    match kind {
        Kind::Blob => {}
        Kind::Commit => {
            named.push(CommitRefIter::from_bytes(data, hash).tree_id().ok()?);
            named.extend(CommitRefIter::from_bytes(data, hash).parent_ids());
        }
        Kind::Tag => named.push(TagRefIter::from_bytes(data, hash).target_id().ok()?),
        Kind::Tree => {
            for entry in TreeRefIter::from_bytes(data, hash) {
                let entry = entry.ok()?;
                if !entry.mode.is_commit() {
                    named.push(entry.oid.to_owned());
                }
            }
        }
    }
    Some(named)
}

/// Says what an error of reading means: what the system refused is no damage.
fn state_after(error: &(dyn std::error::Error + 'static)) -> HistoryState {
    let mut cause = Some(error);
    while let Some(one) = cause {
        if let Some(refused) = one.downcast_ref::<std::io::Error>()
            && refused.raw_os_error().is_some()
        {
            return match refused.kind() {
                ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
                    HistoryState::Damaged
                }
                _of_the_system => HistoryState::Refused,
            };
        }
        cause = one.source();
    }
    HistoryState::Damaged
}
