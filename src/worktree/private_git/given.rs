//! Gives a private git directory the commits of its branch and what is staged, without the content
//! of excluded files (`--withhold`). Git fetches into a directory of its own: a command cannot have
//! put anything there.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::git_dir::SHALLOW;
use crate::git::index::OpenIndex;
use crate::git::objects::Objects;
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::entries::put;
use crate::worktree::private_git::settings::{WITHHELD_REMOTE, write_settings};
use crate::worktree::private_git::{NEW, PrivateGit, is_branch_on_remote};
use crate::worktree::repository::Repository;

/// Where a git directory has its packs.
const PACKS: &str = "objects/pack";

impl PrivateGit {
    /// Fetches a commit of the branch into the new git directory of a run, without the files that the
    /// scope excludes. Also fetches the branch's own earlier commits, back to the first merge or to
    /// the commit on which they stand, so that a command can amend them. Older history stays out: a
    /// file may have stood at another path there.
    ///
    /// Git fetches into a directory that no command has written to: a ref or a replacement there
    /// could make it bring more (`refs/replace`, git-replace(1)).
    ///
    /// # Errors
    /// Fails when git does, or the disk.
    pub(super) fn fetch_given(
        &self,
        new: &Utf8Path,
        repository: &Repository,
        worktree: &Worktree,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let file = worktree.record.admin_dir.join("info/sparse-checkout");
        let patterns = files::read(&file)?.unwrap_or_default();
        let size = u64::try_from(patterns.len()).unwrap_or(u64::MAX);
        let filter = repository
            .objects()?
            .write_blob(size, &mut patterns.as_slice())?;
        let git = repository.git.on(new, None);
        let from = &repository.common_dir;
        let depth = 1 + count_own_commits(repository, worktree, commit)?;
        git.fetch_filtered(from, WITHHELD_REMOTE, &filter, commit, depth)?;
        // an earlier run has its own commits on top of an earlier end, and goes on with them
        let mut ends = files::read(&self.shallow_file())?.unwrap_or_default();
        ends.extend(files::read(&new.join(SHALLOW))?.unwrap_or_default());
        files::write(&self.shallow_file(), &ends)?;
        Ok(())
    }

    /// Brings a commit into the git directory that an earlier run left, by way of a new one.
    ///
    /// # Errors
    /// Fails when git does, or the disk.
    pub(super) fn bring_given(
        &self,
        repository: &Repository,
        worktree: &Worktree,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let new = self.dir.join(NEW);
        files::remove_directory(&new)?;
        files::create_directories(&new.join(PACKS))?;
        put(&new, "HEAD", b"ref: refs/heads/none\n")?;
        write_settings(&new, repository, worktree, RunObjects::Withheld)?;
        self.fetch_given(&new, repository, worktree, commit)?;
        for name in files::names(&new.join(PACKS))? {
            let pack = new.join(PACKS).join(&name);
            files::rename(&pack, &self.git_dir().join(PACKS).join(&name))?;
        }
        Ok(files::remove_directory(&new)?)
    }

    /// The file `shallow` that a run without the excluded files is given. It stands beside the git
    /// directory, where the command cannot write.
    pub(super) fn shallow_file(&self) -> Utf8PathBuf {
        self.dir.join(SHALLOW)
    }
}

/// Gives what is staged in the worktree at paths that the scope does not exclude, as far as the
/// git directory does not have it. A file that is no index has nothing to give.
///
/// # Errors
/// Fails when an entry of the index is damaged, the repository cannot be read, or the disk not be
/// written.
pub(super) fn give_staged(
    git_dir: &Utf8Path,
    repository: &Repository,
    worktree: &Worktree,
) -> Result<(), Error> {
    let file = worktree.record.admin_dir.join("index");
    let Ok(index) = OpenIndex::read(&file, repository.format) else {
        return Ok(());
    };
    let home = repository.objects()?;
    let run_objects = Objects::open_as_now(git_dir, repository.format)?;
    let mut classifier = worktree.scope.classifier();
    for parsed in index.entries() {
        let staged = parsed?;
        let path = index.repo_path(staged.path)?;
        let id = &staged.entry.id;
        let has_content = staged.entry.has_content() && !staged.intent_to_add;
        let is_wanted = has_content && !classifier.excludes_file(&path);
        if !is_wanted || run_objects.is_blob(id) {
            continue;
        }
        // what is missing in the repository too, no command finds there
        if let Ok(content) = home.blob(id) {
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            run_objects.write_blob(size, &mut content.as_slice())?;
        }
    }
    Ok(())
}

/// Counts the commits that only this branch has, from its tip back to the first merge, to the base
/// of the worktree, to a commit that another branch has, here or on a remote, or to the end of a
/// shallow history. What a push made of the branch itself on a remote is no other branch.
fn count_own_commits(
    repository: &Repository,
    worktree: &Worktree,
    tip: &CommitId,
) -> Result<usize, Error> {
    let branch = worktree.record.branch.full_ref();
    let refs = repository
        .git
        .for_each_ref(&["refs/heads/", "refs/remotes/"])?;
    let mut excluded = vec![&worktree.record.base.commit];
    for other in &refs {
        if other.name != branch && !is_branch_on_remote(worktree, other.name.as_bstr()) {
            excluded.push(&other.id);
        }
    }
    let own_commits = repository.git.rev_list(&[tip], &excluded)?;
    let on_branch_alone: BTreeSet<&CommitId> = own_commits.iter().collect();
    let objects = repository.objects()?;
    let mut count = 0;
    let mut commit = tip.clone();
    while on_branch_alone.contains(&commit) {
        let parents = objects.commit(&commit)?.parents;
        let [parent] = parents.as_slice() else {
            break;
        };
        if !objects.has(parent) {
            break;
        }
        commit = parent.clone();
        count += 1;
    }
    Ok(count)
}
