//! Decides what `add` makes; pure.

use camino::Utf8PathBuf;

use super::owner::{self, OwnerFacts};
use super::refusal::Refusal;
use super::rules::rules_of;
use crate::cli::ScopeLists;
use crate::client::ContextFile;
use crate::config::{Choice as _, Client, OnViolation, ScopeProfile, SetBy, Setting, Strategy};
use crate::name::{BranchName, CommitId, WorktreeName};
use crate::scope::ScopeRule;
use crate::worktree::{Owner, Record};

/// Holds what `add` looks at.
#[derive(Clone, Debug)]
pub struct AddFacts {
    /// The name that was asked for.
    pub name: WorktreeName,
    /// Where the worktree would be.
    pub path: Utf8PathBuf,
    /// What stands there.
    pub path_state: PathState,
    /// The record of a worktree of this name.
    pub record: Option<Box<Record>>,
    /// Another name that differs only in case, as one file system may not tell them apart.
    pub similar_name: Option<String>,
    /// The scope profile that the settings name; none where nobody named one and there is none.
    pub profile: Option<(String, ScopeProfile)>,
    /// Whether a config file was found.
    pub config_found: bool,
    /// The lists on the command line.
    pub lists: ScopeLists,
    /// The branch that was named outright (`--branch`).
    pub asked_branch: Option<BranchName>,
    /// The branch.
    pub branch: BranchFacts,
    /// What the worktree starts from.
    pub base: BaseFacts,
    /// What kind of directory is wanted.
    pub strategy: Setting<Strategy>,
    /// What the hooks do about a violation.
    pub on_violation: Setting<OnViolation>,
    /// The agent program, if one was named.
    pub client: Option<Setting<Client>>,
    /// What it is to be told; none when nobody said.
    pub prompt: Option<Vec<u8>>,
    /// Who owns the worktree, and who asks for it.
    pub owner: OwnerFacts,
}

/// Says what stands where the worktree would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing.
    Free,
    /// A directory with something in it, or a file.
    Taken,
    /// A worktree that git knows.
    Worktree,
    /// Nothing, and yet git knows a worktree there.
    Missing,
}

/// Says what is known of the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchFacts {
    /// A new one is wanted.
    New {
        /// Its name.
        name: BranchName,
        /// Whether git accepts it.
        valid: bool,
        /// Whether there is a branch of this name, which nobody asked to work on.
        exists: bool,
        /// A branch that blocks it: one is the directory of the other.
        blocked_by: Option<String>,
    },
    /// An existing one was named.
    Existing {
        /// Its name.
        name: BranchName,
        /// Where it is.
        tip: CommitId,
        /// The worktree that has it checked out.
        held_by: Option<Utf8PathBuf>,
    },
}

/// Holds what is known of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseFacts {
    /// The revision; none when nobody named one and the main worktree is on no branch.
    pub revision: Option<String>,
    /// Who named it.
    pub set_by: SetBy,
    /// Its commit; none when there is none.
    pub commit: Option<CommitId>,
    /// Whether it is the main worktree's own branch, and that has no commit.
    pub unborn: bool,
    /// With an existing branch: whether it is an ancestor of that branch.
    pub is_ancestor: bool,
}

/// Holds what `add` will make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddPlan {
    /// The name.
    pub name: WorktreeName,
    /// The directory.
    pub path: Utf8PathBuf,
    /// The branch.
    pub branch: PlannedBranch,
    /// The commit that changes are counted from.
    pub base: CommitId,
    /// The revision that named it.
    pub revision: String,
    /// The scope profile, if one was used.
    pub profile: Option<String>,
    /// The rules of the scope.
    pub rules: Vec<ScopeRule>,
    /// What kind of directory it is.
    pub strategy: Strategy,
    /// What the hooks do about a violation.
    pub on_violation: OnViolation,
    /// Who is written down as its owner; for a worktree that is there, if that is new.
    pub owner: Option<Owner>,
    /// The agent program that the context is for; none for a worktree that is there.
    pub client: Client,
    /// What is written for it: see [`super::context`].
    pub context: Vec<ContextFile>,
}

/// Says which branch the worktree gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedBranch {
    /// It is made at the base.
    Make(BranchName),
    /// It is there, at this commit.
    Existing(BranchName, CommitId),
}

/// Says what `add` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Make it.
    Make(Box<AddPlan>),
    /// It is there already, as asked for.
    Keep(Box<AddPlan>),
}

impl BranchFacts {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &BranchName {
        match self {
            Self::New { name, .. } | Self::Existing { name, .. } => name,
        }
    }
}

impl AddPlan {
    /// The commit that is checked out: the base, or the tip of an existing branch.
    #[must_use]
    pub const fn checkout(&self) -> &CommitId {
        match &self.branch {
            PlannedBranch::Make(_) => &self.base,
            PlannedBranch::Existing(_, tip) => tip,
        }
    }
}

impl AddPlan {
    /// What would have been planned for a worktree that is there.
    fn of(record: &Record) -> Self {
        let branch = record.branch.clone();
        Self {
            name: record.name.clone(),
            path: record.path.clone(),
            branch: if record.branch_made {
                PlannedBranch::Make(branch)
            } else {
                PlannedBranch::Existing(branch, record.base.commit.clone())
            },
            base: record.base.commit.clone(),
            revision: record.base.revision.clone(),
            profile: record.profile.clone(),
            rules: record.scope.clone(),
            strategy: record.strategy,
            on_violation: record.on_violation,
            owner: None,
            client: Client::None,
            context: Vec::new(),
        }
    }
}

impl PlannedBranch {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &BranchName {
        match self {
            Self::Make(name) | Self::Existing(name, _) => name,
        }
    }
}

/// Decides what `add` does.
///
/// # Errors
/// Refuses what would touch something that is not ours, or what was not said.
pub fn plan(facts: &AddFacts) -> Result<Decision, Refusal> {
    let name = facts.name.to_string();
    let rules = rules(facts)?;
    let client = client(facts)?;
    if let Some(record) = &facts.record {
        return keep(facts, record, &rules);
    }
    if let Some(other) = &facts.similar_name {
        return Err(Refusal::SimilarName {
            name,
            other: other.clone(),
        });
    }
    match facts.path_state {
        PathState::Free => {}
        PathState::Taken => {
            return Err(Refusal::PathTaken {
                name,
                path: facts.path.clone(),
            });
        }
        PathState::Worktree | PathState::Missing => {
            return Err(Refusal::ForeignWorktree {
                name,
                path: facts.path.clone(),
            });
        }
    }
    let (base, revision) = base(facts)?;
    let branch = branch(facts, &base)?;
    Ok(Decision::Make(Box::new(AddPlan {
        name: facts.name.clone(),
        path: facts.path.clone(),
        branch,
        base,
        revision,
        profile: facts.profile.as_ref().map(|(name, _)| name.clone()),
        rules,
        strategy: facts.strategy.value,
        on_violation: facts.on_violation.value,
        owner: facts.owner.asked.clone(),
        client,
        context: Vec::new(),
    })))
}

/// A prompt that no program reads would be lost without a word.
fn client(facts: &AddFacts) -> Result<Client, Refusal> {
    let client = facts.client.as_ref().map_or(Client::None, |set| set.value);
    if client == Client::None && facts.prompt.is_some() {
        return Err(Refusal::NoClient {
            name: facts.name.to_string(),
            set_by: facts.client.as_ref().map(|set| set.set_by.to_string()),
        });
    }
    Ok(client)
}

/// The same name and scope again is no error; anything else under the name is.
fn keep(facts: &AddFacts, record: &Record, rules: &[ScopeRule]) -> Result<Decision, Refusal> {
    let name = facts.name.to_string();
    if matches!(facts.path_state, PathState::Free | PathState::Missing) {
        return Err(Refusal::DirectoryGone {
            name,
            path: facts.path.clone(),
        });
    }
    let owner = owner::decide(&name, &facts.path, &facts.owner)?;
    let asked_base = matches!(facts.base.set_by, SetBy::Flag(_)).then_some(&facts.base.commit);
    if let Some(commit) = asked_base
        && commit.as_ref() != Some(&record.base.commit)
    {
        let base = record.base.commit.short().to_owned();
        return Err(Refusal::AnotherBase { name, base });
    }
    if let Some(asked) = &facts.asked_branch
        && *asked != record.branch
    {
        return Err(Refusal::AnotherBranch {
            name,
            branch: record.branch.to_string(),
        });
    }
    if matches!(facts.strategy.set_by, SetBy::Flag(_)) && facts.strategy.value != record.strategy {
        let strategy = record.strategy.as_str().to_owned();
        return Err(Refusal::AnotherStrategy { name, strategy });
    }
    let difference = difference(&record.scope, rules);
    if difference.is_empty() {
        Ok(Decision::Keep(Box::new(AddPlan {
            owner,
            ..AddPlan::of(record)
        })))
    } else {
        Err(Refusal::AnotherScope { name, difference })
    }
}

/// The patterns that only one of two scopes has: `- write src/**`, `+ write docs/**`.
fn difference(recorded: &[ScopeRule], asked: &[ScopeRule]) -> Vec<String> {
    let has = |rules: &[ScopeRule], rule: &ScopeRule| {
        rules
            .iter()
            .any(|other| other.list == rule.list && other.pattern == rule.pattern)
    };
    let only = |mine: &[ScopeRule], theirs: &[ScopeRule], sign: char| -> Vec<String> {
        let only = mine.iter().filter(|rule| !has(theirs, rule));
        let line = |rule: &ScopeRule| {
            let pattern = crate::scope::escape_for_rule(&rule.pattern);
            format!("{sign} {} {pattern}", rule.list)
        };
        only.map(line).collect()
    };
    let mut lines = only(recorded, asked, '-');
    lines.extend(only(asked, recorded, '+'));
    lines
}

fn base(facts: &AddFacts) -> Result<(CommitId, String), Refusal> {
    let base = &facts.base;
    let name = facts.name.to_string();
    if let BranchFacts::Existing { tip, .. } = &facts.branch
        && !matches!(base.set_by, SetBy::Flag(_))
    {
        // it starts at its tip, unless a base was asked for
        let revision = base.revision.clone().unwrap_or_else(|| tip.to_string());
        return Ok((tip.clone(), revision));
    }
    if base.unborn {
        return Err(Refusal::Unborn { name });
    }
    let Some(revision) = base.revision.clone() else {
        return Err(Refusal::NoDefaultBase { name });
    };
    let Some(commit) = base.commit.clone() else {
        let set_by = base.set_by.to_string();
        return Err(Refusal::UnknownBase {
            name,
            revision,
            set_by,
        });
    };
    Ok((commit, revision))
}

fn branch(facts: &AddFacts, base: &CommitId) -> Result<PlannedBranch, Refusal> {
    let name = facts.name.to_string();
    match &facts.branch {
        BranchFacts::New {
            name: branch,
            valid,
            exists,
            blocked_by,
        } => {
            let text = branch.to_string();
            if !valid {
                return Err(Refusal::InvalidBranch { branch: text });
            }
            if *exists {
                return Err(Refusal::BranchExists { name, branch: text });
            }
            if let Some(other) = blocked_by {
                return Err(Refusal::BranchBlocked {
                    branch: text,
                    other: other.clone(),
                });
            }
            Ok(PlannedBranch::Make(branch.clone()))
        }
        BranchFacts::Existing {
            name: branch,
            tip,
            held_by,
        } => {
            let text = branch.to_string();
            if let Some(path) = held_by {
                return Err(Refusal::BranchHeld {
                    branch: text,
                    path: path.clone(),
                });
            }
            if matches!(facts.base.set_by, SetBy::Flag(_)) && !facts.base.is_ancestor {
                let base = base.short().to_owned();
                return Err(Refusal::BaseNotAncestor { branch: text, base });
            }
            Ok(PlannedBranch::Existing(branch.clone(), tip.clone()))
        }
    }
}

fn rules(facts: &AddFacts) -> Result<Vec<ScopeRule>, Refusal> {
    let profile = facts.profile.as_ref().map(|(_, profile)| profile);
    rules_of(
        facts.name.as_str(),
        profile,
        &facts.lists,
        facts.config_found,
    )
}
