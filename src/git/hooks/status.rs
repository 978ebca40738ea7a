//! Says how the hooks of a worktree are.

use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::OnViolation;
use crate::git::config::ScopedSetting;
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
    /// The scope and the directory of another `core.hooksPath`: git runs the hooks there, and none
    /// of ours.
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
    /// True if all is there, and git obeys it.
    pub const fn is_complete(&self) -> bool {
        self.method.is_some() && self.faults.is_empty() && self.overridden.is_none()
    }
}

impl WorktreeHooks {
    /// Says how the hooks are, as git would find them here and now. `recorded` is with what they were
    /// installed; where no record tells that, the scripts that are there do.
    ///
    /// # Errors
    /// Fails when git does, or when a file of ours is there and cannot be read.
    pub fn status(&self, recorded: Option<OnViolation>) -> Result<HooksState, GitError> {
        let directory = self.state().join("hooks");
        let has_pre_commit = directory.join(OURS).join("pre-commit").exists();
        let on_violation = match recorded {
            Some(on_violation) => on_violation,
            None if has_pre_commit => OnViolation::Block,
            None => OnViolation::Report,
        };
        let mut state = HooksState {
            method: None,
            faults: Vec::new(),
            overridden: None,
            binary: self.recorded_binary()?,
            on_violation,
            user_directory: self.directory_of(self.users_setting()?),
        };
        if !directory.is_dir() {
            return Ok(state);
        }
        let method = method_in(&directory)?;
        state.method = Some(method);
        state.faults = file_faults(method, on_violation, &directory, &state.user_directory)?;
        let wiring_faults = self.wiring_faults()?;
        // where git does not read our configuration, the user's `core.hooksPath` overrides nothing
        if wiring_faults.is_empty() {
            match method {
                Method::Configured => state.faults.extend(self.configured_faults()?),
                Method::HooksPath => state.overridden = self.other_hooks_path(&directory)?,
            }
        }
        state.faults.extend(wiring_faults);
        Ok(state)
    }

    /// The recorded binary, and whether it can be started.
    fn recorded_binary(&self) -> Result<Option<(Utf8PathBuf, bool)>, GitError> {
        let Some(text) = read_file(self.state().join("bin"))? else {
            return Ok(None);
        };
        let path = Utf8PathBuf::from(text.to_str_lossy().trim_end_matches('\n'));
        let can_start = path.is_file() && is_executable(&path);
        Ok(Some((path, can_start)))
    }

    /// The scope and the directory of the `core.hooksPath` that counts, where that is none of ours.
    fn other_hooks_path(
        &self,
        directory: &Utf8Path,
    ) -> Result<Option<(String, Utf8PathBuf)>, GitError> {
        let counting = self.git.config_get_all_paths("core.hooksPath")?.pop();
        Ok(counting.filter(|(_, path)| path != directory && !Self::is_ours(path)))
    }

    /// Says why git does not read our configuration; nothing where it does.
    fn wiring_faults(&self) -> Result<Vec<String>, GitError> {
        let mut faults = Vec::new();
        let common = self.common.join("config");
        if self.git.config_file_get_bool(&common, EXTENSION)? != Some(true) {
            faults.push("extensions.worktreeConfig is off".to_owned());
        }
        let own = self.admin.join("config.worktree");
        let included = self.git.config_file_get_all(&own, "include.path")?;
        if !included.iter().any(|path| path == INCLUDED) {
            faults.push("config.worktree does not include ours".to_owned());
        }
        Ok(faults)
    }

    /// Says which configured hooks git does not run (`hook.<name>.enabled`, git-config(1)).
    fn configured_faults(&self) -> Result<Vec<String>, GitError> {
        let version = self.git.version()?;
        if version < GitVersion::CONFIGURED_HOOKS {
            return Ok(vec![format!("git {version} ignores configured hooks")]);
        }
        let settings = self.git.config_get_section("hook")?;
        let mut faults = Vec::new();
        for event in scripts(OnViolation::Block) {
            if is_off(&settings, &format!("hook.agentwt-{event}.enabled"))
                || is_off(&settings, &format!("hook.{event}.enabled"))
            {
                faults.push(format!("our {event} hook is disabled by a setting"));
            }
        }
        Ok(faults)
    }
}

/// The method by which the hooks in our directory were installed.
fn method_in(directory: &Utf8Path) -> Result<Method, GitError> {
    let config = read_file(directory.join("config"))?.unwrap_or_default();
    Ok(if config.contains_str("hooksPath") {
        Method::HooksPath
    } else {
        Method::Configured
    })
}

/// Says which files of our directory are not as they would be installed now.
fn file_faults(
    method: Method,
    on_violation: OnViolation,
    directory: &Utf8Path,
    user_directory: &Utf8Path,
) -> Result<Vec<String>, GitError> {
    let mut faults = Vec::new();
    for (name, text) in files(method, on_violation, directory, user_directory) {
        let path = directory.join(&name);
        let is_whole = read_file(&path)?.is_some_and(|content| content == text.as_bytes());
        if is_whole && (name == "config" || is_executable(&path)) {
            continue;
        }
        faults.push(if ON_DEMAND.contains(&name.as_str()) {
            format!("your {name} hook is newer than ours")
        } else {
            format!("{path} is missing or altered")
        });
    }
    Ok(faults)
}

/// True if the last value of a key is false in git's words.
fn is_off(settings: &[ScopedSetting], key: &str) -> bool {
    match settings.iter().rfind(|(_, name, _)| name == key) {
        Some((_, _, value)) => {
            let word = value.to_ascii_lowercase();
            ["false", "no", "off", "0", ""].contains(&word.as_str())
        }
        None => false,
    }
}
