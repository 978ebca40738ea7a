//! Looks at what the repository stands on.

use super::Here;
use crate::disk::file_system::{free_space, kind, try_out};
use crate::disk::files;
use crate::facts::WorktreeError;
use crate::plan::doctor::file_system::{Clones, FileSystem, Kept, Kind, Place};
use crate::process;

/// Those whose files are elsewhere.
const SERVED: [&str; 9] = [
    "nfs", "cifs", "smb2", "smb", "9p", "fuse", "ceph", "vboxsf", "afs",
];

/// Those that are known to clone nothing (`FICLONE`, `ioctl_ficlone(2)`).
const NEVER: [&str; 8] = [
    "ext4", "tmpfs", "ramfs", "f2fs", "vfat", "exfat", "ntfs", "ntfs3",
];

/// Looks at it. What is tried leaves nothing behind.
pub fn look(here: &Here<'_>, is_root: bool) -> Result<FileSystem, WorktreeError> {
    let repository = here.repository;
    let kept = |holds: bool| if holds { Kept::Yes } else { Kept::No };
    let (locks, write_bits) = match try_out(&repository.common_dir) {
        Ok(tried) => (kept(tried.locks), kept(tried.write_bits)),
        Err(error) => (Kept::Unknown(error.to_string()), Kept::Yes),
    };
    let sizes = |index: &Vec<(_, u32)>| index.iter().map(|(_, size)| u64::from(*size)).sum();
    Ok(FileSystem {
        kind: kind(&repository.root).map(|name| Kind {
            name,
            place: if SERVED.contains(&name) {
                Place::Served
            } else {
                Place::Local
            },
            clones: if NEVER.contains(&name) {
                Clones::Never
            } else {
                Clones::Maybe
            },
        }),
        locks,
        write_bits,
        ignores_case: here.is_on("core.ignorecase") == Some(true),
        ignores_executable: here.is_on("core.filemode") == Some(false),
        placed: placed(here),
        free: free_space(&repository.root)?,
        checkout: here.index.as_ref().map(sizes),
        processes: kept(sees_processes()),
        is_root,
    })
}

/// Bytes of placed files in the worktree that has most of them.
fn placed(here: &Here<'_>) -> u64 {
    let of = |known: &crate::facts::Worktree| {
        let placed = known.placed().unwrap_or_default();
        placed.files().iter().map(|file| file.stat.size).sum()
    };
    here.known().map(of).max().unwrap_or(0)
}

fn sees_processes() -> bool {
    cfg!(not(target_os = "linux"))
        || files::exists("/proc/self/stat".into()) && process::started(std::process::id()).is_some()
}
