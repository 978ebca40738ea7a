//! Tries what a worktree would get before it gets that, and tells what git wrote of it: what `land`
//! needs to put a worktree back.

use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;

use crate::git::error::GitError;
use crate::git::process::{Git, words};
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

impl Git {
    /// Writes the files that this worktree gets when it is brought from one commit to another into a
    /// directory, with the user's filters and line endings. `index` is a copy of its index, which is
    /// changed. Files that a sparse worktree leaves out are not written.
    ///
    /// # Errors
    /// Fails when git does: a filter fails, or the disk is full.
    pub fn write_out(
        &self,
        index: &Utf8Path,
        ends: [&CommitId; 2],
        paths: &[&RepoPath],
        directory: &Utf8Path,
    ) -> Result<(), GitError> {
        let what = "write the files that are new";
        let git = self.with_index(index);
        let command = "--no-replace-objects -c core.splitIndex=false read-tree -m -i";
        git.perform(what, command, &ends.map(CommitId::as_str))?;
        let prefix = format!("--prefix={directory}/");
        let list = git.perform(what, "ls-files -t -z", &[])?;
        let left_out = left_out(&list);
        // git would fail for them, without a word
        let paths = paths.iter().map(|path| path.as_bstr());
        let paths = paths.filter(|path| !left_out.contains(path));
        let input: Vec<u8> = paths
            .flat_map(|path| [path.as_bytes(), b"\0"].concat())
            .collect();
        let command = "--no-replace-objects checkout-index --quiet -z --stdin";
        git.perform_with(what, command, &[&prefix], &input)
            .map(drop)
    }

    /// Whether the index of this worktree has the tree of a commit.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn index_has(&self, commit: &CommitId) -> Result<bool, GitError> {
        let command = "--no-replace-objects diff-index --cached --quiet --ignore-submodules=none";
        let args = words(command, &[commit.as_str()]);
        let same = self.maybe("compare the index", &args, None)?;
        Ok(same.is_some())
    }
}

/// The paths that a sparse worktree leaves out, of the list of `git ls-files -t -z`.
fn left_out(list: &[u8]) -> BTreeSet<&BStr> {
    let lines = list.split(|byte| *byte == 0);
    let paths = lines.filter_map(|line| line.strip_prefix(b"S "));
    paths.map(ByteSlice::as_bstr).collect()
}
