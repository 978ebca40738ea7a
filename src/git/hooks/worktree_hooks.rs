//! Installs our hooks into one linked worktree or clone, and removes them.
#![expect(clippy::disallowed_methods, reason = "writes git's own directories")]

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::config::value::OnViolation;
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::git_dir::{common_dir, read_file};
use crate::git::hooks::disk::{remove, write_whole, written};
use crate::git::hooks::include::{enable_extension, exclude, include};
use crate::git::hooks::journal;
use crate::git::hooks::scripts::{Method, OURS, files, is_script};
use crate::git::process::Git;

/// The hooks of one linked worktree or clone.
#[derive(Clone, Debug)]
pub struct WorktreeHooks {
    pub(super) git: Git,
    pub(super) admin: Utf8PathBuf,
    pub(super) common: Utf8PathBuf,
    work_tree: Utf8PathBuf,
}

/// Whose git directory holds the hooks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placement {
    /// The private one of a linked worktree.
    Linked,
    /// That of a repository.
    Own,
}

impl WorktreeHooks {
    /// Takes a linked worktree by its absolute git directory (`<common>/worktrees/<id>`) and its
    /// absolute root; `git` may stand in any directory and mode.
    ///
    /// # Errors
    /// Fails when the git directory is not a linked worktree's: in the main worktree git tells a
    /// hook no `GIT_DIR` (measured, 2.39 to 2.55), and its hooks are the user's.
    pub fn of(git: &Git, admin: &Utf8Path, work_tree: &Utf8Path) -> Result<Self, GitError> {
        Self::new(git, admin, work_tree, Placement::Linked)
    }

    /// Takes a clone of ours by its absolute root: a repository whose own worktree is an agent's.
    /// Git tells its hooks no `GIT_DIR` either, so the scripts look for `.git/agentwt`.
    ///
    /// # Errors
    /// Fails when there is no repository of its own.
    pub fn of_clone(git: &Git, work_tree: &Utf8Path) -> Result<Self, GitError> {
        Self::new(git, &work_tree.join(".git"), work_tree, Placement::Own)
    }

    /// Takes a git directory that is placed as expected, and is itself no link.
    fn new(
        git: &Git,
        admin: &Utf8Path,
        work_tree: &Utf8Path,
        expected: Placement,
    ) -> Result<Self, GitError> {
        let wrong_placement = GitError::Read {
            what: admin.to_string(),
            detail: "it is not the git directory of a linked worktree, or of a clone of ours"
                .to_owned(),
        };
        let is_directory = fs::symlink_metadata(admin).is_ok_and(|metadata| metadata.is_dir());
        if !is_directory {
            return Err(wrong_placement);
        }
        let Some(common) = common_dir(admin) else {
            return Err(wrong_placement);
        };
        let placement = if common == admin {
            Placement::Own
        } else {
            Placement::Linked
        };
        if placement != expected {
            return Err(wrong_placement);
        }
        Ok(Self {
            git: git.on(admin, Some(work_tree)).with_mode(GitMode::User),
            admin: admin.to_owned(),
            common,
            work_tree: work_tree.to_owned(),
        })
    }

    /// Installs the hooks by the method that fits this git, whatever was installed before; turns
    /// `extensions.worktreeConfig` on where it is off. The caller holds the repository's lock.
    ///
    /// # Errors
    /// Fails when git or the disk does; installing again goes on.
    pub fn install(
        &self,
        binary: &Utf8Path,
        on_violation: OnViolation,
    ) -> Result<Method, GitError> {
        let method = Method::of(self.git.version()?);
        let user = self.directory_of(self.users_setting()?);
        let own = self.admin.join("config.worktree");
        // fails before anything is changed
        if own.is_dir() {
            return written(&own, Err(ErrorKind::IsADirectory.into()));
        }
        enable_extension(&self.git, &self.common)?;
        self.replace_directory(method, on_violation, &user, binary)?;
        include(&self.git, &own)?;
        self.refresh()?;
        self.begin_journal()?;
        Ok(method)
    }

    /// Writes our directory of hooks beside the present one, and puts it in the place of that; and
    /// writes where our binary is.
    fn replace_directory(
        &self,
        method: Method,
        on_violation: OnViolation,
        user: &Utf8Path,
        binary: &Utf8Path,
    ) -> Result<(), GitError> {
        let state = self.state();
        let live = state.join("hooks");
        let new = state.join("hooks.new");
        let old = state.join("hooks.old");
        remove(&new)?;
        remove(&old)?;
        written(&new, fs::create_dir_all(new.join(OURS)))?;
        for (name, text) in files(method, on_violation, &live, user) {
            let path = new.join(&name);
            let mode = if name == "config" { 0o644 } else { 0o755 };
            written(&path, fs::write(&path, text))?;
            // whatever the umask
            written(
                &path,
                fs::set_permissions(&path, Permissions::from_mode(mode)),
            )?;
        }
        write_whole(&state.join("bin"), format!("{binary}\n").as_bytes())?;
        // at each moment there are hooks: a commit of that moment would run none
        if renameat_with(CWD, new.as_str(), CWD, live.as_str(), RenameFlags::EXCHANGE).is_ok() {
            return remove(&new);
        }
        // nothing is there yet, or the file system cannot exchange
        if live.symlink_metadata().is_ok() {
            written(&live, fs::rename(&live, &old))?;
        }
        written(&live, fs::rename(&new, &live))?;
        remove(&old)
    }

    /// Removes the hooks; that there are none is fine. The extension stays: another worktree may
    /// have come to need it.
    ///
    /// # Errors
    /// Fails when git or the disk does; calling it again goes on where it stopped.
    pub fn uninstall(&self) -> Result<(), GitError> {
        exclude(&self.git, &self.admin.join("config.worktree"))?;
        let state = self.state();
        for name in "hooks hooks.new hooks.old bin journal committing users".split(' ') {
            remove(&state.join(name))?;
        }
        let _ = fs::remove_dir(state);
        Ok(())
    }

    /// Writes down for the scripts where the user's hooks are, with the time before the settings
    /// were read: where a configuration is newer, or this cannot be determined, they ask git. Every
    /// start of the binary by a hook does this.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn refresh(&self) -> Result<(), GitError> {
        let file = self.state().join("users");
        let now = SystemTime::now();
        let Ok(setting) = self.users_setting() else {
            // not UTF-8
            return remove(&file);
        };
        // as it was set: the user's hook is called by this name
        let user = match setting {
            Some(path) if !path.as_str().is_empty() => path,
            empty => self.directory_of(empty),
        };
        let text = format!("{user}\n");
        if read_file(&file)?.is_none_or(|there| there != text.as_bytes()) {
            write_whole(&file, text.as_bytes())?;
        }
        let opened = File::options().append(true).open(&file);
        written(&file, opened.and_then(|journal| journal.set_modified(now)))
    }

    /// Begins the journal with what HEAD has been on until now, so that only what comes later can
    /// be missing from it. One that is there goes on.
    fn begin_journal(&self) -> Result<(), GitError> {
        let file = self.admin.join(journal::FILE);
        if file.exists() {
            return Ok(());
        }
        let mut text = String::new();
        let log = self.git.reflog("HEAD")?;
        for (at, entry) in log.iter().enumerate() {
            let older = log.get(at + 1).map(|older| &older.id);
            let from = match entry.old.as_ref().or(older) {
                Some(old) => old.to_string(),
                // HEAD was nowhere: zeros would be those of a checkout, which explains no commit
                None => "ref:HEAD".to_owned(),
            };
            text += &format!("{from} {} HEAD\n", entry.id);
        }
        write_whole(&file, text.as_bytes())
    }

    /// True if a directory of hooks is one of ours, of whichever worktree.
    pub fn is_ours(directory: &Utf8Path) -> bool {
        directory.join(OURS).is_dir()
    }

    /// Our directory of hooks in the git directory of a worktree.
    pub fn directory_in(git_dir: &Utf8Path) -> Utf8PathBuf {
        git_dir.join("agentwt/hooks")
    }

    /// True if each script in a directory of hooks is one that this program writes.
    pub fn has_only_ours(directory: &Utf8Path) -> bool {
        for place in [directory.to_owned(), directory.join(OURS)] {
            let Ok(entries) = place.read_dir_utf8() else {
                return false;
            };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                // git reads the settings in `config`, which are judged as such
                let is_judged_elsewhere = matches!(entry.file_name(), "config" | OURS);
                if !is_judged_elsewhere && !is_script_of_ours(entry.path()) {
                    return false;
                }
            }
        }
        true
    }

    /// The `core.hooksPath` that would count if ours were not there, as it was set.
    pub(super) fn users_setting(&self) -> Result<Option<Utf8PathBuf>, GitError> {
        let values = self.git.config_get_all_paths("core.hooksPath")?;
        for (scope, path) in values.into_iter().rev() {
            if scope != "command" && !Self::is_ours(&self.work_tree.join(&path)) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The directory of hooks that such a setting means (githooks(5)).
    pub(super) fn directory_of(&self, setting: Option<Utf8PathBuf>) -> Utf8PathBuf {
        match setting {
            // git takes an empty one for the root
            Some(path) if path.as_str().is_empty() => "/".into(),
            Some(path) => self.work_tree.join(path),
            None => self.common.join("hooks"),
        }
    }

    /// Our directory in the worktree's git directory.
    pub(super) fn state(&self) -> Utf8PathBuf {
        self.admin.join("agentwt")
    }
}

/// True if a file is a script that this program writes, and no link to one.
fn is_script_of_ours(file: &Utf8Path) -> bool {
    fs::read(file).is_ok_and(|text| is_script(&text)) && !file.is_symlink()
}
