//! Says which refs are the worktree's own: its branch, what was made or renamed from there, and
//! what it pushed.

use bstr::{BStr, BString, ByteSlice};

use crate::git::hooks::journal::{RefMove, Target};
use crate::git::reflog::ReflogEntry;
use crate::truth::attribution::records::{OtherHead, RefRecords};
use crate::words::name::CommitId;

impl RefRecords<'_> {
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
            || self.is_renamed_unreported(name)
            || self.is_made_unreported(name, &log)
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

    /// True if a branch is what the worktree's own became by a rename of which git reported only that
    /// HEAD was set to the new name, as it does with reftables: the own branch is gone without a
    /// deletion, and the branch begins where that was.
    fn is_renamed_unreported(&self, name: &BStr) -> bool {
        let own = BStr::new(&self.branch);
        let own_moves = self.journal.moves(own);
        let is_deleted = own_moves.iter().any(|one| one.new == Target::Nothing);
        if is_deleted || self.now.contains_key(own) {
            return false;
        }
        let renamed = Target::Ref(name.to_owned());
        let head_moves = self.journal.moves(b"HEAD");
        if !head_moves.iter().any(|one| one.new == renamed) {
            return false;
        }
        let last_place = self.journal.places(own).last().unwrap_or(&self.base);
        match self.journal.moves(name).first() {
            Some(first) => first.old == Target::Object(last_place.clone()),
            None => self.now.get(name).is_some_and(|now| now.id == *last_place),
        }
    }

    /// True if neither the journal nor a log tells how a branch came to a commit of here:
    /// `git branch -C` runs no hook where refs are tables, and its log can be expired.
    fn is_made_unreported(&self, name: &BStr, log: &[ReflogEntry]) -> bool {
        let is_told = !log.is_empty() || !self.journal.moves(name).is_empty();
        if is_told || !name.starts_with(b"refs/heads/") || !self.source.keeps_logs() {
            return false;
        }
        let now = self.now.get(name);
        now.is_some_and(|now| self.was_made_or_moved_here(&now.id))
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
        own == *name
    }

    /// True if a ref's log begins where the journal has the ref created, at first or again after it
    /// was deleted; a log whose beginning was expired, at a place of here. What was deleted or moved
    /// from here before it was created was of others.
    fn is_created_here(&self, name: &BStr, log: &[ReflogEntry]) -> bool {
        let moves = self.journal.moves(name);
        let Some(RefMove {
            old: Target::Nothing,
            new: Target::Object(_),
        }) = moves.first()
        else {
            return false;
        };
        let Some(oldest) = log.last() else {
            return true;
        };
        let is_place_of_here = self.has_place(name, &oldest.id) || self.is_made_here(&oldest.id);
        if oldest.goes_on() && is_place_of_here {
            return true;
        }
        let created = RefMove {
            old: Target::Nothing,
            new: Target::Object(oldest.id.clone()),
        };
        moves.contains(&created)
    }

    /// True if a ref began with a push of a commit of the worktree. A push to the path of this
    /// repository runs none of the worktree's hooks.
    fn was_pushed_here(&self, log: &[ReflogEntry]) -> bool {
        log.last()
            .is_some_and(|oldest| oldest.reason == "push" && self.is_made_here(&oldest.id))
    }

    /// True if a ref that is gone, and came after `add`, was made in the worktree, as far as the
    /// journal tells.
    fn is_forgotten(&self, name: &BStr) -> bool {
        if self.now.contains_key(name) || self.before.contains_key(name) {
            return false;
        }
        let first = self.journal.moves(name).first();
        let is_created =
            first.is_some_and(|first| first.old == Target::Nothing && first.new != Target::Nothing);
        is_created || self.is_packed(name)
    }

    /// True if a branch that was there at `add` became another one by a rename from here: the
    /// journal has that it was deleted. No hook tells of that where refs are tables; then the
    /// commit counts. Others may have made a branch of the old name since.
    fn was_renamed_here(&self, from: &BStr, name: &BStr) -> bool {
        if !self.before.contains_key(from) {
            return false;
        }
        let last = self.journal.moves(from).last();
        if last.is_some_and(|last| last.new == Target::Nothing) {
            return true;
        }
        self.now
            .get(name)
            .is_some_and(|now| self.is_made_here(&now.id) && !self.is_logged_elsewhere(&now.id))
    }

    /// True if the worktree deleted a ref that it had not made, and that came after `add`.
    pub(super) fn belonged_to_others(&self, name: &BStr) -> bool {
        let first = self.journal.moves(name).first();
        match first.map(|first| (&first.old, &first.new)) {
            // a rename past the hooks left nothing but the base
            Some((Target::Object(old), Target::Nothing)) => {
                !self.was_made_or_moved_here(old) && *old != self.base
            }
            Some((Target::Nothing, Target::Nothing)) => true,
            Some((_, _)) | None => false,
        }
    }

    /// True if a ref is the remote-tracking branch of the worktree's own branch: of the same name,
    /// on any remote. The name of a remote can have slashes.
    pub fn is_own_upstream(&self, name: &BStr) -> bool {
        let text = name.to_str_lossy();
        let branch = self
            .branch
            .strip_prefix("refs/heads/")
            .unwrap_or(&self.branch);
        let own = format!("/{branch}");
        let below_remotes = text.strip_prefix("refs/remotes/");
        let Some(remote) = below_remotes.and_then(|below| below.strip_suffix(&own)) else {
            return false;
        };
        !remote.contains('/') || self.source.is_remote(remote)
    }

    /// True if a push from this worktree moved a remote-tracking ref.
    pub fn was_pushed_to(&self, name: &BStr) -> bool {
        self.first_pushed_place(name).is_some()
    }

    /// Returns the first place to which a push from this worktree moved a remote-tracking ref.
    pub(super) fn first_pushed_place(&self, name: &BStr) -> Option<&CommitId> {
        let log = self.log(name);
        let mut places = self.journal.places(name);
        places.find(|place| log.iter().any(|entry| entry.is_push_of(place)))
    }

    /// Returns the last place to which a push from this worktree moved a remote-tracking ref; where
    /// the log of the ref lost that, the last place that is a commit of here.
    pub fn last_pushed_place(&self, name: &BStr) -> Option<&CommitId> {
        let log = self.log(name);
        let mut last = None;
        for place in self.journal.places(name) {
            let is_logged = log.iter().any(|entry| entry.id == *place);
            let is_pushed = log.iter().any(|entry| entry.is_push_of(place));
            if is_pushed || !is_logged && self.was_made_or_moved_here(place) {
                last = Some(place);
            }
        }
        last
    }

    /// True if the oldest entry of a ref's log is a push; of a log that is empty, if a push from here
    /// was lost.
    pub fn began_with_push(&self, name: &BStr) -> bool {
        match self.log(name).last() {
            Some(oldest) => oldest.is_push_of(&oldest.id),
            None => self.last_pushed_place(name).is_some(),
        }
    }
}
