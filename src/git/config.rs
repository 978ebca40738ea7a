//! Reads git's configuration through `gix` (git-config(1)), and writes it with git.

use bstr::BString;
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::Source;
use gix::config::file::Metadata;

use crate::git::error::{GitError, reading};
use crate::git::process::{Git, odd_output, words};
use crate::git::repo::GitSetting;
use crate::git::settings_file::{path, read_config, text};

/// A setting: the scope as `git config --show-scope` names it, the key, and the value.
pub type ScopedSetting = (&'static str, String, String);

/// Whether a section is of the user's settings, and not what gix makes of variables of the environment.
fn is_setting(meta: &Metadata) -> bool {
    meta.source != Source::EnvOverride
}

impl Git {
    /// Returns the moment that a setting such as `30.days` or `never` names, seconds since the epoch
    /// (`--type=expiry-date`, git-config(1)); none when it is not set. Never is 0.
    ///
    /// # Errors
    /// Fails when the setting names no moment, or git fails.
    pub fn config_get_expiry(&self, key: &str) -> Result<Option<i64>, GitError> {
        if self.config_get(key)?.is_none() {
            return Ok(None);
        }
        let what = format!("read the setting {key}");
        let args = ["config", "--type=expiry-date", "--get", key];
        let text = self.line(&what, &args)?;
        // "all" and "now" are the last moment of all
        let moment = text.trim().parse::<u64>();
        let moment = moment.map(|moment| i64::try_from(moment).unwrap_or(i64::MAX));
        let odd = |_| odd_output("config", "it is not a number");
        moment.map(Some).map_err(odd)
    }

    /// Returns the last value of a key as this directory sees it, none when it is not set.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn config_get(&self, key: &str) -> Result<Option<String>, GitError> {
        let repo = self.repo()?.local();
        let value = repo
            .config_snapshot()
            .plumbing()
            .string_filter(key, is_setting);
        value.map(|value| text(key, value)).transpose()
    }

    /// Returns a boolean key (`--type=bool`), none when it is not set.
    ///
    /// # Errors
    /// Fails when the settings cannot be read or the value is not a boolean.
    pub fn config_get_bool(&self, key: &str) -> Result<Option<bool>, GitError> {
        let repo = self.repo()?.local();
        let value = repo
            .config_snapshot()
            .plumbing()
            .boolean_filter(key, is_setting);
        value.map_err(reading(format_args!("the setting {key}")))
    }

    /// Returns where the repository itself says that its main worktree is (`core.worktree`): git takes that
    /// from nowhere else.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn configured_work_tree(&self) -> Result<Option<String>, GitError> {
        let key = "core.worktree";
        let repo = self.repo()?.local();
        let is_own = |meta: &Metadata| matches!(meta.source, Source::Local | Source::Worktree);
        let value = repo.config_snapshot().plumbing().string_filter(key, is_own);
        value.map(|value| text(key, value)).transpose()
    }

    /// Returns every setting as (scope, key, value), in git's order (`git config --show-scope`).
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn config_list(&self) -> Result<Vec<(String, String, BString)>, GitError> {
        let repo = self.repo()?;
        let whole = |one: &GitSetting| {
            let value = one.value.clone().unwrap_or_default();
            (one.scope.to_owned(), one.key.clone(), value)
        };
        Ok(repo.settings().iter().map(whole).collect())
    }

    /// Returns every key of a section as (scope, key, value), in git's order (`git config --show-scope`).
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn config_get_section(&self, section: &str) -> Result<Vec<ScopedSetting>, GitError> {
        let repo = self.repo()?;
        let is_in = |one: &&GitSetting| {
            let rest = one.key.strip_prefix(section);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        // a key alone is a switch that is on
        let value = |one: &GitSetting| one.value.clone().unwrap_or_else(|| "true".into());
        let scoped =
            |one: &GitSetting| Ok((one.scope, one.key.clone(), text(&one.key, value(one))?));
        repo.settings().iter().filter(is_in).map(scoped).collect()
    }

    /// Returns every value of a key in one configuration file, none when the file has none.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn config_file_get_all(&self, file: &Utf8Path, key: &str) -> Result<Vec<String>, GitError> {
        let values = read_config(file)?.strings(key).unwrap_or_default();
        values.into_iter().map(|value| text(key, value)).collect()
    }

    /// Returns a boolean key of one configuration file, none when the file does not set it.
    ///
    /// # Errors
    /// Fails when the file cannot be read or a value is not a boolean.
    pub fn config_file_get_bool(
        &self,
        file: &Utf8Path,
        key: &str,
    ) -> Result<Option<bool>, GitError> {
        let value = read_config(file)?.boolean(key);
        value.map_err(reading(file))
    }

    /// Returns every value of a key that is a path, as this directory sees it: the scope as
    /// `--show-scope` names it, and the path with `~` expanded; the one that counts comes last.
    ///
    /// # Errors
    /// Fails when the settings cannot be read or a value is not a path.
    pub fn config_get_all_paths(&self, key: &str) -> Result<Vec<(String, Utf8PathBuf)>, GitError> {
        let repo = self.repo()?;
        let all = repo.settings().iter();
        let values = all.filter(|one| one.key.eq_ignore_ascii_case(key));
        let scoped = |one: &GitSetting| Ok((one.scope.to_owned(), path(key, one.value.as_ref())?));
        values.map(scoped).collect()
    }

    /// Returns a path (`--type=path`: `~` is the home), none when it is not set.
    ///
    /// # Errors
    /// Fails when the settings cannot be read or a value is not a path.
    pub fn config_get_path(&self, key: &str) -> Result<Option<Utf8PathBuf>, GitError> {
        Ok(self.config_get_all_paths(key)?.pop().map(|(_, path)| path))
    }

    /// Sets a key in one configuration file to one value.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_set(&self, file: &Utf8Path, key: &str, value: &str) -> Result<(), GitError> {
        let args = [file.as_str(), "--replace-all", key, value];
        let what = "write git's configuration";
        self.perform(what, "config --file", &args).map(drop)
    }

    /// Removes a setting from a configuration file by these options of git-config(1); one that is not
    /// there is fine.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_unset(&self, file: &Utf8Path, unset: &[&str]) -> Result<(), GitError> {
        let args = words("config --file", &[&[file.as_str()], unset].concat());
        let answer = self.run(&args, None)?;
        match answer.status {
            // 5: "you try to unset an option which does not exist" (git-config(1))
            Some(0 | 5) => Ok(()),
            Some(_) | None => Err(self.failed("write git's configuration", &args, &answer)),
        }
    }
}
