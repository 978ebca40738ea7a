//! Says what a directory stands on: the kind of the file system, its free space, and what it keeps.
#![expect(
    clippy::disallowed_methods,
    reason = "it tries the file system with a file that has no name"
)]

use std::os::unix::fs::PermissionsExt as _;

use camino::Utf8Path;

use super::error::DiskError;

/// Holds what a file system was seen to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Whether a second lock on a locked file is refused (flock(2)).
    pub locks: bool,
    /// Whether a file that is made read-only is.
    pub write_bits: bool,
}

/// Returns the name of the file system of a directory, as mount(8) has it; none when it is of a
/// kind that is not listed here.
#[cfg(target_os = "linux")]
#[must_use]
pub fn kind(directory: &Utf8Path) -> Option<&'static str> {
    /// statfs(2), and `magic.h` of Linux.
    const KINDS: [(u32, &str); 24] = [
        (0x0000_ef53, "ext4"),
        (0x9123_683e, "btrfs"),
        (0x5846_5342, "xfs"),
        (0x2fc1_2fc1, "zfs"),
        (0xf2f5_2010, "f2fs"),
        (0xca45_1a4e, "bcachefs"),
        (0x0102_1994, "tmpfs"),
        (0x8584_58f6, "ramfs"),
        (0x794c_7630, "overlay"),
        (0xf15f, "ecryptfs"),
        (0x4d44, "vfat"),
        (0x2011_bab0, "exfat"),
        (0x5346_544e, "ntfs"),
        (0x7366_746e, "ntfs3"),
        (0x482b, "hfsplus"),
        (0x6969, "nfs"),
        (0xff53_4d42, "cifs"),
        (0xfe53_4d42, "smb2"),
        (0x517b, "smb"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "fuse"),
        (0x00c3_6400, "ceph"),
        (0x786f_4256, "vboxsf"),
        (0x5346_414f, "afs"),
    ];
    let found = rustix::fs::statfs(directory.as_std_path()).ok()?;
    let bytes = found.f_type.to_ne_bytes();
    // the numbers have 32 bits, whatever the type has on this machine
    let low = if cfg!(target_endian = "little") {
        &bytes[..4]
    } else {
        &bytes[bytes.len() - 4..]
    };
    let number = u32::from_ne_bytes(low.try_into().ok()?);
    KINDS
        .iter()
        .find_map(|(magic, name)| (*magic == number).then_some(*name))
}

/// Returns nothing: kinds are only told apart on Linux.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn kind(_directory: &Utf8Path) -> Option<&'static str> {
    None
}

/// Whether a file there can be written to and keep its times: through a map (mmap(2)) of which the
/// page was read before. A file system with a disk below it takes such a page for clean and notes
/// the first write to it; one in memory need not.
#[must_use]
pub fn leaves_no_trace(directory: &Utf8Path) -> bool {
    matches!(kind(directory), Some("tmpfs" | "ramfs"))
}

/// Whether whatever is made, removed or renamed in a directory there changes its change time, as far
/// as we know: of others, what is in a directory is read each time.
#[must_use]
pub fn notes_names(directory: &Utf8Path) -> bool {
    let kind = kind(directory);
    matches!(
        kind,
        Some("ext4" | "btrfs" | "xfs" | "zfs" | "f2fs" | "bcachefs")
    )
}

/// Returns how many bytes an ordinary user may still write.
///
/// # Errors
/// Fails when the system does not say.
pub fn free_space(directory: &Utf8Path) -> Result<u64, DiskError> {
    let found = rustix::fs::statvfs(directory.as_std_path());
    let failed = |error| DiskError::new(format!("ask for free space at {directory}"), error);
    let found = found.map_err(|error| failed(std::io::Error::from(error)))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Tries the file system of a directory with a temporary file, of which nothing stays.
///
/// # Errors
/// Fails when no file can be made there.
pub fn try_out(directory: &Utf8Path) -> Result<Tried, DiskError> {
    let failed = |error| DiskError::new(format!("write in {directory}"), error);
    let file = tempfile::Builder::new()
        .prefix(".agentwt-")
        .tempfile_in(directory)
        .map_err(failed)?;
    let first = file.as_file().lock();
    let second = std::fs::File::open(file.path()).map_err(failed)?;
    let refused = matches!(second.try_lock(), Err(std::fs::TryLockError::WouldBlock));
    let permissions = std::fs::Permissions::from_mode(0o444);
    let changed = file.as_file().set_permissions(permissions);
    let now = file.as_file().metadata().map_err(failed)?;
    Ok(Tried {
        locks: first.is_ok() && refused,
        write_bits: changed.is_ok() && now.permissions().mode() & 0o222 == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_of_the_tests_keeps_what_is_needed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("it is UTF-8");
        let tried = try_out(path).expect("it can be written");
        let both = Tried {
            locks: true,
            write_bits: true,
        };
        assert_eq!(tried, both);
        assert!(free_space(path).expect("it is known") > 0);
        assert_eq!(std::fs::read_dir(path).expect("it is there").count(), 0);
    }
}
