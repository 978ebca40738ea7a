//! Reads and writes git's configuration (git-config(1)), one method a form of the command.

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use super::error::GitError;
use super::own::config::{self as own, Setting};
use super::run::{Git, odd_output};

impl Git {
    /// Returns the moment that a setting such as `30.days` or `never` names, seconds since the epoch
    /// (`--type=expiry-date`, git-config(1)); none when it is not set. Never is 0.
    ///
    /// # Errors
    /// Fails when it is no such word, or git fails.
    pub fn config_get_expiry(&self, key: &str) -> Result<Option<i64>, GitError> {
        let what = format!("read the setting {key}");
        let args = ["config", "--type=expiry-date", "--get", key];
        let Some(answer) = self.maybe(&what, &args)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&answer);
        // "all" and "now" are the last moment there is
        let moment = text.trim().parse::<u64>();
        let moment = moment.map(|moment| i64::try_from(moment).unwrap_or(i64::MAX));
        let odd = |_| odd_output(&what, &args, "it is no number");
        moment.map(Some).map_err(odd)
    }

    /// Returns the last value of a key as this directory sees it, none when it is not set.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn config_get(&self, key: &str) -> Result<Option<String>, GitError> {
        if let Some(found) = self.own_values(key)
            && let Some(found) = all(&found, |setting| own::text(setting.value.as_ref()))
        {
            return Ok(found.into_iter().last());
        }
        let args = ["config", "--get", "--", key];
        let Some(bytes) = self.maybe("read git's configuration", &args)? else {
            return Ok(None);
        };
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text
            .to_str()
            .map_err(|_| odd_output("read git's configuration", &args, "it is not UTF-8"))?;
        Ok(Some(text.to_owned()))
    }

    /// Returns a boolean key (`--type=bool`), none when it is not set.
    ///
    /// # Errors
    /// Fails when git fails or the value is no boolean.
    pub fn config_get_bool(&self, key: &str) -> Result<Option<bool>, GitError> {
        // git stops at one that is no boolean, also where another counts
        if let Some(found) = self.own_values(key)
            && let Some(found) = all(&found, |setting| own::boolean(setting.value.as_ref()))
        {
            return Ok(found.into_iter().last());
        }
        let args = ["config", "--type=bool", "--get", "--", key];
        let answer = self.maybe("read git's configuration", &args)?;
        Ok(answer.map(|bytes| bytes.trim() == b"true"))
    }

    /// Returns every setting as (scope, key, value), in git's order (`git config --show-scope`); a
    /// key without a value has none.
    ///
    /// # Errors
    /// Fails when git fails or a key is not UTF-8.
    pub fn config_list(&self) -> Result<Vec<(String, String, BString)>, GitError> {
        if let Some(own) = self.own()
            && let Some(all) = own.settings()
        {
            let whole = |Setting { scope, key, value }| {
                let value = value.unwrap_or_default();
                (scope.to_owned(), key, value)
            };
            return Ok(all.into_iter().map(whole).collect());
        }
        let what = "read git's configuration";
        let args = ["config", "--list", "-z", "--show-scope"];
        let bytes = self.output(what, &args)?;
        let mut parts = bytes.strip_suffix(b"\0").unwrap_or(&bytes).split_str("\0");
        let mut all = Vec::new();
        while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
            let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
            let text = |bytes: &[u8]| {
                let text = std::str::from_utf8(bytes).map(ToOwned::to_owned);
                text.map_err(|_| odd_output(what, &args, "it is not UTF-8"))
            };
            all.push((text(scope)?, text(key)?, value.into()));
        }
        Ok(all)
    }

    /// Returns every key with this prefix and its value, in git's order; keys as git lists them
    /// (section and last part in lower case).
    ///
    /// # Errors
    /// Fails when git fails or the output is not UTF-8.
    pub fn config_get_section(&self, section: &str) -> Result<Vec<(String, String)>, GitError> {
        if let Some(found) = self.own_section(section) {
            return Ok(found);
        }
        let what = "read git's configuration";
        let pattern = format!("^{section}\\.");
        let args = ["config", "-z", "--get-regexp", &pattern];
        let Some(bytes) = self.maybe(what, &args)? else {
            return Ok(Vec::new());
        };
        let text =
            String::from_utf8(bytes).map_err(|_| odd_output(what, &args, "it is not UTF-8"))?;
        let entries = text
            .split_terminator('\0')
            .map(|entry| match entry.split_once('\n') {
                Some((key, value)) => (key.to_owned(), value.to_owned()),
                None => (entry.to_owned(), "true".to_owned()),
            });
        Ok(entries.collect())
    }

    /// Returns every value of a key in one configuration file, none when the file has none.
    ///
    /// # Errors
    /// Fails when git fails or the output is not UTF-8.
    pub fn config_file_get_all(&self, file: &Utf8Path, key: &str) -> Result<Vec<String>, GitError> {
        if let Some(own) = self.own()
            && let Some(found) = own.values_in(file, key)
            && let Some(found) = all(&found, |entry| own::text(entry.value.as_ref()))
        {
            return Ok(found);
        }
        let what = "read git's configuration";
        let args = ["config", "--file", file.as_str(), "-z", "--get-all", key];
        let Some(bytes) = self.maybe(what, &args)? else {
            return Ok(Vec::new());
        };
        let text =
            String::from_utf8(bytes).map_err(|_| odd_output(what, &args, "it is not UTF-8"))?;
        Ok(text.split_terminator('\0').map(ToOwned::to_owned).collect())
    }

    /// Returns a boolean key of one configuration file, none when the file does not set it.
    ///
    /// # Errors
    /// Fails when git fails or the value is no boolean.
    pub fn config_file_get_bool(
        &self,
        file: &Utf8Path,
        key: &str,
    ) -> Result<Option<bool>, GitError> {
        if let Some(own) = self.own()
            && let Some(found) = own.values_in(file, key)
            && let Some(found) = all(&found, |entry| own::boolean(entry.value.as_ref()))
        {
            return Ok(found.into_iter().last());
        }
        let args = [
            "config",
            "--file",
            file.as_str(),
            "--type=bool",
            "--get",
            key,
        ];
        let answer = self.maybe("read git's configuration", &args)?;
        Ok(answer.map(|bytes| bytes.trim() == b"true"))
    }

    /// Returns every value of a key that is a path, as this directory sees it: the scope as
    /// `--show-scope` names it, and the path with `~` expanded, relative where it is; the one that
    /// counts comes last.
    ///
    /// # Errors
    /// Fails when git fails or the output is not UTF-8.
    pub fn config_get_all_paths(&self, key: &str) -> Result<Vec<(String, Utf8PathBuf)>, GitError> {
        let scoped = |setting: &Setting| {
            let path = own::path(setting.value.as_ref())?;
            Some((setting.scope.to_owned(), path))
        };
        if let Some(found) = self.own_values(key)
            && let Some(found) = all(&found, scoped)
        {
            return Ok(found);
        }
        let what = "read git's configuration";
        let args = [
            "config",
            "-z",
            "--show-scope",
            "--type=path",
            "--get-all",
            key,
        ];
        let Some(bytes) = self.maybe(what, &args)? else {
            return Ok(Vec::new());
        };
        let text =
            String::from_utf8(bytes).map_err(|_| odd_output(what, &args, "it is not UTF-8"))?;
        let mut parts = text.split_terminator('\0');
        let pairs = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
        Ok(pairs
            .map(|(scope, path)| (scope.to_owned(), path.into()))
            .collect())
    }

    /// Returns a path (`--type=path`: `~` is the home), none when it is not set.
    ///
    /// # Errors
    /// Fails when git fails or the path is not UTF-8.
    pub fn config_get_path(&self, key: &str) -> Result<Option<Utf8PathBuf>, GitError> {
        Ok(self.config_get_all_paths(key)?.pop().map(|(_, path)| path))
    }

    /// Every value of a key, if that can be read without git.
    fn own_values(&self, key: &str) -> Option<Vec<Setting>> {
        self.own()?.values(key)
    }

    fn own_section(&self, section: &str) -> Option<Vec<(String, String)>> {
        let mut found = self.own()?.settings()?;
        let is_word = section.bytes().all(|letter| letter.is_ascii_lowercase());
        found.retain(|setting| {
            let rest = setting.key.strip_prefix(section);
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        let pair = |setting: &Setting| {
            // a key alone is a switch that is on
            let value = match &setting.value {
                Some(value) => own::text(Some(value))?,
                None => "true".to_owned(),
            };
            Some((setting.key.clone(), value))
        };
        all(&found, pair).filter(|_| is_word)
    }

    /// Sets a key in one configuration file to one value. A git that holds the file's lock for the
    /// moment (one that outlives a killed program of ours, for one) is waited for, up to a second.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_set(&self, file: &Utf8Path, key: &str, value: &str) -> Result<(), GitError> {
        let args = [
            "config",
            "--file",
            file.as_str(),
            "--replace-all",
            key,
            value,
        ];
        let mut tries = 0;
        loop {
            match self.output("write git's configuration", &args) {
                Err(GitError::Failed { words, .. })
                    if tries < 40 && words.contains("could not lock config file") =>
                {
                    tries += 1;
                    std::thread::sleep(std::time::Duration::from_millis(25));
                }
                other => return other.map(drop),
            }
        }
    }

    /// Removes every value of a key from one configuration file; one that is not there is fine.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_unset(&self, file: &Utf8Path, key: &str) -> Result<(), GitError> {
        let args = ["config", "--file", file.as_str(), "--unset-all", key];
        let answer = self.run(&args, None)?;
        match answer.status {
            // 5: "you try to unset an option which does not exist" (git-config(1))
            Some(0 | 5) => Ok(()),
            Some(_) | None => Err(self.failed("write git's configuration", &args, &answer)),
        }
    }

    /// Removes one value of a key from a configuration file, and its section when nothing else is
    /// in it; one that is not there is fine.
    ///
    /// # Errors
    /// Fails when git fails (the file is locked, the disk is full).
    pub fn config_file_unset_value(
        &self,
        file: &Utf8Path,
        key: &str,
        value: &str,
    ) -> Result<(), GitError> {
        let file = file.as_str();
        let args = [
            "config",
            "--file",
            file,
            "--fixed-value",
            "--unset-all",
            key,
            value,
        ];
        let answer = self.run(&args, None)?;
        match answer.status {
            // 5: "you try to unset an option which does not exist" (git-config(1))
            Some(0 | 5) => Ok(()),
            Some(_) | None => Err(self.failed("write git's configuration", &args, &answer)),
        }
    }
}

/// Every one of them, if it is known of every one.
fn all<T, U>(found: &[T], known: impl Fn(&T) -> Option<U>) -> Option<Vec<U>> {
    found.iter().map(known).collect()
}
