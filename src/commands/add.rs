//! `git agentwt add`: makes a scoped worktree, or nothing.

mod attempts;
mod claim;
mod elsewhere;
mod files;
mod fill;
mod making;
mod overlap;

use super::{Outcome, Session};
use crate::apply::{made, register};
use crate::client::{Layout, Root};
use crate::config::{Choice, Client, SettingFlags, Strategy};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::facts::add::{self as facts, Asked as AskedFor, Classified, Counts, Listing};
use crate::facts::{Loaded, Main, Repository, Worktree, WorktreeError, load_config, owner, prompt};
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::plan::add::{AddFacts, AddPlan, Decision, plan};
use crate::plan::context::{self, Around};
use crate::plan::refusal::Refusal;
use crate::scope::Scope;
use crate::sync::SyncPlan;
use crate::sync::plan::WorktreeFiles;
use crate::worktree::RecordState;
use crate::worktree::repository::joined;
use crate::worktree::{Alive, HeldClaim, Owner};
use attempts::Attempts;
use claim::Claiming;
use elsewhere::Fetched;
use files::Files;
use making::{Making, WithHooks};

/// Holds what `add` made, found or would make.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Which of the three.
    pub done: Done,
    /// The plan; for a worktree that was there, the same taken from its record.
    pub plan: AddPlan,
    /// How many tracked files have which access.
    pub files: Counts,
    /// What is synced; none for a worktree that was there.
    pub synced: Option<SyncPlan>,
    /// How many attempts it took.
    pub attempts: u32,
    /// Who owns it, if anybody said.
    pub owner: Option<Owner>,
    /// Whether that one is alive.
    pub alive: Alive,
    /// What was claimed on a server, if anything.
    pub claim: Option<HeldClaim>,
}

/// Says what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was made.
    Made,
    /// It was there.
    Kept,
    /// It would be made (`-n`).
    Planned,
}

/// Makes the worktree, in as many attempts as are asked for.
///
/// # Errors
/// Fails when the plan refuses, or a step fails: everything that was made is then undone. Fails
/// when ownership is lost between two attempts.
pub fn run(session: &Session, options: &crate::cli::Add) -> Result<Outcome<Added>, Error> {
    let name = WorktreeName::parse(&options.name).map_err(|error| Refusal::BadName {
        text: crate::path::escape_for_terminal(options.name.as_bytes()),
        why: error.to_string(),
    })?;
    if options.repo.is_some() && options.strategy.as_deref() == Some(Strategy::Worktree.as_str()) {
        let name = name.to_string();
        return Err(Refusal::RepoIsClone { name }.into());
    }
    // once: it may come from a pipe
    let prompt =
        session.waiting(|| prompt::read(&options.context, &session.start, &session.input))?;
    let attempts = Attempts::of(session, &name, options);
    let claiming = Claiming::new(session, &name, options);
    let made = attempts.run(
        || claiming.check(),
        || attempt(session, options, &name, prompt.as_deref(), &claiming),
    );
    let (mut outcome, number) = claiming.or_back(made)?;
    outcome.answer.attempts = number;
    Ok(outcome)
}

/// Makes the worktree, with facts of its own: whatever an earlier attempt saw may have changed.
fn attempt(
    session: &Session,
    options: &crate::cli::Add,
    name: &WorktreeName,
    prompt: Option<&[u8]>,
    claiming: &Claiming<'_>,
) -> Result<Outcome<Added>, Error> {
    let repository = match &options.repo {
        Some(_) => elsewhere::home(session, options)?,
        None => elsewhere::here(session, name)?,
    };
    let _one_at_a_time = Lock::wait(&repository.name_lock(name))?;
    let mut left = None;
    let known = match RecordState::read(&repository, name)? {
        RecordState::Complete(known) => Some(*known),
        RecordState::Missing => None,
        RecordState::Incomplete(intent) => {
            // we hold the lock of the name, so whoever wrote this is gone
            if options.dry_run {
                let name = name.to_string();
                return Err(WorktreeError::Incomplete { name }.into());
            }
            made::clear(&repository, name, &intent)?;
            left = removed_before(&repository, name)?;
            None
        }
    };
    let fetched = match (&options.repo, &known) {
        (Some(url), None) => Some(Fetched::new(session, &repository, name, url)?),
        (Some(_) | None, _) => None,
    };
    let ground = match (&fetched, &known) {
        (Some(fetched), _) => fetched.repository.clone(),
        (None, Some(known)) if options.repo.is_some() => known.readable_repository(&repository),
        (None, _) => repository.clone(),
    };
    let asked = read_facts(session, &ground, options, name, known.as_ref(), prompt)?;
    let Asked { facts, loaded } = asked;
    let mut plan = match plan(&facts)? {
        Decision::Make(plan) => *plan,
        Decision::Keep(plan) => {
            let claimed = match &known {
                Some(known) => claiming.take_for(&repository, known)?,
                None => None,
            };
            let mut kept = kept(&repository, *plan, known.as_ref(), options, prompt)?;
            kept.notes.extend(claimed);
            return Ok(kept);
        }
    };
    let scope = Scope::compile(plan.rules.clone(), ground.case()?);
    let scope = scope.map_err(Error::from)?;
    let listing = Listing::of(&ground, plan.checkout())?;
    // another repository's files are nobody's here
    let around = fetched.is_none().then_some(&repository);
    let (classified, mut notes, overlaps) = classified(around, name, &scope, &listing, options);
    notes.extend(left);
    notes.extend(overlaps?);
    let files = classified.counts();
    let files_to_sync = Files::select(session, &repository, &loaded, &sync_of(options))?;
    let there = WorktreeFiles::tracking(listing.entries.iter().map(|(path, _)| path));
    let mut synced = files_to_sync.plan(&repository, &plan, &scope, &there)?;
    let layout = layout(&repository, &plan, prompt, &scope, &listing, &synced)?;
    plan.context = layout.files;
    notes.extend(layout.notes);
    notes.extend(files_to_sync.note());
    notes.extend(facts::behind_upstream(&ground, &plan.revision, &plan.base)?);
    if session.is_root {
        notes.push(AS_ROOT.to_owned());
    }
    claiming.take(&repository)?;
    notes.extend(claiming.note());
    let claim = claiming.held();
    let done = if options.dry_run {
        Done::Planned
    } else {
        let hooks = if options.no_hooks {
            WithHooks::No
        } else {
            WithHooks::Yes
        };
        let making = Making {
            session,
            repository: &repository,
            fetched: fetched.as_ref(),
            plan: &plan,
            scope: &scope,
            files: &files_to_sync,
            hooks,
            claim: claim.clone(),
        };
        synced = making.apply(&classified, &mut notes)?;
        Done::Made
    };
    let owner = plan.owner.clone();
    Ok(Outcome {
        notes,
        ..Outcome::done(Added {
            done,
            plan,
            files,
            synced: Some(synced),
            attempts: 1,
            alive: alive(owner.as_ref()),
            owner,
            claim,
        })
    })
}

/// Which access each file has, what the author of the rules should hear, and what other worktrees
/// of the repository around may write as well.
fn classified<'l>(
    around: Option<&Repository>,
    name: &WorktreeName,
    scope: &Scope,
    listing: &'l Listing,
    options: &crate::cli::Add,
) -> (Classified<'l>, Vec<String>, Result<Vec<String>, Error>) {
    std::thread::scope(|threads| {
        let covered = threads.spawn(|| facts::cover(scope, listing));
        let classified = Classified::by(scope, listing);
        let overlaps =
            around.map(|around| overlap::check(around, name, scope, &classified, options));
        let (_, advice) = joined(covered);
        (
            classified,
            advice,
            overlaps.unwrap_or_else(|| Ok(Vec::new())),
        )
    })
}

/// What was cleared may have been the bringing back of one that was removed: that is to be said.
fn removed_before(repository: &Repository, name: &WorktreeName) -> Result<Option<String>, Error> {
    let all = crate::facts::trash::all(repository)?;
    let is_kept = all.iter().any(|one| one.name == *name);
    Ok(is_kept.then(|| {
        format!(
            "a removed worktree of this name is kept; to have it instead of the new one: git agentwt remove {name} && git agentwt remove --undo {name}"
        )
    }))
}

/// What is in the main worktree belongs to another repository than a clone of a URL.
fn sync_of(options: &crate::cli::Add) -> crate::cli::SyncOptions {
    let mut sync = options.sync.clone();
    sync.no_sync |= options.repo.is_some();
    sync
}

fn alive(owner: Option<&Owner>) -> Alive {
    owner.map_or(Alive::Unknown, owner::alive)
}

/// What is written for the client, before anything is made.
fn layout(
    repository: &Repository,
    plan: &AddPlan,
    prompt: Option<&[u8]>,
    scope: &Scope,
    listing: &Listing,
    synced: &SyncPlan,
) -> Result<Layout, Refusal> {
    let synced: Vec<RepoPath> = synced.copy.iter().map(|one| one.path.clone()).collect();
    let around = Around {
        scope,
        tracked: &listing.entries,
        synced: &synced,
        root: match repository.main {
            Main::Worktree => Root::MainWorktree(&repository.root),
            Main::Bare => Root::Bare(&repository.root),
        },
    };
    context::plan(plan, prompt.unwrap_or_default(), &around)
}

/// Holds what was read before anything is decided.
struct Asked {
    facts: AddFacts,
    loaded: Loaded,
}

const AS_ROOT: &str = "you are root, whom read-only bits do not stop; \
    `git agentwt verify` sees every change all the same";

fn read_facts(
    session: &Session,
    repository: &Repository,
    options: &crate::cli::Add,
    name: &WorktreeName,
    known: Option<&Worktree>,
    prompt: Option<&[u8]>,
) -> Result<Asked, Error> {
    let strategy = options.strategy.as_deref().and_then(Strategy::parse);
    let elsewhere = options.repo.is_some();
    let flags = SettingFlags {
        base: options.base.clone(),
        scope: options.scope.profile.clone(),
        client: options.context.client.as_deref().and_then(Client::parse),
        strategy: if elsewhere {
            Some(Strategy::Clone)
        } else {
            strategy
        },
        ..SettingFlags::default()
    };
    let mut loaded = load_config(repository.home(), &flags, &session.environment)?;
    if elsewhere && flags.base.is_none() {
        // a branch of another repository
        loaded.settings.base = None;
    }
    let profile = if elsewhere && flags.scope.is_none() {
        None
    } else {
        loaded.settings.profile(&loaded.config)?.cloned()
    };
    let profile = profile.map(|profile| (loaded.settings.scope.value.clone(), profile));
    let branch = options.branch.as_deref();
    let asked = AskedFor {
        name,
        branch,
        lists: &options.scope,
        profile,
        prompt: prompt.map(ToOwned::to_owned),
        owner: owner::read(&options.programs, known, Session::now())?,
    };
    let mut facts = facts::read(repository, &loaded, &asked, known)?;
    facts.config_found &= !elsewhere;
    Ok(Asked { facts, loaded })
}

fn kept(
    repository: &Repository,
    plan: AddPlan,
    known: Option<&Worktree>,
    options: &crate::cli::Add,
    told: Option<&[u8]>,
) -> Result<Outcome<Added>, Error> {
    let note = match known {
        Some(known) => prompt::of_kept(known, &options.context, told)?,
        None => None,
    };
    let of_owner = match known {
        Some(known) => owned(known, plan.owner.as_ref(), options)?,
        None => None,
    };
    let files = match known {
        Some(known) => {
            let own = known.readable_repository(repository);
            Classified::by(&known.scope, &Listing::of(&own, plan.checkout())?).counts()
        }
        None => Counts::default(),
    };
    let of_sync = (!options.sync.globs.is_empty()).then(|| {
        let name = &plan.name;
        format!("--sync only counts when a worktree is made; to have what this one was made with: git agentwt sync {name}")
    });
    let recorded = known.and_then(|known| known.record.owner.clone());
    let owner = plan.owner.clone().or(recorded);
    Ok(Outcome {
        notes: note.into_iter().chain(of_sync).chain(of_owner).collect(),
        ..Outcome::done(Added {
            done: Done::Kept,
            plan,
            files,
            synced: None,
            attempts: 1,
            alive: alive(owner.as_ref()),
            owner,
            claim: known.and_then(|known| known.record.claim.clone()),
        })
    })
}

/// Writes down a new owner of a worktree that is there; what is to be said of owners.
fn owned(
    known: &Worktree,
    new: Option<&Owner>,
    options: &crate::cli::Add,
) -> Result<Option<String>, Error> {
    let recorded = known.record.owner.as_ref();
    let Some(new) = new else {
        let is_asked = options.programs.owner.is_some();
        return Ok(recorded
            .filter(|_| !is_asked)
            .map(|owner| format!("it belongs to {owner}")));
    };
    if !options.dry_run {
        register::renew_owner(known, new.clone())?;
    }
    let other = recorded.filter(|recorded| recorded.id != new.id);
    Ok(other.map(|other| format!("it belonged to {other} until now")))
}
