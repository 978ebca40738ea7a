//! Makes, finds and removes worktrees for programs: [`provision`], [`path`] and [`teardown`].

use camino::Utf8PathBuf;

use super::{Error, Options};
use crate::claim::Lease;
use crate::cli::{
    Add, ClaimOptions, ContextOptions, ProgramOptions, Remove, ScopeLists, SyncOptions,
};
use crate::commands::add::{AddAnswer, Done};
use crate::commands::remove::RemovedWorktree;
use crate::commands::{self, Session};
use crate::config::{Choice as _, Client, Strategy};
use crate::name::{BranchName, CommitId};
use crate::worktree::WorktreeFault;
use crate::worktree::{HeldClaim, Owner};

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
    let mut session = options.session(asked.no_wait)?;
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
/// As `git agentwt remove`; [`super::Kind::Refused`] when work would be lost.
pub fn teardown(options: &Options, name: &str, how: &Teardown) -> Result<RemovedWorktree, Error> {
    let session = options.session(how.no_wait)?.or_in_parent_dir();
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
    outcome.answer.worktrees.pop().ok_or_else(|| {
        let (name, known) = (name.to_owned(), Vec::new());
        WorktreeFault::UnknownWorktree { name, known }.into()
    })
}

/// Finds the directory of a worktree.
///
/// # Errors
/// [`super::Kind::UnknownWorktree`] when there is none of this name.
pub fn path(options: &Options, name: &str) -> Result<Utf8PathBuf, Error> {
    let session = options.session(false)?.or_in_parent_dir();
    Ok(commands::path::run(&session, name)?.answer.path)
}

fn tell(session: &Session, notes: &[String]) {
    notes.iter().for_each(|note| session.log.tell(note));
}

impl Provision {
    fn to_add(&self, options: &Options) -> Add {
        let by_default = options.prober.is_some() || self.owner.is_some() || self.claim.is_some();
        Add {
            name: self.name.clone(),
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
                retries: self
                    .attempts
                    .or(by_default.then_some(crate::cli::DEFAULT_ATTEMPTS)),
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
        let record = answer.record;
        Self {
            path: record.path,
            done: answer.done,
            branch: record.branch,
            base: record.base.commit,
            attempts: answer.attempts,
            owner: record.owner,
            claim: record.claim,
        }
    }
}
