//! Reads commits for what is asked about history: [`Commits`].
//!
//! It reads no commit graph (a planted one could lie) and holds each object against its id, as git
//! does where it parses one. Whatever else can change what git takes for the parents of a commit
//! (replace refs, grafts, a shallow clone) is left to git, and so is a commit that is missing.

use std::collections::HashMap;
use std::collections::hash_map;

use bstr::ByteSlice;
use gix::hash::ObjectId;
use gix::objs::{Find, Kind};

use super::Own;
use super::answer::{Answer, AskGit};
use super::entries::{Entry, look};
use super::refs::Refs;
use crate::git::objects::ObjectFormat;
use crate::git::run::Mode;
use crate::git::stores::KeptCommits;
use crate::name::CommitId;

/// How many commits are read before git is asked: it can have generation numbers, which make the
/// same question a short one.
const MOST: usize = 10_000;
/// How many objects of deltas are kept, in bytes.
const CACHE: usize = 1 << 20;

/// Holds what a walk needs of a commit.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    /// When it was committed, seconds since the epoch.
    pub date: u64,
    /// Its parents, by number.
    pub parents: Vec<usize>,
}

/// Represents the commits that were met so far, each by a number.
pub(super) struct Commits {
    store: gix::odb::Handle,
    kept: KeptCommits,
    format: ObjectFormat,
    numbers: HashMap<ObjectId, usize>,
    ids: Vec<ObjectId>,
    read: Vec<Option<Commit>>,
    left: usize,
    buffer: Vec<u8>,
}

impl Commits {
    /// The commits of a repository, in which one of the objects has this id.
    pub(super) fn of(own: &Own, one: &CommitId) -> Answer<Self> {
        if own.mode == Mode::User && has_replacements(own)? {
            return Err(AskGit);
        }
        let format = ObjectFormat::of(one);
        let (mut store, kept) = own.stores.open(&own.common_dir, format)?;
        store.set_pack_cache(|| {
            Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(CACHE))
        });
        Ok(Self {
            store,
            kept,
            format,
            numbers: HashMap::new(),
            ids: Vec::new(),
            read: Vec::new(),
            left: MOST,
            buffer: Vec::new(),
        })
    }

    /// The same, for questions about how they are related.
    pub(super) fn related(own: &Own, one: &CommitId) -> Answer<Self> {
        let there = |path: &str| -> Answer<bool> {
            let found = look(own.common_dir.join(path).as_std_path())?;
            Ok(!matches!(found, Entry::Nothing))
        };
        // in the hardened mode, git is told that there are no grafts
        if there("shallow")? || own.mode == Mode::User && there("info/grafts")? {
            return Err(AskGit);
        }
        Self::of(own, one)
    }

    /// The number of a commit, of which nothing is read yet.
    pub(super) fn number(&mut self, id: &CommitId) -> Answer<usize> {
        let id = ObjectId::from_hex(id.as_str().as_bytes()).map_err(|_| AskGit)?;
        Ok(self.number_of(id))
    }

    fn number_of(&mut self, id: ObjectId) -> usize {
        match self.numbers.entry(id) {
            hash_map::Entry::Occupied(known) => *known.get(),
            hash_map::Entry::Vacant(new) => {
                self.ids.push(id);
                self.read.push(None);
                *new.insert(self.ids.len() - 1)
            }
        }
    }

    /// The id of a commit.
    pub(super) fn id(&self, number: usize) -> Answer<CommitId> {
        CommitId::parse(&self.ids[number].to_string()).map_err(|_| AskGit)
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// A commit, if it was read before.
    pub(super) fn seen(&self, number: usize) -> Option<&Commit> {
        self.read[number].as_ref()
    }

    /// Reads a commit, if it was not read before.
    pub(super) fn commit(&mut self, number: usize) -> Answer<&Commit> {
        if self.read[number].is_none() {
            self.left = self.left.checked_sub(1).ok_or(AskGit)?;
            let (date, parents) = {
                let (kind, content) = self.object(self.ids[number])?;
                if kind != Kind::Commit {
                    return Err(AskGit);
                }
                parsed(content).ok_or(AskGit)?
            };
            let parents = parents.into_iter().map(|id| self.number_of(id)).collect();
            self.read[number] = Some(Commit { date, parents });
        }
        self.read[number].as_ref().ok_or(AskGit)
    }

    /// The commit that an object is or, being an annotated tag, leads to; none where it is neither.
    pub(super) fn peeled(&mut self, id: &CommitId) -> Answer<Option<CommitId>> {
        let mut next = ObjectId::from_hex(id.as_str().as_bytes()).map_err(|_| AskGit)?;
        for _ in 0..MOST {
            match self.object(next)? {
                (Kind::Commit, _) => {
                    let found = CommitId::parse(&next.to_string());
                    return found.map(Some).map_err(|_| AskGit);
                }
                (Kind::Tag, content) => {
                    let line = content.lines().next().unwrap_or_default();
                    let id = line.strip_prefix(b"object ").ok_or(AskGit)?;
                    next = ObjectId::from_hex(id).map_err(|_| AskGit)?;
                }
                (Kind::Tree | Kind::Blob, _) => return Ok(None),
            }
        }
        Err(AskGit)
    }

    /// Whether an object is a commit; one that is not there is for git to judge.
    pub(super) fn is_commit(&mut self, id: &CommitId) -> Answer<bool> {
        let id = ObjectId::from_hex(id.as_str().as_bytes()).map_err(|_| AskGit)?;
        Ok(self.object(id)?.0 == Kind::Commit)
    }

    /// Reads an object and holds it against its id.
    fn object(&mut self, id: ObjectId) -> Answer<(Kind, &[u8])> {
        if let Some(raw) = self.kept.get(&id) {
            self.buffer.clear();
            self.buffer.extend_from_slice(&raw);
            return Ok((Kind::Commit, &self.buffer));
        }
        let found = self.store.try_find(&id, &mut self.buffer);
        let found = found.map_err(|_| AskGit)?.ok_or(AskGit)?;
        let kind = found.kind;
        // only these are small
        if matches!(kind, Kind::Commit | Kind::Tag) {
            let hash = gix::objs::compute_hash(self.format.kind(), kind, found.data);
            if hash.map_err(|_| AskGit)? != id {
                return Err(AskGit);
            }
        }
        if kind == Kind::Commit {
            self.kept.keep(id, found.data);
        }
        Ok((kind, found.data))
    }
}

/// Reads the date and the parents of a commit as git does; none where anything is unusual.
fn parsed(content: &[u8]) -> Option<(u64, Vec<ObjectId>)> {
    let mut lines = content.lines();
    lines.next()?.strip_prefix(b"tree ")?;
    let mut parents = Vec::new();
    let mut line = lines.next()?;
    while let Some(id) = line.strip_prefix(b"parent ") {
        parents.push(ObjectId::from_hex(id).ok()?);
        line = lines.next()?;
    }
    line.strip_prefix(b"author ")?;
    let committer = lines.next()?.strip_prefix(b"committer ")?;
    let (_, when) = committer.rsplit_once_str("> ")?;
    let (date, zone) = when.split_once_str(" ")?;
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_zone = matches!(zone, [b'+' | b'-', digits @ ..] if is_number(digits));
    let date = is_number(date).then(|| date.to_str().ok()?.parse().ok())??;
    is_zone.then_some((date, parents))
}

/// Whether any object is replaced by another (git-replace(1)).
fn has_replacements(own: &Own) -> Answer<bool> {
    let loose = look(own.common_dir.join("refs/replace").as_std_path())?;
    let refs = Refs::of(own)?;
    Ok(loose != Entry::Nothing || refs.packed()?.contains_str(" refs/replace/"))
}
