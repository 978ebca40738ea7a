//! Writes the files that a worktree would get, beside it, before it gets them: what `land` needs to
//! put a worktree back.

use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;

use crate::git::error::GitError;
use crate::git::plumbing::nul_ended;
use crate::git::process::{Git, words};
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

impl Git {
    /// Writes the files that this worktree gets when it is brought from one commit to another into
    /// a directory, with the user's filters and line endings. `index` is a copy of its index, which
    /// is changed. Files that a sparse worktree leaves out are not written.
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
        let read = "--no-replace-objects -c core.splitIndex=false read-tree -m -i";
        git.perform(what, read, &ends.map(CommitId::as_str))?;
        let list = git.perform(what, "ls-files -t -z", &[])?;
        let sparse = skipped_paths(&list);
        // git would fail for a path that it leaves out, without a word
        let present = paths.iter().filter(|path| !sparse.contains(path.as_bstr()));
        let input = nul_ended(present.copied());
        let write = "--no-replace-objects checkout-index --quiet -z --stdin";
        let prefix = format!("--prefix={directory}/");
        git.perform_with(what, write, &[&prefix], &input)?;
        Ok(())
    }

    /// True if the index of this worktree has the tree of a commit.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn index_has(&self, commit: &CommitId) -> Result<bool, GitError> {
        let command = "--no-replace-objects diff-index --cached --quiet --ignore-submodules=none";
        let args = words(command, &[commit.as_str()]);
        let equal = self.maybe("compare the index", &args, None)?;
        Ok(equal.is_some())
    }
}

/// Returns the paths that a sparse worktree leaves out, of the list of `git ls-files -t -z`.
fn skipped_paths(list: &[u8]) -> BTreeSet<&BStr> {
    let mut paths = BTreeSet::new();
    for line in list.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"S ") {
            paths.insert(path.as_bstr());
        }
    }
    paths
}
