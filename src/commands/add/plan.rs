//! Decides what `add` creates; pure.

use camino::Utf8PathBuf;

use crate::client::ContextFile;
use crate::config::{Choice as _, Client, SetBy, Setting};
use crate::name::CommitId;
use crate::refusal::Refusal;
use crate::scope::{ScopeRule, escape_for_rule};
use crate::worktree::{Alive, Owner, Record};

/// Holds what `add` decides on.
#[derive(Clone, Debug)]
pub struct AddFacts {
    /// What would be recorded, with the branch; the base is that of the facts below.
    pub wanted: Record,
    /// What is at the path of the worktree.
    pub path_state: PathState,
    /// Another name that differs only in case, as some file systems cannot tell them apart.
    pub similar_name: Option<String>,
    /// Whether the branch was named (`--branch`).
    pub is_branch_named: bool,
    /// The state of the branch.
    pub branch: BranchState,
    /// What the worktree starts from.
    pub base: BaseFacts,
    /// The layer that set the strategy.
    pub strategy_set_by: SetBy,
    /// The agent program, if one was named.
    pub client: Option<Setting<Client>>,
    /// Whether there is a prompt.
    pub has_prompt: bool,
    /// Who owns the worktree, and who asks for it.
    pub owner: OwnerFacts,
}

/// Says what is at the path of the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing.
    Free,
    /// A file or directory.
    Taken,
    /// A worktree that git knows, whether its directory exists or not.
    Worktree,
}

/// Says what is known of the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchState {
    /// The branch can be created.
    Free,
    /// Git does not accept the name.
    Invalid,
    /// The branch exists, and was not named.
    Exists,
    /// This branch is in the way: one is the directory of the other.
    Blocked(String),
    /// The branch exists at this commit and was named.
    Named(CommitId),
    /// The branch was named and is checked out in this worktree.
    Held(Utf8PathBuf),
}

/// Holds what is known of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseFacts {
    /// The revision; none when none was named and the main worktree is on no branch.
    pub revision: Option<String>,
    /// The layer that named it.
    pub set_by: SetBy,
    /// Its commit.
    pub commit: Option<CommitId>,
    /// Whether the base is the main worktree's own branch, which has no commit.
    pub unborn: bool,
    /// With an existing branch: whether the base is an ancestor of that branch.
    pub is_ancestor: bool,
}

/// Holds what is known of the owner of a worktree, and of the owner that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerFacts {
    /// The owner that asks.
    pub asked: Option<Owner>,
    /// Whether a recorded owner gives way (`--take-over`).
    pub gives_way: bool,
    /// The recorded owner, and whether it is alive.
    pub recorded: Option<(Owner, Alive)>,
    /// The processes that work in the worktree, without our own and the one that asks.
    pub inside: Vec<u32>,
}

/// Holds what `add` will create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddPlan {
    /// The record as far as it is known.
    pub record: Record,
    /// The agent program that the context is for.
    pub client: Client,
    /// The files that tell the agent program its task: see [`super::context`].
    pub context: Vec<ContextFile>,
}

/// Decides what `add` creates.
///
/// # Errors
/// Refuses what would touch something that is not ours, or what was not named.
pub fn create(facts: &AddFacts) -> Result<AddPlan, Refusal> {
    let client = client(facts)?;
    let name = facts.wanted.name.to_string();
    if let Some(other) = facts.similar_name.clone() {
        return Err(Refusal::SimilarName { name, other });
    }
    let path = facts.wanted.path.clone();
    match facts.path_state {
        PathState::Free => {}
        PathState::Taken => return Err(Refusal::PathTaken { name, path }),
        PathState::Worktree => return Err(Refusal::ForeignWorktree { name, path }),
    }
    let mut record = facts.wanted.clone();
    let tip = branch_tip(facts)?;
    (record.base.commit, record.base.revision) = base(facts, tip.as_ref())?;
    record.branch_made = tip.is_none();
    record.checked_out = tip.unwrap_or_else(|| record.base.commit.clone());
    record.owner.clone_from(&facts.owner.asked);
    Ok(AddPlan {
        record,
        client,
        context: Vec::new(),
    })
}

/// The agent program: a prompt that no program reads would be lost without a word.
fn client(facts: &AddFacts) -> Result<Client, Refusal> {
    let client = facts.client.as_ref().map_or(Client::None, |set| set.value);
    if client == Client::None && facts.has_prompt {
        let name = facts.wanted.name.to_string();
        let set_by = facts.client.as_ref().map(|set| set.set_by.to_string());
        return Err(Refusal::NoClient { name, set_by });
    }
    Ok(client)
}

/// Decides whether a worktree of this name is kept, and its new owner. The same name and scope again
/// is not an error; anything else under the name is.
///
/// # Errors
/// Refuses a worktree that is not as asked for, or that another owner has.
pub fn keep(facts: &AddFacts, existing: &Record) -> Result<Option<Owner>, Refusal> {
    client(facts)?;
    let (name, wanted) = (existing.name.to_string(), &facts.wanted);
    let owner = new_owner(existing, &facts.owner)?;
    let is_base_asked = matches!(facts.base.set_by, SetBy::Flag(_));
    if is_base_asked && facts.base.commit.as_ref() != Some(&existing.base.commit) {
        let what = format!("base is {}", existing.base.commit.short());
        return Err(Refusal::Differs { name, what });
    }
    if facts.is_branch_named && wanted.branch != existing.branch {
        let what = format!("branch is `{}`", existing.branch);
        return Err(Refusal::Differs { name, what });
    }
    let is_strategy_asked = matches!(facts.strategy_set_by, SetBy::Flag(_));
    if is_strategy_asked && wanted.strategy != existing.strategy {
        let what = format!("strategy is `{}`", existing.strategy.as_str());
        return Err(Refusal::Differs { name, what });
    }
    let difference = difference(&existing.scope, &wanted.scope);
    if difference.is_empty() {
        Ok(owner)
    } else {
        Err(Refusal::AnotherScope { name, difference })
    }
}

/// Decides which owner is recorded from now on; none when the record is right as it is.
fn new_owner(existing: &Record, facts: &OwnerFacts) -> Result<Option<Owner>, Refusal> {
    let Some(asked) = &facts.asked else {
        return Ok(None);
    };
    let (name, path) = (existing.name.to_string(), existing.path.clone());
    match &facts.recorded {
        Some((recorded, alive)) if recorded.id == asked.id => {
            // its process counts from now on; without a new process, one that runs stays
            let is_known = asked.process.is_some() || *alive == Alive::No;
            let since = recorded.since.clone();
            let now = Owner {
                since,
                ..asked.clone()
            };
            Ok((is_known && now != *recorded).then_some(now))
        }
        _ if facts.gives_way => Ok(Some(asked.clone())),
        Some((recorded, alive @ (Alive::Yes | Alive::Unknown))) => Err(Refusal::OwnedByAnother {
            name,
            owner: Box::new(recorded.clone()),
            alive: *alive,
            asked: asked.id.clone(),
        }),
        _ if facts.inside.is_empty() => Ok(Some(asked.clone())),
        _ => {
            let pids = facts.inside.clone();
            Err(Refusal::StillRunning { name, path, pids })
        }
    }
}

/// The patterns that only one of two scopes has: `- write src/**`, `+ write docs/**`.
fn difference(recorded: &[ScopeRule], asked: &[ScopeRule]) -> Vec<String> {
    let only = |mine: &[ScopeRule], theirs: &[ScopeRule], sign: char| -> Vec<String> {
        let same = |a: &ScopeRule, b: &ScopeRule| a.list == b.list && a.pattern == b.pattern;
        let only = mine
            .iter()
            .filter(|rule| !theirs.iter().any(|other| same(other, rule)));
        only.map(|rule| format!("{sign} {} {}", rule.list, escape_for_rule(&rule.pattern)))
            .collect()
    };
    [only(recorded, asked, '-'), only(asked, recorded, '+')].concat()
}

/// The base, and the revision that named it. An existing branch starts at its tip, unless a base
/// was asked for.
fn base(facts: &AddFacts, tip: Option<&CommitId>) -> Result<(CommitId, String), Refusal> {
    let base = facts.base.clone();
    let name = facts.wanted.name.to_string();
    let is_asked = matches!(base.set_by, SetBy::Flag(_));
    if let (Some(tip), false) = (tip, is_asked) {
        return Ok((
            tip.clone(),
            base.revision.unwrap_or_else(|| tip.to_string()),
        ));
    }
    if base.unborn {
        return Err(Refusal::Unborn { name });
    }
    let Some(revision) = base.revision else {
        return Err(Refusal::NoDefaultBase { name });
    };
    let Some(commit) = base.commit else {
        let set_by = base.set_by.to_string();
        return Err(Refusal::UnknownBase {
            name,
            revision,
            set_by,
        });
    };
    if tip.is_some() && !base.is_ancestor {
        let (branch, base) = (facts.wanted.branch.to_string(), commit.short().to_owned());
        return Err(Refusal::BaseNotAncestor { branch, base });
    }
    Ok((commit, revision))
}

/// The tip of a branch that exists; none for a branch that is to be created.
fn branch_tip(facts: &AddFacts) -> Result<Option<CommitId>, Refusal> {
    let (name, branch) = (
        facts.wanted.name.to_string(),
        facts.wanted.branch.to_string(),
    );
    match facts.branch.clone() {
        BranchState::Free => Ok(None),
        BranchState::Named(tip) => Ok(Some(tip)),
        BranchState::Invalid => Err(Refusal::InvalidBranch { branch }),
        BranchState::Exists => Err(Refusal::BranchExists { name, branch }),
        BranchState::Blocked(other) => Err(Refusal::BranchBlocked { branch, other }),
        BranchState::Held(path) => Err(Refusal::BranchHeld { branch, path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::WorktreeName;
    use crate::worktree::OwnerProcess;

    fn owner(id: &str, pid: Option<u32>, since: &str) -> Owner {
        Owner {
            id: id.to_owned(),
            host: "host-1".to_owned(),
            process: pid.map(|pid| OwnerProcess {
                pid,
                started: "boot 1".to_owned(),
            }),
            since: since.to_owned(),
        }
    }

    fn decided(facts: &OwnerFacts) -> Result<Option<Owner>, Refusal> {
        let name = WorktreeName::parse("task-5").expect("a name");
        let existing = Record::new(name, "/r/x".into(), "then".to_owned());
        new_owner(&existing, facts)
    }

    #[test]
    fn nobody_who_does_not_say_who_it_is_changes_the_owner() {
        let recorded = Some((owner("one", Some(1), "then"), Alive::Yes));
        let facts = OwnerFacts {
            recorded,
            inside: vec![3],
            ..OwnerFacts::default()
        };
        assert_eq!(decided(&facts), Ok(None));
    }

    #[test]
    fn another_owner_stays_unless_it_has_ended() {
        let mut facts = OwnerFacts {
            asked: Some(owner("two", Some(2), "now")),
            ..OwnerFacts::default()
        };
        for alive in [Alive::Yes, Alive::Unknown] {
            facts.recorded = Some((owner("one", Some(1), "then"), alive));
            let refused = decided(&facts);
            assert!(matches!(refused, Err(Refusal::OwnedByAnother { .. })));
            facts.gives_way = true;
            assert_eq!(decided(&facts), Ok(facts.asked.clone()));
            facts.gives_way = false;
        }
        facts.recorded = Some((owner("one", Some(1), "then"), Alive::No));
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
        facts.recorded = None;
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
        facts.inside = vec![17];
        let refused = decided(&facts);
        assert!(matches!(refused, Err(Refusal::StillRunning { .. })));
        facts.gives_way = true;
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
    }

    #[test]
    fn the_same_owner_is_written_down_with_its_new_process() {
        let mut facts = OwnerFacts {
            asked: Some(owner("one", Some(2), "now")),
            recorded: Some((owner("one", Some(1), "then"), Alive::No)),
            inside: vec![17],
            ..OwnerFacts::default()
        };
        assert_eq!(decided(&facts), Ok(Some(owner("one", Some(2), "then"))));
        facts.asked = Some(owner("one", None, "now"));
        assert_eq!(decided(&facts), Ok(Some(owner("one", None, "then"))));
        // what is alive and was named stays
        facts.recorded = Some((owner("one", Some(1), "then"), Alive::Yes));
        assert_eq!(decided(&facts), Ok(None));
    }
}
