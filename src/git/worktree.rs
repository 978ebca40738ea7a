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

/// Holds one entry of `git worktree list --porcelain -z` (git-worktree(1)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeEntry {
    /// Its directory; for a bare repository's first entry the repository.
    pub path: Utf8PathBuf,
    /// Whether it is the entry of a bare repository.
    pub bare: bool,
    /// The commit it is on, none while its branch is unborn.
    pub head: Option<CommitId>,
    /// The full name of the branch it is on, none when detached.
    pub branch: Option<String>,
    /// Whether it is locked.
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
        let proxies = local.worktrees().map_err(reading("the worktrees"))?;
        let roots = proxies.iter().filter_map(|proxy| proxy.base().ok());
        Ok(roots
            .map(|root| root.to_string_lossy().into_owned().into())
            .collect())
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
        let proxies = local.worktrees().map_err(reading("the worktrees"))?;
        let mut linked = Vec::new();
        for proxy in &proxies {
            // an entry that another git is just creating, or has deleted
            let Ok(path) = proxy.base() else { continue };
            linked.push(WorktreeEntry {
                path: path.to_string_lossy().into_owned().into(),
                locked: proxy.is_locked(),
                ..common.entry(&local, proxy.git_dir())?
            });
        }
        linked.sort_by(|one, other| one.path.cmp(&other.path));
        let path = repo.common_dir.as_str();
        let path = Utf8PathBuf::from(path.strip_suffix("/.git").unwrap_or(path));
        let bare = common.is_bare();
        let main = if bare {
            WorktreeEntry::default()
        } else {
            common.entry(&local, common.common_dir.as_std_path())?
        };
        linked.insert(0, WorktreeEntry { path, bare, ..main });
        Ok(linked)
    }

    /// Registers a worktree without filling it, on a branch that is created at a commit, or exists.
    /// `--no-track` keeps git from writing the shared configuration, whose lock does not wait. Where
    /// the lock of another git stops it, it is tried again; the branch may exist by then (git creates
    /// it first), and is taken as it is.
    ///
    /// # Errors
    /// Fails when the path or the branch is taken, or git fails; the branch may then be there.
    pub fn worktree_add_no_checkout(
        &self,
        path: &Utf8Path,
        branch: &BranchName,
        at: Option<&CommitId>,
    ) -> Result<(), GitError> {
        let what = format!("add the worktree {path}");
        let (add, path) = ("worktree add --quiet --no-checkout", path.as_str());
        let mut at = at;
        retry_steps_on_lock(|| {
            let Some(commit) = at else {
                let args = ["--", path, branch.as_str()];
                return self.perform(&what, add, &args).map(drop);
            };
            let args = ["-b", branch.as_str(), "--", path, commit.as_str()];
            let added = self.perform(&what, &format!("{add} --no-track"), &args);
            let full = branch.full_ref();
            if added.is_err() && self.rev_parse_commit(&full)?.as_ref() == Some(commit) {
                at = None;
            }
            added.map(drop)
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
        self.perform_with(what, command, &[], patterns).map(drop)
    }

    /// Whether [`Git::sparse_checkout_set`] writes nothing for a new worktree but `config.worktree`
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
        let zero = "0".repeat(head.as_str().len());
        match self.hook_run("post-checkout", &[&zero, head.as_str(), "1"]) {
            Err(GitError::Failed { words, .. }) => Err(GitError::Hook { words }),
            other => other,
        }
    }
}

impl Repo {
    /// What the HEAD of a private git directory says.
    fn entry(&self, local: &gix::Repository, admin: &Path) -> Result<WorktreeEntry, GitError> {
        let bytes = read_file(admin.join("HEAD"))?.unwrap_or_default();
        let line = bytes.trim();
        let (branch, head) = match line.strip_prefix(b"ref: ") {
            Some(name) => {
                let (name, id) = self.resolve(local, name.trim().as_bstr())?;
                (Some(name.to_str_lossy().into_owned()), id)
            }
            None => (None, CommitId::parse(&line.to_str_lossy()).ok()),
        };
        let head = head.filter(CommitId::is_known);
        Ok(WorktreeEntry {
            head,
            branch,
            ..WorktreeEntry::default()
        })
    }
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
