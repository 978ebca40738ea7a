//! Takes one worktree, or what a removal has left of it, by `remove`'s own rules.

use super::super::Session;
use super::{Done, Line, Pruning, Went};
use crate::apply::leaving::{Leaving, Looked, Seen};
use crate::error::Error;
use crate::facts::prune as facts;
use crate::facts::remove::Around;
use crate::plan::prune::Kind;
use crate::plan::prune::select::{Selected, Standing, select};
use crate::plan::remove::refusal::RemoveRefusal;
use crate::plan::remove::{RemoveOptions, notes};
use crate::worktree::Worktree;

impl Pruning<'_> {
    /// Takes one whose lock is ours: for `why`, or because it is selected.
    pub(super) fn worktree(&mut self, known: Worktree, why: Option<String>) {
        let name = known.record.name.to_string();
        match self.try_worktree(known, why) {
            Ok(line) => self.lines.push(line),
            Err(error) => {
                // whatever was half done is no longer as it was
                self.around = None;
                self.failed(Kind::Worktree, &name, &error);
            }
        }
    }

    fn try_worktree(&mut self, known: Worktree, why: Option<String>) -> Result<Line, Error> {
        let name = known.record.name.to_string();
        let mut standing = self.standing(&known);
        let mut selected = match why {
            Some(why) => Selected::Yes(why),
            None => select(self.asked, &standing),
        };
        if let Selected::No(why) = selected {
            return Ok(kept(name, why, None));
        }
        let is_saved = self.options.force > 0 && !self.options.dry_run;
        let looked = Looked::at(self.repository, known, is_saved)?;
        let around = self.around()?;
        let seen = looked.read(self.repository, &around, &self.leaving)?;
        if selected == Selected::LookAtCommits {
            standing.commits = match (seen.survey(), &seen.facts) {
                (Some(survey), Some(facts)) => {
                    let (repository, known) = (self.repository, &seen.known);
                    let found = facts::commits(repository, &around, known, survey, facts)?;
                    Some(found)
                }
                (None, _) | (_, None) => None,
            };
            selected = select(self.asked, &standing);
        }
        match selected {
            Selected::Yes(why) => self.decided(seen, around, why),
            Selected::No(why) => {
                self.around = Some(around);
                Ok(kept(name, why, None))
            }
            Selected::LookAtCommits => {
                self.around = Some(around);
                let why = "its removal has begun meanwhile".to_owned();
                Ok(kept(name, why, None))
            }
        }
    }

    fn standing(&self, known: &Worktree) -> Standing {
        let asked = self.asked.older_than;
        Standing {
            owner: facts::owner(known),
            idle: asked.and_then(|_| facts::idle(self.repository, known, self.now)),
            commits: None,
        }
    }

    /// `remove` has the last word.
    fn decided(&mut self, seen: Seen, around: Around, why: String) -> Result<Line, Error> {
        let allowed = RemoveOptions {
            force: self.options.force,
            ..RemoveOptions::default()
        };
        let told: Vec<String> = seen
            .facts
            .iter()
            .flat_map(|facts| notes(facts, &allowed))
            .collect();
        let name = seen.known.record.name.to_string();
        let leaving = match seen.decide(&allowed) {
            Ok(leaving) => leaving,
            Err(refusal) => {
                self.around = Some(around);
                let (why, help) = refused(&refusal, &why);
                return Ok(kept(name, why, Some(help)));
            }
        };
        self.notes.extend(told);
        if self.options.dry_run {
            self.around = Some(around);
            let record = &leaving.known.record;
            if record.branch_made {
                self.leaving.push(record.branch.clone());
            }
            return Ok(gone(&leaving, None, why));
        }
        let (repository, environment) = (self.repository, &self.session.environment);
        let gone_now = leaving.remove(repository, environment, &Session::now())?;
        self.notes.extend(gone_now.notes.iter().cloned());
        Ok(gone(&leaving, Some(gone_now), why))
    }
}

fn kept(what: String, why: String, help: Option<String>) -> Line {
    Line {
        kind: Kind::Worktree,
        what,
        done: Done::Kept,
        why,
        help,
        worktree: None,
    }
}

fn gone(leaving: &Leaving, gone: Option<crate::apply::leaving::Gone>, why: String) -> Line {
    let record = &leaving.known.record;
    let done = match gone {
        Some(_) => Done::Removed,
        None => Done::WouldRemove,
    };
    let (fate, trash) = match gone {
        Some(gone) => (gone.plan.branch, gone.trash),
        None => (leaving.plan.branch.clone(), None),
    };
    Line {
        kind: Kind::Worktree,
        what: record.name.to_string(),
        done,
        why,
        help: None,
        worktree: Some(Went {
            branch: record.branch.to_string(),
            fate,
            trash,
        }),
    }
}

/// Why it stays, in `remove`'s words, and why it was looked at.
fn refused(refusal: &RemoveRefusal, why: &str) -> (String, String) {
    (format!("{}; {why}", refusal.reason()), refusal.advice())
}
