//! Finds what several worktrees may write: tracked files in common, and patterns that meet.
//!
//! Two write patterns meet where one of a few example paths, built from both, may be written in both
//! scopes. Every reported pair is real; patterns that meet only at unusual names are not found.
//! Worktrees whose scopes write alike are compared once, as a group: dozens that a scheduler created
//! from one profile cost as much as one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::scope::pattern::ScopePattern;
use crate::scope::{Access, Case, EntryKind, RuleList, Scope};
use crate::words::path::{RepoPath, escape_for_rule, first_of};

/// How many files a refusal names for each worktree.
const REFUSED: usize = 20;

/// The name and the frozen scope of a worktree that an agent may be working in.
pub type WorktreeScope = (String, Scope);

/// Says what worktrees may both write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Some worktrees, which write alike; none for the one that `add` is about to create.
    pub first: Vec<String>,
    /// Others, each of which may write the same as each of the first; none where the overlap is
    /// among the first themselves.
    pub second: Vec<String>,
    /// The tracked files that both may write, sorted.
    pub files: Vec<RepoPath>,
    /// The patterns by which both may create the same new file.
    pub patterns: Vec<SharedPatterns>,
}

/// Names a write pattern of each side that meet at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPatterns {
    /// The pattern of the first.
    pub first: String,
    /// The pattern of the second.
    pub second: String,
    /// A path that both may write.
    pub example: RepoPath,
}

/// The names of worktrees that write alike, and the scope of one.
type Group<'s> = (Vec<String>, &'s Scope);

fn groups(worktrees: &[WorktreeScope]) -> Vec<Group<'_>> {
    let mut groups = BTreeMap::new();
    for (name, scope) in worktrees {
        let rules = (scope.rules().iter()).filter(|rule| rule.list != RuleList::Read);
        let rules: BTreeSet<_> = rules.map(|rule| (rule.list, &rule.pattern)).collect();
        let group = groups.entry((scope.case, rules));
        group.or_insert((Vec::new(), scope)).0.push(name.clone());
    }
    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups
}

/// Those of the paths that a scope lets be written.
fn writable(scope: &Scope, paths: &[(RepoPath, EntryKind)]) -> Vec<(RepoPath, EntryKind)> {
    let mut classifier = scope.classifier();
    let mut may = |(path, kind): &&(RepoPath, EntryKind)| {
        classifier.verdict(path, *kind).access == Access::Write
    };
    paths.iter().filter(&mut may).cloned().collect()
}

/// Compares two scopes; `ours` are the tracked files that the first may write. None where nothing is
/// in common.
fn overlap(first: Group<'_>, second: Group<'_>, ours: &[(RepoPath, EntryKind)]) -> Option<Overlap> {
    let files = writable(second.1, ours).into_iter();
    let overlap = Overlap {
        files: files.map(|(path, _)| path).collect(),
        patterns: shared_patterns(first.1, second.1),
        first: first.0,
        second: second.0,
    };
    (!overlap.files.is_empty() || !overlap.patterns.is_empty()).then_some(overlap)
}

/// Finds what a new worktree and the existing ones may both write.
pub fn overlaps_of(
    scope: &Scope,
    worktrees: &[WorktreeScope],
    tracked: &[(RepoPath, EntryKind)],
) -> Vec<Overlap> {
    let ours = writable(scope, tracked);
    let all = groups(worktrees).into_iter();
    all.filter_map(|group| overlap((Vec::new(), scope), group, &ours))
        .collect()
}

/// Finds what any two worktrees may both write.
pub fn overlaps_among(
    worktrees: &[WorktreeScope],
    tracked: &[(RepoPath, EntryKind)],
) -> Vec<Overlap> {
    let groups = groups(worktrees);
    let mut all = Vec::new();
    for (at, first) in groups.iter().enumerate() {
        let ours = writable(first.1, tracked);
        if first.0.len() > 1 {
            all.extend(overlap(first.clone(), (Vec::new(), first.1), &ours));
        }
        let others = groups[at + 1..].iter();
        all.extend(others.filter_map(|second| overlap(first.clone(), second.clone(), &ours)));
    }
    all
}

/// Every pair of write patterns that meet.
fn shared_patterns(first: &Scope, second: &Scope) -> Vec<SharedPatterns> {
    let mut shared = Vec::new();
    for (rule, pattern) in first.list(RuleList::Write) {
        for (other_rule, other) in second.list(RuleList::Write) {
            let is_common = |path: &RepoPath| {
                is_writable_by(first, pattern, path) && is_writable_by(second, other, path)
            };
            let examples = examples(pattern, other).into_iter();
            let mut examples = examples.filter_map(|path| RepoPath::parse(path).ok());
            shared.extend(examples.find(is_common).map(|example| SharedPatterns {
                first: rule.pattern.clone(),
                second: other_rule.pattern.clone(),
                example,
            }));
        }
    }
    shared
}

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
    let directory = |pattern: &ScopePattern| {
        let end = pattern.glob.prefix.iter().rposition(|byte| *byte == b'/');
        end.map_or(0, |slash| slash + 1)
    };
    let (mut all, mut below) = (Vec::new(), Vec::new());
    for filler in [b"a".as_slice(), b"new-file", b"0"] {
        for (one, other) in [(first, second), (second, first)] {
            let example = one.example(filler);
            let literal = &other.glob.prefix[..directory(other)];
            all.push([literal, &example[directory(one)..]].concat());
            all.push([&one.glob.prefix, filler, &other.glob.suffix].concat());
            below.push([&*example, b"/", &other.example(filler)].concat());
            all.push(example);
        }
        all.append(&mut below);
    }
    all
}

impl Overlap {
    /// Every pair of worktrees that overlap.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let seconds = |at: usize| match self.second.as_slice() {
            [] => &self.first[at + 1..],
            second => second,
        };
        let firsts = self.first.iter().enumerate();
        let pairs = firsts.flat_map(|(at, first)| {
            let seconds = seconds(at).iter();
            seconds.map(move |second| (first.as_str(), second.as_str()))
        });
        pairs.collect()
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

/// The line that a user gets of overlaps; none where there are none.
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
    use crate::scope::{Origin, ScopeRule};

    fn scope(write: &[&str]) -> Scope {
        let mut rules = vec![ScopeRule::new(RuleList::Read, "**", Origin::Default)];
        let write = write.iter();
        rules.extend(write.map(|p| ScopeRule::new(RuleList::Write, *p, Origin::Default)));
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
            let rules = rules.map(|(list, text)| ScopeRule::new(*list, *text, Origin::Default));
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
        assert_eq!(refused_items(&overlaps)[1], "`b`, `c`: the same file: a");
    }
}
