//! Makes a worktree as it was planned, or takes everything back.

use camino::{Utf8Path, Utf8PathBuf};

use super::super::Session;
use super::elsewhere::Fetched;
use super::files::Files;
use super::fill::{Filled, Filling};
use crate::apply::made::Made;
use crate::apply::register::{Fresh, Registration, dot_git};
use crate::apply::{clone, write_bits};
use crate::config::Strategy;
use crate::disk::copy::CopyError;
use crate::disk::files::{self, Lock};
use crate::disk::mode::Doing;
use crate::entry::Mode;
use crate::error::Error;
use crate::facts::Repository;
use crate::facts::add::{Classified, Listing, base_tips};
use crate::git::index::read_index;
use crate::git::worktree::NewWorktreeBranch;
use crate::git::worktree::{admin_dir_of, sparse_files};
use crate::path::RepoPath;
use crate::placed::Placed;
use crate::plan::add::{AddPlan, PlannedBranch};
use crate::plan::refusal::Refusal;
use crate::scope::{Case, Scope};
use crate::sync::plan::WorktreeFiles;
use crate::sync::{SyncPlan, SyncRefusal};
use crate::worktree::excluding::read_shown_note;
use crate::worktree::hooks_of;
use crate::worktree::placing::{Destination, Placing, PlacingError};
use crate::worktree::selection::read_worktree_files;
use crate::worktree::{Base, HeldClaim, MadeBy, Record, VERSION};

/// Says whether hooks are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithHooks {
    Yes,
    No,
}

/// Holds what a worktree is made from.
pub(super) struct Making<'a> {
    pub session: &'a Session,
    pub repository: &'a Repository,
    /// The clone of a URL, if one is to become the worktree.
    pub fetched: Option<&'a Fetched>,
    pub plan: &'a AddPlan,
    pub scope: &'a Scope,
    pub files: &'a Files,
    pub hooks: WithHooks,
    pub claim: Option<HeldClaim>,
}

impl Making<'_> {
    /// Makes what the plan says; undoes all of it when a step fails.
    pub fn apply(
        &self,
        classified: &Classified<'_>,
        notes: &mut Vec<String>,
    ) -> Result<SyncPlan, Error> {
        let mut made = Made::nothing(self.repository, self.plan);
        self.steps(classified, &mut made, notes).map_err(|error| {
            let left = made.undo(&error);
            // a signal that reached git first looks like git's own failure
            let error = self.session.check().err().unwrap_or(error);
            error.leaving(left)
        })
    }

    fn steps(
        &self,
        classified: &Classified<'_>,
        made: &mut Made<'_>,
        notes: &mut Vec<String>,
    ) -> Result<SyncPlan, Error> {
        let (session, repository, plan, scope) =
            (self.session, self.repository, self.plan, self.scope);
        let listing = classified.listing;
        made.intent(Session::now())?;
        made.ignore_rules()?;
        session.check()?;
        let patterns = &patterns(scope, listing);
        let (own, admin_dir) = match plan.strategy {
            Strategy::Worktree => {
                let admin_dir = register_with_git(repository, plan, patterns, made)?;
                (repository.clone(), admin_dir)
            }
            Strategy::Clone => {
                made.cloning();
                let own = match self.fetched {
                    Some(fetched) => {
                        fetched.settle(&plan.path)?;
                        clone::begin(repository.clone_at(&plan.path, repository.format), plan)?
                    }
                    None => clone::make(repository, plan)?,
                };
                own.git.sparse_checkout_set(patterns)?;
                let admin_dir = own.common_dir.clone();
                (own, admin_dir)
            }
        };
        let git = own.git.on(&admin_dir, Some(&plan.path));
        session.check()?;
        let filling = Filling {
            session,
            own: &own,
            git: &git,
            admin_dir: &admin_dir,
            path: &plan.path,
            classified,
        };
        let Filled { disk, has_hook } = filling.apply(notes)?;
        session.check()?;
        if has_hook {
            // by the directory alone, as git starts it after `worktree add`
            let in_worktree = repository.git.at(&plan.path);
            in_worktree.hook_run_post_checkout(&listing.commit)?;
            session.check()?;
        }
        let (synced, placed) = self.place(&own, &admin_dir, listing, notes)?;
        let fresh = if has_hook {
            let index = read_index(&admin_dir.join("index"), own.format)?;
            write_bits::apply(&plan.path, scope, &index, Doing::Change)?;
            git.update_index_refresh()?;
            Fresh::Yes
        } else {
            Fresh::Created(disk)
        };
        let record = self.record(&own, &admin_dir)?;
        self.install(&record)?;
        session.check()?;
        let registration = Registration {
            repository: &own,
            dir: repository.record_dir(&plan.name),
            record,
            head: listing,
            placed,
            fresh,
        };
        registration.write()?;
        session.check()?;
        Ok(synced)
    }

    fn record(&self, own: &Repository, admin_dir: &Utf8Path) -> Result<Record, Error> {
        let record = record(own, self.plan, self.scope, admin_dir)?;
        let claim = self.claim.clone();
        Ok(Record { claim, ..record })
    }

    /// Installs the hooks, if they are wanted.
    fn install(&self, record: &Record) -> Result<(), Error> {
        if self.hooks == WithHooks::No {
            return Ok(());
        }
        let on_violation = self.plan.on_violation;
        let _shared = Lock::wait(&self.repository.shared_lock())?;
        let hooks = hooks_of(&self.repository.git, record)?;
        hooks.install(&self.session.binary, on_violation)?;
        Ok(())
    }

    /// Nobody but a hook of the user's can have edited what is in a worktree that is being made.
    fn by_hook(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Sync(sync) => match *sync {
                SyncRefusal::Edited { paths, .. } => self.made_by_hook(paths),
                other => other.into(),
            },
            other => other,
        }
    }

    fn appeared(&self, error: PlacingError) -> Error {
        match error {
            PlacingError::Copy(CopyError::Appeared { path }) => {
                self.made_by_hook(vec![path]).into()
            }
            other => other.into(),
        }
    }

    fn made_by_hook(&self, paths: Vec<RepoPath>) -> Refusal {
        let name = self.plan.name.to_string();
        SyncRefusal::MadeByHook { name, paths }.into()
    }

    /// Syncs files and writes context. What a hook of the user's has put there meanwhile is
    /// looked at first.
    fn place(
        &self,
        own: &Repository,
        admin_dir: &Utf8Path,
        listing: &Listing,
        notes: &mut Vec<String>,
    ) -> Result<(SyncPlan, Placed), Error> {
        let (repository, plan, files) = (self.repository, self.plan, self.files);
        let before = Placed::nothing(files.globs.clone(), files.without_config);
        let paths = listing.entries.iter().map(|(path, _)| path);
        let tracked = || Ok(WorktreeFiles::tracking(paths).tracked);
        let candidates = &files.selection.candidates;
        let (root, placed) = (&repository.root, before.clone());
        let there = read_worktree_files(&plan.path, root, tracked, placed, candidates)?;
        let synced = files.plan(repository, plan, self.scope, &there);
        let synced = synced.map_err(|refusal| self.by_hook(refusal))?;
        let mut placing = Placing::new(&synced, before);
        placing.add_context(&plan.context, self.scope);
        if placing.is_empty() {
            return Ok((synced, Placed::default()));
        }
        self.session.tell_copies(&synced);
        let to = Destination {
            main: root,
            git: &repository.home().git,
            path: &plan.path,
            admin_dir,
            record_dir: &repository.record_dir(&plan.name),
            progress: &self.session.progress,
            stop: &|| self.session.check().is_err(),
        };
        let done = to.place(&placing).map_err(|error| self.appeared(error))?;
        let placed = done.placed.clone();
        notes.extend(done.keep());
        let mut paths: Vec<&RepoPath> = synced.files().map(|copy| &copy.path).collect();
        paths.extend(plan.context.iter().map(|file| &file.path));
        let git = own.git.on(admin_dir, Some(&plan.path));
        notes.extend(read_shown_note(&git, &plan.path, &paths)?);
        Ok((synced, placed))
    }
}

/// The sparse patterns that say the scope.
fn patterns(scope: &Scope, listing: &Listing) -> Vec<u8> {
    let gitlinks = listing
        .entries
        .iter()
        .filter(|(_, entry)| entry.mode == Mode::Gitlink);
    let patterns = scope.sparse_patterns_with_gitlinks(gitlinks.map(|(path, _)| path));
    patterns.to_bytes()
}

/// The steps in which git writes shared files, under the shared lock: the worktree and its
/// branch, and the sparse patterns, which may switch `extensions.worktreeConfig` on.
fn register_with_git(
    repository: &Repository,
    plan: &AddPlan,
    patterns: &[u8],
    made: &mut Made<'_>,
) -> Result<Utf8PathBuf, Error> {
    let _shared = Lock::wait(&repository.shared_lock())?;
    made.before_git()?;
    let registered = register(repository, plan, patterns);
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
    let admin_dir = match admin_dir_of(dot_git(&plan.path)?.as_bytes()) {
        Some(named) => files::canonical(&named)?,
        None => git.absolute_git_dir()?,
    };
    if !write_sparse(repository, &admin_dir, patterns)? {
        // git copies the caller's own patterns into a new worktree: ours replace them
        git.sparse_checkout_set(patterns)?;
    }
    Ok(admin_dir)
}

/// Writes the patterns without git, where git would write nothing but them; whether that was so.
fn write_sparse(
    repository: &Repository,
    admin_dir: &Utf8Path,
    patterns: &[u8],
) -> Result<bool, Error> {
    let shared = files::read(&repository.common_dir.join("config"))?.unwrap_or_default();
    let Some(new) = sparse_files(admin_dir, &shared, patterns) else {
        return Ok(false);
    };
    if new.iter().any(|new| files::exists(&new.file)) {
        return Ok(false);
    }
    for new in new {
        files::create_directories(new.file.parent().unwrap_or(admin_dir))?;
        files::append(&new.file, &new.bytes)?;
    }
    Ok(true)
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
        strategy: plan.strategy,
        owner: None,
        claim: None,
        path: files::canonical(&plan.path)?,
        admin_dir: admin_dir.to_owned(),
        dot_git: match plan.strategy {
            Strategy::Worktree => dot_git(&plan.path)?,
            // a directory
            Strategy::Clone => String::new(),
        },
        branch: plan.branch.name().clone(),
        branch_made: matches!(plan.branch, PlannedBranch::Make(_)),
        checked_out: plan.checkout().clone(),
        base: Base {
            commit: plan.base.clone(),
            revision: plan.revision.clone(),
            tips: base_tips(repository, &plan.revision, &plan.base)?,
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
