//! Watches the refs and the worktrees that a worktree shares with others.
//!
//! What the worktree's own journal shows was done from there is told apart from what nothing
//! attributes ([`Cause`]). A ref that is where it was at `add` again is not a finding, and neither is
//! what `git fetch` and a push of the worktree's own branch do to remote-tracking refs. Hooks and
//! settings are in [`sealed`].

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use crate::git::hooks::journal::{RefMove, Target};
use crate::git::objects::Objects;
use crate::git::refs::Ref;
use crate::judge::change::{Cause, Kind, Place, SharedChange};
use crate::record::worktree::Shared;
use crate::truth::moves::{OwnRef, RefMoves};
use crate::truth::seal::SHALLOW;
use crate::truth::{sealed, shadows};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::text::count;

/// Finds what is not as it was recorded, and by whom, as far as that can be told.
///
/// # Errors
/// Fails when git or the disk does, or the record is damaged.
pub fn changes(
    moves: &RefMoves<'_>,
    objects: &Objects,
    (recorded, now): &(Shared, Shared),
    own: &[OwnRef],
) -> Result<Vec<SharedChange>, Error> {
    let mut all = sealed::changes(moves.repository, (recorded, now))?;
    let shallow = format!("@git/{SHALLOW}");
    // in a shallow clone each fetch may move the ends of history
    if recorded.sealed.files.contains_key(&shallow)
        && let Some(moved) = all
            .iter_mut()
            .find(|one| one.change.place == Place::Git(SHALLOW.into()) && one.cause == Cause::Hides)
        && moves.ends_where_others_fetched()?
    {
        moved.cause = Cause::Unknown;
    }
    let refs = SharedRefs { moves, objects };
    all.extend(refs.changes()?);
    // `git branch -m` and `-c` make a branch past every hook
    let is_journaled = |one: &&OwnRef| !moves.journal.moves(&one.name).is_empty();
    all.extend(own.iter().filter(|one| !is_journaled(one)).map(|one| {
        let (place, said) = (
            Place::Git(one.name.clone()),
            "it was made from this worktree",
        );
        SharedChange::new(place, Kind::Ref, said, Cause::Unknown)
    }));
    all.extend(refs.stashes());
    all.extend(moves.made_worktrees.iter().map(|(id, path)| {
        let place = Place::Git(format!("worktrees/{id}").into());
        let said = format!("the worktree {path} was made from this worktree");
        SharedChange::new(place, Kind::Worktree, said, Cause::Unknown)
    }));
    let shadows = shadows::find(moves, &recorded.sealed, &now.sealed)?;
    // that git takes it for something else says more than that it came
    all.retain(|one| {
        let mut graver = shadows.iter().filter(|shadow| shadow.cause <= one.cause);
        !graver.any(|shadow| shadow.change.place == one.change.place)
    });
    all.extend(shadows);
    Ok(all)
}

/// Judges refs that were moved or created from a worktree, and those of others that moved.
struct SharedRefs<'a> {
    moves: &'a RefMoves<'a>,
    objects: &'a Objects,
}

/// Where work is kept that a command of ours took away; nothing of ours deletes what is rescued.
const SAVED: [&str; 3] = [RESCUED, "refs/agentwt/kept/", "refs/agentwt/trash/"];
const RESCUED: &str = "refs/agentwt/rescue/";

type Judged = Option<(String, Cause)>;

/// What is said of a ref that moved without a trace.
pub const UNEXPLAINED: &str = "it moved, and git's logs do not show by whom";

impl SharedRefs<'_> {
    fn changes(&self) -> Result<Vec<SharedChange>, Error> {
        let moves = self.moves;
        let own = moves.known.record.branch.full_ref();
        let is_moved = |(name, id): &(&BString, &CommitId)| {
            let now = moves.now.get(*name);
            let is_other = now.is_none_or(|now| now.id != **id || now.is_symbolic());
            is_other || moves.symbolic_before.contains_key(*name)
        };
        let differing = moves.before.iter().filter(is_moved).map(|(name, _)| name);
        let names: BTreeSet<&BString> = differing.chain(moves.journal.shared()).collect();
        let replaced = replaced(&moves.before, &moves.now);
        let mut all: Vec<SharedChange> = replaced.into_iter().collect();
        for name in names.into_iter().filter(|name| **name != own) {
            // what our own commands write, and take away again
            let is_ours = name.starts_with(b"refs/agentwt/") && !moves.before.contains_key(name);
            let is_saved = SAVED.iter().any(|start| name.starts_with_str(start));
            let mut others = ["refs/replace/", "refs/prefetch/", "refs/stash"].iter();
            if is_ours && !is_saved || others.any(|start| name.starts_with_str(start)) {
                continue;
            }
            let judged = if is_saved {
                self.judge_saved(name.as_bstr())
            } else if let Some(target) = moves.symbolic_before.get(name) {
                self.judge_symbolic(name.as_bstr(), target.as_bstr())
            } else if moves.journal.moves(name).is_empty() {
                self.judge_unjournaled(name.as_bstr())
            } else {
                self.judge_journaled(name.as_bstr())?
            };
            all.extend(judged.map(|(said, cause)| {
                SharedChange::new(Place::Git(name.clone()), Kind::Ref, said, cause)
            }));
        }
        Ok(all)
    }

    /// What it means that saved work is elsewhere. Our commands only make such refs, and delete those
    /// that expired or came back; they leave no line in a journal then.
    fn judge_saved(&self, name: &BStr) -> Judged {
        let moves = self.moves;
        let before = moves.before.get(name);
        let now = moves.now.get(name).map(|now| &now.id);
        let journaled = moves.journal.moves(name);
        let is_end = |one: &RefMove| one.new == Target::Nothing || one.old != Target::Nothing;
        // what was made and deleted from here looks in the journal as if it had been packed
        let is_gone = now.is_none() && moves.journal.packed.iter().any(|(one, _)| one == name);
        let was_there = before.is_some() || is_gone || journaled.iter().any(is_end);
        let is_as_before = before.is_some() && before == now;
        if is_as_before || !was_there {
            return None;
        }
        let said = match now {
            None => "saved work was deleted",
            Some(_) => "saved work was replaced",
        };
        if is_gone || !journaled.is_empty() {
            return Some((format!("{said} from this worktree"), Cause::MadeHere));
        }
        let is_told = now.is_some() || name.starts_with(RESCUED.as_bytes());
        let said = format!("{said}, and no log shows by whom");
        is_told.then_some((said, Cause::Unknown))
    }

    /// What it means that a ref names another ref than the one that it named at `add`; none where it
    /// names the same one, which is judged by itself.
    fn judge_symbolic(&self, name: &BStr, before: &BStr) -> Judged {
        let moves = self.moves;
        let Some(now) = moves.now.get(name) else {
            let said = format!("it named {before}, and was removed");
            let is_remote = name.starts_with(b"refs/remotes/");
            let is_by_us = !is_remote && !moves.journal.moves(name).is_empty();
            return Some((said, made_if(is_by_us)));
        };
        let Some(target) = &now.target else {
            let said = format!("it named {before}, and names a commit by itself");
            return Some((said, Cause::MadeHere));
        };
        if target == before {
            return None;
        }
        let said = format!("it named {before}, and names {target}");
        let is_branch = !name.starts_with(b"refs/remotes/");
        let is_by_us = is_branch && !moves.journal.moves(name).is_empty()
            || moves.is_made_here(&now.id)
            || !target.starts_with(b"refs/remotes/") && moves.is_own(target.as_bstr())
            || moves.was_pushed_to(target.as_bstr());
        Some((said, made_if(is_by_us)))
    }

    /// What it means that a ref was moved from the worktree; none where it is as it was at `add`, and
    /// for everyday work.
    fn judge_journaled(&self, name: &BStr) -> Result<Judged, Error> {
        let moves = self.moves;
        let (before, now) = (moves.before.get(name), moves.now.get(name));
        let current = now.map(|now| &now.id);
        let is_symbolic = now.is_some_and(Ref::is_symbolic);
        let left = moves.journal.moves(name).last().map(|last| &last.new);
        let made = |said: &str| Ok(Some((said.to_owned(), Cause::MadeHere)));
        if !name.starts_with(b"refs/") {
            return made("the HEAD or a ref of another worktree was moved from this worktree");
        }
        let was_linked = left == Some(&Target::Ref) && is_symbolic;
        if before == current && !was_linked {
            let is_lost = before.is_none() && moves.is_anothers(name);
            return Ok(is_lost.then(|| {
                let said = "it was made elsewhere and deleted from this worktree";
                (said.to_owned(), Cause::MadeHere)
            }));
        }
        let is_place = |id: &CommitId| moves.journal.places(name).any(|place| place == id);
        if !(was_linked || current.map_or(left == Some(&Target::Nothing), is_place)) {
            let unjournaled = self.judge_unjournaled(name);
            let by_others = "it was moved from this worktree, and later from elsewhere";
            let by_others = (by_others.to_owned(), Cause::Unknown);
            return Ok(unjournaled
                .filter(|judged| judged.1 == Cause::MadeHere)
                .or(Some(by_others)));
        }
        match (before, current) {
            (_, current) if name.starts_with(b"refs/remotes/") => {
                // a push can delete the branch there, and `fetch --prune` only removes the ref
                let said = "it was removed from this worktree".to_owned();
                let removed = before.map(|_| (said, Cause::Unknown));
                Ok(current.map_or(removed, |at| self.judge_remote(name, at)))
            }
            (None, _) if moves.is_own(name) => {
                let said = "it was made from this worktree".to_owned();
                Ok(Some((said, Cause::Unknown)))
            }
            (Some(before), Some(now)) if self.adds_own_notes(name, before, now)? => {
                let said = "notes on commits of this worktree were added".to_owned();
                Ok(Some((said, Cause::Unknown)))
            }
            (None, _) => made("it was made elsewhere and moved from this worktree"),
            (Some(_), None) => made("it was deleted from this worktree"),
            (Some(_), Some(_)) => made("it was moved from this worktree"),
        }
    }

    /// Whether all that a move of notes changed is on commits that were made here (git-notes(1): a
    /// path is the id of a commit, with slashes in it).
    fn adds_own_notes(
        &self,
        name: &BStr,
        before: &CommitId,
        now: &CommitId,
    ) -> Result<bool, Error> {
        if !name.starts_with(b"refs/notes/") {
            return Ok(false);
        }
        let tree = |id| Ok::<_, Error>(self.objects.commit(id)?.tree);
        let (before, now) = (tree(before)?, tree(now)?);
        let changed = self.objects.difference(Some(&before), Some(&now))?;
        let is_own = |path: &RepoPath| {
            let id = CommitId::parse(&path.to_string().replace('/', ""));
            id.is_ok_and(|id| self.moves.is_here(&id))
        };
        Ok(changed.keys().all(is_own))
    }

    /// A fetch brings what is upstream, and a push of the own branch is how work is handed in.
    fn judge_remote(&self, name: &BStr, current: &CommitId) -> Judged {
        let moves = self.moves;
        let log = moves.log(name);
        // what the worktree pushed first is its own
        let first = moves.journal.places(name).next().zip(log.last());
        let is_new = !moves.before.contains_key(name)
            && first.is_none_or(|(place, oldest)| oldest.is_push_of(place));
        let mut places = moves.journal.places(name);
        let own = moves.is_own_upstream(name);
        let name = name.to_str_lossy();
        let pushed = places.find(|place| !own && log.iter().any(|entry| entry.is_push_of(place)));
        let (said, is_everyday) = if let Some(place) = pushed {
            let place = place.short();
            let said = format!("commit {place} was pushed there from this worktree");
            (said, false)
        } else if let Some(newest) = log.first().filter(|newest| newest.id == *current) {
            let reason = newest.reason.as_str();
            let is_push = reason.starts_with("update by push");
            let is_everyday = own && is_push || !is_push && newest.came_from_elsewhere(&name);
            let said = format!("it was moved from this worktree ({reason})");
            (said, is_everyday)
        } else {
            let said = "it was moved from this worktree, past its log";
            let is_silent = (own || !moves.is_here(current)) && log.is_empty();
            (said.to_owned(), is_silent)
        };
        let cause = if is_new {
            Cause::Unknown
        } else {
            Cause::MadeHere
        };
        (!is_everyday).then_some((said, cause))
    }

    /// What it means that a ref of `add` is elsewhere, and the journal does not say how it got there;
    /// none where its own log, or that of another worktree, explains it.
    fn judge_unjournaled(&self, name: &BStr) -> Judged {
        let moves = self.moves;
        let log = moves.log(name);
        let text = name.to_str_lossy();
        let unexplained = Some((UNEXPLAINED.to_owned(), Cause::Unknown));
        let (before, now) = (moves.before.get(name)?, moves.now.get(name));
        let Some(now) = now else {
            // git deletes the log with the ref
            return unexplained.filter(|_| !log.is_empty());
        };
        let (is_branch, is_here) = (name.starts_with(b"refs/heads/"), moves.is_here(&now.id));
        let is_linked = now.is_symbolic() && is_branch && !log.is_empty();
        if now.id == *before && !is_linked || is_here && moves.is_logged_elsewhere(&now.id) {
            return None;
        }
        let is_ordinary = match log.first() {
            Some(newest) if is_branch => {
                let odd = ["push", "Branch: "].iter();
                let mut odd = odd.filter(|start| newest.reason.starts_with(**start));
                let is_whole = log.iter().any(|entry| entry.id == *before);
                let is_known = !newest.reason.is_empty() && odd.next().is_none();
                is_known && is_whole && newest.id == now.id && !is_linked
            }
            Some(newest) => newest.id == now.id && newest.came_from_elsewhere(&text),
            // git keeps no log of tags
            None if name.starts_with(b"refs/tags/") => return unexplained,
            None => !is_branch && !is_here || !moves.has_logs(),
        };
        match (is_ordinary, is_here) {
            (true, here) if !here || !is_branch || log.is_empty() => None,
            (false, true) => {
                let said = "it was moved onto a commit of this worktree, past the hooks";
                Some((said.to_owned(), Cause::MadeHere))
            }
            (true | false, _) => unexplained,
        }
    }

    /// What was stashed from the worktree, and the stashes of `add` that are gone.
    fn stashes(&self) -> Vec<SharedChange> {
        let moves = self.moves;
        let log = moves.log("refs/stash".into());
        let now = moves.now.get(BStr::new("refs/stash")).map(|now| &now.id);
        let all: BTreeSet<&CommitId> = log.iter().map(|entry| &entry.id).chain(now).collect();
        let before = moves.before.iter();
        let before = before.filter(|(name, _)| name.starts_with(b"refs/stash"));
        let before: BTreeSet<&CommitId> = before.map(|(_, id)| id).collect();
        let lost = before.difference(&all).count();
        let mut found = Vec::new();
        let mut tell = |said: String, cause| {
            let place = Place::Git("refs/stash".into());
            found.push(SharedChange::new(place, Kind::Ref, said, cause));
        };
        let journaled = moves.journal.moves(b"refs/stash");
        if lost > 0 {
            let number = count(
                lost,
                "stash of others is gone",
                "stashes of others are gone",
            );
            // git drops all but the last stash past every hook (git-stash(1))
            if journaled.iter().any(|one| one.new == Target::Nothing) {
                let said = format!("{number}: dropped from this worktree");
                tell(said, Cause::MadeHere);
            } else {
                let said = format!("{number}, and no log shows by whom");
                tell(said, Cause::Unknown);
            }
        } else if moves
            .journal
            .places(b"refs/stash")
            .any(|id| all.contains(id) && !before.contains(id))
        {
            tell(
                "something is stashed from this worktree".to_owned(),
                Cause::Unknown,
            );
        }
        found
    }
}

const fn made_if(is_by_us: bool) -> Cause {
    if is_by_us {
        Cause::MadeHere
    } else {
        Cause::Unknown
    }
}

/// Replace refs make git show one object for another (git-replace(1)), whichever process made them.
fn replaced(
    recorded: &BTreeMap<BString, CommitId>,
    now: &BTreeMap<BString, Ref>,
) -> Option<SharedChange> {
    let is_replacing = |one: &(&BString, &CommitId)| one.0.starts_with(b"refs/replace/");
    let after = now.iter().map(|(name, now)| (name, &now.id));
    let after = after.filter(is_replacing);
    if recorded.iter().filter(is_replacing).eq(after.clone()) {
        return None;
    }
    let number = count(after.count(), "object is", "objects are");
    let said = format!("{number} replaced: git shows others in their place");
    let place = Place::Git("refs/replace".into());
    Some(SharedChange::new(place, Kind::Ref, said, Cause::Hides))
}
