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
    (before, now): (&Shared, &Shared),
) -> Result<Vec<SharedChange>, Error> {
    let mut all = changed_hooks(&before.hooks, &now.hooks);
    let mut files = now.hooks.clone();
    // a hook that cannot be started any more is told as one
    let hooks: BTreeSet<Place> = all.iter().map(|one| one.change.place.clone()).collect();
    let changed = changed_files(repository, before, &now.sealed).into_iter();
    all.extend(changed.filter(|one| !hooks.contains(&one.change.place)));
    files.extend(now.sealed.files.clone());
    let pulled = read_pulled(repository, &all)?;
    for one in &mut all {
        let (place, digest) = (&one.change.place, files.get(&one.change.place.to_string()));
        if let (Place::Main(path), Some(digest)) = (place, digest)
            && pulled.contains(&(path.clone(), digest.trim_end_matches(PLAIN).to_owned()))
        {
            one.cause = Cause::Unknown;
        }
    }
    all.extend(changed_settings(repository, before, now));
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
fn changed_settings(repository: &Repository, before: &Shared, now: &Shared) -> Vec<SharedChange> {
    let nothing = Digests::new();
    let (was, is) = (&before.sealed.settings, &now.sealed.settings);
    let git_dirs = [&before.sealed, &now.sealed].map(git_dirs::directories);
    let mut found = Vec::new();
    for file in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
        let directory = git_dirs::split(file, &git_dirs[0]).map(|(directory, _)| directory);
        if directory.is_some_and(|directory| !git_dirs[1].contains_key(directory)) {
            // the worktree or submodule went
            continue;
        }
        let directory = git_dirs::split(file, &git_dirs[1]).map(|(directory, _)| directory);
        let came = directory.filter(|directory| !git_dirs[0].contains_key(*directory));
        let is_new = !was.contains_key(file)
            && ["@git/modules/", "@git/worktrees/", "@wt/modules/"]
                .iter()
                .any(|start| file.starts_with(start));
        let both = [was, is].map(|all| all.get(file).unwrap_or(&nothing));
        let (was, is) = both.into();
        for key in differing(was, is) {
            let old = was.get(key).and_then(|id| before.sealed.values.get(id));
            let new = is.get(key).and_then(|id| now.sealed.values.get(id));
            let removed = (!is.contains_key(key)).then_some("");
            let cause = match cause_of(key, new.map(String::as_str).or(removed)) {
                // git writes where the files of a submodule are when it checks them out
                Cause::Hides if key == "core.worktree" && file.contains("/modules/") => {
                    Cause::Unknown
                }
                cause => cause,
            };
            // a worktree whose record is gone has our hooks
            let leads_to_ours = key == "core.hookspath"
                && came
                    .zip(new)
                    .is_some_and(|(directory, path)| is_hooks_of_ours(repository, directory, path));
            // `git worktree add` copies the settings of the worktree that it is called in
            let mut others = before.sealed.settings.values();
            let is_copied = came.is_some() && others.any(|other| other.get(key) == is.get(key));
            // with the line that leads to our hooks
            let is_ours = key == "extensions.worktreeconfig"
                || leads_to_ours
                || is_new && key == "include.path" && new.is_some_and(|new| new == INCLUDED);
            let is_grave = matches!(cause, Cause::RunsCode | Cause::Loosens);
            let is_harmless = is_new && !is_grave;
            let is_git_made = is_ours || is_copied || is_tracked(key, (old, new), before);
            if is_git_made || is_harmless {
                continue;
            }
            let what = match cause {
                Cause::RunsCode => " (git can run a program by it)",
                Cause::Hides => " (it changes what git reports)",
                Cause::Loosens => " (a fence would be weaker by it)",
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

/// Whether a path is that of our hooks in a git directory of a worktree, with nothing else in it.
fn is_hooks_of_ours(repository: &Repository, directory: &str, path: &str) -> bool {
    let Some(below) = directory.strip_prefix("@git/") else {
        return false;
    };
    let ours = WorktreeHooks::directory_in(&repository.common_dir.join(below));
    ours == path && WorktreeHooks::has_only_ours(&ours)
}

/// Whether git noted with a key that a branch was pushed under its own name (`git push -u`).
fn is_tracked(key: &str, (old, new): (Option<&String>, Option<&String>), before: &Shared) -> bool {
    let branch = key.strip_prefix("branch.");
    let Some(((branch, last), new)) = branch.and_then(|rest| rest.rsplit_once('.')).zip(new) else {
        return false;
    };
    let is_remote = || before.settings.contains_key(&format!("remote.{new}.url"));
    let is_own = || *new == format!("refs/heads/{branch}");
    old.is_none() && (last == "remote" && is_remote() || last == "merge" && is_own())
}

/// Finds the files that are not as they were: of hooks, and in git directories.
fn changed_files(repository: &Repository, recorded: &Shared, now: &Sealed) -> Vec<SharedChange> {
    let mut found = Vec::new();
    let before = &recorded.sealed;
    // git copies the hooks of a template to each repository (git-init(1), "TEMPLATE DIRECTORY")
    let of_others = before.files.values().chain(recorded.hooks.values());
    let directories_before = git_dirs::directories(before);
    let directories_now = git_dirs::directories(now);
    let mut all = directories_before.clone();
    all.extend(directories_now.clone());
    let judge = FileJudge {
        repository,
        before: directories_before,
        now: directories_now,
        all,
        is_older: git_dirs::is_of_older_version(before),
        of_others: of_others.collect(),
    };
    for name in differing(&before.files, &now.files) {
        let is = now.files.get(name);
        let judged = judge.judge(name, before.files.get(name), is);
        let digest = Content::value("", is.cloned());
        found.extend(judged.map(|(kind, cause, said)| {
            let place = Place::of_shared(name);
            SharedChange::new(place, kind, said, cause).with([digest])
        }));
    }
    found
}

/// What a change of a file means; none for everyday work.
type Judged = Option<FileChange>;

/// The kind of a change, what it does, and what is said of it.
type FileChange = (Kind, Cause, String);

/// Judges the files that are not as they were.
struct FileJudge<'a> {
    repository: &'a Repository,
    before: Directories,
    now: Directories,
    /// Those that were or are there.
    all: Directories,
    /// Whether `before` has not all that is sealed now.
    is_older: bool,
    of_others: BTreeSet<&'a String>,
}

impl FileJudge<'_> {
    fn judge(&self, name: &str, was: Option<&String>, is: Option<&String>) -> Judged {
        if name.ends_with("/.git") {
            return judge_link(is, "git takes it for the repository");
        }
        let Some((directory, state)) = git_dirs::split(name, &self.all) else {
            return Some(self.judge_hook(was, is));
        };
        if state == "commondir" {
            return judge_link(is, "git takes settings, hooks and objects from there");
        }
        let owner = self.all[directory];
        let is_in_both = self.now.contains_key(directory) && self.before.contains_key(directory);
        let is_submodule = owner == GitDirOwner::Submodule;
        let first = state.split('/').next().unwrap_or(state);
        let role = role_of(first);
        if role == Role::Hooks && (is_in_both || is_submodule && is.is_some()) {
            return Some(self.judge_hook(was, is));
        }
        let is_new_role = matches!(role, Role::Unknown | Role::Remotes);
        if !is_in_both || self.is_older && (is_submodule || is_new_role) {
            // it came, or went, or nothing is known of what it was
            return None;
        }
        let did = did(was.is_some(), is.is_some());
        match state {
            "HEAD" => self.judge_head(name, was, is),
            TODO => judge_todo(was, is),
            _state if OPERATION.contains(&state) => {
                is?;
                let said = format!("the state of an operation was {did} since `add`");
                Some((Kind::Ref, Cause::Unknown, said))
            }
            _state if is_watched(state) => {
                let shared = format!("@git/{state}");
                // git reads only that of the repository
                let is_of_worktree = owner == GitDirOwner::Worktree;
                let read = if is_of_worktree { name } else { &shared };
                let (kind, cause) = watched(read, is.is_some());
                Some((kind, cause, format!("it was {did} since `add`")))
            }
            // `core.hooksPath` names a directory in the git directory
            _file if role == Role::Unknown && state != first => Some(self.judge_hook(was, is)),
            _unknown => {
                let said = format!("it was {did} since `add`, and what reads it is not known");
                Some((Kind::Config, Cause::Unknown, said))
            }
        }
    }

    fn judge_hook(&self, was: Option<&String>, is: Option<&String>) -> FileChange {
        let is_plain = |is: &String| is.ends_with(PLAIN) || self.of_others.contains(is);
        let did = did(was.is_some(), is.is_some());
        let said = format!("this file of a hook was {did} since `add`");
        let is_code = was.is_some() || !is.is_some_and(is_plain);
        (Kind::Hook, runs_code(is_code), said)
    }

    fn judge_head(&self, name: &str, was: Option<&String>, is: Option<&String>) -> Judged {
        if is.is_some_and(|head| has_logged(self.repository, name, head)) {
            return None;
        }
        let was = was.map_or("nothing", String::as_str);
        let is = is.map_or("nothing", String::as_str);
        let said = format!("it was `{was}` and is `{is}`, and its log does not have that move");
        Some((Kind::Ref, Cause::Unknown, said))
    }
}

/// What it means that git is led elsewhere; none where it is no longer.
fn judge_link(is: Option<&String>, said: &str) -> Judged {
    is?;
    let said = format!("it leads to another git directory since `add`: {said}");
    Some((Kind::Config, Cause::RunsCode, said))
}

fn judge_todo(was: Option<&String>, is: Option<&String>) -> Judged {
    let is = is?;
    let starts = is.ends_with(STARTS);
    if !starts && was.is_none() {
        return None;
    }
    let did = did(was.is_some(), true);
    let said = format!("the commands of this rebase were {did} since `add`");
    Some((Kind::Config, runs_code(starts && was.is_some()), said))
}

const fn runs_code(is_code: bool) -> Cause {
    if is_code {
        Cause::RunsCode
    } else {
        Cause::Unknown
    }
}

/// Whether [`watched`] says what a change of a file means.
fn is_watched(state: &str) -> bool {
    let mut above = ["info/", "rr-cache/"].iter();
    let is_below = above.any(|above| state.starts_with(above));
    is_below || [SHALLOW, BORROWED].contains(&state)
}

/// What a change means of a file that says where history ends, or of `info/`.
fn watched(name: &str, is_there: bool) -> (Kind, Cause) {
    match name {
        // `git fetch --unshallow` takes the file away
        "@git/shallow" if !is_there => (Kind::Integrity, Cause::Unknown),
        "@git/shallow" | "@git/info/grafts" => (Kind::Integrity, Cause::Hides),
        // `git repack` and `clone --dissociate` write it as well
        "@git/objects/info/alternates" => (Kind::Integrity, Cause::Unknown),
        "@git/info/attributes" => (Kind::Config, Cause::Hides),
        // the verdict reads the ignore rules that were recorded
        _ => (Kind::Config, Cause::Unknown),
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
