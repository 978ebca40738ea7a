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

/// A claim that the server has by now.
struct WrittenClaim {
    commit: CommitId,
    claim: Claim,
}

/// What became of an attempt to move the ref of a claim.
enum Pushed {
    /// The ref is where it was to go.
    Moved,
    /// The server refused, in these words, and the ref is where it was.
    Refused(String),
    /// Others moved the ref.
    OthersWereFirst,
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

/// Finds the remote of this name, and checks that it can hold claims.
fn require_remote(git: &Git, name: &str) -> Result<AskedRemote, Error> {
    let remotes = git.remotes()?;
    let why = match git.claim_remote(name, &remotes)? {
        Ok(remote) => return Ok(remote),
        Err(why) => why,
    };
    let advice = if remotes.is_empty() {
        "to add a remote: git remote add origin <url>".to_owned()
    } else {
        format!("there are: {}; see git remote -v", remotes.join(", "))
    };
    let what = format!("`{}`", escape_for_terminal(name.as_bytes()));
    Err(ClaimError::Usage { what, why, advice }.into())
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
        let remote = require_remote(git, remote)?;
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
        let own_before = state.own.clone();
        let mut taken_from = None;
        let written = self.replace("claim", |current| {
            let decision = self.decide_to_take(current, &mut state, who)?;
            let claim = self.claim_to_write(&decision, who, lease);
            taken_from = match decision {
                Decision::Lapsed(lapsed) => Some(lapsed.who),
                Decision::Free | Decision::Ours(_) | Decision::Held(..) => None,
            };
            // before the push: if we are killed, the next command knows the claim as ours
            state.own = Some(self.own(&claim));
            self.store(&state)?;
            Ok(claim)
        });
        match &written {
            Ok(_) => state.seen = None,
            Err(_) => state.own = own_before,
        }
        self.store(&state)?;
        let held = self.held(written?);
        Ok(TakenClaim { held, taken_from })
    }

    /// The claim that we write: our own goes on, as the same holding, and any other begins anew.
    fn claim_to_write(&self, decision: &Decision, who: &Who, lease: Lease) -> Claim {
        match decision {
            Decision::Ours(ours) => {
                self.new_claim(who.clone(), lease, ours.holding.clone(), ours.since.clone())
            }
            Decision::Free | Decision::Lapsed(_) | Decision::Held(..) => {
                let since = timestamp(Duration::ZERO);
                self.new_claim(who.clone(), lease, random::nonce(), since)
            }
        }
    }

    /// Checks whether the claim could be taken.
    ///
    /// # Errors
    /// As [`Claims::take`].
    pub fn check_free(&self, who: &Who) -> Result<(), Error> {
        self.decide_to_take(self.read("claim")?, &mut self.load(), who)?;
        Ok(())
    }

    /// Decides whether we may take the name. Another's claim is an error; `state` then notes when
    /// it was first seen, from which its lease is counted.
    fn decide_to_take(
        &self,
        current: CurrentClaim,
        state: &mut ClaimState,
        who: &Who,
    ) -> Result<Decision, Error> {
        let remote = &self.remote.name;
        let own = state
            .own
            .as_ref()
            .filter(|own| own.remote == *remote && own.owner == who.owner);
        let seen = state.seen.as_ref().filter(|seen| seen.remote == *remote);
        let commit = current.commit().cloned();
        // a time by the clock of an earlier boot cannot be counted from: it is noted anew
        let is_already_noted = seen.is_some_and(|seen| {
            Some(&seen.commit) == commit.as_ref() && current.asked.since(&seen.first).is_some()
        });
        let decision = decide(current, own, seen);
        let Decision::Held(claim, left) = decision else {
            return Ok(decision);
        };
        if !is_already_noted {
            state.seen = commit.map(|commit| SeenClaim {
                remote: remote.clone(),
                commit,
                first: ClockReading::now(),
            });
        }
        Err(self.held_by("claim", claim, left))
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
        let written = self.replace(RENEW, |current| self.renewed(current, held, renewal))?;
        self.store(&ClaimState {
            own: Some(self.own(&written.claim)),
            seen: None,
        })?;
        let who = written.claim.who.clone();
        Ok((self.held(written), who))
    }

    /// Our claim with what the renewal changes; an error where it is not ours, or another owner's.
    fn renewed(
        &self,
        current: CurrentClaim,
        held: &HeldClaim,
        renewal: &Renewal,
    ) -> Result<Claim, Error> {
        let claim = self.require_ours(RENEW, current, held)?;
        let mut who = claim.who;
        if let Some(asked) = &renewal.owner
            && *asked != who.owner
        {
            let error = ClaimError::AnotherOwner {
                name: self.name.clone(),
                asked: asked.clone(),
                owner: who.owner,
            };
            return Err(error.into());
        }
        if let Some(pid) = renewal.owner_pid {
            who.pid = pid;
            who.started = started(pid)?;
            who.host = users::host();
        }
        let lease = renewal.lease.unwrap_or(claim.lease);
        Ok(self.new_claim(who, lease, claim.holding, claim.since))
    }

    /// Checks whether a claim is still ours, as a probe of ownership.
    ///
    /// # Errors
    /// Fails when it is not ([`is_lost`]), or the server cannot be asked.
    pub fn check_ours(&self, held: &HeldClaim) -> Result<(), Error> {
        self.require_ours(KEEP, self.read(KEEP)?, held)?;
        Ok(())
    }

    /// Gives the claim back; a claim that is not ours any more stays.
    ///
    /// # Errors
    /// Fails when the server cannot be asked or refuses: the claim then ends with its lease.
    pub fn release(&self, held: &HeldClaim) -> Result<(), Error> {
        let _alone = Lock::wait_to_undo(&self.lock())?;
        let doing = "give back";
        let deleted = self.swap(doing, |current| {
            self.require_ours(doing, current, held)?;
            Ok(None)
        });
        if let Err(error) = deleted
            && !is_lost(&error)
        {
            return Err(error);
        }
        self.store(&ClaimState {
            own: None,
            ..self.load()
        })
    }

    /// Returns the claim on the server, which is ours by its word (`holding`), or by its commit in
    /// the record; an error if it is another's or gone.
    fn require_ours(
        &self,
        doing: &'static str,
        current: CurrentClaim,
        held: &HeldClaim,
    ) -> Result<Claim, Error> {
        let own = self.load().own.filter(|own| own.remote == held.remote);
        let is_recorded = current.commit() == Some(&held.commit);
        match decide(current, own.as_ref(), None) {
            Decision::Ours(claim) => Ok(claim),
            Decision::Held(claim, _) | Decision::Lapsed(claim) if is_recorded => Ok(claim),
            Decision::Held(claim, left) => Err(self.held_by(doing, claim, left)),
            Decision::Lapsed(claim) => Err(self.held_by(doing, claim, Duration::ZERO)),
            Decision::Free => Err(self.error(doing, |at| ClaimError::Gone { at })),
        }
    }

    /// Writes the claim that `next` makes of the one on the server.
    fn replace(
        &self,
        doing: &'static str,
        mut next: impl FnMut(CurrentClaim) -> Result<Claim, Error>,
    ) -> Result<WrittenClaim, Error> {
        let written = self.swap(doing, |current| next(current).map(Some))?;
        Ok(written.expect("because a claim was to be written"))
    }

    /// Reads the claim on the server, lets `next` decide what takes its place (none deletes the
    /// ref), and moves the ref by compare-and-swap. While others move the ref or the server
    /// refuses, all of that is done again, `next` included, up to [`TRIES`] times.
    fn swap(
        &self,
        doing: &'static str,
        mut next: impl FnMut(CurrentClaim) -> Result<Option<Claim>, Error>,
    ) -> Result<Option<WrittenClaim>, Error> {
        let mut last_refusal = String::new();
        for _ in 0..TRIES {
            let current = self.read(doing)?;
            let old_commit = current.commit().cloned();
            let mut written = None;
            if let Some(claim) = next(current)? {
                let commit = self.git.commit_nothing(&claim.to_message())?;
                written = Some(WrittenClaim { commit, claim });
            }
            let new_commit = written.as_ref().map(|written| &written.commit);
            last_refusal = match self.push(doing, old_commit.as_ref(), new_commit)? {
                Pushed::Moved => return Ok(written),
                // perhaps another push held the lock of the ref
                Pushed::Refused(why) => why,
                Pushed::OthersWereFirst => "others were quicker each time".to_owned(),
            };
            // a random time, so that not all try again at the same moment
            let pause = 20 + random::number() % 60;
            std::thread::sleep(Duration::from_millis(pause));
        }
        Err(self.server_error(doing, &last_refusal))
    }

    /// Tries once to move the ref from one commit to another; none is no ref.
    fn push(
        &self,
        doing: &'static str,
        old: Option<&CommitId>,
        new: Option<&CommitId>,
    ) -> Result<Pushed, Error> {
        let pushed = self
            .git
            .push_claim(&self.remote, &self.ref_name, new, old)?;
        let Err(refusal) = pushed else {
            return Ok(Pushed::Moved);
        };
        // the connection may have ended after the server moved the ref
        let on_server = self.commit_on_server(doing)?;
        if on_server.as_ref() == new {
            Ok(Pushed::Moved)
        } else if on_server.as_ref() == old {
            Ok(Pushed::Refused(refusal))
        } else {
            Ok(Pushed::OthersWereFirst)
        }
    }

    /// Asks the server where the ref is; none where there is no claim.
    fn commit_on_server(&self, doing: &'static str) -> Result<Option<CommitId>, Error> {
        match self.git.ls_remote(&self.remote, &[&self.ref_name]) {
            Ok(commits) => Ok(commits.into_iter().flatten().next()),
            Err(error) => Err(self.server_error(doing, &error.to_string())),
        }
    }

    /// Reads the claim on the server: asks where the ref is, and fetches that commit. While others
    /// move the ref in between, both are done again.
    fn read(&self, doing: &'static str) -> Result<CurrentClaim, Error> {
        let asked = ClockReading::now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let is_last = attempt > TRIES;
            let Some(commit) = self.commit_on_server(doing)? else {
                return Ok(CurrentClaim { asked, claim: None });
            };
            // another failure may mean that the ref moved in between
            if let Err(error) = self.git.fetch_refs(&self.remote, &[&self.ref_name])
                && (is_last || matches!(error, GitError::TimedOut { .. }))
            {
                return Err(self.server_error(doing, &error.to_string()));
            }
            if let Some(raw) = self.git.short_commit(&commit, LONGEST)? {
                let claim = self
                    .parse(&raw)
                    .map_err(|why| self.unreadable(doing, &commit, why))?;
                let claim = Some((commit, claim));
                return Ok(CurrentClaim { asked, claim });
            }
            if is_last {
                let why = "it changes faster than it can be read, or is not a short commit";
                return Err(self.unreadable(doing, &commit, why.to_owned()));
            }
        }
    }

    /// Parses the commit of a claim on our name.
    fn parse(&self, raw: &[u8]) -> Result<Claim, String> {
        match Claim::from_commit(raw) {
            Ok(claim) if claim.name == self.name => Ok(claim),
            Ok(claim) => Err(format!("it is on `{}`", claim.name)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Makes a claim on our name that lasts from now on.
    fn new_claim(&self, who: Who, lease: Lease, holding: String, since: String) -> Claim {
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

    /// What the record of the worktree has of a claim.
    fn held(&self, written: WrittenClaim) -> HeldClaim {
        HeldClaim {
            remote: self.remote.name.clone(),
            commit: written.commit,
            lease: written.claim.lease,
        }
    }

    /// What this repository keeps to recognize a claim as its own.
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

    /// Another has the name, and may be replaced after the time that is left.
    fn held_by(&self, doing: &'static str, claim: Claim, left: Duration) -> Error {
        let seconds = u64::try_from(left.as_millis().div_ceil(1000)).unwrap_or_default();
        let rest = Lease::of_seconds(seconds.max(1)).unwrap_or(claim.lease);
        self.error(doing, |at| ClaimError::Held {
            at,
            claim: Box::new(claim),
            left: rest,
        })
    }

    fn unreadable(&self, doing: &'static str, commit: &CommitId, why: String) -> Error {
        self.error(doing, |at| ClaimError::Unreadable {
            at,
            commit: commit.clone(),
            why,
        })
    }

    /// The server refused, in these words, or did not answer.
    fn server_error(&self, doing: &'static str, words: &str) -> Error {
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

    /// Loads what this repository knows of the claim; nothing where that cannot be read, which only
    /// costs time.
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

/// The directory of what this repository keeps of claims.
pub fn claims_dir(repository: &Repository) -> Utf8PathBuf {
    repository.common_dir.join("agentwt/claims")
}

/// What this repository keeps of the claim on a name: `toml`, and its `lock`.
pub fn claim_file(repository: &Repository, name: &WorktreeName, ending: &str) -> Utf8PathBuf {
    claims_dir(repository).join(format!("{name}.{ending}"))
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
    match processes::start_time(pid) {
        Some(started) => Ok(started),
        None => Err(ClaimError::Usage {
            what: format!("process {pid}"),
            why: "it does not run on this host",
            advice: "see what runs: ps -e".to_owned(),
        }
        .into()),
    }
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
