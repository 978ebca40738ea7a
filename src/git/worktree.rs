//! Lists and creates worktrees.

use std::path::Path;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::{GitError, reading};
use crate::git::git_dir::read_file;
use crate::git::process::Git;
use crate::git::repo::Repo;
use crate::git::retry::retry_steps_on_lock;
use crate::words::name::{BranchName, CommitId};

/// One entry of `git worktree list --porcelain -z` (git-worktree(1)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeEntry {
    /// Its directory; for a bare repository's first entry the repository.
    pub path: Utf8PathBuf,
    /// True for the entry of a bare repository.
    pub bare: bool,
    /// The commit it is on, none while its branch is unborn.
    pub head: Option<CommitId>,
    /// The full name of the branch it is on, none when detached.
    pub branch: Option<String>,
    /// True if it is locked.
    pub locked: bool,
}

/// What git writes into `config.worktree`.
pub const SPARSE_CONFIG: &[u8] = b"[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n";

impl Git {
    /// Returns the roots of the linked worktrees.
    ///
    /// # Errors
    /// Fails when their entries cannot be listed.
    pub fn worktree_roots(&self) -> Result<Vec<Utf8PathBuf>, GitError> {
        let local = self.repo()?.local();
        let mut roots = Vec::new();
        for proxy in local.worktrees().map_err(reading("the worktrees"))? {
            if let Ok(root) = proxy.base() {
                roots.push(utf8_path(&root));
            }
        }
        Ok(roots)
    }

    /// Returns every worktree of the repository, the main one (or the bare repository) first. Bytes
    /// of a path that are not UTF-8 are replaced: no command of ours works there.
    ///
    /// # Errors
    /// Fails when an entry cannot be read.
    pub fn worktree_list(&self) -> Result<Vec<WorktreeEntry>, GitError> {
        let repo = self.repo()?;
        if repo.is_reftable {
            return self.worktrees_by_git();
        }
        let common = self.on(&repo.common_dir, None).repo()?;
        let local = common.local();
        let mut linked = Vec::new();
        for proxy in &local.worktrees().map_err(reading("the worktrees"))? {
            // an entry that another git is just creating, or has deleted
            let Ok(root) = proxy.base() else { continue };
            linked.push(WorktreeEntry {
                path: utf8_path(&root),
                locked: proxy.is_locked(),
                ..common.entry(&local, proxy.git_dir())?
            });
        }
        linked.sort_by(|left, right| left.path.cmp(&right.path));
        let mut entries = vec![common.main_entry(&local)?];
        entries.append(&mut linked);
        Ok(entries)
    }

    /// Registers a worktree on a branch that exists, without filling it. Where the lock of another
    /// git stops it, it is tried again.
    ///
    /// # Errors
    /// Fails when the path is taken, another worktree has the branch, or git fails.
    pub fn worktree_add_no_checkout(
        &self,
        path: &Utf8Path,
        branch: &BranchName,
    ) -> Result<(), GitError> {
        let what = format!("add the worktree {path}");
        let args = ["--", path.as_str(), branch.as_str()];
        retry_steps_on_lock(|| {
            self.perform(&what, "worktree add --quiet --no-checkout", &args)?;
            Ok(())
        })
    }

    /// Sets the sparse-checkout patterns, in non-cone mode, of a worktree that has no index yet.
    /// Git switches `extensions.worktreeConfig` on where it is not, in the right order.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn sparse_checkout_set(&self, patterns: &[u8]) -> Result<(), GitError> {
        let what = "set the sparse-checkout patterns";
        let command = "sparse-checkout set --no-cone --stdin";
        self.perform_with(what, command, &[], patterns)?;
        Ok(())
    }

    /// True if [`Git::sparse_checkout_set`] writes nothing for a new worktree but `config.worktree`
    /// ([`SPARSE_CONFIG`]) and the patterns.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn is_sparse_by_two_files(
        &self,
        common_dir: &Utf8Path,
        patterns: &[u8],
    ) -> Result<bool, GitError> {
        let config = common_dir.join("config");
        let is_on = self.config_file_get_bool(&config, "extensions.worktreeConfig")? == Some(true);
        let is_shared = self.config_file_get_all(&config, "core.sharedRepository")?;
        // git takes the end of a line with a carriage return
        let is_plain = !patterns.contains(&b'\r') && patterns.ends_with(b"\n");
        Ok(is_on && is_plain && is_shared.is_empty())
    }

    /// Runs the user's post-checkout hook as `git worktree add` would (githooks(5)).
    ///
    /// # Errors
    /// Fails when the hook fails.
    pub fn hook_run_post_checkout(&self, head: &CommitId) -> Result<(), GitError> {
        let zeros = "0".repeat(head.as_str().len());
        match self.hook_run("post-checkout", &[&zeros, head.as_str(), "1"]) {
            Err(GitError::Failed { words, .. }) => Err(GitError::Hook { words }),
            other => other,
        }
    }
}

impl Repo {
    /// Returns the entry of the main worktree, or of the bare repository.
    fn main_entry(&self, local: &gix::Repository) -> Result<WorktreeEntry, GitError> {
        let common_dir = self.common_dir.as_str();
        let path = common_dir
            .strip_suffix("/.git")
            .unwrap_or(common_dir)
            .into();
        if self.is_bare() {
            return Ok(WorktreeEntry {
                path,
                bare: true,
                ..WorktreeEntry::default()
            });
        }
        Ok(WorktreeEntry {
            path,
            ..self.entry(local, self.common_dir.as_std_path())?
        })
    }

    /// Returns what the HEAD of a private git directory says.
    fn entry(&self, local: &gix::Repository, git_dir: &Path) -> Result<WorktreeEntry, GitError> {
        let bytes = read_file(git_dir.join("HEAD"))?.unwrap_or_default();
        let line = bytes.trim();
        let mut entry = WorktreeEntry::default();
        match line.strip_prefix(b"ref: ") {
            Some(symbolic) => {
                let (name, id) = self.resolve(local, symbolic.trim().as_bstr())?;
                entry.branch = Some(name.to_str_lossy().into_owned());
                entry.head = id;
            }
            None => entry.head = CommitId::parse(&line.to_str_lossy()).ok(),
        }
        entry.head = entry.head.filter(CommitId::is_known);
        Ok(entry)
    }
}

/// Returns a path with bytes replaced that are not UTF-8.
fn utf8_path(path: &Path) -> Utf8PathBuf {
    path.to_string_lossy().into_owned().into()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes a configuration")]
mod tests {
    use super::*;
    use crate::git::runner::SharedRunner;

    #[test]
    fn git_writes_two_files_where_each_worktree_has_a_configuration() {
        const ON: &str = "[extensions]\n\tworktreeConfig = true\n";
        let held = tempfile::tempdir().expect("a directory");
        let common_dir = Utf8Path::from_path(held.path()).expect("it is UTF-8");
        let git = Git::unchecked(common_dir, SharedRunner::default());
        let two = |config: &str, patterns: &[u8]| {
            std::fs::write(common_dir.join("config"), config).expect("a file");
            git.is_sparse_by_two_files(common_dir, patterns).ok()
        };
        assert_eq!(two(ON, b"/*\n"), Some(true));
        assert_eq!(two("[core]\n", b"/*\n"), Some(false));
        let off = "[extensions]\n\tworktreeConfig = no\n";
        assert_eq!(two(off, b"/*\n"), Some(false));
        assert_eq!(two("[broken", b"/*\n"), None);
        assert_eq!(two(ON, b"/*\n!a\\\r\n"), Some(false));
        let group = format!("{ON}[core]\n\tsharedRepository = group\n");
        assert_eq!(two(&group, b"/*\n"), Some(false));
    }
}
