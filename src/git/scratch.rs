//! Collects new objects in a directory of their own, and moves them into the repository all
//! together, as git's `tmp-objdir.c` does for a push: [`ScratchObjects`]. Names the quarantine of a push:
//! [`Quarantine`].
//!
//! The directory is `objects/tmp_objdir-agentwt-<name>`. Its owner holds the lock of the name, so
//! the next owner removes what a killed one left; `git gc` removes any `tmp_*` there after two
//! weeks (git-prune(1)).
//!
//! While `pre-receive` runs, what was pushed is in a directory of its own below `objects`, and git
//! tells its children by variables where (git-receive-pack(1), "QUARANTINE ENVIRONMENT"). Those
//! variables are never inherited: a program that sets them could show any objects. The directory is taken
//! as a value instead, and only where git makes it.
#![expect(clippy::disallowed_methods, reason = "holds a temporary directory")]

use std::fs;
use std::io::{self, ErrorKind};

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::GitError;
use crate::git::hooks::files::quoted;
use crate::git::objects::{ObjectFormat, Objects, unwritable};

/// Begins the name of such a directory, below `objects`.
pub const SCRATCH: &str = "tmp_objdir-agentwt-";

/// Represents objects that are not in the repository yet, and a place for a temporary index.
pub struct ScratchObjects {
    directory: Utf8PathBuf,
    target: Utf8PathBuf,
    objects: Objects,
}

impl ScratchObjects {
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
        let create = || -> io::Result<()> {
            if let Err(error) = fs::remove_dir_all(&directory)
                && error.kind() != ErrorKind::NotFound
            {
                return Err(error);
            }
            fs::create_dir_all(directory.join("objects/info"))?;
            // relative to the directory of the objects (gitrepository-layout(5))
            fs::write(directory.join("objects/info/alternates"), "../..\n")
        };
        let created = create().map_err(|error| unwritable(directory.as_str(), &error));
        let opened = created.and_then(|()| Objects::open(&directory, format));
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

    /// The same objects for git: what it writes stays here until [`ScratchObjects::migrate`].
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
        let from = self.directory.join("objects");
        let migrate = || -> io::Result<()> {
            for fan in fs::read_dir(&from)? {
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
        };
        migrate().map_err(|error| unwritable("objects into the repository", &error))
    }
}

impl Drop for ScratchObjects {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// `git gc` removes empty directories of objects at any time.
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

/// Represents the directory of objects that a push brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    directory: Utf8PathBuf,
    objects: Utf8PathBuf,
    /// Whether it is that of a push, while which refs must not move. A server on this machine would
    /// inherit that ban from one of our own.
    is_push: bool,
}

impl Quarantine {
    /// Takes a directory, if it stands directly in these objects (both without links in them).
    pub fn in_objects(objects: &Utf8Path, directory: &Utf8Path) -> Option<Self> {
        (directory.parent() == Some(objects)).then(|| Self {
            is_push: true,
            ..Self::apart(objects, directory)
        })
    }

    /// Takes a directory of our own beside these objects: what git writes goes there, and nothing
    /// of it stays once the directory is removed.
    pub fn apart(objects: &Utf8Path, directory: &Utf8Path) -> Self {
        Self {
            directory: directory.to_owned(),
            objects: objects.to_owned(),
            is_push: false,
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Utf8Path {
        &self.directory
    }

    /// The variables under which git finds both, and during a push refuses to move refs (git(1)).
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let objects = quoted(self.objects.as_str());
        let mut all = vec![
            ("GIT_OBJECT_DIRECTORY", self.directory.to_string()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
        ];
        if self.is_push {
            all.push(("GIT_QUARANTINE_PATH", self.directory.to_string()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_the_repositorys_own_objects_is_one() {
        let objects = Utf8Path::new("/r.git/objects");
        let taken = |dir: &str| Quarantine::in_objects(objects, Utf8Path::new(dir)).is_some();
        assert!(taken("/r.git/objects/tmp_objdir-incoming-Xy12"));
        for other in [
            "/elsewhere/objects/tmp_objdir-incoming-Xy12",
            "/r.git/objects",
            "/r.git",
        ] {
            assert!(!taken(other), "{other}");
        }
    }

    #[test]
    fn git_is_told_the_repositorys_objects_as_it_unquotes_them() {
        let objects = Utf8Path::new("/a:b\"c/objects");
        let dir = objects.join("tmp");
        let quarantine = Quarantine::in_objects(objects, &dir).expect("it is below");
        let variables = quarantine.variables();
        assert_eq!(variables[1].1, r#""/a:b\"c/objects""#);
    }
}
