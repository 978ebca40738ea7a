//! Holds [`Settings`]: one value for every setting, and who set it.
//!
//! A flag beats an environment variable beats `git config` beats the config file beats the
//! default. It is given those layers as values and reads neither the environment nor git.

use std::fmt;

use super::choice::{Client, OnViolation, Strategy};
use super::error::MistakeKind;
use super::layers::{BASE, BRANCH_PREFIX, CLIENT, Layers, ON_VIOLATION, SCOPE, STRATEGY, mistake};
use super::nearest::nearest;
use super::value::{self, Fault};
use super::{CONFIG_PATH, Config, ConfigError, ScopeProfile};

/// Holds what the command line said; nothing where it said nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingFlags {
    /// `--base`.
    pub base: Option<String>,
    /// `--branch-prefix`.
    pub branch_prefix: Option<String>,
    /// `--strategy`.
    pub strategy: Option<Strategy>,
    /// `--client`.
    pub client: Option<Client>,
    /// `--on-violation`.
    pub on_violation: Option<OnViolation>,
    /// `--scope`.
    pub scope: Option<String>,
}

/// Holds every setting that a worktree is made with.
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

/// Carries a value with who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub set_by: SetBy,
}

/// Says which layer a setting came from.
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
    /// Nobody: it is the default.
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

/// The prefix of branches that nobody set another one for.
pub const DEFAULT_BRANCH_PREFIX: &str = "agentwt/";
/// The scope profile that `add` takes when none is named.
pub const DEFAULT_PROFILE: &str = "default";

impl Settings {
    /// Layers the settings. `environment` may hold any variables, `git_config` any lower-cased
    /// `git config --list` keys: what is not ours is ignored. In a layer the last value counts,
    /// as in git; an environment variable that is empty counts as not set.
    ///
    /// # Errors
    /// Returns every value that would count and is invalid, each with the name of its variable. A
    /// value that a higher layer overrides is not looked at.
    pub fn resolve(
        flags: &SettingFlags,
        environment: &[(String, String)],
        git_config: &[(String, String)],
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let file = &config.worktree;
        let mut layers = Layers {
            environment,
            git_config,
            mistakes: Vec::new(),
        };
        let base = layers.text(
            &BASE,
            flags.base.as_deref(),
            value::base,
            file.base.as_ref(),
        );
        let branch_prefix = layers.text(
            &BRANCH_PREFIX,
            flags.branch_prefix.as_deref(),
            value::branch_prefix,
            file.branch_prefix.as_ref(),
        );
        let strategy = layers.choice(&STRATEGY, flags.strategy, file.strategy.as_ref());
        let client = layers.choice(&CLIENT, flags.client, file.client.as_ref());
        let on_violation = layers.choice(
            &ON_VIOLATION,
            flags.on_violation,
            file.on_violation.as_ref(),
        );
        let scope = layers.text(&SCOPE, flags.scope.as_deref(), value::scope, None);
        if !layers.mistakes.is_empty() {
            return Err(ConfigError::in_settings(layers.mistakes));
        }
        Ok(Self {
            base,
            branch_prefix: branch_prefix
                .unwrap_or_else(|| by_default(DEFAULT_BRANCH_PREFIX.into())),
            strategy: strategy.unwrap_or_else(|| by_default(Strategy::default())),
            client,
            on_violation: on_violation.unwrap_or_else(|| by_default(OnViolation::default())),
            scope: scope.unwrap_or_else(|| by_default(DEFAULT_PROFILE.into())),
        })
    }

    /// The scope profile that the settings name. There is none where nobody named one and the
    /// config has no `[scope.default]`: then the flags must give the lists.
    ///
    /// # Errors
    /// Fails if a flag or a variable names a profile that the config does not have.
    pub fn profile<'c>(&self, config: &'c Config) -> Result<Option<&'c ScopeProfile>, ConfigError> {
        let name = self.scope.value.as_str();
        let found = config.scopes.get(name);
        if found.is_some() || self.scope.set_by == SetBy::Default {
            return Ok(found);
        }
        let names: Vec<_> = config.scopes.keys().map(String::as_str).collect();
        let near = nearest(name, names.iter().copied());
        let define = format!("add a [scope.<profile>] of this name to {CONFIG_PATH}");
        let fault = Fault {
            kind: MistakeKind::UnknownProfile,
            subject: format!("unknown scope profile {}", value::quoted(name)),
            reason: None,
            label: "",
            allowed: match names.as_slice() {
                [] => define,
                names => format!("write {}, or {define}", value::listed(names, "or")),
            },
            example: near.or(names.first().copied()).unwrap_or_default().into(),
            meant: near.is_some(),
        };
        let mistake = mistake(&fault, self.scope.set_by);
        Err(ConfigError::in_settings(vec![mistake]))
    }
}

fn by_default<T>(value: T) -> Setting<T> {
    let set_by = SetBy::Default;
    Setting { value, set_by }
}

#[cfg(test)]
mod tests;
