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
use crate::actions::selection::{ConfigPatterns, patterns, read_worktree_files};
use crate::actions::sync_plan::{Selection, SyncFacts, SyncPlan, SyncRefusal, plan as plan_copies};
use crate::answer::shapes::{CopyReport, PlacedState, SavedWork};
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
    require_allowed(session, &repository, options, &chosen)?;
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
        let error = match run.worktree(name) {
            Ok(synced) => {
                outcome.answer.worktrees.push(synced);
                continue;
            }
            Err(error) => error,
        };
        let is_signal = matches!(error.exit_code(), ExitCode::Signal(_));
        if chosen.len() == 1 || is_signal {
            return Err(error);
        }
        if outcome.exit == ExitCode::Success {
            outcome.exit = error.exit_code();
        }
        run.notes.push(format!("{name}: {}", error.with_help()));
    }
    outcome.notes.append(&mut run.notes);
    Ok(outcome)
}

/// Checks that this call is allowed: `--pull` names one worktree, and no agent pulls; an agent
/// syncs no other worktree than its own. `-n` and `--status` change nothing, and are allowed to all.
fn require_allowed(
    session: &Session,
    repository: &Repository,
    options: &Sync,
    chosen: &[WorktreeName],
) -> Result<(), Error> {
    let is_pull = !options.pull.is_empty();
    if is_pull && let [first, _, ..] = chosen {
        let message = "cannot pull from several worktrees at once".to_owned();
        let help = format!("name one: git agentwt sync {first} --pull <path>");
        return Err(SyncRefusal::Several { message, help }.into());
    }
    if options.dry_run {
        return Ok(());
    }
    if is_pull {
        let command = match chosen {
            [only] => session.command_line_naming(only),
            _several => session.command_line.clone(),
        };
        require_outside(repository, &command)?;
    }
    if options.status {
        return Ok(());
    }
    match chosen {
        [only] if !options.all => session.require_own(repository, only),
        _several_or_all => session.require_no_agent(repository, &session.command_line),
    }
}

fn chosen(repository: &Repository, options: &Sync) -> Result<Vec<WorktreeName>, Error> {
    if options.all {
        let mut names_of_all = names(repository)?;
        // an `add` that is under way copies by itself; what is damaged is reported for each
        names_of_all.retain(|name| {
            let state = RecordState::read(repository, name);
            !matches!(state, Ok(RecordState::Incomplete(_)))
        });
        return Ok(names_of_all);
    }
    let mut chosen = Vec::new();
    for worktree in Worktree::named(repository, &options.names) {
        chosen.push(worktree?.record.name);
    }
    Ok(chosen)
}

/// Holds what the worktrees of a run share.
struct Run<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a Sync,
    selections: Vec<ChosenFiles>,
    notes: Vec<String>,
}

impl Run<'_> {
    /// Does in one worktree what the options ask for, under the lock of its name.
    fn worktree(&mut self, name: &WorktreeName) -> Result<SyncedWorktree, Error> {
        let repository = self.repository;
        let options = self.options;
        let (_one_at_a_time, worktree) = Worktree::lock(repository, name)?;
        let path = worktree.record.path.clone();
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
            worktree.remove_verification()?;
        }
        let placed = worktree.placed()?;
        if options.status {
            synced.done = "status";
            let mut shown = Vec::new();
            for (file, drift) in placed.files().iter().zip(self.drift(&worktree, &placed)?) {
                if file.kind != PlacedKind::Directory {
                    shown.push(PlacedState::new(file, drift));
                }
            }
            synced.placed = Some(shown);
        } else if options.clean {
            synced.done = "cleaned";
            synced.cleaned = Some(self.clean(&worktree, &placed)?);
        } else if repository.main == Main::Bare {
            // only a copy and a pull need a main worktree
            return Err(blocked(
                format!("the repository is bare: there is no main worktree to sync `{name}` with"),
                "copy the files by hand".to_owned(),
            ));
        } else if options.pull.is_empty() {
            synced.done = "copied";
            let (plan, rescue) = self.copy(&worktree, placed)?;
            synced.copies = Some(CopyReport::from(&plan));
            synced.rescue = rescue.as_ref().map(SavedWork::from);
        } else {
            synced.done = "pulled";
            self.pull(&worktree, &placed, &mut synced)?;
        }
        Ok(synced)
    }

    fn drift(&self, worktree: &Worktree, placed: &Placed) -> Result<Vec<Drift>, Error> {
        let root = self.repository.root.as_path();
        let main = (self.repository.main == Main::Worktree).then_some(root);
        Ok(drift(&worktree.record.path, main, placed)?)
    }

    /// Copies what is selected into the worktree.
    ///
    /// 1. Reads what is selected, and what is in the worktree.
    /// 2. Plans the copies.
    /// 3. Saves what they replace.
    /// 4. Places them, and notes those that git shows as untracked.
    fn copy(
        &mut self,
        worktree: &Worktree,
        placed: Placed,
    ) -> Result<(SyncPlan, Option<Rescue>), Error> {
        let session = self.session;
        let repository = self.repository;
        let record = &worktree.record;
        let main = &repository.root;
        let target = &record.path;
        // 1
        let selection = self.selection(&placed)?;
        self.note_unused_config(&placed, &selection);
        session.tell_each("not entered:", &selection.candidates.not_entered);
        let tracked = || {
            let index = read_index(&record.admin_dir.join("index"), repository.format)?;
            let mut paths: Vec<RepoPath> = index.into_iter().map(|entry| entry.path).collect();
            // of one path in a conflict, an index has up to three entries
            paths.dedup();
            Ok(paths)
        };
        let there = read_worktree_files(target, main, tracked, placed, &selection.candidates)?;
        // 2
        let plan = plan_copies(&SyncFacts {
            name: record.name.as_str(),
            path: target,
            scope: &worktree.scope,
            there: &there,
            root: main,
            selection: &selection,
            force: self.options.force,
        })?;
        let stop = || session.check();
        let to = Destination::new(repository, worktree, &session.progress, &stop);
        // to place nothing still clears what a killed call left
        let has_nothing_to_do = plan.copy.is_empty() && !to.is_unfinished();
        if self.options.dry_run || has_nothing_to_do {
            return Ok((plan, None));
        }
        // 3
        let rescue = self.save(worktree, target, &plan.save)?;
        // 4
        session.tell_each("copy", plan.files().map(|copy| &copy.path));
        self.place(worktree, &to, &Placing::new(&plan, there.placed))?;
        self.note_shown(worktree, &plan);
        Ok((plan, rescue))
    }

    /// Notes which of the copies git shows as untracked. They are in their place by now, so a git
    /// that fails is a note, too.
    fn note_shown(&mut self, worktree: &Worktree, plan: &SyncPlan) {
        let paths: Vec<&RepoPath> = plan.files().map(|copy| &copy.path).collect();
        let git = worktree.git(&worktree.repository(self.repository));
        match read_shown_note(&git, &worktree.record.path, &paths) {
            Ok(note) => self.notes.extend(note),
            Err(error) => self.notes.push(error.to_string()),
        }
    }

    fn note_unused_config(&mut self, placed: &Placed, selection: &Selection) {
        if placed.without_config {
            self.notes.push(
                "this worktree was made with --no-sync: the config's patterns do not count".into(),
            );
        } else if !selection.limits.enabled {
            let note = "[worktree.file_sync] says `enabled = false`";
            self.notes.push(note.to_owned());
        }
    }

    /// Places files, and records the worktree's configuration anew where that changed it.
    fn place(
        &mut self,
        worktree: &Worktree,
        to: &Destination<'_>,
        placing: &Placing,
    ) -> Result<(), Error> {
        let own = worktree.repository(self.repository);
        // asked before the change: a configuration that somebody else changed is not recorded
        let may_record_config = worktree.config_is_as_recorded(&own)?;
        let placed = to.place(placing)?;
        if placed.changed_config()
            && may_record_config
            && let Err(error) = worktree.renew_digests(&own, is_config)
        {
            return Err(error.leaving(placed.take_back()));
        }
        self.notes.extend(placed.keep());
        Ok(())
    }

    /// Saves what is about to be replaced below a root.
    fn save(
        &self,
        worktree: &Worktree,
        root: &Utf8Path,
        paths: &[RepoPath],
    ) -> Result<Option<Rescue>, Error> {
        if paths.is_empty() {
            return Ok(None);
        }
        let record = &worktree.record;
        let time = Session::now().replace([':', '-'], "");
        let base = &record.base.commit;
        // what was cloned from elsewhere has its base only there
        let own = worktree.readable_repository(self.repository);
        let is_home =
            *root == self.repository.root && self.repository.objects()?.commit(base).is_ok();
        let repository = if is_home { self.repository } else { &own };
        let saving = Saving::begin(repository, &record.name)?;
        let saved = saving.save_files(base, root, paths, &worktree.scope, &time)?;
        Ok(Some(saved))
    }

    /// What is selected for a worktree.
    fn selection(&mut self, placed: &Placed) -> Result<Rc<Selection>, Error> {
        let globs = &placed.globs;
        for chosen in &self.selections {
            if chosen.without_config == placed.without_config && chosen.globs == *globs {
                return Ok(Rc::clone(&chosen.selection));
            }
        }
        let loaded = load_config(self.repository, &[], &self.session.environment)?;
        let limits = loaded.config.file_sync.clone();
        let config_patterns = ConfigPatterns::of(placed);
        let patterns = patterns(&limits, config_patterns, globs, &PatternOrigin::Record)?;
        let include = config_patterns.include_file(&limits);
        let selection = Rc::new(Selection {
            candidates: self.repository.candidates(&patterns, include)?,
            patterns,
            limits,
        });
        self.selections.push(ChosenFiles {
            without_config: placed.without_config,
            globs: globs.clone(),
            selection: Rc::clone(&selection),
        });
        Ok(selection)
    }
}

/// What is selected for the worktrees of the same patterns.
struct ChosenFiles {
    /// Whether the patterns of the config do not count.
    without_config: bool,
    /// The patterns of the record.
    globs: Vec<String>,
    selection: Rc<Selection>,
}

fn is_config(file: WatchedFile) -> bool {
    file == WatchedFile::ConfigWorktree
}

fn blocked(message: String, help: String) -> Error {
    SyncRefusal::blocked(message, help).into()
}
