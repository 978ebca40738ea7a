//! Decides what git's sparse-checkout leaves out, from its file (git-sparse-checkout(1), "FULL
//! PATTERN SET"), with git's own matching: what our own checkout is held against.
//!
//! A line is asked only where it can match at all: `Near` tells by a name, an ending, a path or a
//! directory that the line has in it. Whether it does match is always gix's answer.

mod near;

use std::collections::HashMap;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};
use gix_glob::Pattern;
use gix_glob::pattern::Case;
use gix_glob::wildmatch::Mode;
use gix_ignore::search::Ignore;

use crate::path::RepoPath;
use near::{Line, Near};

/// Represents the lines of a sparse-checkout file, not in cone mode.
pub struct SparseRules {
    lines: Vec<Pattern>,
    near: Near,
    root: Directory,
    directories: HashMap<BString, Directory>,
}

/// Holds what is known of a directory.
#[derive(Clone)]
struct Directory {
    /// What the nearest level says, this one included.
    said: Option<bool>,
    /// The lines that can match what is in it because it is in there.
    inside: Rc<[Line]>,
}

impl SparseRules {
    /// Reads the file.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let parse = Ignore {
            support_precious: false,
        };
        let lines = gix_glob::search::Pattern::bytes_to_patterns(&parse, text, "".as_ref());
        let lines: Vec<Pattern> = lines.into_iter().map(|line| line.pattern).collect();
        let near = Near::new(&lines);
        let root = Directory {
            said: None,
            inside: near.everywhere(),
        };
        Self {
            lines,
            near,
            root,
            directories: HashMap::new(),
        }
    }

    /// Whether a file or a link is left out: the last line that matches it says so, or else the last
    /// one that matches the nearest directory above; what no line matches is left out.
    pub fn leaves_out(&mut self, path: &RepoPath) -> bool {
        let above = match path.parents().next() {
            Some(above) => self.directory(above),
            None => self.root.clone(),
        };
        let said = self.says(path.as_bstr(), false, &above.inside);
        said.or(above.said) != Some(true)
    }

    fn directory(&mut self, path: &BStr) -> Directory {
        if let Some(known) = self.directories.get(path) {
            return known.clone();
        }
        let above = match path.rfind_byte(b'/') {
            Some(at) => self.directory(path[..at].into()),
            None => self.root.clone(),
        };
        let said = self.says(path, true, &above.inside);
        let directory = Directory {
            said: said.or(above.said),
            inside: self.near.inside(path, above.inside),
        };
        self.directories.insert(path.to_owned(), directory.clone());
        directory
    }

    /// Whether the last line that matches takes it in; none where no line does.
    fn says(&self, path: &BStr, is_directory: bool, inside: &[Line]) -> Option<bool> {
        let name = path.rfind_byte(b'/').map(|at| at + 1);
        let mut last: Option<Line> = None;
        let mut ask = |line: Line| {
            let matches = |pattern: &Pattern| {
                let (case, mode) = (Case::Sensitive, Mode::NO_MATCH_SLASH_LITERAL);
                pattern.matches_repo_relative_path(path, name, Some(is_directory), case, mode)
            };
            if last < Some(line) && matches(&self.lines[line as usize]) {
                last = Some(line);
            }
        };
        // the last ones are asked first, so that most of the others need not be
        inside.iter().rev().for_each(|line| ask(*line));
        self.near.named(path, ask);
        last.map(|line| !self.lines[line as usize].is_negative())
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

    /// Every line is asked, as git does.
    fn asked_all(lines: &[Pattern], path: &BStr) -> bool {
        let (mut rest, mut is_directory) = (path, false);
        loop {
            let name = rest.rfind_byte(b'/').map(|at| at + 1);
            let found = lines.iter().rev().find(|line| {
                let (case, mode) = (Case::Sensitive, Mode::NO_MATCH_SLASH_LITERAL);
                line.matches_repo_relative_path(rest, name, Some(is_directory), case, mode)
            });
            match (found, name) {
                (Some(line), _) => return line.is_negative(),
                (None, None) => return true,
                (None, Some(name)) => (rest, is_directory) = (rest[..name - 1].into(), true),
            }
        }
    }

    /// Numbers that look random and are the same every time.
    struct Numbers(u64);

    impl Numbers {
        fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            from[usize::try_from(self.0 >> 33).expect("it is small") % from.len()]
        }

        fn line(&mut self) -> String {
            let parts = [
                "a", "b", "ab", "a.b", "*", "**", "?", "*.b", "*b", "a*", "[ab]", "\\a", "**b",
                "a?", "*a*", "\\*", "b**", ".b", "*.a.b", "[!a]b",
            ];
            let mut line = format!(
                "{}{}",
                self.pick(&["", "!", "!"]),
                self.pick(&["", "", "/"])
            );
            line += self.pick(&["", "", "**/", "a/", "a/b/"]);
            line += self.pick(&parts);
            for _ in 0..self.pick(&["", "", "1", "22"]).len() {
                line += "/";
                line += self.pick(&parts);
            }
            line + self.pick(&["", "", "/", "/**", "/*", "/*/**", "/**/"])
        }
    }

    #[test]
    fn asking_only_what_is_near_changes_no_answer() {
        let names = [
            "a", "b", "ab", "a.b", "x.b", "xb", "aa", "ba", "*", ".b", "a.a.b", "bb",
        ];
        let mut paths: Vec<String> = names.map(str::to_owned).to_vec();
        for first in names {
            for second in names {
                paths.push(format!("{first}/{second}"));
                paths.extend(names.map(|third| format!("{first}/{second}/{third}")));
                paths.push(format!("{second}/a/{first}/b/{second}"));
            }
        }
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let (mut out, mut all) = (0, 0);
        for round in 0..300 {
            let count = 1 + round % 12;
            let text: String = (0..count).map(|_| numbers.line() + "\n").collect();
            let mut rules = SparseRules::new(text.as_bytes());
            let lines = rules.lines.clone();
            for path in &paths {
                let expected = asked_all(&lines, path.as_str().into());
                let found = rules.leaves_out(&RepoPath::parse(path.as_str()).expect("a path"));
                assert_eq!(found, expected, "{path} of\n{text}");
                all += 1;
                out += usize::from(expected);
            }
        }
        assert!(out > all / 10 && out < all * 9 / 10, "{out} of {all}");
    }
}
