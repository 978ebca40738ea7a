//! Answers where the repository of a directory is, and opens it.

use std::sync::Arc;

use camino::Utf8PathBuf;

use crate::git::discover::discover;
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::object_format::ObjectFormat;
use crate::git::process::{Git, odd_output, words};
use crate::git::repo::Repo;

/// Holds where a repository's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The common git directory, absolute.
    pub common_dir: Utf8PathBuf,
    /// The hash function.
    pub format: ObjectFormat,
    /// The root of the worktree that the directory is in, none in a bare repository or inside a
    /// git directory.
    pub toplevel: Option<Utf8PathBuf>,
}

impl Git {
    /// Finds the repository of this git's directory, none when there is none.
    ///
    /// # Errors
    /// Fails when git refuses the repository (its owner, its format), or a path is not UTF-8.
    pub fn layout(&self) -> Result<Option<Layout>, GitError> {
        if self.named.is_none()
            && let Some((toplevel, git_dir)) = discover(&self.dir)?
        {
            let repo = self.on(&git_dir, None).repo()?;
            if repo.has_usual_work_tree() {
                return Ok(Some(Layout {
                    common_dir: repo.common_dir.clone(),
                    format: repo.format,
                    toplevel: (!repo.is_bare()).then_some(toplevel),
                }));
            }
        }
        self.layout_by_git()
    }

    fn layout_by_git(&self) -> Result<Option<Layout>, GitError> {
        let what = "find the repository";
        let command = "rev-parse --path-format=absolute --show-object-format \
             --is-inside-work-tree --git-common-dir";
        let args = words(command, &[]);
        let text = match self.line(what, &args) {
            Ok(text) => text,
            Err(GitError::Failed { words, .. }) if words.contains("not a git repository") => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // a path may have several lines
        let lines: Vec<&str> = text.splitn(3, '\n').collect();
        let [format, inside, common_dir] = lines[..] else {
            return Err(odd_output(command, "it has not three lines"));
        };
        let format = format.parse().map(ObjectFormat);
        let format = format.map_err(|_| odd_output(command, "an unknown object format"))?;
        let toplevel = match inside {
            "true" => {
                let args = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
                Some(self.line(what, &args)?)
            }
            _ => None,
        };
        Ok(Some(Layout {
            common_dir: common_dir.into(),
            format,
            toplevel: toplevel.map(Into::into),
        }))
    }

    /// Returns this worktree's private git directory, absolute.
    ///
    /// # Errors
    /// Fails when there is no repository, or git refuses it.
    pub fn absolute_git_dir(&self) -> Result<Utf8PathBuf, GitError> {
        if self.named.is_none()
            && let Some((_, git_dir)) = discover(&self.dir)?
        {
            return Ok(git_dir);
        }
        let what = "find the git directory";
        let found = self.line(what, &["rev-parse", "--absolute-git-dir"]);
        found.map(Into::into)
    }

    /// Returns whether the repository of exactly this common git directory is bare.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn is_bare_repository(&self) -> Result<bool, GitError> {
        Ok(self.repo()?.is_bare())
    }
}

impl Git {
    /// The repository, opened at the first question; opened again when its settings have changed.
    ///
    /// # Errors
    /// Fails when there is none, or it cannot be read.
    pub(super) fn repo(&self) -> Result<Arc<Repo>, GitError> {
        self.repo_of_either(self.mode)
    }

    /// The same for what no setting changes: a repository that is open in the other mode will do.
    ///
    /// # Errors
    /// As [`Git::repo`].
    pub(super) fn repo_of_either(&self, other: GitMode) -> Result<Arc<Repo>, GitError> {
        let git_dir = match &self.named {
            Some(git_dir) => git_dir.clone(),
            None => self.absolute_git_dir()?,
        };
        self.repos.get_or_open(&git_dir, self.mode, other)
    }
}
