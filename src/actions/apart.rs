//! Makes a git directory of its own, in which what is asked of git is neither written into the
//! repository nor decided by its attributes and settings: [`Apart`].

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::files::Temporary;
use crate::git::objects::Objects;
use crate::git::settings_file::quoted;
use crate::words::error::Error;
use crate::worktree::repository::Repository;

/// Represents a temporary git directory with the objects of a repository as alternates
/// (gitrepository-layout(5)); it is removed with this.
pub struct Apart {
    /// The git directory.
    pub git_dir: Utf8PathBuf,
    /// Its objects, and through it the repository's.
    pub objects: Objects,
    dir: Temporary,
}

impl Apart {
    /// Makes one; `settings` are added to a configuration that says the format and no more.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn new(repository: &Repository, settings: &str) -> Result<Self, Error> {
        let dir = Temporary::new()?;
        let git_dir = dir.path().join("git");
        files::create_directories(&git_dir.join("refs"))?;
        let format = format!(
            "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = {}\n",
            repository.format
        );
        let alternate = quoted(repository.common_dir.join("objects").as_str());
        files::write(&git_dir.join("HEAD"), b"ref: refs/heads/none\n")?;
        let config = format!("{format}{settings}");
        let alternates = format!("{alternate}\n");
        files::write(&git_dir.join("config"), config.as_bytes())?;
        let file = git_dir.join("objects/info/alternates");
        files::write(&file, alternates.as_bytes())?;
        let objects = Objects::open(&git_dir, repository.format)?;
        Ok(Self {
            git_dir,
            objects,
            dir,
        })
    }

    /// The temporary directory around it, for what else is needed.
    pub fn directory(&self) -> &Utf8Path {
        self.dir.path()
    }
}
