//! Makes a git directory of its own, in which what is asked of git is neither written into the
//! repository nor decided by its attributes and settings: [`QuarantineRepository`].

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::files::Temporary;
use crate::git::objects::Objects;
use crate::git::settings_file::quoted;
use crate::words::error::Error;
use crate::worktree::repository::Repository;

/// A temporary git directory with the objects of a repository as alternates
/// (gitrepository-layout(5)); it is removed with this.
pub struct QuarantineRepository {
    /// The git directory.
    pub git_dir: Utf8PathBuf,
    /// Its objects, and through it the repository's.
    pub objects: Objects,
    directory: Temporary,
}

impl QuarantineRepository {
    /// Creates the git directory; `settings` are added to a configuration that only says the
    /// format.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn new(repository: &Repository, settings: &str) -> Result<Self, Error> {
        let directory = Temporary::new()?;
        let git_dir = directory.path().join("git");
        files::create_directories(&git_dir.join("refs"))?;
        files::create_directories(&git_dir.join("objects/info"))?;
        // without `sync`: it ends with this process
        files::write_beside(&git_dir.join("HEAD"), b"ref: refs/heads/none\n")?;
        let config = format!(
            "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = {}\n{settings}",
            repository.format
        );
        files::write_beside(&git_dir.join("config"), config.as_bytes())?;
        let shared = quoted(repository.common_dir.join("objects").as_str());
        let alternates = format!("{shared}\n");
        let file = git_dir.join("objects/info/alternates");
        files::write_beside(&file, alternates.as_bytes())?;
        Ok(Self {
            objects: Objects::open(&git_dir, repository.format)?,
            git_dir,
            directory,
        })
    }

    /// The temporary directory around it, for what else is needed.
    pub fn directory(&self) -> &Utf8Path {
        self.directory.path()
    }
}
