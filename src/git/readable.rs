//! Reads all objects of a history, to find out whether git can: [`Objects::read_history`].

use std::collections::HashMap;
use std::io::ErrorKind;

use gix::ObjectId as GixId;
use gix::objs::tree::EntryMode;
use gix::objs::{CommitRefIter, Find as _, Kind, TreeRefIter};
use gix::odb::Header as _;

use crate::git::object_format::oid_of;
use crate::git::objects::Objects;
use crate::words::name::CommitId;

/// The content of a larger blob is not read: it would have to be in memory.
const LARGEST: u64 = 256 << 20;

/// Says whether all objects of a history can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryState {
    /// Each is there, is what the one that names it says, and has the content that its id says.
    Readable,
    /// One is damaged, or is named as what it is not.
    Damaged,
    /// One is missing.
    Missing,
    /// The system did not let one be read.
    Refused,
}

/// An object that another one names.
struct NamedObject {
    id: GixId,
    /// What the other says that it is.
    kind: Kind,
}

impl Objects {
    /// Reads all that can be reached from a commit, without what `others` have.
    pub fn read_history(&self, tip: &CommitId, others: &Self) -> HistoryState {
        let mut seen: HashMap<GixId, Kind> = HashMap::new();
        let mut pending = vec![NamedObject {
            id: oid_of(tip),
            kind: Kind::Commit,
        }];
        let mut buffer = Vec::new();
        while let Some(named) = pending.pop() {
            let known_kind = match others.store.try_header(&named.id) {
                Ok(Some(header)) => Some(header.kind()),
                Ok(None) | Err(_) => seen.insert(named.id, named.kind),
            };
            if let Some(kind) = known_kind {
                if kind != named.kind {
                    return HistoryState::Damaged;
                }
                continue;
            }
            match self.read_object(&named, &mut buffer) {
                Ok(named_by_it) => pending.extend(named_by_it),
                Err(state) => return state,
            }
        }
        HistoryState::Readable
    }

    /// Reads one object, and returns the objects that it names; or why it cannot be read.
    fn read_object(
        &self,
        named: &NamedObject,
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<NamedObject>, HistoryState> {
        let id = &named.id;
        // git knows it without an object of it
        if id.is_empty_tree() && named.kind == Kind::Tree {
            return Ok(Vec::new());
        }
        let header = self
            .store
            .try_header(id)
            .map_err(|error| state_after(&error))?
            .ok_or(HistoryState::Missing)?;
        if header.kind() != named.kind {
            return Err(HistoryState::Damaged);
        }
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
fn named_objects(kind: Kind, data: &[u8], hash: gix::hash::Kind) -> Option<Vec<NamedObject>> {
    let mut named = Vec::new();
    match kind {
        // no commit reaches a tag
        Kind::Blob | Kind::Tag => {}
        Kind::Commit => {
            named.push(NamedObject {
                id: CommitRefIter::from_bytes(data, hash).tree_id().ok()?,
                kind: Kind::Tree,
            });
            for id in CommitRefIter::from_bytes(data, hash).parent_ids() {
                named.push(NamedObject {
                    id,
                    kind: Kind::Commit,
                });
            }
        }
        Kind::Tree => {
            for entry in TreeRefIter::from_bytes(data, hash) {
                let entry = entry.ok()?;
                if let Some(entry_kind) = kind_of_entry(entry.mode) {
                    named.push(NamedObject {
                        id: entry.oid.to_owned(),
                        kind: entry_kind,
                    });
                }
            }
        }
    }
    Some(named)
}

/// Returns which kind of object an entry of a tree names; none for a submodule, whose commit is in
/// another repository.
fn kind_of_entry(mode: EntryMode) -> Option<Kind> {
    if mode.is_commit() {
        None
    } else if mode.is_tree() {
        Some(Kind::Tree)
    } else {
        Some(Kind::Blob)
    }
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
