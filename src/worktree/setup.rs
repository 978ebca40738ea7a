//! Runs the user's own commands in a worktree: its set-up after `add`, and the teardown before a removal.
//! What they leave there counts as placed: unchanged it is no finding, and it stays out of commits.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::{Utf8Path, Utf8PathBuf};

use super::ignore_rules::write_exclude;
use super::placing::{BEFORE, PLACED};
use super::repository::joined;
use super::trust::{Trust, UserCommands};
use super::variables::variables;
use super::{Environment, Repository, SetupFault, WatchedFile, Worktree, load_config};
use crate::change::Seen;
use crate::disk::drift::{digest_below, drift};
use crate::disk::entries::standing;
use crate::disk::{DiskError, files};
use crate::error::Error;
use crate::git::LOCAL_VARIABLES;
use crate::log::Log;
use crate::path::{RepoPath, escape_for_terminal};
use crate::placed::{Here, PlacedFile, PlacedOrigin};
use crate::process::{ShellEnd, ShellLine};
use crate::scope::{Access, EntryKind};
use crate::truth::collect;

/// Holds what the user's commands are run with.
#[derive(Clone, Copy, Debug)]
pub struct UserSteps<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Our own variables.
    pub environment: &'a Environment,
    /// The signal that asks to stop; 0 for none.
    pub signal: &'a Arc<AtomicUsize>,
    /// Who is told of each command.
    pub log: &'a Log,
}

/// Holds what was in a worktree before the commands ran.
#[derive(Debug, Default)]
pub struct UntrackedBefore {
    untracked: BTreeSet<RepoPath>,
    /// What an earlier run of the set-up left, and no one has edited since.
    ours: BTreeSet<RepoPath>,
}

impl UntrackedBefore {
    /// Reads it before a set-up, and marks in the record directory that one runs. What a set-up that was
    /// killed has created counts as anybody's: an agent may have worked there since.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when the disk refuses.
    pub fn begin(repository: &Repository, known: &Worktree) -> Result<Self, Error> {
        files::write(&known.dir.join(BEFORE), b"")?;
        Self::read(repository, known)
    }

    /// Removes the mark, once what the set-up created is noted.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn end(known: &Worktree) -> Result<(), DiskError> {
        files::remove_file(&known.dir.join(BEFORE))
    }

    /// Whether a set-up of the worktree began and was killed.
    pub fn is_left(known: &Worktree) -> bool {
        files::exists(&known.dir.join(BEFORE))
    }

    /// Reads it.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read.
    pub fn read(repository: &Repository, known: &Worktree) -> Result<Self, Error> {
        let survey = collect(repository, known)?;
        let path = &known.record.path;
        let placed = known.placed()?;
        let ours = placed.files().iter().zip(drift(path, None, &placed)?);
        let ours = ours.filter(|(file, drift)| {
            file.origin == PlacedOrigin::Setup && drift.here != Here::Edited
        });
        Ok(Self {
            ours: ours.map(|(file, _)| file.path.clone()).collect(),
            untracked: survey.states.untracked.into_keys().collect(),
        })
    }
}

impl UserSteps<'_> {
    /// Runs commands in order, until one fails.
    ///
    /// # Errors
    /// Fails when a command does, or a signal ended it.
    pub fn run(
        &self,
        known: &Worktree,
        table: &'static str,
        commands: &[String],
        help: &str,
    ) -> Result<(), Error> {
        let name = known.record.name.to_string();
        let variables = variables(self.repository, known);
        for (at, command) in commands.iter().enumerate() {
            let shown = escape_for_terminal(command.as_bytes());
            let (at, number) = (at + 1, commands.len());
            self.log
                .tell(&format!("{name}: {table} {at} of {number}: {shown}"));
            let line = ShellLine {
                line: command,
                directory: &known.record.path,
                variables: &variables,
                without: LOCAL_VARIABLES,
                timeout: None,
                signal: self.signal,
            };
            let why = match line.run() {
                Ok(ShellEnd::Ended(Some(0))) => continue,
                Ok(ShellEnd::Ended(Some(status))) => {
                    format!("`{shown}` ended with status {status}")
                }
                Ok(ShellEnd::Ended(None)) => format!("`{shown}` was ended by a signal"),
                Ok(ShellEnd::Late | ShellEnd::Stopped) => String::new(),
                Err(error) => format!("`{shown}` cannot be run: {error}"),
            };
            return Err(self.fault(known, table, why, help));
        }
        Ok(())
    }

    /// Why the commands did not end well: the signal that came, or else what failed.
    pub fn fault(&self, known: &Worktree, table: &'static str, why: String, help: &str) -> Error {
        let (name, help) = (known.record.name.to_string(), help.to_owned());
        let table = if table == "setup" { "set-up" } else { table };
        let fault = match u8::try_from(self.signal.load(Ordering::SeqCst)) {
            Ok(0) | Err(_) => SetupFault::Failed {
                name,
                table,
                why,
                help,
            },
            Ok(signal) => SetupFault::Interrupted {
                name,
                table,
                signal,
                help,
            },
        };
        fault.into()
    }

    /// Checks out the submodules that the main worktree has and the scope does not exclude, several at a
    /// time, with the objects of the main worktree's. What the main worktree does not have stays empty.
    ///
    /// # Errors
    /// Fails when git does: the others are there.
    pub fn fill_submodules(&self, known: &Worktree) -> Result<(), Error> {
        let (home, record) = (self.repository.home(), &known.record);
        let git = known.repository(home).git.at(&record.path);
        let mut found = Vec::new();
        for (name, path) in git.submodules(&record.checked_out)? {
            let at = RepoPath::parse(path.as_str()).ok();
            let verdict = at.map(|at| known.scope.verdict(&at, EntryKind::Directory).access);
            if verdict.is_none_or(|access| access == Access::Excluded) {
                continue;
            }
            let reference = home.common_dir.join("modules").join(&name);
            match home.git.config_get(&format!("submodule.{name}.url"))? {
                Some(url) if files::is_directory(&reference) => {
                    found.push((name, path, url, reference));
                }
                _none => self.log.tell(&format!(
                    "{}: the submodule {path} stays empty, as in the main worktree; to have it there: git submodule update --init {path}",
                    record.name
                )),
            }
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = found.len().div_ceil(threads).max(1);
        let fill = |all: &[(String, String, String, Utf8PathBuf)]| {
            for (name, path, url, reference) in all {
                self.log.tell(&format!("{}: submodule {path}", record.name));
                git.submodule_update(name, path, url, reference.as_str())?;
            }
            Ok::<(), Error>(())
        };
        let fill = &fill;
        std::thread::scope(|threads| {
            let shares = found.chunks(share);
            let started = shares.map(|all| threads.spawn(move || fill(all)));
            let started: Vec<_> = started.collect();
            let ended: Vec<_> = started.into_iter().map(joined).collect();
            ended.into_iter().collect()
        })
    }

    /// Notes what came into the worktree since, but not what the scope excludes. The lock of the name is
    /// held. Returns the worktree as it is recorded now.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read, or the list not be written.
    pub fn note(&self, known: Worktree, before: &UntrackedBefore) -> Result<Worktree, Error> {
        let (survey, path) = (collect(self.repository, &known)?, &known.record.path);
        let is_new = |path: &RepoPath, seen| {
            before.ours.contains(path)
                || seen == Seen::Untracked && !before.untracked.contains(path)
        };
        let is_noted = |path: &&RepoPath| {
            known.scope.verdict(path, EntryKind::File).access != Access::Excluded
        };
        let all = survey.states.untracked.iter();
        let new = all.filter(|(path, seen)| is_new(path, (*seen).clone()));
        let new: Vec<&RepoPath> = new.map(|(path, _)| path).filter(is_noted).collect();
        if new.is_empty() {
            return Ok(known);
        }
        let stands = standing(path, new.iter().copied())?.entries;
        let file = |(at, stat): (RepoPath, _)| {
            // what cannot be read is left to the verification
            let (kind, digest) = digest_below(path, &at).ok()??;
            Some(PlacedFile {
                path: at,
                origin: PlacedOrigin::Setup,
                kind,
                digest: Some(digest),
                stat,
                source: None,
            })
        };
        let files: Vec<PlacedFile> = stands.into_iter().filter_map(file).collect();
        let newest = files.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
        let time = files::settled_time(path, newest)?;
        let placed = known.placed()?.replaced_by(files, time);
        let own = known.repository(self.repository);
        let renew = known.config_is_as_recorded(&own)?;
        let git = &self.repository.home().git;
        let excluded = write_exclude(git, &known.record.admin_dir, &placed)?;
        files::write(&known.dir.join(PLACED), &placed.to_bytes())?;
        if excluded.changed_config() && renew {
            return known.renew_digests(&own, |file| file == WatchedFile::ConfigWorktree);
        }
        Ok(known)
    }

    /// Runs the teardown of the config, if the user trusts it, before a removal. Returns whether a command
    /// was started, and what the user should know; a failure stops nothing. Nothing runs for a removal that
    /// had begun before. The lock of the name is held.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read, or a signal came.
    pub fn tear_down(
        &self,
        known: &Worktree,
        is_begun: bool,
        state: Option<&Utf8Path>,
    ) -> Result<(bool, Vec<String>), Error> {
        let mut notes = Vec::new();
        if is_begun || !files::is_directory(&known.record.path) {
            return Ok((false, notes));
        }
        let name = &known.record.name;
        let read = || {
            let loaded = load_config(self.repository, &[], self.environment)?;
            let commands = UserCommands::new(self.repository, &loaded.config);
            let is_trusted = commands.teardown.is_empty() || Trust::read(state)?.holds(&commands);
            Ok::<_, Error>((commands, is_trusted))
        };
        let commands = match read() {
            Ok((commands, true)) => commands,
            Ok((_, false)) => {
                let skipped = "the teardown is skipped: you have not trusted it: git agentwt trust";
                notes.push(format!("{name}: {skipped}"));
                return Ok((false, notes));
            }
            // neither is a reason to keep a worktree
            Err(error) => {
                notes.push(format!("{name}: the teardown is skipped: {error}"));
                return Ok((false, notes));
            }
        };
        if commands.teardown.is_empty() {
            return Ok((false, notes));
        }
        let before = UntrackedBefore::read(self.repository, known)?;
        let help = format!("the worktree stays; to remove it: git agentwt remove {name}");
        let ran = self.run(known, "teardown", &commands.teardown, &help);
        self.note(known.clone(), &before)?;
        match ran {
            Err(error)
                if error
                    .find::<SetupFault>()
                    .is_some_and(SetupFault::is_failure) =>
            {
                notes.push(format!("{error}; the removal goes on"));
            }
            other => other?,
        }
        Ok((true, notes))
    }
}

impl SetupFault {
    /// Whether a command failed, and no signal came.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
