//! Finds what several worktrees may write: tracked files in common, and patterns that meet.
//!
//! Two write patterns meet where one of a few example paths, built from both, may be written in
//! both scopes. Every reported pair is real; patterns that meet only at unusual names are not
//! found. Worktrees whose scopes write alike are compared once, as a group: dozens that a scheduler
//! created from one profile cost as much as one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::scope::compiled::Scope;
use crate::scope::pattern::ScopePattern;
use crate::scope::rule::{Access, Case, EntryKind, RuleList};
use crate::words::path::{RepoPath, escape_for_rule, first_of};

/// How many files a refusal names for each worktree.
const REFUSED: usize = 20;

/// The name and the frozen scope of a worktree that an agent may be working in.
pub type WorktreeScope = (String, Scope);

/// What worktrees may both write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Some worktrees, which write alike; none for the one that `add` is about to create.
    pub first: Vec<String>,
    /// Others, each of which may write the same as each of the first; none if the overlap is
    /// among the first themselves.
    pub second: Vec<String>,
    /// The tracked files that both may write, sorted.
    pub files: Vec<RepoPath>,
    /// The patterns by which both may create the same new file.
    pub patterns: Vec<SharedPatterns>,
}

/// A write pattern of each side that meet at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPatterns {
    /// The pattern of the first.
    pub first: String,
    /// The pattern of the second.
    pub second: String,
    /// A path that both may write.
    pub example: RepoPath,
}

/// Worktrees that write alike.
#[derive(Clone)]
struct Group<'s> {
    names: Vec<String>,
    /// The scope of one of them.
    scope: &'s Scope,
}

/// Groups worktrees of which all but the read rules are the same.
fn groups(worktrees: &[WorktreeScope]) -> Vec<Group<'_>> {
    let mut by_rules = BTreeMap::new();
    for (name, scope) in worktrees {
        let mut rules = BTreeSet::new();
        for rule in scope.rules() {
            if rule.list != RuleList::Read {
                rules.insert((rule.list, &rule.pattern));
            }
        }
        let group = by_rules.entry((scope.case, rules)).or_insert(Group {
            names: Vec::new(),
            scope,
        });
        group.names.push(name.clone());
    }
    let mut groups: Vec<Group<'_>> = by_rules.into_values().collect();
    groups.sort_by(|a, b| a.names.cmp(&b.names));
    groups
}

/// Returns those of the paths that a scope lets be written.
fn writable(scope: &Scope, paths: &[(RepoPath, EntryKind)]) -> Vec<(RepoPath, EntryKind)> {
    let mut classifier = scope.classifier();
    let mut writable = Vec::new();
    for (path, kind) in paths {
        if classifier.verdict(path, *kind).access == Access::Write {
            writable.push((path.clone(), *kind));
        }
    }
    writable
}

/// Compares two groups; `first_writes` are the tracked files that the first may write. None if
/// nothing is in common.
fn overlap(
    first: Group<'_>,
    second: Group<'_>,
    first_writes: &[(RepoPath, EntryKind)],
) -> Option<Overlap> {
    let both_write = writable(second.scope, first_writes).into_iter();
    let files: Vec<RepoPath> = both_write.map(|(path, _)| path).collect();
    let patterns = shared_patterns(first.scope, second.scope);
    if files.is_empty() && patterns.is_empty() {
        return None;
    }
    Some(Overlap {
        first: first.names,
        second: second.names,
        files,
        patterns,
    })
}

/// Finds what a new worktree and the existing ones may both write.
pub fn overlaps_of(
    scope: &Scope,
    worktrees: &[WorktreeScope],
    tracked: &[(RepoPath, EntryKind)],
) -> Vec<Overlap> {
    let new_writes = writable(scope, tracked);
    let mut overlaps = Vec::new();
    for group in groups(worktrees) {
        let new = Group {
            names: Vec::new(),
            scope,
        };
        overlaps.extend(overlap(new, group, &new_writes));
    }
    overlaps
}

/// Finds what any two worktrees may both write.
pub fn overlaps_among(
    worktrees: &[WorktreeScope],
    tracked: &[(RepoPath, EntryKind)],
) -> Vec<Overlap> {
    let groups = groups(worktrees);
    let mut overlaps = Vec::new();
    for (at, first) in groups.iter().enumerate() {
        let first_writes = writable(first.scope, tracked);
        if first.names.len() > 1 {
            let among_themselves = Group {
                names: Vec::new(),
                scope: first.scope,
            };
            overlaps.extend(overlap(first.clone(), among_themselves, &first_writes));
        }
        for second in &groups[at + 1..] {
            overlaps.extend(overlap(first.clone(), second.clone(), &first_writes));
        }
    }
    overlaps
}

/// Every pair of write patterns that meet.
fn shared_patterns(first: &Scope, second: &Scope) -> Vec<SharedPatterns> {
    let mut shared = Vec::new();
    for (first_rule, first_pattern) in first.list(RuleList::Write) {
        for (second_rule, second_pattern) in second.list(RuleList::Write) {
            for example in examples(first_pattern, second_pattern) {
                let Ok(path) = RepoPath::parse(example) else {
                    continue;
                };
                if is_writable_by(first, first_pattern, &path)
                    && is_writable_by(second, second_pattern, &path)
                {
                    shared.push(SharedPatterns {
                        first: first_rule.pattern.clone(),
                        second: second_rule.pattern.clone(),
                        example: path,
                    });
                    break;
                }
            }
        }
    }
    shared
}

/// True if a pattern of a scope covers a path, and no other rule forbids to write it.
fn is_writable_by(scope: &Scope, pattern: &ScopePattern, path: &RepoPath) -> bool {
    let covers = match scope.case {
        Case::Sensitive => pattern.covers(path.as_bstr()),
        Case::Insensitive => pattern.covers(&path.as_bstr().to_ascii_lowercase()),
    };
    covers && scope.verdict(path, EntryKind::File).access == Access::Write
}

/// Paths at which two patterns may meet: an example of either, the example of one in the literal
/// directory of the other or below its example, and the literal beginning of one with the literal
/// end of the other.
fn examples(first: &ScopePattern, second: &ScopePattern) -> Vec<Vec<u8>> {
    let mut examples = Vec::new();
    for filler in [b"a".as_slice(), b"new-file", b"0"] {
        let first_example = first.example(filler);
        let second_example = second.example(filler);
        for (pattern, example, other) in [
            (first, &first_example, second),
            (second, &second_example, first),
        ] {
            let literal_directory = &other.glob.prefix[..directory_length(other)];
            let in_directory = &example[directory_length(pattern)..];
            examples.push([literal_directory, in_directory].concat());
            examples.push([&pattern.glob.prefix, filler, &other.glob.suffix].concat());
            examples.push(example.clone());
        }
        examples.push([&*first_example, b"/", &second_example].concat());
        examples.push([&*second_example, b"/", &first_example].concat());
    }
    examples
}

/// Returns the length of the literal directory that a pattern begins with, its slash included.
fn directory_length(pattern: &ScopePattern) -> usize {
    let slash = pattern.glob.prefix.iter().rposition(|byte| *byte == b'/');
    slash.map_or(0, |slash| slash + 1)
}

impl Overlap {
    /// Every pair of worktrees that overlap.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for (at, first) in self.first.iter().enumerate() {
            let seconds = if self.second.is_empty() {
                &self.first[at + 1..]
            } else {
                &self.second
            };
            for second in seconds {
                pairs.push((first.as_str(), second.as_str()));
            }
        }
        pairs
    }

    /// What both may write, in one line: the number of files and some names, or the patterns that
    /// meet.
    pub fn summary(&self, shown: usize) -> String {
        let names = first_of(&self.files, shown);
        match self.files.len() {
            0 => format!("the same new files: {}", self.pattern_text(shown)),
            1 => format!("the same file: {names}"),
            n => format!("the same {n} files: {names}"),
        }
    }

    fn pattern_text(&self, shown: usize) -> String {
        first_of(&self.patterns, shown)
    }

    fn quoted_names(&self, shown: usize) -> String {
        first_of(self.second.iter().map(|name| format!("`{name}`")), shown)
    }
}

impl fmt::Display for SharedPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", escape_for_rule(&self.first))?;
        if self.first != self.second {
            write!(f, " and `{}`", escape_for_rule(&self.second))?;
        }
        write!(f, " (such as {})", self.example)
    }
}

/// What a refusal says of overlaps.
pub fn refused_items(overlaps: &[Overlap]) -> Vec<String> {
    let mut items = Vec::new();
    for overlap in overlaps {
        let names = overlap.quoted_names(usize::MAX);
        items.push(format!("{names}: {}", overlap.summary(REFUSED)));
        if !overlap.files.is_empty() && !overlap.patterns.is_empty() {
            items.push(format!("  by {}", overlap.pattern_text(REFUSED)));
        }
    }
    items
}

/// The line that a user gets of overlaps; none if there are none.
pub fn note_on(overlaps: &[Overlap]) -> Option<String> {
    let number: usize = overlaps.iter().map(|overlap| overlap.second.len()).sum();
    let has_files = overlaps.iter().any(|overlap| !overlap.files.is_empty());
    let files = if has_files { "files" } else { "new files" };
    let worktrees = match number {
        0 => return None,
        1 => "1 worktree".to_owned(),
        more => format!("{more} worktrees"),
    };
    Some(format!(
        "may write the same {files} as {worktrees}: git agentwt list --overlap"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::rule::{RuleOrigin, ScopeRule};

    fn scope(write: &[&str]) -> Scope {
        let mut rules = vec![ScopeRule::new(RuleList::Read, "**", RuleOrigin::Default)];
        let write = write.iter();
        rules.extend(write.map(|p| ScopeRule::new(RuleList::Write, *p, RuleOrigin::Default)));
        Scope::compile(rules, Case::Sensitive).expect("the patterns are valid")
    }

    fn worktrees(all: &[(&str, &[&str])]) -> Vec<WorktreeScope> {
        let one = |(name, write): &(&str, &[&str])| ((*name).to_owned(), scope(write));
        all.iter().map(one).collect()
    }

    fn tracked() -> Vec<(RepoPath, EntryKind)> {
        let paths = ["README.md", "docs/a.md", "src/a.rs", "src/b.rs"];
        let one = |path| (RepoPath::parse(path).expect("normal"), EntryKind::File);
        paths.map(one).into()
    }

    #[test]
    fn worktrees_that_write_alike_are_one_group() {
        let all = worktrees(&[
            ("a", &["src/**"]),
            ("b", &["docs/**"]),
            ("c", &["src/**"]),
            ("d", &["src/b.rs", "docs/x"]),
        ]);
        let overlaps = overlaps_among(&all, &tracked());
        let said: Vec<_> = overlaps
            .iter()
            .map(|one| format!("{:?} {}", one.pairs(), one.summary(2)))
            .collect();
        assert_eq!(
            said,
            [
                r#"[("a", "c")] the same 2 files: src/a.rs, src/b.rs"#,
                r#"[("a", "d"), ("c", "d")] the same file: src/b.rs"#,
                r#"[("b", "d")] the same new files: `docs/**` and `docs/x` (such as docs/x)"#,
            ]
        );
    }

    /// The example at which the write patterns of two scopes meet.
    fn meets(first: &[(RuleList, &str)], second: &[(RuleList, &str)]) -> Option<String> {
        let scope = |rules: &[(RuleList, &str)]| {
            let rules = rules.iter();
            let rules = rules.map(|(list, text)| ScopeRule::new(*list, *text, RuleOrigin::Default));
            Scope::compile(rules.collect(), Case::Sensitive).expect("the patterns are valid")
        };
        let shared = shared_patterns(&scope(first), &scope(second));
        shared.first().map(|shared| shared.example.to_string())
    }
    use RuleList::{Exclude, Write};

    #[test]
    fn patterns_meet_where_both_cover_a_path() {
        for (first, second, example) in [
            ("src/**", "*.rs", Some("src/a.rs")),
            ("src/**", "src/**", Some("src/a")),
            ("src/**", "docs/**", None),
            ("src/**", "/src/main.rs", Some("src/main.rs")),
            ("src/**", "src/deep/**/x/*.rs", Some("src/deep/x/a.rs")),
            ("src/**/x/*.rs", "src/y/**", Some("src/y/x/a.rs")),
            ("src/test_*", "*.py", Some("src/test_a.py")),
            ("src/test_*", "**/test_x/*", Some("src/test_x/a")),
            ("a/", "src/test_*", Some("src/test_a/a/a")),
            ("/src", "src/a/b.c", Some("src/a/b.c")),
            ("src/main.rs", "src/main.rs.bak", None),
            ("/*.rs", "/*.toml", None),
            ("a/b", "a/c", None),
            ("a/", "/a", Some("a/a")),
            ("[a-c]", "[c-e]", Some("c")),
            ("/[a-c]", "/[d-e]", None),
            ("/?", "/??", None),
            ("/a*z", "/b*z", None),
            ("/*a", "/*b", None),
            ("/.agentwt/x", ".agentwt/x", None),
        ] {
            let met = meets(&[(Write, first)], &[(Write, second)]);
            assert_eq!(met.as_deref(), example, "{first} and {second}");
            let turned = meets(&[(Write, second)], &[(Write, first)]);
            assert_eq!(turned.is_some(), example.is_some(), "{second} and {first}");
        }
    }

    #[test]
    fn one_letter_that_is_excluded_is_not_the_only_one() {
        let narrow = [(Write, "/?"), (Exclude, "/a")];
        let met = meets(&narrow, &[(Write, "/?")]);
        assert_eq!(met.as_deref(), Some("n"));
    }

    #[test]
    fn only_the_patterns_that_cover_a_path_meet_there() {
        let shared = shared_patterns(&scope(&["src/**", "docs/**"]), &scope(&["src/**"]));
        let said: Vec<String> = shared.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["`src/**` (such as src/a)"]);
    }

    #[test]
    fn what_worktrees_read_does_not_keep_them_apart() {
        let read_more = [(RuleList::Write, "src/**"), (RuleList::Read, "docs/")];
        let rules = read_more.map(|(list, text)| ScopeRule::new(list, text, RuleOrigin::Default));
        let reader = Scope::compile(rules.into(), Case::Sensitive).expect("the rules are valid");
        let mut all = worktrees(&[("a", &["src/**"])]);
        all.push(("b".to_owned(), reader));
        assert_eq!(groups(&all).len(), 1);
    }

    #[test]
    fn a_new_worktree_meets_each_that_may_write_the_same() {
        let tracked = [(RepoPath::parse("amz").expect("normal"), EntryKind::File)];
        let all = worktrees(&[("a", &["/a*z"]), ("b", &["/b*"])]);
        // the file is in both, and no example of the patterns is
        let overlaps = overlaps_of(&scope(&["/*m*"]), &all, &tracked);
        let items = refused_items(&overlaps);
        assert_eq!(items[0], "`a`: the same file: amz");
        assert!(overlaps[0].patterns.is_empty());
        assert_eq!(overlaps_of(&scope(&["/c*z"]), &all, &tracked), []);
    }

    #[test]
    fn patterns_do_not_meet_in_what_either_scope_excludes() {
        for (exclude, example) in [
            ("src/", None),
            ("*", None),
            ("src/*", None),
            ("*.rs", Some("src/a")),
            ("src/a*", Some("src/new-file")),
            ("src/[a-z]*", Some("src/0")),
        ] {
            let (narrow, wide) = ([(Write, "src/**"), (Exclude, exclude)], [(Write, "src/**")]);
            assert_eq!(
                meets(&narrow, &wide).as_deref(),
                example,
                "without {exclude}"
            );
            assert_eq!(
                meets(&wide, &narrow).as_deref(),
                example,
                "without {exclude}"
            );
        }
    }

    #[test]
    fn all_worktrees_get_one_note() {
        let overlap = |names: &[&str], file: Option<&str>| Overlap {
            second: names.iter().map(ToString::to_string).collect(),
            files: file
                .and_then(|file| RepoPath::parse(file).ok())
                .into_iter()
                .collect(),
            ..Overlap::default()
        };
        let new_files = overlap(&["a"], None);
        let said = note_on(std::slice::from_ref(&new_files)).unwrap_or_default();
        assert!(
            said.starts_with("may write the same new files as 1 worktree:"),
            "{said}"
        );
        let overlaps = [new_files, overlap(&["b", "c"], Some("a"))];
        let said = note_on(&overlaps).unwrap_or_default();
        assert!(
            said.starts_with("may write the same files as 3 worktrees:"),
            "{said}"
        );
        assert_eq!(note_on(&[]), None);
        let patterns = SharedPatterns {
            first: "a*".to_owned(),
            second: "*b".to_owned(),
            example: RepoPath::parse("ab").expect("normal"),
        };
        let mut with_patterns = overlaps.clone();
        for overlap in &mut with_patterns {
            overlap.patterns.push(patterns.clone());
        }
        let meet = "`a*` and `*b` (such as ab)";
        assert_eq!(
            refused_items(&with_patterns),
            [
                format!("`a`: the same new files: {meet}"),
                "`b`, `c`: the same file: a".to_owned(),
                format!("  by {meet}"),
            ]
        );
        assert_eq!(
            refused_items(&overlaps)[1..],
            ["`b`, `c`: the same file: a"]
        );
    }
}
