//! Says what a directory stands on: the kind of the file system and what it keeps, what is
//! mounted below, and how much of the disk a directory takes.
#![expect(clippy::disallowed_methods, reason = "tests the disk, and reads /proc")]

use std::collections::HashSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use bstr::ByteSlice as _;
use camino::Utf8Path;
use ignore::WalkBuilder;

use crate::disk::DiskError;
use crate::disk::pool::map_parallel;

/// Holds what a file system was seen to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Whether a second lock on a locked file is refused (flock(2)).
    pub locks: bool,
    /// Whether a file that is made read-only is.
    pub write_bits: bool,
}

/// Returns how many bytes can be written in a directory; none where the file system does not tell.
pub fn room(directory: &Utf8Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory.as_std_path()).ok()?;
    let is_told = found.f_blocks > 0;
    is_told.then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Returns the name of the file system of a directory, as mount(8) has it; none when it is of a
/// kind that is not listed here.
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
    let found = rustix::fs::statfs(directory.as_std_path()).ok()?;
    // the numbers have 32 bits, whatever the type has on this machine
    let found = KINDS
        .iter()
        .find(|(magic, _)| i128::from(*magic) == i128::from(found.f_type) & 0xffff_ffff);
    found.map(|(_, name)| *name)
}

/// Returns nothing: kinds are only told apart on Linux.
#[cfg(not(target_os = "linux"))]
pub fn kind(_directory: &Utf8Path) -> Option<&'static str> {
    None
}

/// Whether a file there can be written to and keep its times: through a map (mmap(2)) of which the
/// page was read before. A file system with a disk below it takes such a page for clean and notes
/// the first write to it; one in memory need not.
pub fn leaves_no_trace(directory: &Utf8Path) -> bool {
    matches!(kind(directory), Some("tmpfs" | "ramfs"))
}

/// Whether whatever is made, removed or renamed in a directory there changes its change time, as far
/// as we know: of others, what is in a directory is read each time.
pub fn notes_names(directory: &Utf8Path) -> bool {
    let kind = kind(directory);
    matches!(
        kind,
        Some("ext4" | "btrfs" | "xfs" | "zfs" | "f2fs" | "bcachefs")
    )
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

/// Names what is mounted below a directory, relative to it and sorted, also from the same file
/// system.
///
/// # Errors
/// Fails when the system does not tell (`proc_pid_mountinfo(5)`).
pub fn mounted_below(directory: &Utf8Path) -> Result<Vec<String>, DiskError> {
    let file = "/proc/self/mountinfo";
    let bytes = match std::fs::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| DiskError::new(format!("read {file}"), error))?,
    };
    let mut found: Vec<String> = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .filter_map(|point| relative(&unescaped(point), directory))
        .collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Names what is mounted below a directory; nothing where the system does not tell.
///
/// # Errors
/// Never.
fn relative(point: &[u8], directory: &Utf8Path) -> Option<String> {
    let rest = point.strip_prefix(directory.as_str().as_bytes())?;
    let rest = rest.strip_prefix(b"/")?;
    Some(crate::words::path::escape_for_terminal(rest))
}

/// A path there has blanks, newlines and backslashes as `\` and three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let replace = |text: Vec<u8>, (escape, plain): &(&str, &str)| text.replace(escape, plain);
    escapes.iter().fold(text.to_owned(), replace)
}

/// The unit of `st_blocks` (stat(3type)), whatever the block size of the file system.
const BLOCK: u64 = 512;

/// Returns the bytes that each of these directories takes with everything below, in blocks of the
/// disk, as du(1) counts. A file with several names in a directory counts once there; no link is
/// followed. None where something cannot be read.
pub fn usage(directories: &[&Utf8Path]) -> Vec<Option<u64>> {
    let start = || Ok::<_, std::convert::Infallible>(());
    let measured = map_parallel(directories, start, |(), one| Ok(measure(one).ok()));
    measured.unwrap_or_default()
}

fn measure(directory: &Utf8Path) -> Result<u64, ignore::Error> {
    let mut blocks = 0;
    let mut seen = HashSet::new();
    for entry in WalkBuilder::new(directory).standard_filters(false).build() {
        let metadata = entry?.metadata()?;
        let is_known = !metadata.is_dir()
            && metadata.nlink() > 1
            && !seen.insert((metadata.dev(), metadata.ino()));
        if !is_known {
            blocks += metadata.blocks();
        }
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
        let both = Tried {
            locks: true,
            write_bits: true,
        };
        assert_eq!(tried, both);
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
        let named = |point: &[u8]| relative(&unescaped(point), Utf8Path::new("/w t"));
        assert_eq!(named(br"/w\040t/a\011b").as_deref(), Some(r"a\011b"));
        assert_eq!(named(br"/w\040t"), None);
        assert_eq!(named(br"/w\040tx/a"), None);
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
