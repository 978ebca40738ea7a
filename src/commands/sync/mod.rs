//! `git agentwt sync`: untracked files between the main worktree and an agent's.
//!
//! What is selected and what stands in the worktree is read by `worktree/selection.rs` and decided
//! on by [`crate::actions::sync_plan`], as `add` does; `worktree/placing.rs` puts it there.

pub mod answer;
pub mod arguments;
pub mod back;

use std::rc::Rc;

use camino::Utf8Path;

use crate::actions::placing::{Destination, Placing};
use crate::actions::saved::{Rescue, Saving};
use crate::actions::selection::{patterns, read_worktree_files};
use crate::actions::sync_plan::{Selection, SyncFacts, SyncPlan, SyncRefusal, plan as plan_copies};
use crate::answer::shapes::{CopiesField, PlacedField, SavedField};
use crate::commands::sync::answer::{SyncAnswer, SyncedWorktree};
use crate::commands::sync::arguments::Sync;
use crate::commands::{Outcome, Session};
use crate::disk::drift::drift;
use crate::disk::files;
use crate::git::index::read_index;
use crate::inventory::placed::{Drift, Placed, PlacedKind};
use crate::record::worktree::WatchedFile;
use crate::sync::PatternOrigin;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::words::path::RepoPath;
use crate::worktree::decisions::require_outside;
use crate::worktree::ignore_rules::read_shown_note;
use crate::worktree::loaded::{RecordState, Worktree, names};
use crate::worktree::repository::{Main, Repository};
use crate::worktree::settings::load_config;

/// Syncs worktrees, one after the other. With several, what fails for one is noted.
///
/// # Errors
/// Fails when the only worktree cannot be synced, or a signal asked to stop.
pub fn run(session: &Session, options: &Sync) -> Result<Outcome<SyncAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let chosen = chosen(&repository, options)?;
    if let (false, [name, _, ..]) = (options.pull.is_empty(), chosen.as_slice()) {
        let message = "cannot pull from several worktrees at once".to_owned();
        let help = format!("name one: git agentwt sync {name} --pull <path>");
        return Err(SyncRefusal::Several { message, help }.into());
    }
    if !options.pull.is_empty() && !options.dry_run {
        require_outside(&repository, &session.command_line)?;
    }
    if !options.dry_run && !options.status {
        match chosen.as_slice() {
            [only] if !options.all => session.require_own(&repository, only)?,
            _several => session.require_no_agent(&repository, &session.command_line)?,
        }
    }
    let mut run = Run {
        session,
        repository: &repository,
        options,
        selections: Vec::new(),
        notes: Vec::new(),
    };
    let mut outcome = Outcome::done(SyncAnswer::default());
    for name in &chosen {
        session.check()?;
        match run.worktree(name) {
            Ok(synced) => outcome.answer.worktrees.push(synced),
            Err(error) if chosen.len() == 1 || matches!(error.exit_code(), ExitCode::Signal(_)) => {
                return Err(error);
            }
            Err(error) => {
                if outcome.exit == ExitCode::Success {
                    outcome.exit = error.exit_code();
                }
                let help = miette::Diagnostic::help(&error);
                let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                run.notes.push(format!("{name}: {error}{help}"));
            }
        }
    }
    outcome.notes.append(&mut run.notes);
    Ok(outcome)
}

fn chosen(repository: &Repository, options: &Sync) -> Result<Vec<WorktreeName>, Error> {
    if options.all {
        let mut all = names(repository)?;
        // an `add` that is under way copies by itself; what is damaged is reported for each
        all.retain(|name| {
            let state = RecordState::read(repository, name);
            !matches!(state, Ok(RecordState::Incomplete(_)))
        });
        return Ok(all);
    }
    let chosen = Worktree::named(repository, &options.names);
    chosen.map(|known| Ok(known?.record.name)).collect()
}

/// Holds what the worktrees of a run share.
struct Run<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a Sync,
    /// Each by whether the config counts and by the patterns of the record.
    selections: Vec<(bool, Vec<String>, Rc<Selection>)>,
    notes: Vec<String>,
}

impl Run<'_> {
    fn worktree(&mut self, name: &WorktreeName) -> Result<SyncedWorktree, Error> {
        let repository = self.repository;
        let options = self.options;
        let (_one_at_a_time, known) = Worktree::lock(repository, name)?;
        let path = known.record.path.clone();
        if !files::is_directory(&path) {
            return Err(blocked(
                format!("cannot sync worktree `{name}`: {path} is gone"),
                format!("to forget it (its branch stays unless merged): git agentwt remove {name}"),
            ));
        }
        let mut synced = SyncedWorktree {
            name: name.to_string(),
            path,
            dry_run: options.dry_run,
            ..SyncedWorktree::default()
        };
        if !options.status && !options.dry_run {
            known.remove_verification()?;
        }
        let placed = known.placed()?;
        if options.status {
            synced.done = "status";
            let files = placed.files().iter().zip(self.drift(&known, &placed)?);
            let files = files.filter(|(file, _)| file.kind != PlacedKind::Directory);
            let files = files.map(|(file, drift)| PlacedField::new(file, drift));
            synced.placed = Some(files.collect());
        } else if options.clean {
            synced.done = "cleaned";
            synced.cleaned = Some(self.clean(&known, &placed)?);
        } else if repository.main == Main::Bare {
            return Err(blocked(
                format!("the repository is bare: there is no main worktree to sync `{name}` with"),
                "copy the files by hand".to_owned(),
            ));
        } else if options.pull.is_empty() {
            synced.done = "copied";
            let (plan, rescue) = self.copy(&known, placed)?;
            synced.copies = Some(CopiesField::from(&plan));
            synced.rescue = rescue.as_ref().map(SavedField::from);
        } else {
            synced.done = "pulled";
            self.pull(&known, &placed, &mut synced)?;
        }
        Ok(synced)
    }

    fn drift(&self, known: &Worktree, placed: &Placed) -> Result<Vec<Drift>, Error> {
        let main = self.repository.main == Main::Worktree;
        let main = main.then_some(self.repository.root.as_path());
        Ok(drift(&known.record.path, main, placed)?)
    }

    fn copy(
        &mut self,
        known: &Worktree,
        placed: Placed,
    ) -> Result<(SyncPlan, Option<Rescue>), Error> {
        let session = self.session;
        let repository = self.repository;
        let record = &known.record;
        let selection = self.selection(&placed)?;
        if placed.without_config {
            let note = "this worktree was made with --no-sync: the config's patterns do not count";
            self.notes.push(note.to_owned());
        } else if !selection.limits.enabled {
            let note = "[worktree.file_sync] says `enabled = false`";
            self.notes.push(note.to_owned());
        }
        session.tell_each("not entered:", &selection.candidates.not_entered);
        let tracked = || {
            let index = read_index(&record.admin_dir.join("index"), repository.format)?;
            let mut paths: Vec<RepoPath> = index.into_iter().map(|entry| entry.path).collect();
            paths.dedup();
            Ok(paths)
        };
        let path = &record.path;
        let root = &repository.root;
        let candidates = &selection.candidates;
        let there = read_worktree_files(path, root, tracked, placed, candidates)?;
        let plan = plan_copies(&SyncFacts {
            name: record.name.as_str(),
            path,
            scope: &known.scope,
            there: &there,
            root,
            selection: &selection,
            force: self.options.force,
        })?;
        let stop = || session.check();
        let to = Destination::new(repository, known, &session.progress, &stop);
        if self.options.dry_run || plan.copy.is_empty() && !to.is_unfinished() {
            return Ok((plan, None));
        }
        let rescue = self.save(known, path, &plan.save)?;
        let own = known.repository(repository);
        let renew = known.config_is_as_recorded(&own)?;
        session.tell_each("copy", plan.files().map(|copy| &copy.path));
        let placed = to.place(&Placing::new(&plan, there.placed))?;
        if placed.changed_config
            && renew
            && let Err(error) = known.renew_digests(&own, is_config)
        {
            return Err(error.leaving(placed.take_back()));
        }
        let left = placed.keep();
        let paths: Vec<&RepoPath> = plan.files().map(|copy| &copy.path).collect();
        let git = own.git.on(&record.admin_dir, Some(path));
        let note = read_shown_note(&git, path, &paths)?;
        self.notes.extend(left.into_iter().chain(note));
        Ok((plan, rescue))
    }

    /// Saves what is about to be replaced below a root.
    fn save(
        &self,
        known: &Worktree,
        root: &Utf8Path,
        paths: &[RepoPath],
    ) -> Result<Option<Rescue>, Error> {
        if paths.is_empty() {
            return Ok(None);
        }
        let record = &known.record;
        let time = Session::now().replace([':', '-'], "");
        let base = &record.base.commit;
        // what was cloned from elsewhere has its base only there
        let own = known.readable_repository(self.repository);
        let is_home =
            *root == self.repository.root && self.repository.objects()?.commit(base).is_ok();
        let repository = if is_home { self.repository } else { &own };
        let saving = Saving::begin(repository, &record.name)?;
        let saved = saving.save_files(base, root, paths, &known.scope, &time)?;
        Ok(Some(saved))
    }

    /// What is selected for a worktree.
    fn selection(&mut self, placed: &Placed) -> Result<Rc<Selection>, Error> {
        let without_config = placed.without_config;
        let globs = &placed.globs;
        let mut known = self.selections.iter();
        if let Some(found) = known.find(|one| one.0 == without_config && one.1 == *globs) {
            return Ok(Rc::clone(&found.2));
        }
        let loaded = load_config(self.repository, &[], &self.session.environment)?;
        let limits = loaded.config.file_sync.clone();
        let patterns = patterns(&limits, without_config, globs, &PatternOrigin::Record)?;
        let include = limits.enabled && !without_config;
        let selection = Rc::new(Selection {
            candidates: self.repository.candidates(&patterns, include)?,
            patterns,
            limits,
        });
        self.selections
            .push((without_config, globs.clone(), Rc::clone(&selection)));
        Ok(selection)
    }
}

fn is_config(file: WatchedFile) -> bool {
    file == WatchedFile::ConfigWorktree
}

fn blocked(message: String, help: String) -> Error {
    SyncRefusal::blocked(message, help).into()
}
