//! Reads and writes packed-refs files (gitrepository-layout(5)), and tells which refs in them are of
//! a run, and which it began with.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::refs::{Ref, is_ref_name};
use crate::words::name::CommitId;
use crate::worktree::private_git::{PrivateGit, SNAPSHOT};

impl PrivateGit {
    /// Reads the refs that the run began with.
    pub(super) fn refs_at_begin(&self) -> Result<BTreeSet<Ref>, DiskError> {
        let refs = read_packed(&self.dir.join(SNAPSHOT))?;
        Ok(refs.into_iter().collect())
    }

    /// Reads the packed refs that runs made or moved. (Others stay as files.)
    pub(super) fn packed_refs_of_runs(&self) -> Result<Vec<Ref>, DiskError> {
        let refs_at_begin = self.refs_at_begin()?;
        let mut refs = read_packed(&self.git_dir().join("packed-refs"))?;
        refs.retain(|packed_ref| !refs_at_begin.contains(packed_ref));
        Ok(refs)
    }
}

/// Reads the refs of a file; none where it is not there.
fn read_packed(file: &Utf8Path) -> Result<Vec<Ref>, DiskError> {
    let bytes = files::read(file)?.unwrap_or_default();
    Ok(bytes.lines().filter_map(parse_line).collect())
}

/// Reads a line that names a ref. A name that git calls dangerous is left out: git reads no other
/// ref beside it.
fn parse_line(line: &[u8]) -> Option<Ref> {
    let (digits, name) = line.split_once_str(" ")?;
    let id = CommitId::parse(digits.to_str().ok()?).ok()?;
    is_ref_name(name).then(|| Ref::new(name, id))
}

/// Makes the text of a file; of two refs of one name, the last counts.
pub(super) fn packed<'a>(refs: impl IntoIterator<Item = &'a Ref>) -> Vec<u8> {
    let mut by_name = BTreeMap::new();
    for packed_ref in refs {
        by_name.insert(&packed_ref.name, &packed_ref.id);
    }
    let mut bytes = Vec::new();
    for (name, id) in by_name {
        bytes.extend_from_slice(id.as_str().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(b'\n');
    }
    bytes
}
