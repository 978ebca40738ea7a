//! Holds what is recorded of refs: as they were at `add`, as they are, the journal of the worktree
//! and the logs. It judges nothing.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bstr::{BStr, BString};

use crate::git::hooks::journal::{Journal, Target};
use crate::git::reflog::{ReflogEntry, last_move};
use crate::git::refs::Ref;
use crate::words::name::CommitId;

/// Holds the HEAD of another worktree.
#[derive(Clone, Debug, Default)]
pub struct OtherHead {
    /// The branch that it names.
    pub branch: Option<String>,
    /// Empty where it cannot be read: then it proves nothing.
    pub log: Vec<ReflogEntry>,
    /// The name of the HEAD as other worktrees see it (git-worktree(1), "REFS").
    pub name: String,
    /// True if an agent works there.
    pub is_of_agent: bool,
}

impl OtherHead {
    pub(super) fn is_on(&self, branch: &str) -> bool {
        self.branch.as_deref() == Some(branch)
    }

    /// True if a command that makes or fetches commits took it to a commit. A rebase begins with a
    /// checkout of anything.
    pub(super) fn went_to(&self, commit: &CommitId) -> bool {
        let is_there = |entry: &ReflogEntry| {
            entry.id == *commit && !entry.is_bare_move() && !entry.reason.contains("(start)")
        };
        self.log.iter().any(is_there)
    }

    /// True if it is on this branch, and its log ends with the same entry as the log of the branch:
    /// a move of the branch from another worktree would be in the log of the branch alone.
    pub(super) fn left_branch_at(&self, branch: &str, newest: &ReflogEntry) -> bool {
        let last = last_move(&self.log);
        self.is_on(branch) && last.is_some_and(|last| last.is_same_move(newest))
    }

    /// True if its log has the move that an entry of another log tells of.
    pub(super) fn has_logged(&self, entry: &ReflogEntry) -> bool {
        self.log.iter().any(|own| own.is_same_move(entry))
    }
}

/// Gives the records that are only read for the refs that need them.
pub trait RecordSource {
    /// Returns the log of a ref, the newest entry first; empty where it has none or cannot be read.
    fn read_log(&self, name: &BStr) -> Vec<ReflogEntry>;
    /// True if git keeps reflogs in the repository.
    fn keeps_logs(&self) -> bool;
    /// True if there is a remote of this name.
    fn is_remote(&self, name: &str) -> bool;
    /// Returns the HEAD of the main worktree, if there is one.
    fn read_main_head(&self) -> Option<OtherHead>;
    /// Returns the HEADs of the other linked worktrees.
    fn read_linked_heads(&self) -> Vec<OtherHead>;
}

/// Holds what is recorded of refs: as they were at `add`, as they are, and what was done to them
/// from the worktree.
pub struct RefRecords<'a> {
    /// The full name of the worktree's branch.
    pub branch: String,
    /// The base of the worktree.
    pub base: CommitId,
    /// The ref that its HEAD names.
    pub head_ref: Option<String>,
    /// Every ref at `add`, with what it named.
    pub before: BTreeMap<BString, CommitId>,
    /// The refs that named another ref at `add`, with that ref.
    pub symbolic_before: BTreeMap<BString, BString>,
    /// Every ref of now.
    pub now: BTreeMap<BString, Ref>,
    /// What was done to refs from the worktree.
    pub journal: Journal,
    /// The commits that were made in the worktree, and in those that were made from it, as the logs of
    /// their HEADs tell.
    pub made_here: BTreeSet<CommitId>,
    /// What is only read where it is needed.
    pub source: Box<dyn RecordSource + 'a>,
    /// What was read of that.
    pub cache: RecordCache,
}

/// Holds what was read of records, each once.
#[derive(Default)]
pub struct RecordCache {
    touched: OnceCell<BTreeSet<CommitId>>,
    logs: RefCell<BTreeMap<BString, Rc<[ReflogEntry]>>>,
    main_head: OnceCell<Option<OtherHead>>,
    linked_heads: OnceCell<Vec<OtherHead>>,
}

impl RefRecords<'_> {
    /// Returns the log of a ref, the newest entry first; it is read once.
    pub fn log(&self, name: &BStr) -> Rc<[ReflogEntry]> {
        if let Some(log) = self.cache.logs.borrow().get(name) {
            return Rc::clone(log);
        }
        let log: Rc<[ReflogEntry]> = self.source.read_log(name).into();
        self.cache
            .logs
            .borrow_mut()
            .insert(name.to_owned(), Rc::clone(&log));
        log
    }

    /// True if a commit was made in the worktree, as the log of its HEAD tells.
    pub fn is_made_here(&self, commit: &CommitId) -> bool {
        self.made_here.contains(commit)
    }

    /// True if a commit was made in the worktree, or a branch or a tag was moved onto it from there
    /// that was not on it at `add`.
    pub fn was_made_or_moved_here(&self, commit: &CommitId) -> bool {
        self.made_here.contains(commit) || self.touched().contains(commit)
    }

    /// True if [`Self::was_made_or_moved_here`] is true of any commit.
    pub fn has_made_or_moved_any(&self) -> bool {
        !self.made_here.is_empty() || !self.touched().is_empty()
    }

    /// Returns the commits onto which refs were moved from here that no ref was on at `add`.
    fn touched(&self) -> &BTreeSet<CommitId> {
        self.cache.touched.get_or_init(|| {
            let mut touched = self.journal.touched();
            // a ref that was made here and deleted looks as if it had been packed, but is not there
            for (name, commit) in &self.journal.packed {
                if !self.now.contains_key(name) {
                    touched.insert(commit.clone());
                }
            }
            for commit in self.before.values() {
                touched.remove(commit);
            }
            touched
        })
    }

    /// True if the worktree moved a ref to this place.
    pub fn has_place(&self, name: &BStr, commit: &CommitId) -> bool {
        self.journal.places(name).any(|place| place == commit)
    }

    /// True if no move of a ref from here went elsewhere: a merge that was aborted, or a reset to
    /// where the ref is.
    pub(super) fn has_stayed(&self, name: &BStr) -> bool {
        let mut moves = self.journal.moves(name).iter();
        moves.all(|one| one.old == one.new)
    }

    /// True if the worktree moved the ref to this place. A move from there to there is none if the
    /// worktree moved the ref elsewhere: others took it there.
    pub(super) fn was_moved_to(&self, name: &BStr, commit: &CommitId) -> bool {
        if self.has_stayed(name) {
            return self.has_place(name, commit);
        }
        let place = Target::Object(commit.clone());
        let mut moves = self.journal.moves(name).iter();
        moves.any(|one| one.old != one.new && one.new == place)
    }

    pub(super) fn is_packed(&self, name: &BStr) -> bool {
        !self.packed_places(name).is_empty()
    }

    /// Lists where a ref was when it was packed from here, or made and deleted.
    pub(super) fn packed_places(&self, name: &BStr) -> Vec<&CommitId> {
        let mut places = Vec::new();
        for (packed, place) in &self.journal.packed {
            if packed == name {
                places.push(place);
            }
        }
        places
    }

    /// True if the worktree moved the HEAD of another one to a commit.
    pub(super) fn has_moved(&self, other: &OtherHead, commit: &CommitId) -> bool {
        self.has_place(BStr::new(&other.name), commit)
    }

    /// Those beside the main worktree are only read where the main one does not decide.
    pub(super) fn other_heads(&self) -> impl Iterator<Item = &OtherHead> {
        let main = self
            .cache
            .main_head
            .get_or_init(|| self.source.read_main_head());
        let linked = std::iter::once_with(|| self.linked_heads()).flatten();
        main.iter().chain(linked)
    }

    pub(super) fn linked_heads(&self) -> &[OtherHead] {
        self.cache
            .linked_heads
            .get_or_init(|| self.source.read_linked_heads())
    }
}
