//! Lists the worktrees, as git-worktree(1) does.

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::File;

use super::answer::{Answer, AskGit};
use super::entries::{Entry, look, names};
use super::refs::Refs;
use super::{Own, files};
use crate::git::worktree::WorktreeEntry;

impl Own {
    /// Every worktree, the main one or the bare repository first, then by their paths. Asked from
    /// a linked worktree, git can be wrong about whether the repository is bare: then git is asked.
    pub(in crate::git) fn worktrees(&self) -> Answer<Vec<WorktreeEntry>> {
        if self.git_dir != self.common_dir {
            return Err(AskGit);
        }
        let mut linked: Vec<WorktreeEntry> = Vec::new();
        for id in names(self.common_dir.join("worktrees").as_std_path())? {
            linked.extend(self.linked(&id)?);
        }
        linked.sort_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
        // of two entries of one path, either can be the first
        if linked.windows(2).any(|pair| pair[0].path == pair[1].path) {
            return Err(AskGit);
        }
        let mut all = vec![self.main()?];
        all.append(&mut linked);
        Ok(all)
    }

    fn main(&self) -> Answer<WorktreeEntry> {
        let path = self.common_dir.as_str();
        let path = Utf8PathBuf::from(path.strip_suffix("/.git").unwrap_or(path));
        if is_bare(&self.common_dir)? {
            Refs::of(self)?;
            return Ok(WorktreeEntry {
                path,
                bare: true,
                ..WorktreeEntry::default()
            });
        }
        self.entry(path)
    }

    /// A linked worktree by its private git directory; none where git sees none: the file that
    /// says where it is is missing or empty.
    fn linked(&self, id: &BString) -> Answer<Option<WorktreeEntry>> {
        let id = id.to_str().map_err(|_| AskGit)?;
        let git_dir = self.common_dir.join("worktrees").join(id);
        let place = files::read(&git_dir.join("gitdir"))?.unwrap_or_default();
        if place.is_empty() {
            return Ok(None);
        }
        let place = place.strip_suffix(b"\n").unwrap_or(&place);
        let place = place.to_str().map_err(|_| AskGit)?;
        let path = place
            .strip_suffix("/.git")
            .map(Utf8Path::new)
            .ok_or(AskGit)?;
        if !path.is_absolute() || place.trim_end() != place || path.as_str().contains('\0') {
            return Err(AskGit);
        }
        let locked = look(git_dir.join("locked").as_std_path())? != Entry::Nothing;
        let own = Self {
            git_dir,
            ..self.clone()
        };
        let entry = own.entry(path.to_owned())?;
        Ok(Some(WorktreeEntry { locked, ..entry }))
    }

    /// What HEAD says in a worktree at this path.
    fn entry(&self, path: Utf8PathBuf) -> Answer<WorktreeEntry> {
        let head = Refs::of(self)?.resolve("HEAD".into())?;
        let branch = match head.name.to_str() {
            Ok("HEAD") => None,
            Ok(name) => Some(name.to_owned()),
            Err(_) => return Err(AskGit),
        };
        Ok(WorktreeEntry {
            path,
            head: head.id,
            branch,
            ..WorktreeEntry::default()
        })
    }
}

/// Whether the repository says that it is bare (`core.bare`), in the files that git looks into for
/// that. One that does not say it, or has its work tree elsewhere, is git's to judge.
fn is_bare(common_dir: &Utf8Path) -> Answer<bool> {
    let mut bare = None;
    for name in ["config", "config.worktree"] {
        let content = files::read(&common_dir.join(name))?.unwrap_or_default();
        let meta = gix::config::file::Metadata::default();
        let options = gix::config::file::init::Options::default();
        let read = File::from_bytes_owned(&mut content.clone(), meta, options);
        let settings = read.map_err(|_| AskGit)?;
        if settings.string("core.worktree").is_some() {
            return Err(AskGit);
        }
        match settings.boolean("core.bare") {
            Ok(Some(value)) => bare = Some(value),
            Ok(None) => {}
            Err(_) => return Err(AskGit),
        }
    }
    bare.ok_or(AskGit)
}
