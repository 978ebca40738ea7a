//! `git agentwt add`: makes a scoped worktree, or nothing.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Outcome, Session};
use crate::apply::made::Made;
use crate::apply::register::{Fresh, Registration, check_sparse, dot_git};
use crate::apply::{made, write_bits};
use crate::client::{Layout, Root};
use crate::config::{Choice, Client, OnViolation, SettingFlags, Strategy};
use crate::disk::files::{self, Lock};
use crate::disk::mode::Doing;
use crate::entry::Mode;
use crate::error::Error;
use crate::facts::add::{self as facts, Asked, Counts, Listing};
use crate::facts::worktree::Recorded;
use crate::facts::{FactsError, Known, Main, Repository, load_config, prompt};
use crate::git::hooks::{Hooks, PreCommit};
use crate::git::index::read_index;
use crate::git::worktree::NewWorktreeBranch;
use crate::name::WorktreeName;
use crate::plan::add::{AddFacts, AddPlan, Decision, PlannedBranch, plan};
use crate::plan::context::{self, Around};
use crate::plan::refusal::Refusal;
use crate::record::{Base, MadeBy, Record, VERSION};
use crate::scope::{Case, Scope};

/// Holds what `add` made, found or would make.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Which of the three.
    pub done: Done,
    /// The plan; for a worktree that was there, the same taken from its record.
    pub plan: AddPlan,
    /// How many tracked files have which access.
    pub files: Counts,
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

/// Says whether hooks are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WithHooks {
    Yes,
    No,
}

/// Makes the worktree.
///
/// # Errors
/// Fails when the plan refuses, or a step fails: everything that was made is then undone.
pub fn run(session: &Session, options: &crate::cli::Add) -> Result<Outcome<Added>, Error> {
    let name = WorktreeName::parse(&options.name).map_err(|error| Refusal::BadName {
        text: crate::path::escape_for_terminal(options.name.as_bytes()),
        why: error.to_string(),
    })?;
    let repository = session.repository_with_checkout()?;
    let _one_at_a_time = Lock::wait(&repository.name_lock(&name))?;
    let known = match Recorded::read(&repository, &name)? {
        Recorded::Whole(known) => Some(*known),
        Recorded::Nothing => None,
        Recorded::Incomplete(intent) => {
            // we hold the lock of the name, so whoever wrote this is gone
            if options.dry_run {
                let name = name.to_string();
                return Err(FactsError::Incomplete { name }.into());
            }
            made::clear(&repository, &name, &intent);
            None
        }
    };
    let (facts, mut notes) = read_facts(session, &repository, options, &name, known.as_ref())?;
    let told = facts.prompt.as_deref();
    let mut plan = match plan(&facts)? {
        Decision::Make(plan) => *plan,
        Decision::Keep(plan) => return kept(&repository, *plan, known.as_ref(), options, told),
    };
    let scope = Scope::compile(plan.rules.clone(), repository.case()?);
    let scope = scope.map_err(Error::Scope)?;
    let listing = Listing::of(&repository, plan.checkout())?;
    let (files, advice) = facts::count(&scope, &listing);
    notes.extend(advice);
    let layout = layout(&repository, &plan, told, &scope, &listing)?;
    plan.context = layout.files;
    notes.extend(layout.notes);
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
        apply(session, &repository, &plan, &scope, listing, hooks)?;
        Done::Made
    };
    Ok(Outcome {
        notes,
        ..Outcome::done(Added { done, plan, files })
    })
}

/// What is written for the client, before anything is made.
fn layout(
    repository: &Repository,
    plan: &AddPlan,
    prompt: Option<&[u8]>,
    scope: &Scope,
    listing: &Listing,
) -> Result<Layout, Refusal> {
    let around = Around {
        scope,
        tracked: &listing.entries,
        synced: &[],
        root: match repository.main {
            Main::Worktree => Root::MainWorktree(&repository.root),
            Main::Bare => Root::Bare(&repository.root),
        },
    };
    context::plan(plan, prompt.unwrap_or_default(), &around)
}

const AS_ROOT: &str = "you are root, whom read-only bits do not stop; \
    `git agentwt verify` sees every change all the same";

fn read_facts(
    session: &Session,
    repository: &Repository,
    options: &crate::cli::Add,
    name: &WorktreeName,
    known: Option<&Known>,
) -> Result<(AddFacts, Vec<String>), Error> {
    let flags = SettingFlags {
        base: options.base.clone(),
        scope: options.scope.profile.clone(),
        client: options.context.client.as_deref().and_then(Client::parse),
        ..SettingFlags::default()
    };
    let loaded = load_config(repository, &flags, &session.environment)?;
    let strategy = &loaded.settings.strategy;
    if strategy.value == Strategy::Clone {
        let (strategy, set_by) = ("clone".to_owned(), strategy.set_by.to_string());
        return Err(Refusal::NoSuchStrategy {
            name: name.to_string(),
            strategy,
            set_by,
        }
        .into());
    }
    let profile = loaded.settings.profile(&loaded.config)?.cloned();
    let profile = profile.map(|profile| (loaded.settings.scope.value.clone(), profile));
    let branch = options.branch.as_deref();
    let asked = Asked {
        name,
        branch,
        lists: &options.scope,
        profile,
        prompt: prompt::read(&options.context, &session.start, &session.input)?,
    };
    let facts = facts::read(repository, &loaded, &asked, known)?;
    Ok((facts, facts::notes_on_config(&loaded)))
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
    let files = match known {
        Some(known) => facts::count(&known.scope, &Listing::of(repository, plan.checkout())?).0,
        None => Counts::default(),
    };
    let done = Done::Kept;
    Ok(Outcome {
        notes: note.into_iter().collect(),
        ..Outcome::done(Added { done, plan, files })
    })
}

/// Makes what the plan says; undoes all of it when a step fails.
fn apply(
    session: &Session,
    repository: &Repository,
    plan: &AddPlan,
    scope: &Scope,
    listing: Listing,
    hooks: WithHooks,
) -> Result<(), Error> {
    let mut made = Made::nothing(repository, plan);
    let result = steps(session, repository, plan, scope, listing, hooks, &mut made);
    if let Err(error) = result {
        made.undo();
        // a signal that reached git first looks like git's own failure
        session.check()?;
        return Err(error);
    }
    Ok(())
}

fn steps(
    session: &Session,
    repository: &Repository,
    plan: &AddPlan,
    scope: &Scope,
    listing: Listing,
    hooks: WithHooks,
    made: &mut Made<'_>,
) -> Result<(), Error> {
    made.ignore_rules()?;
    made.intent(Session::now())?;
    session.check()?;
    let admin_dir = register_with_git(repository, plan, scope, &listing, made)?;
    let git = repository.git.on(&admin_dir, Some(&plan.path));
    session.check()?;
    git.reset_hard()?;
    let index = read_index(&admin_dir.join("index"), repository.format)?;
    check_sparse(scope, &index)?;
    session.check()?;
    // by the directory alone, as git starts it after `worktree add`
    let in_worktree = repository.git.at(&plan.path);
    in_worktree.hook_run_post_checkout(&listing.commit)?;
    session.check()?;
    write_bits::apply(&plan.path, scope, &index, Doing::Change)?;
    git.update_index_refresh()?;
    if hooks == WithHooks::Yes {
        let ask = match plan.on_violation {
            OnViolation::Block => PreCommit::Blocks,
            OnViolation::Report => PreCommit::Absent,
        };
        let _shared = Lock::wait(&repository.shared_lock())?;
        Hooks::of(&repository.git, &admin_dir, &plan.path)?.install(&session.binary, ask)?;
    }
    session.check()?;
    let record = record(repository, plan, scope, &admin_dir)?;
    let dir = repository.record_dir(&plan.name);
    Registration {
        repository,
        dir,
        record,
        head: listing,
        fresh: Fresh::Yes,
    }
    .write()?;
    session.check()
}

/// The steps in which git writes shared files, under the shared lock: the worktree and its
/// branch, and the sparse patterns, which may switch `extensions.worktreeConfig` on.
fn register_with_git(
    repository: &Repository,
    plan: &AddPlan,
    scope: &Scope,
    listing: &Listing,
    made: &mut Made<'_>,
) -> Result<Utf8PathBuf, Error> {
    let gitlinks = listing
        .entries
        .iter()
        .filter(|(_, entry)| entry.mode == Mode::Gitlink);
    let patterns = scope.sparse_patterns_with_gitlinks(gitlinks.map(|(path, _)| path));
    let _shared = Lock::wait(&repository.shared_lock())?;
    made.before_git()?;
    let registered = register(repository, plan, &patterns.to_bytes());
    // also when it failed: git may have switched the extension on by then
    made.after_git()?;
    registered
}

fn register(
    repository: &Repository,
    plan: &AddPlan,
    patterns: &[u8],
) -> Result<Utf8PathBuf, Error> {
    let branch = match &plan.branch {
        PlannedBranch::Make(name) => NewWorktreeBranch::Make(name, &plan.base),
        PlannedBranch::Existing(name, _) => NewWorktreeBranch::Existing(name),
    };
    repository
        .git
        .worktree_add_no_checkout(&plan.path, branch)?;
    let git = repository.git.at(&plan.path);
    let admin_dir = git.absolute_git_dir()?;
    // git copies the caller's own patterns into a new worktree: ours replace them
    git.sparse_checkout_set(patterns)?;
    Ok(admin_dir)
}

fn record(
    repository: &Repository,
    plan: &AddPlan,
    scope: &Scope,
    admin_dir: &Utf8Path,
) -> Result<Record, Error> {
    Ok(Record {
        version: VERSION,
        name: plan.name.clone(),
        created: Session::now(),
        made_by: MadeBy::Add,
        path: files::canonical(&plan.path)?,
        admin_dir: admin_dir.to_owned(),
        dot_git: dot_git(&plan.path)?,
        branch: plan.branch.name().clone(),
        branch_made: matches!(plan.branch, PlannedBranch::Make(_)),
        checked_out: plan.checkout().clone(),
        base: Base {
            commit: plan.base.clone(),
            revision: plan.revision.clone(),
            tips: facts::base_tips(repository, &plan.revision, &plan.base)?,
        },
        ignore_case: scope.case() == Case::Insensitive,
        file_mode: repository.git.config_get_bool("core.fileMode")? != Some(false),
        conversions: false,
        profile: plan.profile.clone(),
        on_violation: plan.on_violation,
        integrity: Vec::new(),
        scope: plan.rules.clone(),
    })
}
