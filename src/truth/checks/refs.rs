//! Says what is wrong with the refs and the worktrees that a worktree shares with others, by who
//! moved them ([`crate::truth::attribution`]).
//!
//! A ref that is where it was at `add` again is not a finding, and neither is what `git fetch` and
//! a push of the worktree's own branch do to remote-tracking refs. Hooks and settings are in
//! [`crate::truth::checks::settings`].

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use crate::git::objects::Objects;
use crate::judge::change::{Cause, Content, Kind, Place, SharedChange};
use crate::truth::attribution::records::RefRecords;
use crate::truth::attribution::{Loss, Mover, Origin, Since, StashOrigin, attribute};
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::ref_history::{OwnRef, RefHistory};
use crate::truth::upstream::Tips;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::text::count;

/// What is said of a ref that moved without a trace.
const UNEXPLAINED: &str = "it moved, and git's logs do not show by whom";

/// Finds the refs and worktrees that are not as they were recorded, and says who moved them.
///
/// # Errors
/// Fails when a note cannot be read.
pub fn find_refs(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
) -> Result<Vec<SharedChange>, Error> {
    let mut changes = Vec::new();
    let Some(refs) = &inputs.refs else {
        return Ok(changes);
    };
    let records = &refs.records;
    changes.extend(replaced_objects(records));
    changes.extend(attributed_refs(records, &inputs.objects)?);
    changes.extend(unjournaled_own_refs(records, &facts.ref_facts.own_refs));
    if let Some(description) = describe_stash(records.stash_origin()) {
        changes.push(description.of_ref("refs/stash".into()));
    }
    for made in &refs.made_worktrees {
        let place = Place::Git(format!("worktrees/{}", made.id).into());
        let detail = format!("the worktree {} was made from this worktree", made.path);
        changes.push(SharedChange::new(
            place,
            Kind::Worktree,
            detail,
            Cause::Unknown,
        ));
    }
    // last: only of a tip of which nothing else is reported
    let unexplained = unexplained_tips(&facts.ref_facts.tips, &changes);
    changes.extend(unexplained);
    Ok(changes)
}

/// Describes the refs that moved, by who moved them.
fn attributed_refs(
    records: &RefRecords<'_>,
    objects: &Objects,
) -> Result<Vec<SharedChange>, Error> {
    let mut changes = Vec::new();
    for (name, origin) in attribute(records) {
        if origin == Origin::MovedHere && adds_own_notes(records, objects, name.as_ref())? {
            let description = unknown("notes on commits of this worktree were added");
            changes.push(description.of_ref(name));
        } else if let Some(description) = describe(&origin) {
            changes.push(description.of_ref(name));
        }
    }
    Ok(changes)
}

/// Finds the refs of this worktree that the journal does not have: `git branch -m` and `-c` make a
/// branch past every hook.
fn unjournaled_own_refs(records: &RefRecords<'_>, own_refs: &[OwnRef]) -> Vec<SharedChange> {
    let mut changes = Vec::new();
    for own in own_refs {
        // an own ref can also be what an operation of another worktree takes up
        let is_ref = own.name.starts_with(b"refs/");
        if is_ref && records.journal.moves(&own.name).is_empty() {
            let description = unknown("it was made from this worktree");
            changes.push(description.of_ref(own.name.clone()));
        }
    }
    changes
}

/// Lists the tips that moved without a trace, and of which nothing else is said.
fn unexplained_tips(tips: &Tips, changes: &[SharedChange]) -> Vec<SharedChange> {
    let mut unexplained = Vec::new();
    for name in &tips.untrusted {
        let place = Place::Git(name.as_str().into());
        if !changes.iter().any(|change| change.change.place == place) {
            let cause = Cause::Unknown;
            unexplained.push(SharedChange::new(place, Kind::Ref, UNEXPLAINED, cause));
        }
    }
    unexplained
}

/// Names the commits at which the refs among these changes are; of the stash, every entry.
pub fn name_commits(refs: &RefHistory<'_>, changes: &mut [SharedChange]) {
    for shared in changes {
        let change = &mut shared.change;
        if let Place::Git(name) = &change.place
            && change.kind == Kind::Ref
        {
            let contents = commits_of_ref(refs, name);
            if *name == "refs/stash" {
                change.now = stashes(refs);
            } else if !contents.is_empty() {
                change.now.extend(contents);
            } else if change.now.is_empty() {
                change.now.push(Content::value("", None));
            }
        }
    }
}

/// Returns the commit of a ref, and those of the refs below it.
fn commits_of_ref(refs: &RefHistory<'_>, name: &BString) -> Vec<Content> {
    let below = [name.as_slice(), b"/"].concat();
    let mut contents = Vec::new();
    for (full_name, found) in refs.records.now.range(name.clone()..) {
        if !full_name.starts_with(name) {
            break;
        }
        let commit = Some(found.id.to_string());
        if full_name == name {
            contents.push(Content::value("", commit));
        } else if full_name.starts_with(&below) {
            contents.push(Content::value(&full_name.to_str_lossy(), commit));
        }
    }
    contents
}

fn stashes(refs: &RefHistory<'_>) -> Vec<Content> {
    let log = refs.records.log("refs/stash".into());
    let entries: Vec<&str> = log.iter().map(|entry| entry.id.as_str()).collect();
    vec![Content::value("", Some(entries.join(" ")))]
}

/// Says what happened to a ref.
struct RefDescription {
    detail: String,
    cause: Cause,
}

impl RefDescription {
    /// The change of the ref with this name.
    fn of_ref(self, name: BString) -> SharedChange {
        SharedChange::new(Place::Git(name), Kind::Ref, self.detail, self.cause)
    }
}

/// Describes what was done from here, and harms others.
fn made_here(detail: impl Into<String>) -> RefDescription {
    let detail = detail.into();
    let cause = Cause::MadeHere;
    RefDescription { detail, cause }
}

/// Describes what harms nobody, or what nothing attributes.
fn unknown(detail: impl Into<String>) -> RefDescription {
    let detail = detail.into();
    let cause = Cause::Unknown;
    RefDescription { detail, cause }
}

fn by(mover: Mover, detail: String) -> RefDescription {
    match mover {
        Mover::Here => made_here(detail),
        Mover::Unknown => unknown(detail),
    }
}

/// A branch on a remote that was not there at `add` is nobody else's.
fn on_remote(since: Since, detail: String) -> RefDescription {
    match since {
        Since::Add => made_here(detail),
        Since::Later => unknown(detail),
    }
}

/// Describes a move that git logged with this reason, which `git update-ref` leaves empty.
fn describe_move(reason: &str) -> String {
    if reason.is_empty() {
        return "it was moved from this worktree".to_owned();
    }
    format!("it was moved from this worktree ({reason})")
}

/// Describes what happened to a ref; none for everyday work, and for what others did.
fn describe(origin: &Origin) -> Option<RefDescription> {
    let description = match origin {
        Origin::Unchanged
        | Origin::Everyday
        | Origin::MovedElsewhere
        | Origin::DeletedElsewhere => return None,
        Origin::MadeHere => unknown("it was made from this worktree"),
        Origin::MovedHere => made_here("it was moved from this worktree"),
        Origin::OfOthersMovedHere => {
            made_here("it was made elsewhere and moved from this worktree")
        }
        Origin::MovedHerePastHooks => {
            made_here("it was moved onto a commit of this worktree, past the hooks")
        }
        Origin::MovedHereThenElsewhere => {
            unknown("it was moved from this worktree, and later from elsewhere")
        }
        Origin::DeletedHere => made_here("it was deleted from this worktree"),
        Origin::OfOthersDeletedHere => {
            made_here("it was made elsewhere and deleted from this worktree")
        }
        Origin::OfOtherWorktreeMovedHere => {
            made_here("the HEAD or a ref of another worktree was moved from this worktree")
        }
        Origin::RemoteRemovedHere => unknown("it was removed from this worktree"),
        Origin::PushedHere { commit, since } => {
            let commit = commit.short();
            let detail = format!("commit {commit} was pushed there from this worktree");
            on_remote(*since, detail)
        }
        Origin::RemoteMovedHere { reason, since } => on_remote(*since, describe_move(reason)),
        Origin::RemoteMovedPastLog { since } => on_remote(
            *since,
            "it was moved from this worktree, past its log".to_owned(),
        ),
        Origin::SavedWorkLost { loss, mover } => by(*mover, describe_loss(*loss, *mover)),
        Origin::SymbolicRemoved { before, mover } => {
            by(*mover, format!("it named {before}, and was removed"))
        }
        Origin::SymbolicDetached { before } => {
            made_here(format!("it named {before}, and names a commit by itself"))
        }
        Origin::SymbolicRetargeted { before, now, mover } => {
            by(*mover, format!("it named {before}, and names {now}"))
        }
        Origin::Unexplained => unknown(UNEXPLAINED),
    };
    Some(description)
}

fn describe_loss(loss: Loss, mover: Mover) -> String {
    let what = match loss {
        Loss::Deleted => "saved work was deleted",
        Loss::Replaced => "saved work was replaced",
    };
    match mover {
        Mover::Here => format!("{what} from this worktree"),
        Mover::Unknown => format!("{what}, and no log shows by whom"),
    }
}

fn describe_stash(origin: StashOrigin) -> Option<RefDescription> {
    let (number, mover) = match origin {
        StashOrigin::Unchanged => return None,
        StashOrigin::MadeHere => return Some(unknown("something is stashed from this worktree")),
        StashOrigin::Lost { number, mover } => (number, mover),
    };
    let one = "stash of others is gone";
    let many = "stashes of others are gone";
    let lost = count(number, one, many);
    let detail = match mover {
        Mover::Here => format!("{lost}: dropped from this worktree"),
        Mover::Unknown => format!("{lost}, and no log shows by whom"),
    };
    Some(by(mover, detail))
}

/// True if all that a move of notes changed is on commits that were made here (git-notes(1): a
/// path is the id of a commit, with slashes in it).
fn adds_own_notes(records: &RefRecords<'_>, objects: &Objects, name: &BStr) -> Result<bool, Error> {
    let before = records.before.get(name);
    let now = records.now.get(name);
    let (Some(before), Some(now)) = (before, now) else {
        return Ok(false);
    };
    if !name.starts_with(b"refs/notes/") {
        return Ok(false);
    }
    let tree_before = objects.commit(before)?.tree;
    let tree_now = objects.commit(&now.id)?.tree;
    for path in objects
        .difference(Some(&tree_before), Some(&tree_now))?
        .keys()
    {
        let commit = CommitId::parse(&path.to_string().replace('/', ""));
        if !commit.is_ok_and(|commit| records.was_made_or_moved_here(&commit)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Replace refs make git show one object for another (git-replace(1)), whichever process made them.
fn replaced_objects(records: &RefRecords<'_>) -> Option<SharedChange> {
    let mut before: BTreeMap<&BString, &CommitId> = BTreeMap::new();
    for (name, commit) in &records.before {
        if name.starts_with(b"refs/replace/") {
            before.insert(name, commit);
        }
    }
    let mut now: BTreeMap<&BString, &CommitId> = BTreeMap::new();
    for (name, found) in &records.now {
        if name.starts_with(b"refs/replace/") {
            now.insert(name, &found.id);
        }
    }
    if before == now {
        return None;
    }
    let number = count(now.len(), "object is", "objects are");
    let detail = format!("{number} replaced: git shows others in their place");
    let place = Place::Git("refs/replace".into());
    Some(SharedChange::new(place, Kind::Ref, detail, Cause::Hides))
}
