//! Compares what a worktree shares with others with what `add` sealed: hooks and what they run,
//! settings, states of other worktrees.
//!
//! What makes git run a program or hides something is told apart from the rest ([`Cause`]).

use std::collections::BTreeSet;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::disk::files;
use crate::git::error::GitError;
use crate::git::hooks::include::INCLUDED;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::judge::change::{ADDED, Cause, Content, Kind, Place, SharedChange};
use crate::record::worktree::{Digests, GitDirOwner, Sealed, Shared};
use crate::truth::git_dirs::{Directories, Role, role_of};
use crate::truth::keys::{cause_of, remote_of};
use crate::truth::seal::{BORROWED, OPERATION, PLAIN, SHALLOW, STARTS, TODO};
use crate::truth::{git_dirs, seal};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Main, Repository};

/// Finds the hooks, settings and states that are not as they were recorded.
///
/// # Errors
/// Fails when git or the disk does.
pub fn changes(
    repository: &Repository,
    before: &Shared,
    now: &Shared,
) -> Result<Vec<SharedChange>, Error> {
    let mut changes = changed_hooks(&before.hooks, &now.hooks);
    // a hook that cannot be started any more is told as one
    let hooks: BTreeSet<Place> = changes.iter().map(|one| one.change.place.clone()).collect();
    for change in changed_files(repository, before, &now.sealed) {
        if !hooks.contains(&change.change.place) {
            changes.push(change);
        }
    }
    let pulled = read_pulled(repository, &changes)?;
    for one in &mut changes {
        let name = one.change.place.to_string();
        let digest = now.sealed.files.get(&name).or_else(|| now.hooks.get(&name));
        if let (Place::Main(path), Some(digest)) = (&one.change.place, digest)
            && pulled.contains(&(path.clone(), digest.trim_end_matches(PLAIN).to_owned()))
        {
            one.cause = Cause::Unknown;
        }
    }
    changes.extend(changed_settings(repository, before, now));
    Ok(changes)
}

/// Lists the remotes that lead elsewhere than at `add`, by name; an empty one stands for all, as
/// another rule rewrites URLs.
pub fn rewired_remotes(before: &Digests, now: &Digests) -> Vec<String> {
    let remote = |key: &str| match remote_of(key) {
        None if key.starts_with("url.") && key.ends_with(".insteadof") => Some(String::new()),
        remote => remote.map(ToOwned::to_owned),
    };
    differing(before, now).filter_map(remote).collect()
}

/// Lists the remotes of a worktree's repository that lead elsewhere now than at `add`.
///
/// # Errors
/// Fails when git does, or the record is damaged.
pub fn rewired_remotes_now(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<String>, Error> {
    let before = worktree.shared()?.settings;
    let before = worktree.settings_as_accepted(&before);
    Ok(rewired_remotes(&before, &seal::settings(repository)?))
}

/// Counts the files of the main worktree that are not as committed, by git's own status. None where
/// there is no main worktree, and where a setting that runs a program was changed since one of these
/// worktrees was created: git's status could start that program.
///
/// # Errors
/// Fails when git does, or a record is damaged.
pub fn main_changed(repository: &Repository, all: &[Worktree]) -> Result<Option<usize>, Error> {
    if all.is_empty() || repository.main == Main::Bare || repository.is_clone() {
        return Ok(None);
    }
    let now = seal::read(repository, None)?;
    for known in all {
        let before = known.shared()?;
        let accepted = known.settings_as_accepted(&before.settings);
        let changed = changed_settings(repository, &before, &now);
        let runs_code = changed.iter().any(|one| one.cause == Cause::RunsCode);
        if runs_code && differing(&accepted, &now.settings).next().is_some() {
            return Ok(None);
        }
    }
    let command =
        "status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all";
    // git waits for ever where a FIFO stands for a file of a submodule's repository
    let git = repository.git.with_limit(Duration::from_secs(60));
    git.rev_parse_commit("HEAD")?;
    let output = match git.perform("look at the main worktree", command, &[]) {
        Err(GitError::TimedOut { .. } | GitError::Read { .. }) => return Ok(None),
        other => other?,
    };
    let records = output.split_str("\0");
    Ok(Some(records.filter(|record| record.len() > 3).count()))
}

/// Lists the keys that have another digest, or are in one of the two only.
fn differing<'d>(before: &'d Digests, now: &'d Digests) -> impl Iterator<Item = &'d str> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let keys = keys.into_iter().map(String::as_str);
    keys.filter(|key| before.get(*key) != now.get(*key))
}

/// Returns what was done to a thing.
fn done_to<T>(before: Option<T>, now: Option<T>) -> &'static str {
    match (before, now) {
        (None, _) => "added",
        (Some(_), None) => "removed",
        (Some(_), Some(_)) => "changed",
    }
}

fn changed_hooks(before: &Digests, now: &Digests) -> Vec<SharedChange> {
    let mut changes = Vec::new();
    for name in differing(before, now) {
        let done = done_to(before.get(name), now.get(name));
        let detail = format!("this hook was {done} since `add`");
        let place = Place::of_shared(name);
        let change = SharedChange::new(place, Kind::Hook, detail, Cause::RunsCode);
        changes.push(change.with([Content::value("", now.get(name).cloned())]));
    }
    changes
}

/// Finds the settings that have other values.
fn changed_settings(repository: &Repository, before: &Shared, now: &Shared) -> Vec<SharedChange> {
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
        let values_before = settings_before.get(file).unwrap_or(&nothing);
        let values_now = settings_now.get(file).unwrap_or(&nothing);
        for key in differing(values_before, values_now) {
            let setting = ChangedSetting {
                file,
                key,
                digest_before: values_before.get(key),
                digest_now: values_now.get(key),
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
        let split = git_dirs::split(file, &self.directories_before);
        split.is_some_and(|(directory, _)| !self.directories_now.contains_key(directory))
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
        let sealed_before = &self.before.sealed.values;
        let value_before = setting.digest_before.and_then(|id| sealed_before.get(id));
        let value_now = setting
            .digest_now
            .and_then(|id| self.now.sealed.values.get(id));
        let cause = cause_of_change(setting, value_now);
        let is_grave = matches!(cause, Cause::RunsCode | Cause::Loosens);
        if self.came_with_directory(setting.file) && !is_grave
            || self.is_written_by_us(setting, value_now)
            || self.is_copied(setting)
            || is_tracked(setting.key, value_before, value_now, self.before)
        {
            return None;
        }
        let what = match cause {
            Cause::RunsCode => " (git can run a program by it)",
            Cause::Hides => " (it changes what git reports)",
            Cause::Loosens => " (a fence would be weaker by it)",
            Cause::MadeHere | Cause::Unknown => "",
        };
        let detail = format!("{}{what}", describe(setting, value_before, value_now));
        // of these files an acceptance has the values as git sees them all
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
            // a worktree whose record is gone has our hooks
            "core.hookspath" => match (self.directory_that_came(setting.file), now) {
                (Some(directory), Some(path)) => is_hooks_of_ours(self.repository, directory, path),
                (_, _) => false,
            },
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

/// Says what is changed about a setting.
fn describe(setting: &ChangedSetting<'_>, before: Option<&String>, now: Option<&String>) -> String {
    let key = setting.key;
    let was_there = setting.digest_before.is_some();
    let is_there = setting.digest_now.is_some();
    match (was_there, is_there, before, now) {
        (false, _, _, Some(now)) => format!("{key}{ADDED}{now}"),
        (true, false, Some(before), _) => format!("{key} was removed, and was: {before}"),
        (true, true, Some(before), Some(now)) => {
            format!("{key} was `{before}` and is `{now}`")
        }
        (_, _, _, _) => format!("{key} is not as at `add`"),
    }
}

/// Whether a path is that of our hooks in a git directory of a worktree, with nothing else in it.
fn is_hooks_of_ours(repository: &Repository, directory: &str, path: &str) -> bool {
    let Some(below) = directory.strip_prefix("@git/") else {
        return false;
    };
    let ours = WorktreeHooks::directory_in(&repository.common_dir.join(below));
    ours == path && WorktreeHooks::has_only_ours(&ours)
}

/// True if git noted with a key that a branch was pushed under its own name (`git push -u`).
fn is_tracked(
    key: &str,
    value_before: Option<&String>,
    value_now: Option<&String>,
    before: &Shared,
) -> bool {
    let Some(value) = value_now.filter(|_| value_before.is_none()) else {
        return false;
    };
    let branch_and_word = key
        .strip_prefix("branch.")
        .and_then(|rest| rest.rsplit_once('.'));
    match branch_and_word {
        Some((_, "remote")) => before.settings.contains_key(&format!("remote.{value}.url")),
        Some((branch, "merge")) => *value == format!("refs/heads/{branch}"),
        _other => false,
    }
}

/// Finds the files that are not as they were: of hooks, and in git directories.
fn changed_files(repository: &Repository, recorded: &Shared, now: &Sealed) -> Vec<SharedChange> {
    let before = &recorded.sealed;
    // git copies the hooks of a template to each repository (git-init(1), "TEMPLATE DIRECTORY")
    let of_others = before
        .files
        .values()
        .chain(recorded.hooks.values())
        .collect();
    let directories_before = git_dirs::directories(before);
    let directories_now = git_dirs::directories(now);
    let mut directories = directories_before.clone();
    directories.extend(directories_now.clone());
    let judge = FileJudge {
        repository,
        before: directories_before,
        now: directories_now,
        directories,
        is_older: git_dirs::is_of_older_version(before),
        of_others,
    };
    let mut changes = Vec::new();
    for name in differing(&before.files, &now.files) {
        let digest = now.files.get(name);
        if let Some(judged) = judge.judge(name, before.files.get(name), digest) {
            let place = Place::of_shared(name);
            let change = SharedChange::new(place, judged.kind, judged.detail, judged.cause);
            changes.push(change.with([Content::value("", digest.cloned())]));
        }
    }
    changes
}

/// What a change of a file means; none for everyday work.
type Judged = Option<FileChange>;

/// Holds what a change of a file means.
struct FileChange {
    kind: Kind,
    cause: Cause,
    detail: String,
}

impl FileChange {
    fn new(kind: Kind, cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            kind,
            cause,
            detail: detail.into(),
        }
    }
}

/// Judges the files that are not as they were.
struct FileJudge<'a> {
    repository: &'a Repository,
    before: Directories,
    now: Directories,
    /// Those that were or are there.
    directories: Directories,
    /// True if `before` has not all that is sealed now.
    is_older: bool,
    of_others: BTreeSet<&'a String>,
}

impl FileJudge<'_> {
    fn judge(&self, name: &str, before: Option<&String>, now: Option<&String>) -> Judged {
        if name.ends_with("/.git") {
            return judge_link(now, "git takes it for the repository");
        }
        let Some((directory, state)) = git_dirs::split(name, &self.directories) else {
            return Some(self.judge_hook(before, now));
        };
        if state == "commondir" {
            return judge_link(now, "git takes settings, hooks and objects from there");
        }
        let owner = self.directories[directory];
        let is_in_both = self.now.contains_key(directory) && self.before.contains_key(directory);
        let is_submodule = owner == GitDirOwner::Submodule;
        let first = state.split('/').next().unwrap_or(state);
        let role = role_of(first);
        if role == Role::Hooks && (is_in_both || is_submodule && now.is_some()) {
            return Some(self.judge_hook(before, now));
        }
        let is_new_role = matches!(role, Role::Unknown | Role::Remotes);
        if !is_in_both || self.is_older && (is_submodule || is_new_role) {
            // it came, or went, or nothing is known of what it was
            return None;
        }
        let done = done_to(before, now);
        match state {
            "HEAD" => self.judge_head(name, before, now),
            TODO => judge_todo(before, now),
            _state if OPERATION.contains(&state) => {
                now?;
                let detail = format!("the state of an operation was {done} since `add`");
                Some(FileChange::new(Kind::Ref, Cause::Unknown, detail))
            }
            _state if is_watched(state) => {
                let detail = format!("it was {done} since `add`");
                let shared = format!("@git/{state}");
                // git reads only that of the repository
                let is_of_worktree = owner == GitDirOwner::Worktree;
                let read = if is_of_worktree { name } else { &shared };
                Some(judge_watched(read, now, detail))
            }
            // `core.hooksPath` names a directory in the git directory
            _file if role == Role::Unknown && state != first => Some(self.judge_hook(before, now)),
            _unknown => {
                let detail = format!("it was {done} since `add`, and what reads it is not known");
                Some(FileChange::new(Kind::Config, Cause::Unknown, detail))
            }
        }
    }

    fn judge_hook(&self, before: Option<&String>, now: Option<&String>) -> FileChange {
        let is_harmless = |now: &String| now.ends_with(PLAIN) || self.of_others.contains(now);
        let cause = if before.is_none() && now.is_some_and(is_harmless) {
            Cause::Unknown
        } else {
            Cause::RunsCode
        };
        let done = done_to(before, now);
        FileChange::new(
            Kind::Hook,
            cause,
            format!("this file of a hook was {done} since `add`"),
        )
    }

    fn judge_head(&self, name: &str, before: Option<&String>, now: Option<&String>) -> Judged {
        if now.is_some_and(|head| has_logged(self.repository, name, head)) {
            return None;
        }
        let before = before.map_or("nothing", String::as_str);
        let now = now.map_or("nothing", String::as_str);
        let detail =
            format!("it was `{before}` and is `{now}`, and its log does not have that move");
        Some(FileChange::new(Kind::Ref, Cause::Unknown, detail))
    }
}

/// Says what it means that git is led elsewhere; none where it is no longer.
fn judge_link(now: Option<&String>, why: &str) -> Judged {
    now?;
    let detail = format!("it leads to another git directory since `add`: {why}");
    Some(FileChange::new(Kind::Config, Cause::RunsCode, detail))
}

fn judge_todo(before: Option<&String>, now: Option<&String>) -> Judged {
    let starts_program = now?.ends_with(STARTS);
    if !starts_program && before.is_none() {
        return None;
    }
    let cause = if starts_program && before.is_some() {
        Cause::RunsCode
    } else {
        Cause::Unknown
    };
    let done = done_to(before, now);
    let detail = format!("the commands of this rebase were {done} since `add`");
    Some(FileChange::new(Kind::Config, cause, detail))
}

/// True if [`judge_watched`] says what a change of a file means.
fn is_watched(state: &str) -> bool {
    let is_below = state.starts_with("info/") || state.starts_with("rr-cache/");
    is_below || [SHALLOW, BORROWED].contains(&state)
}

/// Says what a change means of a file that says where history ends, or of `info/`.
fn judge_watched(name: &str, now: Option<&String>, detail: String) -> FileChange {
    match name {
        // `git fetch --unshallow` takes the file away
        "@git/shallow" if now.is_none() => FileChange::new(Kind::Integrity, Cause::Unknown, detail),
        "@git/shallow" | "@git/info/grafts" => {
            FileChange::new(Kind::Integrity, Cause::Hides, detail)
        }
        // `git repack` and `clone --dissociate` write it as well
        "@git/objects/info/alternates" => FileChange::new(Kind::Integrity, Cause::Unknown, detail),
        "@git/info/attributes" => FileChange::new(Kind::Config, Cause::Hides, detail),
        // the verdict reads the ignore rules that were recorded
        _other => FileChange::new(Kind::Config, Cause::Unknown, detail),
    }
}

/// Whether the log of a HEAD says that it came to be what it is: by its last entry where it names a
/// commit, by the last that names a branch where it names one (git-reflog(1)).
fn has_logged(repository: &Repository, name: &str, head: &str) -> bool {
    let git_dir = name.trim_start_matches("@git/").trim_end_matches("HEAD");
    let file = repository.common_dir.join(git_dir).join("logs/HEAD");
    let log = files::read(&file).ok().flatten().unwrap_or_default();
    let log = log.to_str_lossy();
    let Some(branch) = head.strip_prefix("ref: refs/heads/") else {
        let last = log.lines().next_back();
        return last.and_then(|line| line.split(' ').nth(1)) == Some(head);
    };
    let target = |line: &str| {
        let (_, said) = line.split_once('\t')?;
        let to = match said.strip_prefix("rebase") {
            Some(rest) => rest.split_once("returning to ")?.1,
            None if said.starts_with("checkout: moving from ") => said.rsplit_once(" to ")?.1,
            None => {
                said.strip_prefix("Branch: renamed ")?
                    .rsplit_once(" to ")?
                    .1
            }
        };
        Some(to.trim_start_matches("refs/heads/").to_owned())
    };
    log.lines().rev().find_map(target).as_deref() == Some(branch)
}

/// Reads what the commit that the main worktree is on has at these places: hooks of `core.hooksPath`
/// may be files of the repository, which the user's own pull changes.
fn read_pulled(
    repository: &Repository,
    found: &[SharedChange],
) -> Result<BTreeSet<(BString, String)>, Error> {
    let paths = found.iter().filter_map(|one| match &one.change.place {
        Place::Main(path) => RepoPath::parse(path.to_vec()).ok(),
        _ => None,
    });
    let paths: BTreeSet<RepoPath> = paths.collect();
    let home = repository.home();
    let head = if paths.is_empty() {
        None
    } else {
        home.git.rev_parse_commit("HEAD")?
    };
    let Some(head) = head else {
        return Ok(BTreeSet::new());
    };
    let objects = home.objects()?;
    let at = objects.at(&objects.commit(&head)?.tree, &paths);
    let at = at.unwrap_or_default().into_iter();
    let pairs = at.map(|(path, entry)| (path.as_bstr().to_owned(), entry.id.to_string()));
    Ok(pairs.collect())
}
