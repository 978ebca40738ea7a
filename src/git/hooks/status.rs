//! Says how the hooks of a worktree are, by what is on disk and by what git would obey.

use std::os::unix::fs::PermissionsExt as _;

use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};

use super::config_worktree::{INCLUDED, read};
use super::error::HooksError;
use super::files::{self, Content};
use super::{Hooks, Method, PreCommit};
use crate::git::GitVersion;

/// Holds how the hooks of one worktree are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksStatus {
    /// Whether and how they are there.
    pub installed: Installed,
    /// The binary that they start first, as recorded; none when nothing is recorded.
    pub binary: Option<Binary>,
    /// Whether a commit asks us first.
    pub pre_commit: PreCommit,
    /// Where the user's hooks are looked for in this worktree; it need not exist.
    pub user_directory: Utf8PathBuf,
}

/// Says whether a recorded binary can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binary {
    /// It is there; whether it works is its own affair.
    Found(Utf8PathBuf),
    /// It is not there, or cannot be executed: the hooks try `git-agentwt` on `PATH`.
    Missing(Utf8PathBuf),
}

/// Says whether and how hooks are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// Nothing of ours is in this worktree, or only a line that it inherited.
    No,
    /// All is there, and git obeys it.
    Complete(Method),
    /// Something is not as installed; installing again repairs it, where it is not the user's wish.
    Partly {
        /// The method that was installed.
        method: Method,
        /// What is wrong, never empty.
        faults: Vec<Fault>,
    },
    /// Another `core.hooksPath` of more weight: git runs the hooks there and none of ours.
    Overridden {
        /// The scope of the setting, as `git config --show-scope` names it.
        scope: String,
        /// The directory it names.
        path: Utf8PathBuf,
    },
}

/// Says what is wrong with installed hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A file of ours is missing, altered or not executable.
    File(Utf8PathBuf),
    /// The user has this hook since, and it is one that is chained only on demand.
    NotChained(&'static str),
    /// `config.worktree` does not include our configuration.
    NotIncluded,
    /// `extensions.worktreeConfig` is off, so git does not read `config.worktree`.
    ExtensionOff,
    /// This git ignores configured hooks.
    OldGit(GitVersion),
    /// A setting switches our hook of this event off.
    Disabled(&'static str),
}

/// Looks at one worktree.
pub(super) fn read_status(hooks: &Hooks) -> Result<HooksStatus, HooksError> {
    let state = hooks.state();
    let user_directory = hooks.user_directory()?;
    let asked = state.join("hooks").join(files::OURS).join("pre-commit");
    let pre_commit = if asked.exists() {
        PreCommit::Blocks
    } else {
        PreCommit::Absent
    };
    let binary = read(&state.join("bin"))?.map(|text| recorded(&text.to_str_lossy()));
    let installed = if state.join("hooks").is_dir() {
        installed(hooks, pre_commit, &user_directory)?
    } else {
        Installed::No
    };
    Ok(HooksStatus {
        installed,
        binary,
        pre_commit,
        user_directory,
    })
}

fn recorded(text: &str) -> Binary {
    let path = Utf8PathBuf::from(text.trim_end_matches('\n'));
    if path.is_file() && is_executable(&path) {
        Binary::Found(path)
    } else {
        Binary::Missing(path)
    }
}

fn installed(hooks: &Hooks, ask: PreCommit, user: &Utf8Path) -> Result<Installed, HooksError> {
    let directory = hooks.state().join("hooks");
    let config = read(&directory.join("config"))?.unwrap_or_default();
    let method = if config.contains_str("hooksPath") {
        Method::HooksPath
    } else {
        Method::Configured
    };
    let mut faults = file_faults(hooks, method, ask, user)?;
    let wiring = wiring_faults(hooks)?;
    if wiring.is_empty() {
        match method {
            Method::Configured => faults.extend(configured_faults(hooks)?),
            Method::HooksPath => {
                let values = hooks.git.config_get_all_paths("core.hooksPath")?;
                match values.into_iter().next_back() {
                    Some((scope, path)) if path != directory && !files::is_ours(&path) => {
                        return Ok(Installed::Overridden { scope, path });
                    }
                    Some(_) | None => {}
                }
            }
        }
    }
    faults.extend(wiring);
    if faults.is_empty() {
        Ok(Installed::Complete(method))
    } else {
        Ok(Installed::Partly { method, faults })
    }
}

/// Whether each file is as an install here and now would write it.
fn file_faults(
    hooks: &Hooks,
    method: Method,
    ask: PreCommit,
    user: &Utf8Path,
) -> Result<Vec<Fault>, HooksError> {
    let directory = hooks.state().join("hooks");
    let mut faults = Vec::new();
    for file in Content::new(hooks, method, ask, user, Utf8Path::new("")).files {
        let path = directory.join(&file.name);
        let whole = read(&path)?.is_some_and(|text| text == file.text.as_bytes())
            && (file.mode & 0o111 == 0 || is_executable(&path));
        let late = files::ON_DEMAND.into_iter().find(|name| *name == file.name);
        match late {
            _ if whole => {}
            Some(name) => faults.push(Fault::NotChained(name)),
            None => faults.push(Fault::File(path)),
        }
    }
    Ok(faults)
}

/// Whether git comes to read our configuration at all.
fn wiring_faults(hooks: &Hooks) -> Result<Vec<Fault>, HooksError> {
    let mut faults = Vec::new();
    let common = hooks.common.join("config");
    if hooks
        .git
        .config_file_get_bool(&common, super::extension::KEY)?
        != Some(true)
    {
        faults.push(Fault::ExtensionOff);
    }
    let own = hooks.admin.join("config.worktree");
    let included = hooks.git.config_file_get_all(&own, "include.path")?;
    if !included.iter().any(|path| path == INCLUDED) {
        faults.push(Fault::NotIncluded);
    }
    Ok(faults)
}

/// Whether git runs what is configured (`hook.<name>.enabled`, git-config(1)).
fn configured_faults(hooks: &Hooks) -> Result<Vec<Fault>, HooksError> {
    let version = hooks.git.version()?;
    if version < GitVersion::CONFIGURED_HOOKS {
        return Ok(vec![Fault::OldGit(version)]);
    }
    let settings = hooks.git.config_get_section("hook")?;
    let off = |event: &&'static str| {
        [
            format!("hook.agentwt-{event}.enabled"),
            format!("hook.{event}.enabled"),
        ]
        .iter()
        .filter_map(|key| settings.iter().rfind(|(found, _)| found == key))
        .any(|(_, value)| is_false(value))
    };
    let disabled = files::EVENTS.into_iter().chain(files::ASKING).filter(off);
    Ok(disabled.map(Fault::Disabled).collect())
}

/// Whether git reads a value as false (git-config(1), "Values").
fn is_false(value: &str) -> bool {
    ["false", "no", "off", "0", ""].contains(&value.to_ascii_lowercase().as_str())
}

fn is_executable(path: &Utf8Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{path} is missing or altered"),
            Self::NotChained(hook) => write!(f, "your {hook} hook is newer than ours"),
            Self::NotIncluded => f.write_str("config.worktree does not include ours"),
            Self::ExtensionOff => f.write_str("extensions.worktreeConfig is off"),
            Self::OldGit(version) => write!(f, "git {version} ignores configured hooks"),
            Self::Disabled(event) => write!(f, "our {event} hook is disabled by a setting"),
        }
    }
}
