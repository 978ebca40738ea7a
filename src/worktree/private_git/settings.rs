//! Makes the settings of a private git directory: those of the repository that work in a worktree
//! needs, those of the worktree, and those that a run needs whatever the user has set.

use bstr::BString;
use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::git_dir::ALTERNATES;
use crate::git::object_format::ObjectFormat;
use crate::git::settings_file::{in_quotes, quoted_setting};
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::entries::{clear, copy, put};
use crate::worktree::repository::Repository;

/// The sections of settings that git needs for work in a worktree, without those that name files of
/// another git directory or start a program in the background.
const SECTIONS: &str = "core remote branch user author committer filter diff merge pull push \
     rebase lfs i18n alias commit fetch rerere url";
/// The settings of these sections that are not taken.
const NOT_TAKEN: &str = "core.bare core.worktree core.repositoryformatversion core.hookspath \
     core.fsmonitor core.splitindex core.untrackedcache";
/// The sections that say who commits: an image does not have the home directory with the user's
/// file.
const IDENTITY: &str = "user author committer";
/// The setting of a repository that lacks objects, which a remote has (partial clones).
const PARTIAL_CLONE: &str = "extensions.partialclone";
/// The remote of a repository without the objects of excluded files: git takes what is missing for
/// what this remote has (partial clones, git-rev-list(1) `--missing`), and finds no repository
/// there.
pub(super) const WITHHELD_REMOTE: &str = "withheld";
/// The settings with that remote.
const WITHHELD: &str = "\
[core]
\trepositoryFormatVersion = 1
[extensions]
\tpartialClone = withheld
[remote \"withheld\"]
\turl = /nonexistent
\tpromisor = true
";

/// Writes what each run is given anew: the settings, where objects are found, and the rules in
/// `info`.
pub(super) fn write_settings(
    git_dir: &Utf8Path,
    repository: &Repository,
    worktree: &Worktree,
    objects: RunObjects,
) -> Result<(), Error> {
    let settings = settings_of_run(repository, worktree, objects)?;
    put(git_dir, "config", &settings)?;
    for directory in ["objects/info", "refs/heads"] {
        files::create_directories(&git_dir.join(directory))?;
    }
    clear(&git_dir.join(ALTERNATES))?;
    if objects == RunObjects::Shared {
        let shared = repository.common_dir.join("objects");
        put(git_dir, ALTERNATES, &alternates(&shared))?;
    }
    let info = git_dir.join("info");
    clear(&info)?;
    files::create_directories(&info)?;
    let admin_dir = &worktree.record.admin_dir;
    let common_dir = &repository.common_dir;
    for (from, name) in [
        (admin_dir, "sparse-checkout"),
        (common_dir, "exclude"),
        (common_dir, "attributes"),
    ] {
        copy(&from.join("info").join(name), &info, name)?;
    }
    Ok(())
}

/// The text of a file `alternates` with one directory. Only git itself reads quotes there.
fn alternates(objects: &Utf8Path) -> BString {
    let bytes = objects.as_str().as_bytes();
    if bytes.contains(&b'\n') {
        in_quotes(bytes)
    } else {
        bytes.into()
    }
}

/// Makes the text of the file `config`: what is taken of the user's settings, and after that, as
/// the last one counts, what each run needs.
///
/// # Errors
/// Fails when git cannot read the settings of the repository.
fn settings_of_run(
    repository: &Repository,
    worktree: &Worktree,
    objects: RunObjects,
) -> Result<Vec<u8>, Error> {
    let record = &worktree.record;
    let mut settings = taken_settings(repository, worktree, objects)?;
    if ObjectFormat::of(&record.base.commit) != ObjectFormat::default() {
        settings.push(("extensions.objectFormat".to_owned(), "sha256".into()));
    }
    // git refuses `objectFormat` in a repository of version 0 (git-config(1), `extensions.*`)
    let has_extensions = settings
        .iter()
        .any(|(key, _)| key.starts_with("extensions."));
    let format_version = if has_extensions { "1" } else { "0" };
    let mut text = Vec::new();
    for (key, value) in settings {
        text.extend_from_slice(&quoted_setting(&key, &value));
    }
    for (key, value) in [
        ("core.repositoryFormatVersion", format_version.into()),
        ("core.bare", "false".into()),
        ("core.worktree", record.path.as_str().into()),
        ("core.hooksPath", users_hooks(repository, worktree)?),
        // whatever the user hides from others
        ("uploadpack.hideRefs", "!refs/".into()),
        ("gc.auto", "0".into()),
        ("core.ignoreStat", "false".into()),
        ("commit.gpgSign", "false".into()),
        ("tag.gpgSign", "false".into()),
    ] {
        text.extend_from_slice(&quoted_setting(key, &value));
    }
    if objects == RunObjects::Withheld {
        text.extend_from_slice(WITHHELD.as_bytes());
    }
    Ok(text)
}

/// Reads the settings of the user that a run gets.
fn taken_settings(
    repository: &Repository,
    worktree: &Worktree,
    objects: RunObjects,
) -> Result<Vec<(String, BString)>, Error> {
    let git = if files::is_directory(&worktree.record.admin_dir) {
        worktree.git(repository)
    } else {
        repository.git.clone()
    };
    let mut settings = Vec::new();
    for (scope, key, value) in git.config_list()? {
        if is_taken(&scope, &key, objects) {
            settings.push((key, value));
        }
    }
    Ok(settings)
}

/// True if a run gets a setting of the user, which git read in this scope.
fn is_taken(scope: &str, key: &str, objects: RunObjects) -> bool {
    let lower = key.to_ascii_lowercase();
    let section = lower.split('.').next().unwrap_or_default();
    let is_of_repository = matches!(scope, "local" | "worktree");
    if !is_of_repository && !is_listed(IDENTITY, section) {
        return false;
    }
    // each of them makes a remote one from which git fetches what it misses
    let is_promise = lower == PARTIAL_CLONE
        || lower.ends_with(".promisor")
        || lower.ends_with(".partialclonefilter");
    if is_promise && objects == RunObjects::Withheld {
        // from there git would fetch what is withheld
        return false;
    }
    if lower == PARTIAL_CLONE {
        return true;
    }
    is_listed(SECTIONS, section) && !is_listed(NOT_TAKEN, &lower)
}

/// True if a list of names, split by blanks, has a name.
fn is_listed(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|listed| listed == name)
}

/// The directory of the user's own hooks, which run in a fence; ours do not. It is relative to the
/// worktree where the user's setting is (git-config(1), `core.hooksPath`).
///
/// # Errors
/// Fails when the file that names it cannot be read.
pub fn users_hooks(repository: &Repository, worktree: &Worktree) -> Result<BString, DiskError> {
    let file = worktree.record.admin_dir.join("agentwt/users");
    let recorded = files::read(&file)?.unwrap_or_default();
    if recorded.trim_ascii().is_empty() {
        return Ok(repository.common_dir.join("hooks").as_str().into());
    }
    Ok(recorded.trim_ascii_end().into())
}
