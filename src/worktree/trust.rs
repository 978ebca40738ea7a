//! Keeps which commands of a config the user trusts: by repository and exact text, in the user's
//! own state directory, which no repository can write.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Config, Located};
use crate::disk::digest::digest_of;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::{Lock, LockFile};
use crate::words::error::Error;
use crate::words::path::shell_word;
use crate::words::toml_file::{from_text, to_text};
use crate::worktree::repository::Repository;

/// Holds the commands that the config of a repository wants to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserCommands {
    /// The common git directory of the repository.
    #[schemars(with = "String")]
    pub repository: Utf8PathBuf,
    /// The commands of `[setup]`.
    pub setup: Vec<String>,
    /// The commands of `[teardown]`.
    pub teardown: Vec<String>,
}

impl UserCommands {
    /// The commands of a config.
    pub fn new(repository: &Repository, config: &Config) -> Self {
        Self {
            repository: repository.home().common_dir.clone(),
            setup: texts_of(&config.setup.commands),
            teardown: texts_of(&config.teardown.commands),
        }
    }

    /// True if there is no command.
    pub const fn is_empty(&self) -> bool {
        self.setup.is_empty() && self.teardown.is_empty()
    }

    /// The digest of the repository and all texts.
    fn digest(&self) -> String {
        match digest_of(to_text(self).as_bytes()) {
            Ok(digest) => digest.to_string(),
            Err(_) => String::new(),
        }
    }
}

/// Commands that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedCommands {
    /// The digest of the repository and the commands.
    pub digest: String,
    /// When the user trusted them.
    pub at: String,
    /// The commands.
    #[serde(flatten)]
    pub commands: UserCommands,
}

impl TrustedCommands {
    fn is_of(&self, repository: &Repository) -> bool {
        self.commands.repository == repository.home().common_dir
    }
}

/// What the user trusts, in all repositories.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustStore {
    /// In the order in which the user trusted them.
    #[serde(default)]
    pub trusted: Vec<TrustedCommands>,
}

impl TrustStore {
    /// Reads what the user trusts. A file that others can write counts for nothing.
    ///
    /// # Errors
    /// Fails when the file is there and cannot be read, or is damaged.
    pub fn read(state: Option<&Utf8Path>) -> Result<Self, Error> {
        let Some(file) = state.map(trust_file) else {
            return Ok(Self::default());
        };
        match files::stat(&file) {
            Some(stat) if stat.mode & 0o022 == 0 => {}
            Some(_) | None => return Ok(Self::default()),
        }
        let Some(bytes) = files::read(&file)? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8(bytes).map_err(|error| damaged(&file, &error))?;
        Ok(from_text(&text).map_err(|error| damaged(&file, &error))?)
    }

    /// True if the user trusts exactly these commands in this repository.
    pub fn holds(&self, commands: &UserCommands) -> bool {
        let digest = commands.digest();
        self.trusted.iter().any(|trusted| trusted.digest == digest)
    }

    /// Adds these commands to what the user trusts.
    ///
    /// # Errors
    /// Fails when there is no state directory, or the disk refuses.
    pub fn add(
        state: Option<&Utf8Path>,
        repository: &Repository,
        commands: &UserCommands,
        now: &str,
    ) -> Result<(), Error> {
        Self::change(state, repository, |trust| {
            if !trust.holds(commands) {
                trust.trusted.push(TrustedCommands {
                    digest: commands.digest(),
                    at: now.to_owned(),
                    commands: commands.clone(),
                });
            }
        })?;
        Ok(())
    }

    /// Counts the texts of a repository that the user trusts.
    pub fn number_of(&self, repository: &Repository) -> usize {
        let trusted = self.trusted.iter();
        trusted.filter(|one| one.is_of(repository)).count()
    }

    /// Removes all commands of a repository from what the user trusts, and returns the number of
    /// entries that were removed.
    ///
    /// # Errors
    /// Fails when there is no state directory, or the disk refuses.
    pub fn revoke(state: Option<&Utf8Path>, repository: &Repository) -> Result<usize, Error> {
        Self::change(state, repository, |trust| {
            trust.trusted.retain(|trusted| !trusted.is_of(repository));
        })
    }

    /// Reads, changes and writes what the user trusts, one process at a time. Returns how many
    /// entries were added or removed.
    fn change(
        state: Option<&Utf8Path>,
        repository: &Repository,
        change: impl FnOnce(&mut Self),
    ) -> Result<usize, Error> {
        let file = state.map(trust_file).ok_or_else(|| {
            let detail = "neither XDG_STATE_HOME nor HOME is an absolute path";
            DiskError::new("find the state directory", std::io::Error::other(detail))
        })?;
        let directory = file.parent().unwrap_or(Utf8Path::new("."));
        files::create_private_directory(directory)?;
        let _one_at_a_time = Lock::wait(&LockFile {
            path: directory.join("lock"),
            name: None,
            waiting: repository.waiting.clone(),
        })?;
        let mut trust = Self::read(state)?;
        let entries_before = trust.trusted.len();
        change(&mut trust);
        let changed = trust.trusted.len().abs_diff(entries_before);
        if changed > 0 {
            files::write_private(&file, to_text(&trust).as_bytes())?;
        }
        Ok(changed)
    }
}

fn texts_of(commands: &[Located<String>]) -> Vec<String> {
    commands
        .iter()
        .map(|command| command.value.clone())
        .collect()
}

fn damaged(file: &Utf8Path, error: &dyn std::fmt::Display) -> DiskError {
    let path = shell_word(file.as_str());
    let attempt = format!("read {file} (to start again: rm {path})");
    DiskError::new(attempt, std::io::Error::other(error.to_string()))
}

fn trust_file(state: &Utf8Path) -> Utf8PathBuf {
    state.join("git-agentwt/trust.toml")
}
