//! Names a directory of objects beside those of the repository: what a push brought and the server
//! has not accepted yet, or what we have not accepted yet.
//!
//! While `pre-receive` runs, what was pushed is in a directory of its own below `objects`, and git
//! tells its children by variables where (git-receive-pack(1), "QUARANTINE ENVIRONMENT"). Those
//! variables are never inherited: a program that sets them could show any objects. The directory is
//! taken as a value instead, and only where git makes it.

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::settings_file::quoted;

/// A directory of objects beside those of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    directory: Utf8PathBuf,
    objects: Utf8PathBuf,
    owner: Owner,
}

/// Who made a quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Git, for a push, during which refs must not move.
    Push,
    /// This program. A server on this machine would inherit the ban of moves from one of our own.
    Us,
}

impl Quarantine {
    /// Takes a directory, if it stands directly in these objects (both without links in them).
    pub fn in_objects(objects: &Utf8Path, directory: &Utf8Path) -> Option<Self> {
        if directory.parent() != Some(objects) {
            return None;
        }
        Some(Self {
            directory: directory.to_owned(),
            objects: objects.to_owned(),
            owner: Owner::Push,
        })
    }

    /// Takes a directory of our own beside these objects: what git writes goes there, and nothing
    /// of it stays once the directory is removed.
    pub fn apart(objects: &Utf8Path, directory: &Utf8Path) -> Self {
        Self {
            directory: directory.to_owned(),
            objects: objects.to_owned(),
            owner: Owner::Us,
        }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Utf8Path {
        &self.directory
    }

    /// Returns the variables under which git finds the objects of both, and during a push refuses
    /// to move refs (git(1)).
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let directory = self.directory.to_string();
        let alternates = quoted(self.objects.as_str());
        let mut variables = vec![
            ("GIT_OBJECT_DIRECTORY", directory.clone()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates),
        ];
        if self.owner == Owner::Push {
            variables.push(("GIT_QUARANTINE_PATH", directory));
        }
        variables
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
