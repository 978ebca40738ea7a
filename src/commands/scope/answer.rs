//! The answer of `scope`.

use bstr::BString;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::{AccessCounts, PathField, RuleField};
use crate::answer::{Answer, Cell, Form, Paint, Row, Text, count};
use crate::scope::{Access, ScopeRule, escape_for_rule};

/// The answer of `scope`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeAnswer {
    /// The whole scope; absent if paths were given.
    #[serde(flatten)]
    pub whole: Option<WholeScope>,
    /// What decides about each path that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<PathDecision>>,
}

/// A whole scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WholeScope {
    /// The name of the worktree, or of the profile.
    pub name: String,
    /// The rules.
    pub rules: Vec<CountedRule>,
    /// The number of tracked files by access.
    pub files: AccessCounts,
    /// Advice for the author of the scope.
    #[serde(skip)]
    pub advice: Vec<String>,
}

/// A rule, with the files that it matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountedRule {
    /// The rule.
    #[serde(flatten)]
    pub rule: RuleField,
    /// The number of tracked files that the pattern matches.
    pub matches: usize,
}

/// What decides about a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathDecision {
    /// The path as it was given.
    #[serde(flatten)]
    pub path: PathField,
    /// `write`, `read` or `excluded`.
    pub access: &'static str,
    /// The rule that decided; null if no rule matches.
    pub rule: Option<RuleField>,
}

impl PathDecision {
    /// Creates the decision.
    pub fn new(given: &BString, access: Access, rule: Option<&ScopeRule>) -> Self {
        Self {
            path: PathField::from(given),
            access: match access {
                Access::Write => "write",
                Access::Read => "read",
                Access::Excluded => "excluded",
            },
            rule: rule.map(RuleField::from),
        }
    }

    fn row(&self) -> Row {
        let shown = |rule: &RuleField| {
            let pattern = escape_for_rule(&rule.pattern);
            format!("{}: {} {pattern}", rule.origin, rule.list)
        };
        let rule = self.rule.as_ref();
        let (list, origin, pattern) = rule.map_or(("", "", ""), |rule| {
            (&rule.list, &rule.origin, &rule.pattern)
        });
        Row::new(vec![
            Cell::both(self.access).paint(match self.access {
                "write" => Paint::good,
                "read" => Paint::warning,
                _excluded => Paint::bad,
            }),
            Cell::porcelain(list),
            Cell::porcelain(origin),
            Cell::porcelain(pattern),
            Cell::people(rule.map_or("no rule".to_owned(), shown)).paint(Paint::faint),
            Cell::new(self.path.bytes(), &[Form::Table, Form::Porcelain]),
        ])
    }
}

impl CountedRule {
    fn row(&self) -> Row {
        let rule = &self.rule;
        Row::new(vec![
            Cell::both(&rule.list).paint(Paint::heading),
            Cell::people(escape_for_rule(&rule.pattern)),
            Cell::people(count(self.matches, "file", "files")),
            Cell::both(&rule.origin).paint(Paint::faint),
            Cell::porcelain(self.matches.to_string()),
            Cell::porcelain(&rule.pattern),
        ])
    }
}

impl Answer for ScopeAnswer {
    const DOCUMENT: &'static str = "scope";

    fn print(&self, text: &mut Text) {
        let Some(whole) = &self.whole else {
            return text.table(&self.rows(), "");
        };
        text.line(text.paint.name(&whole.name));
        text.table(&self.rows(), "  ");
        let AccessCounts {
            write,
            read,
            excluded,
        } = whole.files;
        let write = count(write, "file", "files");
        text.line(format!(
            "  {write} to edit, {read} to read, {excluded} excluded"
        ));
        for advice in &whole.advice {
            text.tell(format!("note: {advice}"));
        }
    }

    fn rows(&self) -> Vec<Row> {
        let rules = self.whole.iter().flat_map(|whole| &whole.rules);
        let paths = self.paths.iter().flatten();
        rules
            .map(CountedRule::row)
            .chain(paths.map(PathDecision::row))
            .collect()
    }
}
