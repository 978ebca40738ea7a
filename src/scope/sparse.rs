//! Renders a scope as a sparse-checkout file (non-cone mode).
//!
//! Git asks the file for the path first, then for its parents, and the first level at which any
//! line matches decides by its last matching line. So a positive that matches a file beats an
//! exclude that matches only its directory; therefore all positives come first and each exclude is
//! there twice, for the entries it matches and for all that lies below them. The second line must
//! match exactly what lies below *directories* that the first one matches, at the path's own level.
//!
//! Two readers take the lines. `git sparse-checkout set --stdin` takes them as they are; every
//! later command reads the file, which trims trailing spaces, strips a byte order mark and has
//! comments. The lines mean the same to both.
//!
//! One thing no pattern can say: git (all versions up to 2.55) asks the *disk* whether a gitlink is
//! a directory (`ce_to_dtype` swaps the bytes of a mode that is not swapped), so `!sub/` hides the
//! submodule only while it is there, and each checkout turns it over. Such gitlinks get a line of
//! their own, without the slash.

use std::borrow::Borrow;
use std::collections::HashSet;

use bstr::BString;

use crate::scope::classifier::Classifier;
use crate::scope::compiled::Scope;
use crate::scope::glob;
use crate::scope::pattern::ScopePattern;
use crate::scope::rule::{Access, Case, EntryKind, RuleList};
use crate::words::path::RepoPath;

impl Scope {
    /// Renders the scope for a tree with these gitlinks (entries of mode 160000): exactly the paths
    /// that are not [`Excluded`](Access::Excluded) are in the sparse checkout. A gitlink gets a
    /// line where git's answer would depend on whether the submodule's directory is on disk.
    pub fn sparse_patterns<P: Borrow<RepoPath>>(
        &self,
        gitlinks: impl IntoIterator<Item = P>,
    ) -> Vec<u8> {
        let mut lines = self.positive_lines();
        for (_, pattern) in self.list(RuleList::Exclude) {
            lines.push(format!("!{}", positive(pattern)).into());
            if let Some(contents) = contents(pattern) {
                lines.push(format!("!{contents}").into());
            }
        }
        let mut classifier = self.classifier();
        for gitlink in gitlinks {
            lines.extend(gitlink_line(&mut classifier, gitlink.borrow()));
        }
        let mut seen = HashSet::new();
        lines.retain(|line| seen.insert(line.clone()));
        // The memory bank: the rest of `.agentwt`, which may also be a file, is absent. These come
        // last, whatever an earlier line says of the paths.
        for line in ["!/.agentwt", "!/.agentwt/**", "/.agentwt/memory/**"] {
            lines.retain(|earlier| earlier != line);
            lines.push(line.into());
        }
        lines.push(BString::default());
        bstr::join("\n", lines)
    }

    /// The lines for all that the user's read and write rules match.
    fn positive_lines(&self) -> Vec<BString> {
        let mut lines = Vec::new();
        for list in [RuleList::Read, RuleList::Write] {
            for (_, pattern) in self.list(list) {
                if pattern.is_everything() {
                    return vec!["/*".into()];
                }
                lines.push(positive(pattern).into());
            }
        }
        lines
    }
}

/// The line that a gitlink needs where its access depends on whether it is taken for a directory:
/// it is what the directory is.
fn gitlink_line(classifier: &mut Classifier<'_>, path: &RepoPath) -> Option<BString> {
    let as_directory = classifier.verdict(path, EntryKind::Directory).access;
    let as_file = classifier.verdict(path, EntryKind::File).access;
    let is_excluded = as_directory == Access::Excluded;
    if is_excluded == (as_file == Access::Excluded) {
        return None;
    }
    let mut line = literal(path);
    if is_excluded {
        line.insert(0, b'!');
    }
    Some(line)
}

/// The line that matches this path and no other. A newline cannot be in a line: `?` stands for it.
fn literal(path: &RepoPath) -> BString {
    let path = path.as_bstr();
    let mut line = BString::from("/");
    for (at, byte) in path.iter().enumerate() {
        let is_last = at + 1 == path.len();
        match byte {
            b'\n' => line.push(b'?'),
            b'\r' if is_last => line.push(b'?'),
            b'*' | b'?' | b'[' | b'\\' => line.extend([b'\\', *byte]),
            b' ' if is_last => line.extend(*br"\ "),
            other => line.push(*other),
        }
    }
    line
}

/// The line that matches what the pattern matches.
fn positive(pattern: &ScopePattern) -> String {
    let mut text = with_fewer_stars(pattern);
    if text.starts_with('\u{feff}') {
        // At the start of the file git takes it for a byte order mark.
        text.insert(0, '\\');
    }
    if pattern.is_of_directories {
        text.push('/');
    }
    text
}

/// The line that matches all that lies below the directories which the pattern matches, or none
/// if the pattern itself does.
fn contents(pattern: &ScopePattern) -> Option<String> {
    let line = with_fewer_stars(pattern);
    if !pattern.is_anchored {
        return Some(format!("**/{line}/**"));
    }
    if !pattern.ends_with_everything() {
        return Some(format!("{line}/**"));
    }
    // `a/**/` matches directories below `a`; `a/**/**` would match the files in `a` as well.
    (pattern.is_of_directories).then(|| format!("{line}/*/**"))
}

/// Writes one star for a run of stars that is not `**`, and two for a longer one that is. Git
/// before 2.52 cut the literal start of a pattern off and then took `a**/b` for `a` followed by
/// `**/b`; and a slashless `**` becomes part of a longer pattern here.
fn with_fewer_stars(pattern: &ScopePattern) -> String {
    let bytes = pattern.line.as_bytes();
    let mut kept = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = piece_length(rest);
        if rest[0] == b'*' {
            kept.extend(std::iter::repeat_n(b'*', stars(pattern, at, length)));
        } else {
            kept.extend_from_slice(&rest[..length]);
        }
        at += length;
    }
    String::from_utf8(kept).expect("because only whole `*` were left out")
}

/// Returns the length of what a pattern begins with: a run of stars, an escaped byte, a bracket
/// expression, or one byte.
fn piece_length(pattern: &[u8]) -> usize {
    match pattern {
        [b'*', ..] => pattern.iter().take_while(|byte| **byte == b'*').count(),
        [b'\\', _, ..] => 2,
        [b'[', rest @ ..] => {
            let class = glob::parse_class(rest, Case::Sensitive);
            1 + class.map_or(0, |(_, length)| length)
        }
        _ => 1,
    }
}

/// Returns how many stars are written for a run of them.
fn stars(pattern: &ScopePattern, at: usize, run: usize) -> usize {
    let before = &pattern.line[..at];
    let after = &pattern.line[at + run..];
    let starts = before.is_empty() || before.ends_with('/');
    let ends = after.is_empty() || after.starts_with('/') || after.starts_with(r"\/");
    if pattern.is_anchored && run > 1 && starts && ends {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use bstr::{BStr, ByteSlice as _};

    use super::*;
    use crate::scope::rule::RuleList;
    use crate::scope::rule::RuleOrigin;
    use crate::scope::rule::ScopeRule;

    #[track_caller]
    fn assert_lines(rules: &[(RuleList, &str)], expected: &[&str]) {
        let rules = rules
            .iter()
            .map(|(list, pattern)| ScopeRule::new(*list, *pattern, RuleOrigin::Default));
        let scope = Scope::compile(rules.collect(), Case::Sensitive).expect("the rules are valid");
        let file = scope.sparse_patterns(std::iter::empty::<RepoPath>());
        let lines: Vec<&BStr> = file.lines().map(BStr::new).collect();
        let (lines, memory) = lines.split_at(lines.len() - 3);
        assert_eq!(lines, expected);
        let last = ["!/.agentwt", "!/.agentwt/**", "/.agentwt/memory/**"];
        assert_eq!(memory, last, "the memory bank comes last");
    }
    use RuleList::{Exclude, Read, Write};

    #[test]
    fn everything_is_one_line_and_needs_no_other() {
        assert_lines(&[(Read, "**"), (Write, "src/**")], &["/*"]);
        assert_lines(&[(Read, "docs/"), (Write, "*")], &["/*"]);
        // the lines of the memory bank are there once
        assert_lines(&[(Read, "**"), (Exclude, "/.agentwt")], &["/*"]);
    }

    #[test]
    fn positives_come_first_and_once() {
        assert_lines(
            &[
                (Write, "a"),
                (Exclude, "/x"),
                (Read, "b/"),
                (Read, "a"),
                (Write, "b/  "),
            ],
            &["b/", "a", "!/x", "!/x/**"],
        );
    }

    #[test]
    fn each_exclude_is_there_with_its_contents() {
        for (pattern, lines) in [
            ("x", ["!x", "!**/x/**"]),
            ("x/", ["!x/", "!**/x/**"]),
            ("/x/", ["!/x/", "!/x/**"]),
            ("a/x", ["!a/x", "!a/x/**"]),
            ("a/**/", ["!a/**/", "!a/**/*/**"]),
            ("**/", ["!*/", "!**/*/**"]),
            (r"x\ ", [r"!x\ ", r"!**/x\ /**"]),
            (r"\#x", [r"!\#x", r"!**/\#x/**"]),
            ("a/*", ["!a/*", "!a/*/**"]),
            ("a/**b", ["!a/*b", "!a/*b/**"]),
            ("a/**/b", ["!a/**/b", "!a/**/b/**"]),
            ("**/a/b", ["!**/a/b", "!**/a/b/**"]),
            (r"a/**\/b", [r"!a/**\/b", r"!a/**\/b/**"]),
            ("a**b/c***", ["!a*b/c*", "!a*b/c*/**"]),
            ("/[+-**]", ["!/[+-**]", "!/[+-**]/**"]),
            (r"/[*]**\**", [r"!/[*]*\**", r"!/[*]*\**/**"]),
        ] {
            assert_lines(&[(Exclude, pattern)], &lines);
        }
        assert_lines(&[(Exclude, "a/**")], &["!a/**"]);
    }

    #[test]
    fn a_byte_order_mark_in_a_name_is_not_lost() {
        assert_lines(&[(Read, "\u{feff}a")], &["\\\u{feff}a"]);
    }

    #[test]
    fn a_gitlink_gets_a_line_where_git_would_ask_the_disk() {
        let rules = [(Read, "**"), (Exclude, "sub/"), (Exclude, "/lib")];
        let rules = rules.map(|(list, pattern)| ScopeRule::new(list, pattern, RuleOrigin::Default));
        let scope = Scope::compile(rules.into(), Case::Sensitive).expect("the rules are valid");
        let links = ["sub", "a/sub", "lib", "x[", "sub/in"]
            .map(|path| RepoPath::parse(path).expect("it is normal"));
        let file = scope.sparse_patterns(&links);
        let rendered: Vec<&BStr> = file.lines().map(BStr::new).collect();
        assert_eq!(rendered[5..7], ["!/sub", "!/a/sub"]);
        assert_eq!(rendered.len(), 10, "the others need none");
        let rule = ScopeRule::new(Read, "sub/", RuleOrigin::Default);
        let only_links = Scope::compile(vec![rule], Case::Sensitive).expect("it is valid");
        let file = only_links.sparse_patterns(&links[..1]);
        let rendered: Vec<&BStr> = file.lines().map(BStr::new).collect();
        assert_eq!(rendered[..2], ["sub/", "/sub"]);
    }

    #[test]
    fn the_line_of_one_path_escapes_what_git_would_not_take_as_written() {
        for (path, line) in [
            (b"a*\xff\n[ ".as_slice(), b"/a\\*\xff?\\[\\ ".as_slice()),
            (b"a b", b"/a b"),
            (b"a\rb", b"/a\rb"),
            (b"a\r", b"/a?"),
        ] {
            let path = RepoPath::parse(path).expect("it is normal");
            assert_eq!(literal(&path), line);
        }
    }

    #[test]
    fn a_scope_of_nothing_leaves_only_the_memory_bank() {
        assert_lines(&[], &[]);
    }
}
