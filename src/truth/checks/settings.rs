//! Compares the settings that a worktree shares with others with those that `add` sealed.
//!
//! The [`Cause`] of a change says whether git can run a program by it, or hides something.

use std::collections::BTreeSet;
use std::time::Duration;

use bstr::ByteSlice;

use crate::git::error::GitError;
use crate::git::hooks::include::INCLUDED;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::judge::change::{ADDED, Cause, Content, Kind, Place, SharedChange};
use crate::record::worktree::{Digests, Shared};
use crate::truth::facts::CommitFacts;
use crate::truth::git_dirs::Directories;
use crate::truth::inputs::SurveyInputs;
use crate::truth::keys::cause_of;
use crate::truth::rewired::differing;
use crate::truth::{git_dirs, seal};
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Main, Repository};

/// Finds the settings that have other values than at `add`.
///
/// # Errors
/// Never fails; other checks of the list do.
pub fn find_settings(
    inputs: &SurveyInputs<'_>,
    _facts: &CommitFacts,
) -> Result<Vec<SharedChange>, Error> {
    let seals = &inputs.seals;
    Ok(changed_settings(
        inputs.repository,
        &seals.before,
        &seals.now,
    ))
}

/// Counts the files of the main worktree that are not as committed, by git's own status. None if
/// there is no main worktree, if git's status could start a program that was planted since one of
/// these worktrees was created, or if that status cannot be read.
///
/// # Errors
/// Fails when git does, or a record is damaged.
pub fn main_changed(
    repository: &Repository,
    worktrees: &[Worktree],
) -> Result<Option<usize>, Error> {
    let has_main = repository.main != Main::Bare && !repository.is_clone();
    if worktrees.is_empty() || !has_main || may_start_planted_program(repository, worktrees)? {
        return Ok(None);
    }
    let command =
        "status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all";
    // git waits for ever where a FIFO stands for a file of a submodule's repository
    let git = repository.git.with_limit(Duration::from_secs(60));
    git.rev_parse_commit("HEAD")?;
    let output = match git.perform("look at the main worktree", command, &[]) {
        Err(GitError::TimedOut { .. } | GitError::Read { .. }) => return Ok(None),
        finished => finished?,
    };
    // two letters, a space and a path
    let records = output.split_str("\0").filter(|record| record.len() > 3);
    Ok(Some(records.count()))
}

/// True if a setting that runs a program was changed since one of these worktrees was created, and
/// nobody accepted the settings as they are now.
fn may_start_planted_program(
    repository: &Repository,
    worktrees: &[Worktree],
) -> Result<bool, Error> {
    let now = seal::read(repository, None)?;
    for worktree in worktrees {
        let before = worktree.shared()?;
        let accepted = worktree.settings_as_accepted(&before.settings);
        let changes = changed_settings(repository, &before, &now);
        let runs_code = changes.iter().any(|change| change.cause == Cause::RunsCode);
        let is_as_accepted = differing(&accepted, &now.settings).next().is_none();
        if runs_code && !is_as_accepted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finds the settings that have other values, without those of git directories that are gone and
/// those that git or we write every day.
pub fn changed_settings(
    repository: &Repository,
    before: &Shared,
    now: &Shared,
) -> Vec<SharedChange> {
    let comparison = SettingsComparison {
        repository,
        before,
        now,
        directories_before: git_dirs::directories(&before.sealed),
        directories_now: git_dirs::directories(&now.sealed),
    };
    let nothing = Digests::new();
    let settings_before = &before.sealed.settings;
    let settings_now = &now.sealed.settings;
    let files: BTreeSet<&String> = settings_before.keys().chain(settings_now.keys()).collect();
    let mut changes = Vec::new();
    for file in files {
        if comparison.is_of_gone_directory(file) {
            continue;
        }
        let digests_before = settings_before.get(file).unwrap_or(&nothing);
        let digests_now = settings_now.get(file).unwrap_or(&nothing);
        for key in differing(digests_before, digests_now) {
            let setting = ChangedSetting {
                file,
                key,
                digest_before: digests_before.get(key),
                digest_now: digests_now.get(key),
            };
            changes.extend(comparison.judge(&setting));
        }
    }
    changes
}

/// Holds a setting that has another value than at `add`.
struct ChangedSetting<'a> {
    file: &'a str,
    key: &'a str,
    digest_before: Option<&'a String>,
    digest_now: Option<&'a String>,
}

/// Holds what settings are held against.
struct SettingsComparison<'a> {
    repository: &'a Repository,
    before: &'a Shared,
    now: &'a Shared,
    directories_before: Directories,
    directories_now: Directories,
}

impl SettingsComparison<'_> {
    /// True if a file is in the git directory of a worktree or submodule that went.
    fn is_of_gone_directory(&self, file: &str) -> bool {
        git_dirs::split(file, &self.directories_before)
            .is_some_and(|(directory, _)| !self.directories_now.contains_key(directory))
    }

    /// Returns the git directory of a file, if that came since `add`.
    fn directory_that_came<'f>(&self, file: &'f str) -> Option<&'f str> {
        let (directory, _) = git_dirs::split(file, &self.directories_now)?;
        let is_new = !self.directories_before.contains_key(directory);
        is_new.then_some(directory)
    }

    /// True if a file came with a submodule or with another worktree: it says much that git itself
    /// writes, and of that counts only what runs a program.
    fn came_with_directory(&self, file: &str) -> bool {
        let places = ["@git/modules/", "@git/worktrees/", "@wt/modules/"];
        let is_new = !self.before.sealed.settings.contains_key(file);
        is_new && places.iter().any(|start| file.starts_with(start))
    }

    /// Returns what a change of a setting means; none for what git or we write.
    fn judge(&self, setting: &ChangedSetting<'_>) -> Option<SharedChange> {
        // a value that may not be shown has a digest alone
        let sealed_before = &self.before.sealed.values;
        let sealed_now = &self.now.sealed.values;
        let value_before = setting
            .digest_before
            .and_then(|digest| sealed_before.get(digest));
        let value_now = setting.digest_now.and_then(|digest| sealed_now.get(digest));
        let cause = cause_of_change(setting, value_now);
        let is_grave = matches!(cause, Cause::RunsCode | Cause::Loosens);
        let is_of_new_directory = self.came_with_directory(setting.file) && !is_grave;
        let is_new_tracking = value_before.is_none()
            && value_now.is_some_and(|value| is_tracking(self.before, setting.key, value));
        let is_everyday = is_of_new_directory
            || is_new_tracking
            || self.is_written_by_us(setting, value_now)
            || self.is_copied(setting);
        if is_everyday {
            return None;
        }
        let consequence = match cause {
            Cause::RunsCode => " (git can run a program by it)",
            Cause::Hides => " (it changes what git reports)",
            Cause::Loosens => " (a fence would be weaker by it)",
            Cause::MadeHere | Cause::Unknown => "",
        };
        let detail = format!(
            "{}{consequence}",
            describe(setting, value_before, value_now)
        );
        // an acceptance names a setting of these files by its value from all files together
        let key = setting.key;
        let digest = match setting.file {
            "@git/config" => self.now.settings.get(key),
            "@git/config.worktree" => self.now.settings.get(&format!("worktree:{key}")),
            _other => setting.digest_now,
        };
        let place = Place::of_shared(setting.file);
        let change = SharedChange::new(place, Kind::Config, detail, cause);
        Some(change.with([Content::value(key, digest.cloned())]))
    }

    /// True for the settings that lead to our hooks.
    fn is_written_by_us(&self, setting: &ChangedSetting<'_>, now: Option<&String>) -> bool {
        match setting.key {
            "extensions.worktreeconfig" => true,
            "include.path" => {
                self.came_with_directory(setting.file) && now.is_some_and(|now| now == INCLUDED)
            }
            // a worktree of ours that was created since, whose record can be gone
            "core.hookspath" => {
                if let Some(directory) = self.directory_that_came(setting.file)
                    && let Some(path) = now
                {
                    is_hooks_of_ours(self.repository, directory, path)
                } else {
                    false
                }
            }
            _other => false,
        }
    }

    /// True if `git worktree add` copied a setting of the worktree that it was called in.
    fn is_copied(&self, setting: &ChangedSetting<'_>) -> bool {
        let mut others = self.before.sealed.settings.values();
        self.directory_that_came(setting.file).is_some()
            && others.any(|other| other.get(setting.key) == setting.digest_now)
    }
}

/// Returns what a change of a setting means by its new value.
fn cause_of_change(setting: &ChangedSetting<'_>, now: Option<&String>) -> Cause {
    let value = match setting.digest_now {
        Some(_) => now.map(String::as_str),
        None => Some(""),
    };
    let cause = cause_of(setting.key, value);
    // git writes where the files of a submodule are when it checks them out
    let is_of_submodule = setting.key == "core.worktree" && setting.file.contains("/modules/");
    if cause == Cause::Hides && is_of_submodule {
        return Cause::Unknown;
    }
    cause
}

/// Says what is changed about a setting, with the values that may be shown.
fn describe(setting: &ChangedSetting<'_>, before: Option<&String>, now: Option<&String>) -> String {
    let key = setting.key;
    if setting.digest_before.is_none()
        && let Some(now) = now
    {
        return format!("{key}{ADDED}{now}");
    }
    if setting.digest_now.is_none()
        && let Some(before) = before
    {
        return format!("{key} was removed, and was: {before}");
    }
    if let Some(before) = before
        && let Some(now) = now
    {
        return format!("{key} was `{before}` and is `{now}`");
    }
    format!("{key} is not as at `add`")
}

/// True if a path is that of our hooks in a git directory of a worktree, with nothing else in it.
fn is_hooks_of_ours(repository: &Repository, directory: &str, path: &str) -> bool {
    let Some(below) = directory.strip_prefix("@git/") else {
        return false;
    };
    let ours = WorktreeHooks::directory_in(&repository.common_dir.join(below));
    ours == path && WorktreeHooks::has_only_ours(&ours)
}

/// True if a setting says that a branch tracks one of its own name (`git push -u`).
fn is_tracking(before: &Shared, key: &str, value: &str) -> bool {
    let Some(rest) = key.strip_prefix("branch.") else {
        return false;
    };
    match rest.rsplit_once('.') {
        Some((_, "remote")) => before.settings.contains_key(&format!("remote.{value}.url")),
        Some((branch, "merge")) => value == format!("refs/heads/{branch}"),
        _other => false,
    }
}
