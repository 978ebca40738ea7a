//! Collects new objects in a directory of their own, and moves them into the repository all
//! together, as git's `tmp-objdir.c` does for a push: [`ScratchObjects`].
//!
//! The directory is `objects/tmp_objdir-agentwt-<name>`. Its owner holds the lock of the name, so
//! the next owner removes what a killed one left; `git gc` removes any `tmp_*` there after two
//! weeks (git-prune(1)).
#![expect(
    clippy::disallowed_methods,
    reason = "the directory of temporary objects is made and removed here"
)]

use std::fs;
use std::io::{self, ErrorKind};

use bstr::{BStr, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};
use gix::objs::tree::{Editor, EntryKind};
use gix::objs::{FindExt, Tree, Write};

use super::error::{GitError, unreadable};
use super::objects::{ObjectFormat, Objects, id_of, unwritable};
use crate::entry::{Entry, Mode, ObjectId};

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
        create().map_err(|error| unwritable(directory.as_str(), &error))?;
        let objects = Objects::open(&directory, format)?;
        Ok(Self {
            directory,
            target,
            objects,
        })
    }

    /// Reads the objects of the repository and these, and writes here.
    #[must_use]
    pub const fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The file of a temporary index.
    #[must_use]
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

impl Objects {
    /// Writes the tree that another one becomes by these changes, as the same changes to an index
    /// would: an entry replaces a directory of its name, and none removes only itself.
    ///
    /// # Errors
    /// Fails when a tree cannot be read or written.
    pub fn write_tree(
        &self,
        from: Option<&ObjectId>,
        changes: &[(&[u8], Option<Entry>)],
    ) -> Result<ObjectId, GitError> {
        let what = "a tree";
        let root = match from {
            None => Tree::default(),
            Some(id) => {
                let id = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
                let mut buffer = Vec::new();
                let tree = self.store.find_tree(&id, &mut buffer);
                tree.map_err(|error| unreadable(&what, &error))?.into()
            }
        };
        let mut editor = Editor::new(root, &self.store, self.format.kind());
        let in_git = |entry: Option<Entry>| Some((kind_of(entry?.mode)?, entry?.id));
        for (path, _) in changes.iter().filter(|(_, entry)| in_git(*entry).is_none()) {
            let edited = editor.remove_if_leaf(names(path));
            edited.map_err(|error| unreadable(&what, &error))?;
        }
        for (path, entry) in changes {
            if let Some((kind, id)) = in_git(*entry) {
                let id = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
                let edited = editor.upsert(names(path), kind, id);
                edited.map_err(|error| unreadable(&what, &error))?;
            }
        }
        let written = editor.write(|tree| self.store.write(tree));
        written
            .map(|id| id_of(&id))
            .map_err(|error| unwritable(what, &error))
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &BStr> {
    path.split_str("/").map(ByteSlice::as_bstr)
}

const fn kind_of(mode: Mode) -> Option<EntryKind> {
    match mode {
        Mode::File => Some(EntryKind::Blob),
        Mode::Executable => Some(EntryKind::BlobExecutable),
        Mode::Link => Some(EntryKind::Link),
        Mode::Gitlink => Some(EntryKind::Commit),
        Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => None,
    }
}
