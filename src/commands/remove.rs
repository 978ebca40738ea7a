//! `git agentwt remove`: removes worktrees, never losing work.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::bring::{self, Brought};
use crate::apply::rescue::Rescue;
use crate::apply::trash::{self, Since};
use crate::apply::{claim, remove, trash_bin};
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::facts::changes::Survey;
use crate::facts::remove::Around;
use crate::facts::worktree::Known;
use crate::facts::{Repository, joined, remove as facts};
use crate::name::{BranchName, WorktreeName};
use crate::plan::refusal::Refusal;
use crate::plan::remove::{BranchFate, RemoveOptions, RemovePlan, notes, plan};
use crate::record::{Removal, VERSION};

/// Holds what became of one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whether it would only be removed (`-n`).
    pub dry_run: bool,
    /// The plan.
    pub plan: RemovePlan,
    /// Where what would have been lost was saved.
    pub trash: Option<Rescue>,
    /// How many ignored files went with it.
    pub ignored: usize,
    /// Where they were, with their sizes, the largest first.
    pub ignored_places: Vec<(String, u64)>,
}

/// Holds a worktree that may be removed.
struct Leaving {
    known: Known,
    plan: RemovePlan,
    what: What,
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

/// Removes the named worktrees. All are looked at before the first is touched: when one is
/// refused, none is removed.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails.
pub fn run(
    session: &Session,
    options: &crate::cli::Remove,
) -> Result<Outcome<Vec<Removed>>, Error> {
    let repository = session.repository()?;
    let (asked, _locks) = asked(&repository, &options.names)?;
    let (planned, mut notes) = decide(&repository, asked, options)?;
    let mut removed = Vec::new();
    for leaving in planned {
        session.check()?;
        let (one, more) = if options.dry_run {
            (leaving.would_be_removed(), Vec::new())
        } else {
            leaving.remove(session, &repository)?
        };
        notes.extend(more);
        removed.push(one);
    }
    if !options.dry_run {
        let root = &repository.root;
        notes.extend(if options.wait {
            session.waiting(|| trash_bin::empty_now(root))?
        } else {
            trash_bin::empty_soon(root, &session.binary)?
        });
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(removed)
    })
}

/// Looks at all of them, and decides about each.
fn decide(
    repository: &Repository,
    asked: Vec<Known>,
    options: &crate::cli::Remove,
) -> Result<(Vec<Leaving>, Vec<String>), Error> {
    let allowed = RemoveOptions {
        force: options.force,
        delete_branch: options.delete_branch,
        keep_branch: options.keep_branch,
        owner: options.owner.clone(),
    };
    let may_go = |known: &&Known| known.record.branch_made || options.delete_branch;
    let may_go = asked.iter().filter(|_| !options.keep_branch).filter(may_go);
    let leaving: Vec<BranchName> = may_go.map(|known| known.record.branch.clone()).collect();
    let survey = |known: Known| {
        let rest = facts::begun(&known).filter(|_| !files::exists(&known.record.path));
        let what = match rest {
            Some(removal) => What::Rest(removal),
            None => {
                let is_saved = options.force > 0 && !options.dry_run;
                let since = is_saved.then(|| Since::now(&known)).transpose()?;
                let survey = facts::survey(repository, &known)?;
                What::Whole(Box::new(Surveyed { survey, since }))
            }
        };
        Ok((known, what))
    };
    let (around, surveyed) = std::thread::scope(|scope| {
        let around = scope.spawn(|| Around::read(repository));
        let surveyed: Result<Vec<_>, Error> = asked.into_iter().map(survey).collect();
        (joined(around), surveyed)
    });
    let around = around?;
    let (mut planned, mut told) = (Vec::new(), Vec::new());
    for (known, what) in surveyed? {
        let plan = match &what {
            What::Rest(removal) => plan_of_rest(removal),
            What::Whole(seen) => {
                let survey = &seen.survey;
                let facts = facts::read(repository, &around, &known, survey, &leaving)?;
                told.extend(notes(&facts, &allowed));
                plan(&facts, &allowed).map_err(Refusal::from)?
            }
        };
        planned.push(Leaving { known, plan, what });
    }
    Ok((planned, told))
}

/// What an interrupted removal has decided.
fn plan_of_rest(removal: &Removal) -> RemovePlan {
    RemovePlan {
        save: Vec::new(),
        keep: Vec::new(),
        branch: match &removal.branch_at {
            Some(tip) => BranchFate::Deleted(tip.clone()),
            None => BranchFate::Stays,
        },
        merged: None,
    }
}

/// Loads the named worktrees, each once, and takes their locks: in the order of the names, so
/// that two commands for the same ones never wait for each other.
fn asked(repository: &Repository, names: &[String]) -> Result<(Vec<Known>, Vec<Lock>), Error> {
    let mut order: Vec<WorktreeName> = Vec::new();
    for text in names {
        let name = Known::of(repository, Some(text))?.record.name;
        if !order.contains(&name) {
            order.push(name);
        }
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let mut locks = Vec::new();
    for name in &sorted {
        locks.push(Lock::wait(&repository.name_lock(name))?);
    }
    // what they were may have changed while we waited
    let known: Result<_, _> = order
        .iter()
        .map(|name| Known::load(repository, name))
        .collect();
    Ok((known?, locks))
}

impl Leaving {
    fn would_be_removed(self) -> Removed {
        self.into_removed(None, true)
    }

    /// Saves what would be lost, and takes it away.
    fn remove(
        mut self,
        session: &Session,
        repository: &Repository,
    ) -> Result<(Removed, Vec<String>), Error> {
        let mut notes = Vec::new();
        let (rescue, removal) = match &self.what {
            What::Whole(seen) => {
                let (known, plan) = (&self.known, &self.plan);
                let own = known.readable_repository(repository);
                let time = Session::now();
                let saved = match &seen.since {
                    Some(since) => {
                        Some(trash::save(&own, known, &seen.survey, plan, since, &time)?)
                    }
                    None => trash::save_commits(&own, known, plan, &time)?,
                };
                let rescue = saved.map(|saved| {
                    notes.extend(saved.notes);
                    saved.rescue
                });
                // what only a clone has, saved work too, comes to us first
                let brought = bring::bring(repository, &self.known, rescue.as_ref())?;
                notes.extend(come_in(&self.known, &brought));
                let removal = self.removal(rescue.as_ref());
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
            claim::release_or_note(repository, name, held, &session.environment)
        }));
        let branch = remove::take_away(repository, &self.known, &removal)?;
        if removal.branch_at.is_some() {
            self.plan.branch = branch;
        }
        Ok((self.into_removed(rescue, false), notes))
    }

    fn removal(&self, rescue: Option<&Rescue>) -> Removal {
        let branch_at = match &self.plan.branch {
            BranchFate::Deleted(tip) => Some(tip.clone()),
            BranchFate::Stays | BranchFate::Gone | BranchFate::Private => None,
        };
        Removal {
            version: VERSION,
            began: Session::now(),
            created: self.known.record.created.clone(),
            branch_at,
            saved: rescue.map(|rescue| rescue.name.clone()),
        }
    }

    fn into_removed(self, trash: Option<Rescue>, dry_run: bool) -> Removed {
        let (ignored, ignored_places) = match &self.what {
            What::Whole(seen) => (seen.survey.ignored(), seen.survey.ignored_by_place()),
            What::Rest(_) => (0, Vec::new()),
        };
        Removed {
            name: self.known.record.name.to_string(),
            path: self.known.record.path,
            branch: self.known.record.branch.to_string(),
            dry_run,
            plan: self.plan,
            trash,
            ignored,
            ignored_places,
        }
    }
}

/// What the user should hear of the commits that a clone had for itself.
fn come_in(known: &Known, brought: &Brought) -> Vec<String> {
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
