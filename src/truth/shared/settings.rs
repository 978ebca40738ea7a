//! Watches the settings that all worktrees share (git-config(1)).

use std::collections::BTreeMap;

use crate::change::{Cause, Kind, Place, SharedChange};
use crate::disk::DiskError;
use crate::truth::integrity::plain;
use crate::truth::shared::shared;
use crate::worktree::repository::Repository;
use crate::worktree::{Setting, WorktreeError};

/// Lists every setting of the repository, sorted, with a digest of its values. Those of the main
/// worktree's own file (`config.worktree`) begin with `worktree:`.
pub fn all(repository: &Repository) -> Result<Vec<Setting>, WorktreeError> {
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
    let setting = |(key, values): (String, Vec<u8>)| {
        let hash = repository
            .format
            .hash_blob(values.len() as u64, &mut values.as_slice());
        let digest = hash.map_err(|error| DiskError::new("read git's configuration", error))?;
        Ok(Setting {
            key,
            digest: digest.to_string(),
        })
    };
    values.into_iter().map(setting).collect()
}

/// Finds which settings are not as they were: at most one change for each file and cause.
pub fn changes(now: &[Setting], recorded: &[Setting]) -> Vec<SharedChange> {
    let map = |settings: &[Setting]| -> BTreeMap<String, String> {
        let pairs = settings.iter();
        pairs
            .map(|one| (one.key.clone(), one.digest.clone()))
            .collect()
    };
    let (before, after) = (map(recorded), map(now));
    let mut found: BTreeMap<(&str, Cause), Vec<&str>> = BTreeMap::new();
    let keys = before
        .keys()
        .chain(after.keys().filter(|k| !before.contains_key(*k)));
    for key in keys.filter(|key| before.get(*key) != after.get(*key)) {
        let (file, name) = match key.strip_prefix("worktree:") {
            Some(name) => ("config.worktree", name),
            None => ("config", key.as_str()),
        };
        let had = before.contains_key(key);
        if let Some(cause) = cause_of(name).or(had.then_some(()).and_then(|()| rewiring(name))) {
            found.entry((file, cause)).or_default().push(name);
        }
    }
    let change = |((file, cause), mut keys): ((&str, Cause), Vec<&str>)| {
        keys.sort_unstable();
        let what = match cause {
            Cause::RunsCode => " (git can run a program by it)",
            Cause::Hides => " (it changes what git reports)",
            Cause::MadeHere | Cause::Unknown => "",
        };
        let detail = format!("{} is not as at `add`{what}", keys.join(", "));
        let place = Place::Git(file.into());
        shared(plain(place, Kind::Config, Some(detail)), cause)
    };
    found.into_iter().map(change).collect()
}

/// What it means that a key which was there says something else: a remote that leads elsewhere is
/// worth knowing, a new one is everyday work.
fn rewiring(key: &str) -> Option<Cause> {
    remote_of(key).map(|_| Cause::Unknown)
}

/// The remote of a key that says where it is and what is fetched from there.
fn remote_of(key: &str) -> Option<&str> {
    let (name, last) = key.strip_prefix("remote.")?.rsplit_once('.')?;
    matches!(last, "url" | "fetch" | "pushurl").then_some(name)
}

/// Lists the remotes of which it was changed where they are or what is fetched; all of them where
/// URLs are rewritten by another rule.
pub fn rewired(now: &[Setting], recorded: &[Setting]) -> Vec<String> {
    let changed = |one: &&Setting| !recorded.contains(one);
    let gone = |one: &&Setting| !now.contains(one);
    let keys = now
        .iter()
        .filter(changed)
        .chain(recorded.iter().filter(gone));
    let mut remotes: Vec<String> = Vec::new();
    for key in keys.map(|one| one.key.as_str()) {
        let rewritten = key.starts_with("url.") && key.ends_with(".insteadof");
        let remote = if rewritten { Some("") } else { remote_of(key) };
        remotes.extend(remote.map(ToOwned::to_owned));
    }
    remotes
}

/// What a change of a key means; none for those that git itself writes in everyday commands: what
/// a branch tracks, where a remote or a submodule is.
fn cause_of(key: &str) -> Option<Cause> {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    if runs_code(section, rest, last) {
        return Some(Cause::RunsCode);
    }
    match section {
        "branch" | "remote" => None,
        "submodule" if matches!(last, "url" | "active") => None,
        // our own `add` switches it on, in the order that git needs
        "extensions" if last == "worktreeconfig" => None,
        "status" | "fsck" | "grep" | "log" | "blame" | "attr" => Some(Cause::Hides),
        "diff" | "submodule" if last.starts_with("ignore") => Some(Cause::Hides),
        "core" if hides(last) => Some(Cause::Hides),
        _ => Some(Cause::Unknown),
    }
}

/// Whether git starts what the value names, or reads more settings from there (git-config(1)).
fn runs_code(section: &str, rest: &str, last: &str) -> bool {
    match section {
        "core" => matches!(
            last,
            "hookspath"
                | "fsmonitor"
                | "sshcommand"
                | "editor"
                | "pager"
                | "askpass"
                | "gitproxy"
                | "alternaterefscommand"
        ),
        "alias" | "pager" | "hook" | "include" | "includeif" | "protocol" => true,
        "filter" => matches!(last, "clean" | "smudge" | "process" | "required"),
        "diff" => matches!(last, "external" | "command" | "textconv"),
        "merge" | "mergetool" | "difftool" | "browser" | "man" | "guitool" | "trailer" | "tar" => {
            matches!(last, "driver" | "cmd" | "command" | "path")
        }
        "credential" => last == "helper",
        "gpg" => last == "program",
        "sequence" => last == "editor",
        "interactive" => last == "difffilter",
        "uploadpack" => last == "packobjectshook",
        "remote" => matches!(last, "uploadpack" | "receivepack" | "vcs" | "proxy"),
        "submodule" => last == "update" && rest.contains('.'),
        "init" => last == "templatedir",
        "sendemail" => last.ends_with("cmd") || last == "smtpserver",
        "web" | "help" => last == "browser",
        "instaweb" => matches!(last, "httpd" | "browser"),
        _ => false,
    }
}

/// Whether what git reports of a working tree depends on a key of `core`.
fn hides(last: &str) -> bool {
    matches!(
        last,
        "filemode"
            | "checkstat"
            | "trustctime"
            | "ignorestat"
            | "ignorecase"
            | "symlinks"
            | "excludesfile"
            | "attributesfile"
            | "untrackedcache"
            | "sparsecheckout"
            | "sparsecheckoutcone"
            | "worktree"
            | "bare"
            | "autocrlf"
            | "eol"
            | "safecrlf"
            | "precomposeunicode"
            | "quotepath"
            | "logallrefupdates"
            | "usereplacerefs"
            | "commitgraph"
            | "alternaterefsprefixes"
    )
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
