//! Reads git's configuration through `gix` (git-config(1)), and writes it with git.

use bstr::{BString, ByteSlice, ByteVec};
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::file::init::Options;
use gix::config::file::{Metadata, SectionRef};
use gix::config::path::interpolate;
use gix::config::{File, Source};

use crate::git::error::{GitError, reading, unreadable};
use crate::git::process::{Git, odd_output, words};
use crate::git::repo::{GitSetting, read_file};

/// A setting: the scope as `git config --show-scope` names it, the key, and the value.
pub type ScopedSetting = (&'static str, String, String);

/// What a worktree's `config.worktree` says anyway where its sparse-checkout is as we set it:
/// git writes these in different orders and at different times.
const AS_WE_SET_IT: &[(&[u8], &[u8])] = &[
    (b"core.sparsecheckout", b"true"),
    (b"core.sparsecheckoutcone", b"false"),
    (b"index.sparse", b"false"),
];

/// Whether a section is of the user's settings, and not what gix makes of variables of the environment.
fn is_setting(meta: &Metadata) -> bool {
    meta.source != Source::EnvOverride
}

/// Returns what a `config.worktree` says beyond that its sparse-checkout is on: one `key=value`
/// a line, in the order in which git reads them. A file that does not parse is returned as it is.
pub fn meaning(bytes: &[u8]) -> Vec<u8> {
    let Ok(file) = parse(bytes, Source::Worktree) else {
        return bytes.to_vec();
    };
    let mut lines: Vec<u8> = Vec::new();
    for section in file.sections() {
        for (key, value) in pairs(&section) {
            // a key without a value means true
            let value = value.unwrap_or_else(|| "true".into());
            let is_ours = |(k, v): &(&[u8], &[u8])| *k == key.as_bytes() && *v == value.as_slice();
            if !AS_WE_SET_IT.iter().any(is_ours) {
                lines.extend_from_slice(key.as_bytes());
                lines.push(b'=');
                lines.extend_from_slice(&value);
                lines.push(b'\n');
            }
        }
    }
    lines
}

/// Writes a value as git reads it in its settings (git-config(1), "Syntax") and in `objects/info/alternates`.
pub fn in_quotes(text: &[u8]) -> BString {
    let escaped = text.replace("\\", "\\\\").replace("\"", "\\\"");
    let escaped = escaped.replace("\n", "\\n");
    [b"\"", &escaped[..], b"\""].concat().into()
}

/// Writes a setting as a section of a file (git-config(1), "Syntax").
pub fn quoted_setting(key: &str, value: &BString) -> BString {
    let (rest, name) = key.rsplit_once('.').unwrap_or((key, ""));
    let (section, subsection) = rest.split_once('.').unwrap_or((rest, ""));
    let subsection = match subsection {
        "" => BString::default(),
        text => [b" ", &in_quotes(text.as_bytes())[..]].concat().into(),
    };
    let start = format!("[{section}{subsection}]\n\t{name} = ");
    [start.as_bytes(), &in_quotes(value), b"\n"].concat().into()
}

/// Reads the settings of one file, whose includes do not count; nothing where there is no file. What
/// cannot be read, or is not a file of settings, is one setting `unreadable`.
pub fn read_settings(file: &Utf8Path) -> Vec<(String, Option<BString>)> {
    let unreadable = |detail: BString| vec![("unreadable".to_owned(), Some(detail))];
    let bytes = match read_file(file) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) => return unreadable(error.to_string().into()),
    };
    match parse(&bytes, Source::Local) {
        Ok(parsed) => parsed.sections().flat_map(|one| pairs(&one)).collect(),
        Err(_) => unreadable(bytes.into()),
    }
}

/// The file that a setting of a file includes, whatever its condition is (git-config(1), "Includes").
pub fn included_by(file: &Utf8Path, key: &str, value: Option<&BString>) -> Option<Utf8PathBuf> {
    let (section, last) = (key.split('.').next(), key.rsplit('.').next());
    let is_include = matches!(section, Some("include" | "includeif")) && last == Some("path");
    let named = path(key, value.filter(|_| is_include)).ok()?;
    Some(file.parent().unwrap_or(file).join(named))
}

fn parse(bytes: &[u8], source: Source) -> Result<File, gix::Error> {
    let meta = Metadata::from(source);
    File::from_bytes_no_includes(bytes, meta, Options::default())
}

/// The keys of a section as git lists them, each with its values in order; a key alone has none.
pub(super) fn pairs(section: &SectionRef<'_>) -> Vec<(String, Option<BString>)> {
    let header = section.header();
    let mut prefix = BString::from(header.name().to_ascii_lowercase());
    if let Some(subsection) = header.subsection_name() {
        prefix.push_byte(b'.');
        prefix.push_str(subsection);
    }
    let body = section.body();
    let mut all: Vec<(String, Option<BString>)> = Vec::new();
    for name in body.value_names() {
        let key = format!("{prefix}.{}", name.to_ascii_lowercase());
        if all.iter().any(|(known, _)| *known == key) {
            continue;
        }
        let mut values: Vec<Option<BString>> = body.values(&name).into_iter().map(Some).collect();
        if body.value_implicit(&name) == Some(None) {
            values.pop();
            values.push(None);
        }
        all.extend(values.into_iter().map(|value| (key.clone(), value)));
    }
    all
}

fn text(key: &str, value: BString) -> Result<String, GitError> {
    let text = String::from_utf8(value.into());
    text.map_err(|_| unreadable(&format_args!("the setting {key}"), NOT_UTF8))
}

/// A value as a path: `~` is the home of the user. An empty path is none to gix, and git takes it.
fn path(key: &str, value: Option<&BString>) -> Result<Utf8PathBuf, GitError> {
    let failed =
        |detail: &dyn std::fmt::Display| unreadable(&format_args!("the setting {key}"), detail);
    let value = value.ok_or_else(|| failed(&"it has no value"))?;
    if value.is_empty() {
        return Ok(Utf8PathBuf::new());
    }
    let home = gix::path::env::home_dir();
    let context = interpolate::Context {
        home_dir: home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
        ..interpolate::Context::default()
    };
    let path = gix::config::Path::from(value.as_bstr()).interpolate(context);
    let path = path.map_err(|error| failed(&error))?;
    let path = Utf8PathBuf::from_path_buf(path);
    path.map_err(|_| failed(&NOT_UTF8))
}

const NOT_UTF8: &str = "it is not UTF-8";

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

/// One file, whose includes do not count (`git config --file`).
fn read_config(file: &Utf8Path) -> Result<File, GitError> {
    let bytes = read_file(file)?.unwrap_or_default();
    parse(&bytes, Source::Local).map_err(reading(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_checkout_that_is_on_says_nothing_however_git_wrote_it() {
        let one = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n";
        let two = "[index]\n\tsparse = false\n[core]\n\tsparsecheckoutcone = false\n\
                   [CORE]\n\tsparseCheckout = true\n";
        assert_eq!(meaning(one.as_bytes()), b"");
        assert_eq!(meaning(two.as_bytes()), b"");
    }

    #[test]
    fn whatever_else_it_says_is_told() {
        let text = "[core]\n\tsparseCheckout = false\n\tfsmonitor = evil\n\
                    [filter \"X\"]\n\tclean = a\n\tclean = b\n[core]\n\tbare\n";
        let expected = "core.sparsecheckout=false\ncore.fsmonitor=evil\n\
                        filter.X.clean=a\nfilter.X.clean=b\ncore.bare=true\n";
        assert_eq!(String::from_utf8_lossy(&meaning(text.as_bytes())), expected);
        assert_eq!(meaning(b"[core\nbroken"), b"[core\nbroken");
    }
}
