//! Keeps what stands at some paths of a directory while another program replaces it, and puts it back.
//!
//! What is kept gets a second name, so that neither keeping nor putting back needs room; on another
//! file system it is copied.
#![expect(clippy::disallowed_methods, reason = "keeps files and puts them back")]

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::DiskError;

/// Represents the place where things of a directory are kept, each under a number.
#[derive(Clone, Debug)]
pub struct Kept {
    root: Utf8PathBuf,
    place: Utf8PathBuf,
}

/// Says what stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
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

impl Kept {
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
        let Some(there) = self.look(path) else {
            return Ok(());
        };
        if there.is_dir() {
            return Ok(());
        }
        let from = self.root.as_std_path().join(path);
        let to = self.file(number);
        let linked = fs::hard_link(&from, &to);
        let kept = linked.or_else(|_other_file_system| copy(&from, to.as_std_path()));
        kept.map_err(|error| DiskError::new(format!("keep {}", from.display()), error))
    }

    /// Says what stands at a path; what is behind a link does not stand there.
    ///
    /// # Errors
    /// Fails when a link cannot be read.
    pub fn standing(&self, number: usize, path: &Path) -> Result<Standing, DiskError> {
        let Some(there) = self.look(path) else {
            return Ok(Standing::Nothing);
        };
        let kept = fs::symlink_metadata(self.file(number));
        let is_kept = kept.is_ok_and(|kept| is_same(&kept, &there));
        let kind = there.file_type();
        if is_kept {
            Ok(Standing::Kept)
        } else if kind.is_dir() {
            Ok(Standing::Directory)
        } else if kind.is_file() {
            Ok(Standing::File)
        } else if kind.is_symlink() {
            let link = self.root.as_std_path().join(path);
            let text = fs::read_link(&link);
            let text =
                text.map_err(|error| DiskError::new(format!("read {}", link.display()), error));
            Ok(Standing::Link(text?.into_os_string().into_vec()))
        } else {
            Ok(Standing::Other)
        }
    }

    /// Reads the file that stands at a path.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        let file = self.root.as_std_path().join(path);
        fs::read(&file).map_err(|error| DiskError::new(format!("read {}", file.display()), error))
    }

    /// Removes the file or the link that stands at a path, if one does, and the directories above it
    /// that are empty then.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove(&self, path: &Path) -> Result<(), DiskError> {
        if self.is_behind_link(path) {
            return Ok(());
        }
        let root = self.root.as_std_path();
        let file = root.join(path);
        if self.look(path).is_some_and(|there| !there.is_dir()) {
            let removed = fs::remove_file(&file);
            removed.map_err(|error| DiskError::new(format!("remove {}", file.display()), error))?;
        }
        let above = path.ancestors().skip(1);
        for directory in above.filter(|above| !above.as_os_str().is_empty()) {
            let _ = fs::remove_dir(root.join(directory));
        }
        Ok(())
    }

    /// Puts back what is kept under a number, if something is.
    ///
    /// # Errors
    /// Fails when the disk refuses: then it is still kept.
    pub fn put_back(&self, number: usize, path: &Path) -> Result<(), DiskError> {
        let kept = self.file(number);
        if fs::symlink_metadata(&kept).is_err() {
            return Ok(());
        }
        let to = self.root.as_std_path().join(path);
        let put = || -> io::Result<()> {
            if self.is_behind_link(path) {
                return Err(io::Error::other("a link leads elsewhere"));
            }
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            match fs::rename(&kept, &to) {
                Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
                done => return done,
            }
            let removed = fs::remove_file(&to);
            if let Err(error) = removed
                && error.kind() != ErrorKind::NotFound
            {
                return Err(error);
            }
            copy(kept.as_std_path(), &to)
        };
        put().map_err(|error| DiskError::new(format!("put {} back", to.display()), error))
    }

    fn file(&self, number: usize) -> Utf8PathBuf {
        self.place.join(number.to_string())
    }

    fn is_behind_link(&self, path: &Path) -> bool {
        let root = self.root.as_std_path();
        let is_link = |dir: &Path| {
            let there = fs::symlink_metadata(root.join(dir));
            there.is_ok_and(|there| there.is_symlink())
        };
        let mut above = path.ancestors().skip(1);
        above.any(|dir| !dir.as_os_str().is_empty() && is_link(dir))
    }

    /// What stands at a path; none where a directory above it is not there, or is a link.
    fn look(&self, path: &Path) -> Option<Metadata> {
        let root = self.root.as_std_path();
        let mut above = path.ancestors().skip(1);
        let is_directory =
            |dir: &Path| fs::symlink_metadata(root.join(dir)).is_ok_and(|there| there.is_dir());
        let is_reached = above.all(|dir| dir.as_os_str().is_empty() || is_directory(dir));
        let there = is_reached.then(|| fs::symlink_metadata(root.join(path)));
        there?.ok()
    }
}

/// The first that is no directory of the directories above a path, from the top, and the path itself.
pub fn obstacle(root: &Utf8Path, path: &Path) -> Option<PathBuf> {
    let mut down: Vec<&Path> = path.ancestors().collect();
    down.reverse();
    for step in down {
        let there = fs::symlink_metadata(root.as_std_path().join(step)).ok()?;
        if !there.is_dir() {
            return Some(step.to_owned());
        }
    }
    None
}

/// Whether two names of one file differ by case alone, on a disk that takes them as one.
pub fn is_other_case(root: &Utf8Path, one: &str, other: &str) -> bool {
    if one.to_lowercase() != other.to_lowercase() {
        return false;
    }
    let there = |path: &str| fs::symlink_metadata(root.join(path)).ok();
    match (there(one), there(other)) {
        (Some(one), Some(other)) => is_same(&one, &other),
        _ => false,
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.dev() == other.dev() && one.ino() == other.ino()
}

/// Copies a file with its mode, or a link.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _held: tempfile::TempDir,
        root: Utf8PathBuf,
        kept: Kept,
    }

    fn place() -> Place {
        let held = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(held.path().to_owned()).expect("UTF-8");
        let (root, place) = (path.join("root"), path.join("place"));
        fs::create_dir_all(root.join("a")).expect("a directory");
        fs::create_dir(&place).expect("a directory");
        let kept = Kept::new(&root, &place);
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
        assert_eq!(kept.standing(0, path).ok(), Some(Standing::Kept));
        fs::remove_file(root.join("a/file")).expect("removed");
        fs::write(root.join("a/file"), "new").expect("a file");
        assert_eq!(kept.standing(0, path).ok(), Some(Standing::File));
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
        assert_eq!(kept.standing(0, path).ok(), Some(Standing::Nothing));
        kept.remove(path).expect("nothing is removed");
        assert!(root.join("a/file").exists());
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
