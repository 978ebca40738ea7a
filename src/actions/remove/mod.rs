//! Removes one worktree, as `remove`, `prune` and `land` do: reads what decides, plans by
//! `remove`'s rules, and moves the worktree into the trash.
//!
//! A refusal moves nothing, as an agent may be at work there. What was decided is looked at again
//! when the directory is in the trash, where nobody finds it under its old path any more: what came
//! meanwhile puts it back, with the reasons (`docs/decisions/0040-look-again-in-the-trash.md`).
//!
//! The file `removing` comes first and the record goes last: after a kill in between, another
//! call finds how far the removal was decided.

pub mod facts;
pub mod merged;
pub mod plan;

use crate::actions::bring::bring;
use crate::actions::dead_locks::{end_locks, lock_of};
use crate::actions::remove::facts::{Around, Site};
use crate::actions::remove::plan::{
    BranchFate, IgnoredPlace, Merged, RemoveFacts, RemoveOptions, RemovePlan, RemoveRefusal,
};
use crate::actions::trash;
use crate::actions::trash::{REMOVING, Trashed, begun};
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::remove_dead_locks;
use crate::disk::trash_bin::TrashBin;
use crate::git::error::GitError;
use crate::record::worktree::{Record, Removal, Term, TrashStamp};
use crate::truth::head::WorktreeHead;
use crate::truth::options::ReadPolicy;
use crate::truth::survey::Survey;
use crate::truth::{collect, planted};
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path::RepoPath;
use crate::words::path_text::paths;
use crate::words::toml_file::{from_text, to_text};
use crate::worktree::admin_dir::{delete_entry, worktree_of};
use crate::worktree::claims;
use crate::worktree::loaded::{Worktree, unknown};
use crate::worktree::repository::Repository;
use crate::worktree::settings::Environment;

/// Holds a worktree that may be removed, and what was read of it.
pub struct Leaving {
    /// The worktree.
    pub known: Worktree,
    /// What is in it; none where that does not matter: it goes into the trash as it is, or an
    /// earlier removal has decided.
    pub survey: Option<Survey>,
    /// What decides; of no meaning where an earlier removal has decided.
    pub facts: RemoveFacts,
    heads: WorktreeHead,
    /// The branches that may go in the same command.
    going: Vec<BranchName>,
    /// How the branch was merged, where the caller knows that.
    assumed: Option<AssumedMerge>,
    /// What an earlier removal of the worktree has decided, which was interrupted.
    pub rest: Option<Removal>,
}

/// How a branch at this commit was merged: by its commits, or in this way.
#[derive(Clone)]
struct AssumedMerge {
    tip: CommitId,
    merged: Option<Merged>,
}

impl Leaving {
    /// Takes the branch as merged, if it is at `tip`: by its commits, or in this way.
    pub fn assume_merged(&mut self, tip: &CommitId, merged: Option<Merged>) {
        let assumed = AssumedMerge {
            tip: tip.clone(),
            merged,
        };
        assumed.set_in(&mut self.facts);
        self.assumed = Some(assumed);
    }

    /// Reads a worktree whose lock is ours. What is in it is only read where that decides: `whole`
    /// says that it goes into the trash whatever it holds. `going` are the branches that go in the
    /// same command.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read(
        repository: &Repository,
        known: Worktree,
        around: &Around,
        going: &[BranchName],
        whole: bool,
    ) -> Result<Self, Error> {
        let rest = trash::going(repository, &known);
        let mut survey = None;
        let mut heads = WorktreeHead::default();
        let mut facts = RemoveFacts::default();
        if rest.is_none() {
            if whole {
                let own = known.readable_repository(repository);
                heads = WorktreeHead::read(&own, &known, &ReadPolicy::best())?;
            } else {
                let found = collect(repository, &known)?;
                heads = found.head.clone();
                survey = Some(found);
            }
            let site = Site {
                known: &known,
                stands: &known,
            };
            facts = facts::read(repository, around, &site, survey.as_ref(), &heads, going)?;
        }
        Ok(Self {
            known,
            survey,
            facts,
            heads,
            going: going.to_vec(),
            assumed: None,
            rest,
        })
    }

    /// Decides.
    ///
    /// # Errors
    /// Refuses what `remove` refuses.
    pub fn plan(&self, allowed: &RemoveOptions) -> Result<RemovePlan, RemoveRefusal> {
        if let Some(rest) = &self.rest {
            return Ok(RemovePlan {
                branch: match &rest.branch_at {
                    Some(_) => BranchFate::Deleted,
                    None => BranchFate::Stays,
                },
                tip: rest.branch_at.clone(),
                term: rest.trash.as_ref().map(|stamp| stamp.term),
                dry_run: allowed.dry_run,
                ..RemovePlan::default()
            });
        }
        let mut plan = plan::plan(&self.known.record, &self.facts, allowed)?;
        if let Some(survey) = &self.survey {
            let uncommitted = self.facts.uncommitted.iter();
            let uncommitted = uncommitted.map(|(path, _): &(RepoPath, _)| path.as_bstr());
            plan.saved = Some(paths(uncommitted));
            plan.ignored = Some(survey.build_output().count());
            let places = survey.build_places();
            plan.ignored_places = places.iter().map(IgnoredPlace::new).collect();
        }
        Ok(plan)
    }

    /// Takes it away, and says in the plan what became of it. `allowed` is what the plan was made
    /// with, and `now` is RFC 3339 in UTC.
    ///
    /// # Errors
    /// Refuses when something came meanwhile that `remove` refuses: then it is where it was. Fails
    /// when something cannot be kept or taken away: the next call goes on.
    pub fn apply(
        &self,
        plan: &mut RemovePlan,
        repository: &Repository,
        environment: &Environment,
        allowed: &RemoveOptions,
        now: &str,
    ) -> Result<(), Error> {
        let record = &self.known.record;
        let begun = match &self.rest {
            Some(removal) => {
                let saved = removal.saved.as_ref();
                let saved = saved.map(|at| format!("; its commits are in {at}"));
                let saved = saved.unwrap_or_default();
                let name = &record.name;
                let done = "finished a removal that was interrupted";
                plan.notes.push(format!("{name}: {done}{saved}"));
                Begun {
                    removal: removal.clone(),
                    commits: None,
                }
            }
            None => {
                // what only a clone has comes to us first
                plan.notes.extend(bring(repository, &self.known)?);
                self.move_away(plan, repository, allowed, now)?
            }
        };
        if let Some(held) = &record.claim {
            let note = claims::release_or_note(repository, &record.name, held, environment);
            plan.notes.extend(note);
        }
        let branch = finish(repository, &self.known, &begun.removal)
            .inspect_err(|_| self.end_unless_away(repository, &begun.removal))?;
        if begun.removal.branch_at.is_some() {
            plan.branch = branch;
        }
        plan.trash = begun.trashed(&record.name);
        Ok(())
    }

    /// Begins the removal and moves the directory into the trash, where it is looked at again if
    /// a look has decided.
    fn move_away(
        &self,
        plan: &mut RemovePlan,
        repository: &Repository,
        allowed: &RemoveOptions,
        now: &str,
    ) -> Result<Begun, Error> {
        let time = trash::free_time(repository, &self.known.record.name, now)?;
        let mut begun = self.begin(plan, repository, &time, now, None)?;
        let Some(stamp) = begun.removal.trash.clone() else {
            return Ok(begun);
        };
        let moved = trash::enter_directory(repository, &self.known, &stamp);
        let stands = match moved {
            Ok(()) => trash::in_trash(repository, &self.known, &stamp.time),
            Err(error) if stamp.term == Term::Short && cannot_rename(&error) => {
                // it is deleted where it stands, and not looked at under another name
                begun.removal.trash = None;
                self.known.clone()
            }
            Err(error) => {
                self.end_unless_away(repository, &begun.removal);
                return Err(error.into());
            }
        };
        if stamp.term == Term::Long {
            return Ok(begun);
        }
        match self.again(plan, repository, &stands, allowed) {
            Ok((again, decided)) => {
                let keep = std::mem::replace(plan, decided).keep;
                let is_as_before = keep == plan.keep
                    && begun.removal.branch_at == plan.tip
                    && begun.removal.trash == again.stamp(plan, &time);
                if is_as_before {
                    return Ok(begun);
                }
                again.begin_anew(plan, repository, &begun, &time, now)
            }
            Err(error) => self.put_back(plan, repository, begun, &stamp, error),
        }
    }

    /// Reads the worktree as it stands now, in the trash or in its place, and decides again.
    ///
    /// # Errors
    /// Refuses what `remove` refuses, and fails when it cannot be read.
    fn again(
        &self,
        plan: &RemovePlan,
        repository: &Repository,
        stands: &Worktree,
        allowed: &RemoveOptions,
    ) -> Result<(Self, RemovePlan), Error> {
        let mut notes = plan.notes.clone();
        if stands.record.strategy == Strategy::Clone {
            notes.extend(bring(repository, stands)?);
        }
        let around = Around::read(repository)?;
        let survey = collect(repository, stands)?;
        let heads = survey.head.clone();
        let site = Site {
            known: &self.known,
            stands,
        };
        let going = &self.going;
        let mut facts = facts::read(repository, &around, &site, Some(&survey), &heads, going)?;
        // where the command was started is no news
        facts.start.clone_from(&facts.root);
        if let Some(assumed) = &self.assumed {
            assumed.set_in(&mut facts);
        }
        let again = Self {
            known: self.known.clone(),
            survey: Some(survey),
            facts,
            heads,
            going: going.clone(),
            assumed: self.assumed.clone(),
            rest: None,
        };
        let mut decided = again.plan(allowed)?;
        decided.notes = notes;
        if stands.record.path == self.known.record.path {
            decided.term = None;
        }
        Ok((again, decided))
    }

    /// Moves the directory back, as something came meanwhile that `error` tells. Where something
    /// new stands in its place, it is kept in the trash as work is.
    fn put_back(
        &self,
        plan: &mut RemovePlan,
        repository: &Repository,
        mut begun: Begun,
        stamp: &TrashStamp,
        error: Error,
    ) -> Result<Begun, Error> {
        let Err(why) = trash::put_back(repository, &self.known, stamp) else {
            begun.forget_commits(repository)?;
            return Err(error);
        };
        let name = &self.known.record.name;
        plan.notes.push(format!(
            "{name}: {error}, and it cannot be put back ({why}): it is kept in the trash"
        ));
        plan.term = Some(Term::Long);
        plan.branch = BranchFate::Stays;
        begun.removal.branch_at = None;
        begun.removal.trash = Some(TrashStamp {
            term: Term::Long,
            ..stamp.clone()
        });
        write_removal(&self.known, &begun.removal)?;
        Ok(begun)
    }

    /// Takes back that the removal begins, if the directory is in its place.
    fn end_unless_away(&self, repository: &Repository, removal: &Removal) {
        if removal.trash.is_some() && trash::going(repository, &self.known).is_none() {
            let _ = trash::end(&self.known);
        }
    }

    /// Begins the removal again, as the second look decided otherwise. Whatever ends this call in
    /// between, the branch stays until the ref has the commits that are to be kept.
    fn begin_anew(
        &self,
        plan: &RemovePlan,
        repository: &Repository,
        begun: &Begun,
        time: &str,
        now: &str,
    ) -> Result<Begun, Error> {
        let mut between = begun.removal.clone();
        between.branch_at = None;
        between.trash = self.stamp(plan, time);
        write_removal(&self.known, &between)?;
        let before = begun.commits.as_ref().map(|(_, commit)| commit);
        let again = self.begin(plan, repository, time, now, before)?;
        if again.commits.is_none() {
            begun.forget_commits(repository)?;
        }
        Ok(again)
    }

    /// Keeps commits that nothing else holds, and writes down that the removal begins. `before` is
    /// the commit that the ref has from a first look.
    fn begin(
        &self,
        plan: &RemovePlan,
        repository: &Repository,
        time: &str,
        now: &str,
        before: Option<&CommitId>,
    ) -> Result<Begun, Error> {
        let record = &self.known.record;
        let commits = trash::keep_commits(repository, &record.name, time, &plan.keep, before)?;
        let removal = Removal {
            began: now.to_owned(),
            created: record.created.clone(),
            branch_at: plan.tip.clone(),
            saved: commits.as_ref().map(|(name, _)| name.clone()),
            trash: self.stamp(plan, time),
        };
        write_removal(&self.known, &removal)?;
        Ok(Begun { removal, commits })
    }

    /// How it goes into the trash; none where nothing of it is left.
    fn stamp(&self, plan: &RemovePlan, time: &str) -> Option<TrashStamp> {
        let heads = &self.heads;
        plan.term.map(|term| TrashStamp {
            time: time.to_owned(),
            head: heads.head.clone(),
            on: heads.symbolic.clone(),
            tip: heads.branch.clone(),
            term,
        })
    }
}

impl AssumedMerge {
    fn set_in(&self, facts: &mut RemoveFacts) {
        if facts.branch_tip.as_ref() == Some(&self.tip) && !facts.unmerged.is_empty() {
            facts.unmerged.clear();
            facts.merged.clone_from(&self.merged);
        }
    }
}

/// A removal that has begun.
struct Begun {
    removal: Removal,
    /// The ref that keeps commits, and its commit; none where an earlier call made it.
    commits: Option<(String, CommitId)>,
}

impl Begun {
    /// Deletes the ref that keeps commits.
    fn forget_commits(&self, repository: &Repository) -> Result<(), GitError> {
        match &self.commits {
            Some((name, commit)) => repository.git.delete_ref(name, commit),
            None => Ok(()),
        }
    }

    /// What is kept; none where nothing is.
    fn trashed(self, name: &WorktreeName) -> Option<Trashed> {
        let Self { removal, commits } = self;
        let (reference, commit) = commits.unzip();
        let stamp = removal.trash.as_ref();
        let directory = stamp.map(|stamp| trash::shown(&trash::id(name, &stamp.time)));
        let of_ref = reference.as_ref().and_then(|name| name.rsplit('/').next());
        let time = stamp.map(|stamp| stamp.time.as_str()).or(of_ref)?;
        Some(Trashed {
            directory,
            time: time.to_owned(),
            reference,
            commit,
            name: name.clone(),
            removal: Some(removal),
        })
    }
}

/// Writes down what a removal has decided.
fn write_removal(known: &Worktree, removal: &Removal) -> Result<(), DiskError> {
    files::write(&known.dir.join(REMOVING), to_text(removal).as_bytes())
}

/// True if a directory cannot be renamed at all: a mount point, or a lower layer of an overlay.
fn cannot_rename(error: &DiskError) -> bool {
    use std::io::ErrorKind::{CrossesDevices, ResourceBusy};
    matches!(error.source.kind(), CrossesDevices | ResourceBusy)
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
        None => {
            let bin = TrashBin::open(&repository.root)?;
            bin.map_or(Ok(()), |bin| bin.put(known.record.name.as_str()))?;
        }
    }
    let branch = match known.record.strategy {
        // of a clone nothing is here but the record
        Strategy::Clone => BranchFate::Private,
        Strategy::Worktree => {
            let path = &known.record.path;
            let admin = &known.record.admin_dir;
            // an entry that names another place is another worktree's, there or not
            if removal.trash.is_none() && worktree_of(admin).is_none_or(|at| at == *path) {
                delete_entry(repository, admin)?;
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
    let git = planted::git_without_hooks(repository, known);
    let delete = || git.delete_ref(&name, tip);
    let since = known.dir.join(REMOVING);
    let mut deleted = delete();
    let met_a_lock = |error: &GitError| error.was_killed() || error.is_locked();
    if deleted.as_ref().is_err_and(met_a_lock) {
        // by a git that was killed, now or with the removal that this one goes on with
        end_locks(repository, Some(branch), &since);
        deleted = delete();
    }
    let Err(error) = deleted else {
        // a git that could not delete its own lock, on a full disk, ends well all the same
        remove_dead_locks(&[lock_of(repository, branch)], &since);
        return Ok(BranchFate::Deleted);
    };
    match repository.git.rev_parse_commit(&name)? {
        None => Ok(BranchFate::Gone),
        // a process committed to it meanwhile
        Some(now) if now != *tip => Ok(BranchFate::Stays),
        Some(_) => Err(error.into()),
    }
}

/// Looking takes no lock, so that a long look delays no process. What it found, or could not find,
/// in what is removed in that moment says nothing: the record is read again then.
impl Worktree {
    /// Whether it was removed since it was loaded, or just is. One whose removal was interrupted is
    /// still there, and so is one whose directory stands.
    pub fn is_gone(&self, repository: &Repository) -> bool {
        let is_held = || repository.home().name_lock(&self.record.name).is_held();
        let is_going = || !files::exists(&self.record.path) && begun(self).is_some() && is_held();
        !self.is_recorded() || is_going() || !self.is_recorded()
    }

    /// Whether the record is there, and that of this very worktree. One that cannot be read is;
    /// so is one that was taken away alone, as a removal takes the directory first.
    fn is_recorded(&self) -> bool {
        let record = match files::read(&self.dir.join("record.toml")) {
            Ok(None) => return files::exists(&self.record.path),
            Ok(bytes) => bytes.and_then(|bytes| String::from_utf8(bytes).ok()),
            Err(_) => None,
        };
        let record = record.and_then(|text| from_text::<Record>(&text).ok());
        record.is_none_or(|record| record.created == self.record.created)
    }

    /// What was found, unless it was removed meanwhile.
    ///
    /// # Errors
    /// Fails as what was found does, or when there is no such worktree any more.
    pub fn unless_gone<T>(
        &self,
        repository: &Repository,
        found: Result<T, Error>,
    ) -> Result<T, Error> {
        if self.is_gone(repository) {
            let name = self.record.name.to_string();
            return Err(unknown(repository.home(), name));
        }
        found
    }
}
