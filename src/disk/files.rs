//! Reads and writes files of our own: whole, by rename, never half.
#![expect(clippy::disallowed_methods, reason = "reads and writes our files")]

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::OFlags;
use tempfile::TempDir;

use crate::disk::error::{Attempt as _, DiskError, is_missing};
use crate::disk::stat::{is_same_file, stat_of};
use crate::disk::writable::make_directories_writable;
use crate::inventory::manifest::Stat;

/// How the names of the files begin that [`write()`] renames when they are whole.
pub const TEMPORARY: &str = ".agentwt-";
/// So often a directory may vanish under one who writes into it.
const MOST_REMOVALS: u32 = 1_000;
/// The permissions of a file that is new.
const USUAL_MODE: u32 = 0o644;

/// Reads a file; none when it is not there. A pipe or a device is refused: it
/// may have no end.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn read(file: &Utf8Path) -> Result<Option<Vec<u8>>, DiskError> {
    unless_missing(read_to_end(file)).attempting("read", file)
}

/// Reads a file whole, without waiting for the other end of a pipe.
fn read_to_end(file: &Utf8Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut open = File::options().read(true).custom_flags(flags).open(file)?;
    let metadata = open.metadata()?;
    if has_no_end(&metadata) {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    // a file can say that it has more than there is
    let _ = bytes.try_reserve_exact(usize::try_from(metadata.len()).unwrap_or(0));
    open.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`read`], also from a pipe, until its end.
///
/// # Errors
/// As [`read`].
pub fn read_stream(file: &Utf8Path) -> Result<Option<Vec<u8>>, DiskError> {
    unless_missing(fs::read(file)).attempting("read", file)
}

fn unless_missing<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if is_missing(&error) => Ok(None),
        read => read.map(Some),
    }
}

/// True if a pipe or a device stands at a path, through links: it may have no end.
pub fn is_endless(path: &Utf8Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| has_no_end(&metadata))
}

fn has_no_end(metadata: &Metadata) -> bool {
    let kind = metadata.file_type();
    kind.is_fifo() || (kind.is_char_device() && !is_null_device(metadata))
}

fn is_null_device(metadata: &Metadata) -> bool {
    fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev())
}

/// What a file that is replaced has to outlast.
#[derive(Clone, Copy)]
enum Durability {
    /// A loss of power.
    PowerLoss,
    /// Nothing: it can be found out again.
    None,
}

/// Replaces a file with these bytes: a reader sees the old ones or the new ones, also after a
/// crash. Makes its directory, and keeps its mode.
///
/// # Errors
/// Fails when the disk refuses; the old file is then as it was.
pub fn write(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    let old = fs::metadata(file);
    let mode = old.map_or(USUAL_MODE, |metadata| metadata.mode() & 0o777);
    let written = inside(directory_of(file), || {
        replace(file, mode, Durability::PowerLoss, |new| {
            new.write_all(bytes)
        })
    });
    written.attempting("write", file)
}

/// As [`write()`], readable by this user only. The directory, if it is created here, is private
/// too.
///
/// # Errors
/// As [`write()`].
pub fn write_private(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    create_private_directory(directory_of(file))?;
    let written = replace(file, 0o600, Durability::PowerLoss, |new| {
        new.write_all(bytes)
    });
    written.attempting("write", file)
}

/// Creates a directory that only this user can enter, and those above it, unless they exist.
///
/// # Errors
/// Fails when the disk refuses.
pub fn create_private_directory(directory: &Utf8Path) -> Result<(), DiskError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .attempting("make the directory", directory)
}

/// As [`write()`], of what can be found out again: it may be gone or cut after a loss of power.
/// Another process may take the directory away at any moment: then nothing is to be written.
///
/// # Errors
/// As [`write()`].
pub fn write_beside(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    match replace(file, USUAL_MODE, Durability::None, |new| {
        new.write_all(bytes)
    }) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        written => written.attempting("write", file),
    }
}

/// Keeps what a file has under another name, also when another file takes its place: as a second
/// name of the file, or as a copy. Does nothing where the file is not there.
///
/// # Errors
/// As [`copy_beside()`].
pub fn link_or_copy(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    remove_file(to)?;
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(_other_file_system) => copy_beside(from, to),
    }
}

/// Gives a file the modification time of another: git reads files again that changed when its
/// index did (`racy-git` in git's technical documentation).
///
/// # Errors
/// Fails when the disk refuses.
pub fn copy_time(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    let copied = fs::metadata(from)
        .and_then(|metadata| metadata.modified())
        .and_then(|time| File::options().write(true).open(to)?.set_modified(time));
    copied.attempting("set the time of", to)
}

/// As [`write_beside()`], what another file has; nothing where that is not there.
///
/// # Errors
/// As [`write()`], and when the other file cannot be read.
pub fn copy_beside(from: &Utf8Path, file: &Utf8Path) -> Result<(), DiskError> {
    let copied = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(mut old) => replace(file, USUAL_MODE, Durability::None, |new| {
            io::copy(&mut old, new).map(drop)
        }),
    };
    copied.attempting("copy", format_args!("{from} to {file}"))
}

/// Writes a temporary file beside the file, and renames it when it is whole.
fn replace(
    file: &Utf8Path,
    mode: u32,
    durability: Durability,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    // the holder of the lock under which this file is written knows the file of a dead process by
    // its name
    let prefix = format!("{TEMPORARY}{}-", file.file_name().unwrap_or_default());
    let mut temporary = tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory_of(file))?;
    write(temporary.as_file_mut())?;
    match durability {
        Durability::PowerLoss => temporary.as_file().sync_all()?,
        Durability::None => {}
    }
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

fn directory_of(file: &Utf8Path) -> &Utf8Path {
    file.parent().unwrap_or(Utf8Path::new("."))
}

/// Adds these bytes at the end of a file, which is made where there is none.
///
/// # Errors
/// Fails when the disk refuses.
pub fn append(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    let opened = File::options().append(true).create(true).open(file);
    opened
        .and_then(|mut open| open.write_all(bytes))
        .attempting("write", file)
}

/// Creates a directory where nothing stands.
///
/// # Errors
/// Fails when something stands there, or the disk refuses.
pub fn create_new_directory(directory: &Utf8Path) -> Result<(), DiskError> {
    fs::create_dir(directory).attempting("make the directory", directory)
}

/// Makes a directory and those above it, unless they are there.
///
/// # Errors
/// Fails when the disk refuses.
pub fn create_directories(directory: &Utf8Path) -> Result<(), DiskError> {
    inside(directory, || Ok(())).attempting("make the directory", directory)
}

/// Makes a directory and those above it, unless they are there, and does something in it. A process
/// that removes a last file may take its directory away at any moment ([`remove_if_empty`]); then
/// it is made again, and the thing done again.
///
/// # Errors
/// Fails as what is done does, or when the directory cannot be made.
pub(super) fn inside<T>(
    directory: &Utf8Path,
    mut work: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..MOST_REMOVALS {
        match fs::create_dir_all(directory) {
            Ok(()) => {}
            Err(error) if was_taken_away(&error, directory) => continue,
            Err(error) => return Err(error),
        }
        match work() {
            Err(error) if error.kind() == ErrorKind::NotFound && !directory.is_dir() => {}
            done => return done,
        }
    }
    Err(ErrorKind::NotFound.into())
}

/// True if a directory could not be made because another process removed it, or one above it.
fn was_taken_away(error: &io::Error, directory: &Utf8Path) -> bool {
    match error.kind() {
        // one above it was taken away between two steps
        ErrorKind::NotFound => true,
        // std says so too of one that was there, and was gone when it looked what it is
        ErrorKind::AlreadyExists => !is_not_a_directory(directory),
        _ => false,
    }
}

/// True if something that is not a directory has this name.
fn is_not_a_directory(path: &Utf8Path) -> bool {
    let is_other = fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
    is_other || is_link(path)
}

/// True if a symbolic link stands at a path.
pub fn is_link(path: &Utf8Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// True if a link stands at a path, or in the place of the directory that it is in.
pub fn is_behind_link(path: &Utf8Path) -> bool {
    is_link(path) || path.parent().is_some_and(is_link)
}

/// Removes a file; one that is not there is fine.
///
/// # Errors
/// Fails when it is there and cannot be removed.
pub fn remove_file(file: &Utf8Path) -> Result<(), DiskError> {
    removed(file, fs::remove_file(file))
}

fn removed(path: &Utf8Path, result: io::Result<()>) -> Result<(), DiskError> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.attempting("remove", path),
    }
}

/// Removes a directory and all below it without following a link; none there is fine. What is
/// not writable is made so first.
///
/// # Errors
/// Fails when something cannot be removed.
pub fn remove_directory(directory: &Utf8Path) -> Result<(), DiskError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_directories_writable(directory)?;
            removed(directory, fs::remove_dir_all(directory))
        }
        result => removed(directory, result),
    }
}

/// Renames a file or a directory.
///
/// # Errors
/// Fails when the disk refuses.
pub fn rename(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    fs::rename(from, to).attempting("rename", format_args!("{from} to {to}"))
}

/// Removes a directory and all below it, these files of it last and in this order, so that
/// a later command can tell what the remains are.
///
/// # Errors
/// Fails when something cannot be removed.
pub fn remove_directory_in_order(directory: &Utf8Path, last: &[&str]) -> Result<(), DiskError> {
    for name in names(directory)? {
        if last.contains(&name.as_str()) {
            continue;
        }
        let path = directory.join(&name);
        match stat(&path) {
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
    let _ = fs::remove_dir(directory);
}

/// True if a path is a directory with nothing in it, whatever names are.
pub fn is_empty(directory: &Utf8Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Lists the names in a directory that are UTF-8, sorted; none there is an empty list.
///
/// # Errors
/// Fails when it cannot be read.
pub fn names(directory: &Utf8Path) -> Result<Vec<String>, DiskError> {
    let names =
        unless_missing(read_names(directory)).attempting("read the directory", directory)?;
    Ok(names.unwrap_or_default())
}

fn read_names(directory: &Utf8Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Lists the entries of a directory, whatever their names are, with whether each is a directory; a
/// link is none.
///
/// # Errors
/// Fails when the directory cannot be read.
pub fn entries(directory: &Path) -> Result<Vec<(OsString, bool)>, DiskError> {
    read_entries(directory).attempting("read the directory", directory.display())
}

fn read_entries(directory: &Path) -> io::Result<Vec<(OsString, bool)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        entries.push((entry.file_name(), entry.file_type()?.is_dir()));
    }
    Ok(entries)
}

/// True if a directory stands at a path, through links.
pub fn is_directory(path: &Utf8Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// True if two paths lead to the same directory: by links, or by another mount.
pub fn is_same_directory(first: &Utf8Path, second: &Utf8Path) -> bool {
    if first == second {
        return true;
    }
    match (fs::metadata(first), fs::metadata(second)) {
        (Ok(first), Ok(second)) => is_same_file(&first, &second),
        _ => false,
    }
}

/// Returns a path without links, `.` and `..`.
///
/// # Errors
/// Fails when it does not exist or is not UTF-8.
pub fn canonical(path: &Utf8Path) -> Result<Utf8PathBuf, DiskError> {
    path.canonicalize_utf8().attempting("find", path)
}

/// Writes a new file of a temporary directory; its path need not be UTF-8. Its directory is made.
///
/// # Errors
/// Fails when the disk refuses.
pub fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(file, bytes)
}

/// A directory in the system's place for such, which is removed with it.
#[derive(Debug)]
pub struct Temporary {
    _directory: TempDir,
    path: Utf8PathBuf,
}

impl Temporary {
    /// Makes an empty one, for this user only.
    ///
    /// # Errors
    /// Fails when the disk refuses, or its path is not UTF-8.
    pub fn new() -> Result<Self, DiskError> {
        Self::create().attempting("make", "a temporary directory")
    }

    fn create() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("agentwt-").tempdir()?;
        let path = Utf8PathBuf::try_from(directory.path().to_owned());
        Ok(Self {
            path: path.map_err(camino::FromPathBufError::into_io_error)?,
            _directory: directory,
        })
    }

    /// Returns its path.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }
}

/// True if two directories are on one file system, as far as their device numbers tell.
pub fn on_one_file_system(first: &Utf8Path, second: &Utf8Path) -> bool {
    match (fs::metadata(first), fs::metadata(second)) {
        (Ok(first), Ok(second)) => first.dev() == second.dev(),
        _ => false,
    }
}

/// Returns the time that the file system gives to a change made now, nanoseconds since the
/// epoch, once it is later than `after`; or, when its clock is so coarse that this takes more
/// than a few hundredths of a second, the time reached until then.
///
/// # Errors
/// Fails when a file cannot be made in the directory.
pub fn settled_time(directory: &Utf8Path, after: i64) -> Result<i64, DiskError> {
    let mut now = i64::MIN;
    for _ in 0..40 {
        now = time_of_new_file(directory).attempting("write in", directory)?;
        if now > after {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(now)
}

fn time_of_new_file(directory: &Utf8Path) -> io::Result<i64> {
    let file = tempfile::tempfile_in(directory)?;
    Ok(stat_of(&file.metadata()?).ctime)
}

/// Writes a symbolic link, in the place of one that leads elsewhere.
///
/// # Errors
/// Fails when the disk refuses.
pub fn write_link(link: &Utf8Path, target: &Utf8Path) -> Result<(), DiskError> {
    if fs::read_link(link).is_ok_and(|text| text == target.as_std_path()) {
        return Ok(());
    }
    remove_file(link)?;
    std::os::unix::fs::symlink(target, link).attempting("write", link)
}

/// True if something stands at a path, also a link to nothing.
pub fn exists(path: &(impl AsRef<Path> + ?Sized)) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Returns the stat data of what stands at a path, none when nothing is there; a link is not
/// followed.
pub fn stat(path: &(impl AsRef<Path> + ?Sized)) -> Option<Stat> {
    Some(stat_of(&fs::symlink_metadata(path).ok()?))
}

/// Returns when what stands at a path came to be; none if the file system does not tell.
pub fn created(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.created().ok()
}

/// Returns when what stands at a path was last written, in seconds since the epoch; none when
/// nothing is there.
pub fn modified(path: &Utf8Path) -> Option<i64> {
    Some(stat(path)?.mtime.div_euclid(1_000_000_000))
}

/// Describes what stands at a path without reading it, by its kind, size and time; empty when
/// nothing is there.
pub fn stamp(path: &Path) -> String {
    match stat(path) {
        Some(stat) => format!("{:o} {} {}", stat.mode, stat.size, stat.mtime),
        None => String::new(),
    }
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
