//! Holds [`Settings`]: one value for every setting, and who set it.
//!
//! A flag beats an environment variable beats `git config` beats the config file beats the
//! default. It is given those layers as values and reads neither the environment nor git.

use std::fmt;

use crate::config::value::{Client, OnViolation, Strategy, ValueFault};
use crate::config::{CONFIG_PATH, Config, ConfigError, Located, Mistake, ScopeProfile, value};

/// What the command line said, by flag.
pub type SettingFlags<'f> = [(&'static str, Option<&'f str>)];

/// Every setting that a worktree is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the worktree starts from; by default the branch of the main worktree.
    pub base: Option<Setting<String>>,
    /// What stands before the name in the branch; may be empty.
    pub branch_prefix: Setting<String>,
    /// What the worktree is.
    pub strategy: Setting<Strategy>,
    /// The agent program, if one was named.
    pub client: Option<Setting<Client>>,
    /// What the hooks do about a violation.
    pub on_violation: Setting<OnViolation>,
    /// The name of the scope profile, which need not exist: see [`Settings::profile`].
    pub scope: Setting<String>,
}

/// A value with who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub set_by: SetBy,
}

impl<T> Setting<T> {
    /// A value that no layer sets.
    const fn by_default(value: T) -> Self {
        Self {
            value,
            set_by: SetBy::Default,
        }
    }
}

/// Which layer a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// This flag.
    Flag(&'static str),
    /// This environment variable.
    Environment(&'static str),
    /// This variable of `git config`.
    GitConfig(&'static str),
    /// This line of the config file, from 1.
    File(u32),
    /// No layer: it is the default.
    Default,
}

impl fmt::Display for SetBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Environment(name) => f.write_str(name),
            Self::GitConfig(name) => write!(f, "git config {name}"),
            Self::File(line) => write!(f, "{CONFIG_PATH}:{line}"),
            Self::Default => f.write_str("the default"),
        }
    }
}

/// Settings of git by which a fence becomes weaker or a program runs, as git lists them.
const USERS_ONLY: [&str; 10] = [
    "agentwt.client",
    "agentwt.fence",
    "agentwt.image",
    "agentwt.net",
    "agentwt.onviolation",
    "agentwt.opener",
    "agentwt.rw",
    "agentwt.scope",
    "agentwt.socket",
    "core.editor",
];

/// True if a setting of git counts only where no agent can write it: in the user's own files, in
/// the environment and on the command line.
pub fn is_users_only(key: &str) -> bool {
    USERS_ONLY.contains(&key)
}

/// The prefix of branches by default.
pub const DEFAULT_BRANCH_PREFIX: &str = "agentwt/";
/// The scope profile that `add` takes when none is named.
pub const DEFAULT_PROFILE: &str = "default";

impl Settings {
    /// Takes each setting from the highest layer that sets it. `environment` may hold any
    /// variables, `git_config` any lower-cased `git config --list` keys: what is not ours is
    /// ignored. In a layer the last value counts, as in git; an environment variable that is empty
    /// counts as not set.
    ///
    /// # Errors
    /// Returns every value that would count and is invalid, each with the name of its variable. A
    /// value that a higher layer overrides is not looked at.
    pub fn resolve(
        flags: &SettingFlags<'_>,
        environment: &[(String, String)],
        git_config: &[(String, String)],
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let file = &config.worktree;
        let mut layers = Layers {
            flags,
            environment,
            git_config,
            mistakes: Vec::new(),
        };
        let base = layers.find(BASE, value::base, file.base.as_ref());
        let prefix = layers.find(PREFIX, value::branch_prefix, file.branch_prefix.as_ref());
        let strategy = layers.find(STRATEGY, value::choice, file.strategy.as_ref());
        let client = layers.find(CLIENT, value::choice, file.client.as_ref());
        let violation = layers.find(VIOLATION, value::choice, file.on_violation.as_ref());
        // the config file defines scope profiles, but chooses none
        let scope = layers.find(SCOPE, value::scope, None);
        if !layers.mistakes.is_empty() {
            return Err(ConfigError::in_settings(layers.mistakes));
        }
        Ok(Self {
            base,
            branch_prefix: prefix.unwrap_or(Setting::by_default(DEFAULT_BRANCH_PREFIX.into())),
            strategy: strategy.unwrap_or(Setting::by_default(Strategy::default())),
            client,
            on_violation: violation.unwrap_or(Setting::by_default(OnViolation::default())),
            scope: scope.unwrap_or(Setting::by_default(DEFAULT_PROFILE.into())),
        })
    }

    /// The scope profile that the settings name. There is none if no layer names one and the
    /// config has no `[scope.default]`: then the flags must give the lists.
    ///
    /// # Errors
    /// Fails if a flag or a variable names a profile that the config does not have.
    pub fn profile<'c>(&self, config: &'c Config) -> Result<Option<&'c ScopeProfile>, ConfigError> {
        let name = self.scope.value.as_str();
        let profile = config.scopes.get(name);
        if profile.is_some() || self.scope.set_by == SetBy::Default {
            return Ok(profile);
        }
        let names: Vec<_> = config.scopes.keys().map(String::as_str).collect();
        let define = format!("add a [scope.<profile>] of this name to {CONFIG_PATH}");
        let subject = format!("unknown scope profile {}", value::quoted(name));
        let fault = match names.as_slice() {
            [] => ValueFault::new(subject, "", define),
            names => ValueFault::one_of(subject, name, names, &format!(", or {define}")),
        };
        let mistake = mistake(&fault, self.scope.set_by);
        Err(ConfigError::in_settings(vec![mistake]))
    }
}

/// The names of one setting in the layers that have names: flag, environment, git's config.
type SettingNames = [&'static str; 3];

const BASE: SettingNames = ["--base", "AGENTWT_BASE", "agentwt.base"];
const PREFIX: SettingNames = [
    "--branch-prefix",
    "AGENTWT_BRANCH_PREFIX",
    "agentwt.branchPrefix",
];
const STRATEGY: SettingNames = ["--strategy", "AGENTWT_STRATEGY", "agentwt.strategy"];
const CLIENT: SettingNames = ["--client", "AGENTWT_CLIENT", "agentwt.client"];
const VIOLATION: SettingNames = [
    "--on-violation",
    "AGENTWT_ON_VIOLATION",
    "agentwt.onViolation",
];
const SCOPE: SettingNames = ["--scope", "AGENTWT_SCOPE", "agentwt.scope"];

/// The layers above the file, and what was found wrong in them.
struct Layers<'l> {
    flags: &'l SettingFlags<'l>,
    environment: &'l [(String, String)],
    git_config: &'l [(String, String)],
    mistakes: Vec<Mistake>,
}

impl Layers<'_> {
    /// The value of the highest layer that has one.
    fn find<T: Clone>(
        &mut self,
        [flag, variable, key]: SettingNames,
        check: fn(&str) -> Result<T, ValueFault>,
        file: Option<&Located<T>>,
    ) -> Option<Setting<T>> {
        let Some((text, set_by)) = self.text_of([flag, variable, key]) else {
            let file_value = file?;
            return Some(Setting {
                value: file_value.value.clone(),
                set_by: SetBy::File(file_value.line),
            });
        };
        match check(text) {
            Ok(value) => Some(Setting { value, set_by }),
            Err(fault) => {
                self.mistakes.push(mistake(&fault, set_by));
                None
            }
        }
    }

    /// Returns the text of a setting in the highest layer above the file that has one.
    fn text_of(&self, [flag, variable, key]: SettingNames) -> Option<(&str, SetBy)> {
        let given = self.flags.iter().find(|(name, _)| *name == flag);
        if let Some((_, Some(text))) = given {
            return Some((text, SetBy::Flag(flag)));
        }
        let in_environment = self.environment.iter().rfind(|(name, _)| name == variable);
        if let Some((_, text)) = in_environment
            && !text.is_empty()
        {
            return Some((text, SetBy::Environment(variable)));
        }
        // git-config(1): section and variable names are not case sensitive.
        let mut in_git = self.git_config.iter();
        let (_, text) = in_git.rfind(|(name, _)| name.eq_ignore_ascii_case(key))?;
        Some((text, SetBy::GitConfig(key)))
    }
}

/// A mistake outside the file.
fn mistake(fault: &ValueFault, set_by: SetBy) -> Mistake {
    Mistake {
        message: fault.message(&format!("in {set_by}")),
        span: None,
        help: fault.help.clone(),
    }
}

#[cfg(test)]
mod tests;
