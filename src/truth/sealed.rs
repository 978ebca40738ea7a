//! Compares what a worktree shares with others with what `add` sealed: hooks and what they run,
//! settings, states of other worktrees.
//!
//! What makes git run a program or hides something is told apart from the rest ([`Cause`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::ByteSlice;

use crate::change::{ADDED, Cause, Content, Kind, Place, SharedChange};
use crate::disk::files;
use crate::error::Error;
use crate::git::GitError;
use crate::path::RepoPath;
use crate::truth::keys::{branch_of, cause_of, remote_of};
use crate::truth::seal::{self, PLAIN, STARTS, TODO};
use crate::worktree::repository::Repository;
use crate::worktree::{Digests, Main, Sealed, Shared, Worktree};

/// Finds the hooks, settings and states that are not as they were recorded.
///
/// # Errors
/// Fails when git or the disk does.
pub fn changes(
    repository: &Repository,
    known: &Worktree,
    (before, now): (&Shared, &Shared),
) -> Result<Vec<SharedChange>, Error> {
    let is_everyday = everyday_branches(repository, known, before, now)?;
    let mut all = changed_hooks(&before.hooks, &now.hooks);
    let mut files = now.hooks.clone();
    if let (Some(sealed), Some(now)) = (&before.sealed, &now.sealed) {
        // a hook that cannot be started any more is told as one
        let hooks: BTreeSet<Place> = all.iter().map(|one| one.change.place.clone()).collect();
        let changed = changed_files(repository, (sealed, &before.hooks), now).into_iter();
        all.extend(changed.filter(|one| !hooks.contains(&one.change.place)));
        files.extend(now.files.clone());
    }
    let pulled = Pulled::read(repository, &all)?;
    for one in &mut all {
        let digest = files.get(&one.change.place.to_string());
        if digest.is_some_and(|digest| pulled.has(&one.change.place, digest)) {
            one.cause = Cause::Unknown;
        }
    }
    all.extend(changed_settings(before, now, &|key| {
        is_everyday.contains(key)
    }));
    Ok(all)
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
    let now = seal::read(repository, None)?;
    for known in all {
        let before = known.shared()?;
        let accepted = known.settings_as_accepted(&before.settings);
        let changed = changed_settings(&before, &now, &|_| false);
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

/// The keys that have another digest, or are in one of the two only.
fn differing<'d>(before: &'d Digests, now: &'d Digests) -> impl Iterator<Item = &'d str> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let keys = keys.into_iter().map(String::as_str);
    keys.filter(|key| before.get(*key) != now.get(*key))
}

/// What was done to a thing.
fn did(before: bool, now: bool) -> &'static str {
    match (before, now) {
        (false, _) => "added",
        (true, false) => "removed",
        (true, true) => "changed",
    }
}

fn changed_hooks(before: &Digests, now: &Digests) -> Vec<SharedChange> {
    let change = |name: &str| {
        let did = did(before.contains_key(name), now.contains_key(name));
        let said = format!("this hook was {did} since `add`");
        let digest = Content::value("", now.get(name).cloned());
        SharedChange::new(Place::of_shared(name), Kind::Hook, said, Cause::RunsCode).with([digest])
    };
    differing(before, now).map(change).collect()
}

/// Finds the settings that have other values. A file that came with a submodule or with another
/// worktree says much that git itself writes: of that counts only what runs a program.
fn changed_settings(
    before: &Shared,
    now: &Shared,
    is_everyday: &dyn Fn(&str) -> bool,
) -> Vec<SharedChange> {
    let (none, nothing) = (Sealed::default(), Digests::new());
    let sealed = |shared: &Shared| match (&before.sealed, &shared.sealed) {
        (Some(_), Some(sealed)) => sealed.settings.clone(),
        (_, _) => by_file(&shared.settings),
    };
    let (was, is) = (sealed(before), sealed(now));
    let mut found = Vec::new();
    for file in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
        let is_new = !was.contains_key(file)
            && ["@git/modules/", "@git/worktrees/", "@wt/modules/"]
                .iter()
                .any(|start| file.starts_with(start));
        let (was, is) = [&was, &is]
            .map(|all| all.get(file).unwrap_or(&nothing))
            .into();
        let values = [before, now].map(|shared| &shared.sealed.as_ref().unwrap_or(&none).values);
        for key in differing(was, is) {
            let text = |at: usize, all: &Digests| Some(values[at].get(all.get(key)?)?.clone());
            let (old, new) = (text(0, was), text(1, is));
            let removed = (!is.contains_key(key)).then_some("");
            let cause = match cause_of(key, new.as_deref().or(removed)) {
                // git writes where the files of a submodule are when it checks them out
                Cause::Hides if key == "core.worktree" && file.contains("/modules/") => {
                    Cause::Unknown
                }
                cause => cause,
            };
            // git copies the line that leads to our hooks into a worktree that is added from ours
            let is_ours = key == "extensions.worktreeconfig"
                || is_new
                    && key == "include.path"
                    && new.as_deref() == Some("agentwt/hooks/config");
            if is_ours || is_everyday(key) || is_new && cause != Cause::RunsCode {
                continue;
            }
            let what = match cause {
                Cause::RunsCode => " (git can run a program by it)",
                Cause::Hides => " (it changes what git reports)",
                Cause::MadeHere | Cause::Unknown => "",
            };
            let said = match (was.contains_key(key), is.contains_key(key), old, new) {
                (false, _, _, Some(new)) => format!("{key}{ADDED}{new}"),
                (true, false, Some(old), _) => format!("{key} was removed, and was: {old}"),
                (true, true, Some(old), Some(new)) => format!("{key} was `{old}` and is `{new}`"),
                (_, _, _, _) => format!("{key} is not as at `add`"),
            };
            let said = format!("{said}{what}");
            // of these files an acceptance has the values as git sees them all
            let digest = match &**file {
                "@git/config" => now.settings.get(key),
                "@git/config.worktree" => now.settings.get(&format!("worktree:{key}")),
                _other => is.get(key),
            };
            let change = SharedChange::new(Place::of_shared(file), Kind::Config, said, cause);
            found.push(change.with([Content::value(key, digest.cloned())]));
        }
    }
    found
}

/// The settings of a record that has no others, by the file that they are in.
fn by_file(settings: &Digests) -> BTreeMap<String, Digests> {
    let mut all = BTreeMap::<String, Digests>::new();
    for (key, digest) in settings {
        let (file, key) = match key.strip_prefix("worktree:") {
            Some(key) => ("@git/config.worktree", key),
            None => ("@git/config", &**key),
        };
        let of_file = all.entry(file.to_owned()).or_default();
        of_file.insert(key.to_owned(), digest.clone());
    }
    all
}

/// Finds the settings by which git knows what a branch tracks, where the branch was created or deleted
/// with them.
fn everyday_branches(
    repository: &Repository,
    known: &Worktree,
    before: &Shared,
    now: &Shared,
) -> Result<BTreeSet<String>, Error> {
    let changed = differing(&before.settings, &now.settings);
    let changed: Vec<(&str, &str)> = changed
        .filter_map(|key| Some((key, branch_of(key)?)))
        .collect();
    if changed.is_empty() {
        return Ok(BTreeSet::new());
    }
    let recorded = known.recorded_ref_names()?;
    let there = repository.git.for_each_ref(&["refs/heads/"])?;
    let there: BTreeSet<&[u8]> = there.iter().map(|one| one.name.as_slice()).collect();
    let sealed = now.sealed.as_ref();
    let value = |key: &str| {
        let sealed = sealed?;
        sealed
            .values
            .get(sealed.settings.get("@git/config")?.get(key)?)
    };
    let is_everyday = |(key, branch): &(&str, &str)| {
        let full = format!("refs/heads/{branch}");
        let is = there.contains(full.as_bytes());
        let is_new = is && !recorded.contains_key(full.as_bytes().as_bstr());
        let (was_set, is_set) = (before.settings.contains_key(*key), value(key));
        if was_set || is_set.is_none() {
            return was_set && !now.settings.contains_key(*key) && !is;
        }
        let has = |name: &String| before.settings.contains_key(&format!("remote.{name}.url"));
        match key.rsplit('.').next() {
            // as `git push -u` writes them
            Some("remote") => is_set.is_some_and(|name| has(name) || is_new && name == "."),
            Some("merge") => is_new || is_set == Some(&full),
            Some("rebase") => is_new,
            _other => false,
        }
    };
    let everyday = changed.iter().filter(|one| is_everyday(one));
    Ok(everyday.map(|(key, _)| (*key).to_owned()).collect())
}

/// Finds the files that are not as they were: of hooks, and of the main and other worktrees.
fn changed_files(
    repository: &Repository,
    (before, before_hooks): (&Sealed, &Digests),
    now: &Sealed,
) -> Vec<SharedChange> {
    let mut found = Vec::new();
    // git copies the hooks of a template to each repository (git-init(1), "TEMPLATE DIRECTORY")
    let of_others: BTreeSet<&String> = before.files.values().chain(before_hooks.values()).collect();
    for name in differing(&before.files, &now.files) {
        let git_dir = name
            .strip_prefix("@git/worktrees/")
            .and_then(|rest| rest.split_once('/'));
        let head = git_dir.map(|(id, _)| format!("@git/worktrees/{id}/HEAD"));
        let is_there = |sealed: &Sealed| {
            head.as_ref()
                .is_none_or(|head| sealed.files.contains_key(head))
        };
        if !(is_there(before) && is_there(now)) {
            // the worktree came, or went
            continue;
        }
        let (was, is) = (before.files.get(name), now.files.get(name));
        let did = did(was.is_some(), is.is_some());
        let (kind, cause, said) = if name.ends_with("/HEAD") {
            if is.is_some_and(|head| has_logged(repository, name, head)) {
                continue;
            }
            let [was, is] = [was, is].map(|one| one.map_or("nothing", String::as_str));
            let said = format!("it was `{was}` and is `{is}`, and its log does not have that move");
            (Kind::Ref, Cause::Unknown, said)
        } else if name.ends_with(TODO) {
            let starts = is.is_some_and(|is| is.ends_with(STARTS));
            let Some(_) = is.filter(|_| starts || was.is_some()) else {
                continue;
            };
            let cause = if starts && was.is_some() {
                Cause::RunsCode
            } else {
                Cause::Unknown
            };
            let said = format!("the commands of this rebase were {did} since `add`");
            (Kind::Config, cause, said)
        } else if name.contains("/info/") {
            (
                Kind::Config,
                Cause::Unknown,
                format!("it was {did} since `add`"),
            )
        } else {
            let is_plain = |is: &String| is.ends_with(PLAIN) || of_others.contains(is);
            let cause = if was.is_none() && is.is_some_and(is_plain) {
                Cause::Unknown
            } else {
                Cause::RunsCode
            };
            (
                Kind::Hook,
                cause,
                format!("this file of a hook was {did} since `add`"),
            )
        };
        let digest = Content::value("", is.cloned());
        found.push(SharedChange::new(Place::of_shared(name), kind, said, cause).with([digest]));
    }
    found
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

/// Holds the tree of the commit that the main worktree is on: hooks of `core.hooksPath` may be files
/// of the repository, which the user's own pull changes.
struct Pulled(Option<(crate::git::objects::Objects, crate::entry::ObjectId)>);

impl Pulled {
    fn read(repository: &Repository, found: &[SharedChange]) -> Result<Self, Error> {
        let is_in_main = |one: &SharedChange| matches!(one.change.place, Place::Main(_));
        if !found.iter().any(is_in_main) {
            return Ok(Self(None));
        }
        let Some(head) = repository.home().git.rev_parse_commit("HEAD")? else {
            return Ok(Self(None));
        };
        let objects = repository.home().objects()?;
        let tree = objects.commit(&head)?.tree;
        Ok(Self(Some((objects, tree))))
    }

    /// Whether the commit has these bytes at that place.
    fn has(&self, place: &Place, digest: &str) -> bool {
        let (Some((objects, tree)), Place::Main(path)) = (&self.0, place) else {
            return false;
        };
        let Ok(path) = RepoPath::parse(path.as_bytes().to_vec()) else {
            return false;
        };
        let at = objects.at(tree, [&path]).unwrap_or_default();
        at.iter()
            .any(|(_, entry)| entry.id.to_string() == digest.trim_end_matches(PLAIN))
    }
}
