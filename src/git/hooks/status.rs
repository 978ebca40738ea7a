//! Says how the hooks of a worktree are.

use bstr::ByteSlice as _;
use camino::Utf8PathBuf;

use crate::config::value::OnViolation;
use crate::git::error::GitError;
use crate::git::git_dir::read_file;
use crate::git::hooks::disk::is_executable;
use crate::git::hooks::include::{EXTENSION, INCLUDED};
use crate::git::hooks::scripts::{Method, ON_DEMAND, OURS, files, scripts};
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::git::version::GitVersion;

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

impl WorktreeHooks {
    /// Says how the hooks are, as git would find them here and now.
    ///
    /// # Errors
    /// Fails when git does, or when a file of ours is there and cannot be read.
    pub fn status(&self) -> Result<HooksState, GitError> {
        let (state, directory) = (self.state(), self.state().join("hooks"));
        let asks = directory.join(OURS).join("pre-commit").exists();
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
            for (name, text) in files(found, on_violation, &directory, &user_directory) {
                let path = directory.join(&name);
                let is_whole = read_file(&path)?.is_some_and(|there| there == text.as_bytes());
                if is_whole && (name == "config" || is_executable(&path)) {
                    continue;
                }
                faults.push(if ON_DEMAND.contains(&name.as_str()) {
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
        let is_on = self.git.config_file_get_bool(&common, EXTENSION)? == Some(true);
        let own = self.admin.join("config.worktree");
        let included = self.git.config_file_get_all(&own, "include.path")?;
        let is_included = included.iter().any(|path| path == INCLUDED);
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
        let off = scripts(OnViolation::Block).filter(|event| {
            is_off(format!("hook.agentwt-{event}.enabled"))
                || is_off(format!("hook.{event}.enabled"))
        });
        let faults = off.map(|event| format!("our {event} hook is disabled by a setting"));
        Ok(faults.collect())
    }
}
