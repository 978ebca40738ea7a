//! Watches what a worktree shares with others: hooks, settings, refs and worktrees.
//!
//! What the worktree's own journal shows was done from there, and what makes git run a program or
//! hides something, is told apart from what nothing attributes ([`Cause`]). A ref that is where it
//! was at `add` again is not a finding, and neither is what `git fetch` and a push of the
//! worktree's own branch do to remote-tracking refs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::answer::count;
use crate::change::{Cause, Kind, Place, SharedChange};
use crate::disk::{DiskError, files};
use crate::error::Error;
use crate::git::hooks::journal::{Journal, Target};
use crate::git::{Git, GitError, GitMode};
use crate::name::CommitId;
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

/// Finds what is not as it was recorded, and by whom, as far as that can be told; `made_here` are the
/// commits that were created in the worktree.
///
/// # Errors
/// Fails when git or the disk does, or the record is damaged.
pub fn changes(
    repository: &Repository,
    known: &Worktree,
    (recorded, now): &(Shared, Shared),
    journal: &Journal,
    made_here: &[CommitId],
) -> Result<Vec<SharedChange>, Error> {
    let mut all = changed_hooks(&recorded.hooks, &now.hooks);
    all.extend(changed_settings(&recorded.settings, &now.settings));
    let refs = SharedRefs {
        git: repository.git.with_mode(GitMode::Hardened),
        known,
        journal,
        made_here,
    };
    all.extend(refs.changes()?);
    all.extend(new_worktrees(repository, known, journal)?);
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
    let now = settings(repository)?;
    for known in all {
        let changed = changed_settings(&known.shared()?.settings, &now);
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
        SharedChange::new(place, Kind::Hook, said, Cause::RunsCode)
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
        let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
        let said = format!("{keys} is not as at `add`{what}");
        SharedChange::new(Place::Git(file.into()), Kind::Config, said, cause)
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

/// Judges shared refs that were moved or created from a worktree, by its journal.
struct SharedRefs<'a> {
    git: Git,
    known: &'a Worktree,
    journal: &'a Journal,
    made_here: &'a [CommitId],
}

type Judged = Option<(String, Cause)>;

impl SharedRefs<'_> {
    fn changes(&self) -> Result<Vec<SharedChange>, Error> {
        let recorded = self.known.recorded_ref_names()?;
        let own = self.known.record.branch.full_ref();
        let moved = self.journal.shared();
        let moved = moved.filter(|(name, _)| name.as_bytes() != own.as_bytes());
        let moved: Vec<(&BString, &Target)> = moved.collect();
        let mut wanted: Vec<&str> = vec!["refs/replace/"];
        wanted.extend(moved.iter().filter_map(|(name, _)| name.to_str().ok()));
        let now = self.git.for_each_ref(&wanted)?.into_iter();
        let now: BTreeMap<BString, CommitId> = now.map(|one| (one.name, one.id)).collect();
        let mut all: Vec<SharedChange> = replaced(&recorded, &now).into_iter().collect();
        for (name, left) in moved {
            let (before, current) = (recorded.get(name), now.get(name));
            // saved work of `remove` and `restore`
            let is_saved = name.starts_with(b"refs/agentwt/") && before.is_none();
            let mut everyday = ["refs/replace/", "refs/prefetch/"].iter();
            let is_everyday = is_saved || everyday.any(|start| name.starts_with_str(start));
            if before == current || is_everyday {
                continue;
            }
            let is_as_left = match left {
                Target::Object(id) => current == Some(id),
                Target::Nothing => current.is_none(),
                Target::Ref => false,
            };
            let judged = if is_as_left {
                self.judge(name.as_bstr(), before, current)?
            } else {
                let said = "it was moved from this worktree, and later from elsewhere";
                Some((said.to_owned(), Cause::Unknown))
            };
            all.extend(judged.map(|(said, cause)| {
                SharedChange::new(Place::Git(name.clone()), Kind::Ref, said, cause)
            }));
        }
        Ok(all)
    }

    /// What it means that a ref is where the worktree left it, and not where it was at `add`; none
    /// for everyday work.
    fn judge(
        &self,
        name: &BStr,
        before: Option<&CommitId>,
        current: Option<&CommitId>,
    ) -> Result<Judged, Error> {
        let made_here = |at: &CommitId| self.made_here.contains(at);
        let (said, cause) = match (before, current) {
            (_, current) if name.starts_with(b"refs/remotes/") => {
                // `fetch --prune` removes one; the next fetch brings back what is there
                let current = current.map(|at| self.judge_remote(name, at));
                return current.unwrap_or(Ok(None));
            }
            (before, current) if name == "refs/stash" => {
                // a stash on top of those of others takes nothing away
                let log = self.git.reflog("refs/stash")?;
                let is_kept = |before: &CommitId| log.iter().any(|entry| entry.id == *before);
                if before.is_none_or(|before| current.is_some() && is_kept(before)) {
                    ("something is stashed from this worktree", Cause::Unknown)
                } else {
                    let said = "a stash of others was dropped from this worktree";
                    (said, Cause::MadeHere)
                }
            }
            (None, Some(at)) if name.starts_with(b"refs/tags/") && !made_here(at) => {
                let said = "it was made, or fetched, from this worktree";
                (said, Cause::Unknown)
            }
            (None, _) => ("it was made from this worktree", Cause::MadeHere),
            (Some(_), None) => ("it was deleted from this worktree", Cause::MadeHere),
            (Some(_), Some(_)) => ("it was moved from this worktree", Cause::MadeHere),
        };
        Ok(Some((said.to_owned(), cause)))
    }

    /// A fetch brings what is upstream, and a push of the own branch is how work is handed in.
    fn judge_remote(&self, name: &BStr, current: &CommitId) -> Result<Judged, Error> {
        let name = name.to_str_lossy();
        let own = name.ends_with(&format!("/{}", self.known.record.branch));
        let log = self.git.reflog(&name)?;
        let made_here = |at: &CommitId| self.made_here.contains(at);
        let mut places = self.journal.places(name.as_bytes());
        let pushed = places.find(|place| !own && log.iter().any(|entry| entry.is_push_of(place)));
        let (said, is_everyday) = if let Some(place) = pushed {
            let place = place.short();
            let said = format!("commit {place} was pushed there from this worktree");
            (said, false)
        } else if let Some(newest) = log.first().filter(|newest| newest.id == *current) {
            let reason = newest.reason.as_str();
            let is_everyday = if reason.starts_with("update by push") {
                own
            } else {
                newest.came_from_elsewhere(&name, &made_here)
            };
            let said = format!("it was moved from this worktree ({reason})");
            (said, is_everyday)
        } else {
            let said = "it was moved from this worktree, past its log";
            let is_silent = (own || !made_here(current)) && log.is_empty();
            (said.to_owned(), is_silent)
        };
        Ok((!is_everyday).then_some((said, Cause::MadeHere)))
    }
}

/// Replace refs make git show one object for another (git-replace(1)), whichever process made them.
fn replaced(
    recorded: &BTreeMap<BString, CommitId>,
    now: &BTreeMap<BString, CommitId>,
) -> Option<SharedChange> {
    let is_replacing = |one: &(&BString, &CommitId)| one.0.starts_with(b"refs/replace/");
    let after = now.iter().filter(is_replacing);
    if recorded.iter().filter(is_replacing).eq(after.clone()) {
        return None;
    }
    let number = count(after.count(), "object is", "objects are");
    let said = format!("{number} replaced: git shows others in their place");
    let place = Place::Git("refs/replace".into());
    Some(SharedChange::new(place, Kind::Ref, said, Cause::Hides))
}

/// Finds worktrees that were created from this one (gitrepository-layout(5), `worktrees/<id>`).
fn new_worktrees(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
) -> Result<Vec<SharedChange>, Error> {
    let directory = repository.common_dir.join("worktrees");
    let mut all = Vec::new();
    if journal.worktrees.is_empty() {
        return Ok(all);
    }
    let own = known.record.admin_dir.file_name();
    for id in files::names(&directory)? {
        let dot_git = files::read(&directory.join(&id).join("gitdir"))?.unwrap_or_default();
        let path = dot_git.trim().strip_suffix(b"/.git").unwrap_or_default();
        if own != Some(&id) && journal.worktrees.iter().any(|made| made == path) {
            let place = Place::Git(format!("worktrees/{id}").into());
            let (kind, said) = (Kind::Worktree, "it was made from this worktree");
            all.push(SharedChange::new(place, kind, said, Cause::MadeHere));
        }
    }
    Ok(all)
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
