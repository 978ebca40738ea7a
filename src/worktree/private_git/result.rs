//! Reads what a run left in its private git directory, which can be anything.

use std::collections::BTreeSet;
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use crate::disk::files;
use crate::git::reflog::{ReflogEntry, parse_reflog_file};
use crate::git::refs::{Ref, is_ref_name};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::find_operation;
use crate::worktree::private_git::{PrivateGit, RunResult, incoming_ref, run_refs};
use crate::worktree::repository::Repository;

/// How long git may take to list the refs of a run.
const LONGEST_LISTING: Duration = Duration::from_secs(20);
/// Below which refs git remembers what remotes have.
const REMOTES: &[u8] = b"refs/remotes/";
/// How many of the newest entries of a log are looked at.
const MOST_ENTRIES: usize = 1000;

impl RunResult {
    /// True if HEAD names the branch of the worktree.
    pub fn is_on_branch(&self, worktree: &Worktree) -> bool {
        self.head_ref.as_deref() == Some(worktree.record.branch.full_ref().as_str())
    }
}

impl PrivateGit {
    /// Reads what a run left, through the server side of a fetch: that is what git documents as
    /// safe on a repository that is not trusted (git-upload-pack(1), "SECURITY").
    ///
    /// # Errors
    /// Fails when git cannot read it.
    pub fn read_result(
        &self,
        repository: &Repository,
        worktree: &Worktree,
    ) -> Result<RunResult, Error> {
        let git_dir = self.git_dir();
        // git is never waited for without an end
        let limited = repository.git.with_limit(LONGEST_LISTING);
        let listed = limited.list_refs_of(git_dir.as_str())?;
        let refs_at_begin = self.refs_at_begin()?;
        let branch = worktree.record.branch.full_ref();
        let mut result = RunResult {
            head_ref: listed.head,
            operation: find_operation(&git_dir),
            began: lasting_commits(&refs_at_begin, worktree),
            been_on: read_log(&git_dir.join("logs/HEAD"), MOST_ENTRIES),
            ..RunResult::default()
        };
        let fetched = fetched_commits(&git_dir, &listed.refs);
        for (name, id) in listed.refs {
            // git lists a ref that it cannot read with zeros
            if !id.is_known() {
                continue;
            }
            let is_tracking = name.starts_with(REMOTES) && is_ref_name(&name);
            let is_fetched = is_tracking && fetched.contains(&id);
            let listed_ref = Ref::new(name, id);
            if is_tracking && !is_upstream_of(worktree, &listed_ref) {
                result.pushed.extend(last_push(&git_dir, &listed_ref.name));
            }
            if is_fetched {
                let is_moved = !refs_at_begin.contains(&listed_ref);
                if is_moved && !is_pushed(&git_dir, &listed_ref) {
                    result.fetched.push(listed_ref.name);
                }
                continue;
            }
            // HEAD and the branch are wanted wherever they are, other refs if the run moved them
            if listed_ref.name == "HEAD" {
                result.head = Some(listed_ref.id);
            } else if listed_ref.name == branch {
                result.branch = Some(listed_ref.id);
            } else if refs_at_begin.contains(&listed_ref) {
                // it is where it was
            } else if listed_ref.name == "refs/stash" {
                result.stashes.push(listed_ref.id);
            } else {
                result.others.push((listed_ref.name, listed_ref.id));
            }
        }
        if !result.stashes.is_empty() {
            result.stashes.extend(older_stashes(&git_dir));
        }
        Ok(result)
    }
}

/// The stashes beside the newest, which alone is a ref.
fn older_stashes(git_dir: &Utf8Path) -> Vec<CommitId> {
    let mut log = read_log(&git_dir.join("logs/refs/stash"), MOST_ENTRIES);
    log.drain(..log.len().min(1));
    log
}

/// The commits of those remote-tracking refs that a fetch or a push has set, as their logs say: a
/// remote has them, so they are no work of the run.
fn fetched_commits(git_dir: &Utf8Path, refs: &[(BString, CommitId)]) -> BTreeSet<CommitId> {
    let mut commits = BTreeSet::new();
    for (name, id) in refs {
        if !name.starts_with(REMOTES) || !is_ref_name(name) {
            continue;
        }
        if let Some(newest) = newest_entry(git_dir, name.as_bstr())
            && newest.id == *id
            && newest.came_from_elsewhere(&name.to_str_lossy())
        {
            commits.insert(id.clone());
        }
    }
    commits
}

/// True if a push has set a remote-tracking ref, as its log says.
fn is_pushed(git_dir: &Utf8Path, tracking: &Ref) -> bool {
    let newest = newest_entry(git_dir, tracking.name.as_bstr());
    newest.is_some_and(|entry| entry.is_push_of(&tracking.id))
}

/// Returns a remote-tracking ref as the last push has set it, whatever moved it since: the git
/// directory has no log of what others pushed.
fn last_push(git_dir: &Utf8Path, name: &BString) -> Option<Ref> {
    let log = read_entries(git_dir, name.as_bstr());
    let pushed = log.into_iter().find(|entry| entry.is_push_of(&entry.id))?;
    Some(Ref::new(name.clone(), pushed.id))
}

/// True if a remote-tracking ref is that of the worktree's branch under its own name.
fn is_upstream_of(worktree: &Worktree, tracking: &Ref) -> bool {
    let ending = format!("/{}", worktree.record.branch);
    tracking.name.ends_with_str(&ending)
}

/// The newest entry of the log of a ref.
fn newest_entry(git_dir: &Utf8Path, name: &BStr) -> Option<ReflogEntry> {
    read_entries(git_dir, name).into_iter().next()
}

/// The log of a ref, the newest entry first; empty where it has none that can be read.
fn read_entries(git_dir: &Utf8Path, name: &BStr) -> Vec<ReflogEntry> {
    let log = git_dir.join("logs").join(name.to_str_lossy().as_ref());
    let bytes = files::read(&log).ok().flatten().unwrap_or_default();
    parse_reflog_file(&bytes)
}

/// The commits of these refs, without the refs that runs leave for a time, until an import.
fn lasting_commits(refs: &BTreeSet<Ref>, worktree: &Worktree) -> BTreeSet<CommitId> {
    let incoming = incoming_ref(worktree);
    let left_by_runs = run_refs(worktree);
    let mut commits = BTreeSet::new();
    for one_ref in refs {
        let name = &one_ref.name;
        if !name.starts_with_str(&incoming) && !name.starts_with_str(&left_by_runs) {
            commits.insert(one_ref.id.clone());
        }
    }
    commits
}

/// Reads where a ref was, by a reflog that a command could replace by anything: the newest places
/// first, and no more than `most`.
pub(super) fn read_log(log: &Utf8Path, most: usize) -> Vec<CommitId> {
    let bytes = files::read(log).ok().flatten().unwrap_or_default();
    let mut commits = Vec::new();
    for entry in parse_reflog_file(&bytes).into_iter().take(most) {
        commits.push(entry.id);
    }
    commits
}
