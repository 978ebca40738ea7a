//! Says what a directory stands on: the kind of the file system and what it keeps, what is
//! mounted below, and how much of the disk a directory takes.
#![expect(clippy::disallowed_methods, reason = "tests the disk")]

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::{File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use camino::Utf8Path;
use ignore::WalkBuilder;
use rustix::fs::FallocateFlags;

use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::files::TEMPORARY;
use crate::disk::pool::map_parallel;
use crate::system::kernel::{MOUNT_TABLE, mount_points};
use crate::words::path::escape_for_terminal;

/// What a file system was seen to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemAbilities {
    /// True if a second lock on a locked file is refused (flock(2)).
    pub locks: bool,
    /// True if a file that is made read-only is.
    pub write_bits: bool,
}

/// Returns how many bytes can be written in a directory; none if the file system does not tell.
pub fn free_space(directory: &Utf8Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory.as_std_path()).ok()?;
    if stat.f_blocks == 0 {
        return None;
    }
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// True if so many bytes more have no room in a directory, or the user may not have them there (a
/// quota): room for a temporary file of this size is asked for.
pub fn is_full_for(directory: &Utf8Path, bytes: u64) -> bool {
    match reserve(directory, bytes) {
        Ok(()) => false,
        Err(error) if is_disk_full(error.kind()) => true,
        // it cannot be asked, as on some file systems
        Err(_) => free_space(directory).is_some_and(|free| free < bytes),
    }
}

/// True if the system says that a disk is full, or a quota is used up.
pub const fn is_disk_full(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Reserves room in a directory, of which nothing stays (fallocate(2)).
fn reserve(directory: &Utf8Path, bytes: u64) -> io::Result<()> {
    let file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)?;
    let length = bytes.max(1);
    rustix::fs::fallocate(file.as_file(), FallocateFlags::empty(), 0, length)?;
    Ok(())
}

/// Returns the name of the file system of a directory, as mount(8) has it; none when it is of a
/// kind that is not listed here, or the system does not tell.
#[cfg(target_os = "linux")]
pub fn kind(directory: &Utf8Path) -> Option<&'static str> {
    /// statfs(2), and `magic.h` of Linux.
    const KINDS: [(u32, &str); 17] = [
        (0x0000_ef53, "ext4"),
        (0x9123_683e, "btrfs"),
        (0x5846_5342, "xfs"),
        (0x2fc1_2fc1, "zfs"),
        (0xf2f5_2010, "f2fs"),
        (0xca45_1a4e, "bcachefs"),
        (0x0102_1994, "tmpfs"),
        (0x8584_58f6, "ramfs"),
        (0x794c_7630, "overlay"),
        (0x4d44, "vfat"),
        (0x5346_544e, "ntfs"),
        (0x6969, "nfs"),
        (0xff53_4d42, "cifs"),
        (0xfe53_4d42, "smb2"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "fuse"),
        (0x00c3_6400, "ceph"),
    ];
    let stat = rustix::fs::statfs(directory.as_std_path()).ok()?;
    // the numbers have 32 bits, whatever the type has on this machine
    let wanted = i128::from(stat.f_type) & 0xffff_ffff;
    for (magic, name) in KINDS {
        if i128::from(magic) == wanted {
            return Some(name);
        }
    }
    None
}

/// Returns nothing: kinds are only told apart on Linux.
#[cfg(not(target_os = "linux"))]
pub fn kind(_directory: &Utf8Path) -> Option<&'static str> {
    None
}

/// True if a file there can be written to and keep its times: through a map (mmap(2)) of which the
/// page was read before. A file system with a disk below it takes such a page for clean and notes
/// the first write to it; one in memory need not.
pub fn leaves_no_trace(directory: &Utf8Path) -> bool {
    matches!(kind(directory), Some("tmpfs" | "ramfs"))
}

/// True if whatever is made, removed or renamed in a directory there changes its change time, as
/// far as we know: of others, what is in a directory is read each time.
pub fn notes_names(directory: &Utf8Path) -> bool {
    matches!(
        kind(directory),
        Some("ext4" | "btrfs" | "xfs" | "zfs" | "f2fs" | "bcachefs")
    )
}

/// Tries the file system of a directory with a temporary file, of which nothing stays.
///
/// # Errors
/// Fails when no file can be made there.
pub fn try_out(directory: &Utf8Path) -> Result<FileSystemAbilities, DiskError> {
    try_with_file(directory).attempting("write in", directory)
}

/// Tries locks and write bits with a temporary file.
fn try_with_file(directory: &Utf8Path) -> io::Result<FileSystemAbilities> {
    let file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)?;
    let is_locked = file.as_file().lock().is_ok();
    let second = File::open(file.path())?;
    let is_refused = matches!(second.try_lock(), Err(TryLockError::WouldBlock));
    let read_only = Permissions::from_mode(0o444);
    let is_changed = file.as_file().set_permissions(read_only).is_ok();
    let mode = file.as_file().metadata()?.permissions().mode();
    Ok(FileSystemAbilities {
        locks: is_locked && is_refused,
        write_bits: is_changed && mode & 0o222 == 0,
    })
}

/// Returns what is mounted below a directory, relative to it and sorted, also from the same file
/// system.
///
/// # Errors
/// Fails when the system does not tell (`proc_pid_mountinfo(5)`).
pub fn mounted_below(directory: &Utf8Path) -> Result<Vec<String>, DiskError> {
    let mut below = Vec::new();
    for mount_point in mount_points().attempting("read", MOUNT_TABLE)? {
        below.extend(relative(&mount_point, directory));
    }
    below.sort_unstable();
    below.dedup();
    Ok(below)
}

/// Returns the path of a mount point relative to a directory; none if it is not below that.
fn relative(mount_point: &[u8], directory: &Utf8Path) -> Option<String> {
    let below = mount_point.strip_prefix(directory.as_str().as_bytes())?;
    Some(escape_for_terminal(below.strip_prefix(b"/")?))
}

/// The unit of `st_blocks` (stat(3type)), whatever the block size of the file system.
const BLOCK: u64 = 512;

/// Returns the bytes that each of these directories takes with everything below, in blocks of the
/// disk, as du(1) counts. A file with several names in a directory counts once there; no link is
/// followed. None if something cannot be read.
pub fn usage(directories: &[&Utf8Path]) -> Vec<Option<u64>> {
    let sizes = map_parallel(
        directories,
        || Ok::<(), Infallible>(()),
        |(), directory| Ok(measure(directory).ok()),
    );
    sizes.unwrap_or_default()
}

/// The bytes that one directory takes.
fn measure(directory: &Utf8Path) -> Result<u64, ignore::Error> {
    let mut blocks = 0;
    let mut seen = HashSet::new();
    for entry in WalkBuilder::new(directory).standard_filters(false).build() {
        let metadata = entry?.metadata()?;
        let has_other_names = !metadata.is_dir() && metadata.nlink() > 1;
        if has_other_names && !seen.insert((metadata.dev(), metadata.ino())) {
            continue;
        }
        blocks += metadata.blocks();
    }
    Ok(blocks * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_of_the_tests_keeps_what_is_needed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("it is UTF-8");
        let tried = try_out(path).expect("it can be written");
        let both = FileSystemAbilities {
            locks: true,
            write_bits: true,
        };
        assert_eq!(tried, both);
        assert_eq!(std::fs::read_dir(path).expect("it is there").count(), 0);
    }
}

#[cfg(test)]
mod room_tests {
    use super::*;

    #[test]
    fn what_is_larger_than_the_disk_has_no_room_and_nothing_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("it is UTF-8");
        assert!(!is_full_for(path, 0));
        assert!(!is_full_for(path, 4096));
        assert!(is_full_for(path, 1 << 60));
        assert_eq!(std::fs::read_dir(path).expect("it is there").count(), 0);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod mount_tests {
    use super::*;

    #[test]
    fn what_is_mounted_below_is_named_and_the_directory_itself_is_not() {
        let root = mounted_below(Utf8Path::new("")).expect("this system tells");
        assert!(root.iter().any(|point| point == "proc"), "{root:?}");
        assert_eq!(
            mounted_below(Utf8Path::new("/proc/self")).expect("it tells"),
            [""; 0]
        );
        let named = |point: &[u8]| relative(point, Utf8Path::new("/w t"));
        assert_eq!(named(b"/w t/a\tb").as_deref(), Some(r"a\011b"));
        assert_eq!(named(b"/w t"), None);
        assert_eq!(named(b"/w tx/a"), None);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make files")]
mod usage_tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once_and_links_are_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let measure = || match usage(&[path])[..] {
            [Some(bytes)] => bytes,
            ref other => panic!("{other:?}"),
        };
        let empty = measure();
        std::fs::write(path.join("a"), vec![b'x'; 100_000]).expect("written");
        let one = measure();
        assert!((100_000..200_000).contains(&(one - empty)), "{one}");
        std::fs::hard_link(path.join("a"), path.join("b")).expect("linked");
        std::os::unix::fs::symlink("a", path.join("c")).expect("linked");
        assert!(measure() - one < 10_000, "{}", measure());
        std::fs::create_dir(path.join("d")).expect("made");
        std::fs::write(path.join("d/e"), vec![b'x'; 100_000]).expect("written");
        assert!(measure() - one > 100_000);
        assert_eq!(usage(&[&path.join("gone")]), [None]);
    }
}
