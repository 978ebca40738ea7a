//! Reads and writes files of our own: whole, by rename, never half.
#![expect(clippy::disallowed_methods, reason = "reads and writes our files")]

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::SystemTime;

use camino::Utf8Path;

use crate::disk::DiskError;
use crate::disk::stat::stat_of;
use crate::inventory::manifest::Stat;

/// How the names of the files begin that [`write()`] renames when they are whole.
pub const TEMPORARY: &str = ".agentwt-";
/// So often a directory may vanish under one who writes into it.
const MOST_REMOVALS: u32 = 1_000;

/// Reads a file; none when it is not there. A pipe or a device is refused: it
/// may have no end.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn read(file: &Utf8Path) -> Result<Option<Vec<u8>>, DiskError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let read = || {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut open = File::options().read(true).custom_flags(flags).open(file)?;
        let metadata = open.metadata()?;
        if has_no_end(&metadata) {
            return Err(std::io::Error::other("it is not a file"));
        }
        let mut bytes = Vec::new();
        // a file can say that it has more than there is
        let _ = bytes.try_reserve_exact(usize::try_from(metadata.len()).unwrap_or(0));
        open.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    unless_missing(file, read())
}

/// As [`read`], also from a pipe, until its end.
///
/// # Errors
/// As [`read`].
pub fn read_stream(file: &Utf8Path) -> Result<Option<Vec<u8>>, DiskError> {
    unless_missing(file, std::fs::read(file))
}

fn unless_missing(
    file: &Utf8Path,
    read: std::io::Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>, DiskError> {
    match read {
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(DiskError::new(format!("read {file}"), error)),
        Ok(bytes) => Ok(Some(bytes)),
    }
}

/// Whether nothing was there, or not even the directory.
pub(super) fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether a pipe or a device stands at a path, through links: it may have no end.
pub fn is_endless(path: &Utf8Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| has_no_end(&metadata))
}

fn has_no_end(metadata: &Metadata) -> bool {
    let kind = metadata.file_type();
    let is_null = |null: Metadata| null.rdev() == metadata.rdev();
    kind.is_fifo() || kind.is_char_device() && !std::fs::metadata("/dev/null").is_ok_and(is_null)
}

/// Replaces a file with these bytes: a reader sees the old ones or the new ones, also after a
/// crash. Makes its directory, and keeps its mode.
///
/// # Errors
/// Fails when the disk refuses; the old file is then as it was.
pub fn write(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    let failed = |error: std::io::Error| DiskError::new(format!("write {file}"), error);
    let directory = file.parent().unwrap_or(Utf8Path::new("."));
    let mode = std::fs::metadata(file).map_or(0o644, |there| there.mode() & 0o777);
    inside(directory, || {
        persist(file, true, mode, |new| new.write_all(bytes))
    })
    .map_err(failed)
}

/// As [`write()`], readable by this user only. The directory, if it is created here, is private too.
///
/// # Errors
/// As [`write()`].
pub fn write_private(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    let failed = |error: std::io::Error| DiskError::new(format!("write {file}"), error);
    create_private_directory(file.parent().unwrap_or(Utf8Path::new(".")))?;
    persist(file, true, 0o600, |new| new.write_all(bytes)).map_err(failed)
}

/// Creates a directory that only this user can enter, and those above it, unless they exist.
///
/// # Errors
/// Fails when the disk refuses.
pub fn create_private_directory(directory: &Utf8Path) -> Result<(), DiskError> {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(builder.recursive(true), 0o700);
    let created = builder.create(directory);
    created.map_err(|error| DiskError::new(format!("make the directory {directory}"), error))
}

/// As [`write()`], of what can be found out again: it may be gone or cut after a loss of power. Another
/// process may take the directory away at any moment: then there is nothing to be written.
///
/// # Errors
/// As [`write()`].
pub fn write_beside(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    match persist(file, false, 0o644, |new| new.write_all(bytes)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| DiskError::new(format!("write {file}"), error)),
    }
}

/// Keeps what a file has under another name, also when another file takes its place: as a second name of the
/// file, or as a copy. Nothing where it is not there.
///
/// # Errors
/// As [`copy_beside()`].
pub fn link_or_copy(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    remove_file(to)?;
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(_other_file_system) => copy_beside(from, to),
    }
}

/// Gives a file the modification time of another: git reads files again that changed when its index did
/// (`racy-git` in git's technical documentation).
///
/// # Errors
/// Fails when the disk refuses.
pub fn copy_time(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    let time = std::fs::metadata(from).and_then(|from| from.modified());
    let open = || std::fs::File::options().write(true).open(to);
    let set = time.and_then(|time| open()?.set_modified(time));
    set.map_err(|error| DiskError::new(format!("set the time of {to}"), error))
}

/// As [`write_beside()`], what another file has; nothing where that is not there.
///
/// # Errors
/// As [`write()`], and when the other file cannot be read.
pub fn copy_beside(from: &Utf8Path, file: &Utf8Path) -> Result<(), DiskError> {
    let copied = match std::fs::File::open(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.and_then(|mut old| {
            persist(file, false, 0o644, |new| {
                std::io::copy(&mut old, new).map(drop)
            })
        }),
    };
    copied.map_err(|error| DiskError::new(format!("copy {from} to {file}"), error))
}

fn persist(
    file: &Utf8Path,
    is_durable: bool,
    mode: u32,
    write: impl FnOnce(&mut std::fs::File) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(Utf8Path::new("."));
    // the holder of the lock under which this file is written knows the file of a dead process by its name
    let prefix = format!("{TEMPORARY}{}-", file.file_name().unwrap_or_default());
    let mut temporary = tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
        .tempfile_in(directory)?;
    write(temporary.as_file_mut())?;
    if is_durable {
        temporary.as_file().sync_all()?;
    }
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Adds these bytes at the end of a file, which is made where there is none.
///
/// # Errors
/// Fails when the disk refuses.
pub fn append(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    let opened = File::options().append(true).create(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| DiskError::new(format!("write {file}"), error))
}

/// Makes a directory and those above it, unless they are there.
///
/// # Errors
/// Fails when the disk refuses.
pub fn create_directories(directory: &Utf8Path) -> Result<(), DiskError> {
    inside(directory, || Ok(()))
        .map_err(|error| DiskError::new(format!("make the directory {directory}"), error))
}

/// Makes a directory and those above it, unless they are there, and does something in it. A process
/// that removes a last file may take its directory away at any moment ([`remove_if_empty`]); then it is
/// made again, and the thing done again.
///
/// # Errors
/// Fails as what is done does, or when the directory cannot be made.
pub(super) fn inside<T>(
    directory: &Utf8Path,
    mut work: impl FnMut() -> std::io::Result<T>,
) -> std::io::Result<T> {
    let is_gone = |kind| kind == ErrorKind::AlreadyExists && !is_no_directory(directory);
    for _ in 0..MOST_REMOVALS {
        match std::fs::create_dir_all(directory) {
            // one above it was taken away between two steps
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            // std says so too of one that was there, and was gone when it looked what it is
            Err(error) if is_gone(error.kind()) => continue,
            other => other?,
        }
        match work() {
            Err(error) if error.kind() == ErrorKind::NotFound && !directory.is_dir() => {}
            other => return other,
        }
    }
    Err(ErrorKind::NotFound.into())
}

/// Whether something that is no directory has this name.
fn is_no_directory(path: &Utf8Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_dir()) || is_link(path)
}

/// Whether a symbolic link stands at a path.
pub fn is_link(path: &Utf8Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink())
}

/// Whether a link stands at a path, or in the place of the directory that it is in.
pub fn is_behind_link(path: &Utf8Path) -> bool {
    is_link(path) || path.parent().is_some_and(is_link)
}

/// Removes a file; one that is not there is fine.
///
/// # Errors
/// Fails when it is there and cannot be removed.
pub fn remove_file(file: &Utf8Path) -> Result<(), DiskError> {
    removed(file, std::fs::remove_file(file))
}

fn removed(path: &Utf8Path, removed: std::io::Result<()>) -> Result<(), DiskError> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| DiskError::new(format!("remove {path}"), error)),
    }
}

/// Removes a directory and all below it without following a link; none there is fine. What is
/// not writable is made so first.
///
/// # Errors
/// Fails when something cannot be removed.
pub fn remove_directory(directory: &Utf8Path) -> Result<(), DiskError> {
    let result = match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            super::mode::make_directories_writable(directory)?;
            std::fs::remove_dir_all(directory)
        }
        other => other,
    };
    removed(directory, result)
}

/// Renames a file or a directory.
///
/// # Errors
/// Fails when the disk refuses.
pub fn rename(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    std::fs::rename(from, to)
        .map_err(|error| DiskError::new(format!("rename {from} to {to}"), error))
}

/// Removes a directory and all below it, these files of it last and in this order, so that
/// a later command can tell what the remains are.
///
/// # Errors
/// Fails when something cannot be removed.
pub fn remove_directory_in_order(directory: &Utf8Path, last: &[&str]) -> Result<(), DiskError> {
    for name in names(directory)? {
        let path = directory.join(&name);
        match stat(&path) {
            _ if last.contains(&name.as_str()) => {}
            Some(stat) if !stat.is_directory() => remove_file(&path)?,
            _ => remove_directory(&path)?,
        }
    }
    for name in last {
        remove_file(&directory.join(name))?;
    }
    remove_directory(directory)
}

/// Removes a directory if it is empty; says nothing if it is not, or not there.
pub fn remove_if_empty(directory: &Utf8Path) {
    let _ = std::fs::remove_dir(directory);
}

/// Whether a path is a directory with nothing in it, whatever names are.
pub fn is_empty(directory: &Utf8Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Lists the names in a directory that are UTF-8, sorted; none there is an empty list.
///
/// # Errors
/// Fails when it cannot be read.
pub fn names(directory: &Utf8Path) -> Result<Vec<String>, DiskError> {
    let failed = |error| DiskError::new(format!("read the directory {directory}"), error);
    let entries = match std::fs::read_dir(directory) {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Lists the entries of a directory, whatever their names are; a link is not a directory.
///
/// # Errors
/// Fails when the directory cannot be read.
pub fn entries(directory: &Path) -> Result<Vec<(std::ffi::OsString, bool)>, DiskError> {
    let read = || -> std::io::Result<Vec<_>> {
        let entry = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry?;
            Ok((entry.file_name(), entry.file_type()?.is_dir()))
        };
        std::fs::read_dir(directory)?.map(entry).collect()
    };
    let path = directory.display();
    read().map_err(|error| DiskError::new(format!("read the directory {path}"), error))
}

/// Whether a directory stands at a path, through links.
pub fn is_directory(path: &Utf8Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Whether two paths lead to the same directory: by links, or by another mount.
pub fn is_same_directory(one: &Utf8Path, other: &Utf8Path) -> bool {
    let id = |path| {
        let metadata = std::fs::metadata::<&Utf8Path>(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    one == other || id(one).is_some_and(|found| Some(found) == id(other))
}

/// Returns a path without links, `.` and `..`.
///
/// # Errors
/// Fails when it does not exist or is not UTF-8.
pub fn canonical(path: &Utf8Path) -> Result<camino::Utf8PathBuf, DiskError> {
    path.canonicalize_utf8()
        .map_err(|error| DiskError::new(format!("find {path}"), error))
}

/// Writes a new file of a temporary directory; its path need not be UTF-8. Its directory is made.
///
/// # Errors
/// Fails when the disk refuses.
pub fn put(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(file, bytes)
}

/// Represents a directory in the system's place for such, which is removed with it.
#[derive(Debug)]
pub struct Temporary {
    _held: tempfile::TempDir,
    path: camino::Utf8PathBuf,
}

impl Temporary {
    /// Makes an empty one, for this user only.
    ///
    /// # Errors
    /// Fails when the disk refuses, or its path is not UTF-8.
    pub fn new() -> Result<Self, DiskError> {
        let failed = |error| DiskError::new("make a temporary directory", error);
        let held = tempfile::Builder::new().prefix("agentwt-").tempdir();
        let held = held.map_err(failed)?;
        let path = camino::Utf8PathBuf::try_from(held.path().to_owned());
        let path = path.map_err(|error| failed(error.into_io_error()))?;
        Ok(Self { _held: held, path })
    }

    /// Its path.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }
}

/// Whether two directories are on one file system, as far as their device numbers tell.
pub fn on_one_file_system(one: &Utf8Path, other: &Utf8Path) -> bool {
    let device = |path: &Utf8Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    device(one).is_some_and(|one| device(other) == Some(one))
}

/// Returns the time that the file system gives to a change made now, nanoseconds since the
/// epoch, once it is later than `after`; or, when its clock is so coarse that this takes more
/// than a few hundredths of a second, the time reached until then.
///
/// # Errors
/// Fails when a file cannot be made in the directory.
pub fn settled_time(directory: &Utf8Path, after: i64) -> Result<i64, DiskError> {
    let failed = |error| DiskError::new(format!("write in {directory}"), error);
    let mut reached = i64::MIN;
    for _ in 0..40 {
        let probe = tempfile::tempfile_in(directory).map_err(failed)?;
        let metadata = probe.metadata().map_err(failed)?;
        reached = stat_of(&metadata).ctime;
        if reached > after {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    Ok(reached)
}

/// Holds what stands at a path, opened for reading.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File {
        /// Its size in bytes.
        size: u64,
        /// Whether its owner may execute it.
        executable: bool,
        /// Its content.
        content: File,
    },
    /// A symbolic link, with its text.
    Link(bstr::BString),
    /// Nothing, a directory, or what has no content.
    Other,
}

/// Writes a symbolic link, in the place of one that leads elsewhere.
///
/// # Errors
/// Fails when the disk refuses.
pub fn write_link(link: &Utf8Path, target: &Utf8Path) -> Result<(), DiskError> {
    if std::fs::read_link(link).is_ok_and(|there| there == target.as_std_path()) {
        return Ok(());
    }
    remove_file(link)?;
    let linked = std::os::unix::fs::symlink(target, link);
    linked.map_err(|error| DiskError::new(format!("write {link}"), error))
}

/// Whether something stands at a path, also a link to nothing.
pub fn exists(path: &(impl AsRef<Path> + ?Sized)) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// The stat data of what stands at a path, none when nothing is there; a link is not followed.
pub fn stat(path: &(impl AsRef<Path> + ?Sized)) -> Option<Stat> {
    Some(stat_of(&std::fs::symlink_metadata(path).ok()?))
}

/// When what stands at a path came to be; none where the file system does not tell.
pub fn created(path: &Path) -> Option<SystemTime> {
    std::fs::symlink_metadata(path).ok()?.created().ok()
}

/// When what stands at a path was last written, in seconds since the epoch; none when nothing is
/// there.
pub fn modified(path: &Utf8Path) -> Option<i64> {
    Some(stat(path)?.mtime.div_euclid(1_000_000_000))
}

/// Says how what stands at a path is, without reading it: its kind, size and time; empty when
/// nothing is there.
pub fn stamp(path: &Path) -> String {
    let shown = |stat: Stat| format!("{:o} {} {}", stat.mode, stat.size, stat.mtime);
    stat(path).map_or_else(String::new, shown)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_directory_that_is_taken_away_again_and_again_is_made_again() {
        let place = tempfile::tempdir().expect("a directory");
        let place = Utf8Path::from_path(place.path()).expect("it is UTF-8");
        let (above, file) = (place.join("a"), place.join("a/b/file"));
        let directory = above.join("b");
        let is_over = AtomicBool::new(false);
        let results: Vec<_> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    remove_if_empty(&directory);
                    remove_if_empty(&above);
                    std::thread::sleep(std::time::Duration::from_micros(10));
                }
            });
            let made = || inside(&directory, || File::create(&file));
            let made = (0..2_000).map(|_| made().and_then(|_| std::fs::remove_file(&file)));
            let results = made.collect();
            is_over.store(true, Ordering::Relaxed);
            results
        });
        let failed: Vec<_> = results
            .iter()
            .filter_map(|made| made.as_ref().err())
            .collect();
        assert!(failed.is_empty(), "{failed:?}");
    }

    #[test]
    fn a_file_where_a_directory_should_be_is_refused_at_once() {
        let place = tempfile::tempdir().expect("a directory");
        let place = Utf8Path::from_path(place.path()).expect("it is UTF-8");
        let file = place.join("a");
        std::fs::write(&file, "").expect("a file");
        for (directory, expected) in [
            (file.clone(), ErrorKind::AlreadyExists),
            (file.join("b"), ErrorKind::NotADirectory),
        ] {
            let refused = inside(&directory, || Ok(())).map_err(|error| error.kind());
            assert_eq!(refused, Err(expected), "{directory}");
        }
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let directory = tempfile::tempdir().expect("there is room");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("it starts").success());
        let pipe = Utf8Path::from_path(&pipe).expect("it is UTF-8");
        assert!(read(pipe).is_err());
    }
}
