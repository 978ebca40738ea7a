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
    /// Whether a file of this size in bytes may have the content that was accepted.
    pub fn may_have_size(&self, size: u64) -> bool {
        self.size.is_none_or(|accepted| accepted == size)
    }

    /// Whether it concerns what all worktrees of a repository share, apart from refs.
    pub fn is_shared(&self) -> bool {
        self.reason == Reason::Shared.as_str() && self.kind != Kind::Ref.as_str()
    }
}

/// Holds what is accepted now, by place, reason and key.
#[derive(Clone, Debug, Default)]
pub struct Acceptances(BTreeMap<(String, String, String), AcceptedFinding>);

/// The content of a shared setting or hook that is as it was recorded again.
const AS_RECORDED: &str = "as-recorded";

impl Acceptances {
    /// Collects the decisions, the oldest first. A later acceptance replaces an earlier one of the
    /// same place: content that was accepted before is not accepted for ever.
    pub fn new(decisions: &[Decision]) -> Self {
        let mut all = BTreeMap::new();
        for decision in decisions {
            let mut newest: BTreeMap<_, AcceptedFinding> = BTreeMap::new();
            for one in &decision.accepted {
                let key = (one.place.clone(), one.reason.clone(), one.key.clone());
                let merged = newest.entry(key).or_insert_with(|| one.clone());
                merged.contents.extend(one.contents.clone());
            }
            all.extend(newest);
        }
        Self(all)
    }

    /// Whether everything that the finding of a change is about is accepted.
    pub fn cover(&self, change: &Change, reason: Reason) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let place = change.place.to_tsv();
        let is_accepted = |(key, contents): (String, BTreeSet<String>)| {
            let key = (place.clone(), reason.as_str().to_owned(), key);
            let accepted = self.0.get(&key);
            accepted.is_some_and(|accepted| contents.is_subset(&accepted.contents))
        };
        let contents = contents_of(change, reason);
        contents.is_some_and(|contents| contents.into_iter().all(is_accepted))
    }

    /// Finds the accepted settings, hooks and rule files that are as they were recorded again: an agent
    /// that takes back what the user set up is reported. `found` is what is not as recorded.
    pub fn find_reverted(&self, found: &[SharedChange]) -> Vec<SharedChange> {
        let mut not_as_recorded = BTreeSet::new();
        for shared in found {
            let contents = contents_of(&shared.change, Reason::Shared);
            for key in contents.unwrap_or_default().into_keys() {
                not_as_recorded.insert((shared.change.place.to_tsv(), key));
            }
        }
        let is_reverted = |one: &&AcceptedFinding| {
            one.is_shared()
                && !one.contents.contains(AS_RECORDED)
                && !not_as_recorded.contains(&(one.place.clone(), one.key.clone()))
        };
        let change = |one: &AcceptedFinding| {
            let kinds = [Kind::Hook, Kind::Integrity];
            let kind = kinds.into_iter().find(|kind| kind.as_str() == one.kind);
            let cause = match &*one.level {
                "notice" => Cause::Unknown,
                _violation => Cause::Hides,
            };
            let name = if one.key.is_empty() { "it" } else { &one.key };
            let said = format!("{name} was accepted, and is as at `add` again");
            let place = Place::of_shared(&one.place);
            let now = Content::value(&one.key, Some(AS_RECORDED.to_owned()));
            SharedChange::new(place, kind.unwrap_or(Kind::Config), said, cause).with([now])
        };
        self.0.values().filter(is_reverted).map(change).collect()
    }
}

impl Report {
    /// Moves the findings that are accepted out of the violations and notices.
    #[must_use]
    pub fn accepting(mut self, accepted: &Acceptances) -> Self {
        let all = std::mem::take(&mut self.findings).into_iter();
        (self.accepted, self.findings) =
            all.partition(|finding| accepted.cover(&finding.change, finding.reason));
        self
    }
}

impl Finding {
    /// Whether it concerns what all worktrees of a repository share, apart from refs.
    pub fn is_shared(&self) -> bool {
        self.reason == Reason::Shared && self.change.kind != Kind::Ref
    }

    /// What an acceptance of this finding records; none where the content is not known.
    pub fn accepted(&self) -> Option<Vec<AcceptedFinding>> {
        let one = |(key, contents)| AcceptedFinding {
            place: self.change.place.to_tsv(),
            kind: self.change.kind.as_str().to_owned(),
            reason: self.reason.as_str().to_owned(),
            level: self.level.as_str().to_owned(),
            key,
            contents,
            size: None,
        };
        let contents = contents_of(&self.change, self.reason)?;
        Some(contents.into_iter().map(one).collect())
    }
}

/// The contents that the finding of a change is about, by key; none where one is not known.
fn contents_of(change: &Change, reason: Reason) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if reason == Reason::History {
        for seen in &change.seen {
            let commit = seen.commit()?.to_string();
            all.entry(String::new()).or_default().insert(commit);
        }
    } else {
        for content in &change.now {
            let (key, text) = content.named()?;
            all.entry(key).or_default().insert(text);
        }
    }
    (!all.is_empty()).then_some(all)
}
