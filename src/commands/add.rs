//! `git agentwt add`: makes a scoped worktree, or nothing.

mod attempts;
mod files;
mod making;
mod overlap;

use super::{Outcome, Session};
use crate::apply::{made, register};
use crate::client::{Layout, Root};
use crate::config::{Choice, Client, SettingFlags, Strategy};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::facts::add::{self as facts, Asked as AskedFor, Counts, Listing};
use crate::facts::sync::InWorktree;
use crate::facts::worktree::Recorded;
use crate::facts::{FactsError, Known, Loaded, Main, Repository, load_config, owner, prompt};
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::plan::add::{AddFacts, AddPlan, Decision, plan};
use crate::plan::context::{self, Around};
use crate::plan::refusal::Refusal;
use crate::plan::sync::SyncPlan;
use crate::record::Owner;
use crate::scope::Scope;
use attempts::Attempts;
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
    // once: it may come from a pipe
    let prompt =
        session.waiting(|| prompt::read(&options.context, &session.start, &session.input))?;
    let attempts = Attempts::of(session, &name, &options.programs);
    // what is held of the name elsewhere is taken here, and given back when all attempts failed
    let (mut outcome, number) =
        attempts.run(|| attempt(session, options, &name, prompt.as_deref()))?;
    outcome.answer.attempts = number;
    Ok(outcome)
}

/// Makes the worktree, with facts of its own: whatever an earlier attempt saw may have changed.
fn attempt(
    session: &Session,
    options: &crate::cli::Add,
    name: &WorktreeName,
    prompt: Option<&[u8]>,
) -> Result<Outcome<Added>, Error> {
    let repository = session.repository_with_checkout()?;
    let _one_at_a_time = Lock::wait(&repository.name_lock(name))?;
    let known = match Recorded::read(&repository, name)? {
        Recorded::Whole(known) => Some(*known),
        Recorded::Nothing => None,
        Recorded::Incomplete(intent) => {
            // we hold the lock of the name, so whoever wrote this is gone
            if options.dry_run {
                let name = name.to_string();
                return Err(FactsError::Incomplete { name }.into());
            }
            made::clear(&repository, name, &intent);
            None
        }
    };
    let asked = read_facts(session, &repository, options, name, known.as_ref(), prompt)?;
    let Asked { facts, loaded } = asked;
    let mut plan = match plan(&facts)? {
        Decision::Make(plan) => *plan,
        Decision::Keep(plan) => return kept(&repository, *plan, known.as_ref(), options, prompt),
    };
    let scope = Scope::compile(plan.rules.clone(), repository.case()?);
    let scope = scope.map_err(Error::Scope)?;
    let listing = Listing::of(&repository, plan.checkout())?;
    let (files, mut notes) = facts::count(&scope, &listing);
    notes.extend(overlap::check(
        &repository,
        &name,
        &scope,
        &listing,
        options,
    )?);
    let files_to_sync = Files::select(session, &repository, &loaded, &options.sync)?;
    let there = InWorktree::to_be(&listing.entries);
    let mut synced = files_to_sync.plan(&repository, &plan, &scope, &there)?;
    let layout = layout(&repository, &plan, prompt, &scope, &listing, &synced)?;
    plan.context = layout.files;
    notes.extend(layout.notes);
    notes.extend(files_to_sync.note());
    notes.extend(facts::behind_upstream(
        &repository,
        &plan.revision,
        &plan.base,
    )?);
    if session.is_root {
        notes.push(AS_ROOT.to_owned());
    }
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
            plan: &plan,
            scope: &scope,
            files: &files_to_sync,
            hooks,
        };
        synced = making.apply(listing, &mut notes)?;
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
            owner,
        })
    })
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
    known: Option<&Known>,
    prompt: Option<&[u8]>,
) -> Result<Asked, Error> {
    let flags = SettingFlags {
        base: options.base.clone(),
        scope: options.scope.profile.clone(),
        client: options.context.client.as_deref().and_then(Client::parse),
        strategy: options.strategy.as_deref().and_then(Strategy::parse),
        ..SettingFlags::default()
    };
    let loaded = load_config(repository, &flags, &session.environment)?;
    let profile = loaded.settings.profile(&loaded.config)?.cloned();
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
    let facts = facts::read(repository, &loaded, &asked, known)?;
    Ok(Asked { facts, loaded })
}

fn kept(
    repository: &Repository,
    plan: AddPlan,
    known: Option<&Known>,
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
            facts::count(&known.scope, &Listing::of(&own, plan.checkout())?).0
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
            owner,
        })
    })
}

/// Writes down a new owner of a worktree that is there; what is to be said of owners.
fn owned(
    known: &Known,
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
