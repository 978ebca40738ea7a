//! Finds a split index that names no base (gitformat-index(5), "Split index").
//!
//! The base is named by its checksum. With `index.skipHash` that is zeros, and git takes an index
//! with such a name for a whole one, whatever file has that name: entries that were left to the
//! base are then without a path. `gix` would read that file.
#![expect(clippy::disallowed_methods, reason = "git's own file is read past git")]

use bstr::ByteSlice;
use camino::Utf8Path;
use gix::index::decode::Options;
use gix::index::{File, State};

use super::super::objects::ObjectFormat;
use super::kind_of;
use super::raw::is_whole;

/// The extension, and the length that stands after its name.
const LINK: &[u8] = b"link";
const LENGTH: usize = 4;

/// The index as git reads it, if it is a split one without a base; none where it is any other.
///
/// # Errors
/// Says what is wrong when it is such a one, and damaged.
pub(super) fn without_base(file: &Utf8Path, format: ObjectFormat) -> Result<Option<File>, String> {
    // what cannot be read is said by who reads it next
    let Ok(bytes) = std::fs::read(file) else {
        return Ok(None);
    };
    let is_likely = |at: usize| {
        let from = at + LINK.len() + LENGTH;
        let id = bytes.get(from..from + format.length());
        id.is_some_and(|id| id.iter().all(|byte| *byte == 0))
    };
    if !bytes.find_iter(LINK).any(is_likely) {
        return Ok(None);
    }
    let epoch = std::time::UNIX_EPOCH.into();
    let state = State::from_bytes(&bytes, epoch, kind_of(format), Options::default());
    let (state, _) = state.map_err(|error| error.to_string())?;
    let link = state.link();
    if !link.is_some_and(|link| link.shared_index_checksum.is_null()) {
        return Ok(None);
    }
    if !is_whole(&bytes, format) {
        return Err("its checksum is not that of its bytes".to_owned());
    }
    Ok(Some(File::from_state(state, file.as_std_path())))
}
