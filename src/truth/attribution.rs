//! Says who moved which ref: the worktree itself, by its journal and the log of its HEAD; or
//! others, by the log of the ref and the logs of the HEADs of other worktrees. All rules about
//! reflogs, journals, pushes and fetches stand here and below, are pure, and are tested as a table:
//! [`records`] holds what is recorded, [`logs`] says what the logs prove, and [`own`] which refs
//! are the worktree's own; the origins stand here.
//!
//! | ref | was moved from here, as the journal says | was not |
//! |---|---|---|
//! | branch, tag | [`Origin::MadeHere`] if it is the worktree's own, else [`Origin::MovedHere`] and the like | [`Origin::MovedElsewhere`] if its log, or that of another HEAD, shows an ordinary move |
//! | remote-tracking | [`Origin::Everyday`] for a fetch and a push of the own branch, else [`Origin::PushedHere`] and the like | [`Origin::MovedElsewhere`] if its log shows a fetch or a push |
//! | saved work | [`Origin::SavedWorkLost`] | [`Origin::SavedWorkLost`] where it cannot have expired, or where the journal does not tell its deletion from packing |
//!
//! What nothing attributes is [`Origin::Unexplained`].

pub mod logs;
pub mod own;
pub mod past_hooks;
pub mod records;

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use crate::git::hooks::journal::{RefMove, Target};
use crate::git::reflog::ReflogEntry;
use crate::git::refs::{Ref, STASH, is_stash};
use crate::truth::attribution::logs::is_ordinary_move;
use crate::truth::attribution::records::RefRecords;
use crate::words::name::CommitId;

/// Says how a ref of now came to be what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is what it was at `add`.
    Unchanged,
    /// It was made from here, and is the worktree's own.
    MadeHere,
    /// It was there at `add`, and was moved from here.
    MovedHere,
    /// It was made elsewhere since `add`, and was moved from here.
    OfOthersMovedHere,
    /// It was moved onto a commit of this worktree, and no hook reported that.
    MovedHerePastHooks,
    /// It was moved from here, and later from elsewhere.
    MovedHereThenElsewhere,
    /// It was there at `add`, and was deleted from here.
    DeletedHere,
    /// It was made elsewhere since `add`, and was deleted from here.
    OfOthersDeletedHere,
    /// It is the HEAD or a ref that another worktree has for itself, and was moved from here.
    OfOtherWorktreeMovedHere,
    /// A fetch brought what is upstream, or the own branch was pushed: everyday work.
    Everyday,
    /// It is a remote-tracking branch that was removed from here.
    RemoteRemovedHere,
    /// A commit was pushed from here to a branch on a remote that is not the own one.
    PushedHere { commit: CommitId, since: Since },
    /// It is a remote-tracking branch that was moved from here by an odd command.
    RemoteMovedHere { reason: String, since: Since },
    /// It is a remote-tracking branch that was moved from here, and its log does not have that.
    RemoteMovedPastLog { since: Since },
    /// A ref that keeps what one of our commands took away was deleted or replaced.
    SavedWorkLost { loss: Loss, mover: Mover },
    /// It named another ref, and was removed.
    SymbolicRemoved { before: BString, mover: Mover },
    /// It named another ref, and names a commit by itself.
    SymbolicDetached { before: BString },
    /// It names another ref than it did.
    SymbolicRetargeted {
        before: BString,
        now: BString,
        mover: Mover,
    },
    /// Its log, or that of another worktree, shows that others moved it. Also where git keeps no
    /// logs, and for a ref that others made since `add`.
    MovedElsewhere,
    /// It is gone, and so is its log.
    DeletedElsewhere,
    /// It is elsewhere, and nothing shows by whom.
    Unexplained,
}

/// Says who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// The worktree.
    Here,
    /// Nothing shows it.
    Unknown,
}

/// Says whether a remote-tracking branch was there at `add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// It was.
    Add,
    /// It came later.
    Later,
}

/// Says how saved work was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nothing keeps it any more.
    Deleted,
    /// Another commit stands in its place.
    Replaced,
}

/// Says how the stash came to be what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StashOrigin {
    /// No stash of `add` is gone, and none that was made here is there.
    Unchanged,
    /// Something was stashed here.
    MadeHere,
    /// Stashes of `add` are gone.
    Lost {
        /// How many.
        number: usize,
        /// Who dropped them.
        mover: Mover,
    },
}

/// Where work is kept that a command of ours took away; nothing of ours deletes what is rescued.
const SAVED: [&str; 3] = [RESCUED, "refs/agentwt/kept/", "refs/agentwt/trash/"];
const RESCUED: &str = "refs/agentwt/rescue/";
/// Where an import brings the tip of a worktree's branch.
const INCOMING: &str = "refs/agentwt/incoming/";
/// Refs that are judged as a whole, or not at all; the stash is another.
const APART: [&str; 2] = ["refs/replace/", "refs/prefetch/"];

/// Says of each ref that is not as it was at `add`, or that was moved from the worktree, how it
/// came to be what it is.
pub fn attribute(records: &RefRecords<'_>) -> BTreeMap<BString, Origin> {
    let mut names: BTreeSet<&BString> = records.journal.shared().collect();
    for (name, commit) in &records.before {
        let now = records.now.get(name);
        let is_same = now.is_some_and(|now| now.id == *commit && !now.is_symbolic());
        if !is_same || records.symbolic_before.contains_key(name) {
            names.insert(name);
        }
    }
    let mut origins = BTreeMap::new();
    for name in names {
        let is_apart = is_stash(name) || APART.iter().any(|start| name.starts_with_str(start));
        if *name != records.branch && !is_apart && !is_own_bookkeeping(records, name) {
            origins.insert(name.clone(), records.origin_of(name.as_bstr()));
        }
    }
    origins
}

/// True for a ref that our own commands write and take away again, and that no message of ours
/// tells a person to merge.
fn is_own_bookkeeping(records: &RefRecords<'_>, name: &BString) -> bool {
    let is_ours = name.starts_with(b"refs/agentwt/") && !records.before.contains_key(name);
    is_ours && !name.starts_with(INCOMING.as_bytes()) && !is_saved_work(name.as_bstr())
}

fn is_saved_work(name: &BStr) -> bool {
    SAVED.iter().any(|start| name.starts_with_str(start))
}

/// True if a move deleted a ref that named one of these commits, as far as git told.
fn deletes_one_of(one: &RefMove, commits: &BTreeSet<&CommitId>) -> bool {
    let may_be_one = match &one.old {
        Target::Object(old) => commits.contains(old),
        Target::Nothing | Target::Ref(_) => true,
    };
    one.new == Target::Nothing && may_be_one
}

/// True if a move took away what a ref had before.
fn deletes_or_replaces(one: &RefMove) -> bool {
    one.new == Target::Nothing || one.old != Target::Nothing
}

impl RefRecords<'_> {
    fn origin_of(&self, name: &BStr) -> Origin {
        if is_saved_work(name) {
            self.origin_of_saved(name)
        } else if let Some(before) = self.symbolic_before.get(name) {
            self.origin_of_symbolic(name, before)
        } else if self.journal.moves(name).is_empty() {
            self.origin_of_unjournaled(name)
        } else {
            self.origin_of_journaled(name)
        }
    }

    /// Says how a ref that keeps saved work came to be what it is. Our commands only create such
    /// refs, and delete those that expired or were brought back. They leave no line in a journal
    /// then: each line is of a git that was called by hand.
    fn origin_of_saved(&self, name: &BStr) -> Origin {
        let before = self.before.get(name);
        // what names another ref keeps nothing by itself
        let by_itself = self.now.get(name).filter(|now| !now.is_symbolic());
        let now = by_itself.map(|now| &now.id);
        if before.is_some() && before == now {
            return Origin::Unchanged;
        }
        let moves_from_here = self.journal.moves(name);
        // a ref that was packed looks in the journal as if it had been created and deleted; one
        // that was elsewhere than at `add` was not packed
        let packed = self.packed_places(name);
        let was_elsewhere = packed.iter().any(|place| Some(*place) != before);
        let is_created_and_deleted_here = now.is_none() && was_elsewhere;
        let was_there = before.is_some()
            || is_created_and_deleted_here
            || moves_from_here.iter().any(deletes_or_replaces);
        if !was_there {
            // only looked at because it was moved from here
            return match now {
                Some(_) => Origin::MadeHere,
                None => Origin::Unchanged,
            };
        }
        let loss = match now {
            None => Loss::Deleted,
            Some(_) => Loss::Replaced,
        };
        if is_created_and_deleted_here || !moves_from_here.is_empty() {
            let mover = Mover::Here;
            return Origin::SavedWorkLost { loss, mover };
        }
        let may_have_expired = loss == Loss::Deleted && !name.starts_with(RESCUED.as_bytes());
        if may_have_expired && packed.is_empty() {
            return Origin::DeletedElsewhere;
        }
        let mover = Mover::Unknown;
        Origin::SavedWorkLost { loss, mover }
    }

    /// Says how a ref that named the ref `target_at_add` at `add` came to be what it is. It is
    /// unchanged while it names the same ref, which is judged by itself.
    fn origin_of_symbolic(&self, name: &BStr, target_at_add: &BString) -> Origin {
        // a fetch can set `refs/remotes/origin/HEAD`, so a move of that from here says nothing
        let is_remote = name.starts_with(b"refs/remotes/");
        let is_moved_here = !is_remote && !self.journal.moves(name).is_empty();
        let before = target_at_add.clone();
        let Some(now) = self.now.get(name) else {
            let mover = if is_moved_here {
                Mover::Here
            } else {
                Mover::Unknown
            };
            return Origin::SymbolicRemoved { before, mover };
        };
        let Some(target) = &now.target else {
            return Origin::SymbolicDetached { before };
        };
        if *target == before {
            return Origin::Unchanged;
        }
        let is_target_remote = target.starts_with(b"refs/remotes/");
        let is_from_here = is_moved_here
            || self.is_made_here(&now.id)
            || !is_target_remote && self.is_own(target.as_bstr())
            || self.was_pushed_to(target.as_bstr());
        Origin::SymbolicRetargeted {
            before,
            now: target.clone(),
            mover: if is_from_here {
                Mover::Here
            } else {
                Mover::Unknown
            },
        }
    }

    /// Says how a ref that the journal has moves of came to be what it is: by the worktree, unless
    /// it is as at `add`, others alone moved it, or it stands where the worktree never moved it.
    fn origin_of_journaled(&self, name: &BStr) -> Origin {
        if !name.starts_with(b"refs/") {
            return Origin::OfOtherWorktreeMovedHere;
        }
        let before = self.before.get(name);
        let now = self.now.get(name);
        let current = now.map(|now| &now.id);
        let last = self.journal.moves(name).last().map(|last| &last.new);
        let is_symbolic = now.is_some_and(Ref::is_symbolic);
        let is_linked_here = is_symbolic && matches!(last, Some(Target::Ref(_)));
        if before == current && !is_linked_here {
            // it was linked elsewhere, or past git
            if is_symbolic {
                return self.origin_of_unjournaled(name);
            }
            let is_lost = before.is_none() && self.belonged_to_others(name);
            return if is_lost {
                Origin::OfOthersDeletedHere
            } else {
                Origin::Unchanged
            };
        }
        if self.is_moved_by_others_alone(name, now) {
            return self.origin_of_unjournaled(name);
        }
        // any place to which it was moved from here counts, not only the last
        let is_from_here = match current {
            Some(current) => is_linked_here || self.was_moved_to(name, current),
            None => last == Some(&Target::Nothing),
        };
        if !is_from_here {
            return match self.origin_of_unjournaled(name) {
                Origin::MovedHerePastHooks => Origin::MovedHerePastHooks,
                _by_others => Origin::MovedHereThenElsewhere,
            };
        }
        if name.starts_with(b"refs/remotes/") {
            return match current {
                Some(current) => self.origin_of_journaled_remote(name, current),
                // a push can delete the branch there, and `fetch --prune` only removes the ref
                None => Origin::RemoteRemovedHere,
            };
        }
        match (before, current) {
            (None, _) if self.is_own(name) => Origin::MadeHere,
            (None, _) if self.has_stayed(name) => self.origin_of_unjournaled(name),
            (None, _) => Origin::OfOthersMovedHere,
            (Some(_), None) => Origin::DeletedHere,
            (Some(_), Some(_)) => Origin::MovedHere,
        }
    }

    /// True if others alone moved the ref: each line in the journal is a fetch, or moved nothing, as
    /// the ref was there already.
    fn is_moved_by_others_alone(&self, name: &BStr, now: Option<&Ref>) -> bool {
        let Some(now) = now.filter(|now| !now.is_symbolic()) else {
            return false;
        };
        let Ok(text) = name.to_str() else {
            return false;
        };
        if name.starts_with(b"refs/remotes/") && self.has_place(name, &now.id) {
            return false;
        }
        for moved in self.journal.moves(name) {
            let Target::Object(place) = &moved.new else {
                return false;
            };
            // git tells where a tag was; of a branch that is renamed, it tells the new place
            let stayed = name.starts_with(b"refs/tags/") && moved.old == moved.new;
            let moved_nothing = stayed
                || self.stayed_at_place_of_add(name, place)
                || *place == now.id && self.is_where_others_left_it(text, place);
            if !moved_nothing && !self.is_fetched_place(text, place) {
                return false;
            }
        }
        true
    }

    /// Says how a remote-tracking branch that the worktree moved came to be at `current`. A fetch
    /// brings what is upstream, and a push of the own branch is how work is handed in: both are
    /// everyday work. A push of another branch counts before all else, even if the ref moved on
    /// since; otherwise the newest entry of its log decides.
    fn origin_of_journaled_remote(&self, name: &BStr, current: &CommitId) -> Origin {
        let log = self.log(name);
        let is_own_upstream = self.is_own_upstream(name);
        let since = self.presence_at_add(name, &log);
        if !is_own_upstream && let Some(commit) = self.first_pushed_place(name) {
            let commit = commit.clone();
            return Origin::PushedHere { commit, since };
        }
        let Some(newest) = log.first() else {
            return if is_own_upstream || self.may_be_fetched_unlogged(current) {
                Origin::Everyday
            } else {
                Origin::RemoteMovedPastLog { since }
            };
        };
        if newest.id != *current {
            return Origin::RemoteMovedPastLog { since };
        }
        let is_everyday = if newest.reason.starts_with("update by push") {
            is_own_upstream
        } else {
            newest.came_from_elsewhere(&name.to_str_lossy())
        };
        if is_everyday {
            return Origin::Everyday;
        }
        let reason = newest.reason.clone();
        Origin::RemoteMovedHere { reason, since }
    }

    /// True if a fetch may have brought a commit to a ref without a log. Where git keeps logs, it
    /// logs each fetch and each push: there the log was emptied, which hides a push to the branch
    /// of another.
    fn may_be_fetched_unlogged(&self, commit: &CommitId) -> bool {
        !self.source.keeps_logs() && !self.was_made_or_moved_here(commit)
    }

    /// Says whether a remote-tracking branch was there at `add`. One that the worktree's own push
    /// made came later. The log of a branch goes when the branch is deleted there: then what was
    /// pushed first is its own if it was made here.
    fn presence_at_add(&self, name: &BStr, log: &[ReflogEntry]) -> Since {
        if self.before.contains_key(name) || self.belonged_to_others(name) {
            return Since::Add;
        }
        let (Some(first), Some(oldest)) = (self.journal.places(name).next(), log.last()) else {
            return Since::Later;
        };
        let is_pushed_here = oldest.is_push_of(&oldest.id) && self.has_place(name, &oldest.id);
        if is_pushed_here && (oldest.id == *first || self.is_made_here(first)) {
            Since::Later
        } else {
            Since::Add
        }
    }

    /// Says how a ref came to be what it is by the logs alone: its own, and those of the HEADs of
    /// other worktrees. Called where the journal does not explain the place of the ref.
    fn origin_of_unjournaled(&self, name: &BStr) -> Origin {
        let Some(before) = self.before.get(name) else {
            return Origin::MovedElsewhere;
        };
        let log = self.log(name);
        let Some(now) = self.now.get(name) else {
            // git deletes the log with the ref
            return if log.is_empty() {
                Origin::DeletedElsewhere
            } else {
                Origin::Unexplained
            };
        };
        let is_branch = name.starts_with(b"refs/heads/");
        let is_here = self.was_made_or_moved_here(&now.id);
        let is_linked = now.is_symbolic() && is_branch && !log.is_empty();
        if now.id == *before && !is_linked {
            return Origin::Unchanged;
        }
        if !is_linked && self.is_where_others_left_it(&name.to_str_lossy(), &now.id) {
            return Origin::MovedElsewhere;
        }
        if is_here && self.is_logged_elsewhere(&now.id) {
            // others have taken the commit over; a push or `update-ref` can be of anybody then
            let may_be_their_move = !is_branch || log.first().is_none_or(is_ordinary_move);
            return if may_be_their_move {
                Origin::MovedElsewhere
            } else {
                Origin::Unexplained
            };
        }
        let is_ordinary = match log.first() {
            Some(newest) if is_branch => {
                let is_whole_log =
                    log.iter().any(|entry| entry.id == *before) || self.is_made_anew(name, &now.id);
                is_ordinary_move(newest) && is_whole_log && newest.id == now.id && !is_linked
            }
            Some(newest) => newest.id == now.id && newest.came_from_elsewhere(&name.to_str_lossy()),
            // git keeps no log of tags
            None if name.starts_with(b"refs/tags/") => return Origin::Unexplained,
            None => !is_branch && !is_here || !self.source.keeps_logs(),
        };
        let may_be_of_others = !is_here || !is_branch || log.is_empty();
        match (is_ordinary, is_here) {
            (true, _) if may_be_of_others => Origin::MovedElsewhere,
            (false, true) => Origin::MovedHerePastHooks,
            (_, _) => Origin::Unexplained,
        }
    }

    /// True if a ref that was deleted from here was made again, not on a commit that was made here.
    /// Git deleted its log, so the new one does not have the place of `add`.
    fn is_made_anew(&self, name: &BStr, now: &CommitId) -> bool {
        let last = self.journal.moves(name).last();
        let is_deleted_here = last.is_some_and(|last| last.new == Target::Nothing);
        is_deleted_here && !self.is_made_here(now)
    }

    /// Says how the stash came to be what it is. Git drops all but the last stash past every hook
    /// (git-stash(1)), and one that was made here and cleared looks in the journal like packing
    /// ([`crate::git::hooks::journal`]): who lost a stash is known only where the journal shows it.
    pub fn stash_origin(&self) -> StashOrigin {
        let name = BStr::new(STASH);
        let mut stashes: BTreeSet<&CommitId> = BTreeSet::new();
        let log = self.log(name);
        stashes.extend(log.iter().map(|entry| &entry.id));
        stashes.extend(self.now.get(name).map(|now| &now.id));
        // `add` records each stash as `refs/stash@{number}`
        let mut before: BTreeSet<&CommitId> = BTreeSet::new();
        for (ref_name, commit) in &self.before {
            if is_stash(ref_name) {
                before.insert(commit);
            }
        }
        let lost = before.difference(&stashes).count();
        if lost > 0 {
            let journaled = self.journal.moves(name);
            // a deletion of a later stash proves nothing: those of `add` may have been gone
            let is_dropped_here = journaled.iter().any(|one| deletes_one_of(one, &before));
            let mover = if is_dropped_here {
                Mover::Here
            } else {
                Mover::Unknown
            };
            return StashOrigin::Lost {
                number: lost,
                mover,
            };
        }
        let is_new = |place: &CommitId| stashes.contains(place) && !before.contains(place);
        if self.journal.places(name).any(is_new) {
            return StashOrigin::MadeHere;
        }
        StashOrigin::Unchanged
    }
}

#[cfg(test)]
mod tests;
