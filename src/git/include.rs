//! Reads `.worktreeinclude`, which selects as `.gitignore` ignores (gitignore(5)), and asks git
//! what is ignored.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};
use gix_glob::Pattern;
use gix_glob::pattern::{Case, Mode};
use gix_ignore::Search;
use gix_ignore::search::Ignore;

use super::error::GitError;
use super::ignore::NameCase;
use super::index_edit::nul_ended;
use super::process::Git;
use crate::path::RepoPath;

/// Represents the rules of one `.worktreeinclude`, which stands at the root.
pub struct IncludeRules {
    list: Search,
    reaches: Vec<Reach>,
    case: Case,
}

/// Says where a rule can match.
struct Reach {
    /// Below this directory, or on the way to it; empty for the root.
    directory: BString,
    /// How many components a path that it matches has; none for any number.
    depth: Option<usize>,
}

impl IncludeRules {
    /// Reads the text.
    #[must_use]
    pub fn new(text: &[u8], case: NameCase) -> Self {
        let parse = Ignore {
            support_precious: false,
        };
        let list = gix_glob::search::pattern::List {
            patterns: gix_glob::search::Pattern::bytes_to_patterns(&parse, text, "".as_ref()),
            source: None,
            base: None,
        };
        let positive = list.patterns.iter().map(|rule| &rule.pattern);
        let reaches = positive
            .filter(|rule| !rule.is_negative())
            .map(Reach::of)
            .collect();
        Self {
            list: Search {
                patterns: vec![list],
            },
            reaches,
            case: match case {
                NameCase::Sensitive => Case::Sensitive,
                NameCase::Insensitive => Case::Fold,
            },
        }
    }

    /// Whether the last rule that matches a path selects it. What is in a directory that is
    /// selected is selected too, which is the caller's to know.
    #[must_use]
    pub fn selects(&self, path: &RepoPath, is_directory: IsDirectory) -> bool {
        let is_directory = Some(is_directory == IsDirectory::Yes);
        let found =
            self.list
                .pattern_matching_relative_path(path.as_bstr(), is_directory, self.case);
        found.is_some_and(|found| !found.pattern.is_negative())
    }

    /// Whether a rule may select something in a directory that is not selected itself; none is
    /// the root.
    #[must_use]
    pub fn reach_into(&self, directory: Option<&RepoPath>) -> bool {
        let directory = directory.map(RepoPath::as_bstr).unwrap_or_default();
        self.reaches
            .iter()
            .any(|reach| reach.is_into(directory, self.case))
    }
}

/// Says whether a path is a directory; a link to one is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsDirectory {
    /// It is.
    Yes,
    /// It is not.
    No,
}

impl Reach {
    fn of(rule: &Pattern) -> Self {
        let text = &rule.text;
        let anywhere = rule.mode.contains(Mode::NO_SUB_DIR) && !rule.mode.contains(Mode::ABSOLUTE);
        let literal = &text[..rule.first_wildcard_pos.unwrap_or(text.len())];
        let directory = &literal[..literal.rfind_byte(b'/').unwrap_or(0)];
        let bounded = !anywhere && !text.contains_str("**");
        Self {
            directory: if anywhere {
                "".into()
            } else {
                directory.into()
            },
            depth: bounded.then(|| components(text.as_bstr()).count()),
        }
    }

    fn is_into(&self, directory: &BStr, case: Case) -> bool {
        let same = |(a, b): (&[u8], &[u8])| match case {
            Case::Sensitive => a == b,
            Case::Fold => a.eq_ignore_ascii_case(b),
        };
        let deep = components(directory).count();
        let near = components(directory)
            .zip(components(self.directory.as_bstr()))
            .all(same);
        near && self.depth.is_none_or(|depth| deep < depth)
    }
}

fn components(path: &BStr) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
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
        let answer = self.run(&args, Some(&input))?;
        match answer.status {
            Some(0) => {}
            // none is
            Some(1) => return Ok(HashSet::new()),
            Some(_) | None => return Err(self.failed("ask what is ignored", &args, &answer)),
        }
        let names = answer.stdout.split(|byte| *byte == 0);
        let path = |name: &[u8]| RepoPath::parse(name.strip_prefix(b"./")?).ok();
        Ok(names.filter_map(path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_followed_only_where_they_can_match() {
        for (text, into, not_into) in [
            (".env", vec!["", "a", "a/b/c"], vec![]),
            ("/.env", vec![""], vec!["a", "a/b"]),
            (
                "/config/*.json",
                vec!["", "config"],
                vec!["src", "config/a"],
            ),
            (
                "config/local.json",
                vec!["", "config"],
                vec!["src", "config/a"],
            ),
            ("a/*/c", vec!["", "a", "a/b"], vec!["b", "a/b/c"]),
            ("a/**", vec!["", "a", "a/b/c"], vec!["b"]),
            ("**/x", vec!["", "a", "a/b"], vec![]),
            ("a/**/x", vec!["", "a", "a/b/c"], vec!["b"]),
            ("a\\*/x", vec!["", "a*", "b"], vec!["a/b"]),
            ("node_modules/", vec!["", "a"], vec![]),
            ("/node_modules/", vec![""], vec!["a"]),
            ("# none\n\n!x\n", vec![], vec!["", "a"]),
            ("", vec![], vec![""]),
        ] {
            let rules = IncludeRules::new(text.as_bytes(), NameCase::Sensitive);
            let reach = |path: &str| rules.reach_into(RepoPath::parse(path).ok().as_ref());
            for path in into {
                assert!(reach(path), "{text:?} reaches into {path:?}");
            }
            for path in not_into {
                assert!(!reach(path), "{text:?} does not reach into {path:?}");
            }
        }
        let rules = IncludeRules::new(b"Config/x", NameCase::Insensitive);
        assert!(rules.reach_into(RepoPath::parse("CONFIG").ok().as_ref()));
    }
}
