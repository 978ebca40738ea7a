//! Reads what surrounds a worktree: its links, git's files beside it, the journal of what was done
//! to refs from there, and what it shares with others.

use super::effort::Effort;
use super::heads::Heads;
use super::integrity::{self, ChangedFiles, plain};
use super::shared;
use super::tips::{self, Tips, recorded_tips};
use crate::change::{Cause, Change, Kind, Place, SharedChange};
use crate::name::CommitId;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Holds what surrounds a worktree.
pub struct Surroundings {
    /// What is wrong with it and its private git directory.
    pub wrong: Vec<Change>,
    /// What is not as it was of what it shares.
    pub shared: Vec<SharedChange>,
    /// Which commits count as work of others.
    pub tips: Tips,
    /// Where HEAD and the worktree's branch have been, as the journal says.
    pub been_on: Vec<CommitId>,
}

impl Surroundings {
    /// Reads everything.
    pub fn read(
        repository: &Repository,
        known: &Worktree,
        heads: &Heads,
        effort: &Effort,
    ) -> Result<Self, WorktreeError> {
        let record = &known.record;
        let mut wrong = integrity::broken_links(repository, record);
        if known.is_without(repository) {
            // nothing of it can be held against what was recorded
            return Ok(Self {
                wrong,
                shared: Vec::new(),
                tips: recorded_tips(record),
                been_on: Vec::new(),
            });
        }
        let files = integrity::changed_files(repository, record);
        let files = effort.or(files, ChangedFiles::default)?;
        wrong.extend(files.own);
        let journal = effort.or(known.journal(), || None)?;
        wrong.extend(integrity::past_the_hooks(record, journal.as_ref(), heads));
        let journal = journal.unwrap_or_default();
        let own = record.branch.full_ref();
        let been_on = journal
            .places(b"HEAD")
            .chain(journal.places(own.as_bytes()));
        let been_on = been_on.cloned().collect();
        let made_here = heads.made_here();
        let rewired = effort.or(shared::rewired_remotes(repository, known), Vec::new)?;
        let leads_elsewhere = |name: &str| tips::is_of(&rewired, name);
        let tips = tips::find(repository, record, &made_here, &journal, &leads_elsewhere);
        let tips = effort.or(tips, || recorded_tips(record))?;
        let is_made_here = |commit: &CommitId| made_here.contains(commit);
        let found = shared::changes(repository, known, &journal, &is_made_here);
        let found = effort.or(found, Vec::new)?;
        let mut shared = files.shared;
        shared.extend(unexplained(&tips, &found));
        shared.extend(found);
        Ok(Self {
            wrong,
            shared,
            tips,
            been_on,
        })
    }
}

/// Refs that a base follows and that moved, of which nothing else is said.
fn unexplained(tips: &Tips, found: &[SharedChange]) -> Vec<SharedChange> {
    let mut all = Vec::new();
    for name in &tips.untrusted {
        let place = Place::Git(name.as_str().into());
        if !found.iter().any(|one| one.change.place == place) {
            let said = "it moved, and git's logs do not show by whom".to_owned();
            let change = plain(place, Kind::Ref, Some(said));
            let cause = Cause::Unknown;
            all.push(SharedChange { change, cause });
        }
    }
    all
}
