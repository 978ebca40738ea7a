//! Gives a private git directory the last commit of its branch without the content of excluded files
//! (`--withhold`), as a git of its own: a command cannot have put anything there.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::git_dir::SHALLOW;
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::entries::put;
use crate::worktree::private_git::settings::{WITHHELD_REMOTE, write_settings};
use crate::worktree::private_git::{NEW, PrivateGit};
use crate::worktree::repository::Repository;

/// Where a git directory has its packs.
const PACKS: &str = "objects/pack";

impl PrivateGit {
    /// Fetches a commit into the new git directory of a run, without its history and without the
    /// files that the scope excludes. Git fetches into a directory that no command has written to:
    /// a ref or a replacement there could make it bring more (`refs/replace`, git-replace(1)).
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
        git.fetch_filtered(from, WITHHELD_REMOTE, &filter, commit)?;
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
