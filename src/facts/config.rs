//! Loads the config that counts, and layers the settings.

use crate::config::{Config, ConfigError, SettingFlags, Settings};
use crate::disk::files;
use crate::worktree::WorktreeError;
use crate::worktree::repository::{CONFIG, Main, Repository};

/// Holds the environment variables that settings may come from, as the edge read them.
pub type Environment = Vec<(String, String)>;

/// Holds the config and the settings.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The config; empty when there is no file.
    pub config: Config,
    /// Whether there is a file.
    pub found: bool,
    /// The settings.
    pub settings: Settings,
}

/// Says why the config cannot be had.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LoadError {
    /// It is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    /// It cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Facts(#[from] WorktreeError),
}

/// Loads the main worktree's config as it is now. A bare repository has no main worktree: there
/// it is that of the worktree the command was started in, unless that is an agent's.
///
/// # Errors
/// Fails when it cannot be read, or says something that is not allowed.
pub fn load_config(
    repository: &Repository,
    flags: &SettingFlags,
    environment: &Environment,
) -> Result<Loaded, LoadError> {
    let read = |directory: &camino::Utf8Path| -> Result<Option<Vec<u8>>, WorktreeError> {
        Ok(files::read(&directory.join(CONFIG))?)
    };
    let mut bytes = read(&repository.root)?;
    if let (None, Main::Bare, None, Some(here)) = (
        &bytes,
        repository.main,
        &repository.inside,
        &repository.toplevel,
    ) {
        bytes = read(here)?;
    }
    load_config_of(repository, flags, environment, CONFIG, bytes.as_deref())
}

/// Takes the text of a config from somewhere else; none when there is no file. `name` says where
/// it is from.
///
/// # Errors
/// Fails when it says something that is not allowed, or git fails.
pub fn load_config_of(
    repository: &Repository,
    flags: &SettingFlags,
    environment: &Environment,
    name: &str,
    bytes: Option<&[u8]>,
) -> Result<Loaded, LoadError> {
    let found = bytes.is_some();
    let config = match bytes {
        Some(bytes) => Config::parse_bytes(name, bytes)?,
        None => Config::default(),
    };
    let git_config = repository
        .git
        .config_get_section("agentwt")
        .map_err(WorktreeError::from)?;
    let settings = Settings::resolve(flags, environment, &git_config, &config)?;
    Ok(Loaded {
        config,
        found,
        settings,
    })
}
