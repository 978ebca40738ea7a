//! Holds what a person accepted of a worktree, and which findings that covers; pure.
//!
//! An acceptance names content, never only a path: what stands at the place in each state that the
//! finding is about. Content that nobody saw at the time of the acceptance is a finding again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::judge::change::{Cause, Change, Content, Kind, Place, SharedChange};
use crate::judge::finding::{Finding, Reason, Report};
use crate::scope::rule::ScopeRule;
use crate::words::name::WorktreeName;
use crate::words::path::escape_for_rule;

/// Represents one decision of a person about a worktree, as its record keeps it: findings that were
/// accepted, or rules that were added to the scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// A word that no other decision has.
    pub id: String,
    /// The time of the decision.
    pub at: String,
    /// The user who decided.
    pub user: String,
    /// The host of the user.
    pub host: String,
    /// The worktree that was named: findings of the shared side are accepted for all worktrees.
    pub worktree: WorktreeName,
    /// The findings that were accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedFinding>,
    /// The rules that were added to the scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub rules: Vec<ScopeRule>,
}

impl Decision {
    /// What was decided, in a word and in full: the places, or the patterns with their lists.
    pub fn summary(&self) -> (&'static str, String) {
        if self.accepted.is_empty() {
            let mut rules = Vec::new();
            for rule in &self.rules {
                rules.push(format!("{} {}", rule.list, escape_for_rule(&rule.pattern)));
            }
            return ("scope +", rules.join(", "));
        }
        let mut places = Vec::new();
        for finding in &self.accepted {
            places.push(finding.place.as_str());
        }
        places.dedup();
        ("accepted", places.join(", "))
    }
}

/// A finding that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedFinding {
    /// The place, as in TSV.
    pub place: String,
    /// The kind of change.
    pub kind: String,
    /// The reason.
    pub reason: String,
    /// `violation` or `notice`.
    pub level: String,
    /// The key, for a setting; absent for everything else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// What is accepted there: `absent`, the mode and the object id of a file, the commit of a ref,
    /// the digest of a setting or hook, or, for history, the commits.
    pub contents: BTreeSet<String>,
    /// The size in bytes of the file on disk; absent for everything else, and in records of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl AcceptedFinding {
    /// True if a file of this size in bytes may have the content that was accepted.
    pub fn may_have_size(&self, size: u64) -> bool {
        self.size.is_none_or(|accepted| accepted == size)
    }

    /// True if it concerns what all worktrees of a repository share, apart from refs.
    pub fn is_shared(&self) -> bool {
        self.reason == Reason::Shared.as_str() && self.kind != Kind::Ref.as_str()
    }
}

/// What is accepted now, by place, reason and key.
#[derive(Clone, Debug, Default)]
pub struct Acceptances(BTreeMap<(String, String, String), AcceptedFinding>);

/// The content of a shared setting or hook that is as it was recorded again.
const AS_RECORDED: &str = "as-recorded";

impl Acceptances {
    /// Collects the decisions, the oldest first. A later acceptance replaces an earlier one of the
    /// same place: content that was accepted before is not accepted for ever.
    pub fn new(decisions: &[Decision]) -> Self {
        let mut accepted = BTreeMap::new();
        for decision in decisions {
            let mut newest: BTreeMap<_, AcceptedFinding> = BTreeMap::new();
            for finding in &decision.accepted {
                let key = (
                    finding.place.clone(),
                    finding.reason.clone(),
                    finding.key.clone(),
                );
                let merged = newest.entry(key).or_insert_with(|| finding.clone());
                merged.contents.extend(finding.contents.clone());
            }
            accepted.extend(newest);
        }
        Self(accepted)
    }

    /// True if everything that the finding of a change is about is accepted.
    pub fn cover(&self, change: &Change, reason: Reason) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let Some(contents) = contents_of(change, reason) else {
            return false;
        };
        let place = change.place.to_tsv();
        for (key, texts) in contents {
            let key = (place.clone(), reason.as_str().to_owned(), key);
            match self.0.get(&key) {
                Some(accepted) if texts.is_subset(&accepted.contents) => {}
                Some(_) | None => return false,
            }
        }
        true
    }

    /// Finds the accepted settings, hooks and rule files that are as they were recorded again: an
    /// agent that takes back what the user set up is reported. `changes` is what is not as
    /// recorded.
    pub fn find_reverted(&self, changes: &[SharedChange]) -> Vec<SharedChange> {
        let mut not_as_recorded = BTreeSet::new();
        for shared in changes {
            let contents = contents_of(&shared.change, Reason::Shared);
            for key in contents.unwrap_or_default().into_keys() {
                not_as_recorded.insert((shared.change.place.to_tsv(), key));
            }
        }
        let mut reverted = Vec::new();
        for finding in self.0.values() {
            let is_as_recorded =
                !not_as_recorded.contains(&(finding.place.clone(), finding.key.clone()));
            if finding.is_shared() && is_as_recorded && !finding.contents.contains(AS_RECORDED) {
                reverted.push(reverted_change(finding));
            }
        }
        reverted
    }
}

/// The change of a shared setting, hook or rule file back to what was recorded at `add`.
fn reverted_change(finding: &AcceptedFinding) -> SharedChange {
    let kind = [Kind::Hook, Kind::Integrity]
        .into_iter()
        .find(|kind| kind.as_str() == finding.kind)
        .unwrap_or(Kind::Config);
    let cause = match &*finding.level {
        "notice" => Cause::Unknown,
        _violation => Cause::Hides,
    };
    let name = if finding.key.is_empty() {
        "it"
    } else {
        &finding.key
    };
    let text = format!("{name} was accepted, and is as at `add` again");
    let content = Content::value(&finding.key, Some(AS_RECORDED.to_owned()));
    SharedChange::new(Place::of_shared(&finding.place), kind, text, cause).with([content])
}

impl Report {
    /// Moves the findings that are accepted out of the violations and notices.
    #[must_use]
    pub fn accepting(mut self, accepted: &Acceptances) -> Self {
        (self.accepted, self.findings) = self
            .findings
            .into_iter()
            .partition(|finding| accepted.cover(&finding.change, finding.reason));
        self
    }
}

impl Finding {
    /// True if it concerns what all worktrees of a repository share, apart from refs.
    pub fn is_shared(&self) -> bool {
        self.reason == Reason::Shared && self.change.kind != Kind::Ref
    }

    /// What an acceptance of this finding records; none where the content is not known.
    pub fn accepted(&self) -> Option<Vec<AcceptedFinding>> {
        let mut accepted = Vec::new();
        for (key, contents) in contents_of(&self.change, self.reason)? {
            accepted.push(AcceptedFinding {
                place: self.change.place.to_tsv(),
                kind: self.change.kind.as_str().to_owned(),
                reason: self.reason.as_str().to_owned(),
                level: self.level.as_str().to_owned(),
                key,
                contents,
                size: None,
            });
        }
        Some(accepted)
    }
}

/// The contents that the finding of a change is about, by key; none where one is not known.
fn contents_of(change: &Change, reason: Reason) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut contents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if reason == Reason::History {
        for seen in &change.seen {
            let commit = seen.commit()?.to_string();
            contents.entry(String::new()).or_default().insert(commit);
        }
    } else {
        for content in &change.now {
            let (key, text) = content.named()?;
            contents.entry(key).or_default().insert(text);
        }
    }
    (!contents.is_empty()).then_some(contents)
}
