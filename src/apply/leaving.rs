//! Removes one worktree as `remove` and `prune` both do: looks, decides by `remove`'s own rules, saves
//! what would be lost, and takes it away.

use super::remove;
use super::trash::{self, Since};
use crate::disk::files;
use crate::error::Error;
use crate::facts::remove::{Around, begun, read, survey};
use crate::facts::{Environment, Repository, Worktree};
use crate::name::BranchName;
use crate::plan::remove::refusal::RemoveRefusal;
use crate::plan::remove::{BranchFate, RemoveFacts, RemoveOptions, RemovePlan, plan};
use crate::truth::Survey;
use crate::worktree::bring::{Brought, bring};
use crate::worktree::claims;
use crate::worktree::saved::Rescue;
use crate::worktree::{Removal, VERSION};

/// Holds a worktree that was looked at.
pub struct Looked {
    known: Worktree,
    what: What,
}

/// Holds a worktree of which everything is known that decides.
pub struct Seen {
    /// The worktree.
    pub known: Worktree,
    /// What decides; none where an earlier removal has decided.
    pub facts: Option<RemoveFacts>,
    what: What,
}

/// Holds a worktree that may be removed.
pub struct Leaving {
    /// The worktree.
    pub known: Worktree,
    /// The plan.
    pub plan: RemovePlan,
    what: What,
}

/// Holds what became of it.
pub struct Gone {
    /// The plan, with what really became of the branch.
    pub plan: RemovePlan,
    /// Where what would have been lost was saved.
    pub trash: Option<Rescue>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Holds what was seen of it, and when that began, for what is to be saved.
struct Surveyed {
    survey: Survey,
    since: Option<Since>,
}

/// Says what there is to be done.
enum What {
    /// All of it.
    Whole(Box<Surveyed>),
    /// What an earlier removal, that was interrupted, has left.
    Rest(Removal),
}

impl Looked {
    /// Looks at a worktree whose lock is ours; `is_saved` says whether it may have to be saved.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn at(repository: &Repository, known: Worktree, is_saved: bool) -> Result<Self, Error> {
        let rest = begun(&known).filter(|_| !files::exists(&known.record.path));
        let what = match rest {
            Some(removal) => What::Rest(removal),
            None => {
                let since = is_saved.then(|| Since::now(&known)).transpose()?;
                let survey = survey(repository, &known)?;
                What::Whole(Box::new(Surveyed { survey, since }))
            }
        };
        Ok(Self { known, what })
    }

    /// Reads what decides beside it. `leaving` are the branches that go in the same command.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn read(
        self,
        repository: &Repository,
        around: &Around,
        leaving: &[BranchName],
    ) -> Result<Seen, Error> {
        let Self { known, what } = self;
        let facts = match &what {
            What::Rest(_) => None,
            What::Whole(seen) => {
                let facts = read(repository, around, &known, &seen.survey, leaving)?;
                Some(facts)
            }
        };
        Ok(Seen { known, facts, what })
    }
}

impl Seen {
    /// What was surveyed; none where an earlier removal has decided.
    #[must_use]
    pub fn survey(&self) -> Option<&Survey> {
        match &self.what {
            What::Whole(seen) => Some(&seen.survey),
            What::Rest(_) => None,
        }
    }

    /// Decides.
    ///
    /// # Errors
    /// Refuses what `remove` refuses.
    pub fn decide(self, allowed: &RemoveOptions) -> Result<Leaving, RemoveRefusal> {
        let plan = match (&self.facts, &self.what) {
            (Some(facts), _) => plan(facts, allowed)?,
            (None, What::Rest(removal)) => plan_of_rest(removal.branch_at.clone()),
            (None, What::Whole(_)) => plan_of_rest(None),
        };
        Ok(Leaving {
            known: self.known,
            plan,
            what: self.what,
        })
    }
}

/// What an interrupted removal has decided.
fn plan_of_rest(branch_at: Option<crate::name::CommitId>) -> RemovePlan {
    RemovePlan {
        save: Vec::new(),
        keep: Vec::new(),
        branch: branch_at.map_or(BranchFate::Stays, BranchFate::Deleted),
        merged: None,
    }
}

impl Leaving {
    /// How many ignored files go with it, and where they are, with sizes.
    #[must_use]
    pub fn ignored(&self) -> (usize, Vec<(String, u64)>) {
        match &self.what {
            What::Whole(seen) => (seen.survey.ignored(), seen.survey.ignored_by_place()),
            What::Rest(_) => (0, Vec::new()),
        }
    }

    /// Saves what would be lost, and takes it away. `time` is now, RFC 3339 in UTC.
    ///
    /// # Errors
    /// Fails when something cannot be saved or taken away: it can then be gone on with.
    pub fn remove(
        &self,
        repository: &Repository,
        environment: &Environment,
        time: &str,
    ) -> Result<Gone, Error> {
        let mut notes = Vec::new();
        let (trash, removal) = match &self.what {
            What::Whole(seen) => {
                let (known, plan) = (&self.known, &self.plan);
                let own = known.readable_repository(repository);
                let saved = match &seen.since {
                    Some(since) => Some(trash::save(&own, known, &seen.survey, plan, since, time)?),
                    None => trash::save_commits(&own, known, plan, time)?,
                };
                let rescue = saved.map(|saved| {
                    notes.extend(saved.notes);
                    saved.rescue
                });
                // what only a clone has, saved work too, comes to us first
                let brought = bring(repository, known, rescue.as_ref())?;
                notes.extend(come_in(known, &brought));
                let removal = self.removal(rescue.as_ref(), time);
                (rescue, removal)
            }
            What::Rest(removal) => {
                let name = &self.known.record.name;
                let saved = removal.saved.iter();
                notes.extend(saved.map(|saved| {
                    format!("{name}: its removal was interrupted; what was saved then is {saved}")
                }));
                (None, removal.clone())
            }
        };
        let held = self.known.record.claim.as_ref();
        notes.extend(held.and_then(|held| {
            let name = &self.known.record.name;
            claims::release_or_note(repository, name, held, environment)
        }));
        let branch = remove::take_away(repository, &self.known, &removal)?;
        let mut plan = self.plan.clone();
        if removal.branch_at.is_some() {
            plan.branch = branch;
        }
        Ok(Gone { plan, trash, notes })
    }

    fn removal(&self, rescue: Option<&Rescue>, time: &str) -> Removal {
        let branch_at = match &self.plan.branch {
            BranchFate::Deleted(tip) => Some(tip.clone()),
            BranchFate::Stays | BranchFate::Gone | BranchFate::Private => None,
        };
        Removal {
            version: VERSION,
            began: time.to_owned(),
            created: self.known.record.created.clone(),
            branch_at,
            saved: rescue.map(|rescue| rescue.name.clone()),
        }
    }
}

/// What the user should hear of the commits that a clone had for itself.
fn come_in(known: &Worktree, brought: &Brought) -> Vec<String> {
    let name = &known.record.name;
    let mut notes = Vec::new();
    if let Some((incoming, tip)) = &brought.incoming {
        let tip = tip.short();
        notes.push(format!(
            "the commits of `{name}` are in {incoming} ({tip}); to take them over: git merge {incoming}"
        ));
    }
    if let [first, others @ ..] = brought.kept.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more beside it"),
        };
        notes.push(format!(
            "what else only the clone had is in {first}{more}; to see it: git log {first}"
        ));
    }
    notes
}
