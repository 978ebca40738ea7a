//! Holds the answer of `git agentwt scope`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::shapes::AccessCounts;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::scope::rule::{Access, RuleText};
use crate::words::path::escape_for_rule;
use crate::words::path_text::PathText;
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
        let mut rows = Vec::new();
        for rule in self.whole.iter().flat_map(|whole| &whole.rules) {
            rows.push(rule.row());
        }
        for path in self.paths.iter().flatten() {
            rows.push(path.row());
        }
        for rule in self.change.iter().flat_map(|change| &change.changed_rules) {
            rows.push(Row::record(&[
                rule.list.as_bytes(),
                rule.pattern.as_bytes(),
            ]));
        }
        rows
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
    pub rule: RuleText,
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
    pub path: PathText,
    /// `write`, `read` or `excluded`.
    #[schemars(with = "String")]
    pub access: Access,
    /// The rule that decided; null if no rule matches.
    pub rule: Option<RuleText>,
}

impl PathDecision {
    fn row(&self) -> Row {
        let access = self.access.to_string();
        let mut cells = vec![Cell::both(access).paint(match self.access {
            Access::Write => Paint::good,
            Access::Read => Paint::warning,
            Access::Excluded => Paint::bad,
        })];
        let mut decision = "no rule".to_owned();
        match &self.rule {
            Some(rule) => {
                let RuleText {
                    list,
                    pattern,
                    origin,
                } = rule;
                decision = format!("{origin}: {list} {}", escape_for_rule(pattern));
                cells.extend([list, origin, pattern].map(Cell::porcelain));
            }
            None => cells.extend(["", "", ""].map(Cell::porcelain)),
        }
        cells.push(Cell::people(decision).paint(Paint::faint));
        cells.push(Cell::both(self.path.bytes()));
        Row::new(cells)
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
    pub changed_rules: Vec<RuleText>,
    /// The files whose write bits were set or cleared.
    pub write_bits: Vec<PathText>,
    /// The excluded files that were on disk; git removes those without changes.
    pub present: Vec<PathText>,
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
