//! Holds the answer of `git agentwt scope`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::shapes::{AccessCounts, PathField, RuleField};
use crate::answer::table::{Cell, Form, Row};
use crate::answer::text::Text;
use crate::scope::rule::Access;
use crate::words::path::escape_for_rule;
use crate::words::text::{count, would};

/// The answer of `scope`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeAnswer {
    /// The whole scope; absent if paths were given.
    #[serde(flatten)]
    pub whole: Option<WholeScope>,
    /// What decides about each path that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<PathDecision>>,
    /// How the scope was changed; absent if it was only shown.
    #[serde(flatten)]
    pub change: Option<ScopeChange>,
}

impl Answer for ScopeAnswer {
    const DOCUMENT: &'static str = "scope";

    fn print(&self, text: &mut Text) {
        if let Some(change) = &self.change {
            return change.print(text);
        }
        let Some(whole) = &self.whole else {
            return text.table(&self.rows(), "");
        };
        text.line(text.paint.name(&whole.name));
        text.table(&self.rows(), "  ");
        text.line(format!("  {}", whole.files.text()));
    }

    fn rows(&self) -> Vec<Row> {
        let rules = self.whole.iter().flat_map(|whole| &whole.rules);
        let paths = self.paths.iter().flatten();
        let changed = self.change.iter().flat_map(|change| &change.changed_rules);
        let changed =
            changed.map(|rule| Row::record(&[rule.list.as_bytes(), rule.pattern.as_bytes()]));
        let rules = rules.map(CountedRule::row);
        let shown = rules.chain(paths.map(PathDecision::row));
        shown.chain(changed).collect()
    }
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

/// What decides about a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathDecision {
    /// The path as it was given.
    #[serde(flatten)]
    pub path: PathField,
    /// `write`, `read` or `excluded`.
    #[schemars(with = "String")]
    pub access: Access,
    /// The rule that decided; null if no rule matches.
    pub rule: Option<RuleField>,
}

impl PathDecision {
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
            Cell::both(self.access.to_string()).paint(match self.access {
                Access::Write => Paint::good,
                Access::Read => Paint::warning,
                Access::Excluded => Paint::bad,
            }),
            Cell::porcelain(list),
            Cell::porcelain(origin),
            Cell::porcelain(pattern),
            Cell::people(rule.map_or("no rule".to_owned(), shown)).paint(Paint::faint),
            Cell::new(self.path.bytes(), &[Form::Table, Form::Porcelain]),
        ])
    }
}

/// A change of the scope of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeChange {
    /// The name of the worktree.
    #[serde(rename = "worktree")]
    pub name: String,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// Whether rules were removed that an earlier call added (`--undo`).
    pub undo: bool,
    /// The rules that were added, or with `--undo` removed.
    pub changed_rules: Vec<RuleField>,
    /// The files whose write bits were set or cleared.
    pub write_bits: Vec<PathField>,
    /// The excluded files that were on disk; git removes those without changes.
    pub present: Vec<PathField>,
}

impl ScopeChange {
    /// Prints the rules on stdout; what was done on stderr.
    pub fn print(&self, text: &mut Text) {
        let sign = if self.undo { '-' } else { '+' };
        for rule in &self.changed_rules {
            let pattern = escape_for_rule(&rule.pattern);
            text.line(format!("{sign} {} {pattern}", rule.list));
        }
        let name = text.paint.name(&self.name);
        if self.changed_rules.is_empty() {
            text.tell(format!("{name}: the scope has these rules already"));
            return;
        }
        let done = would(self.dry_run, "changed", "would change");
        let rules = count(self.changed_rules.len(), "rule", "rules");
        let bits = count(self.write_bits.len(), "file", "files");
        text.tell(format!(
            "{name}: {done} {rules}, and the write bits of {bits}"
        ));
        if !self.undo && !self.dry_run {
            text.tell_undo("scope", &self.name);
        }
    }
}
