//! Lists the paths that git writes when it brings a worktree from one commit to another.

use std::path::PathBuf;

use crate::git::object_format::ObjectFormat;
use crate::judge::compare::Delta;
use crate::record::journal::ForwardMove;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::repository::Repository;

/// A path that differs between the two commits of a move.
pub struct TouchedPath {
    /// The path.
    pub path: RepoPath,
    /// The path as the disk has it, below the worktree.
    pub file: PathBuf,
    /// What the commit before has there.
    pub old: Option<Entry>,
    /// What the commit afterwards has there.
    pub new: Option<Entry>,
}

impl TouchedPath {
    /// The file or link that stands there before; none where there is none.
    pub fn old_file(&self) -> Option<Entry> {
        self.old.filter(is_file)
    }

    /// The file or link that git writes there; none where it writes none.
    pub fn new_file(&self) -> Option<Entry> {
        self.new.filter(is_file)
    }

    /// True if one of the commits has a link with this text there.
    pub fn has_link(&self, text: &[u8], format: ObjectFormat) -> bool {
        let id = format.blob_id(text);
        let sides = [self.old, self.new];
        sides
            .iter()
            .flatten()
            .any(|side| side.mode == Mode::Link && side.id == id)
    }
}

/// True if git writes a file or a link for an entry; for a submodule it does not.
fn is_file(entry: &Entry) -> bool {
    entry.mode != Mode::Gitlink
}

/// Lists the paths of a move, always in the same order. What the disk cannot name is left out.
///
/// # Errors
/// Fails when a commit cannot be read.
pub fn touched_paths(
    repository: &Repository,
    step: &ForwardMove,
) -> Result<Vec<TouchedPath>, Error> {
    let home = repository.home();
    let objects = home.git.objects(&home.common_dir, home.format)?;
    let before = objects.commit(&step.before)?.tree;
    let after = objects.commit(&step.commit)?.tree;
    let new_entries: Delta = objects.difference(Some(&before), Some(&after))?;
    let mut old_entries: Delta = objects.difference(Some(&after), Some(&before))?;
    let mut touched = Vec::new();
    for (path, new) in new_entries {
        let old = old_entries.remove(&path).flatten();
        let Ok(file) = path.to_os_path() else {
            continue;
        };
        touched.push(TouchedPath {
            path,
            file,
            old,
            new,
        });
    }
    Ok(touched)
}
