//! Holds [`Coverage`]: how many tracked paths each rule matches, and what looks like a mistake.
//!
//! It counts what a rule's own pattern matches, whatever other rules say of the path, because an
//! author asks whether a line does anything. It changes no verdict.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::descent::{Descent, Level};
use super::lookup::{Inside, Place};
use super::pattern::{Anchor, Pattern};
use super::{EntryKind, Origin, RuleList, Scope, ScopeRule};
use crate::path::{RepoPath, escape_for_terminal};

/// Says what the rules of a scope match among the tracked paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage<'s> {
    /// One for each rule of [`Scope::rules`], in its order.
    pub rules: Vec<RuleCoverage<'s>>,
    /// What the user should be told, in the order of the rules.
    pub advice: Vec<Advice<'s>>,
}

/// Says how much one rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCoverage<'s> {
    /// The rule.
    pub rule: &'s ScopeRule,
    /// How many tracked paths it matches, those below a matching directory included.
    pub matches: usize,
}

/// Names something about a rule that its author should hear; its `Display` is one line without an
/// end. The rule is valid all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice<'s> {
    /// It matches no tracked file, which may be a typo.
    Nothing(&'s ScopeRule),
    /// It matches no tracked file and has `{a,b}`, which means nothing in these patterns.
    Braces {
        /// The rule.
        rule: &'s ScopeRule,
        /// The patterns to write instead.
        instead: Vec<String>,
    },
    /// It makes a name writable in the root and, having no slash, everywhere else as well.
    Deep {
        /// The rule.
        rule: &'s ScopeRule,
        /// A tracked path below the root that it matches.
        example: RepoPath,
    },
}

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Nothing(rule) | Self::Braces { rule, .. } | Self::Deep { rule, .. }) = self;
        let pattern = escape_for_rule(&rule.pattern);
        write!(f, "{}: the {} pattern `{pattern}` ", rule.origin, rule.list)?;
        match self {
            Self::Nothing(_) => f.write_str("matches no tracked file"),
            Self::Braces { instead, .. } => {
                f.write_str(
                    "matches no tracked file: there are no braces in these patterns; write",
                )?;
                for (index, pattern) in instead.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma} `{}`", escape_for_rule(pattern))?;
                }
                Ok(())
            }
            Self::Deep { example, .. } => write!(
                f,
                "also matches below the root (`{example}`); write `/{pattern}` for the root only"
            ),
        }
    }
}

/// Says at which depth a pattern matched: the path or one of its directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Root,
    Below,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    matches: usize,
    in_root: usize,
    below: Option<RepoPath>,
}

impl Scope {
    /// Counts the tracked paths that each rule matches and looks for likely mistakes. Sorted paths
    /// are fast.
    pub fn coverage<P: Borrow<RepoPath>>(
        &self,
        tracked: impl IntoIterator<Item = (P, EntryKind)>,
    ) -> Coverage<'_> {
        let patterns = &self.patterns[..self.rules.len()];
        let mut tallies = vec![Tally::default(); patterns.len()];
        let mut descent = Descent::new(self.case, Above::root(self));
        for (path, kind) in tracked {
            let path = path.borrow();
            let (level, above) = descent.enter(path.as_bstr(), |above, directory| {
                above.enter(self, directory)
            });
            let mut count = |place: Place, depth: Depth| {
                let tally = &mut tallies[place as usize];
                tally.matches += 1;
                match depth {
                    Depth::Root => tally.in_root += 1,
                    Depth::Below => {
                        tally.below.get_or_insert_with(|| path.clone());
                    }
                }
            };
            for (place, depth) in &*above.matched {
                count(*place, *depth);
            }
            for (place, depth) in above.more(self, level, kind) {
                count(place, depth);
            }
        }
        let advice = (self.rules.iter().zip(patterns).zip(&tallies))
            .filter_map(|((rule, pattern), tally)| advice(rule, pattern, tally));
        let rules = (self.rules.iter().zip(&tallies)).map(|(rule, tally)| RuleCoverage {
            rule,
            matches: tally.matches,
        });
        Coverage {
            advice: advice.collect(),
            rules: rules.collect(),
        }
    }
}

/// Holds what is known of the directories above a path.
#[derive(Clone, Debug)]
struct Above {
    inside: Inside,
    /// The rules that match one of them, and at which depth the first is.
    matched: Arc<[(Place, Depth)]>,
}

impl Above {
    fn root(scope: &Scope) -> Self {
        Self {
            inside: scope.lookup.root(),
            matched: Arc::default(),
        }
    }

    fn enter(&self, scope: &Scope, directory: Level<'_>) -> Self {
        let more = self.more(scope, directory, EntryKind::Directory);
        let matched = if more.is_empty() {
            Arc::clone(&self.matched)
        } else {
            self.matched.iter().copied().chain(more).collect()
        };
        Self {
            inside: scope.lookup.enter(&self.inside, directory),
            matched,
        }
    }

    /// The user's rules that match this path itself, and no directory above it.
    fn more(&self, scope: &Scope, level: Level<'_>, kind: EntryKind) -> Vec<(Place, Depth)> {
        let depth = if level.name == 0 {
            Depth::Root
        } else {
            Depth::Below
        };
        let is_known = |place: Place| self.matched.iter().any(|(known, _)| *known == place);
        let ask = |place: Place| {
            let pattern = &scope.patterns[place as usize];
            !is_known(place) && pattern.matches(level.path, level.name, kind)
        };
        let mut more: Vec<(Place, Depth)> = Vec::new();
        let lookup = &scope.lookup;
        lookup.matches(level, kind, &self.inside, ask, |place| {
            let is_users = (place as usize) < scope.rules.len();
            let is_new = is_users && !is_known(place);
            if is_new && !more.iter().any(|(known, _)| *known == place) {
                more.push((place, depth));
            }
        });
        more
    }
}

fn advice<'s>(rule: &'s ScopeRule, pattern: &Pattern, tally: &Tally) -> Option<Advice<'s>> {
    let written = match rule.origin {
        Origin::File { .. } | Origin::Flag(_) => true,
        Origin::Default | Origin::BuiltIn => false,
    };
    if !written {
        return None;
    }
    if tally.matches == 0 {
        return match braces(&pattern.line) {
            Some(instead) => Some(Advice::Braces { rule, instead }),
            None if names_git(&pattern.line) => None,
            None => Some(Advice::Nothing(rule)),
        };
    }
    if tally.in_root == 0 || rule.list != RuleList::Write || pattern.anchor == Anchor::Root {
        return None;
    }
    let example = (!pattern.is_everything()).then(|| tally.below.clone())??;
    Some(Advice::Deep { rule, example })
}

/// `.git/**` and its like are accepted in any list and mean nothing: git tracks no such path.
fn names_git(line: &str) -> bool {
    let line = line.trim_start_matches("**/").trim_start_matches('/');
    line == ".git" || line.starts_with(".git/")
}

/// The patterns that the first `{a,b}` was meant for, or none if there is none.
fn braces(line: &str) -> Option<Vec<String>> {
    let (before, rest) = line.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    let meant = inside.contains(',') && !before.ends_with('\\');
    meant.then(|| {
        let one = |part| format!("{before}{part}{after}");
        inside.split(',').map(one).collect()
    })
}

/// A backslash is syntax here and stays readable; the rest is escaped as in paths.
#[must_use]
pub fn escape_for_rule(pattern: &str) -> String {
    let parts = pattern
        .split('\\')
        .map(|part| escape_for_terminal(part.as_bytes()));
    parts.collect::<Vec<_>>().join("\\")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Case;

    fn scope(rules: &[(RuleList, &str)]) -> Scope {
        let flag = |list: &RuleList| Origin::Flag(format!("--{list}"));
        let rules = rules
            .iter()
            .map(|(list, pattern)| ScopeRule::new(*list, *pattern, flag(list)));
        Scope::compile(rules.collect(), Case::Sensitive).expect("the rules are valid")
    }

    fn tracked() -> Vec<(RepoPath, EntryKind)> {
        [
            "a/x/package.json",
            "package.json",
            "src/lib.rs",
            "src/main.rs",
        ]
        .map(|path| {
            (
                RepoPath::parse(path).expect("it is normal"),
                EntryKind::File,
            )
        })
        .into()
    }

    use RuleList::{Exclude, Read, Write};

    #[test]
    fn every_rule_is_counted_by_its_own_pattern() {
        let scope = scope(&[
            (Exclude, "*.rs"),
            (Read, "**"),
            (Write, "/src"),
            (Write, "x/"),
        ]);
        let counts: Vec<_> = (scope.coverage(tracked()).rules.iter())
            .map(|rule| (rule.rule.pattern.clone(), rule.matches))
            .collect();
        let expected = [("*.rs", 2), ("**", 4), ("/src", 2), ("x/", 1)];
        assert_eq!(counts, expected.map(|(pattern, n)| (pattern.to_owned(), n)));
    }

    #[test]
    fn likely_mistakes_are_named() {
        let scope = scope(&[
            (Write, "*.{rs,toml}"),
            (Write, "package.json"),
            (Write, "/package.json"),
            (Write, "*.rs"),
            (Read, "package.json"),
            (Write, "*"),
            (Exclude, "secret/"),
            (Exclude, ".git/**"),
        ]);
        let said: Vec<_> = (scope.coverage(tracked()).advice.iter())
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "--write: the write pattern `*.{rs,toml}` matches no tracked file: there are no \
                 braces in these patterns; write `*.rs`, `*.toml`",
                "--write: the write pattern `package.json` also matches below the root \
                 (`a/x/package.json`); write `/package.json` for the root only",
                "--exclude: the exclude pattern `secret/` matches no tracked file",
            ]
        );
    }
}
