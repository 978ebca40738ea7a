//! Decides which scope a worktree gets: with more rules, or without those that were added last.

use crate::record::accepted::Decision;
use crate::record::worktree::Record;
use crate::scope::compiled::Scope;
use crate::scope::rule::{Case, ScopeRule};
use crate::words::error::Error;
use crate::worktree::error::WorktreeFault;

/// What is asked of a scope.
#[derive(Clone, Debug)]
pub enum ScopeRequest {
    /// To add these rules, by this decision.
    Add(Vec<ScopeRule>, Decision),
    /// To remove the rules that the last decision added.
    UndoLast,
}

/// Another scope for a worktree.
#[derive(Clone, Debug)]
pub struct ScopePlan {
    /// The record that has it.
    pub record: Record,
    /// The scope.
    pub scope: Scope,
    /// The rules in which it differs from the former one.
    pub rules: Vec<ScopeRule>,
}

/// Computes the record of a worktree with another scope.
///
/// # Errors
/// Fails when no decision is left to take back, or a pattern is invalid.
pub fn plan(record: &Record, request: ScopeRequest) -> Result<ScopePlan, Error> {
    let mut next = record.clone();
    let rules = match request {
        ScopeRequest::Add(rules, decision) => add(&mut next, rules, decision),
        ScopeRequest::UndoLast => remove_last(&mut next)?,
    };
    let scope = Scope::compile(next.scope.clone(), Case::of(next.ignore_case))?;
    Ok(ScopePlan {
        record: next,
        scope,
        rules,
    })
}

/// Adds the rules that the record does not have.
fn add(record: &mut Record, mut rules: Vec<ScopeRule>, decision: Decision) -> Vec<ScopeRule> {
    rules.retain(|rule| {
        let is_same = |other: &ScopeRule| other.list == rule.list && other.pattern == rule.pattern;
        !record.scope.iter().any(is_same)
    });
    if !rules.is_empty() {
        record.scope.extend(rules.clone());
        record.decisions.push(Decision {
            rules: rules.clone(),
            ..decision
        });
    }
    rules
}

/// Removes the last decision that added rules, and the rules.
fn remove_last(record: &mut Record) -> Result<Vec<ScopeRule>, WorktreeFault> {
    let last = record
        .decisions
        .iter()
        .rposition(|decision| !decision.rules.is_empty());
    let Some(last) = last else {
        let name = record.name.to_string();
        return Err(WorktreeFault::NothingToUndo { name });
    };
    let rules = record.decisions.remove(last).rules;
    record.scope.retain(|rule| !rules.contains(rule));
    Ok(rules)
}

#[cfg(test)]
mod tests;
