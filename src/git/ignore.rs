//! Decides what ignore rules ignore (gitignore(5)), from rules that are handed in.
//!
//! Verification hands in the rules of the base, as the worktree cannot have changed those: what
//! an agent adds to a `.gitignore` hides nothing.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bstr::{BStr, BString};
use gix_glob::pattern::Case;
use gix_ignore::Search;
use gix_ignore::search::Ignore;

use crate::git::error::{GitError, reading};
use crate::git::plumbing::nul_ended;
use crate::git::process::Git;
use crate::words::path::RepoPath;

/// Represents the ignore rules of one tree.
pub struct IgnoreStack {
    lists: Search,
    case: Case,
    directories: HashMap<BString, bool>,
}

impl IgnoreStack {
    /// Takes the rules of lowest precedence first: the user's `core.excludesFile`, then
    /// `info/exclude`, then the `.gitignore` files, each with the directory it stands in (none
    /// for the root and for the first two); `ignore_case` is `core.ignoreCase` (git-config(1)).
    ///
    /// # Errors
    /// Fails when gix cannot hold the place of a file.
    pub fn new(
        shared: &[Vec<u8>],
        files: &[(Option<RepoPath>, Vec<u8>)],
        ignore_case: bool,
    ) -> Result<Self, GitError> {
        let mut lists = Search::default();
        let parse = Ignore {
            support_precious: false,
        };
        let (root, odd) = (Path::new("/"), || reading("ignore rules"));
        for text in shared {
            let added = lists.add_patterns_buffer(text, "shared", None, parse);
            added.map_err(odd())?;
        }
        let mut files: Vec<_> = files.iter().collect();
        files.sort_by_key(|(directory, _)| directory.as_ref().map_or(0, |d| d.as_bstr().len()));
        for (directory, text) in files {
            // gix strips the root from the source to learn where the file's rules begin
            let directory = directory.as_ref().map(RepoPath::to_os_path).transpose();
            let Ok(directory) = directory else { continue };
            let source = root.join(directory.unwrap_or_default()).join(".gitignore");
            let added = lists.add_patterns_buffer(text, source, Some(root), parse);
            added.map_err(odd())?;
        }
        let case = if ignore_case {
            Case::Fold
        } else {
            Case::Sensitive
        };
        Ok(Self {
            lists,
            case,
            directories: HashMap::new(),
        })
    }

    /// Whether a path that git does not track is ignored. Once a directory is, nothing below it
    /// can be un-ignored.
    pub fn ignores_file(&mut self, path: &RepoPath) -> bool {
        let mut parents: Vec<&BStr> = path.parents().collect();
        parents.reverse();
        for directory in parents {
            let known = self.directories.get(directory).copied();
            let ignored = known.unwrap_or_else(|| {
                let ignored = self.matches(directory, true);
                self.directories.insert(directory.to_owned(), ignored);
                ignored
            });
            if ignored {
                return true;
            }
        }
        self.matches(path.as_bstr(), false)
    }

    /// Whether a directory that holds nothing git tracks is ignored.
    pub fn ignores_directory(&mut self, path: &RepoPath) -> bool {
        self.matches(path.as_bstr(), true) || path.parents().any(|p| self.matches(p, true))
    }

    fn matches(&self, path: &BStr, is_directory: bool) -> bool {
        let decided =
            self.lists
                .pattern_matching_relative_path(path, Some(is_directory), self.case);
        decided.is_some_and(|found| !found.pattern.is_negative())
    }
}

impl Git {
    /// Returns which of these untracked paths are ignored.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn check_ignore(&self, paths: &[&RepoPath]) -> Result<HashSet<RepoPath>, GitError> {
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        // a name that begins with `:` would be a pathspec's magic
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(b"./");
            input.extend(nul_ended([*path]));
        }
        let args = ["check-ignore", "-z", "--stdin"];
        let answer = self.maybe("ask what is ignored", &args, Some(&input))?;
        let answer = answer.unwrap_or_default();
        let names = answer.split(|byte| *byte == 0);
        let path = |name: &[u8]| RepoPath::parse(name.strip_prefix(b"./")?).ok();
        Ok(names.filter_map(path).collect())
    }
}
