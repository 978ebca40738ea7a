//! Collects new objects in a directory of their own, and moves them into the repository all
//! together, as git's `tmp-objdir.c` does for a push.
//!
//! The directory is `objects/tmp_objdir-agentwt-<name>`. Its owner holds the lock of the name, so
//! the next owner removes what a killed one left; `git gc` removes any `tmp_*` there after two
//! weeks (git-prune(1)).
#![expect(clippy::disallowed_methods, reason = "holds a temporary directory")]

use std::fs;
use std::io::{self, ErrorKind};

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::{GitError, unwritable};
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::git::quarantine::Quarantine;

/// Begins the name of such a directory, below `objects`.
pub const SCRATCH: &str = "tmp_objdir-agentwt-";

/// Objects that are not in the repository yet, and a place for a temporary index.
pub struct QuarantinedObjects {
    directory: Utf8PathBuf,
    target: Utf8PathBuf,
    objects: Objects,
}

impl QuarantinedObjects {
    /// Creates the directory, in place of one that a killed process left.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn create(
        common_dir: &Utf8Path,
        format: ObjectFormat,
        name: &str,
    ) -> Result<Self, GitError> {
        let target = common_dir.join("objects");
        let directory = target.join(format!("{SCRATCH}{name}"));
        let opened = match create_directory(&directory) {
            Ok(()) => Objects::open(&directory, format),
            Err(error) => Err(unwritable(directory.as_str(), &error)),
        };
        let objects = opened.inspect_err(|_| drop(fs::remove_dir_all(&directory)))?;
        Ok(Self {
            directory,
            target,
            objects,
        })
    }

    /// Reads the objects of the repository and these, and writes here.
    pub const fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The same objects for git: what it writes stays here until [`QuarantinedObjects::migrate`].
    pub fn quarantine(&self) -> Quarantine {
        Quarantine::apart(&self.target, &self.directory.join("objects"))
    }

    /// The directory, for what else is needed.
    pub fn directory(&self) -> &Utf8Path {
        &self.directory
    }

    /// The file of a temporary index.
    pub fn index(&self) -> Utf8PathBuf {
        self.directory.join("index")
    }

    /// Moves what was written into the repository. More can be written afterwards.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn migrate(&self) -> Result<(), GitError> {
        self.rename_objects()
            .map_err(|error| unwritable("objects into the repository", &error))
    }

    /// Renames all objects and packs: `objects/<two digits>/<object>`, `objects/pack/<pack>`.
    fn rename_objects(&self) -> io::Result<()> {
        for fan in fs::read_dir(self.directory.join("objects"))? {
            let fan = fan?;
            if fan.file_name() == "info" || !fan.file_type()?.is_dir() {
                continue;
            }
            let target = self.target.as_std_path().join(fan.file_name());
            for object in fs::read_dir(fan.path())? {
                let object = object?;
                rename_into(&object.path(), &target.join(object.file_name()))?;
            }
        }
        Ok(())
    }
}

/// Creates a directory for objects that has those of the repository as alternates.
fn create_directory(directory: &Utf8Path) -> io::Result<()> {
    if let Err(error) = fs::remove_dir_all(directory)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    fs::create_dir_all(directory.join("objects/info"))?;
    // relative to the directory of the objects (gitrepository-layout(5))
    fs::write(directory.join("objects/info/alternates"), "../..\n")
}

impl Drop for QuarantinedObjects {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Renames a file, and creates the directory of its new place: `git gc` removes empty directories
/// of objects at any time, so that is tried several times.
fn rename_into(from: &std::path::Path, to: &std::path::Path) -> io::Result<()> {
    for _ in 0..5 {
        match fs::rename(from, to) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
        match to.parent().map(fs::create_dir) {
            Some(Err(error)) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    fs::rename(from, to)
}
