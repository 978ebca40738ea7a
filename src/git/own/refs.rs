//! Reads refs as git's files backend does (gitrepository-layout(5), git-pack-refs(1)).
//!
//! A ref is a loose file, or else a line of `packed-refs`; git packs by writing the latter before it
//! removes the former, so the loose files are looked at first. What git would call broken, what it
//! would warn of and what no git of today writes (a link instead of a symbolic ref) is asked of git.

use std::cell::OnceCell;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use super::answer::{Answer, AskGit};
use super::entries::{Entry, is_directory, look};
use super::{Own, files};
use crate::name::CommitId;

/// How many symbolic refs git follows, the last one included (`SYMREF_MAXDEPTH`, refs.c).
const DEPTH: usize = 5;
/// Where the refs are that each worktree has for itself (git-worktree(1), "REFS").
pub(super) const PRIVATE: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// Says what stands under the name of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Nothing.
    Nothing,
    /// An object.
    Object(CommitId),
    /// Another ref.
    Ref(BString),
}

/// Holds where a ref leads in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The ref that names the object: another than the one asked for, where that is symbolic.
    pub name: BString,
    /// The object; none where the last ref is not there.
    pub id: Option<CommitId>,
}

/// Represents the refs as one question sees them: `packed-refs` is read once, when it is needed.
pub(super) struct Refs<'a> {
    pub(super) own: &'a Own,
    packed: OnceCell<Vec<u8>>,
}

/// Whether each worktree has this ref for itself.
pub(super) fn is_private(name: &BStr) -> bool {
    name == "HEAD" || PRIVATE.iter().any(|start| name.starts_with_str(start))
}

/// Whether git takes this as the full name of a ref (git-check-ref-format(1)).
pub(super) fn is_name(name: &BStr) -> bool {
    name == "HEAD" || name.starts_with_str("refs/") && gix::validate::reference::name(name).is_ok()
}

impl<'a> Refs<'a> {
    /// The refs of a repository, if git would take it for one (gitrepository-layout(5)): it has a
    /// HEAD, objects and refs.
    pub(super) fn of(own: &'a Own) -> Answer<Self> {
        let there = |part: &str| is_directory(own.common_dir.join(part).as_std_path());
        let refs = Self {
            own,
            packed: OnceCell::new(),
        };
        let head = refs.loose("HEAD".into())?;
        let is_head = match &head {
            Target::Nothing => false,
            Target::Object(_) => true,
            Target::Ref(name) => name.starts_with_str("refs/"),
        };
        let is_one = is_head && there("objects") && there("refs");
        is_one.then_some(refs).ok_or(AskGit)
    }

    /// Where a ref leads.
    pub(super) fn resolve(&self, name: &BStr) -> Answer<Resolved> {
        self.follow(name.to_owned(), DEPTH)
    }

    /// Where a symbolic ref leads that names this one.
    pub(super) fn resolve_from(&self, next: BString) -> Answer<Resolved> {
        self.follow(next, DEPTH - 1)
    }

    fn follow(&self, mut name: BString, most: usize) -> Answer<Resolved> {
        for _ in 0..most {
            match self.target(name.as_bstr())? {
                Target::Nothing => return Ok(Resolved { name, id: None }),
                Target::Object(id) => {
                    let id = Some(id);
                    return Ok(Resolved { name, id });
                }
                Target::Ref(next) => name = next,
            }
        }
        Err(AskGit)
    }

    /// What stands under a name.
    pub(super) fn target(&self, name: &BStr) -> Answer<Target> {
        match self.loose(name)? {
            Target::Nothing if is_private(name) => Ok(Target::Nothing),
            Target::Nothing => {
                let was_read = self.packed.get().is_some();
                match packed_target(self.packed()?, name)? {
                    // it may have been packed since
                    Target::Nothing if was_read => packed_target(&self.read_packed()?, name),
                    found => Ok(found),
                }
            }
            found => Ok(found),
        }
    }

    /// What stands in the file of a ref. Where a directory stands instead, nothing does.
    fn loose(&self, name: &BStr) -> Answer<Target> {
        match look(&self.file("", name)?)? {
            Entry::Nothing | Entry::Directory => Ok(Target::Nothing),
            Entry::File(content) => loose_target(&content),
        }
    }

    /// The path of something of a ref's: of itself, or of its log in `logs`.
    pub(super) fn file(&self, below: &str, name: &BStr) -> Answer<PathBuf> {
        if !is_name(name) {
            return Err(AskGit);
        }
        let directory = self.directory(name).join(below);
        let name = name.to_path().map_err(|_| AskGit)?;
        Ok(directory.as_std_path().join(name))
    }

    fn directory(&self, name: &BStr) -> &'a Utf8Path {
        if is_private(name) {
            &self.own.git_dir
        } else {
            &self.own.common_dir
        }
    }

    /// The content of `packed-refs`, as it was when this was first called.
    pub(super) fn packed(&self) -> Answer<&[u8]> {
        match self.packed.get() {
            Some(packed) => Ok(packed),
            None => {
                let content = self.read_packed()?;
                Ok(self.packed.get_or_init(|| content))
            }
        }
    }

    fn read_packed(&self) -> Answer<Vec<u8>> {
        let file = self.own.common_dir.join("packed-refs");
        let content = files::read(&file)?.unwrap_or_default();
        if !(content.is_empty() || content.ends_with(b"\n")) {
            return Err(AskGit);
        }
        // git then goes through all of it, and refuses what is no line of a ref
        if !says_that_it_is_sorted(&content) {
            for line in content.lines() {
                let _ = super::listing::packed(line)?;
            }
        }
        Ok(content)
    }
}

/// Reads a loose ref.
pub(super) fn loose_target(content: &[u8]) -> Answer<Target> {
    let line = content.strip_suffix(b"\n").unwrap_or(content);
    if let Some(name) = line.strip_prefix(b"ref: ") {
        let name = name.as_bstr();
        let fine = is_name(name) && name != "HEAD";
        return fine.then(|| Target::Ref(name.to_owned())).ok_or(AskGit);
    }
    object(line).map(Target::Object)
}

/// Whether the first line of `packed-refs` has the trait `sorted` (git-pack-refs(1) writes it).
fn says_that_it_is_sorted(content: &[u8]) -> bool {
    let line = content.lines().next().unwrap_or_default();
    let traits = line.strip_prefix(b"# pack-refs with:");
    traits.is_some_and(|traits| traits.fields().any(|word| word == b"sorted"))
}

/// Finds a ref in the content of `packed-refs`, sorted or not.
fn packed_target(packed: &[u8], name: &BStr) -> Answer<Target> {
    let ending = [b" ".as_slice(), name.as_bytes(), b"\n"].concat();
    let mut found = packed.find_iter(&ending);
    let Some(end) = found.next() else {
        return Ok(Target::Nothing);
    };
    if found.next().is_some() {
        return Err(AskGit);
    }
    let start = packed[..end].rfind_byte(b'\n').map_or(0, |at| at + 1);
    object(&packed[start..end]).map(Target::Object)
}

/// Reads the id of an object; one of zeros is a broken ref.
pub(super) fn object(text: &[u8]) -> Answer<CommitId> {
    let text = text.to_str().map_err(|_| AskGit)?;
    let id = CommitId::parse(text).map_err(|_| AskGit)?;
    id.is_known().then_some(id).ok_or(AskGit)
}
