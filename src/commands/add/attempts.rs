//! Tries again what may pass, as long as what is tried for is still ours.

use std::time::{Duration, Instant};

use super::super::Session;
use crate::error::{Error, Fault};
use crate::exit::ExitCode;
use crate::git::GitError;
use crate::name::WorktreeName;
use crate::plan::refusal::Refusal;
use crate::plan::retry;
use crate::process::{CommandProber, Ownership, Prober, Question, SharedProber};
use crate::worktree::error::ClaimError;
use crate::worktree::git_error;

/// How often a signal is looked for while nothing else is done.
const TICK: Duration = Duration::from_millis(20);

/// Holds how often something is tried, and who is asked before each retry.
pub(super) struct Attempts<'a> {
    session: &'a Session,
    name: &'a WorktreeName,
    owner: Option<&'a str>,
    count: u32,
    delay: Duration,
    probers: Vec<SharedProber>,
}

impl<'a> Attempts<'a> {
    /// Makes of the options what they ask for.
    pub fn of(session: &'a Session, name: &'a WorktreeName, options: &'a crate::cli::Add) -> Self {
        let programs = &options.programs;
        let mut probers: Vec<SharedProber> = session.prober.iter().cloned().collect();
        if let Some(command) = &programs.owner_probe {
            probers.push(SharedProber::new(CommandProber {
                command: command.clone(),
                directory: session.start.clone(),
                timeout: programs.probe_timeout(),
                signal: session.signal.clone(),
            }));
        }
        Self {
            session,
            name,
            owner: programs.owner.as_deref(),
            count: programs.attempts(options.claims.claim.is_some()),
            delay: programs.retry_delay(),
            probers,
        }
    }

    /// Makes attempts until one succeeds, fails for good, or was the last; what came of it, and
    /// how many there were.
    ///
    /// # Errors
    /// The error of the last attempt; that ownership is lost, or the signal that came meanwhile.
    pub fn run<A>(
        &self,
        claim: impl Fn() -> Result<(), ClaimError>,
        mut attempt: impl FnMut() -> Result<A, Error>,
    ) -> Result<(A, u32), Error> {
        let mut number = 1;
        loop {
            let error = match attempt() {
                Ok(answer) => return Ok((answer, number)),
                Err(error) => error,
            };
            if number >= self.count || !passes(&error) {
                return Err(error);
            }
            let (count, delay) = (self.count, self.delay);
            self.session.log.tell(&format!(
                "attempt {number} of {count} failed: {error}; the next one in {delay:?}"
            ));
            self.pause()?;
            number += 1;
            self.ask(number)?;
            self.session.check()?;
            match claim() {
                Ok(()) => {}
                Err(error) if error.is_lost() => return Err(error.into()),
                Err(error) => self.session.log.tell(&format!(
                    "the claim cannot say whether `{}` is still ours ({error}); it is tried on",
                    self.name
                )),
            }
        }
    }

    fn pause(&self) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            self.session.check()?;
            let left = self.delay.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(TICK));
        }
    }

    /// Asks everyone who knows, right before an attempt: what is lost while we wait must not be
    /// touched again.
    fn ask(&self, attempt: u32) -> Result<(), Error> {
        let question = Question {
            name: self.name.to_string(),
            owner: self.owner.map(ToOwned::to_owned),
            attempt,
        };
        for prober in &self.probers {
            let answer = prober.ask(&question);
            self.session.check()?;
            match answer {
                Ownership::Ours => {}
                Ownership::Lost => {
                    return Err(LostOwnership {
                        name: self.name.to_string(),
                        by: prober.title(),
                    }
                    .into());
                }
                Ownership::Unknown(why) => self.session.log.tell(&format!(
                    "{} cannot say whether `{}` is still ours ({why}); it is tried on",
                    prober.title(),
                    self.name
                )),
            }
        }
        Ok(())
    }
}

/// The owner lost the worktree while it was created.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("ownership of `{name}` is lost, says {by}")]
#[diagnostic(
    code(agentwt::add::lost_ownership),
    help("nothing is left behind; to see the owner: git agentwt status {name}")
)]
pub struct LostOwnership {
    /// The worktree's name.
    name: String,
    /// The prober that reported the loss.
    by: String,
}

impl Fault for LostOwnership {
    fn exit_code(&self) -> ExitCode {
        ExitCode::OwnershipLost
    }
}

/// Whether a later attempt may do better.
fn passes(error: &Error) -> bool {
    if let Some(refusal) = error.find::<Refusal>() {
        return retry::passes(refusal);
    }
    matches!(git_error(error), Some(GitError::Failed { words, .. }) if retry::words_pass(words))
}
