//! Looks at the hooks of every worktree, several side by side: each asks git a few times.

use std::sync::Mutex;

use camino::Utf8PathBuf;

use super::Here;
use crate::config::Strategy;
use crate::disk::files;
use crate::facts::WorktreeError;
use crate::git::GitMode;
use crate::git::hooks::{Hooks, HooksError, HooksStatus};
use crate::plan::doctor::hooks::{AllHooks, HooksState, WorktreeHooks};
use crate::worktree::WatchedFile;
use crate::worktree::repository::{Main, joined};
use crate::worktree::{Worktree, hooks_of};

/// How many worktrees are looked at at once.
const THREADS: usize = 4;

/// Looks at them.
pub fn look(here: &Here<'_>) -> Result<AllHooks, WorktreeError> {
    let repository = here.repository;
    let heads = repository.git.for_each_ref(&["refs/heads/"])?;
    let waiting: Vec<&Worktree> = here.known().collect();
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().ok().and_then(|mut all| all.pop());
    let mut worktrees: Vec<WorktreeHooks> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            while let Some(known) = next() {
                let branch = known.record.branch.full_ref();
                let head = heads.iter().find(|head| head.name == branch.as_bytes());
                done.extend(of(here, known, head.map(|head| &head.id)));
            }
            done
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(joined).collect()
    });
    worktrees.sort_by(|a, b| a.name.cmp(&b.name));
    let users = here.config.iter().rfind(|(scope, key, value)| {
        let path = Utf8PathBuf::from(value.to_string());
        key == "core.hookspath" && scope != "command" && !Hooks::is_ours(&path)
    });
    Ok(AllHooks {
        users: users.map(|(scope, _, value)| (scope.clone(), value.to_string())),
        worktrees,
    })
}

/// Looks at one; none when its directory is gone, which is a matter of what was left behind.
fn of(
    here: &Here<'_>,
    known: &Worktree,
    head: Option<&crate::name::CommitId>,
) -> Option<WorktreeHooks> {
    let record = &known.record;
    if !files::is_directory(&record.path) {
        return None;
    }
    let git = &here.repository.git;
    let status = hooks_of(git, record).and_then(|hooks| hooks.status());
    let head = match record.strategy {
        Strategy::Worktree => head.cloned(),
        // its branch is in no list of this repository's
        Strategy::Clone => {
            let own = known.readable_repository(here.repository);
            let git = own.git.with_mode(GitMode::Hardened);
            let head = git.rev_parse_commit(&record.branch.full_ref());
            head.ok().flatten().filter(|_| own.is_clone())
        }
    };
    let mut found = WorktreeHooks {
        name: record.name.clone(),
        state: state(known, &status),
        gone: None,
        silent: head.is_some_and(|head| is_silent(known, &head)),
        users_missing: None,
    };
    if let Ok(status) = status {
        found.users_missing = users_missing(here, known, &status);
        if let Some((program, false)) = status.binary {
            found.gone = Some(program);
        }
    }
    Some(found)
}

fn state(known: &Worktree, status: &Result<HooksStatus, HooksError>) -> HooksState {
    let status = match status {
        Ok(status) => status,
        Err(error) => return HooksState::Unreadable(error.to_string()),
    };
    match (&status.method, &status.overridden) {
        (None, _) if were_installed(known) => HooksState::Gone,
        (None, _) => HooksState::Unwanted,
        (_, Some((scope, path))) => HooksState::Overridden(scope.clone(), path.clone()),
        (_, None) if status.faults.is_empty() => HooksState::Installed,
        (_, None) => HooksState::Altered(status.faults.clone()),
    }
}

/// Whether the record has digests of hooks of ours.
fn were_installed(known: &Worktree) -> bool {
    let mut files = known.record.integrity.iter();
    files.any(|one| one.file == WatchedFile::HooksBinary && one.digest.is_some())
}

/// Whether commits were made that no hook has verified.
fn is_silent(known: &Worktree, head: &crate::name::CommitId) -> bool {
    let is_new = *head != known.record.base.commit
        && !known.recorded_refs().is_ok_and(|refs| refs.contains(head));
    is_new && known.last_verification().map(|last| last.head).as_ref() != Some(head)
}

/// The directory of the user's hooks that this worktree lacks and the main worktree has.
fn users_missing(here: &Here<'_>, known: &Worktree, status: &HooksStatus) -> Option<Utf8PathBuf> {
    let repository = here.repository;
    let directory = &status.user_directory;
    let relative = directory.strip_prefix(&known.record.path).ok()?;
    let in_main = repository.root.join(relative);
    let lacks = repository.main == Main::Worktree
        && files::is_directory(&in_main)
        && !files::is_directory(directory);
    lacks.then(|| directory.clone())
}
