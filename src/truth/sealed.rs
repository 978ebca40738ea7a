//! Seals what a worktree shares with others and what changes what git does: hooks and settings.
//!
//! What makes git run a program or hides something is told apart from the rest ([`Cause`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::change::{Cause, Content, Kind, Place, SharedChange};
use crate::disk::{DiskError, files};
use crate::error::Error;
use crate::git::GitError;
use crate::worktree::repository::Repository;
use crate::worktree::{Digests, Main, Shared, Worktree};

/// Reads what a worktree shares with others now.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(repository: &Repository) -> Result<Shared, Error> {
    Ok(Shared {
        hooks: hooks(repository)?,
        settings: settings(repository)?,
    })
}

/// Finds the hooks and settings that are not as they were recorded.
#[must_use]
pub fn changes(before: &Shared, now: &Shared) -> Vec<SharedChange> {
    let mut all = changed_hooks(&before.hooks, &now.hooks);
    all.extend(changed_settings(&before.settings, &now.settings));
    all
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
    let now = settings(repository)?;
    for known in all {
        let before = known.settings_as_accepted(&known.shared()?.settings);
        let changed = changed_settings(&before, &now);
        if changed.iter().any(|one| one.cause == Cause::RunsCode) {
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

/// The keys that have another digest, or are in one of the two only.
fn differing<'d>(before: &'d Digests, now: &'d Digests) -> impl Iterator<Item = &'d str> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let keys = keys.into_iter().map(String::as_str);
    keys.filter(|key| before.get(*key) != now.get(*key))
}

/// Digests every hook of the common git directory, and of the directory that `core.hooksPath`
/// names in the main worktree. Samples and what cannot be started are none.
fn hooks(repository: &Repository) -> Result<Digests, Error> {
    let common = repository.common_dir.join("hooks");
    let mut found = Digests::new();
    read_hooks(repository, &common, "@git/hooks/", &mut found)?;
    if let Some(directory) = users_directory(repository)?
        && directory != common
    {
        let place = place(repository, &directory);
        read_hooks(repository, &directory, &place, &mut found)?;
    }
    Ok(found)
}

/// The directory that `core.hooksPath` names. In a clone the last one that counts is ours, which
/// the record has a digest of.
fn users_directory(repository: &Repository) -> Result<Option<Utf8PathBuf>, Error> {
    let is_clone = repository.is_clone();
    let ours = repository.common_dir.join("agentwt/hooks");
    let all = repository.git.config_get_all_paths("core.hooksPath")?;
    let mut all = all.into_iter().map(|(_, path)| path);
    let path = all.rfind(|path| !(is_clone && *path == ours));
    let at = if is_clone {
        &repository.git.dir
    } else {
        &repository.root
    };
    Ok(path.map(|path| at.join(path)))
}

/// How a directory of hooks is shown.
fn place(repository: &Repository, directory: &Utf8Path) -> String {
    if let Ok(inside) = directory.strip_prefix(&repository.common_dir) {
        return format!("@git/{inside}/");
    }
    match directory.strip_prefix(&repository.root) {
        Ok(inside) if repository.main == Main::Worktree => format!("@main/{inside}/"),
        Ok(_) | Err(_) => format!("{directory}/"),
    }
}

fn read_hooks(
    repository: &Repository,
    directory: &Utf8Path,
    place: &str,
    found: &mut Digests,
) -> Result<(), Error> {
    let names = files::names(directory)?;
    for name in names.iter().filter(|name| !name.ends_with(".sample")) {
        let file = directory.join(name);
        let failed = |error| DiskError::new(format!("read {file}"), error);
        let mut text = match files::open_entry(file.as_std_path()).map_err(failed)? {
            files::Opened::File { executable, .. } if executable => Vec::new(),
            // what it leads to can change as well
            files::Opened::Link(text) => [text.as_slice(), b"\0"].concat(),
            files::Opened::File { .. } | files::Opened::Other => continue,
        };
        match files::read(&file) {
            Err(error) if text.is_empty() => return Err(error.into()),
            read => text.extend(read.ok().flatten().unwrap_or_default()),
        }
        let digest = repository.format.blob_id(&text).to_string();
        found.insert(format!("{place}{name}"), digest);
    }
    Ok(())
}

fn changed_hooks(before: &Digests, now: &Digests) -> Vec<SharedChange> {
    let change = |name: &str| {
        let did = match (before.contains_key(name), now.contains_key(name)) {
            (false, _) => "added",
            (true, false) => "removed",
            (true, true) => "changed",
        };
        let place = match (name.strip_prefix("@git/"), name.strip_prefix("@main/")) {
            (Some(inside), _) => Place::Git(inside.into()),
            (None, Some(inside)) => Place::Main(inside.into()),
            (None, None) => Place::Outside(name.into()),
        };
        let said = format!("this hook was {did} since `add`");
        let digest = Content::value("", now.get(name).cloned());
        SharedChange::new(place, Kind::Hook, said, Cause::RunsCode).with([digest])
    };
    differing(before, now).map(change).collect()
}

/// Digests the values of every setting of the repository. Those of the main worktree's own file
/// (`config.worktree`) begin with `worktree:`.
///
/// # Errors
/// Fails when git does.
pub fn settings(repository: &Repository) -> Result<Digests, Error> {
    let mut values: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (scope, key, value) in repository.git.config_list()? {
        let key = match scope.as_str() {
            "local" => key,
            // a clone's own `config.worktree` is what the record has a digest of
            "worktree" if !repository.is_clone() => format!("worktree:{key}"),
            _ => continue,
        };
        let all = values.entry(key).or_default();
        all.extend_from_slice(&value);
        all.push(0);
    }
    let digest = |values: Vec<u8>| repository.format.blob_id(&values).to_string();
    let settings = values.into_iter();
    Ok(settings.map(|(key, all)| (key, digest(all))).collect())
}

/// At most one change for each file and cause.
fn changed_settings(before: &Digests, now: &Digests) -> Vec<SharedChange> {
    let mut found: BTreeMap<(&str, Cause), BTreeSet<&str>> = BTreeMap::new();
    for key in differing(before, now) {
        let own = key.strip_prefix("worktree:");
        let file = own.map_or("config", |_| "config.worktree");
        let name = own.unwrap_or(key);
        // a remote that leads elsewhere is worth knowing, a new one is everyday work
        let rewired = remote_of(name).filter(|_| before.contains_key(key));
        if let Some(cause) = cause_of(name).or(rewired.map(|_| Cause::Unknown)) {
            found.entry((file, cause)).or_default().insert(name);
        }
    }
    let change = |((file, cause), keys): ((&str, Cause), BTreeSet<&str>)| {
        let what = match cause {
            Cause::RunsCode => " (git can run a program by it)",
            Cause::Hides => " (it changes what git reports)",
            Cause::MadeHere | Cause::Unknown => "",
        };
        let digest = |key: &&str| {
            let own = format!("worktree:{key}");
            let recorded = if file == "config" { key } else { own.as_str() };
            Content::value(key, now.get(recorded).cloned())
        };
        let digests: Vec<Content> = keys.iter().map(digest).collect();
        let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
        let said = format!("{keys} is not as at `add`{what}");
        SharedChange::new(Place::Git(file.into()), Kind::Config, said, cause).with(digests)
    };
    found.into_iter().map(change).collect()
}

/// The remote of a key that says where it is and what is fetched from there.
fn remote_of(key: &str) -> Option<&str> {
    let (name, last) = key.strip_prefix("remote.")?.rsplit_once('.')?;
    matches!(last, "url" | "fetch" | "pushurl").then_some(name)
}

/// Settings by which git starts a program, or reads more settings (git-config(1)): in each line
/// sections, and the last parts of their keys.
const RUNS_CODE: &str = "\
core: hookspath fsmonitor sshcommand editor pager askpass gitproxy alternaterefscommand
alias pager hook include includeif protocol: *
filter: clean smudge process required
diff: external command textconv
merge mergetool difftool browser man guitool trailer tar: driver cmd command path
credential gpg sequence interactive: helper program editor difffilter
uploadpack: packobjectshook
remote: uploadpack receivepack vcs proxy
submodule: update
init sendemail: templatedir sendmailcmd tocmd cccmd headercmd smtpserver
web help instaweb: browser httpd";

/// Settings that git itself writes in everyday commands; our own `add` switches
/// `extensions.worktreeConfig` on, in the order that git needs.
const EVERYDAY: &str = "\
branch remote: *
submodule: url active
extensions: worktreeconfig";

/// Settings on which depends what git reports of a worktree.
const HIDES: &str = "\
status fsck grep log blame attr: *
diff submodule: ignoresubmodules ignore
core: filemode checkstat trustctime ignorestat ignorecase symlinks excludesfile attributesfile
core: untrackedcache sparsecheckout sparsecheckoutcone worktree bare autocrlf eol safecrlf quotepath
core: precomposeunicode logallrefupdates usereplacerefs commitgraph alternaterefsprefixes";

/// What a change of a key means; none for an everyday one.
fn cause_of(key: &str) -> Option<Cause> {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    let has = |words: &str, word: &str| words.split(' ').any(|one| one == word || one == "*");
    let is_in = |table: &str| {
        let mut rows = table.lines().filter_map(|line| line.split_once(": "));
        rows.any(|(sections, parts)| has(sections, section) && has(parts, last))
    };
    if is_in(RUNS_CODE) {
        Some(Cause::RunsCode)
    } else if is_in(EVERYDAY) {
        None
    } else if is_in(HIDES) {
        Some(Cause::Hides)
    } else {
        Some(Cause::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_its_change_means() {
        for (key, cause) in [
            ("core.hookspath", Some(Cause::RunsCode)),
            ("filter.lfs.clean", Some(Cause::RunsCode)),
            ("alias.st", Some(Cause::RunsCode)),
            ("includeif.gitdir:/x/.path", Some(Cause::RunsCode)),
            ("remote.origin.uploadpack", Some(Cause::RunsCode)),
            ("credential.https://a.b/.helper", Some(Cause::RunsCode)),
            ("submodule.lib.update", Some(Cause::RunsCode)),
            ("core.filemode", Some(Cause::Hides)),
            ("core.checkstat", Some(Cause::Hides)),
            ("diff.ignoresubmodules", Some(Cause::Hides)),
            ("submodule.lib.ignore", Some(Cause::Hides)),
            ("user.name", Some(Cause::Unknown)),
            ("gc.auto", Some(Cause::Unknown)),
            ("branch.main.merge", None),
            ("remote.origin.url", None),
            ("submodule.lib.url", None),
            ("extensions.worktreeconfig", None),
        ] {
            assert_eq!(cause_of(key), cause, "{key}");
        }
    }
}
