//! Says who moved which ref: the worktree itself, by its journal and the log of its HEAD; or
//! others, by the log of the ref and the logs of the HEADs of other worktrees. Pure: all rules
//! about reflogs, journals, pushes and fetches stand here, and are tested as a table.
//!
//! | ref | was moved from here, as the journal says | was not |
//! |---|---|---|
//! | branch, tag | [`Origin::MadeHere`] if it is the worktree's own, else [`Origin::MovedHere`] and the like | [`Origin::MovedElsewhere`] if its log, or that of another HEAD, shows an ordinary move |
//! | remote-tracking | [`Origin::Everyday`] for a fetch and a push of the own branch, else [`Origin::PushedHere`] and the like | [`Origin::MovedElsewhere`] if its log shows a fetch or a push |
//! | saved work | [`Origin::SavedWorkLost`] | [`Origin::SavedWorkLost`] where it cannot have expired |
//!
//! What nothing attributes is [`Origin::Unexplained`].

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use crate::git::hooks::journal::{Journal, RefMove, Target};
use crate::git::reflog::ReflogEntry;
use crate::git::refs::Ref;
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
    /// Its log, or that of another worktree, shows that others moved it.
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
    fn is_on(&self, branch: &str) -> bool {
        self.branch.as_deref() == Some(branch)
    }

    /// True if a command that makes or fetches commits took it to a commit. A rebase begins with a
    /// checkout of anything.
    fn went_to(&self, commit: &CommitId) -> bool {
        let is_there = |entry: &ReflogEntry| {
            entry.id == *commit && !entry.is_bare_move() && !entry.reason.contains("(start)")
        };
        self.log.iter().any(is_there)
    }

    /// True if it is on this branch, and its log ends with the same entry as the log of the branch:
    /// a move of the branch from another worktree would be in the log of the branch alone.
    fn left_branch_at(&self, branch: &str, newest: &ReflogEntry) -> bool {
        self.is_on(branch) && self.log.first() == Some(newest)
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
    /// The commits that were made in the worktree, as the log of its HEAD tells.
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

/// Where work is kept that a command of ours took away; nothing of ours deletes what is rescued.
const SAVED: [&str; 3] = [RESCUED, "refs/agentwt/kept/", "refs/agentwt/trash/"];
const RESCUED: &str = "refs/agentwt/rescue/";
/// Refs that are judged as a whole, or not at all.
const APART: [&str; 3] = ["refs/replace/", "refs/prefetch/", "refs/stash"];

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
        let is_apart = APART.iter().any(|start| name.starts_with_str(start));
        if *name != records.branch && !is_apart && !is_own_bookkeeping(records, name) {
            origins.insert(name.clone(), records.origin_of(name.as_bstr()));
        }
    }
    origins
}

/// True for a ref that our own commands write and take away again.
fn is_own_bookkeeping(records: &RefRecords<'_>, name: &BString) -> bool {
    let is_ours = name.starts_with(b"refs/agentwt/") && !records.before.contains_key(name);
    is_ours && !is_saved_work(name.as_bstr())
}

fn is_saved_work(name: &BStr) -> bool {
    SAVED.iter().any(|start| name.starts_with_str(start))
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
            if !touched.is_empty() {
                for commit in self.before.values() {
                    touched.remove(commit);
                }
            }
            touched
        })
    }

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

    /// True if a branch is where another worktree left it that has it checked out, by the logs of
    /// both. What a command in the worktree did to the branch since is nothing: git logs no move to
    /// the same place.
    pub fn is_where_others_left_it(&self, name: &str, now: &CommitId) -> bool {
        if !name.starts_with("refs/heads/") || self.is_made_here(now) {
            return false;
        }
        let log = self.log(name.into());
        let Some(newest) = log.first().filter(|newest| newest.id == *now) else {
            return false;
        };
        self.other_heads()
            .any(|other| other.left_branch_at(name, newest) && !self.has_moved(other, now))
    }

    /// True if a place to which a ref was moved from here is one to which others had brought it: by
    /// a fetch, or by a commit of their own in a worktree of theirs.
    pub fn is_place_of_others(&self, name: &str, place: &CommitId) -> bool {
        self.is_fetched_place(name, place)
            || self.is_where_others_left_it(name, place)
            || !self.is_made_here(place) && self.is_logged_elsewhere(place)
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

    /// True if the log shows each move of a remote-tracking ref to this place: a fetch from here
    /// moves it as one from elsewhere does, so only what the log does not show was done to it.
    pub fn is_fetched_place(&self, name: &str, place: &CommitId) -> bool {
        if !name.starts_with("refs/remotes/") {
            return false;
        }
        let mut journaled = 0;
        for one in self.journal.moves(name.as_bytes()) {
            if one.new == Target::Object(place.clone()) && one.old != one.new {
                journaled += 1;
            }
        }
        let mut proven = 0;
        for entry in &*self.log(name.into()) {
            if entry.id == *place
                && !entry.is_push_of(place)
                && self.entry_proves_foreign_move(name, entry)
            {
                proven += 1;
            }
        }
        proven >= journaled
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

    /// True if a push from this worktree moved a remote-tracking ref.
    pub fn was_pushed_to(&self, name: &BStr) -> bool {
        self.first_pushed_place(name).is_some()
    }

    /// Returns the first place to which a push from this worktree moved a remote-tracking ref.
    fn first_pushed_place(&self, name: &BStr) -> Option<&CommitId> {
        let log = self.log(name);
        let mut places = self.journal.places(name);
        places.find(|place| log.iter().any(|entry| entry.is_push_of(place)))
    }

    /// True if the oldest entry of a ref's log is a push.
    pub fn began_with_push(&self, name: &BStr) -> bool {
        let log = self.log(name);
        log.last()
            .is_some_and(|oldest| oldest.is_push_of(&oldest.id))
    }

    /// True if a ref is the remote-tracking branch of the worktree's own branch: of the same name,
    /// on any remote. The name of a remote can have slashes.
    pub fn is_own_upstream(&self, name: &BStr) -> bool {
        let name = name.to_str_lossy();
        let branch = self
            .branch
            .strip_prefix("refs/heads/")
            .unwrap_or(&self.branch);
        let own = format!("/{branch}");
        let remote = name.strip_prefix("refs/remotes/");
        let Some(remote) = remote.and_then(|name| name.strip_suffix(&own)) else {
            return false;
        };
        !remote.contains('/') || self.source.is_remote(remote)
    }

    /// True if a ref was made in this worktree: it was not there at `add`, and its first place is
    /// the one that the journal has first. The branch of another agent is none.
    pub fn is_own(&self, name: &BStr) -> bool {
        if *name == self.branch {
            return true;
        }
        if self.before.contains_key(name) || !self.may_be_own(name) {
            return false;
        }
        let log = self.log(name);
        let is_made_here = self.is_created_here(name, &log)
            || self.is_renamed_from_own(name)
            || self.was_pushed_here(&log)
            || log.iter().any(|entry| self.is_from_own(name, entry));
        let text = name.to_str_lossy();
        let is_of_agent = |other: &OtherHead| other.is_of_agent && other.is_on(&text);
        is_made_here && !self.linked_heads().iter().any(is_of_agent)
    }

    /// True if a new ref was moved from here, is on a commit of here, or HEAD is on it.
    fn may_be_own(&self, name: &BStr) -> bool {
        let now = self.now.get(name);
        !self.journal.moves(name).is_empty()
            || now.is_some_and(|now| self.was_made_or_moved_here(&now.id))
            || self
                .head_ref
                .as_ref()
                .is_some_and(|on| *name == on.as_str())
    }

    /// True if an entry renamed or copied the ref from one of the worktree's own.
    fn is_from_own(&self, name: &BStr, entry: &ReflogEntry) -> bool {
        let Some(from) = entry.renamed_or_copied_from() else {
            return false;
        };
        let from = BStr::new(from);
        *from == self.branch
            || self.was_renamed_here(from, name)
            || self.is_forgotten(from)
            || self.is_created_here(from, &self.log(from))
    }

    /// True if a branch is what the worktree's own became by renames, as the journal of HEAD tells:
    /// the branch and HEAD are deleted at one commit, and HEAD is then set to the new name.
    fn is_renamed_from_own(&self, name: &BStr) -> bool {
        let mut own = BString::from(self.branch.as_str());
        for pair in self.journal.moves(b"HEAD").windows(2) {
            let (Target::Nothing, Target::Ref(renamed)) = (&pair[0].new, &pair[1].new) else {
                continue;
            };
            if self.journal.moves(&own).contains(&pair[0]) {
                own.clone_from(renamed);
            }
        }
        own == *name && *name != self.branch
    }

    /// True if the first place that a ref's log has is the one at which the journal has it created.
    fn is_created_here(&self, name: &BStr, log: &[ReflogEntry]) -> bool {
        let Some(RefMove {
            old: Target::Nothing,
            new: Target::Object(created),
        }) = self.journal.moves(name).first()
        else {
            return false;
        };
        log.last().is_none_or(|oldest| oldest.id == *created)
    }

    /// True if a ref began with a push of a commit of the worktree. A push to the path of this
    /// repository runs none of the worktree's hooks.
    fn was_pushed_here(&self, log: &[ReflogEntry]) -> bool {
        log.last()
            .is_some_and(|oldest| oldest.reason == "push" && self.is_made_here(&oldest.id))
    }

    /// True if a ref that is gone was made in the worktree, as far as the journal tells.
    fn is_forgotten(&self, name: &BStr) -> bool {
        if self.now.contains_key(name) {
            return false;
        }
        let first = self.journal.moves(name).first();
        let is_created =
            first.is_some_and(|first| first.old == Target::Nothing && first.new != Target::Nothing);
        is_created || self.is_packed(name)
    }

    /// True if a branch that was there at `add` became another one by a rename from here: the
    /// journal has that it was deleted. No hook tells of that where refs are tables; then the
    /// commit counts.
    fn was_renamed_here(&self, from: &BStr, name: &BStr) -> bool {
        if !self.before.contains_key(from) || self.now.contains_key(from) {
            return false;
        }
        match self.journal.moves(from).last() {
            Some(last) => last.new == Target::Nothing,
            None => self.now.get(name).is_some_and(|now| {
                self.is_made_here(&now.id) && !self.is_logged_elsewhere(&now.id)
            }),
        }
    }

    fn is_packed(&self, name: &BStr) -> bool {
        self.journal.packed.iter().any(|(packed, _)| packed == name)
    }

    /// True if the worktree deleted a ref that it had not made, and that came after `add`.
    fn belonged_to_others(&self, name: &BStr) -> bool {
        let Some(first) = self.journal.moves(name).first() else {
            return false;
        };
        match (&first.old, &first.new) {
            // a rename past the hooks left nothing but the base
            (Target::Object(old), Target::Nothing) => {
                !self.was_made_or_moved_here(old) && *old != self.base
            }
            (Target::Nothing, Target::Nothing) => true,
            (_, _) => false,
        }
    }

    /// True if the worktree moved a ref to this place.
    pub fn has_place(&self, name: &BStr, commit: &CommitId) -> bool {
        self.journal.places(name).any(|place| place == commit)
    }

    /// True if the worktree moved the HEAD of another one to a commit.
    fn has_moved(&self, other: &OtherHead, commit: &CommitId) -> bool {
        self.has_place(BStr::new(&other.name), commit)
    }

    /// Those beside the main worktree are only read where the main one does not decide.
    fn other_heads(&self) -> impl Iterator<Item = &OtherHead> {
        let main = self
            .cache
            .main_head
            .get_or_init(|| self.source.read_main_head());
        let linked = std::iter::once_with(|| self.linked_heads()).flatten();
        main.iter().chain(linked)
    }

    fn linked_heads(&self) -> &[OtherHead] {
        self.cache
            .linked_heads
            .get_or_init(|| self.source.read_linked_heads())
    }

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

    /// Our commands only make refs that keep saved work, and delete those that expired or came
    /// back; they leave no line in a journal then.
    fn origin_of_saved(&self, name: &BStr) -> Origin {
        let before = self.before.get(name);
        let now = self.now.get(name).map(|now| &now.id);
        let journaled = self.journal.moves(name);
        let is_end = |one: &RefMove| one.new == Target::Nothing || one.old != Target::Nothing;
        // what was made and deleted from here looks in the journal as if it had been packed
        let is_made_and_deleted = now.is_none() && self.is_packed(name);
        let was_there = before.is_some() || is_made_and_deleted || journaled.iter().any(is_end);
        let is_as_before = before.is_some() && before == now;
        if is_as_before || !was_there {
            return Origin::Unchanged;
        }
        let loss = match now {
            None => Loss::Deleted,
            Some(_) => Loss::Replaced,
        };
        if is_made_and_deleted || !journaled.is_empty() {
            let mover = Mover::Here;
            return Origin::SavedWorkLost { loss, mover };
        }
        let cannot_expire = now.is_some() || name.starts_with(RESCUED.as_bytes());
        if cannot_expire {
            let mover = Mover::Unknown;
            return Origin::SavedWorkLost { loss, mover };
        }
        Origin::DeletedElsewhere
    }

    /// One that names the same ref as at `add` is unchanged: that ref is judged by itself.
    fn origin_of_symbolic(&self, name: &BStr, before: &BString) -> Origin {
        let is_remote = name.starts_with(b"refs/remotes/");
        let is_moved_here = !is_remote && !self.journal.moves(name).is_empty();
        let before = before.clone();
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
        let is_by_us = is_moved_here
            || self.is_made_here(&now.id)
            || !is_target_remote && self.is_own(target.as_bstr())
            || self.was_pushed_to(target.as_bstr());
        Origin::SymbolicRetargeted {
            before,
            now: target.clone(),
            mover: if is_by_us {
                Mover::Here
            } else {
                Mover::Unknown
            },
        }
    }

    fn origin_of_journaled(&self, name: &BStr) -> Origin {
        if !name.starts_with(b"refs/") {
            return Origin::OfOtherWorktreeMovedHere;
        }
        let before = self.before.get(name);
        let now = self.now.get(name);
        let current = now.map(|now| &now.id);
        let last = self.journal.moves(name).last().map(|last| &last.new);
        let is_ref = matches!(last, Some(Target::Ref(_)));
        let was_linked = is_ref && now.is_some_and(Ref::is_symbolic);
        if before == current && !was_linked {
            let is_lost = before.is_none() && self.belonged_to_others(name);
            return if is_lost {
                Origin::OfOthersDeletedHere
            } else {
                Origin::Unchanged
            };
        }
        let is_where_we_left_it = match current {
            Some(current) => self.has_place(name, current),
            None => last == Some(&Target::Nothing),
        };
        if self.is_moved_by_others_alone(name, now) {
            return self.origin_of_unjournaled(name);
        }
        if !was_linked && !is_where_we_left_it {
            return match self.origin_of_unjournaled(name) {
                Origin::MovedHerePastHooks => Origin::MovedHerePastHooks,
                _by_others => Origin::MovedHereThenElsewhere,
            };
        }
        if name.starts_with(b"refs/remotes/") {
            return match (before, current) {
                (_, Some(current)) => self.origin_of_journaled_remote(name, current),
                // a push can delete the branch there, and `fetch --prune` only removes the ref
                (Some(_), None) => Origin::RemoteRemovedHere,
                (None, None) => Origin::Unchanged,
            };
        }
        match (before, current) {
            (None, _) if self.is_own(name) => Origin::MadeHere,
            (None, _) => Origin::OfOthersMovedHere,
            (Some(_), None) => Origin::DeletedHere,
            (Some(_), Some(_)) => Origin::MovedHere,
        }
    }

    /// True if the journal only has moves that were none, as the ref was there already, or fetches,
    /// and others moved the ref.
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
            let is_none = self.is_fetched_place(text, place)
                || self.stayed_at_place_of_add(name, place)
                || *place == now.id && self.is_where_others_left_it(text, place);
            if !is_none {
                return false;
            }
        }
        true
    }

    /// True if a place is the one at `add`, and the log shows no other move to it: a clone logs no
    /// move of the refs that it makes, and a push of what is there moves nothing.
    fn stayed_at_place_of_add(&self, name: &BStr, place: &CommitId) -> bool {
        let log = self.log(name);
        self.before.get(name) == Some(place)
            && !log.is_empty()
            && log
                .iter()
                .filter(|entry| entry.id == *place)
                .all(|entry| self.is_logged_as_foreign(name, entry))
    }

    /// True if others wrote an entry in the log of a ref; of a branch, if the log of another HEAD
    /// has the same entry.
    fn is_logged_as_foreign(&self, name: &BStr, entry: &ReflogEntry) -> bool {
        if name.starts_with(b"refs/heads/") {
            return self.other_heads().any(|other| other.log.contains(entry));
        }
        self.entry_proves_foreign_move(&name.to_str_lossy(), entry)
    }

    /// A fetch brings what is upstream, and a push of the own branch is how work is handed in.
    fn origin_of_journaled_remote(&self, name: &BStr, current: &CommitId) -> Origin {
        let log = self.log(name);
        let is_own_upstream = self.is_own_upstream(name);
        let since = self.since(name, &log);
        if !is_own_upstream && let Some(commit) = self.first_pushed_place(name) {
            let commit = commit.clone();
            return Origin::PushedHere { commit, since };
        }
        let Some(newest) = log.first().filter(|newest| newest.id == *current) else {
            let may_be_fetched = is_own_upstream || !self.was_made_or_moved_here(current);
            // git logs each fetch and each push, so a log that is empty was emptied: it hides a
            // push to the branch of another
            let is_log_emptied = !is_own_upstream && self.source.keeps_logs();
            return if may_be_fetched && log.is_empty() && !is_log_emptied {
                Origin::Everyday
            } else {
                Origin::RemoteMovedPastLog { since }
            };
        };
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

    /// What the worktree pushed first is its own, and came later.
    fn since(&self, name: &BStr, log: &[ReflogEntry]) -> Since {
        if self.before.contains_key(name) {
            return Since::Add;
        }
        match (self.journal.places(name).next(), log.last()) {
            (Some(place), Some(oldest)) if !oldest.is_push_of(place) => Since::Add,
            (_, _) => Since::Later,
        }
    }

    /// Of a ref that was not moved from here, its own log says who moved it, or that of another
    /// worktree.
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
            let may_be_of_others = !is_branch || log.first().is_none_or(is_ordinary_move);
            return if may_be_of_others {
                Origin::MovedElsewhere
            } else {
                Origin::Unexplained
            };
        }
        let is_ordinary = match log.first() {
            Some(newest) if is_branch => {
                let is_whole = log.iter().any(|entry| entry.id == *before);
                is_ordinary_move(newest) && is_whole && newest.id == now.id && !is_linked
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

    /// Says how the stash came to be what it is. Git drops all but the last stash past every hook
    /// (git-stash(1)).
    pub fn stash_origin(&self) -> StashOrigin {
        let name = BStr::new("refs/stash");
        let mut stashes: BTreeSet<&CommitId> = BTreeSet::new();
        let log = self.log(name);
        stashes.extend(log.iter().map(|entry| &entry.id));
        stashes.extend(self.now.get(name).map(|now| &now.id));
        let mut before: BTreeSet<&CommitId> = BTreeSet::new();
        for (name, commit) in &self.before {
            if name.starts_with(b"refs/stash") {
                before.insert(commit);
            }
        }
        let lost = before.difference(&stashes).count();
        if lost > 0 {
            let journaled = self.journal.moves(name);
            let is_dropped_here = journaled.iter().any(|one| one.new == Target::Nothing);
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

/// Says how the stash came to be what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StashOrigin {
    /// No stash of `add` is gone, and none was made here.
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

/// True if git logged a move of a branch that is no push to this repository and no `git branch`.
fn is_ordinary_move(newest: &ReflogEntry) -> bool {
    let reason = newest.reason.as_str();
    !(reason.is_empty() || reason.starts_with("push") || reason.starts_with("Branch: "))
}

/// Lists commits that were made here and that the journal does not have, the newest first: no hook
/// ran for them. Each line of HEAD's log that went to a commit has its line in the journal, also a
/// later `reset`.
pub fn commits_past_hooks(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> Vec<CommitId> {
    let mut unseen: BTreeMap<&CommitId, isize> = BTreeMap::new();
    for entry in reflog {
        if entry.made_a_commit() || entry.is_reset() {
            *unseen.entry(&entry.id).or_default() += 1;
        }
    }
    for place in journal.places(b"HEAD") {
        *unseen.entry(place).or_default() -= 1;
    }
    for place in places_of_branches(reflog, head_ref, branch, journal) {
        *unseen.entry(place).or_default() -= 1;
    }
    let mut silent = Vec::new();
    for entry in reflog {
        let is_unseen = entry.made_a_commit() && unseen.remove(&entry.id).is_some_and(|n| n > 0);
        if is_unseen {
            silent.push(entry.id.clone());
        }
    }
    silent
}

/// Lists where the branches went that HEAD was on, where git does not also report that of HEAD: git
/// 2.55, and any git with reftables, reports only the branch.
fn places_of_branches<'j>(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &'j Journal,
) -> Vec<&'j CommitId> {
    let mut names = BTreeSet::from([branch.to_owned()]);
    names.extend(head_ref.map(ToOwned::to_owned));
    for entry in reflog {
        if let Some(words) = entry.reason.strip_prefix("checkout: moving from ") {
            for name in words.split(" to ") {
                names.insert(format!("refs/heads/{name}"));
            }
        }
    }
    let mut places = Vec::new();
    for name in &names {
        places.extend(journal.places(name.as_bytes()));
    }
    let of_head: BTreeSet<&CommitId> = journal.places(b"HEAD").collect();
    if places.iter().all(|place| of_head.contains(place)) {
        places.clear();
    }
    places
}

#[cfg(test)]
mod tests;
