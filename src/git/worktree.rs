//! Makes and removes worktrees and fills them, one method a git command.

use std::path::Path;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use super::contention;
use super::error::{GitError, unreadable};
use super::process::{Git, words};
use super::repo::{Repo, causes, read_file};
use crate::name::{BranchName, CommitId};

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

/// Says which branch a new worktree gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewWorktreeBranch<'a> {
    /// A branch that is made at this commit.
    Make(&'a BranchName, &'a CommitId),
    /// A branch that is there.
    Existing(&'a BranchName),
    /// None: HEAD names this commit.
    Detached(&'a CommitId),
}

/// What git writes into `config.worktree`.
pub const SPARSE_CONFIG: &[u8] = b"[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n";

impl Git {
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
        let proxies = local.worktrees();
        let proxies = proxies.map_err(|error| unreadable("the worktrees", &causes(&error)))?;
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
        let main = if common.is_bare() {
            WorktreeEntry {
                bare: true,
                ..WorktreeEntry::default()
            }
        } else {
            common.entry(&local, common.common_dir.as_std_path())?
        };
        linked.insert(0, WorktreeEntry { path, ..main });
        Ok(linked)
    }

    /// Registers a worktree without filling it. `--no-track` keeps git from writing the shared
    /// configuration, whose lock does not wait. Where the lock of another git stops it, it is tried
    /// again; the branch may be there by then (git makes it first), and is taken as it is.
    ///
    /// # Errors
    /// Fails when the path or the branch is taken, or git fails; the branch may then be there.
    pub fn worktree_add_no_checkout(
        &self,
        path: &Utf8Path,
        branch: NewWorktreeBranch<'_>,
    ) -> Result<(), GitError> {
        let mut branch = branch;
        for pause in contention::pauses() {
            match self.worktree_add_once(path, branch) {
                Err(GitError::Failed { words, .. }) if contention::is_contention(&words) => pause(),
                other => return other,
            }
            if let NewWorktreeBranch::Make(name, commit) = branch
                && self.rev_parse_commit(&name.full_ref())?.as_ref() == Some(commit)
            {
                branch = NewWorktreeBranch::Existing(name);
            }
        }
        self.worktree_add_once(path, branch)
    }

    fn worktree_add_once(
        &self,
        path: &Utf8Path,
        branch: NewWorktreeBranch<'_>,
    ) -> Result<(), GitError> {
        let what = format!("add the worktree {path}");
        let (add, path) = ("worktree add --quiet --no-checkout", path.as_str());
        let args = match branch {
            NewWorktreeBranch::Make(name, commit) => {
                let new = [
                    "--no-track",
                    "-b",
                    name.as_str(),
                    "--",
                    path,
                    commit.as_str(),
                ];
                words(add, &new)
            }
            NewWorktreeBranch::Existing(name) => words(add, &["--", path, name.as_str()]),
            NewWorktreeBranch::Detached(commit) => {
                words(add, &["--detach", "--", path, commit.as_str()])
            }
        };
        self.output(&what, &args).map(drop)
    }

    /// Sets the sparse-checkout patterns, in non-cone mode, of a worktree that has no index yet.
    /// Git switches `extensions.worktreeConfig` on where it is not, in the right order.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn sparse_checkout_set(&self, patterns: &[u8]) -> Result<(), GitError> {
        let what = "set the sparse-checkout patterns";
        let command = "sparse-checkout set --no-cone --stdin";
        self.perform_with(what, command, &[], patterns)
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

    /// Makes the files be as the patterns say again (`git sparse-checkout reapply`).
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn sparse_checkout_reapply(&self) -> Result<(), GitError> {
        // no option: each is written into `config.worktree`
        let what = "apply the sparse-checkout patterns";
        self.perform(what, "sparse-checkout reapply", &[])
    }

    /// Fills a worktree from HEAD, as `git worktree add` itself does. `git checkout` is no
    /// substitute: it returns 0 when the disk is full.
    ///
    /// # Errors
    /// Fails when git fails: the disk is full, an object is missing, a filter fails.
    pub fn reset_hard(&self) -> Result<(), GitError> {
        let command = "reset --hard --quiet --no-recurse-submodules";
        self.perform("check the files out", command, &[])
    }

    /// Runs the user's post-checkout hook as `git worktree add` would (githooks(5)).
    ///
    /// # Errors
    /// Fails when the hook fails.
    pub fn hook_run_post_checkout(&self, head: &CommitId) -> Result<(), GitError> {
        let zero = "0".repeat(head.as_str().len());
        let command = "hook run --ignore-missing post-checkout --";
        let arguments = [zero.as_str(), head.as_str(), "1"];
        match self.perform("run the post-checkout hook", command, &arguments) {
            Err(GitError::Failed { words, .. }) => Err(GitError::Hook { words }),
            other => other,
        }
    }

    /// Forgets a worktree whose directory is no longer there, with its private git directory, also
    /// when it is locked.
    ///
    /// # Errors
    /// Fails when git does not know it, or fails.
    pub fn worktree_remove_missing(&self, path: &Utf8Path) -> Result<(), GitError> {
        let what = format!("forget the worktree {path}");
        let command = "worktree remove --force --force --";
        self.perform(&what, command, &[path.as_str()])
    }

    /// Returns the paths that git takes for changed or untracked here, in git's order; a directory
    /// that is a repository of its own ends with `/` (`git status`). For what is not verified.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn status_paths(&self) -> Result<Vec<BString>, GitError> {
        let command =
            "status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all";
        let output = self.output("look at the main worktree", &words(command, &[]))?;
        let records = output.split_str("\0").filter(|record| record.len() > 3);
        Ok(records.map(|record| record[3..].into()).collect())
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
    use crate::git::SharedRunner;

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
