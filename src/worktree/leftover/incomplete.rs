//! Tells whether an incomplete worktree holds work: what neither a checkout nor a copy has written.
//!
//! A killed `add` has neither a record nor, maybe, an index, so the files are compared with the base
//! and with the main worktree. A file that was being written when `add` was killed is the beginning
//! of the expected content. Every doubt counts as work.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;

use super::entries::has_work;
use crate::client::{BEGIN, END};
use crate::config::Strategy;
use crate::disk::files::{self, Opened, TEMPORARY};
use crate::entry::{Entry, Mode};
use crate::git::objects::Objects;
use crate::path::RepoPath;
use crate::worktree::removal::facts::Around;
use crate::worktree::{Intent, Repository, WorktreeError};

/// Whether a killed `add` left a worktree that somebody has worked in. `admin` is the private git
/// directory, if git has created one.
///
/// # Errors
/// Fails when something cannot be read.
pub fn has_incomplete_work(
    repository: &Repository,
    intent: &Intent,
    admin: Option<&Utf8Path>,
) -> Result<bool, WorktreeError> {
    let own_git_dir = intent.record.path.join(".git");
    let (objects, git_dir) = match intent.record.strategy {
        Strategy::Worktree => (repository.objects()?, admin),
        Strategy::Clone if files::is_directory(&own_git_dir) => {
            let objects = Objects::open(&own_git_dir, repository.format)?;
            (objects, Some(own_git_dir.as_path()))
        }
        Strategy::Clone => (repository.objects()?, None),
    };
    let log = git_dir.map(|dir| files::read(&dir.join("logs/HEAD")));
    let log = log.transpose()?.flatten().unwrap_or_default();
    // git logs the creation, and a reset to the same commit
    let log = String::from_utf8_lossy(&log);
    let mut commits = log.lines().map(|line| line.split(' ').nth(1));
    let first = commits.next();
    if commits.any(|commit| Some(commit) != first) {
        return Ok(true);
    }
    if let Some(admin) = admin
        && files::exists(&admin.join("index"))
        && has_work(repository, &Around::read(repository)?, admin).unwrap_or(true)
    {
        return Ok(true);
    }
    let git = match git_dir {
        Some(dir) => repository.git.on(dir, None),
        None => repository.git.clone(),
    };
    let base = match &intent.branch_at {
        Some(base) => Some(base.clone()),
        None => git.rev_parse_commit(&intent.record.branch.full_ref())?,
    };
    let mut entries = BTreeMap::new();
    if let Some(base) = base {
        let tree = objects.commit(&base)?.tree;
        entries.extend(objects.list(&tree)?);
    }
    let walk = Expected {
        main: &repository.root,
        objects,
        base: entries,
    };
    walk.differs(intent.record.path.as_std_path(), None)
}

struct Expected<'a> {
    main: &'a Utf8Path,
    objects: Objects,
    base: BTreeMap<RepoPath, Entry>,
}

impl Expected<'_> {
    /// Whether something in a directory is neither of the base nor of the main worktree.
    fn differs(&self, directory: &Path, parent: Option<&RepoPath>) -> Result<bool, WorktreeError> {
        for (name, is_directory) in files::entries(directory)? {
            let file = directory.join(&name);
            let is_ours = name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes());
            if (parent.is_none() && name == ".git") || (is_ours && !is_directory) {
                continue;
            }
            let path = RepoPath::child(parent, name.as_encoded_bytes());
            let differs = if is_directory {
                self.differs(&file, Some(&path))?
            } else {
                !self.is_written_by_add(&file, &path)
            };
            if differs {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_written_by_add(&self, file: &Path, path: &RepoPath) -> bool {
        let Some(found) = content(file) else {
            return false;
        };
        let entry = self.base.get(path);
        let blob = entry.filter(|entry| entry.mode != Mode::Gitlink);
        let blob = blob.and_then(|entry| self.objects.blob(&entry.id).ok());
        let source = path.to_os_path().ok();
        let source = source.and_then(|path| content(&self.main.as_std_path().join(path)));
        // a conversion of line endings is one of the checkout
        let without_cr = || found.iter().copied().filter(|byte| *byte != b'\r');
        blob.is_some_and(|blob| blob.starts_with(&found) || blob.iter().copied().eq(without_cr()))
            || source.is_some_and(|source| source.starts_with(&found))
            || (entry.is_none() && is_context(&found))
    }
}

/// Whether a file is a context file as `add` writes it: nothing follows our part.
fn is_context(content: &[u8]) -> bool {
    let begin = content.find(BEGIN);
    let after = begin.and_then(|at| Some(content[at..].rsplit_once_str(END)?.1));
    begin.is_some() && after.is_none_or(|text| text.trim_ascii().is_empty())
}

/// The bytes of a file, or the text of a link.
fn content(file: &Path) -> Option<Vec<u8>> {
    match files::open_entry(file).ok()? {
        Opened::File { mut content, .. } => {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
        Opened::Link(text) => Some(text.into()),
        Opened::Other => None,
    }
}
