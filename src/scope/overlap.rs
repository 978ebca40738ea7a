//! Finds what several worktrees may write: tracked files in common, and patterns that meet.
//!
//! Two write patterns meet where one of a few example paths, built from both, may be written in both
//! scopes. Every reported pair is real; patterns that meet only at unusual names are not found.
//! Worktrees whose scopes write alike are compared once, as a group: dozens that a scheduler created
//! from one profile cost as much as one.

use std::collections::BTreeMap;
use std::fmt;

use super::pattern::Pattern;
use super::{Access, Case, EntryKind, RuleList, Scope};
use crate::path::{RepoPath, escape_for_rule};

/// Holds the scope of a worktree that an agent may be working in.
#[derive(Clone, Debug)]
pub struct WorktreeScope {
    /// The worktree's name.
    pub name: String,
    /// Its frozen scope.
    pub scope: Scope,
}

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

struct Group {
    names: Vec<String>,
    scope: Scope,
}

fn groups(worktrees: &[WorktreeScope]) -> Vec<Group> {
    type Writing<'s> = (Case, Vec<(RuleList, &'s str)>);
    let mut groups: BTreeMap<Writing, Group> = BTreeMap::new();
    for WorktreeScope { name, scope } in worktrees {
        let rules = (scope.rules().iter()).filter(|rule| rule.list != RuleList::Read);
        let mut rules: Vec<_> = rules
            .map(|rule| (rule.list, rule.pattern.as_str()))
            .collect();
        rules.sort_unstable();
        let group = groups
            .entry((scope.case(), rules))
            .or_insert_with(|| Group {
                names: Vec::new(),
                scope: scope.clone(),
            });
        group.names.push(name.clone());
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by(|a, b| a.names.cmp(&b.names));
    groups
}

/// The paths that a scope lets be written, in their order.
fn writable<'p>(
    scope: &Scope,
    paths: impl IntoIterator<Item = &'p (RepoPath, EntryKind)>,
) -> Vec<&'p RepoPath> {
    let mut classifier = scope.classifier();
    let may = |(path, kind): &&(RepoPath, EntryKind)| {
        classifier.verdict(path, *kind).access == Access::Write
    };
    let paths = paths.into_iter().filter(may);
    paths.map(|(path, _)| path).collect()
}

/// Finds what a new worktree and the existing ones may both write; `ours` are the tracked files that
/// the new one may.
pub fn overlaps_of(
    scope: &Scope,
    worktrees: &[WorktreeScope],
    ours: &[(RepoPath, EntryKind)],
) -> Vec<Overlap> {
    let overlap = |group: Group| Overlap {
        first: Vec::new(),
        files: writable(&group.scope, ours).into_iter().cloned().collect(),
        patterns: shared_patterns(scope, &group.scope),
        second: group.names,
    };
    let all = groups(worktrees).into_iter().map(overlap);
    all.filter(|overlap| !overlap.is_empty()).collect()
}

/// Finds what any two worktrees may both write.
pub fn overlaps_among(
    worktrees: &[WorktreeScope],
    tracked: &[(RepoPath, EntryKind)],
) -> Vec<Overlap> {
    let groups = groups(worktrees);
    let may = groups.iter().map(|group| writable(&group.scope, tracked));
    let may: Vec<_> = may.collect();
    let mut all = Vec::new();
    for (at, first) in groups.iter().enumerate() {
        for (other, second) in groups.iter().enumerate().skip(at) {
            let is_itself = other == at;
            if is_itself && first.names.len() == 1 {
                continue;
            }
            let in_second = |path: &&&RepoPath| may[other].binary_search(*path).is_ok();
            let files = may[at].iter().filter(in_second);
            all.push(Overlap {
                first: first.names.clone(),
                second: if is_itself {
                    Vec::new()
                } else {
                    second.names.clone()
                },
                files: files.map(|path| (*path).clone()).collect(),
                patterns: shared_patterns(&first.scope, &second.scope),
            });
        }
    }
    all.retain(|overlap| !overlap.is_empty());
    all
}

/// Every pair of write patterns that meet.
fn shared_patterns(first: &Scope, second: &Scope) -> Vec<SharedPatterns> {
    let mut shared = Vec::new();
    for (rule, pattern) in first.list(RuleList::Write) {
        for (other_rule, other) in second.list(RuleList::Write) {
            let is_common = |path: &RepoPath| {
                let may =
                    |scope: &Scope| scope.verdict(path, EntryKind::File).access == Access::Write;
                let covers = |scope: &Scope, pattern: &Pattern| match scope.case {
                    Case::Sensitive => pattern.covers(path.as_bstr()),
                    Case::Insensitive => pattern.covers(&path.as_bstr().to_ascii_lowercase()),
                };
                may(first) && may(second) && covers(first, pattern) && covers(second, other)
            };
            let mut examples = examples(pattern, other)
                .into_iter()
                .filter_map(|path| RepoPath::parse(path).ok());
            if let Some(example) = examples.find(is_common) {
                shared.push(SharedPatterns {
                    first: rule.pattern.clone(),
                    second: other_rule.pattern.clone(),
                    example,
                });
            }
        }
    }
    shared
}

/// Paths at which two patterns may meet: an example of either, the example of one in the literal
/// directory of the other or below its example, and the literal beginning of one with the literal
/// end of the other.
fn examples(first: &Pattern, second: &Pattern) -> Vec<Vec<u8>> {
    const FILLERS: [&[u8]; 3] = [b"a", b"new-file", b"0"];
    let directory = |pattern: &Pattern| {
        let end = pattern.head().iter().rposition(|byte| *byte == b'/');
        end.map_or(0, |slash| slash + 1)
    };
    let pairs = [(first, second), (second, first)];
    let mut all = Vec::new();
    for filler in FILLERS {
        for (one, other) in pairs {
            let example = one.example(filler);
            let literal = &other.head()[..directory(other)];
            all.push([literal, &example[directory(one)..]].concat());
            all.push([one.head(), filler, other.tail()].concat());
            all.push(example);
        }
        for (one, other) in pairs {
            all.push(
                [
                    &one.example(filler),
                    b"/".as_slice(),
                    &other.example(filler),
                ]
                .concat(),
            );
        }
    }
    all
}

impl Overlap {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.patterns.is_empty()
    }

    /// Every pair of worktrees that overlap.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for (at, first) in self.first.iter().enumerate() {
            let seconds = if self.second.is_empty() {
                &self.first[at + 1..]
            } else {
                &self.second
            };
            pairs.extend(
                seconds
                    .iter()
                    .map(|second| (first.as_str(), second.as_str())),
            );
        }
        pairs
    }

    /// What both may write, in one line: the number of files and some names, or the patterns that
    /// meet.
    pub fn summary(&self, shown: usize) -> String {
        if self.files.is_empty() {
            let patterns = some(self.patterns.iter().map(ToString::to_string), shown);
            return format!("the same new files: {patterns}");
        }
        let files = match self.files.len() {
            1 => "the same file".to_owned(),
            n => format!("the same {n} files"),
        };
        let names = some(self.files.iter().map(ToString::to_string), shown);
        format!("{files}: {names}")
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

/// The first of them, and that there are more.
pub fn some(mut all: impl ExactSizeIterator<Item = String>, shown: usize) -> String {
    let more = all.len().saturating_sub(shown);
    let mut text = all.by_ref().take(shown).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(", … and {more} more"));
    }
    text
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
        let one = |(name, write): &(&str, &[&str])| WorktreeScope {
            name: (*name).to_owned(),
            scope: scope(write),
        };
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
}
