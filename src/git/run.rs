//! Starts `git`: the only place that does.
//!
//! [`Git`] says where (a directory, or a git directory and a work tree named outright) and in
//! which [`Mode`]. The methods that run one git command each, named as git names it, are in the
//! sibling files; all of them end in the private `run`.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the one place that starts git and reads the environment for it"
)]

use std::ffi::{OsStr, OsString};
use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};

use super::error::GitError;
use super::settings::{HARDENED, HARDENED_VARIABLES, LOCAL_VARIABLES};

/// Says which of the user's settings a call of git obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the user's own git: for what makes or changes something.
    User,
    /// Under the hardened settings of `settings.rs`: for what verification believes.
    Hardened,
}

/// Says how git finds the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// By discovery from the directory.
    Discover,
    /// These directories and no others: nothing in the worktree can redirect it.
    Explicit {
        git_dir: Utf8PathBuf,
        work_tree: Option<Utf8PathBuf>,
    },
}

/// Represents git for one directory; cheap to clone.
#[derive(Clone, Debug)]
pub struct Git {
    dir: Utf8PathBuf,
    target: Target,
    mode: Mode,
    version: GitVersion,
}

/// Holds a version of git: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(pub u32, pub u32, pub u32);

/// Holds what a finished git said.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl GitVersion {
    /// The oldest that is supported: the oldest that the tests run with.
    pub const OLDEST: Self = Self(2, 39, 0);
    /// The first with hooks that are configured (`hook.<name>.command`, git-hook(1)).
    pub const CONFIGURED_HOOKS: Self = Self(2, 54, 0);

    /// Parses what `git version` prints (`git version 2.39.5 (Apple Git-154)`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = text
            .strip_prefix("git version ")?
            .split_whitespace()
            .next()?;
        let mut parts = number.split(['.', '-']).map(str::parse::<u32>);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self(major, minor, patch))
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Git {
    /// Finds git and checks that it is not too old.
    ///
    /// # Errors
    /// Fails when git cannot be started, or is older than [`GitVersion::OLDEST`].
    pub fn find(dir: &Utf8Path) -> Result<Self, GitError> {
        let unknown = GitVersion(0, 0, 0);
        let git = Self {
            dir: dir.to_owned(),
            target: Target::Discover,
            mode: Mode::User,
            version: unknown,
        };
        let answer = git.run(&["version"], None)?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let found = GitVersion::parse(text.trim()).unwrap_or(unknown);
        if found < GitVersion::OLDEST {
            return Err(GitError::TooOld { found });
        }
        Ok(Self {
            version: found,
            ..git
        })
    }

    /// The same git in another directory, which it finds the repository from.
    #[must_use]
    pub fn at(&self, dir: &Utf8Path) -> Self {
        Self {
            dir: dir.to_owned(),
            target: Target::Discover,
            ..self.clone()
        }
    }

    /// The same git on exactly this git directory and work tree, whatever the work tree says.
    #[must_use]
    pub fn on(&self, git_dir: &Utf8Path, work_tree: Option<&Utf8Path>) -> Self {
        Self {
            dir: work_tree.unwrap_or(git_dir).to_owned(),
            target: Target::Explicit {
                git_dir: git_dir.to_owned(),
                work_tree: work_tree.map(ToOwned::to_owned),
            },
            ..self.clone()
        }
    }

    /// The same git in another mode.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self {
            mode,
            ..self.clone()
        }
    }

    /// The directory in which it runs.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// The version that was found.
    #[must_use]
    pub const fn version(&self) -> GitVersion {
        self.version
    }

    /// Runs a command that must succeed; its standard output.
    pub(super) fn output(&self, what: &str, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.output_with_input(what, args, None)
    }

    /// Runs a command that must succeed, with its standard input; its standard output.
    pub(super) fn output_with_input(
        &self,
        what: &str,
        args: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        let answer = self.run(args, input)?;
        if answer.status == Some(0) {
            Ok(answer.stdout)
        } else {
            Err(failed(what, args, &answer))
        }
    }

    /// Runs a command that must succeed and print one line of UTF-8; the line.
    pub(super) fn line(&self, what: &str, args: &[&str]) -> Result<String, GitError> {
        let mut bytes = self.output(what, args)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        String::from_utf8(bytes).map_err(|_| odd_output(what, args, "it is not UTF-8"))
    }

    /// Runs a command whose status 1 means "no"; its standard output, or none.
    pub(super) fn maybe(&self, what: &str, args: &[&str]) -> Result<Option<Vec<u8>>, GitError> {
        let answer = self.run(args, None)?;
        match answer.status {
            Some(0) => Ok(Some(answer.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(failed(what, args, &answer)),
        }
    }

    pub(super) fn run(&self, args: &[&str], input: Option<&[u8]>) -> Result<Answer, GitError> {
        let mut argv: Vec<OsString> = Vec::with_capacity(args.len() + 2 * HARDENED.len());
        if self.mode == Mode::Hardened {
            for setting in HARDENED {
                argv.extend(["-c".into(), OsStr::new(setting).to_owned()]);
            }
        }
        argv.extend(args.iter().map(|arg| OsStr::new(arg).to_owned()));
        let mut command = duct::cmd("git", argv)
            .dir(&self.dir)
            .stdout_capture()
            .stderr_capture();
        for variable in LOCAL_VARIABLES {
            command = command.env_remove(variable);
        }
        command = command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
        if self.mode == Mode::Hardened {
            for (variable, value) in HARDENED_VARIABLES {
                command = command.env(variable, value);
            }
        }
        if let Target::Explicit { git_dir, work_tree } = &self.target {
            command = command.env("GIT_DIR", git_dir);
            if let Some(work_tree) = work_tree {
                command = command.env("GIT_WORK_TREE", work_tree);
            }
        }
        command = match input {
            Some(bytes) => command.stdin_bytes(bytes),
            None => command.stdin_null(),
        };
        let output = command.unchecked().run().map_err(GitError::Missing)?;
        let status = output.status.code();
        Ok(Answer {
            status,
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }
}

/// Makes the error of a call that ended with an unexpected status.
pub(super) fn failed(what: &str, args: &[&str], answer: &Answer) -> GitError {
    let said = String::from_utf8_lossy(&answer.stderr);
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with("hint:"))
        .collect();
    let words = if lines.is_empty() {
        "git said nothing".to_owned()
    } else {
        lines.join("\n")
    };
    GitError::Failed {
        what: what.to_owned(),
        argv: args.iter().map(|arg| (*arg).to_owned()).collect(),
        status: answer.status,
        words,
    }
}

/// Makes the error of a call whose output is not what git documents.
pub(super) fn odd_output(what: &str, args: &[&str], detail: &str) -> GitError {
    GitError::Output {
        what: what.to_owned(),
        argv: args.join(" "),
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors_are_read() {
        for (text, version) in [
            ("git version 2.39.5", GitVersion(2, 39, 5)),
            ("git version 2.39.5 (Apple Git-154)", GitVersion(2, 39, 5)),
            ("git version 2.55.GIT", GitVersion(2, 55, 0)),
            ("git version 2.47.1.windows.2", GitVersion(2, 47, 1)),
            ("git version 2.54.0-rc1", GitVersion(2, 54, 0)),
        ] {
            assert_eq!(GitVersion::parse(text), Some(version), "{text}");
        }
        assert_eq!(GitVersion::parse("not git"), None);
    }
}
