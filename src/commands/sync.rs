//! `git agentwt sync`: untracked files between the main worktree and an agent's.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Outcome, Session};
use crate::apply::clean::{Cleaned, Doing, clean};
use crate::apply::place::{Destination, Hand, Placing, is_unfinished, place};
use crate::apply::register::renew_config;
use crate::apply::{hide, pull, shown};
use crate::config::SettingFlags;
use crate::disk::drift::drift;
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::sync::{FromConfig, Into, Selected, look, patterns, pull_facts, select};
use crate::facts::{Loaded, Main, Repository, Worktree, WorktreeError, given, load_config};
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::placed::{Drift, Origin, Placed, PlacedFile, PlacedKind};
use crate::plan::refusal::Refusal;
use crate::plan::sync::pull::{self as pulling, PullFacts, PullPlan};
use crate::plan::sync::refusal::SyncRefusal;
use crate::plan::sync::{Force, SyncPlan};
use crate::sync::PatternOrigin;
use crate::worktree::names;
use crate::worktree::saved::{Rescue, Saving};

/// Holds what became of one worktree.
#[derive(Clone, Debug, PartialEq)]
pub struct Synced {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// What was done, or would be.
    pub done: SyncDone,
    /// Whether it was only looked at (`-n`).
    pub dry_run: bool,
    /// Where what was replaced was saved.
    pub rescue: Option<Rescue>,
}

/// Says what was done.
#[derive(Clone, Debug, PartialEq)]
pub enum SyncDone {
    /// Files were copied in.
    Copied(SyncPlan),
    /// It was only asked how they are.
    Status(Vec<PlacedState>),
    /// Edited files were brought back.
    Pulled(PullPlan),
    /// Untouched copies were removed.
    Cleaned(Cleaned),
}

/// Holds how one placed file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedState {
    /// Its path.
    pub path: RepoPath,
    /// Why it was placed.
    pub origin: Origin,
    /// How it is.
    pub drift: Drift,
}

/// Syncs, or does what else was asked for, in every worktree that was named.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; of several worktrees the others are done,
/// and the first failure gives the status.
pub fn run(session: &Session, options: &crate::cli::Sync) -> Result<Outcome<Vec<Synced>>, Error> {
    let repository = session.repository_to_change()?;
    let chosen = chosen(&repository, options)?;
    if let (false, [first, _, ..]) = (options.pull.is_empty(), chosen.as_slice()) {
        let name = first.to_string();
        return Err(Refusal::from(SyncRefusal::SeveralToPull { name }).into());
    }
    let work = Work {
        session,
        repository: &repository,
        options,
    };
    let mut found = Found::new();
    let mut outcome = Outcome::done(Vec::new());
    let alone = chosen.len() == 1;
    for name in chosen {
        session.check()?;
        let done = work.worktree(&name, &mut found, &mut outcome.notes);
        match done {
            Ok(synced) => outcome.answer.push(synced),
            Err(error) if alone || matches!(error, Error::Interrupted(_)) => return Err(error),
            Err(error) => {
                if outcome.exit == ExitCode::Success {
                    outcome.exit = error.exit_code();
                }
                let help = miette::Diagnostic::help(&error);
                let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                outcome.notes.push(format!("{name}: {error}{help}"));
            }
        }
    }
    Ok(outcome)
}

fn chosen(repository: &Repository, options: &crate::cli::Sync) -> Result<Vec<WorktreeName>, Error> {
    if options.all {
        let all = names(repository)?.into_iter();
        // an `add` that is under way copies by itself; what is damaged is said of each
        let is_under_way = |name: &WorktreeName| {
            matches!(
                Worktree::load(repository, name),
                Err(WorktreeError::Incomplete { .. })
            )
        };
        return Ok(all.filter(|name| !is_under_way(name)).collect());
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

struct Work<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a crate::cli::Sync,
}

/// What the main worktree has for one list of globs: looked for once for all who have the same.
type Found = Vec<(FromConfig, Vec<String>, Selected)>;

impl Work<'_> {
    fn worktree(
        &self,
        name: &WorktreeName,
        found: &mut Found,
        notes: &mut Vec<String>,
    ) -> Result<Synced, Error> {
        let (repository, options) = (self.repository, self.options);
        let _one_at_a_time = Lock::wait(&repository.name_lock(name))?;
        let known = Worktree::load(repository, name)?;
        let record = &known.record;
        if !files::is_directory(&record.path) {
            let (name, path) = (name.to_string(), record.path.clone());
            return Err(Refusal::from(SyncRefusal::DirectoryGone { name, path }).into());
        }
        let placed = known.placed()?;
        let (done, rescue) = if options.status {
            (SyncDone::Status(self.status(&known, &placed)?), None)
        } else if options.clean {
            (SyncDone::Cleaned(self.clean(&known, &placed)?), None)
        } else if repository.main == Main::Bare {
            let name = name.to_string();
            return Err(Refusal::from(SyncRefusal::NoMain { name }).into());
        } else if options.pull.is_empty() {
            self.copy(&known, placed, found, notes)?
        } else {
            self.pull(&known, &placed, notes)?
        };
        Ok(Synced {
            name: name.to_string(),
            path: record.path.clone(),
            done,
            dry_run: options.dry_run,
            rescue,
        })
    }

    fn status(&self, known: &Worktree, placed: &Placed) -> Result<Vec<PlacedState>, Error> {
        let source = source(self.repository);
        let drift = drift(&known.record.path, source, placed)?;
        let files = placed.files().iter().zip(drift);
        let files = files.filter(|(file, _)| file.kind != PlacedKind::Directory);
        let state = |(file, drift): (&PlacedFile, Drift)| PlacedState {
            path: file.path.clone(),
            origin: file.origin,
            drift,
        };
        Ok(files.map(state).collect())
    }

    fn clean(&self, known: &Worktree, placed: &Placed) -> Result<Cleaned, Error> {
        let doing = if self.options.dry_run {
            Doing::Look
        } else {
            Doing::Remove
        };
        let own = known.repository(self.repository);
        let renew = hide::config_is_as_recorded(&own, &known.record)?;
        let (cleaned, changed_config) = clean(&self.destination(known), placed, doing)?;
        if changed_config && renew {
            renew_config(&own, known)?;
        }
        Ok(cleaned)
    }

    fn copy(
        &self,
        known: &Worktree,
        placed: Placed,
        found: &mut Found,
        notes: &mut Vec<String>,
    ) -> Result<(SyncDone, Option<Rescue>), Error> {
        let selected = self.selected(&placed, found)?;
        if placed.without_config {
            notes.push(
                "this worktree was made with --no-sync: the config's patterns do not count"
                    .to_owned(),
            );
        } else if !selected.limits.enabled {
            notes.push("[worktree.file_sync] says `enabled = false`".to_owned());
        }
        self.session.tell_not_entered(&selected.candidates);
        let there = look(self.repository, known, placed, &selected.candidates)?;
        let into = Into {
            name: &known.record.name,
            path: &known.record.path,
            scope: &known.scope,
        };
        let plan = selected.plan(self.repository, &into, &there, self.force());
        let plan = plan.map_err(Refusal::from)?;
        let is_unfinished = is_unfinished(&self.destination(known));
        if self.options.dry_run || plan.copy.is_empty() && !is_unfinished {
            return Ok((SyncDone::Copied(plan), None));
        }
        let rescue = self.save(known, &known.record.path, &plan.save)?;
        let own = known.repository(self.repository);
        let renew = hide::config_is_as_recorded(&own, &known.record)?;
        let stop = || self.session.check().is_err();
        let hand = Hand {
            progress: &self.session.progress,
            stop: &stop,
        };
        self.session.tell_copies(&plan);
        let placing = Placing::of(&plan, there.placed);
        let done = place(&self.destination(known), &placing, &hand);
        let done = self.unless_stopped(done)?;
        if done.changed_config
            && renew
            && let Err(error) = renew_config(&own, known)
        {
            return Err(error.leaving(done.take_back()));
        }
        notes.extend(done.keep());
        let record = &known.record;
        let paths = plan.paths();
        notes.extend(shown::note(&own, &record.path, &record.admin_dir, &paths)?);
        Ok((SyncDone::Copied(plan), rescue))
    }

    fn pull(
        &self,
        known: &Worktree,
        placed: &Placed,
        notes: &mut Vec<String>,
    ) -> Result<(SyncDone, Option<Rescue>), Error> {
        let (repository, options) = (self.repository, self.options);
        let path = &known.record.path;
        let below = given::prefix(repository, Some(path));
        let mut asked = Vec::new();
        for word in &options.pull {
            let given = given::bytes_of(word.clone());
            asked.push(given::parse(&below, &[path, &repository.root], &given)?.0);
        }
        let drift = drift(path, source(repository), placed)?;
        let here = pull_facts(repository, known, placed)?;
        let facts = PullFacts {
            name: known.record.name.as_str(),
            asked: &asked,
            placed,
            drift: &drift,
            kinds: &here.kinds,
            is_tracked_there: &|path| here.tracked_there.binary_search(path).is_ok(),
        };
        let plan = pulling::plan(&facts, self.force()).map_err(Refusal::from)?;
        if options.dry_run || plan.pull.is_empty() {
            return Ok((SyncDone::Pulled(plan), None));
        }
        let rescue = self.save(known, &repository.root, &plan.save)?;
        let stop = || self.session.check().is_err();
        let hand = Hand {
            progress: &self.session.progress,
            stop: &stop,
        };
        let pulled = pull::pull(&self.destination(known), placed, &plan.pull, &hand);
        notes.extend(self.unless_stopped(pulled)?);
        Ok((SyncDone::Pulled(plan), rescue))
    }

    /// A signal is why a copy stopped.
    fn unless_stopped<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            self.session.check()?;
        }
        result
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
        let name = &known.record.name;
        let saving = Saving::begin(repository, name)?;
        let base = &known.record.base.commit;
        let saved = saving.save_files(base, root, paths, &known.scope, &time)?;
        Ok(Some(saved))
    }

    fn selected<'f>(&self, placed: &Placed, found: &'f mut Found) -> Result<&'f Selected, Error> {
        let from_config = if placed.without_config {
            FromConfig::LeftOut
        } else {
            FromConfig::Taken
        };
        let same = |(config, globs, _): &(FromConfig, Vec<String>, Selected)| {
            *config == from_config && *globs == placed.globs
        };
        if let Some(at) = found.iter().position(same) {
            return Ok(&found[at].2);
        }
        let loaded = self.loaded()?;
        let patterns = patterns(&loaded, from_config, &placed.globs, &PatternOrigin::Record)?;
        let selected = select(self.repository, &loaded, from_config, patterns)?;
        found.push((from_config, placed.globs.clone(), selected));
        Ok(&found[found.len() - 1].2)
    }

    fn loaded(&self) -> Result<Loaded, Error> {
        let flags = SettingFlags::default();
        Ok(load_config(
            self.repository,
            &flags,
            &self.session.environment,
        )?)
    }

    const fn force(&self) -> Force {
        if self.options.force {
            Force::Yes
        } else {
            Force::No
        }
    }

    fn destination<'d>(&'d self, known: &'d Worktree) -> Destination<'d> {
        Destination {
            repository: self.repository,
            path: &known.record.path,
            admin_dir: &known.record.admin_dir,
            record_dir: &known.dir,
        }
    }
}

/// The root of the main worktree, if there is one.
fn source(repository: &Repository) -> Option<&Utf8Path> {
    match repository.main {
        Main::Worktree => Some(&repository.root),
        Main::Bare => None,
    }
}
