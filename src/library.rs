//! Offers what the commands do and answer to programs: as values, and nothing printed.
//!
//! [`provision`] makes a worktree, or finds it, [`path`] says where one is, and [`teardown`]
//! removes it without losing work:
//!
//! ```
//! use std::time::Duration;
//!
//! use git_agentwt::library::{
//!     ErrorKind, Log, Options, Ownership, Provision, Question, SharedProber, Teardown, path,
//!     provision, teardown,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let tmp = tempfile::tempdir()?;
//! # let root = camino::Utf8PathBuf::from_path_buf(tmp.path().canonicalize()?).expect("UTF-8");
//! # let git = |words: &str| {
//! #     let args: Vec<std::ffi::OsString> = words.split(' ').map(Into::into).collect();
//! #     let environment: Vec<_> = std::env::vars_os().filter(|(n, _)| !n.to_string_lossy().starts_with("GIT_")).collect();
//! #     let call = git_agentwt::git::runner::Call { args: &args, dir: &root, environment: &environment, input: None, timeout: None };
//! #     let done = git_agentwt::git::runner::Runner::run(&git_agentwt::git::runner::Duct, &call).expect("git starts");
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
//! assert_eq!(refused.kind(), ErrorKind::Refused);
//! teardown(&options, "task-5", &Teardown { force: 1, owner: Some("scheduler-3".to_owned()), ..Teardown::default() })?;
//! assert_eq!(path(&options, "task-5").unwrap_err().kind(), ErrorKind::UnknownWorktree);
//!
//! // a branch that is in the way may go; but this task is somebody else's by now
//! # git("branch agentwt/task-6");
//! asked.name = "task-6".to_owned();
//! let lost = provision(&options, &asked).unwrap_err();
//! assert_eq!(lost.kind(), ErrorKind::LostOwnership);
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
//! use git_agentwt::library::{Asked, Call, Options, Runner, changed, verify};
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
//! # assert_eq!(status, git_agentwt::words::exit::ExitCode::Success);
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

#![expect(clippy::disallowed_methods, reason = "reads a program's environment")]

use crate::arguments::scope::ScopeLists;
use crate::commands;
use crate::commands::Session;
use crate::commands::add::answer::{AddAnswer, Done};
use crate::commands::add::arguments::{
    Add, ClaimOptions, ContextOptions, DEFAULT_ATTEMPTS, DEFAULT_RETRY_DELAY, ProgramOptions,
    SyncOptions,
};
use crate::commands::remove::answer::RemovedWorktree;
use crate::commands::remove::arguments::Remove;
use crate::config::value::{Choice as _, Client, Strategy};
use crate::disk::files;
use crate::git::runner::Trace;
use crate::judge::finding;
use crate::judge::finding::{Report, VerifyOptions};
use crate::record::claim::Lease;
use crate::record::worktree::{HeldClaim, Owner};
use crate::system::path::on_path;
use crate::truth::collect;
use crate::words::exit::ExitCode;
use crate::words::name::{BranchName, CommitId};
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;
use crate::worktree::settings::Environment;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use bstr::ByteSlice;
use camino::Utf8PathBuf;
use miette::Diagnostic;

pub use crate::commands::changed::answer::ChangedAnswer;
pub use crate::commands::changed::collect::Asked;
pub use crate::git::patches::PatchColour;
pub use crate::git::runner::{Call, Runner, SharedRunner};
pub use crate::system::probe::{Ownership, Question, SharedProber};
pub use crate::words::error::Error;
pub use crate::words::log::Log;

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
    /// Who is told what goes on: what a command would print as notes. By default none.
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
        let runner = self.runner.clone();
        let trace = Trace::default();
        Repository::find(&self.directory, runner, trace)
    }

    /// What a command needs to know of this run. No signal is listened for: that is the program's
    /// own affair. Variables `AGENTWT_*` set what they set for a command.
    fn session(&self) -> Result<Session, Error> {
        Ok(Session {
            start: files::canonical(&self.directory)?,
            environment: read_environment(),
            state: state_home(),
            binary: own_program().unwrap_or_default(),
            runner: self.runner.clone(),
            log: self.log.clone(),
            prober: self.prober.clone(),
            parent_dir: self.parent_dir.clone(),
            ..Session::default()
        })
    }
}

/// Reads the variables of the environment that are ours.
pub(crate) fn read_environment() -> Environment {
    let mut ours = Environment::new();
    for (name, value) in std::env::vars_os() {
        if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string())
            && name.starts_with("AGENTWT_")
        {
            ours.push((name, value));
        }
    }
    // among the variables of a worktree, this one is its own base
    if ours.iter().any(|(name, _)| name == "AGENTWT_ROOT") {
        ours.retain(|(name, _)| name != "AGENTWT_BASE");
    }
    ours
}

/// Reads where the user's programs keep what they remember: `XDG_STATE_HOME`, by default
/// `~/.local/state` (XDG Base Directory Specification: a relative path counts for nothing).
pub(crate) fn state_home() -> Option<Utf8PathBuf> {
    if let Some(state) = absolute_variable("XDG_STATE_HOME") {
        return Some(state);
    }
    Some(absolute_variable("HOME")?.join(".local/state"))
}

fn absolute_variable(name: &str) -> Option<Utf8PathBuf> {
    let path = Utf8PathBuf::from(std::env::var(name).ok()?);
    path.is_absolute().then_some(path)
}

/// Finds `git-agentwt` on the search path, for the hooks: the program that uses this library is
/// another one.
fn own_program() -> Option<Utf8PathBuf> {
    let mut programs = on_path("git-agentwt").into_iter();
    programs.find_map(|file| files::canonical(&file).ok())
}

/// Collects what changed in a worktree since its base, as `git agentwt changed` does.
///
/// # Errors
/// Fails when something cannot be read, with git's words; with [`Asked::best_effort`], only when
/// there is no such worktree or no such base.
pub fn changed(options: &Options, asked: &Asked) -> Result<ChangedAnswer, Error> {
    crate::commands::changed::collect::collect(options.repository(), asked)
}

/// Verifies a worktree against its scope as `git agentwt verify` does, all layers; none as the
/// name is the one that the directory is in. Nothing is stored for `git agentwt list`.
///
/// # Errors
/// Fails when something cannot be read: there is then no verdict.
pub fn verify(options: &Options, name: Option<&str>) -> Result<Report, Error> {
    let repository = options.repository()?;
    let worktree = Worktree::of(&repository, name)?;
    let changes = collect(&repository, &worktree)?.changes;
    let verify_options = VerifyOptions::default();
    Ok(finding::verify(&worktree.scope, changes, verify_options))
}

/// Names what a program may want to do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was tried for belongs to somebody else by now. Nothing of it is left behind.
    LostOwnership,
    /// There is no worktree of this name.
    UnknownWorktree,
    /// There is no repository around, and no directory was named for what is made without one.
    NoParentDir,
    /// What was asked for is wrong, or there is no repository.
    Usage,
    /// The config or the scope is invalid.
    Config,
    /// Refused, to protect work or state.
    Refused,
    /// Git failed, or is missing.
    Git,
    /// The disk failed.
    Disk,
    /// It was stopped; everything was undone.
    Interrupted,
}

impl Error {
    /// The kind of this error: that of its exit status, but a missing parent directory has a kind
    /// of its own.
    pub fn kind(&self) -> ErrorKind {
        let code = self.code().map(|code| code.to_string());
        match self.exit_code() {
            ExitCode::OwnershipLost => ErrorKind::LostOwnership,
            ExitCode::UnknownWorktree => ErrorKind::UnknownWorktree,
            ExitCode::Usage if code.is_some_and(|code| code.ends_with("::no_parent_dir")) => {
                ErrorKind::NoParentDir
            }
            ExitCode::Usage => ErrorKind::Usage,
            ExitCode::Config => ErrorKind::Config,
            ExitCode::Refused => ErrorKind::Refused,
            ExitCode::Disk => ErrorKind::Disk,
            ExitCode::Signal(_) => ErrorKind::Interrupted,
            // no function here fails with any of these but the first
            ExitCode::Git
            | ExitCode::Program(_)
            | ExitCode::Success
            | ExitCode::Violations
            | ExitCode::Incomplete
            | ExitCode::NoFence
            | ExitCode::RunRefused
            | ExitCode::SealBroken
            | ExitCode::TimedOut
            | ExitCode::NotStarted
            | ExitCode::Bug => ErrorKind::Git,
        }
    }
}

/// Holds what [`changed_paths`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    /// The paths, absolute and normalized, sorted, each once.
    pub paths: Vec<PathBuf>,
    /// Why some may be missing; only with `best_effort`.
    pub incomplete: Vec<String>,
}

/// Collects the files of a worktree that differ from `base` or are neither tracked nor ignored.
/// `run_git` runs git in the root of the worktree with these arguments and returns its standard
/// output: in a directory below, git names files by other paths and leaves some out. With
/// `best_effort`, what one call has found is returned although the other fails.
///
/// # Errors
/// Fails when `run_git` does, and `best_effort` is not asked for.
#[allow(
    clippy::fn_params_excessive_bools,
    reason = "other programs call it so"
)]
pub fn changed_paths<E: std::fmt::Display>(
    mut run_git: impl FnMut(&[&str]) -> Result<Vec<u8>, E>,
    worktree: &Path,
    base: &str,
    best_effort: bool,
) -> Result<ChangedPaths, E> {
    let calls: [&[&str]; 2] = [
        &["diff", "--name-only", "--no-renames", "-z", base, "--"],
        &["ls-files", "--others", "--exclude-standard", "-z"],
    ];
    let mut paths = BTreeSet::new();
    let mut incomplete = Vec::new();
    for arguments in calls {
        match run_git(arguments) {
            Ok(output) => {
                for name in output.split_str("\0").filter(|name| !name.is_empty()) {
                    if let Ok(relative) = name.to_path() {
                        paths.insert(normalized(&worktree.join(relative)));
                    }
                }
            }
            Err(error) if best_effort => incomplete.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(ChangedPaths {
        paths: paths.into_iter().collect(),
        incomplete,
    })
}

/// The path without `.` and `..`; nothing on disk is read.
fn normalized(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
        }
    }
    whole
}

/// Says what is to be made: the options of `git agentwt add`, by the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provision {
    /// The worktree's name.
    pub name: String,
    /// What it starts from; by default as the config says.
    pub base: Option<String>,
    /// The branch to work on; by default a new one, named after the worktree.
    pub branch: Option<String>,
    /// What it is; by default as the config says.
    pub strategy: Option<Strategy>,
    /// The scope profile, and the lists that replace its own or are added to them.
    pub scope: ScopeLists,
    /// Which untracked files come along.
    pub sync: SyncOptions,
    /// The agent program that the context is written for; by default as the config says.
    pub client: Option<Client>,
    /// What that program is told, byte for byte.
    pub prompt: Option<Vec<u8>>,
    /// Who works there.
    pub owner: Option<String>,
    /// The owner's process on this host, which tells whether it is alive.
    pub owner_pid: Option<u32>,
    /// Whether to take the worktree over from another owner.
    pub take_over: bool,
    /// How many attempts are made in all. By default three with an owner, a claim or
    /// [`Options::prober`], else one.
    pub attempts: Option<u32>,
    /// The repository that is cloned instead of the one around; where none is around, its record is
    /// kept in [`Options::parent_dir`].
    pub repo: Option<String>,
    /// The remote on which the name is claimed before anything is made.
    pub claim: Option<String>,
    /// For how long the claim counts without a renewal; by default ten minutes.
    pub lease: Option<Lease>,
    /// Whether to do without hooks.
    pub no_hooks: bool,
    /// Whether to fail at once when another process works on the same worktree.
    pub no_wait: bool,
}

/// Holds a worktree that is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provisioned {
    /// Its directory, absolute.
    pub path: Utf8PathBuf,
    /// Whether it was made now, or was there.
    pub done: Done,
    /// Its branch.
    pub branch: BranchName,
    /// The commit that its changes are counted from.
    pub base: CommitId,
    /// How many attempts it took.
    pub attempts: u32,
    /// Who owns it, if anybody said.
    pub owner: Option<Owner>,
    /// What was claimed on a server, if anything.
    pub claim: Option<HeldClaim>,
}

/// Says how a worktree is removed: the options of `git agentwt remove`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teardown {
    /// Who asks: a worktree whose live owner this is goes.
    pub owner: Option<String>,
    /// Whether to remove it with its work, after saving that (1), also while it is in use (2);
    /// `--force`, given so often.
    pub force: u8,
    /// Whether to delete the branch even when it is not merged.
    pub delete_branch: bool,
    /// Whether to keep the branch even when it is merged.
    pub keep_branch: bool,
    /// Whether to fail at once when another process works on the same worktree.
    pub no_wait: bool,
}

/// Makes a worktree, or finds the one that is there as asked for. Everything is undone when it
/// fails. Retries are as with `git agentwt add`: [`Options::prober`] is asked before each.
///
/// Hooks start the `git-agentwt` on the search path; where there is none they are left out, and
/// [`Options::log`] hears of it.
///
/// # Errors
/// As the command: [`Error::kind`] tells the kinds apart.
pub fn provision(options: &Options, asked: &Provision) -> Result<Provisioned, Error> {
    let mut session = options.session()?;
    session.no_wait = asked.no_wait;
    let mut add = asked.to_add(options);
    if let Some(prompt) = &asked.prompt {
        session.input.clone_from(prompt);
    }
    if !add.no_hooks && session.binary.as_str().is_empty() {
        add.no_hooks = true;
        let what = "no hooks are installed: there is no git-agentwt on the search path";
        options.log.tell(what);
    }
    let outcome = commands::add::run(&session, &add)?;
    tell(&session, &outcome.notes);
    Ok(Provisioned::of(outcome.answer))
}

/// Removes a worktree, never losing work.
///
/// # Errors
/// As `git agentwt remove`; [`ErrorKind::Refused`] when work would be lost.
pub fn teardown(options: &Options, name: &str, how: &Teardown) -> Result<RemovedWorktree, Error> {
    let mut session = options.session()?.or_in_parent_dir();
    session.no_wait = how.no_wait;
    let remove = Remove {
        names: vec![name.to_owned()],
        force: how.force,
        delete_branch: how.delete_branch,
        keep_branch: how.keep_branch,
        owner: how.owner.clone(),
        ..Remove::default()
    };
    let mut outcome = commands::remove::run(&session, &remove)?;
    tell(&session, &outcome.notes);
    let removed = outcome.answer.worktrees.pop();
    Ok(removed.expect("because one name was given"))
}

/// Finds the directory of a worktree.
///
/// # Errors
/// [`ErrorKind::UnknownWorktree`] when there is none of this name.
pub fn path(options: &Options, name: &str) -> Result<Utf8PathBuf, Error> {
    let session = options.session()?.or_in_parent_dir();
    Ok(commands::path::run(&session, Some(name))?.answer.path)
}

fn tell(session: &Session, notes: &[String]) {
    notes.iter().for_each(|note| session.log.tell(note));
}

impl Provision {
    /// The same as options of `git agentwt add`.
    fn to_add(&self, options: &Options) -> Add {
        // as in `add`, these turn retries on
        let has_owner = options.prober.is_some() || self.owner.is_some() || self.claim.is_some();
        let default_attempts = has_owner.then_some(DEFAULT_ATTEMPTS);
        Add {
            name: Some(self.name.clone()),
            base: self.base.clone(),
            branch: self.branch.clone(),
            repo: self.repo.clone(),
            strategy: self.strategy.map(|strategy| strategy.as_str().to_owned()),
            no_hooks: self.no_hooks,
            claims: ClaimOptions {
                claim: self.claim.clone(),
                lease: self.lease,
            },
            scope: self.scope.clone(),
            sync: self.sync.clone(),
            programs: ProgramOptions {
                retries: self.attempts.or(default_attempts),
                retry_delay: Some(options.retry_delay),
                owner: self.owner.clone(),
                owner_pid: self.owner_pid,
                take_over: self.take_over,
                ..ProgramOptions::default()
            },
            context: ContextOptions {
                client: self.client.map(|client| client.as_str().to_owned()),
                // what stands in the session's input
                prompt: self.prompt.as_ref().map(|_| "-".to_owned()),
                prompt_file: None,
            },
            ..Add::default()
        }
    }
}

impl Provisioned {
    fn of(answer: AddAnswer) -> Self {
        Self {
            path: answer.path,
            done: answer.done,
            branch: answer.branch,
            base: answer.base.commit.unwrap_or_else(CommitId::unknown),
            attempts: answer.attempts,
            owner: answer.owner,
            claim: answer.claim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers the first call and the second, none with an error.
    #[allow(clippy::fn_params_excessive_bools, reason = "as what it tests")]
    fn run(diff: Option<&str>, others: Option<&str>, best_effort: bool) -> (Vec<String>, usize) {
        let answer = |arguments: &[&str]| {
            let text = if arguments[0] == "diff" { diff } else { others };
            text.map(|text| text.as_bytes().to_vec()).ok_or("no git")
        };
        let found = changed_paths(answer, Path::new("/w/./a/../t"), "main", best_effort);
        let found = found.unwrap_or_default();
        let paths = found.paths.iter().map(|path| path.display().to_string());
        (paths.collect(), found.incomplete.len())
    }

    #[test]
    fn paths_are_absolute_sorted_and_each_once() {
        let (paths, missing) = run(Some("b\0src/a b\0"), Some("a\0b\0"), false);
        assert_eq!(paths, ["/w/t/a", "/w/t/b", "/w/t/src/a b"]);
        assert_eq!(missing, 0);
        assert_eq!(run(Some(""), Some(""), false), (vec![], 0));
    }

    #[test]
    fn a_git_that_fails_is_an_error_or_with_best_effort_a_gap() {
        let git = |_: &[&str]| Err::<Vec<u8>, _>("no git");
        assert_eq!(
            changed_paths(git, Path::new("/w"), "main", false),
            Err("no git")
        );
        assert_eq!(
            run(None, Some("new\0"), true),
            (vec!["/w/t/new".to_owned()], 1)
        );
        assert_eq!(
            run(Some("old\0"), None, true),
            (vec!["/w/t/old".to_owned()], 1)
        );
        assert_eq!(run(None, None, true), (vec![], 2));
    }
}
