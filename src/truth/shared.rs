//! Watches what a worktree shares with others: hooks, settings, refs and worktrees.
//!
//! What the worktree's own journal shows was done from there, and what makes git run a program or
//! hides something, is told apart from what nothing attributes ([`Cause`]). A ref that is where it
//! was at `add` again is not a finding, and neither is what `git fetch` and a push of the
//! worktree's own branch do to remote-tracking refs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::change::{Cause, Kind, Place, SharedChange};
use crate::disk::{DiskError, files};
use crate::git::hooks::journal::{Journal, Target};
use crate::git::{Git, GitError, GitMode};
use crate::name::CommitId;
use crate::worktree::repository::Repository;
use crate::worktree::{Digests, Main, Shared, Worktree, WorktreeError};

/// Tells the commits that were created in the worktree.
pub type MadeHere<'a> = dyn Fn(&CommitId) -> bool + 'a;

/// Records what a worktree shares with others now.
///
/// # Errors
/// Fails when git or the disk does.
pub fn take(repository: &Repository) -> Result<Shared, WorktreeError> {
    Ok(Shared {
        hooks: hooks(repository)?,
        settings: settings(repository)?,
    })
}

/// Finds what is not as it was recorded, and by whom, as far as that can be told.
///
/// # Errors
/// Fails when git or the disk does, or the record is damaged.
pub fn changes(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
    made_here: &MadeHere<'_>,
) -> Result<Vec<SharedChange>, WorktreeError> {
    let (recorded, now) = (known.shared()?, take(repository)?);
    let mut all = changed_hooks(&recorded.hooks, &now.hooks);
    all.extend(changed_settings(&recorded.settings, &now.settings));
    let git = repository.git.with_mode(GitMode::Hardened);
    all.extend(changed_refs(&git, known, journal, made_here)?);
    all.extend(new_worktrees(repository, known, journal)?);
    Ok(all)
}

/// Lists the remotes that lead elsewhere than at `add`, by name; an empty one stands for all, as
/// another rule rewrites URLs.
///
/// # Errors
/// Fails when git does, or the record is damaged.
pub fn rewired_remotes(
    repository: &Repository,
    known: &Worktree,
) -> Result<Vec<String>, WorktreeError> {
    let (before, now) = (known.shared()?.settings, settings(repository)?);
    let remote = |key: &str| match remote_of(key) {
        None if key.starts_with("url.") && key.ends_with(".insteadof") => Some(String::new()),
        remote => remote.map(ToOwned::to_owned),
    };
    Ok(differing(&before, &now).filter_map(remote).collect())
}

/// Counts the files of the main worktree that are not as committed, by git's own status. None where
/// there is no main worktree, and where a setting that runs a program was changed since one of these
/// worktrees was created: git's status could start that program.
///
/// # Errors
/// Fails when git does, or a record is damaged.
pub fn main_changed(
    repository: &Repository,
    all: &[&Worktree],
) -> Result<Option<usize>, WorktreeError> {
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
        Err(GitError::TimedOut { .. }) => return Ok(None),
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
fn hooks(repository: &Repository) -> Result<Digests, WorktreeError> {
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
fn users_directory(repository: &Repository) -> Result<Option<Utf8PathBuf>, WorktreeError> {
    if !repository.is_clone() {
        let path = repository.git.config_get_path("core.hooksPath")?;
        return Ok(path.map(|path| repository.root.join(path)));
    }
    let ours = repository.common_dir.join("agentwt/hooks");
    let all = repository.git.config_get_all_paths("core.hooksPath")?;
    let mut all = all.into_iter().map(|(_, path)| path);
    let path = all.rfind(|path| *path != ours);
    Ok(path.map(|path| repository.git.dir.join(path)))
}

/// How a directory of hooks is shown.
fn place(repository: &Repository, directory: &Utf8Path) -> String {
    let below = |root: &Utf8Path| directory.strip_prefix(root).ok().map(Utf8PathBuf::from);
    match (below(&repository.common_dir), below(&repository.root)) {
        (Some(inside), _) => format!("@git/{inside}/"),
        (None, Some(inside)) if repository.main == Main::Worktree => format!("@main/{inside}/"),
        (None, _) => format!("{directory}/"),
    }
}

fn read_hooks(
    repository: &Repository,
    directory: &Utf8Path,
    place: &str,
    found: &mut Digests,
) -> Result<(), WorktreeError> {
    for name in files::names(directory)? {
        let file = directory.join(&name);
        let failed = |error| DiskError::new(format!("read {file}"), error);
        let content = match files::open_entry(file.as_std_path()).map_err(failed)? {
            _ if name.ends_with(".sample") => continue,
            files::Opened::File {
                executable: true, ..
            } => files::read(&file)?.unwrap_or_default(),
            // what it leads to can change as well
            files::Opened::Link(text) => {
                let target = files::read(&file).ok().flatten().unwrap_or_default();
                [text.as_slice(), b"\0", &target].concat()
            }
            files::Opened::File { .. } | files::Opened::Other => continue,
        };
        let size = content.len() as u64;
        let digest = repository.format.hash_blob(size, &mut content.as_slice());
        let digest = digest.map_err(failed)?.to_string();
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
fn settings(repository: &Repository) -> Result<Digests, WorktreeError> {
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
        let size = values.len() as u64;
        let digest = repository.format.hash_blob(size, &mut values.as_slice());
        let digest = digest.map_err(|error| DiskError::new("read git's configuration", error))?;
        Ok((key, digest.to_string()))
    };
    values.into_iter().map(setting).collect()
}

/// At most one change for each file and cause.
fn changed_settings(before: &Digests, now: &Digests) -> Vec<SharedChange> {
    let mut found: BTreeMap<(&str, Cause), Vec<&str>> = BTreeMap::new();
    for key in differing(before, now) {
        let own = key.strip_prefix("worktree:");
        let file = own.map_or("config", |_| "config.worktree");
        let name = own.unwrap_or(key);
        // a remote that leads elsewhere is worth knowing, a new one is everyday work
        let rewired = remote_of(name).filter(|_| before.contains_key(key));
        if let Some(cause) = cause_of(name).or(rewired.map(|_| Cause::Unknown)) {
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
        let said = format!("{} is not as at `add`{what}", keys.join(", "));
        SharedChange::new(Place::Git(file.into()), Kind::Config, said, cause)
    };
    found.into_iter().map(change).collect()
}

/// The remote of a key that says where it is and what is fetched from there.
fn remote_of(key: &str) -> Option<&str> {
    let (name, last) = key.strip_prefix("remote.")?.rsplit_once('.')?;
    matches!(last, "url" | "fetch" | "pushurl").then_some(name)
}

/// Settings by which git starts a program, or reads more settings (git-config(1)): sections, and
/// the last parts of their keys.
const RUNS_CODE: [(&str, &str); 16] = [
    (
        "core",
        "hookspath fsmonitor sshcommand editor pager askpass",
    ),
    ("core", "gitproxy alternaterefscommand"),
    ("alias pager hook include includeif protocol", "*"),
    ("filter", "clean smudge process required"),
    ("diff", "external command textconv"),
    (
        "merge mergetool difftool browser",
        "driver cmd command path",
    ),
    ("man guitool trailer tar", "driver cmd command path"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("sequence", "editor"),
    ("interactive", "difffilter"),
    ("uploadpack", "packobjectshook"),
    ("remote", "uploadpack receivepack vcs proxy"),
    ("submodule", "update"),
    (
        "init sendemail",
        "templatedir sendmailcmd tocmd cccmd headercmd smtpserver",
    ),
    ("web help instaweb", "browser httpd"),
];

/// Settings that git itself writes in everyday commands.
const EVERYDAY: [(&str, &str); 3] = [
    ("branch remote", "*"),
    ("submodule", "url active"),
    // our own `add` switches it on, in the order that git needs
    ("extensions", "worktreeconfig"),
];

/// Settings on which depends what git reports of a worktree.
const HIDES: [(&str, &str); 6] = [
    ("status fsck grep log blame attr", "*"),
    ("diff submodule", "ignoresubmodules ignore"),
    (
        "core",
        "filemode checkstat trustctime ignorestat ignorecase symlinks",
    ),
    (
        "core",
        "excludesfile attributesfile untrackedcache sparsecheckout",
    ),
    (
        "core",
        "sparsecheckoutcone worktree bare autocrlf eol safecrlf quotepath",
    ),
    (
        "core",
        "precomposeunicode logallrefupdates usereplacerefs commitgraph alternaterefsprefixes",
    ),
];

/// What a change of a key means; none for an everyday one.
fn cause_of(key: &str) -> Option<Cause> {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    let is_in = |table: &[(&str, &str)]| {
        let has = |words: &str, word: &str| words.split(' ').any(|one| one == word || one == "*");
        let mut rows = table.iter();
        rows.any(|(sections, parts)| has(sections, section) && has(parts, last))
    };
    match section {
        _ if is_in(&RUNS_CODE) => Some(Cause::RunsCode),
        _ if is_in(&EVERYDAY) => None,
        _ if is_in(&HIDES) => Some(Cause::Hides),
        _ => Some(Cause::Unknown),
    }
}

/// Finds shared refs that were moved or created from a worktree, by its journal.
fn changed_refs(
    git: &Git,
    known: &Worktree,
    journal: &Journal,
    made_here: &MadeHere<'_>,
) -> Result<Vec<SharedChange>, WorktreeError> {
    let recorded = known.recorded_ref_names()?;
    let own = known.record.branch.full_ref();
    let moved = journal.shared();
    let moved = moved.filter(|(name, _)| name.as_bytes() != own.as_bytes());
    let moved: Vec<(&BString, &Target)> = moved.collect();
    let mut wanted: Vec<&str> = vec!["refs/replace/"];
    wanted.extend(moved.iter().filter_map(|(name, _)| name.to_str().ok()));
    let now = git.for_each_ref(&wanted)?.into_iter();
    let now: BTreeMap<BString, CommitId> = now.map(|one| (one.name, one.id)).collect();
    let mut all: Vec<SharedChange> = replaced(&recorded, &now).into_iter().collect();
    for (name, left) in moved {
        let (before, current) = (recorded.get(name), now.get(name));
        if before == current || name.starts_with(b"refs/replace/") {
            continue;
        }
        let one = MovedRef {
            name: name.to_str_lossy().into_owned(),
            before,
            current,
            places: journal.places(name).collect(),
        };
        let is_as_left = match left {
            Target::Object(id) => current == Some(id),
            Target::Nothing => current.is_none(),
            Target::Ref => false,
        };
        let judged = if is_as_left {
            one.judge(git, known, made_here)?
        } else {
            let said = "it was moved from this worktree, and later from elsewhere";
            Some((said.to_owned(), Cause::Unknown))
        };
        // saved work of `remove` and `restore`
        let is_saved = name.starts_with(b"refs/agentwt/") && before.is_none();
        let is_everyday = is_saved || name.starts_with(b"refs/prefetch/");
        if let Some((said, cause)) = judged.filter(|_| !is_everyday) {
            let place = Place::Git(name.clone());
            all.push(SharedChange::new(place, Kind::Ref, said, cause));
        }
    }
    Ok(all)
}

/// A ref that is where the worktree left it, and not where it was at `add`.
struct MovedRef<'a> {
    name: String,
    before: Option<&'a CommitId>,
    current: Option<&'a CommitId>,
    /// Where it was moved from here.
    places: Vec<&'a CommitId>,
}

type Judged = Option<(String, Cause)>;

impl MovedRef<'_> {
    fn judge(
        &self,
        git: &Git,
        known: &Worktree,
        made_here: &MadeHere<'_>,
    ) -> Result<Judged, WorktreeError> {
        let name = self.name.as_str();
        let (said, cause) = match (self.before, self.current) {
            // `fetch --prune`; the next fetch brings back what is there
            (_, None) if name.starts_with("refs/remotes/") => return Ok(None),
            (_, Some(current)) if name.starts_with("refs/remotes/") => {
                return self.judge_remote(current, git, known, made_here);
            }
            (before, current) if name == "refs/stash" => {
                // a stash on top of those of others takes nothing away
                let log = git.reflog(name)?;
                let is_kept = |before: &CommitId| log.iter().any(|entry| entry.id == *before);
                if before.is_none_or(|before| current.is_some() && is_kept(before)) {
                    ("something is stashed from this worktree", Cause::Unknown)
                } else {
                    let said = "a stash of others was dropped from this worktree";
                    (said, Cause::MadeHere)
                }
            }
            (None, Some(at)) if name.starts_with("refs/tags/") && !made_here(at) => {
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
    fn judge_remote(
        &self,
        current: &CommitId,
        git: &Git,
        known: &Worktree,
        made_here: &MadeHere<'_>,
    ) -> Result<Judged, WorktreeError> {
        let own = self.name.ends_with(&format!("/{}", known.record.branch));
        let log = git.reflog(&self.name)?;
        let pushed = |place: &&&CommitId| log.iter().any(|entry| entry.is_push_of(place));
        let (said, is_everyday) =
            if let Some(place) = self.places.iter().find(pushed).filter(|_| !own) {
                let place = place.short();
                let said = format!("commit {place} was pushed there from this worktree");
                (said, false)
            } else if let Some(newest) = log.first().filter(|newest| newest.id == *current) {
                let reason = newest.reason.as_str();
                let is_everyday = if reason.starts_with("update by push") {
                    own
                } else {
                    newest.came_from_elsewhere(&self.name, made_here)
                };
                let said = format!("it was moved from this worktree ({reason})");
                (said, is_everyday)
            } else {
                let is_silent = (own || !made_here(current)) && log.is_empty();
                let said = "it was moved from this worktree, past its log";
                (said.to_owned(), is_silent)
            };
        Ok((!is_everyday).then_some((said, Cause::MadeHere)))
    }
}

/// Replace refs make git show one object for another (git-replace(1)); whoever made them.
fn replaced(
    recorded: &BTreeMap<BString, CommitId>,
    now: &BTreeMap<BString, CommitId>,
) -> Option<SharedChange> {
    let is_replacing = |one: &(&BString, &CommitId)| one.0.starts_with(b"refs/replace/");
    let after = now.iter().filter(is_replacing);
    if recorded.iter().filter(is_replacing).eq(after.clone()) {
        return None;
    }
    let replaced = match after.count() {
        1 => "1 object is".to_owned(),
        many => format!("{many} objects are"),
    };
    let said = format!("{replaced} replaced: git shows others in their place");
    let place = Place::Git("refs/replace".into());
    Some(SharedChange::new(place, Kind::Ref, said, Cause::Hides))
}

/// Finds worktrees that were created from this one (gitrepository-layout(5), `worktrees/<id>`).
fn new_worktrees(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
) -> Result<Vec<SharedChange>, WorktreeError> {
    let directory = repository.common_dir.join("worktrees");
    let mut all = Vec::new();
    let own = known.record.admin_dir.file_name();
    for id in files::names(&directory)? {
        let dot_git = files::read(&directory.join(&id).join("gitdir"))?.unwrap_or_default();
        let path = dot_git.trim().strip_suffix(b"/.git").unwrap_or_default();
        if own != Some(&id) && journal.worktrees.iter().any(|made| made == path) {
            let place = Place::Git(format!("worktrees/{id}").into());
            let said = "it was made from this worktree";
            all.push(SharedChange::new(
                place,
                Kind::Worktree,
                said,
                Cause::MadeHere,
            ));
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
