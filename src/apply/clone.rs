//! Makes the private repository of a worktree with strategy `clone`.
//!
//! Git clones the repository on this machine, so that a `gc` there takes nothing away. What a
//! linked worktree would share is then made alike: branches, tags and remote-tracking refs under
//! the same names, the same remotes, and the settings that decide what is in a file
//! (`docs/decisions/0017-clones.md`).

use camino::Utf8Path;

use super::bring::KEPT;
use crate::disk::files;
use crate::error::Error;
use crate::facts::Repository;
use crate::git::clone::carried;
use crate::git::refs::Ref;
use crate::plan::add::{AddPlan, PlannedBranch};
use crate::worktree::Trash;

/// What a clone has of the refs.
const SHARED: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// What git calls where it cloned from.
const ORIGIN: &str = "remote.origin";

/// Clones the repository without any file; the clone, seen from there.
///
/// # Errors
/// Fails when git or the disk does; the caller removes what is there by then.
pub fn make(home: &Repository, plan: &AddPlan) -> Result<Repository, Error> {
    let from = &home.common_dir;
    // by the directory alone: git would take GIT_WORK_TREE for that of the clone
    let git = home.git.at(&home.root);
    git.clone_no_checkout(from.as_str(), &plan.path)?;
    let own = home.clone_at(&plan.path, home.format);
    let settings = home.git.config_list()?;
    let is_origin = |key: &str| key == "remote.origin.url";
    let has_origin = settings
        .iter()
        .any(|(scope, key, _)| scope == "local" && is_origin(key));
    // git wrote what its branch would track
    let track = own.git.symbolic_ref_head()?.filter(|_| has_origin);
    let track =
        track.and_then(|name| Some(format!("branch.{}", name.strip_prefix("refs/heads/")?)));
    let mut there = own.git.for_each_ref(&[])?;
    if !has_origin {
        // then the repository itself is the clone's origin
        there.retain(|one| !one.name.starts_with(b"refs/remotes/origin/"));
    }
    let reason = format!("clone: from {from}");
    let shallow = files::exists(&own.common_dir.join("shallow"));
    let mut wanted = if shallow {
        fetch_all(&own, plan, &there, &reason)?;
        Vec::new()
    } else {
        home.git.plain_refs(&SHARED)?
    };
    wanted.extend(new_branch(plan));
    let there = if shallow { Vec::new() } else { there };
    own.git.replace_refs(&there, &wanted, &reason)?;
    own.git.begin_on(&plan.branch.name().full_ref())?;
    let mut gone: Vec<&str> = track.iter().map(String::as_str).collect();
    gone.extend(has_origin.then_some(ORIGIN));
    carry_settings(home, &own, &gone, &carried(&settings, &home.root))?;
    Ok(own)
}

/// Begins the branch in what was cloned from a URL, whose refs stay as git made them.
///
/// # Errors
/// Fails when git does.
pub fn begin(own: Repository, plan: &AddPlan) -> Result<Repository, Error> {
    let new: Vec<Ref> = new_branch(plan).into_iter().collect();
    own.git.replace_refs(&[], &new, "clone: from its URL")?;
    own.git.begin_on(&plan.branch.name().full_ref())?;
    Ok(own)
}

/// Makes the repository of a clone that was removed again, without any file: as [`make`] does, or,
/// of another repository than this, of what was brought home from it alone. Refs, settings and HEAD
/// are those that it had only when they are put over it.
///
/// # Errors
/// Fails when git or the disk does; the caller removes what is there by then.
pub fn again(
    home: &Repository,
    path: &Utf8Path,
    trash: &Trash,
    reference: &str,
) -> Result<Repository, Error> {
    let from = &home.common_dir;
    let git = home.git.at(&home.root);
    let own = if trash.whole {
        git.init_worktree(path, home.format)?;
        let own = home.clone_at(path, home.format);
        let kept = format!("{KEPT}{}/", trash.name);
        let saved = format!("+{reference}:{reference}");
        own.git
            .fetch_shallow(from, &[&saved, &format!("+{kept}*:{kept}*")])?;
        own
    } else {
        git.clone_no_checkout(from.as_str(), path)?;
        let own = home.clone_at(path, home.format);
        let settings = carried(&home.git.config_list()?, &home.root);
        carry_settings(home, &own, &[], &settings)?;
        own
    };
    own.git.begin_at(&trash.head)?;
    Ok(own)
}

/// A clone of a shallow repository has only what it was sent: all refs, and the base.
fn fetch_all(own: &Repository, plan: &AddPlan, there: &[Ref], reason: &str) -> Result<(), Error> {
    own.git.replace_refs(there, &[], reason)?;
    let same = SHARED.map(|prefix| format!("+{prefix}*:{prefix}*"));
    let mut refspecs: Vec<&str> = same.iter().map(String::as_str).collect();
    refspecs.push(plan.base.as_str());
    let from = &own.home().common_dir;
    Ok(own.git.fetch_shallow(from, &refspecs)?)
}

fn new_branch(plan: &AddPlan) -> Option<Ref> {
    match &plan.branch {
        PlannedBranch::Make(name) => Some(Ref {
            name: name.full_ref().into(),
            id: plan.base.clone(),
        }),
        PlannedBranch::Existing(..) => None,
    }
}

/// Gives the clone the settings and the rules beside the tree that it would have shared.
fn carry_settings(
    home: &Repository,
    own: &Repository,
    gone: &[&str],
    carried: &[u8],
) -> Result<(), Error> {
    let config = own.common_dir.join("config");
    for section in gone {
        let key = format!("{section}.remote");
        let is_there =
            *section == ORIGIN || !own.git.config_file_get_all(&config, &key)?.is_empty();
        if !is_there {
            continue;
        }
        own.git.config_file_remove_section(&config, section)?;
    }
    let mut text = files::read(&config)?.unwrap_or_default();
    text.extend_from_slice(carried);
    files::write(&config, &text)?;
    for name in ["info/exclude", "info/attributes"] {
        if let Some(rules) = files::read(&home.common_dir.join(name))? {
            files::write(&own.common_dir.join(name), &rules)?;
        }
    }
    Ok(())
}
