//! Removes and writes single entries of a worktree, never through a link.
//!
//! Every directory on the way is opened from the one above it without following links, so that
//! nothing outside of the worktree is ever touched (openat(2), `O_NOFOLLOW`).

use std::io::Write;
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::error::DiskError;
use crate::path::RepoPath;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Holds what is to stand at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file with these bytes.
    File(Vec<u8>),
    /// An executable file with these bytes.
    Executable(Vec<u8>),
    /// A symbolic link with this text.
    Link(Vec<u8>),
    /// An empty directory.
    Directory,
}

/// Says what to do with directories that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

/// Removes what stands at a path, and leaves the directories above. Nothing there, or a link or
/// file on the way, is fine.
///
/// # Errors
/// As [`remove_entry`].
pub fn remove_alone(root: &Utf8Path, path: &RepoPath) -> Result<(), DiskError> {
    match unlink(root, path.as_bstr()) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        Err(error) => Err(DiskError::new(format!("remove {path}"), error)),
    }
}

/// Removes what stands at a path, and the directories above that are empty then. Nothing there,
/// or a link or file on the way, is fine: then nothing of ours is there.
///
/// # Errors
/// Fails when it cannot be removed, also when it is a directory with something in it.
pub fn remove_entry(root: &Utf8Path, path: &RepoPath) -> Result<(), DiskError> {
    let failed = |error: Errno| DiskError::new(format!("remove {path}"), error);
    match unlink(root, path.as_bstr()) {
        Ok(()) => {}
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(error) => return Err(failed(error)),
    }
    for directory in path.parents() {
        if unlink(root, directory).is_err() {
            break;
        }
    }
    Ok(())
}

/// Makes the directories on the way to a path that are there writable for their owner, so that
/// git can write into them.
///
/// # Errors
/// Fails when the root cannot be opened.
pub fn make_way(root: &Utf8Path, path: &RepoPath) -> Result<(), DiskError> {
    match parent_of(root, path.as_bstr(), Missing::Leave) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        Err(error) => Err(DiskError::new(format!("open {root}"), error)),
    }
}

/// The permission bits of the file that stands at a path; none when no file does.
///
/// # Errors
/// Fails when the disk refuses to tell.
pub fn permissions(root: &Utf8Path, path: &RepoPath) -> Result<Option<u32>, DiskError> {
    let look = || -> Result<Option<u32>, Errno> {
        let mut above = openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty())?;
        let mut directories: Vec<&[u8]> = path.as_bstr().split(|byte| *byte == b'/').collect();
        directories.pop();
        for directory in directories {
            above = openat(&above, directory, DIRECTORY, Mode::empty())?;
        }
        let name = path.file_name().as_bytes();
        let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let bits = Mode::from_raw_mode(stat.st_mode).bits() & 0o7777;
        Ok(is_file.then_some(bits as _))
    };
    match look() {
        Ok(bits) => Ok(bits),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(DiskError::new(format!("look at {path}"), error)),
    }
}

/// Puts something where nothing stands; the directories above it are made. A file or directory
/// gets exactly these permission bits, if any are given, and never more: it may be a key.
///
/// # Errors
/// Fails when something stands there or on the way, or the disk refuses.
pub fn put_entry(
    root: &Utf8Path,
    path: &RepoPath,
    content: &Content,
    permissions: Option<u32>,
) -> Result<(), DiskError> {
    let failed = |error: std::io::Error| DiskError::new(format!("write {path}"), error);
    let above = parent_of(root, path.as_bstr(), Missing::Make).map_err(|e| failed(e.into()))?;
    let name = path.file_name().as_bytes();
    let create = |bytes: &[u8], usual: u32| -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode((permissions.unwrap_or(usual) & 0o777) as _);
        let mut file = std::fs::File::from(openat(&above, name, flags, mode)?);
        file.write_all(bytes)?;
        match permissions {
            // what the umask has taken off, and what a write takes off (setuid)
            Some(bits) => Ok(fchmod(&file, Mode::from_raw_mode(bits as _))?),
            None => Ok(()),
        }
    };
    let create_directory = || -> std::io::Result<()> {
        let mode = permissions.map_or(0o777, |bits| bits & 0o777 | 0o700);
        mkdirat(&above, name, Mode::from_raw_mode(mode as _))?;
        match permissions {
            Some(bits) => {
                let directory = openat(&above, name, DIRECTORY, Mode::empty())?;
                Ok(fchmod(directory, Mode::from_raw_mode(bits as _))?)
            }
            None => Ok(()),
        }
    };
    match content {
        Content::File(bytes) => create(bytes, 0o666),
        Content::Executable(bytes) => create(bytes, 0o777),
        Content::Link(text) => symlinkat(text.as_slice(), &above, name).map_err(Into::into),
        Content::Directory => create_directory(),
    }
    .map_err(failed)
}

fn unlink(root: &Utf8Path, path: &[u8]) -> Result<(), Errno> {
    let above = parent_of(root, path, Missing::Leave)?;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    unlinkat(&above, name, flags)
}

/// Opens the directory that a path is in, and makes it writable for its owner.
fn parent_of(root: &Utf8Path, path: &[u8], missing: Missing) -> Result<OwnedFd, Errno> {
    let mut directory = openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty())?;
    let mut components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    components.pop();
    for name in components {
        writable(&directory);
        let open = match openat(&directory, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if missing == Missing::Make => {
                mkdirat(&directory, name, Mode::from_raw_mode(0o777))?;
                openat(&directory, name, DIRECTORY, Mode::empty())
            }
            other => other,
        };
        directory = open?;
    }
    writable(&directory);
    Ok(directory)
}

/// What cannot be made so is told by the step that needs it.
fn writable(directory: &OwnedFd) {
    if let Ok(stat) = fstat(directory) {
        let mode = Mode::from_raw_mode(stat.st_mode);
        if !mode.contains(Mode::WUSR | Mode::XUSR) {
            let _ = fchmod(directory, mode | Mode::RWXU);
        }
    }
}
