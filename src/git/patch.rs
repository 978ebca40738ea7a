//! Makes trees that no repository keeps, and prints patches between trees.
//!
//! All of it is for a [`Git`] of its own: with another index, another directory for new objects
//! and an empty work tree, so that nothing of the user's is written, and the attributes that
//! count (gitattributes(5)) are those of that index.

use std::collections::BTreeMap;

use bstr::ByteSlice;

use super::error::GitError;
use super::process::Git;
use crate::entry::ObjectId;
use crate::path::RepoPath;

/// Settings that would change what a patch looks like, or whether bytes can be stored.
const PLAIN: &[&str] = &[
    "-c",
    "core.quotePath=true",
    "-c",
    "core.safecrlf=false",
    "-c",
    "diff.suppressBlankEmpty=false",
];

/// What makes a patch one that `git apply` takes, whatever is configured.
const PATCH: &[&str] = &[
    "diff-tree",
    "-r",
    "-p",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--binary",
    "--full-index",
    "--no-renames",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--end-of-options",
];

impl Git {
    /// Makes a tree of another one and these differences, which are for `git update-index -z
    /// --index-info`; the index is left with it.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn tree_with(&self, tree: &str, index_info: &[u8]) -> Result<String, GitError> {
        let what = "make a tree of what changed";
        self.read_tree(tree)?;
        let args = ["update-index", "-z", "--index-info"];
        self.output_with_input(what, &args, Some(index_info))?;
        self.line(what, &["write-tree"])
    }

    /// Stores files of the work tree as `git add` would, filters and line endings applied by the
    /// attributes of a tree; what each is then stored as.
    ///
    /// # Errors
    /// Fails when git or a filter does.
    pub fn add_files(
        &self,
        attributes: &str,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, ObjectId>, GitError> {
        let what = "store files as git would";
        self.read_tree(attributes)?;
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_bstr());
            input.push(0);
        }
        let add = ["update-index", "--add", "--replace", "-z", "--stdin"];
        let args: Vec<&str> = PLAIN.iter().chain(&add).copied().collect();
        self.output_with_input(what, &args, Some(&input))?;
        let args = ["ls-files", "--stage", "-z"];
        let mut stored = BTreeMap::new();
        // `<mode> <id> <stage>\t<path>`
        for line in self.output(what, &args)?.split_str("\0") {
            let Some((about, path)) = line.split_once_str("\t") else {
                continue;
            };
            let id = about.split_str(" ").nth(1).and_then(ObjectId::from_hex);
            if let (Some(id), Ok(path)) = (id, RepoPath::parse(path)) {
                stored.insert(path, id);
            }
        }
        Ok(stored)
    }

    /// Prints the patch from one tree or commit to another.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn diff_tree_patch(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let mut args: Vec<&str> = PLAIN.iter().chain(PATCH).copied().collect();
        args.extend([from, to]);
        self.output("print a patch", &args)
    }
}
