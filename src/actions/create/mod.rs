//! Creates a worktree as it was planned, or removes everything that was created.
//!
//! What is created is decided before (`commands/add/plan.rs`). Each step that changes the
//! repository is written into the journal first, and the journal undoes the steps.

pub mod checkout;
pub mod clone;
pub mod undo;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::create::checkout::EmptyWorktree;
use crate::actions::create::clone::FetchedClone;
use crate::actions::create::undo::{begin_journal, undo_steps, withdraw_worktree_steps};
use crate::actions::follower::Follower;
use crate::actions::journal::{LastGit, branch};
use crate::actions::placing::{Destination, Placing, staging};
use crate::actions::register::{Registration, install_hooks, read_dot_git};
use crate::actions::scope_edit::{Classified, Listing, set_bits};
use crate::actions::selection::{ConfigPatterns, read_worktree_files};
use crate::actions::sync_plan::{
    Selection, SyncFacts, SyncPlan, SyncRefusal, WorktreeFiles, plan as plan_copies,
};
use crate::client::layout::ContextFile;
use crate::config::value::Strategy;
use crate::disk::copy::error::CopyError;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::mode::BitsChange;
use crate::git::error::GitError;
use crate::git::index::read_index;
use crate::git::process::Git;
use crate::git::worktree::SPARSE_CONFIG;
use crate::inventory::manifest::OnDisk;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::record::journal::{Step, reason_of_creation};
use crate::record::worktree::{Intent, Record};
use crate::scope::compiled::Scope;
use crate::scope::rule::Case;
use crate::truth::upstream::followed_by;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::words::toml_file::to_text;
use crate::worktree::ignore_rules::{ensure, read_shown_note};
use crate::worktree::journal::StepJournal;
use crate::worktree::repository::{Repository, intent_file};
use crate::worktree::variables::choose_ports;

/// What a worktree is created from.
#[derive(Clone, Copy)]
pub struct WorktreeToCreate<'a> {
    /// The repository that keeps the record.
    pub home: &'a Repository,
    /// The clone of a URL, if one is to become the worktree.
    pub fetched: Option<&'a FetchedClone>,
    /// The record, as it was planned.
    pub record: &'a Record,
    /// What is written for the agent program.
    pub context: &'a [ContextFile],
    /// The scope of the worktree.
    pub scope: &'a Scope,
    /// What may be copied from the main worktree.
    pub selection: &'a Selection,
    /// The patterns of `--sync`.
    pub globs: &'a [String],
    /// Whether the config's patterns count for what is copied.
    pub config_patterns: ConfigPatterns,
    /// Our own executable, for the hooks; none where no hook is to be installed.
    pub program_of_hooks: Option<&'a Utf8Path>,
    /// Who follows, and what stops the creation.
    pub follower: Follower<'a>,
}

/// What was created.
pub struct Created {
    /// The record, as it was written.
    pub record: Record,
    /// What was copied from the main worktree.
    pub copies: SyncPlan,
}

/// A worktree that git has registered, without a file.
struct RegisteredWorktree {
    /// The repository, as the worktree sees it.
    own: Repository,
    /// Git, on the worktree by its private git directory.
    git: Git,
    admin_dir: Utf8PathBuf,
}

impl RegisteredWorktree {
    fn new(own: Repository, admin_dir: Utf8PathBuf, path: &Utf8Path) -> Self {
        Self {
            git: own.git.on(&admin_dir, Some(path)),
            own,
            admin_dir,
        }
    }
}

/// The files of a worktree that are checked out.
struct CheckedOutFiles {
    /// What is on disk for each entry; none where a hook of the user's has run since.
    disk: Option<Vec<Option<OnDisk>>>,
}

impl WorktreeToCreate<'_> {
    /// Creates the worktree, or nothing: when a step fails, all of them are undone.
    ///
    /// # Errors
    /// Fails when git or the disk does, a signal comes, or a hook of the user's fails; what could
    /// not be undone is named.
    pub fn apply(
        &self,
        classified: &Classified<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Created, Error> {
        let ports = self
            .write_intent()
            .map_err(|error| self.undo_intent(error))?;
        let mut journal = begin_journal(self.home, &self.record.name)
            .map_err(|error| self.undo_intent(error.into()))?;
        let created = self.create(classified, ports, &mut journal, notes);
        created.map_err(|error| self.undo(&journal, error))
    }

    /// Undoes the steps; returns the error with what is left.
    fn undo(&self, journal: &StepJournal, error: Error) -> Error {
        let last_git = match error.find::<GitError>() {
            Some(failed) if failed.was_killed() => LastGit::Killed,
            Some(_) | None => LastGit::Ended,
        };
        // where not even a lock can be written, there is all the more to remove
        let _shared = Lock::wait_to_undo(&self.home.shared_lock()).ok();
        let mut undone = undo_steps(self.home, &self.record.name, journal, last_git);
        undone.failed.append(&mut undone.stays);
        // a signal that reached git first looks like git's own failure
        let error = self.follower.check().err().unwrap_or(error);
        error.leaving(undone.failed)
    }

    /// Removes an intent whose journal could not be begun.
    fn undo_intent(&self, error: Error) -> Error {
        let removed = files::remove_directory(&self.home.record_dir(&self.record.name));
        files::remove_if_empty(&self.home.records_dir());
        match removed {
            Ok(()) => error,
            Err(left) => error.leaving(vec![left.to_string()]),
        }
    }

    /// Writes down what is about to be created; returns the ports that the worktree gets.
    fn write_intent(&self) -> Result<Option<u16>, Error> {
        let record = self.record;
        let _shared = Lock::wait(&self.home.shared_lock())?;
        // without an intent in it, it is what a call left that was killed before the first step, or
        // after the last one that it undid
        files::remove_directory(&self.home.record_dir(&record.name))?;
        let ports = choose_ports(self.home, &record.name)?;
        let makes_branch = record.strategy == Strategy::Worktree && record.branch_made;
        let intent = Intent {
            process: std::process::id(),
            branch_at: makes_branch.then(|| record.checked_out.clone()),
            record: Record {
                ports,
                ..record.clone()
            },
        };
        let file = intent_file(self.home, &record.name);
        files::write(&file, to_text(&intent).as_bytes())?;
        Ok(ports)
    }

    /// Creates the worktree, in these steps:
    ///
    /// 1. Makes git ignore our worktrees.
    /// 2. Registers the worktree with its sparse patterns, or clones.
    /// 3. Checks the files out, with their write bits.
    /// 4. Runs the user's post-checkout hook.
    /// 5. Copies files and writes the context.
    /// 6. Installs our hooks.
    /// 7. Writes the manifest, and the record at last.
    fn create(
        &self,
        classified: &Classified<'_>,
        ports: Option<u16>,
        journal: &mut StepJournal,
        notes: &mut Vec<String>,
    ) -> Result<Created, Error> {
        let listing = classified.listing;
        ensure(self.home, |rule| {
            journal.add_change(Step::AddedIgnoreRule, &rule.file, Some(&rule.after))
        })?;
        self.follower.check()?;
        let worktree = self.register(listing, journal)?;
        self.follower.check()?;
        let checked_out = self.check_out_and_run_hook(&worktree, classified, notes)?;
        let placed = self.place_files(&worktree, listing, notes)?;
        if checked_out.disk.is_none() {
            // a hook of the user's has run, and can have set other write bits
            self.reset_bits(&worktree)?;
        }
        let mut record = self.complete_record(&worktree)?;
        record.ports = ports;
        if let Some(program) = self.program_of_hooks {
            install_hooks(self.home, &record, program)?;
        }
        self.follower.check()?;
        let registration = Registration {
            repository: &worktree.own,
            record,
            head: listing,
            placed: placed.placed,
            disk: checked_out.disk,
        };
        let written = registration.write()?;
        self.follower.check()?;
        journal.end();
        Ok(Created {
            record: written,
            copies: placed.copies,
        })
    }

    /// Registers the worktree with git, or clones; without a file.
    fn register(
        &self,
        listing: &Listing,
        journal: &mut StepJournal,
    ) -> Result<RegisteredWorktree, Error> {
        let patterns = self.sparse_patterns(listing);
        let path = &self.record.path;
        match self.record.strategy {
            Strategy::Worktree => {
                let own = self.home.clone();
                let admin_dir = self.register_worktree(&patterns, journal)?;
                Ok(RegisteredWorktree::new(own, admin_dir, path))
            }
            Strategy::Clone => {
                let own = self.create_clone(journal)?;
                own.git.sparse_checkout_set(&patterns)?;
                let git_dir = own.common_dir.clone();
                Ok(RegisteredWorktree::new(own, git_dir, path))
            }
        }
    }

    /// The sparse patterns of the scope. Submodules are named one by one.
    fn sparse_patterns(&self, listing: &Listing) -> Vec<u8> {
        let mut submodules = Vec::new();
        for (path, entry) in &listing.entries {
            if entry.mode == Mode::Gitlink {
                submodules.push(path);
            }
        }
        self.scope.sparse_patterns(submodules)
    }

    /// Clones into the place of the worktree, or moves the clone of a URL there.
    fn create_clone(&self, journal: &mut StepJournal) -> Result<Repository, Error> {
        let wanted = self.record;
        self.add_directories(journal)?;
        self.create_directory(journal)?;
        let own = match self.fetched {
            Some(fetched) => fetched.move_in(self.home, wanted)?,
            None => clone::create(self.home, wanted)?,
        };
        if let Some(upstream) = &wanted.upstream {
            own.git.branch_set_upstream(&wanted.branch, upstream)?;
        }
        Ok(own)
    }

    /// Writes down the directories that the worktree and its copies need.
    fn add_directories(&self, journal: &mut StepJournal) -> Result<(), Error> {
        let path = self.record.path.clone();
        let staging = staging(&path);
        journal.add(Step::CreatedDirectory { path })?;
        journal.add(Step::CreatedDirectory { path: staging })?;
        Ok(())
    }

    /// Creates the directory of a clone. Git would also clone into one that another process
    /// created, and the undo would remove that.
    fn create_directory(&self, journal: &mut StepJournal) -> Result<(), DiskError> {
        let path = &self.record.path;
        if let Some(above) = path.parent() {
            files::create_directories(above)?;
        }
        let created = files::create_new_directory(path);
        if created.is_err() {
            // neither this one nor that of the copies
            journal.add(Step::NotTaken)?;
            journal.add(Step::NotTaken)?;
        }
        created
    }

    /// Takes the steps in which git writes shared files, under the shared lock: the branch, the
    /// worktree, and the sparse patterns, which may switch `extensions.worktreeConfig` on.
    fn register_worktree(
        &self,
        patterns: &[u8],
        journal: &mut StepJournal,
    ) -> Result<Utf8PathBuf, Error> {
        let home = self.home;
        let _shared = Lock::wait(&home.shared_lock())?;
        for name in ["config", "config.worktree"] {
            let file = home.common_dir.join(name);
            journal.add_change(Step::ChangedSharedFile, &file, None)?;
        }
        let registered = self.register_in_git(patterns, journal);
        // also when it failed: git may have switched the extension on by then
        let completed = journal.complete_changes();
        let admin_dir = registered?;
        completed?;
        Ok(admin_dir)
    }

    /// Creates branch and worktree, each as a step of its own, and sets upstream and patterns.
    /// Returns the private git directory. The shared lock is held.
    fn register_in_git(
        &self,
        patterns: &[u8],
        journal: &mut StepJournal,
    ) -> Result<Utf8PathBuf, Error> {
        let home = self.home;
        let record = self.record;
        let path = &record.path;
        if record.branch_made {
            self.create_branch(journal)?;
        }
        journal.add(Step::CreatedWorktree { path: path.clone() })?;
        self.add_directories(journal)?;
        let added = home.git.worktree_add_no_checkout(path, &record.branch);
        if added.as_ref().is_err_and(|error| !error.was_killed()) {
            // git has failed by itself, and maybe created nothing; what a killed one has created is
            // not certain yet: its steps stay
            let since = intent_file(home, &record.name);
            withdraw_worktree_steps(home, path, &since, journal)?;
        }
        added?;
        let git = home.git.at(path);
        if let Some(upstream) = &record.upstream {
            git.branch_set_upstream(&record.branch, upstream)?;
        }
        let admin_dir = git.absolute_git_dir()?;
        set_sparse_patterns(home, &git, &admin_dir, patterns)?;
        Ok(admin_dir)
    }

    /// Creates the branch, in one step that fails where another process has created one of this
    /// name.
    fn create_branch(&self, journal: &mut StepJournal) -> Result<(), Error> {
        let branch = &self.record.branch;
        let at = &self.record.checked_out;
        journal.add(Step::CreatedBranch {
            name: branch.clone(),
            at: at.clone(),
        })?;
        let reason = reason_of_creation(at);
        let created = self.home.git.create_branch(branch, at, &reason);
        if created.as_ref().is_err_and(|error| !error.was_killed()) {
            branch::remove_empty_directories(self.home, branch);
            journal.add(Step::NotTaken)?;
        }
        Ok(created?)
    }

    /// Checks the files out, and runs the user's post-checkout hook if there is one.
    fn check_out_and_run_hook(
        &self,
        worktree: &RegisteredWorktree,
        classified: &Classified<'_>,
        notes: &mut Vec<String>,
    ) -> Result<CheckedOutFiles, Error> {
        let empty = EmptyWorktree {
            follower: self.follower,
            own: &worktree.own,
            git: &worktree.git,
            admin_dir: &worktree.admin_dir,
            path: &self.record.path,
            classified,
        };
        let hooks = empty.read_hooks()?;
        let disk = empty.check_out(&hooks, notes)?;
        self.follower.check()?;
        let has_hook = empty.has_hook(&hooks, "post-checkout");
        if has_hook {
            // by the directory alone, as git starts it after `worktree add`
            let in_worktree = self.home.git.at(&self.record.path);
            in_worktree.hook_run_post_checkout(&classified.listing.commit)?;
            self.follower.check()?;
        }
        Ok(CheckedOutFiles {
            disk: (!has_hook).then_some(disk),
        })
    }

    /// Sets the write bits once more, after a hook of the user's.
    fn reset_bits(&self, worktree: &RegisteredWorktree) -> Result<(), Error> {
        let index = read_index(&worktree.admin_dir.join("index"), worktree.own.format)?;
        let path = &self.record.path;
        set_bits(path, self.scope, &index, [], BitsChange::Apply)?;
        worktree.git.update_index_refresh()?;
        Ok(())
    }

    /// Returns the record with what is known of the worktree by now.
    fn complete_record(&self, worktree: &RegisteredWorktree) -> Result<Record, Error> {
        let git = &worktree.own.git;
        let mut record = self.record.clone();
        record.path = files::canonical(&record.path)?;
        if record.strategy == Strategy::Worktree {
            record.dot_git = read_dot_git(&record.path)?;
        }
        let base = &record.base;
        record.base.tips = followed_by(git, &record.branch, &base.revision, &base.commit)?;
        record.ignore_case = self.scope.case() == Case::Insensitive;
        record.file_mode = git.config_get_bool("core.fileMode")? != Some(false);
        record.admin_dir = worktree.admin_dir.clone();
        Ok(record)
    }

    /// Copies files and writes the context. Refuses where a file is in the way: a hook of the
    /// user's has written it, as nothing else works in a worktree that is being created.
    fn place_files(
        &self,
        worktree: &RegisteredWorktree,
        listing: &Listing,
        notes: &mut Vec<String>,
    ) -> Result<PlacedFiles, Error> {
        // no file is placed yet, but what decides which files are copied is remembered
        let mut before = Placed::none(self.globs.to_vec());
        before.without_config = self.config_patterns == ConfigPatterns::Unused;
        let copies = self.plan_copies(listing, &before)?;
        let mut placing = Placing::new(&copies, before);
        placing.add_context(self.context, self.scope);
        if placing.is_empty() {
            // then there is nothing to remember either
            return Ok(PlacedFiles {
                copies,
                placed: Placed::default(),
            });
        }
        self.follower
            .tell_each("copy", copies.files().map(|copy| &copy.path));
        let path = &self.record.path;
        let destination = Destination {
            main: &self.home.root,
            git: &self.home.home().git,
            path,
            admin_dir: &worktree.admin_dir,
            record_dir: &self.home.record_dir(&self.record.name),
            progress: self.follower.progress,
            stop: self.follower.stop,
        };
        let done = destination
            .place(&placing)
            .map_err(|error| self.error_of_placing(error))?;
        let placed = done.placed().clone();
        notes.extend(done.keep());
        let mut paths: Vec<&RepoPath> = copies.files().map(|copy| &copy.path).collect();
        paths.extend(self.context.iter().map(|file| &file.path));
        notes.extend(read_shown_note(&worktree.git, path, &paths)?);
        Ok(PlacedFiles { copies, placed })
    }

    /// Plans what is copied, where what a hook of the user's has put there stands.
    fn plan_copies(&self, listing: &Listing, before: &Placed) -> Result<SyncPlan, Error> {
        let tracked = || {
            let paths = listing.entries.iter().map(|(path, _)| path);
            Ok(WorktreeFiles::tracking(paths).tracked)
        };
        let there = read_worktree_files(
            &self.record.path,
            &self.home.root,
            tracked,
            before.clone(),
            &self.selection.candidates,
        )?;
        plan_sync(self.home, self.record, self.scope, self.selection, &there).map_err(|refusal| {
            match refusal {
                SyncRefusal::Edited { paths, .. } => self.made_by_hook(&paths),
                other => other.into(),
            }
        })
    }

    /// Says of a file that is in the way of a copy that a hook has written it.
    fn error_of_placing(&self, error: Error) -> Error {
        if let Some(CopyError::InTheWay {
            path,
            found: PlacedKind::File,
        }) = error.find()
        {
            return self.made_by_hook(std::slice::from_ref(path));
        }
        error
    }

    fn made_by_hook(&self, paths: &[RepoPath]) -> Error {
        SyncRefusal::made_by_hook(self.record.name.as_str(), paths).into()
    }
}

/// Plans what is copied into a new worktree, where these files are in it.
///
/// # Errors
/// Refuses what is not to be copied.
pub fn plan_sync(
    home: &Repository,
    record: &Record,
    scope: &Scope,
    selection: &Selection,
    there: &WorktreeFiles,
) -> Result<SyncPlan, SyncRefusal> {
    plan_copies(&SyncFacts {
        name: record.name.as_str(),
        path: &record.path,
        scope,
        there,
        root: &home.root,
        selection,
        force: false,
    })
}

/// The files that were placed in a new worktree.
struct PlacedFiles {
    copies: SyncPlan,
    placed: Placed,
}

/// Gives a new worktree its sparse patterns: without git, where git would write nothing else.
fn set_sparse_patterns(
    home: &Repository,
    git: &Git,
    admin_dir: &Utf8Path,
    patterns: &[u8],
) -> Result<(), Error> {
    let new = [
        ("config.worktree", SPARSE_CONFIG),
        ("info/sparse-checkout", patterns),
    ];
    let is_there = |(name, _): &(&str, &[u8])| files::exists(&admin_dir.join(name));
    if new.iter().any(is_there) || !git.is_sparse_by_two_files(&home.common_dir, patterns)? {
        // git copies the caller's own patterns into a new worktree: ours replace them
        git.sparse_checkout_set(patterns)?;
        return Ok(());
    }
    files::create_directories(&admin_dir.join("info"))?;
    for (name, bytes) in new {
        files::append(&admin_dir.join(name), bytes)?;
    }
    Ok(())
}
