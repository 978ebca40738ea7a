//! Offers what the commands answer to programs: the same facts as values, and nothing printed.
//!
//! [`changed`] is the collector, [`verify`] the judgement on it. Both work on the repository of
//! [`Options::directory`], and start git through [`Options::runner`], which a program can replace
//! with its own git adapter. A failure is an [`Error`] with git's words in it; only when
//! [`Asked::best_effort`] is set is there an answer without what could not be read, and it says
//! so ([`Collected::incomplete`]).
//!
//! ```
//! # use std::ffi::OsString;
//! use git_agentwt::git::{Call, Runner};
//! use git_agentwt::library::{Asked, Options, changed, verify};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let tmp = tempfile::tempdir()?;
//! # let root = camino::Utf8PathBuf::from_path_buf(tmp.path().canonicalize()?).expect("UTF-8");
//! let mut options = Options { directory: root.clone(), ..Options::default() };
//! # let environment: Vec<_> = std::env::vars_os().filter(|(n, _)| !n.to_string_lossy().starts_with("GIT_")).collect();
//! # let git = |words: &str| {
//! #     let args: Vec<OsString> = words.split(' ').map(Into::into).collect();
//! #     let call = Call { args: &args, dir: &root, environment: &environment, input: None };
//! #     assert_eq!(options.runner.run(&call).expect("git starts").status, Some(0), "git {words}");
//! # };
//! # git("init -q");
//! # std::fs::create_dir(root.join("docs"))?;
//! # std::fs::write(root.join("docs/guide.md"), "guide\n")?;
//! # git("add -A");
//! # git("-c user.name=Ada -c user.email=ada@example.invalid commit -q -m one");
//! # let add = ["git-agentwt", "-q", "-C", root.as_str(), "add", "task-5", "--write", "src/**", "--no-hooks"];
//! # let status = git_agentwt::run(add.iter().map(Into::into).collect());
//! # assert_eq!(status, git_agentwt::exit::ExitCode::Success);
//! // an agent works in the worktree `task-5`, and edits what it may only read
//! let worktree = root.join(".agentwt/worktrees/task-5");
//! std::fs::remove_file(worktree.join("docs/guide.md"))?;
//!
//! let asked = Asked { name: Some("task-5".to_owned()), ..Asked::default() };
//! let collected = changed(&options, &asked)?;
//! assert_eq!(collected.absolute_paths(), [worktree.join("docs/guide.md").into_std_path_buf()]);
//!
//! // the same from inside the worktree, where no name is needed
//! options.directory = worktree;
//! let report = verify(&options, None)?;
//! assert!(!report.valid());
//! assert_eq!(report.violations().count(), 1);
//! # Ok(())
//! # }
//! ```

use std::path::PathBuf;

use camino::Utf8PathBuf;

pub use crate::commands::changed::{Asked, Collected};
pub use crate::error::Error;
use crate::facts::changes::collect;
use crate::facts::{IndexFile, Known, Repository};
use crate::git::{SharedRunner, Trace};
use crate::verify::{Layers, Report, Strictness};

/// Says where a call works, and with what.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory to start in, as `git -C` takes it: anywhere in the repository or in one of
    /// its worktrees. By default the current directory.
    pub directory: Utf8PathBuf,
    /// What starts git. By default the `git` on the search path.
    pub runner: SharedRunner,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            directory: ".".into(),
            runner: SharedRunner::default(),
        }
    }
}

impl Options {
    fn repository(&self) -> Result<Repository, Error> {
        let (runner, trace) = (self.runner.clone(), Trace::default());
        Ok(Repository::find(&self.directory, runner, trace)?)
    }
}

/// Collects what changed in a worktree since its base, as `git agentwt changed` does.
///
/// # Errors
/// Fails when something cannot be read, with git's words; with [`Asked::best_effort`], only when
/// there is no such worktree or no such base.
pub fn changed(options: &Options, asked: &Asked) -> Result<Collected, Error> {
    crate::commands::changed::collect(options.repository(), asked)
}

/// Verifies a worktree against its scope as `git agentwt verify` does, all layers; none as the
/// name is the one that the directory is in. Nothing is stored for `git agentwt list`.
///
/// # Errors
/// Fails when something cannot be read: there is then no verdict.
pub fn verify(options: &Options, name: Option<&str>) -> Result<Report, Error> {
    let repository = options.repository()?;
    let known = Known::of(&repository, name)?;
    let changes = collect(&repository, &known, &IndexFile::Own)?.changes;
    let (layers, strictness) = (Layers::All, Strictness::Normal);
    Ok(crate::verify::verify(
        &known.scope,
        changes,
        layers,
        strictness,
    ))
}

impl Collected {
    /// The paths of what was asked for, from the root of the file system: sorted, each once. What
    /// is no path is not among them.
    #[must_use]
    pub fn absolute_paths(&self) -> Vec<PathBuf> {
        let Some(root) = &self.path else {
            return Vec::new();
        };
        let paths = self.shown.iter().filter_map(|change| change.place.path());
        let paths = paths.filter_map(|path| path.to_os_path().ok());
        let mut paths: Vec<PathBuf> = paths.map(|path| root.as_std_path().join(path)).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}
