//! Says what the logs of refs and of HEADs prove: that others moved a ref, by a command of theirs,
//! by a fetch or by a push.

use bstr::{BStr, ByteSlice};

use crate::git::hooks::journal::{RefMove, Target};
use crate::git::reflog::{ReflogEntry, last_move};
use crate::truth::attribution::records::RefRecords;
use crate::words::name::CommitId;

impl RefRecords<'_> {
    /// True if an entry in the log of a ref shows that others moved the ref there.
    pub fn entry_proves_foreign_move(&self, name: &str, entry: &ReflogEntry) -> bool {
        if !name.starts_with("refs/heads/") {
            return entry.came_from_elsewhere(name);
        }
        // a commit, merge or pull in the worktree that has the branch checked out is in the HEAD
        // reflog of that worktree; an update-ref from elsewhere is not
        if self.is_logged_elsewhere(&entry.id) {
            return true;
        }
        // git fetches into no branch that is checked out
        let is_checked_out = || self.other_heads().any(|other| other.is_on(name));
        entry.came_from_elsewhere(name) && (entry.reason.starts_with("fetch") || !is_checked_out())
    }

    /// True if the HEAD of another worktree went to a commit by a command that makes or fetches
    /// commits.
    pub fn is_logged_elsewhere(&self, commit: &CommitId) -> bool {
        self.other_heads()
            .any(|other| other.went_to(commit) && !self.has_moved(other, commit))
    }

    /// True if others wrote an entry in the log of a ref; of a branch, if the log of another HEAD
    /// has the same entry.
    pub(super) fn is_logged_as_foreign(&self, name: &BStr, entry: &ReflogEntry) -> bool {
        if name.starts_with(b"refs/heads/") {
            return self.other_heads().any(|other| other.has_logged(entry));
        }
        self.entry_proves_foreign_move(&name.to_str_lossy(), entry)
    }

    /// True if a branch is where another worktree left it that has it checked out, by the logs of
    /// both. What a command in the worktree did to the branch since is nothing: git logs no move to
    /// the same place.
    pub fn is_where_others_left_it(&self, name: &str, now: &CommitId) -> bool {
        if !name.starts_with("refs/heads/") {
            return false;
        }
        let log = self.log(name.into());
        let Some(newest) = last_move(&log).filter(|newest| newest.id == *now) else {
            return false;
        };
        // a reset of theirs to a commit of here is no proof: it may hide a move from here
        if self.is_made_here(now) && newest.is_bare_move() {
            return false;
        }
        // where refs are tables, `git update-ref` also writes into the log of a HEAD that is on the
        // branch, from whichever worktree
        if newest.reason.is_empty() && self.has_place(name.into(), now) {
            return false;
        }
        self.other_heads()
            .any(|other| other.left_branch_at(name, newest) && !self.has_moved(other, now))
    }

    /// True if a place to which a ref was moved from here is one to which others had brought it: by
    /// a fetch, or by a commit of their own in a worktree of theirs.
    pub fn is_place_of_others(&self, name: &str, place: &CommitId) -> bool {
        if self.is_fetched_place(name, place) || self.is_where_others_left_it(name, place) {
            return true;
        }
        !self.is_made_here(place)
            && self.is_logged_elsewhere(place)
            && !self.is_logged_as_of_nobody(name, place)
    }

    /// True if the log of a ref has it at a place, and no entry there is one that others wrote:
    /// they may have brought the commit to another branch. Where refs are tables, a move by `git
    /// update-ref` from anywhere is in the log of a HEAD too, without a reason.
    fn is_logged_as_of_nobody(&self, name: &str, place: &CommitId) -> bool {
        let log = self.log(name.into());
        let mut is_there = false;
        for entry in log.iter().filter(|entry| entry.id == *place) {
            if !entry.reason.is_empty() && self.is_logged_as_foreign(name.into(), entry) {
                return false;
            }
            is_there = true;
        }
        is_there
    }

    /// True if others took a ref back to where it is now. What the worktree itself rewound excuses
    /// nothing.
    pub fn is_rewound_by_others(&self, name: &str, now: &CommitId) -> bool {
        if self.has_place(name.into(), now) {
            return self.is_fetched_place(name, now) || self.is_where_others_left_it(name, now);
        }
        let log = self.log(name.into());
        match log.first() {
            Some(newest) if name.starts_with("refs/heads/") => {
                is_ordinary_move(newest) || self.is_where_others_left_it(name, now)
            }
            Some(newest) => newest.came_from_elsewhere(name),
            None => true,
        }
    }

    /// True if git's logs show that others moved a ref to where it is now, which brought `new`
    /// commits. `was_logged` says whether it had a log at `add`.
    pub fn proves_move_elsewhere(
        &self,
        name: &str,
        log: &[ReflogEntry],
        now: &CommitId,
        new: &[CommitId],
        was_logged: bool,
    ) -> bool {
        match log.first() {
            // where it was written past git: git itself would have logged it
            Some(newest) => {
                newest.id == *now
                    && (new.is_empty() || self.entry_proves_foreign_move(name, newest))
            }
            // a log that was there and is empty proves nothing, but the journal does
            None if was_logged => {
                let is_of_here = |commit| self.was_made_or_moved_here(commit);
                self.journal.moves(name.as_bytes()).is_empty() && !new.iter().any(is_of_here)
            }
            None => !self.is_made_here(now),
        }
    }

    /// True if a ref got to where it is now by a command that can bring a commit from anywhere.
    pub fn is_bare_move_to(&self, log: &[ReflogEntry], now: &CommitId) -> bool {
        let newest = log.first();
        newest.is_some_and(|newest| newest.id == *now && newest.is_bare_move())
    }

    /// True if the log of a remote-tracking ref has a fetch for each move of the journal to this
    /// place: a fetch from here does no more than a fetch from elsewhere. Also true if the journal
    /// has no such move.
    pub fn is_fetched_place(&self, name: &str, place: &CommitId) -> bool {
        if !name.starts_with("refs/remotes/") {
            return false;
        }
        let log = self.log(name.into());
        let mut fetches = 0;
        let mut is_each_a_fetch = true;
        for (at, entry) in log.iter().enumerate() {
            let stayed = log.get(at + 1).is_some_and(|older| older.id == entry.id);
            if entry.id != *place || stayed {
                continue;
            }
            if !entry.is_push_of(place) && self.entry_proves_foreign_move(name, entry) {
                fetches += 1;
            } else {
                is_each_a_fetch = false;
            }
        }
        let ends_there = log.first().is_some_and(|newest| newest.id == *place);
        let moves = self.journal.moves(name.as_bytes());
        let mut moves_from_here = 0;
        for (at, one) in moves.iter().enumerate() {
            // a push of what is there does not say where the ref was, and moves nothing
            let moved_nothing = is_each_a_fetch && ends_there && may_have_stayed(moves, at);
            if one.new == Target::Object(place.clone()) && one.old != one.new && !moved_nothing {
                moves_from_here += 1;
            }
        }
        fetches >= moves_from_here
    }

    /// True if others moved a remote-tracking ref to where it is now by a fetch.
    pub fn is_fetched(&self, name: &BStr, now: &CommitId) -> bool {
        let log = self.log(name);
        let Some(newest) = log.first().filter(|newest| newest.id == *now) else {
            return false;
        };
        let is_pushed_here = newest.is_push_of(now) && self.has_place(name, now);
        !is_pushed_here
            && newest.came_from_elsewhere(&name.to_str_lossy())
            && !self.is_made_here(now)
    }

    /// True if a place is the one at `add`, and the log shows no other move to it: a clone logs no
    /// move of the refs that it makes, and a push of what is there moves nothing.
    pub(super) fn stayed_at_place_of_add(&self, name: &BStr, place: &CommitId) -> bool {
        let log = self.log(name);
        self.before.get(name) == Some(place)
            && !log.is_empty()
            && log
                .iter()
                .filter(|entry| entry.id == *place)
                .all(|entry| self.is_logged_as_foreign(name, entry))
    }
}

/// True if git logged a move of a branch that is no push to this repository and no `git branch`.
pub(super) fn is_ordinary_move(newest: &ReflogEntry) -> bool {
    let reason = newest.reason.as_str();
    !(reason.is_empty() || reason.starts_with("push") || reason.starts_with("Branch: "))
}

/// True if a move goes where the move before it went, and does not say where the ref was.
fn may_have_stayed(moves: &[RefMove], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|index| moves.get(index));
    moves[at].old == Target::Nothing && before.is_some_and(|before| before.new == moves[at].new)
}
