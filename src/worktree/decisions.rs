//! Keeps what a person decided about a worktree: accepted findings, and rules added to its scope.
//!
//! Decisions are in the record, outside of every worktree. A command that decides is refused where
//! an agent works; a process of the same user can still forge a record (`docs/limits.md`).

use crate::config::value::Strategy;
use crate::judge::change::{ABSENT, ChangeSet};
use crate::judge::finding::{Report, VerifyOptions, verify};
use crate::record::accepted::{Acceptances, Decision};
use crate::record::worktree::Digests;
use crate::system::{random, users};
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::time::timestamp;
use crate::worktree::caller::{caller_worktrees, directory_for_user, place_for_user, works_there};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Creates a decision about a worktree, made now by the user of this process.
pub fn new_decision(worktree: &WorktreeName) -> Decision {
    Decision {
        id: random::nonce(),
        at: timestamp(std::time::Duration::ZERO),
        user: users::user(),
        host: users::host(),
        worktree: worktree.clone(),
        accepted: Vec::new(),
        rules: Vec::new(),
    }
}

/// Checks that no agent decides: the command was called from no worktree of ours. `command` is the
/// command to run instead.
///
/// # Errors
/// Fails inside a worktree, and when the records cannot be listed.
pub fn require_outside(repository: &Repository, command: &str) -> Result<(), Error> {
    let callers = caller_worktrees(repository)?;
    let Some(caller) = callers.first() else {
        return Ok(());
    };
    Err(WorktreeFault::Inside {
        by: works_there(caller),
        place: place_for_user(caller),
        root: directory_for_user(repository),
        command: command.to_owned(),
    }
    .into())
}

impl Worktree {
    /// Judges a set of changes by the scope, and leaves out what was accepted.
    pub fn judge(&self, changes: ChangeSet, options: VerifyOptions) -> Report {
        let accepted = Acceptances::new(&self.record.decisions);
        verify(&self.scope, changes, options).accepting(&accepted)
    }

    /// The recorded settings, with the values that were accepted since in the place of recorded
    /// ones: for what depends on settings, as which remote a fetch is believed of.
    pub fn settings_as_accepted(&self, recorded: &Digests) -> Digests {
        let mut settings = recorded.clone();
        let decisions = self.record.decisions.iter();
        for accepted in decisions.flat_map(|decision| &decision.accepted) {
            let key = match accepted.place.as_str() {
                "@git/config" => accepted.key.clone(),
                "@git/config.worktree" => format!("worktree:{}", accepted.key),
                _other => continue,
            };
            match accepted.contents.first() {
                Some(digest) if digest != ABSENT => settings.insert(key, digest.clone()),
                Some(_) | None => settings.remove(&key),
            };
        }
        settings
    }

    /// The last decision of a kind, to take it back.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn last_decision(&self, is_kind: impl Fn(&Decision) -> bool) -> Result<Decision, Error> {
        let mut decisions = self.record.decisions.iter();
        match decisions.rfind(|decision| is_kind(decision)) {
            Some(last) => Ok(last.clone()),
            None => {
                let name = self.record.name.to_string();
                Err(WorktreeFault::NothingToUndo { name }.into())
            }
        }
    }

    /// The other worktrees that share settings and hooks with this one: a clone has its own.
    ///
    /// # Errors
    /// Fails when the records cannot be listed, or one is damaged.
    pub fn sharing(&self, repository: &Repository) -> Result<Vec<Self>, Error> {
        let mut worktrees = Self::all(repository)?;
        if self.record.strategy == Strategy::Clone {
            return Ok(Vec::new());
        }
        worktrees.retain(|other| {
            other.record.strategy == Strategy::Worktree && other.record.name != self.record.name
        });
        Ok(worktrees)
    }
}
