//! Finds which shared refs and worktrees were moved or made from a worktree, by its journal.
//!
//! A ref that is where it was at `add` again is nobody's. What `git fetch` and a push of the
//! worktree's own branch do to remote-tracking refs is everyday work, and no finding.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use crate::change::{Cause, Change, Kind, Place, SharedChange};
use crate::disk::files;
use crate::git::Git;
use crate::git::hooks::journal::{Journal, Target};
use crate::name::CommitId;
use crate::truth::integrity::plain;
use crate::truth::shared::shared;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

/// Tells the commits that were made in the worktree.
pub type MadeHere<'a> = dyn Fn(&CommitId) -> bool + 'a;

/// Finds the refs.
pub fn changes(
    git: &Git,
    known: &Worktree,
    journal: &Journal,
    made_here: &MadeHere<'_>,
) -> Result<Vec<SharedChange>, WorktreeError> {
    let recorded = known.recorded_ref_names()?;
    let own = known.record.branch.full_ref();
    let moved: Vec<(&BString, &Target)> = journal
        .shared()
        .filter(|(name, _)| name.as_bytes() != own.as_bytes())
        .collect();
    let mut wanted: Vec<&str> = vec!["refs/replace/"];
    wanted.extend(moved.iter().filter_map(|(name, _)| name.to_str().ok()));
    let now: BTreeMap<BString, CommitId> = git
        .for_each_ref(&wanted)?
        .into_iter()
        .map(|one| (one.name, one.id))
        .collect();
    let mut all = replaced(&recorded, &now);
    for (name, left) in moved {
        if name.starts_with(b"refs/replace/") {
            continue;
        }
        let (before, current) = (recorded.get(name), now.get(name));
        if before == current {
            continue;
        }
        let here = match left {
            Target::Object(id) => current == Some(id),
            Target::Nothing => current.is_none(),
            Target::Ref => false,
        };
        let one = MovedRef {
            name,
            before,
            current,
            places: journal.places(name).collect(),
        };
        all.extend(one.judge(git, known, made_here, here)?);
    }
    Ok(all)
}

/// A ref that is not where it was, and that was moved from here at some time.
struct MovedRef<'a> {
    name: &'a BString,
    before: Option<&'a CommitId>,
    current: Option<&'a CommitId>,
    /// Where it was moved from here.
    places: Vec<&'a CommitId>,
}

impl MovedRef<'_> {
    /// `here` says whether it is where this worktree left it.
    fn judge(
        &self,
        git: &Git,
        known: &Worktree,
        made_here: &MadeHere<'_>,
        here: bool,
    ) -> Result<Option<SharedChange>, WorktreeError> {
        let text = self.name.to_str_lossy();
        if text.starts_with("refs/prefetch/") {
            return Ok(None);
        }
        if text.starts_with("refs/agentwt/") && self.before.is_none() {
            // saved work of `remove` and `restore`
            return Ok(None);
        }
        if !here {
            let said = "it was moved from this worktree, and later from elsewhere";
            return Ok(Some(self.shared(said, Cause::Unknown)));
        }
        if text.starts_with("refs/remotes/") {
            return self.remote(git, known, made_here);
        }
        if text == "refs/stash" {
            return self.stash(git);
        }
        let said = match (self.before, self.current) {
            (None, Some(at)) if text.starts_with("refs/tags/") && !made_here(at) => {
                let said = "it was made, or fetched, from this worktree";
                return Ok(Some(self.shared(said, Cause::Unknown)));
            }
            (None, _) => "it was made from this worktree",
            (Some(_), None) => "it was deleted from this worktree",
            (Some(_), Some(_)) => "it was moved from this worktree",
        };
        Ok(Some(self.shared(said, Cause::MadeHere)))
    }

    /// A fetch brings what is upstream, and a push of the own branch is how work is handed in.
    fn remote(
        &self,
        git: &Git,
        known: &Worktree,
        made_here: &MadeHere<'_>,
    ) -> Result<Option<SharedChange>, WorktreeError> {
        let (Some(current), Ok(name)) = (self.current, self.name.to_str()) else {
            // `fetch --prune`; the next fetch brings back what is there
            return Ok(None);
        };
        let own = name.ends_with(&format!("/{}", known.record.branch));
        let log = git.reflog(name)?;
        let pushed = |place: &&&CommitId| log.iter().any(|entry| entry.is_push_of(place));
        if let Some(place) = self.places.iter().find(pushed).filter(|_| !own) {
            let said = format!(
                "commit {} was pushed there from this worktree",
                place.short()
            );
            return Ok(Some(self.shared(&said, Cause::MadeHere)));
        }
        let Some(newest) = log.first().filter(|newest| newest.id == *current) else {
            let silent = (own || !made_here(current)) && log.is_empty();
            let said = "it was moved from this worktree, past its log";
            return Ok((!silent).then(|| self.shared(said, Cause::MadeHere)));
        };
        let reason = newest.reason.as_str();
        let everyday = if reason.starts_with("update by push") {
            own
        } else {
            newest.came_from_elsewhere(name, made_here)
        };
        let said = format!("it was moved from this worktree ({reason})");
        Ok((!everyday).then(|| self.shared(&said, Cause::MadeHere)))
    }

    /// A stash on top of those of others takes nothing away.
    fn stash(&self, git: &Git) -> Result<Option<SharedChange>, WorktreeError> {
        let kept = match (self.before, self.current) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(before), Some(_)) => git
                .reflog("refs/stash")?
                .iter()
                .any(|entry| entry.id == *before),
        };
        Ok(Some(if kept {
            self.shared("something is stashed from this worktree", Cause::Unknown)
        } else {
            self.shared(
                "a stash of others was dropped from this worktree",
                Cause::MadeHere,
            )
        }))
    }

    fn shared(&self, said: &str, cause: Cause) -> SharedChange {
        shared(change(self.name.clone(), Kind::Ref, said), cause)
    }
}

fn change(name: BString, kind: Kind, said: &str) -> Change {
    plain(Place::Git(name), kind, Some(said.to_owned()))
}

/// Replace refs make git show one object for another (git-replace(1)); whoever made them.
fn replaced(
    recorded: &BTreeMap<BString, CommitId>,
    now: &BTreeMap<BString, CommitId>,
) -> Vec<SharedChange> {
    let replacing = |refs: &BTreeMap<BString, CommitId>| -> Vec<(BString, CommitId)> {
        let all = refs
            .iter()
            .filter(|(name, _)| name.starts_with(b"refs/replace/"));
        all.map(|(name, id)| (name.clone(), id.clone())).collect()
    };
    let (before, after) = (replacing(recorded), replacing(now));
    if before == after {
        return Vec::new();
    }
    let said = format!(
        "{} replaced: git shows others in their place",
        match after.len() {
            1 => "1 object is".to_owned(),
            many => format!("{many} objects are"),
        }
    );
    vec![shared(
        change("refs/replace".into(), Kind::Ref, &said),
        Cause::Hides,
    )]
}

/// Finds worktrees that were made from this one (gitrepository-layout(5), `worktrees/<id>`).
pub fn worktrees(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
) -> Result<Vec<SharedChange>, WorktreeError> {
    let directory = repository.common_dir.join("worktrees");
    let mut all = Vec::new();
    let own = known.record.admin_dir.file_name();
    for id in files::names(&directory)? {
        if own == Some(&id) {
            continue;
        }
        let dot_git = files::read(&directory.join(&id).join("gitdir"))?.unwrap_or_default();
        let path = dot_git.trim().strip_suffix(b"/.git").unwrap_or_default();
        if journal.worktrees().iter().any(|made| made == path) {
            let said = "it was made from this worktree";
            let place = format!("worktrees/{id}").into();
            all.push(shared(change(place, Kind::Worktree, said), Cause::MadeHere));
        }
    }
    Ok(all)
}
