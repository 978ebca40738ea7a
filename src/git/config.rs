//! Reads git's configuration through `gix` (git-config(1)), and writes it with git.

use bstr::BString;
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::Source;
use gix::config::file::Metadata;

use crate::git::error::{GitError, reading};
use crate::git::process::{Git, odd_output, words};
use crate::git::settings_file::{read_config, setting_path, setting_text};

/// A setting: the scope as `git config --show-scope` names it, the key, and the value.
pub type ScopedSetting = (&'static str, String, String);

impl Git {
    /// Returns the moment that a setting such as `30.days` or `never` names, seconds since the
    /// epoch (`--type=expiry-date`, git-config(1)); none when it is not set. Never is 0.
    ///
    /// # Errors
    /// Fails when the setting names no moment, or git fails.
    pub fn config_get_expiry(&self, key: &str) -> Result<Option<i64>, GitError> {
        if self.config_get(key)?.is_none() {
            return Ok(None);
        }
        let what = format!("read the setting {key}");
        let args = ["config", "--type=expiry-date", "--get", key];
        let line = self.line(&what, &args)?;
        let Ok(moment) = line.trim().parse::<u64>() else {
            return Err(odd_output("config", "it is not a number"));
        };
        // "all" and "now" are the last moment of all
        Ok(Some(i64::try_from(moment).unwrap_or(i64::MAX)))
    }

    /// Returns the last value of a key as this directory sees it, none when it is not set.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn config_get(&self, key: &str) -> Result<Option<String>, GitError> {
        self.config_get_filtered(key, is_no_override)
    }

    /// Returns a boolean key (`--type=bool`), none when it is not set.
    ///
    /// # Errors
    /// Fails when the settings cannot be read or the value is not a boolean.
    pub fn config_get_bool(&self, key: &str) -> Result<Option<bool>, GitError> {
        let repo = self.repo()?.local();
        repo.config_snapshot()
            .plumbing()
            .boolean_filter(key, is_no_override)
            .map_err(reading(format_args!("the setting {key}")))
    }

    /// Returns where the repository itself says that its main worktree is (`core.worktree`): git
    /// takes that from nowhere else.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn configured_work_tree(&self) -> Result<Option<String>, GitError> {
        self.config_get_filtered("core.worktree", is_of_repository)
    }

    fn config_get_filtered(
        &self,
        key: &str,
        counts: fn(&Metadata) -> bool,
    ) -> Result<Option<String>, GitError> {
        let repo = self.repo()?.local();
        let value = repo.config_snapshot().plumbing().string_filter(key, counts);
        match value {
            Some(value) => Ok(Some(setting_text(key, value)?)),
            None => Ok(None),
        }
    }

    /// Returns every setting as (scope, key, value), in git's order (`git config --show-scope`).
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn config_list(&self) -> Result<Vec<(String, String, BString)>, GitError> {
        let mut list = Vec::new();
        for setting in self.repo()?.settings() {
            let value = setting.value.clone().unwrap_or_default();
            list.push((setting.scope.to_owned(), setting.key.clone(), value));
        }
        Ok(list)
    }

    /// Returns every key of a section as (scope, key, value), in git's order (`git config
    /// --show-scope`).
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn config_get_section(&self, section: &str) -> Result<Vec<ScopedSetting>, GitError> {
        let prefix = format!("{section}.");
        let mut list = Vec::new();
        for setting in self.repo()?.settings() {
            if setting.key.starts_with(&prefix) {
                // a key alone is a switch that is on
                let value = setting.value.clone().unwrap_or_else(|| "true".into());
                let text = setting_text(&setting.key, value)?;
                list.push((setting.scope, setting.key.clone(), text));
            }
        }
        Ok(list)
    }

    /// Returns every value of a key in one configuration file, none when the file has none.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn config_file_get_all(&self, file: &Utf8Path, key: &str) -> Result<Vec<String>, GitError> {
        let mut texts = Vec::new();
        for value in read_config(file)?.strings(key).unwrap_or_default() {
            texts.push(setting_text(key, value)?);
        }
        Ok(texts)
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
        read_config(file)?.boolean(key).map_err(reading(file))
    }

    /// Returns every value of a key that is a path, as this directory sees it: the scope as
    /// `--show-scope` names it, and the path with `~` expanded; the one that counts comes last.
    ///
    /// # Errors
    /// Fails when the settings cannot be read or a value is not a path.
    pub fn config_get_all_paths(&self, key: &str) -> Result<Vec<(String, Utf8PathBuf)>, GitError> {
        let mut paths = Vec::new();
        for setting in self.repo()?.settings() {
            if setting.key.eq_ignore_ascii_case(key) {
                let path = setting_path(key, setting.value.as_ref())?;
                paths.push((setting.scope.to_owned(), path));
            }
        }
        Ok(paths)
    }

    /// Returns a path (`--type=path`: `~` is the home), none when it is not set.
    ///
    /// # Errors
    /// Fails when the settings cannot be read or a value is not a path.
    pub fn config_get_path(&self, key: &str) -> Result<Option<Utf8PathBuf>, GitError> {
        let last = self.config_get_all_paths(key)?.pop();
        Ok(last.map(|(_, path)| path))
    }

    /// Sets a key in one configuration file to one value.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_set(&self, file: &Utf8Path, key: &str, value: &str) -> Result<(), GitError> {
        let what = "write git's configuration";
        let args = [file.as_str(), "--replace-all", key, value];
        self.perform(what, "config --file", &args)?;
        Ok(())
    }

    /// Removes a setting from a configuration file by these options of git-config(1); one that is
    /// not there is fine.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_unset(&self, file: &Utf8Path, unset: &[&str]) -> Result<(), GitError> {
        let mut args = words("config --file", &[file.as_str()]);
        args.extend(unset);
        let output = self.run(&args, None)?;
        match output.status {
            // 5: "you try to unset an option which does not exist" (git-config(1))
            Some(0 | 5) => Ok(()),
            Some(_) | None => Err(self.failed("write git's configuration", &args, &output)),
        }
    }
}

/// True for what the user has set, false for what gix makes of variables of the environment.
fn is_no_override(meta: &Metadata) -> bool {
    meta.source != Source::EnvOverride
}

/// True for the files of settings of the repository itself.
fn is_of_repository(meta: &Metadata) -> bool {
    matches!(meta.source, Source::Local | Source::Worktree)
}
