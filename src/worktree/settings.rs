//! Loads the config with the settings, and joins the lists of a scope.

use crate::arguments::scope::ScopeLists;
use crate::config::settings::{SetBy, SettingFlags, Settings, is_users_only};
use crate::config::{CONFIG_PATH, Config, Located, ScopeProfile};
use crate::disk::files;
use crate::scope::rule::{RuleList, RuleOrigin, ScopeRule};
use crate::words::error::Error;
use crate::words::name::branch_of;
use crate::words::path::{escape_for_terminal, shell_word};
use crate::worktree::error::WorktreeFault;
use crate::worktree::repository::{CONFIG, Main, Repository};

/// The environment variables that settings may come from.
pub type Environment = Vec<(String, String)>;

/// The config and the settings.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The config; empty when there is no file.
    pub config: Config,
    /// True if there is a file.
    pub found: bool,
    /// The settings.
    pub settings: Settings,
    /// The settings of git that are ours.
    pub git_settings: GitSettings,
}

impl Loaded {
    /// Says which settings of the repository's configuration do not count for a worktree.
    pub fn notes(&self) -> Vec<String> {
        let settings = &self.settings;
        let client = settings.client.as_ref().map(|client| client.set_by);
        let mut keys = Vec::new();
        for (key, set_by) in [
            ("agentwt.scope", Some(settings.scope.set_by)),
            ("agentwt.client", client),
            ("agentwt.onViolation", Some(settings.on_violation.set_by)),
        ] {
            // a flag and the environment beat these settings, wherever they stand
            if !matches!(set_by, Some(SetBy::Flag(_) | SetBy::Environment(_))) {
                keys.push(key);
            }
        }
        self.git_settings.notes(&keys)
    }
}

/// Settings of git, in its order. An agent can write the repository's configuration: what only the
/// user may set does not count there.
#[derive(Clone, Debug, Default)]
pub struct GitSettings {
    /// The settings that count: key, as git lists it, and value.
    counting: Vec<(String, String)>,
    /// Those of the repository that do not.
    uncounted: Vec<(String, String)>,
}

impl GitSettings {
    /// Reads the settings of a section.
    ///
    /// # Errors
    /// Fails when git's settings cannot be read.
    pub fn read(repository: &Repository, section: &str) -> Result<Self, Error> {
        let mut settings = Self::default();
        for (scope, key, value) in repository.git.config_get_section(section)? {
            let is_users = !matches!(scope, "local" | "worktree");
            if is_users || !is_users_only(&key) {
                settings.counting.push((key, value));
            } else {
                settings.uncounted.push((key, value));
            }
        }
        Ok(settings)
    }

    /// All values of a key that count.
    pub fn all(&self, key: &str) -> Vec<&str> {
        values(&self.counting, key).collect()
    }

    /// The value of a key that counts.
    pub fn last(&self, key: &str) -> Option<&str> {
        values(&self.counting, key).last()
    }

    /// The value of a key that stands in the repository's configuration, and does not count.
    pub fn uncounted(&self, key: &str) -> Option<&str> {
        values(&self.uncounted, key).last()
    }

    /// Says of these keys which values do not count, and how the user sets each.
    pub fn notes(&self, keys: &[&str]) -> Vec<String> {
        let mut notes = Vec::new();
        for key in keys {
            let counting = self.all(key);
            for value in values(&self.uncounted, key) {
                let note = note_uncounted(key, value);
                if !counting.contains(&value) && !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes
    }
}

/// The values of a key (git-config(1): the names of a section and a variable are not case
/// sensitive).
fn values<'s>(settings: &'s [(String, String)], key: &str) -> impl Iterator<Item = &'s str> {
    let of_key = settings
        .iter()
        .filter(move |(name, _)| name.eq_ignore_ascii_case(key));
    of_key.map(|(_, value)| value.as_str())
}

fn note_uncounted(key: &str, value: &str) -> String {
    let option = match key {
        "agentwt.rw" | "agentwt.socket" => "--add ",
        _single => "",
    };
    let value = shell_word(&escape_for_terminal(value.as_bytes()));
    format!(
        "{key} in the repository's configuration does not count, as an agent can write it; if it \
            is yours: git config --global {option}{key} {value}"
    )
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
    if bytes.is_none()
        && is_bare
        && let Some(here) = &repository.toplevel
    {
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
    let config = match bytes {
        Some(bytes) => Config::parse_bytes(name, bytes)?,
        None => Config::default(),
    };
    let git_settings = GitSettings::read(repository, "agentwt")?;
    let settings = Settings::resolve(flags, environment, &git_settings.counting, &config)?;
    Ok(Loaded {
        config,
        found: bytes.is_some(),
        settings,
        git_settings,
    })
}

impl Repository {
    /// Reads which revision names a base, and the same in full: the setting, or the branch of the
    /// main worktree, whose short name a tag may have too. None where HEAD is detached.
    ///
    /// # Errors
    /// Fails when git cannot read HEAD.
    pub fn base_name(&self, setting: Option<&str>) -> Result<Option<(String, String)>, Error> {
        if let Some(set) = setting {
            return Ok(Some((set.to_owned(), set.to_owned())));
        }
        let Some(full) = self.git.symbolic_ref_head()? else {
            return Ok(None);
        };
        let short = branch_of(&full).to_owned();
        Ok(Some((short, full)))
    }
}

/// Joins the lists of a profile with those of the options: `--write` replaces, `--add-write` adds.
/// Where neither has a list of what may be read, everything may. `name` and `config_found` are for
/// the message.
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
    let no_profile = ScopeProfile::default();
    let chosen = profile.unwrap_or(&no_profile);
    if chosen.write.is_none() && lists.write.is_none() && lists.add_write.is_none() {
        let name = name.to_owned();
        return Err(WorktreeFault::NoWriteList { name, config_found }.into());
    }
    let mut rules = Vec::new();
    if chosen.read.is_none() && lists.read.is_none() {
        rules.push(ScopeRule::new(Read, "**", RuleOrigin::Default));
    }
    rules.extend(rules_of_list(
        Read,
        chosen.read.as_deref(),
        lists.read.as_deref(),
        lists.add_read.as_deref(),
    ));
    rules.extend(rules_of_list(
        Write,
        chosen.write.as_deref(),
        lists.write.as_deref(),
        lists.add_write.as_deref(),
    ));
    rules.extend(rules_of_list(
        Exclude,
        chosen.exclude.as_deref(),
        lists.exclude.as_deref(),
        lists.add_exclude.as_deref(),
    ));
    Ok(rules)
}

/// Makes the rules of one list: those of the option that replaces the configured ones, or these,
/// and those of the option that adds.
fn rules_of_list(
    list: RuleList,
    configured: Option<&[Located<String>]>,
    replacing: Option<&[String]>,
    added: Option<&[String]>,
) -> Vec<ScopeRule> {
    let mut rules = Vec::new();
    if let Some(patterns) = replacing {
        rules.extend(rules_of_option(list, &format!("--{list}"), patterns));
    } else {
        for pattern in configured.unwrap_or_default() {
            let origin = RuleOrigin::File {
                path: CONFIG_PATH.to_owned(),
                line: pattern.line,
            };
            rules.push(ScopeRule::new(list, pattern.value.as_str(), origin));
        }
    }
    let option = format!("--add-{list}");
    rules.extend(rules_of_option(list, &option, added.unwrap_or_default()));
    rules
}

/// Makes the rules of an option; an empty pattern is an empty list.
fn rules_of_option(list: RuleList, option: &str, patterns: &[String]) -> Vec<ScopeRule> {
    let mut rules = Vec::new();
    for pattern in patterns {
        if !pattern.is_empty() {
            let origin = RuleOrigin::Flag(option.to_owned());
            rules.push(ScopeRule::new(list, pattern, origin));
        }
    }
    rules
}
