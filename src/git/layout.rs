//! Answers where the repository of a directory is, and opens it.

use std::sync::Arc;

use camino::Utf8PathBuf;

use crate::git::discover::discover;
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::object_format::ObjectFormat;
use crate::git::process::{Git, odd_output};
use crate::git::repo::Repo;

/// Where the parts of a repository are.
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
            && let Some(found) = discover(&self.dir)?
        {
            let repo = self.on(&found.git_dir, None).repo()?;
            if repo.has_usual_work_tree() {
                return Ok(Some(Layout {
                    common_dir: repo.common_dir.clone(),
                    format: repo.format,
                    toplevel: (!repo.is_bare()).then_some(found.toplevel),
                }));
            }
        }
        self.layout_by_git()
    }

    /// Asks git for the layout; none if there is no repository.
    fn layout_by_git(&self) -> Result<Option<Layout>, GitError> {
        let what = "find the repository";
        let args = [
            "rev-parse",
            "--path-format=absolute",
            "--show-object-format",
            "--is-inside-work-tree",
            "--git-common-dir",
        ];
        let text = match self.line(what, &args) {
            Ok(text) => text,
            // git has one status for all that it refuses
            Err(GitError::Failed { words, .. }) if words.contains("not a git repository") => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // a path may have several lines
        let lines: Vec<&str> = text.splitn(3, '\n').collect();
        let [format_name, is_inside, common_dir] = lines[..] else {
            return Err(odd_output("rev-parse", "it has not three lines"));
        };
        let format = ObjectFormat::parse(format_name)
            .ok_or_else(|| odd_output("rev-parse", "an unknown object format"))?;
        let mut toplevel = None;
        if is_inside == "true" {
            let root = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
            toplevel = Some(self.line(what, &root)?.into());
        }
        Ok(Some(Layout {
            common_dir: common_dir.into(),
            format,
            toplevel,
        }))
    }

    /// Returns this worktree's private git directory, absolute.
    ///
    /// # Errors
    /// Fails when there is no repository, or git refuses it.
    pub fn absolute_git_dir(&self) -> Result<Utf8PathBuf, GitError> {
        if self.named.is_none()
            && let Some(found) = discover(&self.dir)?
        {
            return Ok(found.git_dir);
        }
        let args = ["rev-parse", "--absolute-git-dir"];
        self.line("find the git directory", &args).map(Into::into)
    }

    /// True if the repository of exactly this common git directory is bare.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn is_bare_repository(&self) -> Result<bool, GitError> {
        Ok(self.repo()?.is_bare())
    }

    /// Returns the repository, opened at the first question, and again when its settings have
    /// changed.
    ///
    /// # Errors
    /// Fails when there is none, or it cannot be read.
    pub(super) fn repo(&self) -> Result<Arc<Repo>, GitError> {
        self.repos
            .get_or_open(&self.git_dir()?, self.mode, self.mode)
    }

    /// As [`Git::repo`], for what no setting changes: one that is open for the user will do.
    ///
    /// # Errors
    /// As [`Git::repo`].
    pub(super) fn repo_in_any_mode(&self) -> Result<Arc<Repo>, GitError> {
        self.repos
            .get_or_open(&self.git_dir()?, self.mode, GitMode::User)
    }

    fn git_dir(&self) -> Result<Utf8PathBuf, GitError> {
        match &self.named {
            Some(git_dir) => Ok(git_dir.clone()),
            None => self.absolute_git_dir(),
        }
    }
}
