//! Holds [`Scope`]: the rules of a worktree, checked and ready to be asked.

use crate::scope::fault::{ScopeError, ScopeErrors};
use crate::scope::names::NameSet;
use crate::scope::pattern::ScopePattern;
use crate::scope::rule::{Case, RuleList, RuleOrigin, ScopeRule};

/// Valid rules, ready to be asked. Exclude beats write beats read; above all lists
/// `.agentwt/memory/**` is `read` and everything else in `.agentwt` is excluded.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The user's rules in their order, then the built-in ones.
    pub(super) rules: Vec<ScopeRule>,
    /// How many of them are the user's. The *place* of a rule is its index in `rules`.
    pub(super) user_rules: usize,
    /// The parsed pattern of each rule.
    pub(super) patterns: Vec<ScopePattern>,
    pub(super) names: NameSet,
    pub(super) case: Case,
}

/// The memory bank, in the order of a pattern file: the last rule of a level wins.
const BUILT_IN: [(RuleList, &str); 2] = [
    (RuleList::Exclude, "/.agentwt"),
    (RuleList::Read, "/.agentwt/memory/**"),
];

impl Scope {
    /// Compiles the rules, which keep their order within each list.
    ///
    /// # Errors
    /// Returns every rule that is refused, in the order given.
    pub fn compile(mut rules: Vec<ScopeRule>, case: Case) -> Result<Self, ScopeErrors> {
        let user_rules = rules.len();
        rules.extend(BUILT_IN.map(|(list, text)| ScopeRule::new(list, text, RuleOrigin::BuiltIn)));
        let mut patterns = Vec::with_capacity(rules.len());
        let mut errors = Vec::new();
        for rule in &rules {
            match ScopePattern::parse(&rule.pattern, case) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => errors.push(ScopeError {
                    rule: rule.clone(),
                    fault,
                }),
            }
        }
        if !errors.is_empty() {
            return Err(ScopeErrors {
                first: Box::new(errors.remove(0)),
                others: errors,
            });
        }
        Ok(Self {
            rules,
            user_rules,
            names: NameSet::new(&patterns),
            patterns,
            case,
        })
    }

    /// Returns the patterns of one of the user's lists, in order, each with its rule.
    pub(super) fn list(&self, list: RuleList) -> impl Iterator<Item = (&ScopeRule, &ScopePattern)> {
        let rules = self.rules().iter().zip(&self.patterns);
        rules.filter(move |(rule, _)| rule.list == list)
    }

    /// Returns the user's rules, in the order given, without the built-in ones.
    pub fn rules(&self) -> &[ScopeRule] {
        &self.rules[..self.user_rules]
    }

    /// Returns whether letters match in either case.
    pub const fn case(&self) -> Case {
        self.case
    }

    /// True if its own rules let every path be seen, as far as that is plain from their text.
    pub fn shows_all(&self) -> bool {
        let mut shows_all = false;
        for rule in self.rules() {
            match rule.list {
                RuleList::Exclude => return false,
                RuleList::Read => shows_all |= rule.pattern == "**",
                RuleList::Write => {}
            }
        }
        shows_all
    }
}
