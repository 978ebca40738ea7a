//! Takes, renews, checks and gives back the claim on a name at a git server: [`Claims`].
//!
//! [`crate::record::claim`] decides, `git/remote.rs` asks git; the order is here: what may become
//! ours is written down before a push, and whatever a push says, only what the server shows
//! afterwards counts. Objects go into a directory that is thrown away, so the repository gets
//! neither refs nor objects of claims.

use std::time::Duration;

use camino::Utf8PathBuf;

use crate::disk::files;
use crate::disk::files::Temporary;
use crate::disk::lock::{Lock, LockFile, Waiting};
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::git::quarantine::Quarantine;
use crate::git::remote::AskedRemote;
use crate::record::claim::{
    Claim, ClaimState, CurrentClaim, Decision, LONGEST, Lease, Own, REFS, SeenClaim, Who, decide,
};
use crate::record::worktree::HeldClaim;
use crate::system::boot::ClockReading;
use crate::system::{processes, random, users};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::escape_for_terminal;
use crate::words::time::timestamp;
use crate::words::toml_file::to_text;
use crate::worktree::error::{ClaimAttempt, ClaimError};
use crate::worktree::gitdir::read_if_whole;
use crate::worktree::repository::Repository;

/// How often a compare-and-swap is tried when others are in the way.
const TRIES: u32 = 6;
const RENEW: &str = "renew the claim on";
const KEEP: &str = "keep the claim on";

/// What a renewal of a claim changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewal {
    /// How long the claim lasts from now on; as before without it.
    pub lease: Option<Lease>,
    /// The owner that must have the claim.
    pub owner: Option<String>,
    /// The owner's process from now on.
    pub owner_pid: Option<u32>,
    /// Only look whether the claim can be renewed.
    pub dry_run: bool,
}

/// The claim on one name at one remote.
pub struct Claims {
    repository: Repository,
    name: WorktreeName,
    ref_name: String,
    remote: AskedRemote,
    git: Git,
    _objects: Temporary,
}

/// A claim that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenClaim {
    /// The claim, for the record.
    pub held: HeldClaim,
    /// The holder before us, whose claim did not change for its whole lease.
    pub taken_from: Option<Who>,
}

/// How long a server may take for an answer: `AGENTWT_CLAIM_TIMEOUT`, or a minute.
fn answer_limit(environment: &[(String, String)]) -> Result<Duration, ClaimError> {
    let key = "AGENTWT_CLAIM_TIMEOUT";
    let Some((_, text)) = environment.iter().find(|(name, _)| name == key) else {
        return Ok(Duration::from_secs(60));
    };
    match Lease::parse(text) {
        Ok(lease) => Ok(lease.duration()),
        Err(_) => Err(ClaimError::Usage {
            what: format!("{key}={}", escape_for_terminal(text.as_bytes())),
            why: "not a duration",
            advice: format!("write for example: {key}=30s"),
        }),
    }
}

impl Claims {
    /// Opens the claim on a name; `AGENTWT_CLAIM_TIMEOUT` bounds each answer of the server.
    ///
    /// # Errors
    /// Fails when the remote cannot hold claims, or git or the disk fails.
    pub fn at(
        repository: &Repository,
        name: &WorktreeName,
        remote: &str,
        environment: &[(String, String)],
    ) -> Result<Self, Error> {
        let limit = answer_limit(environment)?;
        let git = &repository.git;
        let remotes = git.remotes()?;
        let remote = git
            .claim_remote(remote, &remotes)?
            .map_err(|why| ClaimError::Usage {
                what: format!("`{}`", escape_for_terminal(remote.as_bytes())),
                why,
                advice: match remotes.as_slice() {
                    [] => "to add a remote: git remote add origin <url>".to_owned(),
                    names => format!("there are: {}; see git remote -v", names.join(", ")),
                },
            })?;
        let objects = Temporary::new()?;
        let quarantine = Quarantine::apart(&repository.common_dir.join("objects"), objects.path());
        Ok(Self {
            repository: repository.clone(),
            name: name.clone(),
            ref_name: format!("{REFS}{name}"),
            remote,
            git: git.with_quarantine(&quarantine).with_limit(limit),
            _objects: objects,
        })
    }

    /// Takes the claim if it is free, ours, or unchanged for its whole lease.
    ///
    /// # Errors
    /// Fails when another holds it, the server cannot be asked or refuses, or the disk fails.
    pub fn take(&self, who: &Who, lease: Lease) -> Result<TakenClaim, Error> {
        let _alone = Lock::wait(&self.lock())?;
        let mut state = self.load();
        let before = state.own.clone();
        let swapped = self.swap("claim", |current| {
            let mut holding = random::nonce();
            let mut since = timestamp(Duration::ZERO);
            let mut taken_from = None;
            match self.decide_to_take(current, &mut state, who)? {
                Decision::Ours(claim) => {
                    holding = claim.holding;
                    since = claim.since;
                }
                Decision::Lapsed(claim) => taken_from = Some(claim.who),
                Decision::Free | Decision::Held(..) => {}
            }
            let claim = self.claim(who.clone(), lease, holding, since);
            // a process that is killed from here on recognizes the claim
            state.own = Some(self.own(&claim));
            self.store(&state)?;
            Ok((Some(claim), taken_from))
        });
        match &swapped {
            Ok(_) => state.seen = None,
            Err(_) => state.own = before,
        }
        self.store(&state)?;
        let (commit, taken_from) = swapped?;
        let held = self.held(commit, lease)?;
        Ok(TakenClaim { held, taken_from })
    }

    /// Checks whether the claim could be taken.
    ///
    /// # Errors
    /// As [`Claims::take`].
    pub fn check_free(&self, who: &Who) -> Result<(), Error> {
        self.decide_to_take(self.read("claim")?, &mut self.load(), who)?;
        Ok(())
    }

    /// Decides about the claim that is there; the claim of another is noted with the time.
    fn decide_to_take(
        &self,
        current: CurrentClaim,
        state: &mut ClaimState,
        who: &Who,
    ) -> Result<Decision, Error> {
        let own = match &state.own {
            Some(own) if own.remote == self.remote.name && own.owner == who.owner => Some(own),
            Some(_) | None => None,
        };
        let seen = match &state.seen {
            Some(seen) if seen.remote == self.remote.name => Some(seen),
            Some(_) | None => None,
        };
        let commit = current.claim.as_ref().map(|(commit, _)| commit.clone());
        let is_noted = seen.is_some_and(|seen| {
            Some(&seen.commit) == commit.as_ref() && current.asked.since(&seen.first).is_some()
        });
        match (decide(current, own, seen), commit) {
            (Decision::Held(claim, left), Some(commit)) => {
                if !is_noted {
                    state.seen = Some(SeenClaim {
                        remote: self.remote.name.clone(),
                        commit,
                        first: ClockReading::now(),
                    });
                }
                Err(self.held_by("claim", claim, left))
            }
            (decision, _) => Ok(decision),
        }
    }

    /// Renews a claim of ours; with `-n` only looks whether it can be.
    ///
    /// # Errors
    /// Fails when the claim is not ours any more or another owner's, or the server cannot be asked
    /// or refuses.
    pub fn renew(&self, held: &HeldClaim, renewal: &Renewal) -> Result<(HeldClaim, Who), Error> {
        if renewal.dry_run {
            let claim = self.renewed(self.read(RENEW)?, held, renewal)?;
            return Ok((held.clone(), claim.who));
        }
        let _alone = Lock::wait(&self.lock())?;
        let mut state = self.load();
        let (commit, claim) = self.swap(RENEW, |current| {
            let claim = self.renewed(current, held, renewal)?;
            Ok((Some(claim.clone()), claim))
        })?;
        state.own = Some(self.own(&claim));
        state.seen = None;
        self.store(&state)?;
        Ok((self.held(commit, claim.lease)?, claim.who))
    }

    fn renewed(
        &self,
        current: CurrentClaim,
        held: &HeldClaim,
        renewal: &Renewal,
    ) -> Result<Claim, Error> {
        let claim = self.ours(RENEW, current, held)?;
        let mut who = claim.who;
        if let Some(asked) = renewal.owner.as_ref().filter(|asked| **asked != who.owner) {
            let name = self.name.clone();
            let asked = asked.clone();
            let owner = who.owner;
            return Err(ClaimError::AnotherOwner { name, asked, owner }.into());
        }
        if let Some(pid) = renewal.owner_pid {
            who.pid = pid;
            who.started = started(pid)?;
            who.host = users::host();
        }
        let lease = renewal.lease.unwrap_or(held.lease);
        Ok(self.claim(who, lease, claim.holding, claim.since))
    }

    /// Checks whether a claim is still ours, as a probe of ownership.
    ///
    /// # Errors
    /// Fails when it is not ([`is_lost`]), or the server cannot be asked.
    pub fn check_ours(&self, held: &HeldClaim) -> Result<(), Error> {
        self.ours(KEEP, self.read(KEEP)?, held).map(drop)
    }

    /// Gives the claim back; a claim that is not ours any more stays.
    ///
    /// # Errors
    /// Fails when the server cannot be asked or refuses: the claim then ends with its lease.
    pub fn release(&self, held: &HeldClaim) -> Result<(), Error> {
        let _alone = Lock::wait_to_undo(&self.lock())?;
        let doing = "give back";
        let swapped = self.swap(doing, |current| {
            self.ours(doing, current, held)?;
            Ok((None, ()))
        });
        if let Err(error) = swapped
            && !is_lost(&error)
        {
            return Err(error);
        }
        self.store(&ClaimState {
            own: None,
            ..self.load()
        })
    }

    /// The claim that is there, if it is ours: by its word, or by the commit in the record.
    fn ours(
        &self,
        doing: &'static str,
        current: CurrentClaim,
        held: &HeldClaim,
    ) -> Result<Claim, Error> {
        let own = self.load().own.filter(|own| own.remote == held.remote);
        let is_recorded = match &current.claim {
            Some((commit, _)) => *commit == held.commit,
            None => false,
        };
        match decide(current, own.as_ref(), None) {
            Decision::Ours(claim) => Ok(claim),
            Decision::Held(claim, _) | Decision::Lapsed(claim) if is_recorded => Ok(claim),
            Decision::Held(claim, left) => Err(self.held_by(doing, claim, left)),
            Decision::Lapsed(claim) => Err(self.held_by(doing, claim, Duration::ZERO)),
            Decision::Free => Err(self.error(doing, |at| ClaimError::Gone { at })),
        }
    }

    /// Reads the claim, lets `next` decide what takes its place (none deletes it), and moves the
    /// ref by compare-and-swap; again while others move it.
    fn swap<T>(
        &self,
        doing: &'static str,
        mut next: impl FnMut(CurrentClaim) -> Result<(Option<Claim>, T), Error>,
    ) -> Result<(Option<CommitId>, T), Error> {
        let mut words = String::new();
        for _ in 0..TRIES {
            let current = self.read(doing)?;
            let expected = current.claim.as_ref().map(|(commit, _)| commit.clone());
            let (claim, answer) = next(current)?;
            let new = match claim {
                Some(claim) => Some(self.git.commit_nothing(&claim.to_message())?),
                None => None,
            };
            let pushed = self.git.push_claim(
                &self.remote,
                &self.ref_name,
                new.as_ref(),
                expected.as_ref(),
            );
            let Err(refusal) = pushed? else {
                return Ok((new, answer));
            };
            // the connection may have ended after the server moved the ref
            let on_server = self.ask(doing)?;
            if on_server == new {
                return Ok((new, answer));
            }
            words = if on_server == expected {
                refusal
            } else {
                "others were quicker each time".to_owned()
            };
            // others try as well, so not all at the same moment
            let spread = random::nonce().bytes().map(u64::from).sum::<u64>() % 60;
            std::thread::sleep(Duration::from_millis(20 + spread));
        }
        Err(self.server(doing, &words))
    }

    /// The commit that the server has.
    fn ask(&self, doing: &'static str) -> Result<Option<CommitId>, Error> {
        match self.git.ls_remote(&self.remote, &[&self.ref_name]) {
            Ok(commits) => Ok(commits.into_iter().flatten().next()),
            Err(error) => Err(self.server(doing, &error.to_string())),
        }
    }

    /// Reads the claim on the server.
    fn read(&self, doing: &'static str) -> Result<CurrentClaim, Error> {
        let asked = ClockReading::now();
        // a claim may be renewed or given back between two questions: then it is asked anew
        let mut attempt = 0;
        loop {
            attempt += 1;
            let is_last = attempt > TRIES;
            let Some(commit) = self.ask(doing)? else {
                return Ok(CurrentClaim { asked, claim: None });
            };
            if let Err(error) = self.git.fetch_refs(&self.remote, &[&self.ref_name])
                && (is_last || matches!(error, GitError::TimedOut { .. }))
            {
                return Err(self.server(doing, &error.to_string()));
            }
            let raw = self.git.short_commit(&commit, LONGEST)?;
            let why = match raw.map(|raw| Claim::from_commit(&raw)) {
                Some(Ok(claim)) if claim.name == self.name => {
                    let claim = Some((commit, claim));
                    return Ok(CurrentClaim { asked, claim });
                }
                Some(Ok(claim)) => format!("it is on `{}`", claim.name),
                Some(Err(error)) => error.to_string(),
                None if is_last => {
                    "it changes faster than it can be read, or is not a short commit".to_owned()
                }
                None => continue,
            };
            return Err(self.error(doing, |at| ClaimError::Unreadable { at, commit, why }));
        }
    }

    fn claim(&self, who: Who, lease: Lease, holding: String, since: String) -> Claim {
        Claim {
            name: self.name.clone(),
            since,
            renewed: timestamp(Duration::ZERO),
            expires: timestamp(lease.duration()),
            lease,
            holding,
            nonce: random::nonce(),
            who,
        }
    }

    /// The claim for the record; a claim that was written has a commit.
    fn held(&self, commit: Option<CommitId>, lease: Lease) -> Result<HeldClaim, Error> {
        let commit = commit.ok_or_else(|| self.server("claim", ""))?;
        Ok(HeldClaim {
            remote: self.remote.name.clone(),
            commit,
            lease,
        })
    }

    fn own(&self, claim: &Claim) -> Own {
        Own {
            remote: self.remote.name.clone(),
            owner: claim.who.owner.clone(),
            holding: claim.holding.clone(),
        }
    }

    fn error(&self, doing: &'static str, error: impl FnOnce(ClaimAttempt) -> ClaimError) -> Error {
        Error::from(error(ClaimAttempt {
            doing,
            name: self.name.clone(),
            remote: self.remote.name.clone(),
        }))
    }

    fn held_by(&self, doing: &'static str, claim: Claim, left: Duration) -> Error {
        let seconds = u64::try_from(left.as_millis().div_ceil(1000)).unwrap_or_default();
        let rest = Lease::of_seconds(seconds.max(1)).unwrap_or(claim.lease);
        self.error(doing, |at| ClaimError::Held {
            at,
            claim: Box::new(claim),
            left: rest,
        })
    }

    fn server(&self, doing: &'static str, words: &str) -> Error {
        let first = words.lines().next().unwrap_or_default();
        self.error(doing, |at| ClaimError::Server {
            at,
            words: first.to_owned(),
        })
    }

    fn lock(&self) -> LockFile {
        LockFile {
            path: claim_file(&self.repository, &self.name, "lock"),
            name: Some(self.name.to_string()),
            waiting: Waiting {
                no_wait: false,
                ..self.repository.waiting.clone()
            },
        }
    }

    /// Reads what is known; nothing where that cannot be read, which only costs time.
    fn load(&self) -> ClaimState {
        let file = claim_file(&self.repository, &self.name, "toml");
        read_if_whole(&file).unwrap_or_default()
    }

    fn store(&self, state: &ClaimState) -> Result<(), Error> {
        let file = claim_file(&self.repository, &self.name, "toml");
        if state.own.is_some() || state.seen.is_some() {
            return Ok(files::write(&file, to_text(state).as_bytes())?);
        }
        files::remove_file(&file)?;
        file.parent().into_iter().for_each(files::remove_if_empty);
        Ok(())
    }
}

/// What this repository keeps of the claim on a name: `toml`, and its `lock`.
pub fn claim_file(repository: &Repository, name: &WorktreeName, ending: &str) -> Utf8PathBuf {
    let directory = repository.common_dir.join("agentwt/claims");
    directory.join(format!("{name}.{ending}"))
}

/// True if a claim is certainly not ours.
pub fn is_lost(error: &Error) -> bool {
    error.exit_code() == ExitCode::OwnershipLost
}

/// The holder: the owner, or the repository itself (`<host>:<directory>`), so that every call from
/// here is the same holder; with the given process, or our own.
///
/// # Errors
/// Refuses a process that does not run.
pub fn holder(
    repository: &Repository,
    owner: Option<&str>,
    pid: Option<u32>,
) -> Result<Who, Error> {
    let host = users::host();
    let pid = pid.unwrap_or_else(std::process::id);
    Ok(Who {
        owner: owner.map_or_else(|| format!("{host}:{}", repository.root), ToOwned::to_owned),
        host,
        pid,
        started: started(pid)?,
    })
}

/// The start of a process, as a [`Who`] names it.
///
/// # Errors
/// Refuses a process that does not run.
pub fn started(pid: u32) -> Result<String, Error> {
    let usage = || ClaimError::Usage {
        what: format!("process {pid}"),
        why: "it does not run on this host",
        advice: "see what runs: ps -e".to_owned(),
    };
    Ok(processes::start_time(pid).ok_or_else(usage)?)
}

/// Gives back the claim of a worktree that is removed; a note when that fails.
pub fn release_or_note(
    repository: &Repository,
    name: &WorktreeName,
    held: &HeldClaim,
    environment: &[(String, String)],
) -> Option<String> {
    let claims = Claims::at(repository, name, &held.remote, environment);
    let error = claims.and_then(|claims| claims.release(held)).err()?;
    let lease = held.lease;
    Some(format!(
        "{error}; others may take the claim over once it has stood for {lease}"
    ))
}
