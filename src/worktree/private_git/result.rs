//! Reads what a run left in its private git directory, which can be anything.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::{BString, ByteSlice};
use camino::Utf8Path;

use crate::disk::files;
use crate::git::reflog::{ReflogEntry, parse_reflog_file};
use crate::git::refs::{Ref, is_ref_name};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::find_operation;
use crate::worktree::private_git::{
    PrivateGit, RunResult, incoming_ref, is_branch_on_remote, run_refs,
};
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
        let tracking_logs = TrackingLogs::read(&git_dir, &listed.refs);
        let fetched = tracking_logs.fetched_commits(&listed.refs);
        let mut result = RunResult {
            head_ref: listed.head,
            operation: find_operation(&git_dir),
            began: lasting_commits(&refs_at_begin, worktree),
            been_on: read_log(&git_dir.join("logs/HEAD"), MOST_ENTRIES),
            pushed: tracking_logs.pushed_elsewhere(worktree),
            ..RunResult::default()
        };
        for (name, id) in listed.refs {
            // git lists a ref that it cannot read with zeros
            if !id.is_known() {
                continue;
            }
            let is_fetched = name.starts_with(REMOTES) && fetched.contains(&id);
            let listed_ref = Ref::new(name, id);
            if is_fetched {
                let is_moved = !refs_at_begin.contains(&listed_ref);
                if is_moved && !tracking_logs.is_pushed(&listed_ref) {
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

/// The logs of the remote-tracking refs of a run, the newest entry first; each is read once. A ref
/// without a log, or with one that cannot be read, has none here.
struct TrackingLogs(BTreeMap<BString, Vec<ReflogEntry>>);

impl TrackingLogs {
    fn read(git_dir: &Utf8Path, refs: &[(BString, CommitId)]) -> Self {
        let mut logs = BTreeMap::new();
        for (name, _id) in refs {
            if !name.starts_with(REMOTES) || !is_ref_name(name) {
                continue;
            }
            let log = git_dir.join("logs").join(name.to_str_lossy().as_ref());
            let bytes = files::read(&log).ok().flatten().unwrap_or_default();
            let entries = parse_reflog_file(&bytes);
            if !entries.is_empty() {
                logs.insert(name.clone(), entries);
            }
        }
        Self(logs)
    }

    /// The newest entry of the log of a ref.
    fn newest(&self, name: &BString) -> Option<&ReflogEntry> {
        self.0.get(name)?.first()
    }

    /// The commits of those refs that a fetch or a push has set: a remote has them, so they are no
    /// work of the run.
    fn fetched_commits(&self, refs: &[(BString, CommitId)]) -> BTreeSet<CommitId> {
        let mut commits = BTreeSet::new();
        for (name, id) in refs {
            if let Some(newest) = self.newest(name)
                && newest.id == *id
                && newest.came_from_elsewhere(&name.to_str_lossy())
            {
                commits.insert(id.clone());
            }
        }
        commits
    }

    /// True if a push has set a ref.
    fn is_pushed(&self, tracking: &Ref) -> bool {
        let newest = self.newest(&tracking.name);
        newest.is_some_and(|entry| entry.is_push_of(&tracking.id))
    }

    /// The refs as the last push has set them, whatever moved them since: in the git directory of a
    /// run, a push is one of the run. Not that of the worktree's branch under its own name.
    fn pushed_elsewhere(&self, worktree: &Worktree) -> Vec<Ref> {
        let mut pushed = Vec::new();
        for (name, entries) in &self.0 {
            if is_branch_on_remote(worktree, name.as_bstr()) {
                continue;
            }
            if let Some(push) = entries.iter().find(|entry| entry.is_push_of(&entry.id)) {
                pushed.push(Ref::new(name.clone(), push.id.clone()));
            }
        }
        pushed
    }
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
