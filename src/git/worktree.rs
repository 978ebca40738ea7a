//! Makes and removes worktrees and fills them, one method a git command.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use super::contention;
use super::error::{GitError, unreadable};
use super::process::{Git, odd_output};
use super::refs::one_id;
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
        let mut args = vec!["worktree", "add", "--quiet", "--no-checkout"];
        match branch {
            NewWorktreeBranch::Make(name, commit) => {
                args.extend(["--no-track", "-b", name.as_str(), "--", path.as_str()]);
                args.push(commit.as_str());
            }
            NewWorktreeBranch::Existing(name) => {
                args.extend(["--", path.as_str(), name.as_str()]);
            }
            NewWorktreeBranch::Detached(commit) => {
                args.extend(["--detach", "--", path.as_str(), commit.as_str()]);
            }
        }
        self.output(&format!("add the worktree {path}"), &args)
            .map(drop)
    }

    /// Sets the sparse-checkout patterns, in non-cone mode, of a worktree that has no index yet.
    /// Git switches `extensions.worktreeConfig` on where it is not, in the right order.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn sparse_checkout_set(&self, patterns: &[u8]) -> Result<(), GitError> {
        let args = ["sparse-checkout", "set", "--no-cone", "--stdin"];
        self.output_with_input("set the sparse-checkout patterns", &args, Some(patterns))
            .map(drop)
    }

    /// Makes the files be as the patterns say again (`git sparse-checkout reapply`).
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn sparse_checkout_reapply(&self) -> Result<(), GitError> {
        // no option: each is written into `config.worktree`
        let args = ["sparse-checkout", "reapply"];
        self.output("apply the sparse-checkout patterns", &args)
            .map(drop)
    }

    /// Fills a worktree from HEAD, as `git worktree add` itself does. `git checkout` is no
    /// substitute: it returns 0 when the disk is full.
    ///
    /// # Errors
    /// Fails when git fails: the disk is full, an object is missing, a filter fails.
    pub fn reset_hard(&self) -> Result<(), GitError> {
        let args = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        self.output("check the files out", &args).map(drop)
    }

    /// Runs the user's post-checkout hook as `git worktree add` would (githooks(5)).
    ///
    /// # Errors
    /// Fails when the hook fails.
    pub fn hook_run_post_checkout(&self, head: &CommitId) -> Result<(), GitError> {
        let zero = "0".repeat(head.as_str().len());
        let args = [
            "hook",
            "run",
            "--ignore-missing",
            "post-checkout",
            "--",
            &zero,
            head.as_str(),
            "1",
        ];
        let what = "run the post-checkout hook";
        match self.output(what, &args) {
            Err(GitError::Failed { words, .. }) => Err(GitError::Hook {
                hook: "post-checkout",
                words,
            }),
            other => other.map(drop),
        }
    }

    /// Writes the stat data of unchanged files into the index again (`update-index --refresh`).
    ///
    /// # Errors
    /// Fails when git fails; files that need an update are none.
    pub fn update_index_refresh(&self) -> Result<(), GitError> {
        self.maybe("refresh the index", &["update-index", "-q", "--refresh"])
            .map(drop)
    }

    /// Removes a worktree and its private git directory. What could be lost was looked for
    /// before; `--force` is for ignored files and submodules.
    ///
    /// # Errors
    /// Fails when it is locked, or git fails.
    pub fn worktree_remove_force(&self, path: &Utf8Path) -> Result<(), GitError> {
        let args = ["worktree", "remove", "--force", "--", path.as_str()];
        self.output(&format!("remove the worktree {path}"), &args)
            .map(drop)
    }

    /// Forgets a worktree whose directory is no longer there, with its private git directory, also
    /// when it is locked.
    ///
    /// # Errors
    /// Fails when git does not know it, or fails.
    pub fn worktree_remove_missing(&self, path: &Utf8Path) -> Result<(), GitError> {
        let path = path.as_str();
        let args = ["worktree", "remove", "--force", "--force", "--", path];
        self.output(&format!("forget the worktree {path}"), &args)
            .map(drop)
    }

    /// Unlocks a worktree.
    ///
    /// # Errors
    /// Fails when it is not locked, or git fails.
    pub fn worktree_unlock(&self, path: &Utf8Path) -> Result<(), GitError> {
        let args = ["worktree", "unlock", "--", path.as_str()];
        self.output(&format!("unlock the worktree {path}"), &args)
            .map(drop)
    }

    /// Forgets worktrees whose directory is gone.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn worktree_prune(&self) -> Result<(), GitError> {
        let args = ["worktree", "prune", "--expire=now"];
        self.output("forget removed worktrees", &args).map(drop)
    }

    /// Returns what a checkout of these blobs to these paths would write (`git cat-file
    /// --batch --filters`), in order; none for one that git cannot give.
    ///
    /// # Errors
    /// Fails when git fails or answers out of order.
    pub fn cat_file_filters(
        &self,
        blobs: &[(String, Vec<u8>)],
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let what = "read files as a checkout would write them";
        // what stands in an object's place is not what the commit has
        let args = ["--no-replace-objects", "cat-file", "--batch", "--filters"];
        // Git names the size from before the filters, and not how much it then prints. So every
        // request is followed by one for an object that there is none of: "<name> missing" ends
        // the answer, and nobody can have put the name, which is new each time, into a file.
        let end = format!("end-{:016x}", RandomState::new().build_hasher().finish());
        let mut input = Vec::new();
        // a line ends the request: a path with a newline in it cannot be asked for
        let askable = |path: &[u8]| !path.contains(&b'\n');
        for (id, path) in blobs.iter().filter(|(_, path)| askable(path)) {
            input.extend_from_slice(id.as_bytes());
            input.push(b' ');
            input.extend_from_slice(path);
            input.extend_from_slice(format!("\n{end} {end}\n").as_bytes());
        }
        let output = self.output_with_input(what, &args, Some(&input))?;
        let end = format!("\n{end} missing\n");
        let mut rest: &[u8] = &output;
        let mut answers = Vec::with_capacity(blobs.len());
        for (_, path) in blobs {
            if !askable(path) {
                answers.push(None);
                continue;
            }
            let (answer, after) = rest
                .split_once_str(&end)
                .ok_or_else(|| odd_output(what, &args, "it ends early"))?;
            rest = after;
            // an object that git does not have is answered by the one line
            let content = answer.split_once_str("\n");
            answers.push(content.map(|(_, content)| content.to_vec()));
        }
        Ok(answers)
    }

    /// Returns the paths that git takes for changed or untracked here, in git's order; a directory
    /// that is a repository of its own ends with `/` (`git status`). For what is not verified.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn status_paths(&self) -> Result<Vec<BString>, GitError> {
        let args = [
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=all",
        ];
        let output = self.output("look at the main worktree", &args)?;
        let records = output.split_str("\0").filter(|record| record.len() > 3);
        Ok(records.map(|record| record[3..].into()).collect())
    }

    /// Makes a commit of a tree, that no ref names yet; as the user, or in our own name where
    /// nobody is configured.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn commit_tree(
        &self,
        tree: &str,
        message: &str,
        parents: &[&CommitId],
    ) -> Result<CommitId, GitError> {
        let what = "save the work";
        let mut args = vec!["commit-tree", "--no-gpg-sign", tree];
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        let output = self.with_fallback_identity()?.output_with_input(
            what,
            &args,
            Some(message.as_bytes()),
        )?;
        one_id(what, &args, &output)
    }
}

impl Repo {
    /// What the HEAD of a private git directory says.
    fn entry(&self, local: &gix::Repository, admin: &Path) -> Result<WorktreeEntry, GitError> {
        let bytes = read_file(admin.join("HEAD"))?.unwrap_or_default();
        let line = bytes.trim();
        let (branch, head) = match line.strip_prefix(b"ref: ") {
            Some(name) => {
                let resolved = self.resolve(local, name.trim().as_bstr())?;
                (Some(resolved.name.to_str_lossy().into_owned()), resolved.id)
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
