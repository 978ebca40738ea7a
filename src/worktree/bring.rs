//! Brings a clone's commits home before it is removed.
//!
//! All that its refs, HEADs and reflogs reach and the repository that made it does not have is
//! fetched: the tip of its branch into `refs/agentwt/incoming/<name>`, work that was saved there
//! under the name it has there, everything else into `refs/agentwt/kept/<name>/<commit>`. Nothing
//! that is kept already is overwritten (`docs/decisions/0017-clones.md`).

use std::collections::BTreeSet;

use crate::entry::ObjectId;
use crate::error::Error;
use crate::git::GitMode;
use crate::git::objects::Named;
use crate::git::refs::Ref;
use crate::name::CommitId;
use crate::worktree::private_refs::read_put_aside;
use crate::worktree::{Repository, Worktree};

/// Where commits and tags are kept that only a clone had, below its name.
pub const KEPT: &str = "refs/agentwt/kept/";

/// Holds what a clone had that its home did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// The ref of its branch, and where it is; none when home had that.
    pub incoming: Option<(String, CommitId)>,
    /// Refs of everything else.
    pub kept: Vec<String>,
}

/// Fetches; nothing for a worktree that is not a clone.
///
/// # Errors
/// Fails when git does: then nothing may be removed.
pub fn bring(repository: &Repository, known: &Worktree) -> Result<Brought, Error> {
    let own = known.repository(repository);
    if !own.is_clone() {
        return Ok(Brought::default());
    }
    let home = own.home();
    let name = &known.record.name;
    let fresh = fresh(&own, known)?;
    let saved = saved(&own, known)?;
    let tip = own
        .git
        .with_mode(GitMode::Hardened)
        .rev_parse_commit(&known.record.branch.full_ref())?;
    let tip = tip.filter(|tip| fresh.all.contains(tip));
    let mut wanted: Vec<Ref> = saved;
    let is_saved = |wanted: &[Ref], id: &CommitId| wanted.iter().any(|one| one.id == *id);
    let kept = |id: &CommitId| format!("{KEPT}{name}/{id}");
    for id in fresh.tips.iter().chain(&tip).chain(&fresh.others) {
        if !is_saved(&wanted, id) {
            let (name, id) = (kept(id).into(), id.clone());
            let is_symbolic = false;
            wanted.push(Ref {
                name,
                id,
                is_symbolic,
            });
        }
    }
    let git = home.git.with_mode(GitMode::Hardened);
    let specs: Vec<String> = wanted
        .iter()
        .map(|one| format!("{}:{}", one.id, one.name))
        .collect();
    if !specs.is_empty() {
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        // history that came from a URL was never ours to look at
        let has_base = git.rev_parse_commit(known.record.base.commit.as_str())?;
        git.fetch_commits(&own.common_dir, &specs, has_base.is_some())?;
    }
    let mut brought = Brought::default();
    if let Some(tip) = tip {
        let incoming = format!("refs/agentwt/incoming/{name}");
        point(home, &incoming, &tip, &kept)?;
        let (temporary, id) = (kept(&tip), tip.clone());
        wanted.retain(|one| one.name != temporary);
        git.delete_ref(&temporary, &id)?;
        brought.incoming = Some((incoming, tip));
    }
    brought.kept = wanted.iter().map(|one| one.name.to_string()).collect();
    Ok(brought)
}

/// Moves the ref of what came in. What it named of an earlier clone of the same name, and the new
/// commit does not have, is kept by another ref first.
fn point(
    home: &Repository,
    incoming: &str,
    tip: &CommitId,
    kept: &dyn Fn(&CommitId) -> String,
) -> Result<(), Error> {
    let git = home.git.with_mode(GitMode::Hardened);
    let before = git.rev_parse_commit(incoming)?;
    if let Some(before) = &before
        && !git.is_ancestor(before, tip)?
    {
        let reason = "agentwt: came in from an earlier clone of this name";
        git.update_ref(&kept(before), before, None, reason)?;
    }
    let reason = "agentwt: came in from a clone";
    Ok(git.update_ref(incoming, tip, before.as_ref(), reason)?)
}

/// Holds what only the clone has.
struct Fresh {
    /// Its commits.
    all: BTreeSet<CommitId>,
    /// Those that no other of them has for a parent.
    tips: Vec<CommitId>,
    /// What its refs name beside commits: tags with a message, and what somebody tagged.
    others: Vec<CommitId>,
}

/// Finds it. What the clone had from the beginning is not its work.
fn fresh(own: &Repository, known: &Worktree) -> Result<Fresh, Error> {
    let incoming = "refs/agentwt/incoming/";
    let prefixes = ["refs/heads/", "refs/remotes/", "refs/tags/", incoming, KEPT];
    let home = own.home().git.with_mode(GitMode::Hardened);
    let mut has: BTreeSet<CommitId> = home
        .for_each_ref(&prefixes)?
        .into_iter()
        .map(|one| one.id)
        .collect();
    has.extend(known.recorded_refs()?);
    has.insert(known.record.base.commit.clone());
    let git = own.git.with_mode(GitMode::Hardened);
    // what git has put aside is in no ref
    let aside = read_put_aside(own, known)?;
    let lines = git.rev_list_everything(&has, &aside)?;
    let objects = own.objects()?;
    let parents: BTreeSet<&CommitId> = lines.iter().flat_map(|line| &line[1..]).collect();
    let commits = || lines.iter().filter_map(|line| line.first());
    let is_commit = |id: &CommitId| {
        let id = ObjectId::from_hex(id.as_str().as_bytes());
        id.is_some_and(|id| objects.kind_of(&id) == Some(Named::Commit))
    };
    let others: BTreeSet<CommitId> = git
        .for_each_ref(&[])?
        .into_iter()
        .map(|one| one.id)
        .filter(|id| !has.contains(id) && !is_commit(id))
        .collect();
    Ok(Fresh {
        all: commits().cloned().collect(),
        tips: commits()
            .filter(|commit| !parents.contains(commit))
            .cloned()
            .collect(),
        others: others.into_iter().collect(),
    })
}

/// What `restore` saved in the clone and is not at home. Where home has something
/// else under that name, it is kept by its commit.
fn saved(own: &Repository, known: &Worktree) -> Result<Vec<Ref>, Error> {
    let name = &known.record.name;
    let below = format!("refs/agentwt/rescue/{name}/");
    let of = |repository: &Repository| {
        let git = repository.git.with_mode(GitMode::Hardened);
        git.for_each_ref(&[&below])
    };
    let home = of(own.home())?;
    let mut saved = of(own)?;
    saved.retain(|one| !home.contains(one));
    for one in &mut saved {
        if home.iter().any(|other| other.name == one.name) {
            one.name = format!("{KEPT}{name}/{}", one.id).into();
        }
    }
    Ok(saved)
}
