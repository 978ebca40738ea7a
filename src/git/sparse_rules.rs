//! Decides what git's sparse-checkout leaves out, from its file (git-sparse-checkout(1), "FULL
//! PATTERN SET"), with git's own matching: what our own checkout is held against.

use std::collections::HashMap;

use bstr::{BStr, BString};
use gix_glob::pattern::Case;
use gix_ignore::Search;
use gix_ignore::search::Ignore;

use crate::path::RepoPath;

/// Represents the lines of a sparse-checkout file, not in cone mode.
pub struct SparseRules {
    list: Search,
    directories: HashMap<BString, Option<bool>>,
}

impl SparseRules {
    /// Reads the file.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let parse = Ignore {
            support_precious: false,
        };
        let list = gix_glob::search::pattern::List {
            patterns: gix_glob::search::Pattern::bytes_to_patterns(&parse, text, "".as_ref()),
            source: None,
            base: None,
        };
        Self {
            list: Search {
                patterns: vec![list],
            },
            directories: HashMap::new(),
        }
    }

    /// Whether a file or a link is left out: the last line that matches it says so, or else the last
    /// one that matches the nearest directory above; what no line matches is left out.
    pub fn leaves_out(&mut self, path: &RepoPath) -> bool {
        let said = self.says(path.as_bstr(), false);
        let said = said.or_else(|| {
            path.parents()
                .next()
                .and_then(|above| self.directory(above))
        });
        said != Some(true)
    }

    fn directory(&mut self, path: &BStr) -> Option<bool> {
        if let Some(known) = self.directories.get(path) {
            return *known;
        }
        let above = path.iter().rposition(|byte| *byte == b'/');
        let said = self.says(path, true);
        let said = said.or_else(|| self.directory(path[..above?].into()));
        self.directories.insert(path.to_owned(), said);
        said
    }

    /// Whether the last line that matches takes it in; none where no line does.
    fn says(&self, path: &BStr, is_directory: bool) -> Option<bool> {
        let found =
            self.list
                .pattern_matching_relative_path(path, Some(is_directory), Case::Sensitive);
        found.map(|found| !found.pattern.is_negative())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_level_decides_by_its_last_line() {
        let mut rules = SparseRules::new(b"/*\n!secrets/\nsecrets/keep.md\n!*.env\n");
        let mut out = |path: &str| rules.leaves_out(&RepoPath::parse(path).expect("a path"));
        for path in ["a", "a/b/c", "secrets/keep.md", "secret"] {
            assert!(!out(path), "{path}");
        }
        for path in ["secrets/k", "a/secrets/b/c", "x.env", "a/x.env"] {
            assert!(out(path), "{path}");
        }
        let mut none = SparseRules::new(b"");
        assert!(none.leaves_out(&RepoPath::parse("a").expect("a path")));
    }
}
