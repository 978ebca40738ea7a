//! Looks at everything that `doctor` judges, one file a topic. Nothing is changed.
//!
//! The topics are looked at side by side, and one that cannot be looked at does not keep the others
//! from it.

mod file_system;
mod hooks;
mod ignored;
pub(super) mod leftovers;
mod settings;
mod tools;
mod versions;

use camino::Utf8Path;
use miette::Diagnostic;

use super::WorktreeError;
use crate::config::SettingFlags;
use crate::exit::ExitCode;
use crate::git::GitError;
use crate::name::WorktreeName;
use crate::plan::doctor::leftovers::Leftovers;
use crate::plan::doctor::{Looked, RepositoryFacts, Topic, Unknown};
use crate::worktree::repository::{Main, Repository, joined};
use crate::worktree::{Environment, load_config};
use crate::worktree::{RecordState, Worktree, names};

pub use versions::versions;

/// Holds what several topics go by.
struct Here<'a> {
    repository: &'a Repository,
    /// Every setting of git's as (scope, key, value).
    config: Vec<(String, String, bstr::BString)>,
    /// What is recorded, by name.
    records: Vec<(WorktreeName, Result<RecordState, WorktreeError>)>,
    /// The paths of the main worktree's index, with sizes; none where they cannot be told.
    index: Option<Vec<(crate::path::RepoPath, u32)>>,
    /// Our config: the branch prefix, or what is wrong.
    prefix: Result<String, String>,
}

impl Here<'_> {
    /// The worktrees that have a whole record.
    fn known(&self) -> impl Iterator<Item = &Worktree> {
        self.records
            .iter()
            .filter_map(|(_, recorded)| match recorded {
                Ok(RecordState::Complete(known)) => Some(&**known),
                Ok(RecordState::Incomplete(_) | RecordState::Missing) | Err(_) => None,
            })
    }

    /// The value of a setting that counts, with its scope. Ours for this call are no setting.
    fn setting(&self, key: &str) -> Option<(&str, String)> {
        let all = self.config.iter().rev();
        let mut users = all.filter(|(scope, ..)| scope != "command");
        let (scope, _, value) = users.find(|(_, found, _)| found == key)?;
        Some((scope, value.to_string()))
    }
}

/// Whether git reads a value as true (git-config(1), "Values"); a key alone has none, and is.
fn is_true(value: &str) -> bool {
    let off = ["false", "no", "off", "0"];
    !off.contains(&value.to_ascii_lowercase().as_str())
}

/// Looks at a repository.
///
/// # Errors
/// Fails when git does not even list its settings, or the records cannot be listed.
pub fn look(
    repository: &Repository,
    environment: &Environment,
    is_root: bool,
) -> Result<RepositoryFacts, WorktreeError> {
    let here = here(repository, environment)?;
    let here = &here;
    let has_main = repository.main == Main::Worktree;
    let facts = std::thread::scope(|scope| {
        let hooks = scope.spawn(|| hooks::look(here));
        let leftovers = scope.spawn(|| leftovers::look(here));
        let ignored = scope.spawn(|| has_main.then(|| ignored::look(here)));
        let settings = settings::look(here);
        let tools = has_main.then(|| tools::look(here));
        let file_system = file_system::look(here, is_root);
        RepositoryFacts {
            root: repository.root.clone(),
            settings,
            hooks: looked(Topic::Hooks, joined(hooks)),
            ignored: joined(ignored).map(|facts| looked(Topic::Ignored, facts)),
            tools: tools.map(|facts| looked(Topic::Tools, facts)),
            leftovers: looked(Topic::Leftovers, joined(leftovers)),
            file_system: looked(Topic::FileSystem, file_system),
        }
    });
    Ok(facts)
}

/// Looks only for what was left behind, branches without a worktree apart.
///
/// # Errors
/// Fails when git or the disk does.
pub fn left_behind(repository: &Repository) -> Result<Leftovers, WorktreeError> {
    let records = names(repository)?.into_iter();
    let records = records.map(|name| {
        let recorded = RecordState::read(repository, &name);
        (name, recorded)
    });
    leftovers::look(&Here {
        repository,
        config: Vec::new(),
        records: records.collect(),
        index: None,
        prefix: Ok(String::new()),
    })
}

fn here<'a>(
    repository: &'a Repository,
    environment: &Environment,
) -> Result<Here<'a>, WorktreeError> {
    let (config, loaded) = std::thread::scope(|scope| {
        let config = scope.spawn(|| repository.git.config_list());
        let loaded = load_config(repository, &SettingFlags::default(), environment);
        (joined(config), loaded)
    });
    let records = names(repository)?.into_iter();
    let records = records.map(|name| {
        let recorded = RecordState::read(repository, &name);
        (name, recorded)
    });
    let index = repository.common_dir.join("index");
    let index = match repository.main {
        Main::Worktree => crate::git::index::read_paths(&index, repository.format),
        Main::Bare => Ok(None),
    };
    Ok(Here {
        repository,
        config: config?,
        records: records.collect(),
        index: index.ok().flatten(),
        prefix: loaded
            .map(|loaded| loaded.settings.branch_prefix.value)
            .map_err(|error| error.to_string()),
    })
}

fn looked<T>(topic: Topic, facts: Result<T, WorktreeError>) -> Looked<T> {
    facts.map_err(|error| Unknown {
        topic,
        why: error.to_string(),
        help: error.help().map(|help| help.to_string()),
        exit: status(&error),
    })
}

fn status(error: &WorktreeError) -> ExitCode {
    match error {
        WorktreeError::Git(_) => ExitCode::Git,
        _others => ExitCode::Disk,
    }
}

/// Says why git refuses a repository, and what git itself advises; none when it was not git, or
/// there is no repository to refuse.
#[must_use]
pub fn refusal(error: &WorktreeError, start: &Utf8Path) -> Option<(String, Option<String>)> {
    let WorktreeError::Git(error) = error else {
        return None;
    };
    match error {
        GitError::NoRepository { .. }
        | GitError::NoDirectory { .. }
        | GitError::Missing(_)
        | GitError::TooOld { .. } => None,
        GitError::Failed { words, .. } => {
            let dubious = words.contains("dubious ownership");
            let command = words
                .lines()
                .map(str::trim)
                .find(|line| line.starts_with("git config --global --add safe.directory"));
            let command = command.map_or_else(
                || format!("git config --global --add safe.directory {start}"),
                ToOwned::to_owned,
            );
            let lines: Vec<&str> = words.lines().map(str::trim).collect();
            let shown = lines.first().copied().unwrap_or_default();
            let shown = shown.trim_start_matches("fatal: ").to_owned();
            let advice = format!("if you trust its owner: {command}");
            Some((shown, dubious.then_some(advice)))
        }
        GitError::Read { .. }
        | GitError::Write { .. }
        | GitError::Hook { .. }
        | GitError::TimedOut { .. } => Some((error.to_string(), None)),
    }
}
