//! Fills a private git directory that is to be without the content of excluded files (`--withhold`):
//! with the commits of its branch, and with what is staged.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::disk::files;
use crate::git::index::OpenIndex;
use crate::git::objects::Objects;
use crate::scope::rule::{Access, EntryKind};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::entries::put;
use crate::worktree::private_git::settings::WITHHELD_REMOTE;
use crate::worktree::repository::Repository;

/// The file that says where history ends (gitrepository-layout(5), `shallow`).
const SHALLOW: &str = "shallow";

/// Fetches the commits of the branch, the last of which is `tip`, without the files that the scope
/// excludes. What the branch stands on comes without its history: there the file `shallow` lets
/// history end.
///
/// # Errors
/// Fails when the repository cannot be read, or the disk not be written.
pub(super) fn fetch_present(
    git_dir: &Utf8Path,
    repository: &Repository,
    worktree: &Worktree,
    tip: &CommitId,
) -> Result<(), Error> {
    let file = worktree.record.admin_dir.join("info/sparse-checkout");
    let patterns = files::read(&file)?.unwrap_or_default();
    let size = u64::try_from(patterns.len()).unwrap_or(u64::MAX);
    let filter = repository
        .objects()?
        .write_blob(size, &mut patterns.as_slice())?;
    // an earlier run has its own commits below these, and goes on with them
    let mut shallow = files::read(&git_dir.join(SHALLOW))?.unwrap_or_default();
    for commit in history_ends(repository, worktree, tip)? {
        shallow.extend_from_slice(format!("{commit}\n").as_bytes());
    }
    if !shallow.is_empty() {
        // before the fetch: git tells the other side of it, which sends no more then
        put(git_dir, SHALLOW, &shallow)?;
    }
    let private = repository.git.on(git_dir, None);
    private.fetch_filtered(&repository.common_dir, WITHHELD_REMOTE, &filter, tip)?;
    Ok(())
}

/// Finds the commits at which the history of a run ends: those of upstream that the commits of the
/// branch stand on. The commits of the branch itself come whole, so that the command can amend and
/// rebase them.
fn history_ends(
    repository: &Repository,
    worktree: &Worktree,
    tip: &CommitId,
) -> Result<BTreeSet<CommitId>, Error> {
    let base = &worktree.record.base;
    let mut upstream = vec![base.commit.clone()];
    for followed in &base.tips {
        upstream.push(followed.commit.clone());
        upstream.extend(repository.git.rev_parse_commit(&followed.name)?);
    }
    let upstream: Vec<&CommitId> = upstream.iter().collect();
    let own_commits = repository.git.rev_list(&[tip], &upstream)?;
    let own: BTreeSet<&CommitId> = own_commits.iter().collect();
    if own.is_empty() {
        return Ok(BTreeSet::from([tip.clone()]));
    }
    let objects = repository.objects()?;
    let mut ends = BTreeSet::new();
    for commit in &own_commits {
        for parent in objects.commit(commit)?.parents {
            if !own.contains(&parent) {
                ends.insert(parent);
            }
        }
    }
    Ok(ends)
}

/// Copies the staged files that the scope shows and no commit of the git directory has.
///
/// # Errors
/// Fails when the repository cannot be read, or the disk not be written.
pub(super) fn copy_staged(
    git_dir: &Utf8Path,
    repository: &Repository,
    worktree: &Worktree,
) -> Result<(), Error> {
    let Ok(index) = OpenIndex::read(&git_dir.join("index"), repository.format) else {
        // damaged: git says so to the command
        return Ok(());
    };
    let home = repository.objects()?;
    let private = Objects::open(git_dir, repository.format)?;
    let mut classifier = worktree.scope.classifier();
    for entry in index.entries() {
        let entry = entry?;
        let id = &entry.entry.id;
        if private.is_blob(id) || !home.is_blob(id) {
            continue;
        }
        let path = index.repo_path(entry.path)?;
        if classifier.verdict(&path, EntryKind::File).access == Access::Excluded {
            continue;
        }
        let content = home.blob(id)?;
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        private.write_blob(size, &mut content.as_slice())?;
    }
    Ok(())
}
