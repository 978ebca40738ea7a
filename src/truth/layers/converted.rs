//! Tells whose a file on disk is where git converts what it writes: by filters, line endings or
//! an encoding.
//!
//! Such a file differs from the blob that git stores. One that is what a checkout of a reference
//! would write is that reference's. One that was converted at `add` and now has the very bytes
//! that git stores (a pointer in place of what it points to) is nobody's, unless a checkout
//! writes just these now, because attributes changed upstream.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::disk::error::Attempt as _;
use crate::disk::files;
use crate::disk::files::Temporary;
use crate::git::lfs::is_named_by;
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::judge::change::{Cause, Kind, Place, SharedChange};
use crate::judge::compare::{Delta, entry_in};
use crate::judge::finding::Reason;
use crate::record::accepted::Acceptances;
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::content::{files_of_tree, read_content};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;

/// Says whether filters may be started to tell what a checkout would write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filters {
    /// They may.
    Allowed,
    /// They may not: a converted file counts by its raw bytes.
    Refused,
}

impl Filters {
    /// Refuses filters where a setting that runs a program or says how files are converted was
    /// changed since `add`, or the repository's attributes, and nobody accepted that.
    pub fn of(worktree: &Worktree, shared: &[SharedChange]) -> Self {
        let exclude_file = Place::Git("info/exclude".into());
        let accepted = Acceptances::new(&worktree.record.decisions);
        for change in shared {
            let is_dangerous = match change.cause {
                Cause::RunsCode => true,
                Cause::Hides => change.change.place != exclude_file,
                Cause::MadeHere | Cause::Loosens | Cause::Unknown => false,
            };
            if change.change.kind == Kind::Config
                && is_dangerous
                && !accepted.cover(&change.change, Reason::Shared)
            {
                return Self::Refused;
            }
        }
        Self::Allowed
    }
}

/// Holds what files are held against.
pub struct Converted<'a> {
    pub inputs: &'a SurveyInputs<'a>,
    /// The trees that may have been taken over.
    pub references: &'a [Delta],
    /// The tree of HEAD.
    pub head: &'a Delta,
    /// Whether filters may be started.
    pub filters: Filters,
    /// The files: each gets the id of the blob that it was written from.
    pub delta: &'a mut Delta,
    /// Those that were converted at `add`, and have other bytes now.
    pub converted_and_changed: BTreeSet<RepoPath>,
    /// Those that were not read, with their sizes.
    pub unread: BTreeMap<RepoPath, u64>,
    /// Those of which the blob is known.
    pub settled: BTreeSet<RepoPath>,
}

impl Converted<'_> {
    /// Gives every file the id of the blob that it was written from. If git fails, the files for
    /// which git is not needed are settled all the same.
    ///
    /// # Errors
    /// Fails when git, an object or the disk does.
    pub fn settle(mut self) -> Result<(), Error> {
        let mut trees = self.references.iter().chain([self.head]);
        if !self.inputs.worktree.record.conversions && !trees.any(changes_attributes) {
            return Ok(());
        }
        let untouched = self.add_untouched();
        let answered = match self.filters {
            Filters::Allowed => self.ask_all(),
            Filters::Refused => Ok(()),
        };
        self.disown_stored();
        self.remove_untouched(&untouched);
        answered
    }

    /// Makes each file a change that was converted at `add`, and now has the bytes that git stores
    /// though no checkout writes them: they would pass for the file of a reference.
    fn disown_stored(&mut self) {
        for path in self.converted_and_changed.difference(&self.settled) {
            let Some(Some(entry)) = self.delta.get(path).copied() else {
                continue;
            };
            if self.is_stored(path, entry) {
                let id = ObjectId::none();
                self.delta.insert(path.clone(), Some(Entry { id, ..entry }));
            }
        }
    }

    /// Takes out the files of [`Self::add_untouched`] that turned out to be as at `add` alone.
    fn remove_untouched(&mut self, untouched: &BTreeSet<RepoPath>) {
        for path in untouched.difference(&self.settled) {
            let entry = self.delta.get(path).copied().flatten();
            if !entry.is_some_and(|entry| self.is_stored(path, entry)) {
                self.delta.remove(path);
            }
        }
    }

    /// True if a reference has just these bytes at a path, as git stores them.
    fn is_stored(&self, path: &RepoPath, entry: Entry) -> bool {
        let manifest = &self.inputs.manifest;
        self.references.iter().any(|tree| {
            let stored = entry_in(manifest, tree, path);
            stored.is_some_and(|stored| stored.mode.is_regular() && stored.id == entry.id)
        })
    }

    /// Adds the files that are as they were at `add` while every reference has another blob there,
    /// and returns their paths: upstream may have changed the blob and its conversion so that the
    /// same bytes come of it. [`Self::remove_untouched`] takes out those of which that is not so.
    fn add_untouched(&mut self) -> BTreeSet<RepoPath> {
        let mut untouched = BTreeSet::new();
        let manifest = &self.inputs.manifest;
        for path in self.references.iter().flat_map(Delta::keys) {
            let Some(item) = manifest.get(path) else {
                continue;
            };
            let Some(base) = item.base else {
                continue;
            };
            let Some(disk) = item.disk else {
                continue;
            };
            let is_regular = base.mode.is_regular() && disk.entry.mode.is_regular();
            if !is_regular || self.delta.contains_key(path) {
                continue;
            }
            let has_base = |tree| entry_in(manifest, tree, path) == Some(base);
            if !self.references.iter().any(has_base) {
                let id = disk.entry.id;
                self.delta.insert(path.clone(), Some(Entry { id, ..base }));
                untouched.insert(path.clone());
            }
        }
        untouched
    }

    /// Asks git by the attributes of the main worktree, and by those that upstream has changed, which
    /// may not have come there yet. Never by those of the worktree itself: filters are programs, and
    /// what its configuration and attributes name could have been planted there.
    fn ask_all(&mut self) -> Result<(), Error> {
        self.ask(&self.inputs.repository.git)?;
        for reference in self.references {
            if !changes_attributes(reference) {
                continue;
            }
            if self.wanted().is_empty() {
                break;
            }
            let dir = Temporary::new()?;
            self.write_attributes(reference, &dir)?;
            let common_dir = &self.inputs.repository.common_dir;
            self.ask(&self.inputs.repository.git.on(common_dir, Some(dir.path())))?;
        }
        Ok(())
    }

    /// Writes the attributes of a tree, as a checkout has them.
    fn write_attributes(&self, reference: &Delta, dir: &Temporary) -> Result<(), Error> {
        let files = files_of_tree(&self.inputs.manifest, reference, is_attributes);
        for (path, entry) in files {
            put_aside(&self.inputs.objects, path, &entry.id, dir)?;
        }
        Ok(())
    }

    /// Lists the blobs of references that files may have been written from whose blob is not known.
    fn wanted(&self) -> BTreeSet<Blob> {
        let mut wanted = BTreeSet::new();
        for (path, entry) in &*self.delta {
            let Some(entry) = entry.filter(|entry| entry.mode.is_regular()) else {
                continue;
            };
            if self.settled.contains(path) {
                continue;
            }
            for tree in self.references.iter().chain([self.head]) {
                if let Some(stored) = entry_in(&self.inputs.manifest, tree, path)
                    && stored.mode.is_regular()
                    && (stored.id != entry.id || self.converted_and_changed.contains(path))
                {
                    wanted.insert(Blob {
                        path: path.clone(),
                        id: stored.id,
                        mode: entry.mode,
                    });
                }
            }
        }
        wanted
    }

    /// Lets git write everything in doubt as a checkout does.
    fn ask(&mut self, git: &Git) -> Result<(), Error> {
        let settled = undo_checkout(
            git,
            self.inputs.repository.format,
            self.wanted(),
            self.delta,
            &UnreadFiles {
                root: &self.inputs.worktree.record.path,
                sizes: &self.unread,
            },
            &|path, id, content| is_genuine(self.inputs, self.references, path, id, content),
        )?;
        self.settled.extend(settled);
        Ok(())
    }
}

/// Writes the blob of a regular file below a directory, at its path.
///
/// # Errors
/// Fails when the object cannot be read, or the disk refuses.
pub fn put_aside(
    objects: &Objects,
    path: &RepoPath,
    blob: &ObjectId,
    dir: &Temporary,
) -> Result<(), Error> {
    write_aside(path, &objects.blob(blob)?, dir)
}

/// Writes a regular file with this content below a directory, at its path.
///
/// # Errors
/// Fails when the disk refuses.
pub fn write_aside(path: &RepoPath, content: &[u8], dir: &Temporary) -> Result<(), Error> {
    let shown = format!("{path} aside");
    let relative = path
        .to_os_path()
        .map_err(std::io::Error::other)
        .attempting("write", &shown)?;
    let file = dir.path().as_std_path().join(relative);
    Ok(files::put(&file, content).attempting("write", &shown)?)
}

/// A blob that a file on disk may have been written from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blob {
    /// The path of the file.
    pub path: RepoPath,
    /// The blob.
    pub id: ObjectId,
    /// The mode of the file.
    pub mode: Mode,
}

/// Holds the large files on disk whose content was not read.
pub struct UnreadFiles<'a> {
    /// The directory that they are below.
    pub root: &'a Utf8Path,
    /// Their sizes in bytes, by path.
    pub sizes: &'a BTreeMap<RepoPath, u64>,
}

/// Finds the files on disk that a checkout of one of these blobs would write, and gives them the
/// blob's id in `delta`. Returns their paths. `is_genuine` has the last word, by the path, the blob
/// and the content that git writes.
///
/// # Errors
/// Fails when git or the disk does.
pub fn undo_checkout(
    git: &Git,
    format: ObjectFormat,
    blobs: BTreeSet<Blob>,
    delta: &mut Delta,
    unread: &UnreadFiles<'_>,
    is_genuine: &dyn Fn(&RepoPath, &ObjectId, &[u8]) -> bool,
) -> Result<Vec<RepoPath>, Error> {
    let mut settled = Vec::new();
    if blobs.is_empty() {
        return Ok(settled);
    }
    let mut ids_and_paths = Vec::new();
    for blob in &blobs {
        ids_and_paths.push((blob.id.to_string(), blob.path.as_bstr().to_vec()));
    }
    let contents = git.cat_file_filters(&ids_and_paths)?;
    for (blob, content) in blobs.into_iter().zip(contents) {
        let Some(content) = content else {
            continue;
        };
        let path = &blob.path;
        let Some(Some(on_disk)) = delta.get(path) else {
            continue;
        };
        // a large file is read only if it has the size of the content
        let mut id_on_disk = on_disk.id;
        if unread.sizes.get(path) == Some(&(content.len() as u64)) {
            id_on_disk = read_content(unread.root, format, path)?;
        }
        let id_of_content = format.blob_id(&content);
        let is_written = id_on_disk == id_of_content && id_of_content != ObjectId::none();
        if is_written && is_genuine(path, &blob.id, &content) {
            let entry = Entry {
                mode: blob.mode,
                id: blob.id,
            };
            delta.insert(path.clone(), Some(entry));
            settled.push(blob.path);
        }
    }
    Ok(settled)
}

/// True if a checkout can have written this content of a blob with nothing forged: a filter can
/// have a store of its own that was edited together with the file. What a checkout wrote at `add`
/// it writes now, and what a pointer of Git LFS leads to has the digest that the pointer names.
fn is_genuine(
    inputs: &SurveyInputs<'_>,
    references: &[Delta],
    path: &RepoPath,
    id: &ObjectId,
    content: &[u8],
) -> bool {
    if let Some(item) = inputs.manifest.get(path)
        && let Some(base) = item.base
        && let Some(at_add) = item.disk
        && base.id == *id
        && at_add.entry.id != *id
        && !references.iter().any(changes_attributes)
        && inputs.repository.format.blob_id(content) != at_add.entry.id
    {
        return false;
    }
    is_what_the_pointer_names(&inputs.objects, id, content)
}

/// True if a content is a blob itself, or has the digest that the blob names as a pointer of Git LFS,
/// or the blob is no such pointer.
pub fn is_what_the_pointer_names(objects: &Objects, id: &ObjectId, content: &[u8]) -> bool {
    let blob = objects.blob(id);
    blob.is_ok_and(|blob| blob == content || is_named_by(&blob, content))
}

/// True if a tree has another `.gitattributes` than the base.
fn changes_attributes(tree: &Delta) -> bool {
    tree.keys().any(is_attributes)
}

/// True if git reads attributes from a file of this path.
pub fn is_attributes(path: &RepoPath) -> bool {
    path.file_name() == ".gitattributes"
}
