//! Installs our hooks into one linked worktree or clone, removes them, and says how they are.
//!
//! Everything lives in the worktree's own git directory and dies with it:
//!
//! ```text
//! <admin>/config.worktree               one `include.path`, relative: the only line that we add
//! <admin>/agentwt/bin                   the binary's absolute path
//! <admin>/agentwt/users                 the directory of the user's hooks, newer than the settings
//! <admin>/agentwt/hooks/config          the included file: hook.agentwt-* or core.hooksPath
//! <admin>/agentwt/hooks/<hook>          core-hooksPath.sh, under each name (git before 2.54)
//! <admin>/agentwt/hooks/agentwt.d/<ev>  post-commit.sh, under the name of each of our events
//! ```
//!
//! `git worktree add` copies `config.worktree` into a worktree that is added from ours, and git
//! ignores an include that is not there: the copy finds no `agentwt/` below its own git directory,
//! so nothing of ours runs in it and no path of ours dangles when this worktree is gone. The
//! directory is replaced as a whole, by rename, so git sees all of one method or all of another.
//!
//! It never touches the main worktree's or the user's hooks, and does not know what a hook does:
//! that is `git-agentwt hook`.
//!
//! ```no_run
//! use camino::Utf8Path;
//! use git_agentwt::git::{Git, hooks::{Hooks, PreCommit}};
//! let tree = Utf8Path::new("/repo/.agentwt/worktrees/fix");
//! let git = Git::find(tree)?;
//! let hooks = Hooks::of(&git, Utf8Path::new("/repo/.git/worktrees/fix"), tree)?;
//! let method = hooks.install(Utf8Path::new("/usr/bin/git-agentwt"), PreCommit::Absent)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "hooks are files in git's own directories, replaced as a whole beside its locks"
)]

mod config_worktree;
pub mod error;
mod extension;
mod files;
pub mod journal;
mod place;
mod status;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};

use super::process::{Git, GitVersion, Mode};
pub use error::HooksError;
pub use status::{Binary, Fault, HooksStatus, Installed};

/// Says how git is told to run our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By `hook.<name>.command`: beside the user's hooks, before them (git-hook(1), git 2.54).
    Configured,
    /// By a `core.hooksPath` of this worktree, whose hooks run the user's and then ours.
    HooksPath,
}

/// Says whether a commit asks us first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreCommit {
    /// A commit with violations is refused (`on_violation = "block"`).
    Blocks,
    /// There is no pre-commit hook of ours.
    Absent,
}

/// Represents the hooks of one linked worktree.
#[derive(Clone, Debug)]
pub struct Hooks {
    git: Git,
    admin: Utf8PathBuf,
    common: Utf8PathBuf,
    work_tree: Utf8PathBuf,
}

impl Method {
    /// The method for a git: its own hooks where it has them.
    #[must_use]
    pub fn of(version: GitVersion) -> Self {
        if version >= GitVersion::CONFIGURED_HOOKS {
            Self::Configured
        } else {
            Self::HooksPath
        }
    }
}

impl Hooks {
    /// Takes a linked worktree by its absolute git directory (`<common>/worktrees/<id>`) and its
    /// absolute root; `git` may stand in any directory and mode.
    ///
    /// # Errors
    /// Fails when the git directory is not a linked worktree's: in the main worktree git tells a
    /// hook no `GIT_DIR` (measured, 2.39 to 2.55), and its hooks are the user's.
    pub fn of(git: &Git, admin: &Utf8Path, work_tree: &Utf8Path) -> Result<Self, HooksError> {
        let not_linked = |_| HooksError::NotLinked {
            git_dir: admin.to_owned(),
        };
        let link = fs::read_to_string(admin.join("commondir")).map_err(not_linked)?;
        let common = admin.join(link.trim_end_matches('\n'));
        let common = common.canonicalize_utf8().map_err(not_linked)?;
        Ok(Self {
            git: git.on(admin, Some(work_tree)).with_mode(Mode::User),
            admin: admin.to_owned(),
            common,
            work_tree: work_tree.to_owned(),
        })
    }

    /// Takes a clone of ours by its absolute root: a repository whose own worktree is an agent's.
    /// Git tells its hooks no `GIT_DIR` either, so the scripts look for `.git/agentwt`.
    ///
    /// # Errors
    /// Fails when there is no repository of its own.
    pub fn of_clone(git: &Git, work_tree: &Utf8Path) -> Result<Self, HooksError> {
        let admin = work_tree.join(".git");
        let is_own = fs::symlink_metadata(&admin).is_ok_and(|found| found.is_dir());
        if !is_own || admin.join("commondir").exists() {
            return Err(HooksError::NotLinked { git_dir: admin });
        }
        Ok(Self {
            git: git.on(&admin, Some(work_tree)).with_mode(Mode::User),
            common: admin.clone(),
            admin,
            work_tree: work_tree.to_owned(),
        })
    }

    /// Installs the hooks by the method that fits this git, whatever was installed before; turns
    /// `extensions.worktreeConfig` on where it is off. The caller holds the repository's lock.
    ///
    /// # Errors
    /// Fails when git or the disk does; then everything is as it was.
    pub fn install(&self, binary: &Utf8Path, ask: PreCommit) -> Result<Method, HooksError> {
        let method = Method::of(self.git.version()?);
        let user = self.user_directory()?;
        let extension = extension::enable(&self.git, &self.common)?;
        let content = files::Content::new(self, method, ask, &user, binary);
        let placed = place::place(&self.state(), &content).inspect_err(|_| extension.undo())?;
        if let Err(error) = config_worktree::include(&self.admin) {
            placed.undo();
            extension.undo();
            return Err(error);
        }
        placed.keep();
        self.refresh()?;
        self.begin_journal()?;
        Ok(method)
    }

    /// Writes down for the scripts where the user's hooks are, with the time before the settings
    /// were read: where a configuration is newer, or this cannot be told, they ask git. Every start
    /// of the binary by a hook does this.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn refresh(&self) -> Result<(), HooksError> {
        let (file, new) = (self.state().join("users"), self.state().join("users.new"));
        let now = SystemTime::now();
        let Ok(setting) = self.users_setting() else {
            // not UTF-8
            return match fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(HooksError::disk("remove", &file)(error))
                }
                Ok(()) | Err(_) => Ok(()),
            };
        };
        // as it was set: the user's hook is called by this name
        let user = match setting {
            Some(path) if !path.as_str().is_empty() => path,
            empty => self.directory_of(empty),
        };
        let text = format!("{user}\n");
        let write = || {
            if !fs::read(&file).is_ok_and(|there| there == text.as_bytes()) {
                fs::write(&new, &text)?;
                fs::rename(&new, &file)?;
            }
            File::options().append(true).open(&file)?.set_modified(now)
        };
        write().map_err(HooksError::disk("write", &file))
    }

    /// Removes the hooks; that there are none is fine. The extension stays: another worktree may
    /// have come to need it.
    ///
    /// # Errors
    /// Fails when git or the disk does; calling it again goes on where it stopped.
    pub fn uninstall(&self) -> Result<(), HooksError> {
        config_worktree::exclude(&self.git, &self.admin)?;
        place::remove(&self.state())
    }

    /// Says how the hooks are, as git would find them here and now.
    ///
    /// # Errors
    /// Fails when git does, or when a file of ours is there and cannot be read.
    pub fn status(&self) -> Result<HooksStatus, HooksError> {
        status::read_status(self)
    }

    /// Begins the journal with what HEAD has been on until now, so that only what comes later can
    /// be missing from it. One that is there goes on.
    fn begin_journal(&self) -> Result<(), HooksError> {
        let file = self.admin.join(journal::FILE);
        if file.exists() {
            return Ok(());
        }
        let mut text = String::new();
        for entry in self.git.reflog_head()? {
            let zero = "0".repeat(entry.id.as_str().len());
            text.push_str(&format!("{zero} {} HEAD\n", entry.id));
        }
        config_worktree::replace(&file, text.as_bytes())
    }

    /// Whether a directory of hooks is one of ours.
    #[must_use]
    pub fn is_ours(directory: &Utf8Path) -> bool {
        files::is_ours(directory)
    }

    /// The directory in which git would look for hooks if ours were not there.
    fn user_directory(&self) -> Result<Utf8PathBuf, HooksError> {
        Ok(self.directory_of(self.users_setting()?))
    }

    /// The `core.hooksPath` that would count if ours were not there, as it was set.
    fn users_setting(&self) -> Result<Option<Utf8PathBuf>, HooksError> {
        let values = self.git.config_get_all_paths("core.hooksPath")?;
        let user = values
            .into_iter()
            .filter(|(scope, _)| scope != "command")
            .map(|(_, path)| path)
            .rfind(|path| !files::is_ours(&self.work_tree.join(path)));
        Ok(user)
    }

    /// The directory of hooks that such a setting means (githooks(5)).
    fn directory_of(&self, setting: Option<Utf8PathBuf>) -> Utf8PathBuf {
        match setting {
            // git takes an empty one for the root
            Some(path) if path.as_str().is_empty() => "/".into(),
            Some(path) => self.work_tree.join(path),
            None => self.common.join("hooks"),
        }
    }

    /// Our directory in the worktree's git directory.
    fn state(&self) -> Utf8PathBuf {
        self.admin.join("agentwt")
    }
}
