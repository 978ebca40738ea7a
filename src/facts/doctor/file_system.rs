//! Looks at what the repository stands on.

use super::Here;
use crate::disk::file_system::{free_space, kind, try_out};
use crate::facts::WorktreeError;
use crate::plan::doctor::file_system::FileSystem;

/// Those whose files are elsewhere.
const SERVED: [&str; 9] = [
    "nfs", "cifs", "smb2", "smb", "9p", "fuse", "ceph", "vboxsf", "afs",
];

/// Looks at it. What is tried leaves nothing behind.
pub fn look(here: &Here<'_>, is_root: bool) -> Result<FileSystem, WorktreeError> {
    let repository = here.repository;
    let sizes = |index: &Vec<(_, u32)>| index.iter().map(|(_, size)| u64::from(*size)).sum();
    let kind = kind(&repository.root);
    Ok(FileSystem {
        kind,
        is_served: kind.is_some_and(|name| SERVED.contains(&name)),
        tried: try_out(&repository.common_dir).map_err(|error| error.to_string()),
        free: free_space(&repository.root)?,
        checkout: here.index.as_ref().map(sizes),
        is_root,
    })
}
