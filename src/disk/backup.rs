//! Keeps what stands at some paths of a directory while another program replaces it, and puts it
//! back.
//!
//! What is kept gets a second name, so that neither keeping nor putting back needs room; on another
//! file system it is copied.
#![expect(clippy::disallowed_methods, reason = "keeps files and puts them back")]

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::stat::is_same_file;

/// Represents the place where things of a directory are kept, each under a number.
#[derive(Clone, Debug)]
pub struct Backup {
    root: Utf8PathBuf,
    place: Utf8PathBuf,
}

/// Says what stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// The very file that is kept.
    Kept,
    /// A regular file.
    File,
    /// A symbolic link, with its text.
    Link(Vec<u8>),
    /// What has no content.
    Other,
}

impl Backup {
    /// Keeps things of `root` in the directory `place`, which is there.
    pub fn new(root: &Utf8Path, place: &Utf8Path) -> Self {
        Self {
            root: root.to_owned(),
            place: place.to_owned(),
        }
    }

    /// Keeps the file or the link that stands at a path, if one does.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn keep(&self, number: usize, path: &Path) -> Result<(), DiskError> {
        if !self.has_file(path) {
            return Ok(());
        }
        let from = self.path_of(path);
        let to = self.kept_file(number);
        match fs::hard_link(&from, &to) {
            Ok(()) => Ok(()),
            Err(_other_file_system) => {
                copy(&from, to.as_std_path()).attempting("keep", from.display())
            }
        }
    }

    /// Says what stands at a path; what is behind a link does not stand there.
    ///
    /// # Errors
    /// Fails when a link cannot be read.
    pub fn state(&self, number: usize, path: &Path) -> Result<EntryState, DiskError> {
        let Some(metadata) = self.look_at(path) else {
            return Ok(EntryState::Nothing);
        };
        let kept = fs::symlink_metadata(self.kept_file(number));
        if kept.is_ok_and(|kept| is_same_file(&kept, &metadata)) {
            return Ok(EntryState::Kept);
        }
        if metadata.is_dir() {
            Ok(EntryState::Directory)
        } else if metadata.is_file() {
            Ok(EntryState::File)
        } else if metadata.is_symlink() {
            let link = self.path_of(path);
            let text = fs::read_link(&link).attempting("read", link.display())?;
            Ok(EntryState::Link(text.into_os_string().into_vec()))
        } else {
            Ok(EntryState::Other)
        }
    }

    /// True if a directory is not one above these files, or has more below it than these files and
    /// the directories above them.
    pub fn has_others(&self, directory: &Path, files: &BTreeSet<&Path>) -> bool {
        if !is_above_one(directory, files) {
            return true;
        }
        let Ok(entries) = fs::read_dir(self.path_of(directory)) else {
            return true;
        };
        for entry in entries {
            let Ok(entry) = entry else { return true };
            let path = directory.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_other = if is_directory {
                self.has_others(&path, files)
            } else {
                !files.contains(path.as_path())
            };
            if is_other {
                return true;
            }
        }
        false
    }

    /// Reads the file that stands at a path.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        let file = self.path_of(path);
        fs::read(&file).attempting("read", file.display())
    }

    /// Removes the file or the link that stands at a path, if one does, and the directories above
    /// it that are empty then.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove(&self, path: &Path) -> Result<(), DiskError> {
        if self.is_behind_link(path) {
            return Ok(());
        }
        if self.has_file(path) {
            let file = self.path_of(path);
            fs::remove_file(&file).attempting("remove", file.display())?;
        }
        for directory in directories_above(path) {
            let _ = fs::remove_dir(self.path_of(directory));
        }
        Ok(())
    }

    /// Puts back what is kept under a number, if something is.
    ///
    /// # Errors
    /// Fails when the disk refuses: then it is still kept.
    pub fn put_back(&self, number: usize, path: &Path) -> Result<(), DiskError> {
        let kept = self.kept_file(number);
        if fs::symlink_metadata(&kept).is_err() {
            return Ok(());
        }
        let to = self.path_of(path);
        if self.is_behind_link(path) {
            let why = io::Error::other("a link leads elsewhere");
            return Err(cannot_put_back(&to, why));
        }
        move_or_copy(kept.as_std_path(), &to).map_err(|error| cannot_put_back(&to, error))
    }

    fn path_of(&self, path: &Path) -> PathBuf {
        self.root.as_std_path().join(path)
    }

    fn kept_file(&self, number: usize) -> Utf8PathBuf {
        self.place.join(number.to_string())
    }

    /// True if a directory above a path is a link.
    fn is_behind_link(&self, path: &Path) -> bool {
        directories_above(path).any(|directory| {
            let metadata = fs::symlink_metadata(self.path_of(directory));
            metadata.is_ok_and(|metadata| metadata.is_symlink())
        })
    }

    /// True if something that is not a directory stands at a path.
    fn has_file(&self, path: &Path) -> bool {
        self.look_at(path)
            .is_some_and(|metadata| !metadata.is_dir())
    }

    /// Returns what stands at a path; none if a directory above it is not there, or is a link.
    fn look_at(&self, path: &Path) -> Option<Metadata> {
        for directory in directories_above(path) {
            let metadata = fs::symlink_metadata(self.path_of(directory)).ok()?;
            if !metadata.is_dir() {
                return None;
            }
        }
        fs::symlink_metadata(self.path_of(path)).ok()
    }
}

/// Returns every directory above a path, the nearest first, without the root.
fn directories_above(path: &Path) -> impl Iterator<Item = &Path> {
    let above = path.ancestors().skip(1);
    above.filter(|directory| !directory.as_os_str().is_empty())
}

/// True if one of these files is below a directory.
fn is_above_one(directory: &Path, files: &BTreeSet<&Path>) -> bool {
    let mut from_here = files.range::<Path, _>((Bound::Excluded(directory), Bound::Unbounded));
    from_here
        .next()
        .is_some_and(|file| file.starts_with(directory))
}

fn cannot_put_back(file: &Path, error: io::Error) -> DiskError {
    DiskError::new(format!("put {} back", file.display()), error)
}

/// Moves a kept file to its path, in the place of what stands there.
fn move_or_copy(kept: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    match fs::rename(kept, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
        renamed => return renamed,
    }
    match fs::remove_file(to) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    copy(kept, to)
}

/// Copies a file with its mode, or a link.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to)?;
    Ok(())
}

/// Returns the first that is not a directory of the directories above a path, from the top, and the
/// path itself.
pub fn obstacle(root: &Utf8Path, path: &Path) -> Option<PathBuf> {
    let mut steps: Vec<&Path> = path.ancestors().collect();
    steps.reverse();
    for step in steps {
        let metadata = fs::symlink_metadata(root.as_std_path().join(step)).ok()?;
        if !metadata.is_dir() {
            return Some(step.to_owned());
        }
    }
    None
}

/// True if two names of one file differ by case alone, on a disk that takes them as one.
pub fn is_other_case(root: &Utf8Path, first: &str, second: &str) -> bool {
    if first.to_lowercase() != second.to_lowercase() {
        return false;
    }
    let Ok(first_metadata) = fs::symlink_metadata(root.join(first)) else {
        return false;
    };
    let Ok(second_metadata) = fs::symlink_metadata(root.join(second)) else {
        return false;
    };
    is_same_file(&first_metadata, &second_metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _held: tempfile::TempDir,
        root: Utf8PathBuf,
        kept: Backup,
    }

    fn place() -> Place {
        let held = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(held.path().to_owned()).expect("UTF-8");
        let (root, place) = (path.join("root"), path.join("place"));
        fs::create_dir_all(root.join("a")).expect("a directory");
        fs::create_dir(&place).expect("a directory");
        let kept = Backup::new(&root, &place);
        Place {
            _held: held,
            root,
            kept,
        }
    }

    #[test]
    fn what_was_replaced_is_put_back_and_is_the_same_file() {
        let Place { root, kept, .. } = &place();
        let path = Path::new("a/file");
        fs::write(root.join("a/file"), "old").expect("a file");
        kept.keep(0, path).expect("it is kept");
        assert_eq!(kept.state(0, path).ok(), Some(EntryState::Kept));
        fs::remove_file(root.join("a/file")).expect("removed");
        fs::write(root.join("a/file"), "new").expect("a file");
        assert_eq!(kept.state(0, path).ok(), Some(EntryState::File));
        kept.put_back(0, path).expect("put back");
        assert_eq!(
            fs::read(root.join("a/file")).ok().as_deref(),
            Some(&b"old"[..])
        );
        // once more, as after a kill
        kept.put_back(0, path).expect("nothing is kept any more");
    }

    #[test]
    fn what_is_behind_a_link_is_not_touched() {
        let Place { root, kept, .. } = &place();
        fs::write(root.join("a/file"), "theirs").expect("a file");
        std::os::unix::fs::symlink("a", root.join("b")).expect("a link");
        let path = Path::new("b/file");
        kept.keep(0, path).expect("nothing is kept");
        assert_eq!(kept.state(0, path).ok(), Some(EntryState::Nothing));
        kept.remove(path).expect("nothing is removed");
        assert!(root.join("a/file").exists());
    }

    #[test]
    fn what_is_in_a_directory_beside_the_files_of_git_is_seen() {
        let Place { root, kept, .. } = &place();
        let a = Path::new("a");
        let files = BTreeSet::from([Path::new("a/b/c/file"), Path::new("a/file")]);
        fs::create_dir_all(root.join("a/b/c")).expect("a directory");
        assert!(!kept.has_others(a, &files), "git has written none yet");
        fs::write(root.join("a/b/c/file"), "").expect("a file");
        fs::write(root.join("a/file"), "").expect("a file");
        assert!(!kept.has_others(a, &files));
        for other in ["a/mine", "a/b/c/mine"] {
            fs::write(root.join(other), "").expect("a file");
            assert!(kept.has_others(a, &files), "{other}");
            fs::remove_file(root.join(other)).expect("removed");
        }
        let empty = Path::new("a/empty");
        fs::create_dir(root.join("a/empty")).expect("a directory");
        let is_users = "an empty directory of the user's";
        assert!(kept.has_others(a, &files), "{is_users}");
        assert!(kept.has_others(empty, &files), "{is_users}");
    }

    #[test]
    fn directories_that_are_empty_then_go_with_a_file() {
        let Place { root, kept, .. } = &place();
        fs::create_dir(root.join("a/b")).expect("a directory");
        fs::write(root.join("a/b/file"), "").expect("a file");
        kept.remove(Path::new("a/b/file")).expect("removed");
        assert!(!root.join("a").exists() && root.exists());
    }
}
