//! Changes single entries of an index and checks them out, one method a git command.

use camino::Utf8Path;

use super::error::GitError;
use super::process::Git;
use crate::entry::Entry;
use crate::path::RepoPath;

/// Writes a line for `git update-index -z --index-info`: this entry at this path and stage, or
/// nothing there any more. `digits` is the length of an id.
pub fn index_info(info: &mut Vec<u8>, path: &[u8], entry: Option<Entry>, stage: u8, digits: usize) {
    let found = entry.and_then(|entry| Some((entry.mode.git_octal()?, entry.id.to_string())));
    let (mode, id) = found.unwrap_or_else(|| ("0", "0".repeat(digits)));
    info.extend_from_slice(format!("{mode} {id} {stage}\t").as_bytes());
    info.extend_from_slice(path);
    info.push(0);
}

/// Joins paths as the `-z --stdin` of git's commands takes them.
#[must_use]
pub fn nul_ended<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_bstr());
        bytes.push(0);
    }
    bytes
}

impl Git {
    /// Fills the index with a tree; the disk is left alone.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read_tree(&self, tree: &str) -> Result<(), GitError> {
        let args = ["read-tree", tree];
        self.output("read a tree into an index", &args).map(drop)
    }

    /// Replaces single entries of the index, with all their stages and flags, by those of lines
    /// of [`index_info`].
    ///
    /// # Errors
    /// Fails when git does, also when another git has the index locked.
    pub fn update_index_info(&self, info: &[u8]) -> Result<(), GitError> {
        let args = ["update-index", "-z", "--index-info"];
        self.output_with_input("change the index", &args, Some(info))
            .map(drop)
    }

    /// Tells git that these paths are absent from the disk on purpose.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn update_index_skip_worktree(&self, paths: &[u8]) -> Result<(), GitError> {
        let args = ["update-index", "--skip-worktree", "-z", "--stdin"];
        self.output_with_input("mark what the scope excludes", &args, Some(paths))
            .map(drop)
    }

    /// Writes what the index has at these paths to the disk, with all conversions. Git removes
    /// links on the way instead of following them.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn checkout_index(&self, paths: &[u8]) -> Result<(), GitError> {
        let args = ["checkout-index", "--force", "-z", "--stdin"];
        self.output_with_input("write the files", &args, Some(paths))
            .map(drop)
    }

    /// The same git on the files of a worktree, with an index of its own and the settings of the
    /// main worktree: what the worktree's own configuration names could have been planted.
    #[must_use]
    pub fn on_files(&self, common_dir: &Utf8Path, worktree: &Utf8Path, index: &Utf8Path) -> Self {
        self.on(common_dir, Some(worktree)).with_index(index)
    }
}
