//! Watches the refs and the worktrees that a worktree shares with others.
//!
//! What the worktree's own journal shows was done from there is told apart from what nothing
//! attributes ([`Cause`]). A ref that is where it was at `add` again is not a finding, and neither is
//! what `git fetch` and a push of the worktree's own branch do to remote-tracking refs. Hooks and
//! settings are in [`sealed`].

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use crate::answer::count;
use crate::change::{Cause, Kind, Place, SharedChange};
use crate::disk::files;
use crate::error::Error;
use crate::git::hooks::journal::{Journal, Target};
use crate::git::{Git, GitMode};
use crate::name::CommitId;
use crate::truth::sealed;
use crate::worktree::repository::Repository;
use crate::worktree::{Shared, Worktree};

/// Finds what is not as it was recorded, and by whom, as far as that can be told; `made_here` are the
/// commits that were created in the worktree.
///
/// # Errors
/// Fails when git or the disk does, or the record is damaged.
pub fn changes(
    repository: &Repository,
    known: &Worktree,
    (recorded, now): &(Shared, Shared),
    journal: &Journal,
    made_here: &[CommitId],
) -> Result<Vec<SharedChange>, Error> {
    let mut all = sealed::changes(recorded, now);
    let refs = SharedRefs {
        git: repository.git.with_mode(GitMode::Hardened),
        known,
        journal,
        made_here,
    };
    all.extend(refs.changes()?);
    all.extend(new_worktrees(repository, known, journal)?);
    Ok(all)
}

/// Judges shared refs that were moved or created from a worktree, by its journal.
struct SharedRefs<'a> {
    git: Git,
    known: &'a Worktree,
    journal: &'a Journal,
    made_here: &'a [CommitId],
}

type Judged = Option<(String, Cause)>;

impl SharedRefs<'_> {
    fn changes(&self) -> Result<Vec<SharedChange>, Error> {
        let recorded = self.known.recorded_ref_names()?;
        let own = self.known.record.branch.full_ref();
        let moved = self.journal.shared();
        let moved = moved.filter(|(name, _)| name.as_bytes() != own.as_bytes());
        let moved: Vec<(&BString, &Target)> = moved.collect();
        let mut wanted: Vec<&str> = vec!["refs/replace/"];
        wanted.extend(moved.iter().filter_map(|(name, _)| name.to_str().ok()));
        let now = self.git.for_each_ref(&wanted)?.into_iter();
        let now: BTreeMap<BString, CommitId> = now.map(|one| (one.name, one.id)).collect();
        let mut all: Vec<SharedChange> = replaced(&recorded, &now).into_iter().collect();
        for (name, left) in moved {
            let (before, current) = (recorded.get(name), now.get(name));
            // saved work of `remove` and `restore`
            let is_saved = name.starts_with(b"refs/agentwt/") && before.is_none();
            let mut everyday = ["refs/replace/", "refs/prefetch/"].iter();
            let is_everyday = is_saved || everyday.any(|start| name.starts_with_str(start));
            if before == current || is_everyday {
                continue;
            }
            let is_as_left = match left {
                Target::Object(id) => current == Some(id),
                Target::Nothing => current.is_none(),
                Target::Ref => false,
            };
            let judged = if is_as_left {
                self.judge(name.as_bstr(), before, current)?
            } else {
                let said = "it was moved from this worktree, and later from elsewhere";
                Some((said.to_owned(), Cause::Unknown))
            };
            all.extend(judged.map(|(said, cause)| {
                SharedChange::new(Place::Git(name.clone()), Kind::Ref, said, cause)
            }));
        }
        Ok(all)
    }

    /// What it means that a ref is where the worktree left it, and not where it was at `add`; none
    /// for everyday work.
    fn judge(
        &self,
        name: &BStr,
        before: Option<&CommitId>,
        current: Option<&CommitId>,
    ) -> Result<Judged, Error> {
        let made_here = |at: &CommitId| self.made_here.contains(at);
        let (said, cause) = match (before, current) {
            (_, current) if name.starts_with(b"refs/remotes/") => {
                // `fetch --prune` removes one; the next fetch brings back what is there
                let current = current.map(|at| self.judge_remote(name, at));
                return current.unwrap_or(Ok(None));
            }
            (before, current) if name == "refs/stash" => {
                // a stash on top of those of others takes nothing away
                let log = self.git.reflog("refs/stash")?;
                let is_kept = |before: &CommitId| log.iter().any(|entry| entry.id == *before);
                if before.is_none_or(|before| current.is_some() && is_kept(before)) {
                    ("something is stashed from this worktree", Cause::Unknown)
                } else {
                    let said = "a stash of others was dropped from this worktree";
                    (said, Cause::MadeHere)
                }
            }
            (None, Some(at)) if name.starts_with(b"refs/tags/") && !made_here(at) => {
                let said = "it was made, or fetched, from this worktree";
                (said, Cause::Unknown)
            }
            (None, _) => ("it was made from this worktree", Cause::MadeHere),
            (Some(_), None) => ("it was deleted from this worktree", Cause::MadeHere),
            (Some(_), Some(_)) => ("it was moved from this worktree", Cause::MadeHere),
        };
        Ok(Some((said.to_owned(), cause)))
    }

    /// A fetch brings what is upstream, and a push of the own branch is how work is handed in.
    fn judge_remote(&self, name: &BStr, current: &CommitId) -> Result<Judged, Error> {
        let name = name.to_str_lossy();
        let own = name.ends_with(&format!("/{}", self.known.record.branch));
        let log = self.git.reflog(&name)?;
        let made_here = |at: &CommitId| self.made_here.contains(at);
        let mut places = self.journal.places(name.as_bytes());
        let pushed = places.find(|place| !own && log.iter().any(|entry| entry.is_push_of(place)));
        let (said, is_everyday) = if let Some(place) = pushed {
            let place = place.short();
            let said = format!("commit {place} was pushed there from this worktree");
            (said, false)
        } else if let Some(newest) = log.first().filter(|newest| newest.id == *current) {
            let reason = newest.reason.as_str();
            let is_everyday = if reason.starts_with("update by push") {
                own
            } else {
                newest.came_from_elsewhere(&name, &made_here)
            };
            let said = format!("it was moved from this worktree ({reason})");
            (said, is_everyday)
        } else {
            let said = "it was moved from this worktree, past its log";
            let is_silent = (own || !made_here(current)) && log.is_empty();
            (said.to_owned(), is_silent)
        };
        Ok((!is_everyday).then_some((said, Cause::MadeHere)))
    }
}

/// Replace refs make git show one object for another (git-replace(1)), whichever process made them.
fn replaced(
    recorded: &BTreeMap<BString, CommitId>,
    now: &BTreeMap<BString, CommitId>,
) -> Option<SharedChange> {
    let is_replacing = |one: &(&BString, &CommitId)| one.0.starts_with(b"refs/replace/");
    let after = now.iter().filter(is_replacing);
    if recorded.iter().filter(is_replacing).eq(after.clone()) {
        return None;
    }
    let number = count(after.count(), "object is", "objects are");
    let said = format!("{number} replaced: git shows others in their place");
    let place = Place::Git("refs/replace".into());
    Some(SharedChange::new(place, Kind::Ref, said, Cause::Hides))
}

/// Finds worktrees that were created from this one (gitrepository-layout(5), `worktrees/<id>`).
fn new_worktrees(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
) -> Result<Vec<SharedChange>, Error> {
    let directory = repository.common_dir.join("worktrees");
    let mut all = Vec::new();
    if journal.worktrees.is_empty() {
        return Ok(all);
    }
    let own = known.record.admin_dir.file_name();
    for id in files::names(&directory)? {
        let dot_git = files::read(&directory.join(&id).join("gitdir"))?.unwrap_or_default();
        let path = dot_git.trim().strip_suffix(b"/.git").unwrap_or_default();
        if own != Some(&id) && journal.worktrees.iter().any(|made| made == path) {
            let place = Place::Git(format!("worktrees/{id}").into());
            let (kind, said) = (Kind::Worktree, "it was made from this worktree");
            all.push(SharedChange::new(place, kind, said, Cause::MadeHere));
        }
    }
    Ok(all)
}
