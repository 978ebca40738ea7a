//! Tells whether what no record accounts for holds work: an incomplete worktree something that
//! neither a checkout nor a copy has written, a private git directory something that is nowhere
//! else.
//!
//! A killed `add` has neither a record nor, maybe, an index, so the files are compared with the
//! base and with the main worktree. A file that was being written when `add` was killed is the
//! beginning of the expected content. Every doubt counts as work.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::actions::put_aside::read_put_aside_in;
use crate::actions::remove::facts::{SharedFacts, has_own_modules};
use crate::config::value::Strategy;
use crate::disk::digest::digest_of;
use crate::disk::files::TEMPORARY;
use crate::disk::open::Opened;
use crate::disk::{files, open};
use crate::git::environment::GitMode;
use crate::git::index::{Stage, read_index};
use crate::git::objects::Objects;
use crate::git::reflog::ReflogEntry;
use crate::inventory::placed::{Digest, Placed};
use crate::record::worktree::{Intent, Record};
use crate::truth::head::reflog_file;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::{PLACED, PLACING};
use crate::worktree::operation::find_operation;
use crate::worktree::repository::Repository;

/// True if a private git directory has something that is nowhere else: an operation in progress,
/// submodules with work, commits that no ref has, or staged files.
pub(super) fn has_work(repository: &Repository, admin_dir: &Utf8Path) -> Result<bool, Error> {
    if find_operation(admin_dir).is_some() || has_own_modules(admin_dir)? {
        return Ok(true);
    }
    let git = repository
        .git
        .on(admin_dir, None)
        .with_mode(GitMode::Hardened);
    let head = git.rev_parse_commit("HEAD")?;
    let reflog = match &head {
        Some(_) => git.reflog("HEAD")?,
        // git reads no reflog of a HEAD that names no commit
        None => reflog_file(admin_dir)?,
    };
    let mut commits = read_put_aside_in(&git, admin_dir)?;
    let left: BTreeSet<CommitId> = reflog
        .iter()
        .filter_map(ReflogEntry::left_detached_commit)
        .collect();
    for commit in left {
        // git may have collected it
        commits.extend(git.rev_parse_commit(commit.as_str())?);
    }
    if head.is_none() {
        // the branch is gone: the newest entry of the log has its commit
        commits.extend(reflog.first().map(|newest| newest.id.clone()));
    } else if git.symbolic_ref_head()?.is_none() {
        commits.extend(head.clone());
    }
    if is_any_unreachable(repository, &commits)? {
        return Ok(true);
    }
    has_staged_files(repository, admin_dir, head.as_ref())
}

/// True if one of these commits is in no branch, remote-tracking branch or tag.
fn is_any_unreachable(repository: &Repository, commits: &[CommitId]) -> Result<bool, Error> {
    if commits.is_empty() {
        return Ok(false);
    }
    let shared = SharedFacts::read(repository)?;
    for commit in commits {
        if !shared
            .unreachable_from_refs(repository, commit, &[])?
            .is_empty()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if the index of a private git directory has other entries than the commit HEAD is on.
fn has_staged_files(
    repository: &Repository,
    admin_dir: &Utf8Path,
    head: Option<&CommitId>,
) -> Result<bool, Error> {
    let index_file = admin_dir.join("index");
    if !files::exists(&index_file) {
        return Ok(false);
    }
    let committed = match head {
        Some(head) => entries_of(&repository.objects()?, head)?,
        None => BTreeMap::new(),
    };
    let index = read_index(&index_file, repository.format)?;
    if index.len() != committed.len() {
        return Ok(true);
    }
    for staged in &index {
        let is_plain = staged.stage == Stage::Unconflicted && !staged.intent_to_add;
        if !is_plain || committed.get(&staged.path) != Some(&staged.entry) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lists the files of a commit.
fn entries_of(objects: &Objects, commit: &CommitId) -> Result<BTreeMap<RepoPath, Entry>, Error> {
    let tree = objects.commit(commit)?.tree;
    Ok(objects.list(&tree)?.into_iter().collect())
}

/// True if a killed `add` left a worktree that an agent has worked in: HEAD has moved, something is
/// in git's files there, or a file is none that `add` writes. `admin_dir` is the private git
/// directory, if git has created one; for a clone it is none.
///
/// # Errors
/// Fails when something cannot be read.
pub fn has_incomplete_work(
    repository: &Repository,
    intent: &Intent,
    admin_dir: Option<&Utf8Path>,
) -> Result<bool, Error> {
    let record = &intent.record;
    let mut own = repository.clone();
    let mut git_dir = admin_dir;
    let own_git_dir = record.path.join(".git");
    if record.strategy == Strategy::Clone && is_git_dir_of_repository(&own_git_dir) {
        own = repository.clone_at(&record.path, repository.format);
        git_dir = Some(&own_git_dir);
    }
    if let Some(git_dir) = git_dir
        && has_work_in_git(&own, record, git_dir)?
    {
        return Ok(true);
    }
    let expected = ExpectedFiles::read(&own, intent, git_dir)?;
    expected.is_other_file_in(record.path.as_std_path(), None)
}

/// True if something is in git's files that a killed `add` does not leave there.
fn has_work_in_git(own: &Repository, record: &Record, git_dir: &Utf8Path) -> Result<bool, Error> {
    if was_on_several_commits(git_dir)? {
        return Ok(true);
    }
    if !files::exists(&git_dir.join("index")) {
        return Ok(false);
    }
    if has_work(own, git_dir).unwrap_or(true) {
        return Ok(true);
    }
    Ok(own.is_clone() && has_new_commits(own, record).unwrap_or(true))
}

/// True if a clone has a commit, as of a branch or a stash, that `add` has not checked out, that is
/// on no remote-tracking branch or tag, and that no ref at home has.
fn has_new_commits(own: &Repository, record: &Record) -> Result<bool, Error> {
    let git = own.git.with_mode(GitMode::Hardened);
    let home_git = own.home().git.with_mode(GitMode::Hardened);
    let mut old = git.for_each_ref(&["refs/remotes/", "refs/tags/"])?;
    old.extend(home_git.for_each_ref(&["refs/heads/", "refs/remotes/", "refs/tags/"])?);
    let mut input = format!("^{}\n", record.checked_out);
    for reference in old {
        input += &format!("^{}\n", reference.id);
    }
    let command = "rev-list --max-count=1 --ignore-missing --all --reflog --stdin";
    let what = "list the commits of the clone";
    let new = git.perform_with(what, command, &[], input.as_bytes())?;
    Ok(!new.is_empty())
}

/// The commit that an `add` was to check out; none where the branch is not there.
fn commit_of_branch(
    repository: &Repository,
    intent: &Intent,
    git_dir: Option<&Utf8Path>,
) -> Result<Option<CommitId>, Error> {
    if let Some(commit) = &intent.branch_at {
        return Ok(Some(commit.clone()));
    }
    let git = match git_dir {
        Some(git_dir) => repository.git.on(git_dir, None),
        None => repository.git.clone(),
    };
    Ok(git.rev_parse_commit(&intent.record.branch.full_ref())?)
}

/// True if a git directory has what git needs to work there.
fn is_git_dir_of_repository(git_dir: &Utf8Path) -> bool {
    let names = ["HEAD", "objects", "refs"];
    names.iter().all(|name| files::exists(&git_dir.join(name)))
}

/// True if HEAD was on more than one commit, as its reflog says. Git also logs the creation, a
/// reset to the same commit, and with the null id a deleted branch.
fn was_on_several_commits(git_dir: &Utf8Path) -> Result<bool, Error> {
    let log = files::read(&git_dir.join("logs/HEAD"))?.unwrap_or_default();
    let mut commits = BTreeSet::new();
    for line in log.lines() {
        let commit = line.split_str(" ").nth(1).unwrap_or_default();
        if commit.iter().any(|digit| *digit != b'0') {
            commits.insert(commit);
        }
    }
    Ok(commits.len() > 1)
}

/// What `add` writes into a new worktree.
struct ExpectedFiles<'a> {
    /// The main worktree, of which files are copied.
    main: &'a Utf8Path,
    objects: Objects,
    base: BTreeMap<RepoPath, Entry>,
    placed: BTreeSet<Digest>,
}

impl<'a> ExpectedFiles<'a> {
    /// Reads what an `add` with this intent was to write.
    fn read(
        repository: &'a Repository,
        intent: &Intent,
        git_dir: Option<&Utf8Path>,
    ) -> Result<Self, Error> {
        let objects = repository.objects()?;
        let base = match commit_of_branch(repository, intent, git_dir)? {
            Some(commit) => entries_of(&objects, &commit)?,
            None => BTreeMap::new(),
        };
        Ok(Self {
            main: &repository.root,
            objects,
            base,
            placed: digests_of_placed(&repository.record_dir(&intent.record.name)),
        })
    }

    /// True if a file in a directory or below it is not one that `add` writes.
    fn is_other_file_in(&self, directory: &Path, parent: Option<&RepoPath>) -> Result<bool, Error> {
        for (name, is_directory) in files::entries(directory)? {
            let name_bytes = name.as_encoded_bytes();
            let is_temporary = !is_directory && name_bytes.starts_with(TEMPORARY.as_bytes());
            let is_dot_git = parent.is_none() && name == ".git";
            if is_dot_git || is_temporary {
                continue;
            }
            let file = directory.join(&name);
            let path = RepoPath::child(parent, name_bytes);
            let is_other = if is_directory {
                self.is_other_file_in(&file, Some(&path))?
            } else {
                !self.is_written_by_add(&file, &path)
            };
            if is_other {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if a file is one of the base, of the main worktree or a placed one, or the beginning of
    /// one: `add` may have been killed while it wrote.
    fn is_written_by_add(&self, file: &Path, path: &RepoPath) -> bool {
        let Some(written) = content(file) else {
            return false;
        };
        let entry = self.base.get(path);
        if let Some(entry) = entry
            && entry.mode != Mode::Gitlink
            && let Ok(blob) = self.objects.blob(&entry.id)
            && (blob.starts_with(&written) || is_without_cr(&blob, &written))
        {
            return true;
        }
        if let Ok(path) = path.to_os_path()
            && let Some(source) = content(&self.main.as_std_path().join(path))
            && source.starts_with(&written)
        {
            return true;
        }
        entry.is_none() && digest_of(&*written).is_ok_and(|digest| self.placed.contains(&digest))
    }
}

/// True if a file is a blob whose line endings the checkout converted.
fn is_without_cr(blob: &[u8], file: &[u8]) -> bool {
    let without_cr = file.iter().filter(|byte| **byte != b'\r');
    blob.iter().eq(without_cr)
}

/// The digests of what a killed `add` placed, or was about to: copies, context and guards. A list
/// that cannot be read counts as none.
fn digests_of_placed(record_dir: &Utf8Path) -> BTreeSet<Digest> {
    let mut digests = BTreeSet::new();
    for list in [PLACED, PLACING] {
        if let Ok(Some(bytes)) = files::read(&record_dir.join(list))
            && let Ok(placed) = Placed::from_bytes(&bytes)
        {
            digests.extend(placed.files().iter().filter_map(|file| file.digest));
        }
    }
    digests
}

/// The bytes of a file, or the text of a link.
fn content(file: &Path) -> Option<Vec<u8>> {
    match open::open_entry(file).ok()? {
        Opened::File { mut content, .. } => {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
        Opened::Link(text) => Some(text.into()),
        Opened::Other => None,
    }
}
