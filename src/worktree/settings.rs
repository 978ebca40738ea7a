//! Loads the config with the settings, and joins the lists of a scope.

use super::repository::{CONFIG, Main, Repository};
use crate::cli::ScopeLists;
use crate::config::{CONFIG_PATH, Config, Located, ScopeProfile, SettingFlags, Settings};
use crate::disk::files;
use crate::error::Error;
use crate::scope::{Origin, RuleList, ScopeRule};
use crate::worktree::WorktreeFault;

/// Holds the environment variables that settings may come from.
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

/// Loads the config of the main worktree. A bare repository has no main worktree: there the config
/// is that of the worktree in which the command started, unless that is an agent's.
///
/// # Errors
/// Fails when the config cannot be read, or says something that is not allowed.
pub fn load_config(
    repository: &Repository,
    flags: &SettingFlags<'_>,
    environment: &Environment,
) -> Result<Loaded, Error> {
    let mut bytes = files::read(&repository.root.join(CONFIG))?;
    let is_bare = repository.main == Main::Bare && repository.inside.is_none();
    if let (None, true, Some(here)) = (&bytes, is_bare, &repository.toplevel) {
        bytes = files::read(&here.join(CONFIG))?;
    }
    load_config_of(repository, flags, environment, CONFIG, bytes.as_deref())
}

/// Parses the text of a config from somewhere else; none when there is no file. `name` says where
/// the text is from.
///
/// # Errors
/// Fails when the config says something that is not allowed, or git fails.
pub fn load_config_of(
    repository: &Repository,
    flags: &SettingFlags<'_>,
    environment: &Environment,
    name: &str,
    bytes: Option<&[u8]>,
) -> Result<Loaded, Error> {
    let config = bytes.map(|bytes| Config::parse_bytes(name, bytes));
    let config = config.transpose()?;
    let git_config = repository.git.config_get_section("agentwt")?;
    let found = config.is_some();
    let config = config.unwrap_or_default();
    let settings = Settings::resolve(flags, environment, &git_config, &config)?;
    Ok(Loaded {
        config,
        found,
        settings,
    })
}

impl Repository {
    /// Reads which revision names a base, and the same in full: the setting, or the branch of the main
    /// worktree, whose short name a tag may have too. None where HEAD is detached.
    ///
    /// # Errors
    /// Fails when git cannot read HEAD.
    pub fn base_name(&self, setting: Option<&str>) -> Result<Option<(String, String)>, Error> {
        if let Some(set) = setting.map(ToOwned::to_owned) {
            return Ok(Some((set.clone(), set)));
        }
        let full = self.git.symbolic_ref_head()?;
        let short = |full: &String| full.strip_prefix("refs/heads/").unwrap_or(full).to_owned();
        Ok(full.map(|full| (short(&full), full)))
    }
}

/// Joins the lists of a profile with those of the options: `--write` replaces, `--add-write` adds.
/// `name` is for the message.
///
/// # Errors
/// Fails when nothing says what may be edited.
pub fn rules_of(
    name: &str,
    profile: Option<&ScopeProfile>,
    lists: &ScopeLists,
    config_found: bool,
) -> Result<Vec<ScopeRule>, Error> {
    use RuleList::{Exclude, Read, Write};
    let mut rules = Vec::new();
    let none = ScopeProfile::default();
    let of = profile.unwrap_or(&none);
    for (list, of_profile, flag, added) in [
        (Read, &of.read, &lists.read, &lists.add_read),
        (Write, &of.write, &lists.write, &lists.add_write),
        (Exclude, &of.exclude, &lists.exclude, &lists.add_exclude),
    ] {
        let of_option = |patterns: &Option<Vec<String>>, option: String| {
            let patterns = patterns.iter().flatten().filter(|text| !text.is_empty());
            let rule = |pattern| ScopeRule::new(list, pattern, Origin::Flag(option.clone()));
            patterns.map(rule).collect::<Vec<_>>()
        };
        let in_config = |pattern: &Located<String>| {
            let (path, line) = (CONFIG_PATH.to_owned(), pattern.line);
            ScopeRule::new(list, pattern.value.as_str(), Origin::File { path, line })
        };
        match (flag, of_profile, list) {
            (Some(_), _, _) => rules.extend(of_option(flag, format!("--{list}"))),
            (None, Some(patterns), _) => rules.extend(patterns.iter().map(in_config)),
            (None, None, Read) => rules.push(ScopeRule::new(list, "**", Origin::Default)),
            (None, None, Write) if added.is_none() => {
                let name = name.to_owned();
                return Err(WorktreeFault::NoWriteList { name, config_found }.into());
            }
            (None, None, Write | Exclude) => {}
        }
        rules.extend(of_option(added, format!("--add-{list}")));
    }
    Ok(rules)
}
