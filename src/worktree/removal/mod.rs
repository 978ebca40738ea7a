//! Removes one worktree, as `remove` and `prune` both do: reads what decides, plans by `remove`'s
//! rules, and takes the worktree away, into the trash or for good.
//!
//! The file `removing` comes first and the record goes last: whoever is killed in between is followed
//! by another call, which finds how far the removal was decided.

pub mod facts;
pub mod merged;
pub mod plan;
pub mod refusal;

use crate::config::Strategy;
use crate::disk::files::{self, Lock};
use crate::disk::trash_bin::{Put, TrashBin};
use crate::error::Error;
use crate::name::{BranchName, CommitId};
use crate::truth::heads::Heads;
use crate::truth::{Effort, Survey, collect};
use crate::worktree::bring::{Brought, bring};
use crate::worktree::claims;
use crate::worktree::trash::{self, REMOVING, Trashed, begun};
use crate::worktree::unfinished::end_locks;
use crate::worktree::{Environment, Repository, Worktree};
use crate::worktree::{Removal, TrashStamp, to_text};
use facts::Around;
use plan::{BranchFate, RemoveFacts, RemoveOptions, RemovePlan};
use refusal::RemoveRefusal;

/// Holds a worktree that may be removed, and what was read of it.
pub struct Leaving {
    /// The worktree.
    pub known: Worktree,
    /// What is in it; none where that does not matter: it goes into the trash as it is, or an
    /// earlier removal has decided.
    pub survey: Option<Survey>,
    /// What decides; none where an earlier removal has decided.
    pub facts: Option<RemoveFacts>,
    heads: Heads,
    rest: Option<Removal>,
}

/// Holds what became of a worktree.
pub struct Left {
    /// What became of the branch.
    pub branch: BranchFate,
    /// Where it, or commits of it, are kept.
    pub trash: Option<Trashed>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Leaving {
    /// Reads a worktree whose lock is ours. What is in it is only read where that decides: `whole`
    /// says that it goes into the trash whatever it holds.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read(repository: &Repository, known: Worktree, whole: bool) -> Result<Self, Error> {
        let rest = begun(&known).filter(|_| !files::exists(&known.record.path));
        let (mut survey, mut heads) = (None, Heads::default());
        if rest.is_none() && whole {
            let own = known.readable_repository(repository);
            heads = Heads::read(&own, &known, &Effort::best())?;
        } else if rest.is_none() {
            let found = collect(repository, &known)?;
            heads = found.heads.clone();
            survey = Some(found);
        }
        Ok(Self {
            known,
            survey,
            facts: None,
            heads,
            rest,
        })
    }

    /// Reads what decides beside it. `leaving` are the branches that go in the same command.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn read_facts(
        &mut self,
        repository: &Repository,
        around: &Around,
        leaving: &[BranchName],
    ) -> Result<(), Error> {
        if self.rest.is_none() {
            let (known, survey) = (&self.known, self.survey.as_ref());
            let found = facts::read(repository, around, known, survey, &self.heads, leaving)?;
            self.facts = Some(found);
        }
        Ok(())
    }

    /// Decides.
    ///
    /// # Errors
    /// Refuses what `remove` refuses.
    pub fn plan(&self, allowed: &RemoveOptions) -> Result<RemovePlan, RemoveRefusal> {
        if let Some(facts) = &self.facts {
            return plan::plan(facts, allowed);
        }
        let rest = self.rest.as_ref();
        let branch_at = rest.and_then(|rest| rest.branch_at.clone());
        Ok(RemovePlan {
            branch: branch_at.map_or(BranchFate::Stays, BranchFate::Deleted),
            trash: rest.is_some_and(|rest| rest.trash.is_some()),
            ..RemovePlan::default()
        })
    }

    /// Takes it away. `now` is RFC 3339 in UTC.
    ///
    /// # Errors
    /// Fails when something cannot be kept or taken away: the next call goes on.
    pub fn apply(
        &self,
        plan: &RemovePlan,
        repository: &Repository,
        environment: &Environment,
        now: &str,
    ) -> Result<Left, Error> {
        let record = &self.known.record;
        let mut notes = Vec::new();
        let (removal, commits) = match &self.rest {
            Some(removal) => {
                let commits = removal.saved.as_ref();
                let commits = commits.map(|saved| format!("; its commits are in {saved}"));
                notes.push(format!(
                    "{}: finished a removal that was interrupted{}",
                    record.name,
                    commits.unwrap_or_default()
                ));
                (removal.clone(), None)
            }
            None => {
                // what only a clone has comes to us first
                notes.extend(brought(&self.known, &bring(repository, &self.known)?));
                self.begin(plan, repository, now)?
            }
        };
        let held = record.claim.as_ref();
        notes.extend(
            held.and_then(|held| {
                claims::release_or_note(repository, &record.name, held, environment)
            }),
        );
        let branch = finish(repository, &self.known, &removal)?;
        let kept = removal.trash.as_ref();
        let time = kept.map(|stamp| stamp.time.clone()).or_else(|| {
            let commits = commits.as_ref()?;
            commits.0.rsplit('/').next().map(ToOwned::to_owned)
        });
        let trash = time.map(|time| Trashed {
            name: record.name.clone(),
            time,
            removed: None,
            removal: kept.map(|_| removal.clone()),
            path: None,
            commits,
        });
        Ok(Left {
            branch: removal
                .branch_at
                .as_ref()
                .map_or_else(|| plan.branch.clone(), |_| branch),
            trash,
            notes,
        })
    }

    /// Keeps commits that nothing else holds, and writes down that the removal begins.
    fn begin(
        &self,
        plan: &RemovePlan,
        repository: &Repository,
        now: &str,
    ) -> Result<(Removal, Option<(String, CommitId)>), Error> {
        let record = &self.known.record;
        let time = trash::free_time(repository, &record.name, now)?;
        let commits = trash::keep_commits(repository, &record.name, &time, &plan.keep)?;
        let heads = &self.heads;
        let branch_at = match &plan.branch {
            BranchFate::Deleted(tip) => Some(tip.clone()),
            BranchFate::Stays | BranchFate::Gone | BranchFate::Private => None,
        };
        let removal = Removal {
            began: now.to_owned(),
            created: record.created.clone(),
            branch_at,
            saved: commits.as_ref().map(|(name, _)| name.clone()),
            trash: plan.trash.then(|| TrashStamp {
                time,
                head: heads.head.clone(),
                on: heads.symbolic.clone(),
                tip: heads.branch.clone(),
            }),
        };
        files::write(&self.known.dir.join(REMOVING), to_text(&removal).as_bytes())?;
        Ok((removal, commits))
    }
}

/// Does what a removal has decided, or the rest of it; what became of the branch.
///
/// # Errors
/// Fails when git or the disk does: the next call goes on.
pub fn finish(
    repository: &Repository,
    known: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    match &removal.trash {
        Some(stamp) => trash::enter(repository, known, stamp)?,
        None => delete_directory(repository, known)?,
    }
    let branch = match known.record.strategy {
        // of a clone nothing is here but the record
        Strategy::Clone => BranchFate::Private,
        Strategy::Worktree => {
            if removal.trash.is_none() {
                forget_entry(repository, known)?;
            }
            delete_branch(repository, known, removal)?
        }
    };
    // what says what the rest is goes last
    match &removal.trash {
        Some(stamp) => trash::move_record(repository, known, &stamp.time)?,
        None => files::remove_directory_in_order(&known.dir, &["record.toml", REMOVING])?,
    }
    files::remove_if_empty(&repository.records_dir());
    Ok(branch)
}

/// Moves the directory aside, where it is deleted later; one that cannot be moved is deleted.
fn delete_directory(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let Some(bin) = TrashBin::open(&repository.root)? else {
        return Ok(());
    };
    let name = known.record.name.as_str();
    match bin.put(name)? {
        Put::Nothing | Put::Moved | Put::Unlinked => Ok(()),
        Put::Stands => Ok(bin.delete_in_place(name)?),
    }
}

/// Lets git forget the worktree, if git still knows it.
fn forget_entry(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let record = &known.record;
    let _shared = Lock::wait(&repository.shared_lock())?;
    if let Err(error) = repository.git.worktree_remove_missing(&record.path) {
        // one that git does not know is what we want
        let listed = repository.worktrees()?;
        if listed.iter().any(|entry| entry.path == record.path) {
            return Err(error.into());
        }
        // what a git leaves that is killed while it deletes the entry
        let dot_git = files::read(&record.admin_dir.join("gitdir"))?;
        let own = format!("{}/.git", record.path);
        if dot_git.is_none_or(|text| text.trim_ascii_end() == own.as_bytes()) {
            files::remove_directory(&record.admin_dir)?;
        }
        files::remove_if_empty(&repository.common_dir.join("worktrees"));
    }
    Ok(())
}

/// Deletes the branch if that was decided and it is still where it was then.
fn delete_branch(
    repository: &Repository,
    known: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    let branch = &known.record.branch;
    let name = branch.full_ref();
    let Some(tip) = &removal.branch_at else {
        return Ok(BranchFate::Stays);
    };
    let delete = || repository.git.delete_ref(&name, tip);
    let deleted = delete().or_else(|error| {
        if error.was_killed() || error.is_locked() {
            // by a git that was killed, now or with the removal that this one goes on with
            end_locks(repository, Some(branch), &known.dir.join(REMOVING));
        }
        if error.is_locked() {
            delete()
        } else {
            Err(error)
        }
    });
    let Err(error) = deleted else {
        return Ok(BranchFate::Deleted(tip.clone()));
    };
    match repository.git.rev_parse_commit(&name)? {
        None => Ok(BranchFate::Gone),
        // somebody committed to it meanwhile
        Some(now) if now != *tip => Ok(BranchFate::Stays),
        Some(_) => Err(error.into()),
    }
}

/// What the user should hear of the commits that a clone had for itself.
fn brought(known: &Worktree, brought: &Brought) -> Vec<String> {
    let name = &known.record.name;
    let mut notes = Vec::new();
    if let Some((incoming, tip)) = &brought.incoming {
        let tip = CommitId::short(tip);
        notes.push(format!(
            "the commits of `{name}` are in {incoming} ({tip}); to merge them: git merge {incoming}"
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
