//! Reads what a worktree is on: HEAD, its branch, its reflog, an operation in progress.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::disk::files;
use crate::git::hooks::journal;
use crate::git::process::Git;
use crate::git::reflog::{ReflogEntry, made_commits, parse_reflog_file};
use crate::record::worktree::Record;
use crate::truth::options::ReadPolicy;
use crate::words::error::Error;
use crate::words::name::{CommitId, branch_of};
use crate::worktree::loaded::{Worktree, in_private};
use crate::worktree::repository::Repository;

/// Holds what a worktree is on.
#[derive(Clone, Debug, Default)]
pub struct WorktreeHead {
    /// The commit HEAD names, or that of the branch where the private git directory cannot be read;
    /// none while the branch of HEAD is unborn, or HEAD is damaged.
    pub head: Option<CommitId>,
    /// The commit its recorded branch names; none when that branch is gone.
    pub branch: Option<CommitId>,
    /// The branch or other ref that HEAD names; none when it names a commit by itself.
    pub symbolic: Option<String>,
    /// True if HEAD names something else than the recorded branch, outside a rebase of it; also if
    /// that branch is gone, or the private git directory cannot be read.
    pub moved: bool,
    /// HEAD's reflog: what was ever made or checked out here.
    pub reflog: Vec<ReflogEntry>,
    /// What a merge in progress merges in.
    pub merging: Vec<CommitId>,
    /// The files in whose place a pipe stands.
    pub pipes: Vec<&'static str>,
}

impl WorktreeHead {
    /// Reads what a worktree is on from the recorded private git directory. If that cannot be read,
    /// the commit that the repository has of the branch stands for HEAD, and HEAD counts as moved.
    ///
    /// # Errors
    /// Fails when the record, a file of git's or a ref cannot be read.
    pub fn read(
        repository: &Repository,
        worktree: &Worktree,
        read_policy: &ReadPolicy,
    ) -> Result<Self, Error> {
        let record = &worktree.record;
        let pipes = pipes(record);
        let is_readable = files::is_directory(&record.admin_dir) && pipes.is_empty();
        if !is_readable || worktree.has_lost_repository(repository) {
            let branch = read_branch(repository, record, read_policy)?;
            return Ok(Self {
                head: branch.clone(),
                branch,
                moved: true,
                pipes,
                ..Self::default()
            });
        }
        let git = worktree.hardened_git(repository);
        let branch_ref = record.branch.full_ref();
        let head = read_private_ref(repository, &git, "HEAD", read_policy)?;
        let mut branch = read_private_ref(repository, &git, &branch_ref, read_policy)?;
        if head.is_none() && branch.is_none() {
            // with a damaged HEAD git reads no ref there: what was committed is verified all the
            // same
            branch = read_branch(repository, record, read_policy)?;
        }
        let symbolic = read_symbolic(repository, &git, read_policy)?;
        let moved = match &symbolic {
            Some(name) => *name != branch_ref || branch.is_none(),
            None => !read_policy.or(is_rebased(record), || false)?,
        };
        let log = match head {
            Some(_) => git.reflog("HEAD").map_err(Error::from),
            None => reflog_file(&record.admin_dir),
        };
        Ok(Self {
            moved,
            head,
            branch,
            symbolic,
            reflog: read_policy.or(log, Vec::new)?,
            merging: read_policy.or(merge_heads(record), Vec::new)?,
            pipes,
        })
    }

    /// Says where HEAD is, if that is not the recorded branch; none if it is, or while that branch is
    /// rebased.
    pub fn head_problem(&self, record: &Record) -> Option<String> {
        if !self.moved {
            return None;
        }
        let recorded = &record.branch;
        if self.symbolic.as_ref() == Some(&recorded.full_ref()) {
            return Some(format!("its branch {recorded} is gone"));
        }
        let place = if let Some(name) = &self.symbolic {
            branch_of(name).to_owned()
        } else if let Some(commit) = &self.head {
            format!("commit {}", commit.short())
        } else {
            "nothing".to_owned()
        };
        Some(format!("it is on {place}, not on {recorded}"))
    }

    /// Lists where HEAD is, and where it was each time that it left a commit that it named by
    /// itself: perhaps nothing else has those. Git does not log that it went to an unborn branch.
    pub fn detached(&self) -> Vec<CommitId> {
        let mut commits: BTreeSet<&CommitId> = BTreeSet::new();
        for pair in self.reflog.windows(2) {
            // the id in the entry itself may be that of a commit that git has collected
            if pair[0].left_detached_commit().is_some() {
                commits.insert(&pair[1].id);
            }
        }
        let newest = self.reflog.first().map(|entry| &entry.id);
        commits.extend(self.head.as_ref().or(newest));
        commits.into_iter().cloned().collect()
    }

    /// Lists the commits that were made here, as far as the reflog tells.
    pub fn made_here(&self) -> Vec<CommitId> {
        made_commits(&self.reflog)
    }
}

/// Reads the commit of a ref as the private git directory has it; none where that is damaged.
fn read_private_ref(
    repository: &Repository,
    git: &Git,
    name: &str,
    read_policy: &ReadPolicy,
) -> Result<Option<CommitId>, Error> {
    let commit = in_private(repository, git.rev_parse_commit(name));
    read_policy.or(commit, || None)
}

/// Reads the commit of the recorded branch in the repository.
fn read_branch(
    repository: &Repository,
    record: &Record,
    read_policy: &ReadPolicy,
) -> Result<Option<CommitId>, Error> {
    let branch = repository.git.rev_parse_commit(&record.branch.full_ref());
    read_policy.or(branch, || None)
}

/// Reads which ref HEAD names.
fn read_symbolic(
    repository: &Repository,
    git: &Git,
    read_policy: &ReadPolicy,
) -> Result<Option<String>, Error> {
    let symbolic = git.symbolic_ref_head();
    if let Err(error) = &symbolic {
        read_policy.note(error);
    }
    read_policy.or(in_private(repository, symbolic), || None)
}

/// Files of the private git directory that git opens.
pub const OPENED: [&str; 7] = [
    "HEAD",
    "index",
    "logs/HEAD",
    "config.worktree",
    "commondir",
    "gitdir",
    "MERGE_HEAD",
];

/// Names the files of the private git directory in whose place a pipe or a device stands: a program
/// that reads one may not end.
pub fn pipes(record: &Record) -> Vec<&'static str> {
    OPENED
        .into_iter()
        .chain([journal::FILE])
        .filter(|name| files::is_endless(&record.admin_dir.join(name)))
        .collect()
}

/// Reads what HEAD's reflog has while git reads none, as HEAD names no commit; the newest entry
/// first.
///
/// # Errors
/// Fails when the file is there and cannot be read.
pub fn reflog_file(admin: &Utf8Path) -> Result<Vec<ReflogEntry>, Error> {
    let bytes = files::read(&admin.join("logs/HEAD"))?;
    Ok(parse_reflog_file(&bytes.unwrap_or_default()))
}

/// True if a rebase of the recorded branch is in progress: HEAD is then detached
/// (git-rebase(1), `rebase-merge` and `rebase-apply` hold `head-name`). The apply backend writes
/// that only when it stops; until then its file `rebasing` is all there is.
fn is_rebased(record: &Record) -> Result<bool, Error> {
    let branch_ref = record.branch.full_ref();
    for name in ["rebase-merge", "rebase-apply"] {
        let directory = record.admin_dir.join(name);
        match files::read(&directory.join("head-name"))? {
            Some(head_name) if head_name.trim_ascii_end() == branch_ref.as_bytes() => {
                return Ok(true);
            }
            None if files::exists(&directory.join("rebasing")) => return Ok(true),
            Some(_) | None => {}
        }
    }
    Ok(false)
}

/// True if any rebase is in progress. `git am` uses `rebase-apply` too, without `rebasing`.
pub fn in_rebase(record: &Record) -> bool {
    ["rebase-merge", "rebase-apply/rebasing"]
        .iter()
        .any(|path| files::exists(&record.admin_dir.join(path)))
}

/// True if an operation of several steps is in progress and has more of them to come. Git then
/// holds the index in memory: a file whose ctime changes in between (a write bit does that) looks
/// edited to the next step, which refuses to go on once the clock has passed into another second.
///
/// # Errors
/// Fails when the disk does.
pub fn has_steps_to_come(record: &Record) -> Result<bool, Error> {
    let admin_dir = &record.admin_dir;
    if let Some(steps) = count_steps(&admin_dir.join("rebase-merge/git-rebase-todo"))? {
        return Ok(steps > 0);
    }
    // a cherry-pick's list still has the step that is being done
    if let Some(steps) = count_steps(&admin_dir.join("sequencer/todo"))? {
        return Ok(steps > 1);
    }
    let next = read_number(&admin_dir.join("rebase-apply/next"))?;
    let last = read_number(&admin_dir.join("rebase-apply/last"))?;
    // `git am` ends with its last patch, a rebase with post-rewrite
    let is_rebase = files::exists(&admin_dir.join("rebase-apply/rebasing"));
    Ok(last.is_some() && (next < last || is_rebase))
}

/// Counts the steps in a list of what is left to do; none if there is no list.
fn count_steps(todo: &Utf8Path) -> Result<Option<usize>, Error> {
    let Some(bytes) = files::read(todo)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let steps = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#') && *line != "noop")
        .count();
    Ok(Some(steps))
}

/// Reads the number in a file; none if it is not there, or has none.
fn read_number(file: &Utf8Path) -> Result<Option<u64>, Error> {
    let bytes = files::read(file)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).trim().parse().ok())
}

/// True if HEAD has just been taken to where a rebase begins. The apply backend has made no
/// directory of its own yet; only the reflog says so.
///
/// # Errors
/// Fails when the log of HEAD cannot be read.
pub fn starts_rebase(repository: &Repository, worktree: &Worktree) -> Result<bool, Error> {
    let log = worktree.hardened_git(repository).reflog("HEAD")?;
    let newest = log.first();
    Ok(newest.is_some_and(|entry| entry.reason.contains(" (start): checkout ")))
}

/// Reads the commits that a merge in progress merges in.
fn merge_heads(record: &Record) -> Result<Vec<CommitId>, Error> {
    read_commits(&record.admin_dir.join("MERGE_HEAD"))
}

/// Reads the commits that a file of an operation names, a line each; none if there is no file,
/// or a pipe stands in its place.
///
/// # Errors
/// Fails when the file is there and cannot be read.
pub fn read_commits(file: &Utf8Path) -> Result<Vec<CommitId>, Error> {
    if files::is_endless(file) {
        return Ok(Vec::new());
    }
    let bytes = files::read(file)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(text
        .lines()
        .filter_map(|line| CommitId::parse(line.trim()).ok())
        .collect())
}
