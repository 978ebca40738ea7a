//! `git agentwt sync`: untracked files between the main worktree and an agent's.
//!
//! What is selected and what stands in the worktree is read by `worktree/selection.rs` and decided
//! on by [`crate::sync::plan`], as `add` does; `worktree/placing.rs` puts it there.

mod answer;
mod apply;
mod plan;

use std::collections::BTreeMap;

use camino::Utf8Path;

use self::plan::PullPlan;
use super::{Outcome, Session};
use crate::answer::shapes::CopiesField;
use crate::answer::shapes::{PlacedField, SavedField, paths};
use crate::config::SettingFlags;
use crate::disk::drift::drift;
use crate::disk::files::{self, Lock};
use crate::disk::standing::standing;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::git::index::{read_index, read_paths};
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::placed::{Drift, Placed, PlacedKind};
use crate::sync::plan::{SyncFacts, plan as plan_copies};
use crate::sync::{PatternOrigin, Selection, SyncPlan, SyncRefusal};
use crate::worktree::excluding::read_shown_note;
use crate::worktree::names;
use crate::worktree::placing::{Destination, Placing};
use crate::worktree::saved::{Rescue, Saving};
use crate::worktree::selection::{patterns, read_worktree_files};
use crate::worktree::{
    Main, Repository, WatchedFile, Worktree, WorktreeFault, arguments, load_config,
};

pub use self::answer::{CleanedFiles, StayedFile, SyncAnswer, SyncedWorktree};

/// Syncs, or does what else was asked for, in every worktree that was named.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; of several worktrees the others are done,
/// and the first failure gives the status.
pub fn run(session: &Session, options: &crate::cli::Sync) -> Result<Outcome<SyncAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let chosen = chosen(&repository, options)?;
    if let (false, [first, _, ..]) = (options.pull.is_empty(), chosen.as_slice()) {
        let name = first.to_string();
        return Err(SyncRefusal::SeveralToPull { name }.into());
    }
    let mut run = Run {
        session,
        repository: &repository,
        options,
        selections: Vec::new(),
        notes: Vec::new(),
    };
    let mut outcome = Outcome::done(SyncAnswer::default());
    let alone = chosen.len() == 1;
    for name in chosen {
        session.check()?;
        match run.worktree(&name) {
            Ok(synced) => outcome.answer.worktrees.push(synced),
            Err(error) if alone || matches!(error.exit_code(), ExitCode::Signal(_)) => {
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

fn chosen(repository: &Repository, options: &crate::cli::Sync) -> Result<Vec<WorktreeName>, Error> {
    if options.all {
        let mut all = names(repository)?;
        // an `add` that is under way copies by itself; what is damaged is reported for each
        all.retain(|name| {
            let loaded = Worktree::load(repository, name);
            let error = loaded.as_ref().err().and_then(Error::find);
            !matches!(error, Some(WorktreeFault::Incomplete { .. }))
        });
        return Ok(all);
    }
    if options.names.is_empty() {
        return Ok(vec![Worktree::of(repository, None)?.record.name]);
    }
    let mut chosen: Vec<WorktreeName> = Vec::new();
    for text in &options.names {
        let name = Worktree::of(repository, Some(text))?.record.name;
        if !chosen.contains(&name) {
            chosen.push(name);
        }
    }
    Ok(chosen)
}

struct Run<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a crate::cli::Sync,
    /// What the main worktree has for the worktrees that left the config out, or did not, and
    /// that have the same globs.
    selections: Vec<(bool, Vec<String>, Selection)>,
    notes: Vec<String>,
}

impl Run<'_> {
    fn worktree(&mut self, name: &WorktreeName) -> Result<SyncedWorktree, Error> {
        let (repository, options) = (self.repository, self.options);
        let _one_at_a_time = Lock::wait(&repository.name_lock(name))?;
        let known = Worktree::load(repository, name)?;
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
        let placed = known.placed()?;
        if options.status {
            synced.done = "status";
            let drift = self.drift(&known, &placed)?;
            let files = placed.files().iter().zip(drift);
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
            let (plan, rescue) = self.pull(&known, &placed)?;
            synced.pulled = Some(paths(&plan.pull));
            synced.unchanged = Some(plan.unchanged);
            synced.rescue = rescue.as_ref().map(SavedField::from);
        }
        Ok(synced)
    }

    fn drift(&self, known: &Worktree, placed: &Placed) -> Result<Vec<Drift>, Error> {
        let main = self.repository.main == Main::Worktree;
        let main = main.then_some(self.repository.root.as_path());
        Ok(drift(&known.record.path, main, placed)?)
    }

    fn clean(&self, known: &Worktree, placed: &Placed) -> Result<CleanedFiles, Error> {
        let drift = drift(&known.record.path, Some(&self.repository.root), placed)?;
        let plan = plan::plan_clean(placed, &drift);
        if self.options.dry_run {
            let files = plan.remove.iter();
            let files = files.filter(|file| file.kind != PlacedKind::Directory);
            return Ok(CleanedFiles {
                removed: paths(files.map(|file| &file.path)),
                last: paths(plan.last),
                edited: paths(plan.edited),
                stayed: Vec::new(),
            });
        }
        let own = known.repository(self.repository);
        let renew = known.config_is_as_recorded(&own)?;
        let stop = || false;
        let to = Destination::new(self.repository, known, &self.session.progress, &stop);
        let (cleaned, changed_config) = apply::apply_clean(&to, placed, plan)?;
        if changed_config && renew {
            known.renew_digests(&own, is_config)?;
        }
        Ok(cleaned)
    }

    fn copy(
        &mut self,
        known: &Worktree,
        placed: Placed,
    ) -> Result<(SyncPlan, Option<Rescue>), Error> {
        let (session, options, record) = (self.session, self.options, &known.record);
        let at = self.selection(&placed)?;
        let selection = &self.selections[at].2;
        if placed.without_config {
            self.notes.push(
                "this worktree was made with --no-sync: the config's patterns do not count"
                    .to_owned(),
            );
        } else if !selection.limits.enabled {
            let note = "[worktree.file_sync] says `enabled = false`";
            self.notes.push(note.to_owned());
        }
        session.tell_not_entered(&selection.candidates);
        let plan = self.plan_copies(known, placed, selection)?;
        let (plan, placed) = plan;
        let stop = || session.check().is_err();
        let to = Destination::new(self.repository, known, &self.session.progress, &stop);
        if options.dry_run || plan.copy.is_empty() && !to.is_unfinished() {
            return Ok((plan, None));
        }
        let rescue = self.save(known, &record.path, &plan.save)?;
        let own = known.repository(self.repository);
        let renew = known.config_is_as_recorded(&own)?;
        session.tell_copies(&plan);
        let placed = to.place(&Placing::new(&plan, placed));
        let placed = self.unless_stopped(placed)?;
        if placed.changed_config
            && renew
            && let Err(error) = known.renew_digests(&own, is_config)
        {
            return Err(error.leaving(placed.take_back()));
        }
        let left = placed.keep();
        let paths: Vec<&RepoPath> = plan.files().map(|copy| &copy.path).collect();
        let git = own.git.on(&record.admin_dir, Some(&record.path));
        let note = read_shown_note(&git, &record.path, &paths)?;
        self.notes.extend(left.into_iter().chain(note));
        Ok((plan, rescue))
    }

    /// Decides what is copied; returns what was placed before, too.
    fn plan_copies(
        &self,
        known: &Worktree,
        placed: Placed,
        selection: &Selection,
    ) -> Result<(SyncPlan, Placed), Error> {
        let (repository, record) = (self.repository, &known.record);
        let index = record.admin_dir.join("index");
        let tracked = || {
            let index = read_index(&index, repository.format)?;
            let mut paths: Vec<RepoPath> = index.into_iter().map(|entry| entry.path).collect();
            paths.dedup();
            Ok(paths)
        };
        let candidates = &selection.candidates;
        let there =
            read_worktree_files(&record.path, &repository.root, tracked, placed, candidates)?;
        let facts = SyncFacts {
            name: record.name.as_str(),
            path: &record.path,
            scope: &known.scope,
            there: &there,
            root: &repository.root,
            selection,
            force: self.options.force,
        };
        let plan = plan_copies(&facts)?;
        Ok((plan, there.placed))
    }

    fn pull(
        &mut self,
        known: &Worktree,
        placed: &Placed,
    ) -> Result<(PullPlan, Option<Rescue>), Error> {
        let (repository, options) = (self.repository, self.options);
        let path = &known.record.path;
        let below = arguments::prefix(repository, Some(path));
        let mut asked = Vec::new();
        for word in &options.pull {
            let given = arguments::bytes_of(word.clone());
            asked.push(arguments::parse(&below, &[path, &repository.root], &given)?.0);
        }
        let home = repository.home();
        // of a sparse index only git knows; what is in it as a directory is not on disk
        let tracked = read_paths(&home.common_dir.join("index"), home.format)?;
        let tracked = tracked.unwrap_or_default().into_iter();
        let tracked: Vec<_> = tracked.map(|(path, _)| path).collect();
        let stands = standing(path, placed.files().iter().map(|file| &file.path))?;
        let stands = stands.entries.into_iter();
        let kinds: BTreeMap<_, _> = stands
            .map(|(at, stat)| (at, PlacedKind::of(&stat)))
            .collect();
        let plan = plan::plan_pull(&plan::PullFacts {
            name: known.record.name.as_str(),
            asked: &asked,
            placed,
            drift: &self.drift(known, placed)?,
            kinds: &kinds,
            tracked_there: &tracked,
            force: options.force,
        });
        let plan = plan?;
        if options.dry_run || plan.pull.is_empty() {
            return Ok((plan, None));
        }
        let rescue = self.save(known, &repository.root, &plan.save)?;
        let stop = || self.session.check().is_err();
        let from = Destination::new(self.repository, known, &self.session.progress, &stop);
        let pulled = apply::apply_pull(&from, placed, &plan.pull);
        let left = self.unless_stopped(pulled)?;
        self.notes.extend(left);
        Ok((plan, rescue))
    }

    /// A signal is why a copy stopped.
    fn unless_stopped<T>(&self, result: Result<T, impl Into<Error>>) -> Result<T, Error> {
        if result.is_err() {
            self.session.check()?;
        }
        result.map_err(Into::into)
    }

    fn save(
        &self,
        known: &Worktree,
        root: &Utf8Path,
        paths: &[RepoPath],
    ) -> Result<Option<Rescue>, Error> {
        if paths.is_empty() {
            return Ok(None);
        }
        let time = Session::now().replace([':', '-'], "");
        // what was cloned from elsewhere has its base only there
        let own = known.readable_repository(self.repository);
        let objects = self.repository.objects()?;
        let is_home = *root == self.repository.root;
        let repository = if is_home && objects.commit(&known.record.base.commit).is_ok() {
            self.repository
        } else {
            &own
        };
        let record = &known.record;
        let saving = Saving::begin(repository, &record.name)?;
        let base = &record.base.commit;
        let saved = saving.save_files(base, root, paths, &known.scope, &time)?;
        Ok(Some(saved))
    }

    /// The place of what is selected for a worktree, which is looked for once.
    fn selection(&mut self, placed: &Placed) -> Result<usize, Error> {
        let (without_config, globs) = (placed.without_config, &placed.globs);
        let mut known = self.selections.iter();
        if let Some(at) = known.position(|one| one.0 == without_config && one.1 == *globs) {
            return Ok(at);
        }
        let flags = SettingFlags::default();
        let loaded = load_config(self.repository, &flags, &self.session.environment)?;
        let limits = loaded.config.file_sync.clone();
        let patterns = patterns(&limits, without_config, globs, &PatternOrigin::Record)?;
        let include = limits.enabled && !without_config;
        let main = self.repository.main_worktree();
        let candidates = main.candidates(&patterns, include)?;
        let selection = Selection {
            patterns,
            limits,
            candidates,
        };
        self.selections
            .push((without_config, globs.clone(), selection));
        Ok(self.selections.len() - 1)
    }
}

fn is_config(file: WatchedFile) -> bool {
    file == WatchedFile::ConfigWorktree
}

fn blocked(message: String, help: String) -> Error {
    SyncRefusal::blocked(message, help).into()
}
