//! Decides what ignore rules ignore (gitignore(5)), from rules that are handed in.
//!
//! Verification hands in the rules of the base, as the worktree cannot have changed those: what
//! an agent adds to a `.gitignore` hides nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};
use gix_glob::pattern::Case;
use gix_ignore::Search;
use gix_ignore::search::Ignore;

use crate::git::error::{GitError, reading};
use crate::git::plumbing::nul_ended;
use crate::git::process::Git;
use crate::words::path::RepoPath;

/// The ignore rules of one tree.
pub struct IgnoreStack {
    lists: Search,
    case: Case,
    /// Directories of which was asked, and whether they are ignored.
    directories: HashMap<BString, bool>,
}

/// Whether names that differ only by case are the same (`core.ignoreCase`, git-config(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCase {
    /// They are two names.
    Sensitive,
    /// They are one.
    Folded,
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathKind {
    File,
    Directory,
}

impl IgnoreStack {
    /// Takes the texts of the files: in `shared` the user's `core.excludesFile` and then
    /// `info/exclude`, in `files` the `.gitignore` files in any order, each with the directory it
    /// stands in (none for the root).
    ///
    /// # Errors
    /// Fails when gix cannot hold the place of a file.
    pub fn new(
        shared: &[Vec<u8>],
        files: &[(Option<RepoPath>, Vec<u8>)],
        case: NameCase,
    ) -> Result<Self, GitError> {
        let mut lists = Search::default();
        let syntax = Ignore {
            support_precious: false,
        };
        for text in shared {
            lists
                .add_patterns_buffer(text, "shared", None, syntax)
                .map_err(reading("ignore rules"))?;
        }
        // later rules count more: those of a deeper directory come after those above
        let mut sorted: Vec<_> = files.iter().collect();
        sorted.sort_by_key(|(directory, _)| directory.as_ref().map_or(0, |d| d.as_bstr().len()));
        for (directory, text) in sorted {
            let Some(source) = source_of(directory.as_ref()) else {
                continue;
            };
            lists
                .add_patterns_buffer(text, source, Some(Path::new("/")), syntax)
                .map_err(reading("ignore rules"))?;
        }
        Ok(Self {
            lists,
            case: match case {
                NameCase::Sensitive => Case::Sensitive,
                NameCase::Folded => Case::Fold,
            },
            directories: HashMap::new(),
        })
    }

    /// True if a path that git does not track is ignored. Once a directory is, nothing below it
    /// can be un-ignored.
    pub fn ignores_file(&mut self, path: &RepoPath) -> bool {
        let mut parents: Vec<&BStr> = path.parents().collect();
        parents.reverse();
        for directory in parents {
            if self.matches_directory(directory) {
                return true;
            }
        }
        self.matches(path.as_bstr(), PathKind::File)
    }

    /// True if a rule matches a directory; the answer is kept.
    fn matches_directory(&mut self, directory: &BStr) -> bool {
        if let Some(is_ignored) = self.directories.get(directory) {
            return *is_ignored;
        }
        let is_ignored = self.matches(directory, PathKind::Directory);
        self.directories.insert(directory.to_owned(), is_ignored);
        is_ignored
    }

    /// True if a directory that holds nothing git tracks is ignored.
    pub fn ignores_directory(&mut self, path: &RepoPath) -> bool {
        self.matches(path.as_bstr(), PathKind::Directory)
            || path
                .parents()
                .any(|parent| self.matches(parent, PathKind::Directory))
    }

    fn matches(&self, path: &BStr, kind: PathKind) -> bool {
        let is_directory = Some(kind == PathKind::Directory);
        let found = self
            .lists
            .pattern_matching_relative_path(path, is_directory, self.case);
        match found {
            Some(found) => !found.pattern.is_negative(),
            None => false,
        }
    }
}

/// Returns a place for a `.gitignore` file below the root `/`, which gix strips again to learn
/// where the file's rules begin; none for a directory that is no path here.
fn source_of(directory: Option<&RepoPath>) -> Option<PathBuf> {
    let mut source = PathBuf::from("/");
    if let Some(directory) = directory {
        source.push(directory.to_os_path().ok()?);
    }
    source.push(".gitignore");
    Some(source)
}

impl Git {
    /// Returns which of these untracked paths are ignored.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn check_ignore(&self, paths: &[&RepoPath]) -> Result<HashSet<RepoPath>, GitError> {
        let mut ignored = HashSet::new();
        if paths.is_empty() {
            return Ok(ignored);
        }
        let mut input = Vec::new();
        for path in paths {
            // a name that begins with `:` would be a pathspec's magic
            input.extend_from_slice(b"./");
            input.extend(nul_ended([*path]));
        }
        let args = ["check-ignore", "-z", "--stdin"];
        let output = self
            .maybe("ask what is ignored", &args, Some(&input))?
            .unwrap_or_default();
        for name in output.split(|byte| *byte == 0) {
            if let Some(path) = name.strip_prefix(b"./") {
                ignored.extend(RepoPath::parse(path).ok());
            }
        }
        Ok(ignored)
    }
}
