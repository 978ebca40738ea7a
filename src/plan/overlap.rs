//! Decides which worktrees may write the same files, and what a new one is told of it.
//!
//! Worktrees whose scopes write alike are looked at once, as a group: dozens that one scheduler
//! made from one profile cost what one costs.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind, Scope, Writing, escape_for_rule};

/// Holds a worktree that somebody may be working in.
#[derive(Clone, Debug)]
pub struct Live {
    /// Its name.
    pub name: String,
    /// What may be done there.
    pub scope: Scope,
}

/// Says what worktrees may both write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Some worktrees, which write alike; none for the one that is to be made.
    pub first: Vec<String>,
    /// Others, each of which may write the same as each of the first; none where it is those
    /// among each other.
    pub second: Vec<String>,
    /// The tracked files that both may write, sorted.
    pub files: Vec<RepoPath>,
    /// The patterns by which both may make the same new file.
    pub patterns: Vec<SharedPatterns>,
}

/// Names a write pattern of each side that a path can match both of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPatterns {
    /// The pattern of the first.
    pub first: String,
    /// The pattern of the second.
    pub second: String,
    /// A path that both may write; none where none was found in time.
    pub example: Option<RepoPath>,
}

/// Says what becomes of an `add` that overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// It is told.
    Allowed,
    /// It is refused (`--exclusive`).
    Refused,
}

struct Group {
    names: Vec<String>,
    scope: Scope,
}

fn groups(live: &[Live]) -> Vec<Group> {
    let mut groups: BTreeMap<Writing, Group> = BTreeMap::new();
    for one in live {
        let group = groups.entry(one.scope.writing()).or_insert_with(|| Group {
            names: Vec::new(),
            scope: one.scope.clone(),
        });
        group.names.push(one.name.clone());
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by(|a, b| a.names.cmp(&b.names));
    groups
}

/// Which of the paths a scope lets be written, in their order.
fn writable<'p>(
    scope: &Scope,
    paths: impl IntoIterator<Item = &'p (RepoPath, EntryKind)>,
) -> Vec<&'p (RepoPath, EntryKind)> {
    let mut classifier = scope.classifier();
    let may = |(path, kind): &&(RepoPath, EntryKind)| {
        classifier.verdict(path, *kind).access == Access::Write
    };
    paths.into_iter().filter(may).collect()
}

/// The patterns by which two scopes meet.
fn patterns(first: &Scope, second: &Scope) -> Vec<SharedPatterns> {
    let collisions = first.collisions(second).into_iter();
    let shared = collisions.map(|one| SharedPatterns {
        first: one.first.pattern.clone(),
        second: one.second.pattern.clone(),
        example: one.example,
    });
    shared.collect()
}

/// Finds what a new worktree and those that are there may both write; `ours` is what of the tracked
/// files the new one may.
#[must_use]
pub fn with(scope: &Scope, live: &[Live], ours: &[(RepoPath, EntryKind)]) -> Vec<Overlap> {
    let overlap = |group: Group| {
        let files = writable(&group.scope, ours);
        Overlap {
            first: Vec::new(),
            files: files.into_iter().map(|(path, _)| path.clone()).collect(),
            patterns: patterns(scope, &group.scope),
            second: group.names,
        }
    };
    let all = groups(live).into_iter().map(overlap);
    all.filter(|one| !one.is_empty()).collect()
}

/// Finds what any two worktrees may both write.
#[must_use]
pub fn among(live: &[Live], tracked: &[(RepoPath, EntryKind)]) -> Vec<Overlap> {
    let groups = groups(live);
    let may = groups.iter().map(|group| writable(&group.scope, tracked));
    let may: Vec<_> = may.collect();
    let mut all = Vec::new();
    for (at, first) in groups.iter().enumerate() {
        for (other, second) in groups.iter().enumerate().skip(at) {
            let alone = other == at && first.names.len() == 1;
            if alone {
                continue;
            }
            all.push(Overlap {
                first: first.names.clone(),
                second: if other == at {
                    Vec::new()
                } else {
                    second.names.clone()
                },
                files: both(&may[at], &may[other]),
                patterns: patterns(&first.scope, &second.scope),
            });
        }
    }
    all.retain(|one| !one.is_empty());
    all
}

/// What is in both of two sorted lists.
fn both(first: &[&(RepoPath, EntryKind)], second: &[&(RepoPath, EntryKind)]) -> Vec<RepoPath> {
    let mut second = second.iter().peekable();
    let in_second = |path: &RepoPath| {
        while second.next_if(|(other, _)| other < path).is_some() {}
        second.peek().is_some_and(|(other, _)| other == path)
    };
    let mut in_second = in_second;
    let all = first.iter().filter(|(path, _)| in_second(path));
    all.map(|(path, _)| path.clone()).collect()
}

impl Overlap {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.patterns.is_empty()
    }

    /// Every pair of worktrees that it is about.
    #[must_use]
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

    /// What may be written by both, in one line: the number of files and some names, or where new
    /// files could meet.
    #[must_use]
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

impl std::fmt::Display for SharedPatterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", escape_for_rule(&self.first))?;
        if self.first != self.second {
            write!(f, " and `{}`", escape_for_rule(&self.second))?;
        }
        match &self.example {
            Some(example) => write!(f, " (such as {example})"),
            None => Ok(()),
        }
    }
}

/// The first of them, and that there are more.
#[must_use]
pub fn some(mut all: impl ExactSizeIterator<Item = String>, shown: usize) -> String {
    let more = all.len().saturating_sub(shown);
    let mut text = all.by_ref().take(shown).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(", … and {more} more"));
    }
    text
}

/// How many names a line holds.
const SHOWN: usize = 3;
/// How many groups of worktrees are told of a line each.
const NOTES: usize = 5;
/// How many files a refusal names for each worktree.
const REFUSED: usize = 20;

/// What is said of the overlaps of a worktree that is to be made.
///
/// # Errors
/// Refuses it where nothing may be shared.
pub fn decide(name: &str, overlaps: &[Overlap], sharing: Sharing) -> Result<Vec<String>, Refusal> {
    let quoted = |one: &Overlap, shown| {
        let names = one.second.iter().map(|name| format!("`{name}`"));
        some(names, shown)
    };
    match sharing {
        Sharing::Refused if !overlaps.is_empty() => {
            let mut items = Vec::new();
            for one in overlaps {
                let names = quoted(one, usize::MAX);
                items.push(format!("{names}: {}", one.summary(REFUSED)));
                if !one.files.is_empty() && !one.patterns.is_empty() {
                    let patterns = one.patterns.iter().map(ToString::to_string);
                    items.push(format!("  by {}", some(patterns, REFUSED)));
                }
            }
            let name = name.to_owned();
            Err(Refusal::Overlap { name, items })
        }
        Sharing::Allowed | Sharing::Refused => {
            let note = |one: &Overlap| {
                let (names, what) = (quoted(one, SHOWN), one.summary(SHOWN));
                format!("{names} may write {what}; to see them: git agentwt list --overlap")
            };
            let mut notes: Vec<String> = overlaps.iter().take(NOTES).map(note).collect();
            let others = overlaps.iter().skip(NOTES).map(|one| one.second.len());
            if let more @ 1.. = others.sum() {
                let worktrees = if more == 1 { "worktree" } else { "worktrees" };
                notes.push(format!(
                    "{more} more {worktrees} may write the same files or new ones; to see them: git agentwt list --overlap"
                ));
            }
            Ok(notes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::{Case, Origin, RuleList, ScopeRule};

    fn scope(write: &[&str]) -> Scope {
        let mut rules = vec![ScopeRule::new(RuleList::Read, "**", Origin::Default)];
        let write = write.iter();
        rules.extend(write.map(|p| ScopeRule::new(RuleList::Write, *p, Origin::Default)));
        Scope::compile(rules, Case::Sensitive).expect("the patterns are valid")
    }

    fn live(all: &[(&str, &[&str])]) -> Vec<Live> {
        let one = |(name, write): &(&str, &[&str])| Live {
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
        let live = live(&[
            ("a", &["src/**"]),
            ("b", &["docs/**"]),
            ("c", &["src/**"]),
            ("d", &["src/b.rs", "docs/x"]),
        ]);
        let all = among(&live, &tracked());
        let said: Vec<_> = all
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

    #[test]
    fn it_is_told_or_refused() {
        let live = live(&[("a", &["src/**"]), ("b", &["docs/**"]), ("c", &["src/**"])]);
        let ours = scope(&["*.rs"]);
        let tracked = tracked();
        let files: Vec<_> = writable(&ours, &tracked).into_iter().cloned().collect();
        let overlaps = with(&ours, &live, &files);
        let notes = decide("new", &overlaps, Sharing::Allowed).map_err(|error| error.to_string());
        let note = |names: &str, what: &str| {
            format!("{names} may write {what}; to see them: git agentwt list --overlap")
        };
        assert_eq!(
            notes,
            Ok(vec![
                note("`a`, `c`", "the same 2 files: src/a.rs, src/b.rs"),
                note(
                    "`b`",
                    "the same new files: `*.rs` and `docs/**` (such as docs/a.rs)"
                ),
            ])
        );
        let refused = decide("new", &overlaps, Sharing::Refused);
        let refused = refused.map_err(|error| error.to_string());
        assert!(refused.is_err_and(|text| text.contains("`a`, `c`: the same 2 files: src/a.rs")));
        let many: Vec<Overlap> = std::iter::repeat_n(&overlaps[0], 8).cloned().collect();
        let notes = decide("new", &many, Sharing::Allowed).unwrap_or_default();
        assert_eq!(notes.len(), 6);
        assert!(
            notes[5].starts_with("6 more worktrees may write"),
            "{notes:?}"
        );
        assert_eq!(decide("new", &[], Sharing::Refused).ok(), Some(vec![]));
    }
}
