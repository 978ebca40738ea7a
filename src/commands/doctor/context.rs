//! Holds what several topics of `git agentwt doctor` read.

use bstr::BString;

use crate::commands::Session;
use crate::config::Config;
use crate::git::index::read_paths;
use crate::words::error::Error;
use crate::words::path::{RepoPath, first_of};
use crate::worktree::loaded::{Worktree, whole_records};
use crate::worktree::repository::Repository;
use crate::worktree::settings::load_config;

/// Holds what several topics read.
pub struct DoctorContext<'a> {
    pub repository: &'a Repository,
    /// Every setting of git as (scope, key, value).
    pub settings: Vec<(String, String, BString)>,
    /// The worktrees that have a whole record.
    pub known: Vec<Worktree>,
    /// The paths of the main worktree's index; empty if it cannot be read.
    pub index: Vec<RepoPath>,
    /// The config, or what is wrong with it.
    pub config: Result<Config, String>,
}

impl<'a> DoctorContext<'a> {
    pub fn read(session: &Session, repository: &'a Repository) -> Result<Self, Error> {
        let loaded = load_config(repository, &[], &session.environment);
        let index = read_paths(&repository.common_dir.join("index"), repository.format);
        Ok(Self {
            repository,
            settings: repository.git.config_list()?,
            known: whole_records(repository)?.collect(),
            index: index.ok().flatten().unwrap_or_default(),
            config: loaded
                .map(|loaded| loaded.config)
                .map_err(|error| error.to_string()),
        })
    }

    /// The value of a setting that counts, with its scope. Ours for this call are not settings.
    pub fn setting(&self, key: &str) -> Option<(&str, String)> {
        let mut all = self.settings.iter().rev();
        let (scope, _, value) = all.find(|(scope, found, _)| found == key && scope != "command")?;
        Some((scope, value.to_string()))
    }
}

/// Names the first five of many, and says how many more there are.
pub fn some(names: &[String]) -> String {
    first_of(names, 5)
}
