//! Names a directory of objects beside those of the repository: what a push brought and the server
//! has not accepted yet, or what we have not accepted yet.
//!
//! While `pre-receive` runs, what was pushed is in a directory of its own below `objects`, and git
//! tells its children by variables where (git-receive-pack(1), "QUARANTINE ENVIRONMENT"). Those
//! variables are never inherited: a program that sets them could show any objects. The directory is taken
//! as a value instead, and only where git makes it.

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::settings_file::quoted;

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
