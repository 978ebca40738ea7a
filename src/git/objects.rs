//! Reads and writes git's objects through `gix`, opened by explicit directories.
//!
//! No configuration is read, no ref, no replace ref, no graft, no commit graph: an id means the
//! object with that id. The reference storage (files or reftable) does not matter for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;

use bstr::{BString, ByteSlice};
use camino::Utf8Path;
use gix::objs::commit::MessageRef;
use gix::objs::{CommitRefIter, Data, Exists, Find, Kind, Write};
use gix::odb::Header as _;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;

use crate::git::error::{GitError, reading, unreadable, unwritable};
use crate::git::git_dir::read_file;
use crate::git::object_format::{ObjectFormat, commit_id_of, gix_id, id_of, oid_of};
use crate::git::process::Git;
use crate::git::quarantine::Quarantine;
use crate::git::tree_level::TreeLevel;
use crate::words::entry::ObjectId;
use crate::words::name::CommitId;

/// How many bytes of objects are kept, as others are stored as differences from them.
const CACHE_SIZE: usize = 16 * 1024 * 1024;

/// The object database of one repository.
pub struct Objects {
    pub(super) store: gix::odb::Handle,
    quarantine: Option<gix::odb::Handle>,
    pub(super) format: ObjectFormat,
    /// Trees as they were read: those of one commit after another share most.
    pub(super) levels: RefCell<HashMap<ObjectId, Rc<TreeLevel>>>,
}

/// What a commit says that matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents, in order.
    pub parents: Vec<CommitId>,
}

/// How a commit introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headline {
    /// The first paragraph of its message, as one line (`%s`, git-log(1)).
    pub subject: BString,
    /// When its author says to have made it, RFC 3339; none when that cannot be read.
    pub authored: Option<String>,
}

impl Git {
    /// Returns the objects of the repository with this common git directory.
    ///
    /// # Errors
    /// Fails when they cannot be read.
    pub fn objects(
        &self,
        common_dir: &Utf8Path,
        format: ObjectFormat,
    ) -> Result<Objects, GitError> {
        let repo = self.on(common_dir, None).repo()?;
        Ok(Objects::of(repo.objects(), format))
    }
}

impl Objects {
    /// Opens the objects of the repository with this common git directory, alternates included
    /// (gitrepository-layout(5), `objects/info/alternates`).
    ///
    /// # Errors
    /// Fails when the directory cannot be read.
    pub fn open(common_dir: &Utf8Path, format: ObjectFormat) -> Result<Self, GitError> {
        let store = open_store(&common_dir.join("objects"), format)?;
        Ok(Self::of(store, format))
    }

    /// Opens the objects of a git directory with the packs and the alternates that it has now: what
    /// is written into `objects/info/alternates` later is not looked into.
    ///
    /// # Errors
    /// Fails when the directory cannot be read.
    pub fn open_as_now(git_dir: &Utf8Path, format: ObjectFormat) -> Result<Self, GitError> {
        let mut store = open_store(&git_dir.join("objects"), format)?;
        store.refresh_never();
        // the first question reads which packs and which places there are
        store.exists(&gix::hash::ObjectId::null(format.0));
        Ok(Self::of(store, format))
    }

    pub(super) fn of(mut store: gix::odb::Handle, format: ObjectFormat) -> Self {
        // neighbouring trees are stored as differences from the same others
        store.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(CACHE_SIZE)));
        Self {
            store,
            quarantine: None,
            format,
            levels: RefCell::default(),
        }
    }

    /// Also finds what a push has brought and the server has not accepted yet.
    ///
    /// # Errors
    /// Fails when the quarantine cannot be read.
    pub fn with_quarantine(self, quarantine: &Quarantine) -> Result<Self, GitError> {
        let mut store = open_store(quarantine.directory(), self.format)?;
        // a pushed pack does not change, and most objects are in the repository already
        store.refresh_never();
        Ok(Self {
            quarantine: Some(store),
            ..self
        })
    }

    /// Reads the raw bytes of a commit: its headers and its message.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no commit.
    pub fn raw_commit(&self, id: &CommitId) -> Result<Vec<u8>, GitError> {
        let mut buffer = Vec::new();
        let what = format_args!("commit {id}");
        let data = self.find(&what, &oid_of(id), Kind::Commit, &mut buffer)?;
        Ok(data.to_vec())
    }

    /// Reads a commit.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no commit.
    pub fn commit(&self, id: &CommitId) -> Result<Commit, GitError> {
        let raw = self.raw_commit(id)?;
        let mut tokens = CommitRefIter::from_bytes(&raw, self.format.0);
        let tree = tokens
            .tree_id()
            .map_err(reading(format_args!("commit {id}")))?;
        let mut parents = Vec::new();
        for parent in tokens.parent_ids() {
            parents.push(commit_id_of(&parent));
        }
        Ok(Commit {
            tree: id_of(&tree),
            parents,
        })
    }

    /// Reads how a commit introduces itself.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no commit.
    pub fn headline(&self, id: &CommitId) -> Result<Headline, GitError> {
        let raw = self.raw_commit(id)?;
        let message = CommitRefIter::from_bytes(&raw, self.format.0)
            .message()
            .map_err(reading(format_args!("commit {id}")))?
            .trim_start_with(|c| c == '\n');
        Ok(Headline {
            subject: MessageRef::from_bytes(message).summary().into_owned(),
            authored: self.author_time(&raw),
        })
    }

    /// Returns the author's time of a raw commit, RFC 3339; none when it cannot be read.
    fn author_time(&self, raw: &[u8]) -> Option<String> {
        let author = CommitRefIter::from_bytes(raw, self.format.0)
            .author()
            .ok()?;
        let time = author.time().ok()?;
        time.format(gix::date::time::format::ISO8601_STRICT).ok()
    }

    /// Writes a commit of these raw bytes, that no ref names yet.
    ///
    /// # Errors
    /// Fails when writing does.
    pub fn write_commit(&self, raw: &[u8]) -> Result<CommitId, GitError> {
        match self.store.write_buf(Kind::Commit, raw) {
            Ok(id) => Ok(commit_id_of(&id)),
            Err(error) => Err(unwritable("a commit", &error)),
        }
    }

    /// Writes a commit of a tree on top of another commit, that no ref names; in our own name.
    ///
    /// # Errors
    /// Fails when writing does.
    pub fn write_commit_on(
        &self,
        parent: &CommitId,
        tree: &ObjectId,
    ) -> Result<CommitId, GitError> {
        self.write_own_commit(tree, std::slice::from_ref(parent), "kept")
    }

    /// Writes a commit in our own name and without a time, so that the same tree and parents give
    /// the same commit.
    pub(super) fn write_own_commit(
        &self,
        tree: &dyn fmt::Display,
        parents: &[CommitId],
        message: &str,
    ) -> Result<CommitId, GitError> {
        let mut raw = format!("tree {tree}\n");
        for parent in parents {
            raw.push_str(&format!("parent {parent}\n"));
        }
        let who = "git-agentwt <git-agentwt@localhost> 0 +0000";
        raw.push_str(&format!("author {who}\ncommitter {who}\n\n{message}\n"));
        self.write_commit(raw.as_bytes())
    }

    /// Reads how long a blob is.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or not a blob.
    pub fn size(&self, id: &ObjectId) -> Result<u64, GitError> {
        let what = format!("blob {id}");
        let header = self.store.try_header(&gix_id(id)).map_err(reading(&what))?;
        match header {
            Some(header) if header.kind() == Kind::Blob => Ok(header.size()),
            Some(_) | None => Err(unreadable(&what, "it is not a blob of the repository")),
        }
    }

    /// Reads the raw bytes of a blob.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or no blob.
    pub fn blob(&self, id: &ObjectId) -> Result<Vec<u8>, GitError> {
        let mut buffer = Vec::new();
        let what = format_args!("blob {id}");
        let data = self.find(&what, &gix_id(id), Kind::Blob, &mut buffer)?;
        Ok(data.to_vec())
    }

    /// Returns the file of an object that is in the repository: where git writes an object that is
    /// not in a pack (gitrepository-layout(5)), whether the file is there or not; none if there
    /// is no object.
    pub fn find_file(&self, id: &ObjectId) -> Option<PathBuf> {
        if !self.store.exists(&gix_id(id)) {
            return None;
        }
        let name = id.to_string();
        let objects = self.store.store_ref().path();
        Some(objects.join(&name[..2]).join(&name[2..]))
    }

    /// Writes a blob of the raw bytes that `content` gives, `size` of them; no filter runs.
    ///
    /// # Errors
    /// Fails when reading or writing fails.
    pub fn write_blob(&self, size: u64, content: &mut dyn Read) -> Result<ObjectId, GitError> {
        match self.store.write_stream(Kind::Blob, size, content) {
            Ok(id) => Ok(id_of(&id)),
            Err(error) => Err(unwritable("a file into the repository", &error)),
        }
    }

    /// True if an id names a blob that is here.
    pub fn is_blob(&self, id: &ObjectId) -> bool {
        match self.store.try_header(&gix_id(id)) {
            Ok(Some(header)) => header.kind() == Kind::Blob,
            Ok(None) | Err(_) => false,
        }
    }

    /// True if a blob is here with the content that its id says. Git writes none for the empty one
    /// that `git add --intent-to-add` names, and knows it without.
    pub fn holds(&self, id: &ObjectId) -> bool {
        gix_id(id).is_empty_blob() || self.blob(id).is_ok()
    }

    /// True if the commit or tag of an id is here.
    pub fn has(&self, id: &CommitId) -> bool {
        matches!(self.store.try_header(&oid_of(id)), Ok(Some(_)))
    }

    /// True if an id names a tag with a message, a blob or a tree that is here.
    pub fn has_beside_commits(&self, id: &CommitId) -> bool {
        match self.store.try_header(&oid_of(id)) {
            Ok(Some(header)) => header.kind() != Kind::Commit,
            Ok(None) | Err(_) => false,
        }
    }

    /// Takes out of the parents of a commit those that are not here, if this history is shallow
    /// (gitrepository-layout(5), `shallow`).
    ///
    /// # Errors
    /// Fails when the file `shallow` cannot be read.
    pub fn without_cut_off(&self, mut parents: Vec<CommitId>) -> Result<Vec<CommitId>, GitError> {
        if parents.iter().all(|parent| self.has(parent)) {
            return Ok(parents);
        }
        let shallow = self.store.store_ref().path().with_file_name("shallow");
        let boundary = read_file(shallow)?.unwrap_or_default();
        if !boundary.is_empty() {
            parents.retain(|parent| self.has(parent));
        }
        Ok(parents)
    }

    /// Reads an object whose content has its id: git and gix compute no id of what they read, so a
    /// file below `objects` may hold anything.
    pub(super) fn find<'b>(
        &self,
        what: &dyn fmt::Display,
        id: &gix::hash::oid,
        kind: Kind,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], GitError> {
        match self.try_find(id, buffer).map_err(reading(what))? {
            Some(data) if data.kind == kind => {
                data.verify_checksum(id).map_err(reading(what))?;
                Ok(data.data)
            }
            Some(data) => Err(unreadable(&what, &format!("it is a {}", data.kind))),
            None => Err(unreadable(&what, &"it is not in the repository")),
        }
    }
}

fn open_store(directory: &Utf8Path, format: ObjectFormat) -> Result<gix::odb::Handle, GitError> {
    gix::odb::at(directory.as_std_path(), format.0).map_err(reading(directory))
}

impl Find for Objects {
    fn try_find<'a>(
        &self,
        id: &gix::hash::oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::Result<Option<Data<'a>>> {
        let found = match &self.quarantine {
            Some(quarantine) if quarantine.exists(id) => quarantine.try_find(id, buffer)?,
            Some(_) | None => self.store.try_find(id, buffer)?,
        };
        // git knows the empty tree without an object of it (object-file.c, git 2.39 to 2.55)
        if found.is_none() && id.is_empty_tree() {
            return Ok(Some(Data::new(&[], Kind::Tree, id.kind())));
        }
        Ok(found)
    }
}
