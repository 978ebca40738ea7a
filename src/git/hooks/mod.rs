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
//! use git_agentwt::config::value::OnViolation;
//! use git_agentwt::git::{Git, SharedRunner, hooks::WorktreeHooks};
//! let tree = Utf8Path::new("/repo/.agentwt/worktrees/fix");
//! let git = Git::unchecked(tree, SharedRunner::default());
//! let hooks = WorktreeHooks::of(&git, Utf8Path::new("/repo/.git/worktrees/fix"), tree)?;
//! let method = hooks.install(Utf8Path::new("/usr/bin/git-agentwt"), OnViolation::Report)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![expect(clippy::disallowed_methods, reason = "writes git's own directories")]
pub mod files;
pub mod journal;

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::OnViolation;
use crate::git::discover::common_dir;
use crate::git::error::GitError;
use crate::git::objects::unwritable;
use crate::git::process::{Git, GitMode, GitVersion};
use crate::git::repo::read_file;

/// How git is told to run our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By `hook.<name>.command`: beside the user's hooks, before them (git-hook(1), git 2.54).
    Configured,
    /// By a `core.hooksPath` of this worktree, whose hooks run the user's and then ours.
    HooksPath,
}

impl Method {
    /// The method for a git: its own hooks where it has them.
    pub fn of(version: GitVersion) -> Self {
        if version >= GitVersion::CONFIGURED_HOOKS {
            Self::Configured
        } else {
            Self::HooksPath
        }
    }
}

/// How the hooks of one worktree are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksState {
    /// The method that was installed; none when nothing of ours is in this worktree, or only a line
    /// that it inherited.
    pub method: Option<Method>,
    /// What is not as installed.
    pub faults: Vec<String>,
    /// The scope and the directory of another `core.hooksPath`: git runs the hooks there, and none of
    /// ours.
    pub overridden: Option<(String, Utf8PathBuf)>,
    /// The binary that they start first, as recorded, and whether it can be started: where not, the
    /// hooks try `git-agentwt` on `PATH`.
    pub binary: Option<(Utf8PathBuf, bool)>,
    /// Whether a commit asks us first.
    pub on_violation: OnViolation,
    /// Where the user's hooks are looked for in this worktree; it need not exist.
    pub user_directory: Utf8PathBuf,
}

impl HooksState {
    /// Whether all is there, and git obeys it.
    pub const fn is_complete(&self) -> bool {
        self.method.is_some() && self.faults.is_empty() && self.overridden.is_none()
    }
}

/// The hooks of one linked worktree or clone.
#[derive(Clone, Debug)]
pub struct WorktreeHooks {
    git: Git,
    admin: Utf8PathBuf,
    common: Utf8PathBuf,
    work_tree: Utf8PathBuf,
}

impl WorktreeHooks {
    /// Takes a linked worktree by its absolute git directory (`<common>/worktrees/<id>`) and its
    /// absolute root; `git` may stand in any directory and mode.
    ///
    /// # Errors
    /// Fails when the git directory is not a linked worktree's: in the main worktree git tells a
    /// hook no `GIT_DIR` (measured, 2.39 to 2.55), and its hooks are the user's.
    pub fn of(git: &Git, admin: &Utf8Path, work_tree: &Utf8Path) -> Result<Self, GitError> {
        Self::new(git, admin, work_tree, true)
    }

    /// Takes a clone of ours by its absolute root: a repository whose own worktree is an agent's.
    /// Git tells its hooks no `GIT_DIR` either, so the scripts look for `.git/agentwt`.
    ///
    /// # Errors
    /// Fails when there is no repository of its own.
    pub fn of_clone(git: &Git, work_tree: &Utf8Path) -> Result<Self, GitError> {
        Self::new(git, &work_tree.join(".git"), work_tree, false)
    }

    fn new(
        git: &Git,
        admin: &Utf8Path,
        work_tree: &Utf8Path,
        is_linked: bool,
    ) -> Result<Self, GitError> {
        let is_directory = fs::symlink_metadata(admin).is_ok_and(|found| found.is_dir());
        let is_meant = |common: &Utf8PathBuf| is_directory && (common != admin) == is_linked;
        let common = common_dir(admin).filter(is_meant).ok_or_else(|| {
            let why = "is not the git directory of a linked worktree, or of a clone of ours";
            let dir = format!("{admin} {why}");
            GitError::NoRepository { dir }
        })?;
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
        files::enable_extension(&self.git, &self.common)?;
        self.place(method, on_violation, &user, binary)?;
        files::include(&self.git, &own)?;
        self.refresh()?;
        self.begin_journal()?;
        Ok(method)
    }

    /// Builds our directory of hooks beside the one that is there, and exchanges the two.
    fn place(
        &self,
        method: Method,
        on_violation: OnViolation,
        user: &Utf8Path,
        binary: &Utf8Path,
    ) -> Result<(), GitError> {
        let state = self.state();
        let [live, new, old] = ["hooks", "hooks.new", "hooks.old"].map(|name| state.join(name));
        remove(&new)?;
        remove(&old)?;
        written(&new, fs::create_dir_all(new.join(files::OURS)))?;
        for (name, text) in files::files(method, on_violation, &live, user) {
            let path = new.join(&name);
            let mode = if name == "config" { 0o644 } else { 0o755 };
            // whatever the umask
            let put = fs::write(&path, text)
                .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(mode)));
            written(&path, put)?;
        }
        write_whole(&state.join("bin"), format!("{binary}\n").as_bytes())?;
        if live.exists() {
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
        files::exclude(&self.git, &self.admin.join("config.worktree"))?;
        let state = self.state();
        for name in "hooks hooks.new hooks.old bin journal committing users".split(' ') {
            remove(&state.join(name))?;
        }
        let _ = fs::remove_dir(state);
        Ok(())
    }

    /// Writes down for the scripts where the user's hooks are, with the time before the settings
    /// were read: where a configuration is newer, or this cannot be determined, they ask git. Every start
    /// of the binary by a hook does this.
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
        written(&file, opened.and_then(|file| file.set_modified(now)))
    }

    /// Says how the hooks are, as git would find them here and now.
    ///
    /// # Errors
    /// Fails when git does, or when a file of ours is there and cannot be read.
    pub fn status(&self) -> Result<HooksState, GitError> {
        let (state, directory) = (self.state(), self.state().join("hooks"));
        let asks = directory.join(files::OURS).join("pre-commit").exists();
        let binary = read_file(state.join("bin"))?.map(|text| {
            let path = Utf8PathBuf::from(text.to_str_lossy().trim_end_matches('\n'));
            let found = path.is_file() && is_executable(&path);
            (path, found)
        });
        let user_directory = self.directory_of(self.users_setting()?);
        let on_violation = if asks {
            OnViolation::Block
        } else {
            OnViolation::Report
        };
        let (mut method, mut faults, mut overridden) = (None, Vec::new(), None);
        if directory.is_dir() {
            let config = read_file(directory.join("config"))?.unwrap_or_default();
            let found = if config.contains_str("hooksPath") {
                Method::HooksPath
            } else {
                Method::Configured
            };
            for (name, text) in files::files(found, on_violation, &directory, &user_directory) {
                let path = directory.join(&name);
                let is_whole = read_file(&path)?.is_some_and(|there| there == text.as_bytes());
                if is_whole && (name == "config" || is_executable(&path)) {
                    continue;
                }
                faults.push(if files::ON_DEMAND.contains(&name.as_str()) {
                    format!("your {name} hook is newer than ours")
                } else {
                    format!("{path} is missing or altered")
                });
            }
            method = Some(found);
            let wiring = self.wiring_faults()?;
            if wiring.is_empty() && found == Method::Configured {
                faults.extend(self.configured_faults()?);
            } else if wiring.is_empty() {
                let last = self.git.config_get_all_paths("core.hooksPath")?.pop();
                overridden = last.filter(|(_, path)| *path != directory && !Self::is_ours(path));
            }
            faults.extend(wiring);
        }
        Ok(HooksState {
            method,
            faults,
            overridden,
            binary,
            on_violation,
            user_directory,
        })
    }

    /// Whether git comes to read our configuration at all.
    fn wiring_faults(&self) -> Result<Vec<String>, GitError> {
        let common = self.common.join("config");
        let is_on = self.git.config_file_get_bool(&common, files::EXTENSION)? == Some(true);
        let own = self.admin.join("config.worktree");
        let included = self.git.config_file_get_all(&own, "include.path")?;
        let is_included = included.iter().any(|path| path == files::INCLUDED);
        let faults = [
            (is_on, "extensions.worktreeConfig is off"),
            (is_included, "config.worktree does not include ours"),
        ];
        let faults = faults.into_iter().filter(|(is_right, _)| !is_right);
        Ok(faults.map(|(_, fault)| fault.to_owned()).collect())
    }

    /// Whether git runs what is configured (`hook.<name>.enabled`, git-config(1)).
    fn configured_faults(&self) -> Result<Vec<String>, GitError> {
        let version = self.git.version()?;
        if version < GitVersion::CONFIGURED_HOOKS {
            return Ok(vec![format!("git {version} ignores configured hooks")]);
        }
        let settings = self.git.config_get_section("hook")?;
        let is_off = |key: String| {
            let found = settings.iter().rfind(|(_, found, _)| *found == key);
            let off = ["false", "no", "off", "0", ""];
            found.is_some_and(|(_, _, value)| off.contains(&value.to_ascii_lowercase().as_str()))
        };
        let off = files::scripts(OnViolation::Block).filter(|event| {
            is_off(format!("hook.agentwt-{event}.enabled"))
                || is_off(format!("hook.{event}.enabled"))
        });
        let faults = off.map(|event| format!("our {event} hook is disabled by a setting"));
        Ok(faults.collect())
    }

    /// Begins the journal with what HEAD has been on until now, so that only what comes later can
    /// be missing from it. One that is there goes on.
    fn begin_journal(&self) -> Result<(), GitError> {
        let file = self.admin.join(journal::FILE);
        if file.exists() {
            return Ok(());
        }
        let line = |entry: &super::refs::ReflogEntry| {
            let (id, zeros) = (&entry.id, "0".repeat(entry.id.as_str().len()));
            format!("{zeros} {id} HEAD\n")
        };
        let text: String = self.git.reflog("HEAD")?.iter().map(line).collect();
        write_whole(&file, text.as_bytes())
    }

    /// Whether a directory of hooks is one of ours, of whichever worktree.
    pub fn is_ours(directory: &Utf8Path) -> bool {
        directory.join(files::OURS).is_dir()
    }

    /// Our directory of hooks in the git directory of a worktree.
    pub fn directory_in(git_dir: &Utf8Path) -> Utf8PathBuf {
        git_dir.join("agentwt/hooks")
    }

    /// Whether each script in a directory of hooks is one that this program writes.
    pub fn has_only_ours(directory: &Utf8Path) -> bool {
        let is_ours = |file: &Utf8Path| {
            fs::read(file).is_ok_and(|text| files::is_script(&text)) && !file.is_symlink()
        };
        for place in [directory.to_owned(), directory.join(files::OURS)] {
            let Ok(entries) = place.read_dir_utf8() else {
                return false;
            };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                // git reads the settings in `config`, which are judged as such
                let is_known = matches!(entry.file_name(), "config" | files::OURS);
                if !is_known && !is_ours(entry.path()) {
                    return false;
                }
            }
        }
        true
    }

    /// The `core.hooksPath` that would count if ours were not there, as it was set.
    fn users_setting(&self) -> Result<Option<Utf8PathBuf>, GitError> {
        let values = self.git.config_get_all_paths("core.hooksPath")?.into_iter();
        let users = values.filter(|(scope, _)| scope != "command");
        let mut paths = users.map(|(_, path)| path);
        Ok(paths.rfind(|path| !Self::is_ours(&self.work_tree.join(path))))
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

/// Names the file in the error of a change on the disk.
fn written<T>(path: &Utf8Path, done: io::Result<T>) -> Result<T, GitError> {
    done.map_err(|error| unwritable(path.as_str(), &error))
}

/// Writes a file beside its place and moves it in.
fn write_whole(path: &Utf8Path, text: &[u8]) -> Result<(), GitError> {
    let new = Utf8PathBuf::from(format!("{path}.new"));
    let moved = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written(path, moved)
}

/// Removes a file, or a directory with all in it; nothing there is fine.
fn remove(path: &Utf8Path) -> Result<(), GitError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => written(path, other),
    }
}

fn is_executable(path: &Utf8Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}
