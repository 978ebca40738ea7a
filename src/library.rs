//! Offers what the commands do and answer to programs: as values, and nothing printed.
//!
//! [`provision`] makes a worktree, or finds it, [`path`] says where one is, and [`teardown`] removes
//! it without losing work:
//!
//! ```
//! use std::time::Duration;
//!
//! use git_agentwt::library::{Kind, Options, Provision, Teardown, path, provision, teardown};
//! use git_agentwt::log::Log;
//! use git_agentwt::process::{Ownership, Question, SharedProber};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let tmp = tempfile::tempdir()?;
//! # let root = camino::Utf8PathBuf::from_path_buf(tmp.path().canonicalize()?).expect("UTF-8");
//! # let git = |words: &str| {
//! #     let args: Vec<std::ffi::OsString> = words.split(' ').map(Into::into).collect();
//! #     let environment: Vec<_> = std::env::vars_os().filter(|(n, _)| !n.to_string_lossy().starts_with("GIT_")).collect();
//! #     let call = git_agentwt::git::Call { args: &args, dir: &root, environment: &environment, input: None, timeout: None };
//! #     let done = git_agentwt::git::Runner::run(&git_agentwt::git::Duct, &call).expect("git starts");
//! #     assert_eq!(done.status, Some(0), "git {words}");
//! # };
//! # git("init -q");
//! # git("-c user.name=Ada -c user.email=ada@example.invalid commit -q --allow-empty -m one");
//! // the scheduler knows whether the task is still its own
//! let still_ours = |question: &Question| match question.name.as_str() {
//!     "task-5" => Ownership::Ours,
//!     _ => Ownership::Lost,
//! };
//! let options = Options {
//!     directory: root.clone(),
//!     prober: Some(SharedProber::new(still_ours)),
//!     retry_delay: Duration::from_secs(1),
//!     log: Log::to(|line| assert!(!line.contains('\n'))),
//!     ..Options::default()
//! };
//! let mut asked = Provision {
//!     name: "task-5".to_owned(),
//!     owner: Some("scheduler-3".to_owned()),
//!     owner_pid: Some(std::process::id()),
//!     ..Provision::default()
//! };
//! asked.scope.write = Some(vec!["src/**".to_owned()]);
//!
//! let made = provision(&options, &asked)?;
//! assert_eq!(made.path, root.join(".agentwt/worktrees/task-5"));
//! assert_eq!(made.attempts, 1);
//! assert_eq!(path(&options, "task-5")?, made.path);
//! // again: it is the same
//! assert_eq!(provision(&options, &asked)?.path, made.path);
//!
//! // work that nobody has merged is not lost
//! std::fs::create_dir(made.path.join("src"))?;
//! std::fs::write(made.path.join("src/main.rs"), "fn main() {}\n")?;
//! let refused = teardown(&options, "task-5", &Teardown::default()).unwrap_err();
//! assert_eq!(refused.kind(), Kind::Refused);
//! teardown(&options, "task-5", &Teardown { force: 1, owner: Some("scheduler-3".to_owned()), ..Teardown::default() })?;
//! assert_eq!(path(&options, "task-5").unwrap_err().kind(), Kind::UnknownWorktree);
//!
//! // a branch that is in the way may go; but this task is somebody else's by now
//! # git("branch agentwt/task-6");
//! asked.name = "task-6".to_owned();
//! let lost = provision(&options, &asked).unwrap_err();
//! assert_eq!(lost.kind(), Kind::LostOwnership);
//! # Ok(())
//! # }
//! ```
//!
//! [`changed`] is the collector, [`verify`] the judgement on it. Both work on the repository of
//! [`Options::directory`], and start git through [`Options::runner`], which a program can replace
//! with its own git adapter. A failure is an [`Error`] with git's words in it; only when
//! [`Asked::best_effort`] is set is there an answer without what could not be read, and it says
//! so ([`ChangedAnswer::incomplete`]).
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
//! #     let call = Call { args: &args, dir: &root, environment: &environment, input: None, timeout: None };
//! #     assert_eq!(options.runner.run(&call).expect("git starts").status, Some(0), "git {words}");
//! # };
//! # git("init -q");
//! # std::fs::create_dir(root.join("docs"))?;
//! # std::fs::write(root.join("docs/guide.md"), "guide\n")?;
//! # git("add -A");
//! # git("-c user.name=Ada -c user.email=ada@example.invalid commit -q -m one");
//! # let add = ["git-agentwt", "-q", "-C", root.as_str(), "add", "task-5", "--write", "src/**", "--no-hooks"];
//! # let status = git_agentwt::run(&add.map(Into::into));
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

#![expect(
    clippy::disallowed_methods,
    reason = "an edge: it reads the environment for programs"
)]

mod changed_paths;
mod kind;
mod provision;

use std::sync::Arc;
use std::time::Duration;

use camino::Utf8PathBuf;

pub use self::changed_paths::{ChangedPaths, changed_paths};
pub use self::kind::Kind;
pub use self::provision::{Provision, Provisioned, Teardown, path, provision, teardown};
use crate::cli::DEFAULT_RETRY_DELAY;
use crate::commands::Session;
pub use crate::commands::changed::{Asked, ChangedAnswer};
use crate::disk::files;
use crate::disk::lock::Patience;
use crate::disk::scan::Walking;
pub use crate::error::Error;
use crate::git::{SharedRunner, Trace};
use crate::log::Log;
use crate::process::{SharedProber, is_root};
use crate::truth::collect;
use crate::verify::{Report, VerifyOptions};
use crate::worktree::{Repository, Worktree};

/// Says where a call works, and with what.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory to start in, as `git -C` takes it: anywhere in the repository or in one of
    /// its worktrees. By default the current directory.
    pub directory: Utf8PathBuf,
    /// Where a worktree is made that has no repository around it.
    pub parent_dir: Option<Utf8PathBuf>,
    /// What starts git. By default the `git` on the search path.
    pub runner: SharedRunner,
    /// Who is asked before each retry whether what is provisioned is still ours.
    pub prober: Option<SharedProber>,
    /// The pause before a retry. By default 15 seconds.
    pub retry_delay: Duration,
    /// Who is told what goes on: what a command would print as notes. By default nobody.
    pub log: Log,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            directory: ".".into(),
            parent_dir: None,
            runner: SharedRunner::default(),
            prober: None,
            retry_delay: DEFAULT_RETRY_DELAY,
            log: Log::default(),
        }
    }
}

impl Options {
    fn repository(&self) -> Result<Repository, Error> {
        let (runner, trace) = (self.runner.clone(), Trace::default());
        Repository::find(&self.directory, runner, trace)
    }

    /// What a command needs to know of this run. No signal is listened for: that is the program's
    /// own affair. Variables `AGENTWT_*` set what they set for a command.
    fn session(&self, no_wait: bool) -> Result<Session, Error> {
        let ours = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_ours = name.starts_with("AGENTWT_");
            is_ours.then(|| Some((name, value.into_string().ok()?)))?
        });
        Ok(Session {
            start: files::canonical(&self.directory)?,
            environment: ours.collect(),
            hook_index: None,
            walking: Walking::default(),
            input: Vec::new(),
            quarantine: None,
            binary: own_program().unwrap_or_default(),
            is_root: is_root(),
            runner: self.runner.clone(),
            trace: Trace::default(),
            progress: Arc::default(),
            signal: Arc::default(),
            idle: Arc::default(),
            patience: if no_wait {
                Patience::Refuse
            } else {
                Patience::Wait
            },
            log: self.log.clone(),
            prober: self.prober.clone(),
            parent_dir: self.parent_dir.clone(),
        })
    }
}

/// Finds `git-agentwt` on the search path, for the hooks: the program that uses this library is
/// another one.
fn own_program() -> Option<Utf8PathBuf> {
    let search_path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&search_path);
    let mut places = places.filter_map(|place| Utf8PathBuf::from_path_buf(place).ok());
    places.find_map(|place| {
        let file = files::canonical(&place.join("git-agentwt")).ok()?;
        let found = files::open_entry(file.as_std_path()).ok()?;
        matches!(
            found,
            files::Opened::File {
                executable: true,
                ..
            }
        )
        .then_some(file)
    })
}

/// Collects what changed in a worktree since its base, as `git agentwt changed` does.
///
/// # Errors
/// Fails when something cannot be read, with git's words; with [`Asked::best_effort`], only when
/// there is no such worktree or no such base.
pub fn changed(options: &Options, asked: &Asked) -> Result<ChangedAnswer, Error> {
    crate::commands::changed::collect(options.repository(), asked)
}

/// Verifies a worktree against its scope as `git agentwt verify` does, all layers; none as the
/// name is the one that the directory is in. Nothing is stored for `git agentwt list`.
///
/// # Errors
/// Fails when something cannot be read: there is then no verdict.
pub fn verify(options: &Options, name: Option<&str>) -> Result<Report, Error> {
    let repository = options.repository()?;
    let known = Worktree::of(&repository, name)?;
    let changes = collect(&repository, &known)?.changes;
    Ok(crate::verify::verify(
        &known.scope,
        changes,
        VerifyOptions::default(),
    ))
}
