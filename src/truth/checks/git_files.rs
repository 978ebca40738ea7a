//! Compares the hooks and the files in git directories with what `add` sealed of them: what hooks
//! run, states of other worktrees, and what nobody knows.
//!
//! The [`Cause`] of a change says whether git can run a program by it, or hides something.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use crate::disk::files;
use crate::git::git_dir::{ALTERNATES, SHALLOW};
use crate::judge::change::{Cause, Content, Kind, Place, SharedChange};
use crate::record::worktree::{Digests, GitDirOwner, SealExtent, Sealed, Shared};
use crate::truth::digests::{ALONE, DIRECTORY, OWN_GIT_DIR, PLAIN, STARTS};
use crate::truth::facts::CommitFacts;
use crate::truth::git_dirs;
use crate::truth::git_dirs::{
    AUTOSTASH, Directories, OPERATION, Role, TODO, is_of_operation, is_sealed_by_entry, role_of,
};
use crate::truth::inputs::SurveyInputs;
use crate::truth::rewired::differing;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::repository::Repository;

/// Finds the hooks and the files of git directories that are not as they were at `add`.
///
/// # Errors
/// Fails when git or the disk does.
pub fn find_git_files(
    inputs: &SurveyInputs<'_>,
    _facts: &CommitFacts,
) -> Result<Vec<SharedChange>, Error> {
    let seals = &inputs.seals;
    let mut changes = changed_git_files(inputs.repository, &seals.before, &seals.now)?;
    excuse_fetched_ends_of_history(inputs, &mut changes)?;
    Ok(changes)
}

/// Makes a change of `shallow` harmless if fetches of others explain it: in a clone that was
/// shallow at `add`, each fetch may move the commits at which history ends.
fn excuse_fetched_ends_of_history(
    inputs: &SurveyInputs<'_>,
    changes: &mut [SharedChange],
) -> Result<(), Error> {
    let files_at_add = &inputs.seals.before.sealed.files;
    if !files_at_add.contains_key(&format!("@git/{SHALLOW}")) {
        return Ok(());
    }
    let Some(refs) = &inputs.refs else {
        return Ok(());
    };
    let shallow = Place::Git(SHALLOW.into());
    for change in changes {
        let hides_history = change.change.place == shallow && change.cause == Cause::Hides;
        if hides_history && refs.ends_where_others_fetched()? {
            change.cause = Cause::Unknown;
        }
    }
    Ok(())
}

/// Compares the hooks and the files of two seals.
///
/// # Errors
/// Fails when git or the disk does.
pub fn changed_git_files(
    repository: &Repository,
    before: &Shared,
    now: &Shared,
) -> Result<Vec<SharedChange>, Error> {
    let mut changes = changed_hooks(&before.hooks, &now.hooks);
    let mut hooks = BTreeSet::new();
    for hook in &changes {
        hooks.insert(hook.change.place.clone());
    }
    for change in changed_files(repository, before, &now.sealed) {
        // a hook that cannot be started any more is reported as a hook alone
        if !hooks.contains(&change.change.place) {
            changes.push(change);
        }
    }
    excuse_committed_hooks(repository, now, &mut changes)?;
    Ok(changes)
}

/// Makes a changed file of the main worktree harmless if the commit that the main worktree is on
/// has it so: hooks of `core.hooksPath` may be tracked files, which the user's own pull changes.
fn excuse_committed_hooks(
    repository: &Repository,
    now: &Shared,
    changes: &mut [SharedChange],
) -> Result<(), Error> {
    let committed = read_committed(repository, changes)?;
    for change in changes {
        let Place::Main(path) = &change.change.place else {
            continue;
        };
        let name = change.change.place.to_string();
        let digest = now.sealed.files.get(&name).or_else(|| now.hooks.get(&name));
        let id = digest.map(|digest| digest.trim_end_matches(PLAIN));
        if id.is_some() && id == committed.get(path).map(String::as_str) {
            change.cause = Cause::Unknown;
        }
    }
    Ok(())
}

/// Returns what was done to a thing.
fn done_to<T>(before: Option<T>, now: Option<T>) -> &'static str {
    match (before, now) {
        (None, _) => "added",
        (Some(_), None) => "removed",
        (Some(_), Some(_)) => "changed",
    }
}

/// Finds the hooks that are not as they were.
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

/// Finds the files that are not as they were: of hooks, and in git directories.
fn changed_files(repository: &Repository, recorded: &Shared, now: &Sealed) -> Vec<SharedChange> {
    let before = &recorded.sealed;
    let judge = FileJudge::new(repository, recorded, now);
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

/// Holds a sealed file that is in a git directory.
struct GitDirFile<'a> {
    /// Its place: `@git/info/exclude`.
    name: &'a str,
    /// Its path in the git directory: `info/exclude`.
    state: &'a str,
    owner: GitDirOwner,
    role: Role,
}

impl GitDirFile<'_> {
    fn is_of_submodule(&self) -> bool {
        self.owner == GitDirOwner::Submodule
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
    /// What `before` has of each git directory.
    extent: SealExtent,
    /// The contents that any hook or file had at `add`.
    contents_at_add: BTreeSet<&'a String>,
}

impl<'a> FileJudge<'a> {
    fn new(repository: &'a Repository, recorded: &'a Shared, now: &Sealed) -> Self {
        let before = &recorded.sealed;
        let directories_before = git_dirs::directories(before);
        let directories_now = git_dirs::directories(now);
        let mut directories = directories_before.clone();
        directories.extend(directories_now.clone());
        let mut contents_at_add: BTreeSet<&String> = before.files.values().collect();
        contents_at_add.extend(recorded.hooks.values());
        Self {
            repository,
            before: directories_before,
            now: directories_now,
            directories,
            is_older: git_dirs::is_of_older_version(before),
            extent: before.extent,
            contents_at_add,
        }
    }

    /// Says what a change of a file means; none for everyday work, and where the seal cannot tell.
    fn judge(
        &self,
        name: &str,
        before: Option<&String>,
        now: Option<&String>,
    ) -> Option<FileChange> {
        if name.ends_with("/.git") {
            return judge_link(now, "git takes it for the repository");
        }
        let Some((directory, state)) = git_dirs::split(name, &self.directories) else {
            // what is sealed outside of git directories are hooks
            return Some(self.judge_hook(before, now));
        };
        if state == "commondir" {
            return judge_link(now, "git takes settings, hooks and objects from there");
        }
        let file = GitDirFile {
            name,
            state,
            owner: self.directories[directory],
            role: role_of(state.split('/').next().unwrap_or(state)),
        };
        let is_directory_in_both =
            self.now.contains_key(directory) && self.before.contains_key(directory);
        // git reads no hooks in the private git directory of a worktree
        let is_hook = file.role == Role::Hooks && directory != OWN_GIT_DIR;
        // git runs the hooks of a new submodule
        let came_with_submodule = file.is_of_submodule() && now.is_some();
        if is_hook && (is_directory_in_both || came_with_submodule) {
            return Some(self.judge_hook(before, now));
        }
        // the file came or went with its directory
        if !is_directory_in_both && !is_of_operation(state) {
            return None;
        }
        if !self.has_state_of_add(&file, before, now) {
            return None;
        }
        self.judge_state(&file, before, now)
    }

    /// True if the seal of `add` tells what a file in a git directory was like: a seal of an older
    /// version, or of entries alone, does not have every file.
    fn has_state_of_add(
        &self,
        file: &GitDirFile<'_>,
        before: Option<&String>,
        now: Option<&String>,
    ) -> bool {
        let is_new_role = matches!(file.role, Role::Unknown | Role::Remotes);
        if self.is_older && (file.is_of_submodule() || is_new_role) {
            return false;
        }
        self.extent != SealExtent::Entries || is_comparable_by_entry(file.state, before, now)
    }

    /// Says what a change of a file in a git directory means by the file's path there.
    fn judge_state(
        &self,
        file: &GitDirFile<'_>,
        before: Option<&String>,
        now: Option<&String>,
    ) -> Option<FileChange> {
        let state = file.state;
        match state {
            "HEAD" => self.judge_head(file.name, before, now),
            AUTOSTASH => judge_autostash(before, now),
            TODO => judge_todo(before, now),
            _state if OPERATION.contains(&state) => judge_operation(before, now),
            _state if file.role == Role::Operation => judge_way_of_operation(before, now),
            _state if is_watched(state) => {
                let detail = format!("it was {} since `add`", done_to(before, now));
                // a submodule is a repository too; of a worktree git reads no such file
                let in_repository = format!("@git/{state}");
                let name_to_git = match file.owner {
                    GitDirOwner::Worktree => file.name,
                    GitDirOwner::Repository | GitDirOwner::Submodule => &in_repository,
                };
                Some(judge_watched(name_to_git, now, detail))
            }
            // `core.hooksPath` can name a directory in the git directory
            _file if file.role == Role::Unknown && state.contains('/') => {
                Some(self.judge_hook(before, now))
            }
            _unknown => Some(judge_unknown(before, now)),
        }
    }

    /// Says what a change of a hook means. One that was added does no harm where it cannot be
    /// started, or other repositories have it.
    fn judge_hook(&self, before: Option<&String>, now: Option<&String>) -> FileChange {
        let cannot_start = now.is_some_and(|digest| digest.ends_with(PLAIN));
        // git copies the hooks of a template to each repository (git-init(1), "TEMPLATE DIRECTORY")
        let is_copy = now.is_some_and(|digest| self.contents_at_add.contains(digest));
        let cause = if before.is_none() && (cannot_start || is_copy) {
            Cause::Unknown
        } else {
            Cause::RunsCode
        };
        let done = done_to(before, now);
        let detail = format!("this file of a hook was {done} since `add`");
        FileChange::new(Kind::Hook, cause, detail)
    }

    /// Says what a change of HEAD means; none if its log has the move.
    fn judge_head(
        &self,
        name: &str,
        before: Option<&String>,
        now: Option<&String>,
    ) -> Option<FileChange> {
        if now.is_some_and(|head| has_logged(self.repository, name, head)) {
            return None;
        }
        let detail = format!(
            "it was `{}` and is `{}`, and its log does not have that move",
            before.map_or("nothing", String::as_str),
            now.map_or("nothing", String::as_str)
        );
        Some(FileChange::new(Kind::Ref, Cause::Unknown, detail))
    }
}

/// True if a seal of entries alone can tell that a file was changed: it had less than there is now.
fn is_comparable_by_entry(state: &str, before: Option<&String>, now: Option<&String>) -> bool {
    match before {
        None => is_sealed_by_entry(state) && !is_directory_of_more(state, now),
        Some(before) => before != DIRECTORY || !now.is_some_and(|now| now.starts_with(DIRECTORY)),
    }
}

/// True if a directory stands where git reads files by their names.
fn is_directory_of_more(state: &str, now: Option<&String>) -> bool {
    state.contains('/') && now.is_some_and(|now| now.starts_with(DIRECTORY))
}

/// Says what it means that git is led elsewhere; none if it is no longer.
fn judge_link(now: Option<&String>, why: &str) -> Option<FileChange> {
    now?;
    let detail = format!("it leads to another git directory since `add`: {why}");
    Some(FileChange::new(Kind::Config, Cause::RunsCode, detail))
}

/// Says what a change of the state of an operation means; none if it ended.
fn judge_operation(before: Option<&String>, now: Option<&String>) -> Option<FileChange> {
    now?;
    let done = done_to(before, now);
    let detail = format!("the state of an operation was {done} since `add`");
    Some(FileChange::new(Kind::Ref, Cause::Unknown, detail))
}

/// Says what a change of the stash means that the next commit applies: where no merge is in
/// progress, none made it. None if it is gone.
fn judge_autostash(before: Option<&String>, now: Option<&String>) -> Option<FileChange> {
    if !now?.ends_with(ALONE) {
        return judge_operation(before, now);
    }
    let detail = "no merge is in progress that made it, and the next commit applies this stash";
    Some(FileChange::new(Kind::Ref, Cause::Hides, detail))
}

/// Says what it means that the strategy or the options of an operation are others; nothing where
/// another operation is in progress, which is everyday work.
fn judge_way_of_operation(before: Option<&String>, now: Option<&String>) -> Option<FileChange> {
    before?;
    now?;
    let detail = "how an operation in progress goes on was changed since `add`";
    Some(FileChange::new(Kind::Config, Cause::Unknown, detail))
}

/// Says what a change of a file means that nothing is known to read.
fn judge_unknown(before: Option<&String>, now: Option<&String>) -> FileChange {
    let done = done_to(before, now);
    let detail = format!("it was {done} since `add`, and what reads it is not known");
    FileChange::new(Kind::Config, Cause::Unknown, detail)
}

/// Says what a change of the commands of a rebase means; none if it ended. A rebase that began with
/// programs to start is a finding in its own worktree too: no record there says who wrote the
/// commands.
fn judge_todo(before: Option<&String>, now: Option<&String>) -> Option<FileChange> {
    let starts_program = now?.ends_with(STARTS);
    if before.is_none() && starts_program {
        let change = FileChange::new(Kind::Config, Cause::Unknown, STARTS_PROGRAMS);
        return Some(change);
    }
    if before.is_none() {
        return judge_operation(before, now);
    }
    let cause = if starts_program {
        Cause::RunsCode
    } else {
        Cause::Unknown
    };
    let done = done_to(before, now);
    let detail = format!("the commands of this rebase were {done} since `add`");
    Some(FileChange::new(Kind::Config, cause, detail))
}

/// What is said of a rebase that began since `add` and starts programs.
const STARTS_PROGRAMS: &str = "a rebase is in progress that starts programs: read them with \
    `git rebase --edit-todo` before it goes on";

/// True if [`judge_watched`] says what a change of a file means.
fn is_watched(state: &str) -> bool {
    let is_below = state.starts_with("info/") || state.starts_with("rr-cache/");
    is_below || [SHALLOW, ALTERNATES].contains(&state)
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

/// True if the log of a HEAD says that it came to be what it is: by its last entry where it names a
/// commit, by the last that names a branch where it names one (git-reflog(1)).
fn has_logged(repository: &Repository, name: &str, head: &str) -> bool {
    let git_dir = name.trim_start_matches("@git/").trim_end_matches("HEAD");
    let file = repository.common_dir.join(git_dir).join("logs/HEAD");
    let bytes = files::read(&file).ok().flatten().unwrap_or_default();
    let log = bytes.to_str_lossy();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => log.lines().rev().find_map(branch_named_in).as_deref() == Some(branch),
        None => {
            let newest = log.lines().next_back();
            newest.and_then(|line| line.split(' ').nth(1)) == Some(head)
        }
    }
}

/// Returns the branch to which HEAD went by a line of its log.
fn branch_named_in(line: &str) -> Option<String> {
    let (_, message) = line.split_once('\t')?;
    let target = if let Some(branch) = message.strip_prefix("rebase: checkout ") {
        // `git rebase <upstream> <branch>` of a branch that is up to date
        branch
    } else if let Some(rest) = message.strip_prefix("rebase") {
        rest.split_once("returning to ")?.1
    } else if message.starts_with("checkout: moving from ") {
        message.rsplit_once(" to ")?.1
    } else {
        message
            .strip_prefix("Branch: renamed ")?
            .rsplit_once(" to ")?
            .1
    };
    Some(target.trim_start_matches("refs/heads/").to_owned())
}

/// Reads the ids that the changed files of the main worktree have in the commit that it is on.
fn read_committed(
    repository: &Repository,
    changes: &[SharedChange],
) -> Result<BTreeMap<BString, String>, Error> {
    let mut committed = BTreeMap::new();
    let mut paths: BTreeSet<RepoPath> = BTreeSet::new();
    for change in changes {
        if let Place::Main(path) = &change.change.place {
            paths.extend(RepoPath::parse(path.to_vec()).ok());
        }
    }
    if paths.is_empty() {
        return Ok(committed);
    }
    let home = repository.home();
    let Some(head) = home.git.rev_parse_commit("HEAD")? else {
        return Ok(committed);
    };
    let objects = home.objects()?;
    let entries = objects.at(&objects.commit(&head)?.tree, &paths);
    for (path, entry) in entries.unwrap_or_default() {
        committed.insert(path.as_bstr().to_owned(), entry.id.to_string());
    }
    Ok(committed)
}
