//! Makes attempts until one succeeds, as long as the name and its claim on a server are still ours.

use std::time::{Duration, Instant};

use crate::commands::add::answer::AddAnswer;
use crate::commands::add::arguments::Add;
use crate::commands::{Outcome, Session};
use crate::record::claim::Lease;
use crate::record::worktree::{HeldClaim, Record};
use crate::refusal::Refusal;
use crate::system::probe::{CommandProber, Ownership, Question, SharedProber};
use crate::words::error::{Error, Fault};
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::words::path::escape_for_terminal;
use crate::worktree::claims::{Claims, TakenClaim, holder, is_lost};
use crate::worktree::error::ClaimError;
use crate::worktree::repository::Repository;

/// How often a signal is looked for during a pause.
const TICK: Duration = Duration::from_millis(20);

/// What all attempts share, with the claim once it is taken.
pub(super) struct Attempts<'a> {
    session: &'a Session,
    name: &'a WorktreeName,
    options: &'a Add,
    claim: Option<AttemptedClaim>,
}

/// The claim of the name on a server, which this `add` took or renewed.
struct AttemptedClaim {
    claims: Claims,
    taken: TakenClaim,
    /// True if a worktree that exists had the claim before: then it stays, whatever becomes of
    /// this `add`.
    was_held: bool,
}

/// Makes attempts until one succeeds, fails for good, or was the last one. When all have failed,
/// a claim that they took is given back.
///
/// # Errors
/// The error of the last attempt; that ownership is lost, or the signal that came meanwhile.
pub(super) fn run(
    session: &Session,
    name: &WorktreeName,
    options: &Add,
    attempt: impl Fn(&mut Attempts<'_>) -> Result<Outcome<AddAnswer>, Error>,
) -> Result<Outcome<AddAnswer>, Error> {
    let mut attempts = Attempts {
        session,
        name,
        options,
        claim: None,
    };
    let count = options.programs.attempts(&options.claims);
    let mut number = 1;
    let error = loop {
        let failed = match attempt(&mut attempts) {
            Ok(mut outcome) => {
                outcome.answer.attempts = number;
                return Ok(outcome);
            }
            Err(error) => error,
        };
        if number >= count || !is_worth_a_retry(&failed) {
            break failed;
        }
        let delay = options.programs.retry_delay();
        session.log.tell(&format!(
            "attempt {number} of {count} failed: {failed}; the next one in {delay:?}"
        ));
        number += 1;
        if let Err(stopped) = attempts
            .wait(delay)
            .and_then(|()| attempts.check_ownership(number))
        {
            break stopped;
        }
    };
    Err(error.leaving(attempts.release_claim()))
}

impl Attempts<'_> {
    /// Gives the claim back that was taken; returns what is left of it where that fails.
    fn release_claim(self) -> Vec<String> {
        let Some(claim) = self.claim.filter(|claim| !claim.was_held) else {
            return Vec::new();
        };
        let held = &claim.taken.held;
        let HeldClaim { remote, lease, .. } = held;
        match claim.claims.release(held) {
            Ok(()) => Vec::new(),
            Err(why) => vec![format!(
                "the claim at {remote}, which ends after {lease} ({why})"
            )],
        }
    }

    /// Waits for a time, or until a signal comes.
    fn wait(&self, delay: Duration) -> Result<(), Error> {
        let began = Instant::now();
        while began.elapsed() < delay {
            self.session.check()?;
            std::thread::sleep(TICK.min(delay.saturating_sub(began.elapsed())));
        }
        Ok(())
    }

    /// Checks right before an attempt that the name and its claim are still ours: what was lost
    /// during the pause must not be touched. Asks the prober of the library, the command of
    /// `--owner-probe` and the server of the claim; a line in the log says who could not answer.
    ///
    /// # Errors
    /// Fails when one of them says that it is lost, or a signal came.
    fn check_ownership(&self, attempt: u32) -> Result<(), Error> {
        let session = self.session;
        let programs = &self.options.programs;
        let question = Question {
            name: self.name.to_string(),
            owner: programs.owner.clone(),
            attempt,
        };
        let command = programs.owner_probe.clone().map(|command| {
            SharedProber::from(CommandProber {
                command,
                directory: session.start.clone(),
                timeout: programs.probe_timeout(),
                signal: session.signal.clone(),
            })
        });
        for prober in session.prober.iter().chain(&command) {
            let answer = prober.ask(&question);
            let by = prober.title();
            // before the answer counts: a signal for us may have ended the prober too
            session.check()?;
            match answer {
                Ownership::Ours => {}
                Ownership::Lost => {
                    let name = question.name;
                    let by = by.to_owned();
                    return Err(LostOwnership { name, by }.into());
                }
                Ownership::Unknown(why) => self.tell_unknown(by, &why),
            }
        }
        if let Some(claim) = &self.claim
            && let Err(error) = claim.claims.check_ours(&claim.taken.held)
        {
            if is_lost(&error) {
                return Err(error);
            }
            self.tell_unknown("the claim", &error.to_string());
        }
        session.check()
    }

    fn tell_unknown(&self, by: &str, why: &str) {
        let name = self.name;
        self.session.log.tell(&format!(
            "{by} cannot say whether `{name}` is still ours ({why}); it is tried on"
        ));
    }

    /// Takes the claim that was asked for, unless an earlier attempt has. Returns what is recorded
    /// of it, and a note for the user; `None` if none was asked for, and with `-n`, which only
    /// checks that it is free. `existing` is the record of a worktree that is kept.
    ///
    /// # Errors
    /// Fails when another user has the claim, or an existing worktree has its claim elsewhere.
    pub fn take_claim(
        &mut self,
        repository: &Repository,
        existing: Option<&Record>,
    ) -> Result<Option<(HeldClaim, String)>, Error> {
        let session = self.session;
        let programs = &self.options.programs;
        let name = self.name;
        let Some(remote) = &self.options.claims.claim else {
            return Ok(None);
        };
        let held_before = existing.and_then(|record| record.claim.as_ref());
        if let Some(held) = held_before
            && held.remote != *remote
        {
            return Err(Error::from(ClaimError::Elsewhere {
                name: name.clone(),
                remote: remote.clone(),
                held_at: held.remote.clone(),
            }));
        }
        if let Some(AttemptedClaim { taken, .. }) = &self.claim {
            return Ok(Some((taken.held.clone(), note_on_claim(name, taken))));
        }
        let claims = Claims::at(repository, name, remote, &session.environment)?;
        let who = holder(repository, programs.owner.as_deref(), programs.owner_pid)?;
        if self.options.dry_run {
            claims.check_free(&who)?;
            return Ok(None);
        }
        let lease = self.options.claims.lease.unwrap_or(Lease::DEFAULT);
        let taken = claims.take(&who, lease)?;
        let recorded = (taken.held.clone(), note_on_claim(name, &taken));
        // before a signal may end the attempt: from here on the claim has to be given back
        self.claim = Some(AttemptedClaim {
            claims,
            taken,
            was_held: held_before.is_some(),
        });
        session.check()?;
        Ok(Some(recorded))
    }
}

/// What the user should know of a claim that was taken.
fn note_on_claim(name: &WorktreeName, taken: &TakenClaim) -> String {
    let HeldClaim { remote, lease, .. } = &taken.held;
    let mut from = String::new();
    if let Some(who) = &taken.taken_from {
        let owner = escape_for_terminal(who.owner.as_bytes());
        from = format!(
            "; it was taken over from `{owner}`, whose claim had not changed for its lease"
        );
    }
    format!("claimed at {remote} for {lease}{from}; renew it in time: git agentwt renew {name}")
}

/// The owner lost the worktree while it was created.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("ownership of `{name}` is lost, according to {by}")]
#[diagnostic(code(agentwt::add::lost_ownership))]
#[diagnostic(help("nothing is left behind; to see the owner: git agentwt status {name}"))]
pub struct LostOwnership {
    /// The name of the worktree.
    name: String,
    /// The prober that reported the loss.
    by: String,
}

impl Fault for LostOwnership {
    fn exit_code(&self) -> ExitCode {
        ExitCode::OwnershipLost
    }
}

/// True if a later attempt may succeed: the branch is in use, the path is taken, or an agent still
/// runs there. A worktree of this name with another scope or base stays in the way.
fn is_worth_a_retry(error: &Error) -> bool {
    matches!(
        error.find(),
        Some(
            Refusal::BranchHeld { .. }
                | Refusal::BranchAtWork { .. }
                | Refusal::BranchExists { .. }
                | Refusal::PathTaken { .. }
                | Refusal::ForeignWorktree { .. }
                | Refusal::OwnedByAnother { .. }
                | Refusal::StillRunning { .. }
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_may_pass_and_what_is_wrong_does_not() {
        let name = "task-5".to_owned();
        let path = camino::Utf8PathBuf::from("/r/x");
        let branch = "fix".to_owned();
        for refusal in [
            Refusal::BranchHeld {
                branch: branch.clone(),
                path: path.clone(),
            },
            Refusal::BranchAtWork {
                branch: branch.clone(),
                path: path.clone(),
            },
            Refusal::BranchExists {
                name: name.clone(),
                branch: branch.clone(),
            },
            Refusal::PathTaken {
                name: name.clone(),
                path: path.clone(),
            },
            Refusal::ForeignWorktree {
                name: name.clone(),
                path: path.clone(),
            },
            Refusal::StillRunning {
                name: name.clone(),
                path,
                pids: vec![17],
            },
        ] {
            let error = Error::from(refusal);
            assert!(is_worth_a_retry(&error), "{error}");
        }
        for refusal in [
            Refusal::InvalidBranch { branch },
            Refusal::Bare {
                help: String::new(),
            },
            Refusal::AnotherScope {
                name: name.clone(),
                difference: Vec::new(),
            },
            Refusal::NoSuchProcess { pid: 17 },
            Refusal::Unborn { name },
        ] {
            let error = Error::from(refusal);
            assert!(!is_worth_a_retry(&error), "{error}");
        }
    }
}
