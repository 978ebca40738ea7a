//! Brings a clone's commits home before it is removed, and those of a run whose worktree is gone.
//!
//! All that its refs, HEADs and reflogs reach and the repository that made it does not have is
//! fetched: the tip of its branch into `refs/agentwt/incoming/<name>`, work that was saved there
//! under the name it has there, everything else into `refs/agentwt/kept/<name>/<commit>`. Nothing
//! that is kept already is overwritten (`docs/decisions/0017-clones.md`). What git-lfs stored
//! beside the objects is copied.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use crate::actions::lfs_contents::copy_lfs_contents;
use crate::actions::put_aside::{read_passing, read_put_aside};
use crate::actions::run_objects::{fetch_each, find_abandoned};
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::landing::FetchCheck;
use crate::truth::head::WorktreeHead;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::{PrivateGit, incoming_ref};
use crate::worktree::repository::{Repository, trash_records};

/// Where commits and tags are kept that only a clone had, below its name.
const KEPT: &str = "refs/agentwt/kept/";

/// The refs that keep commits, below which each names its own.
pub fn kept_refs(worktree: &Worktree) -> String {
    format!("{KEPT}{}/", worktree.record.name)
}

/// The ref that keeps a commit.
pub fn kept_ref(worktree: &Worktree, id: &CommitId) -> String {
    kept_refs(worktree) + id.as_str()
}

/// Fetches into the repository what only the worktree has: from a clone, all that is new there; for
/// another worktree whose directory is gone, what a fenced command left. Returns what the user
/// should hear of it.
///
/// # Errors
/// Fails when git does: then nothing may be removed.
pub fn bring(repository: &Repository, worktree: &Worktree) -> Result<Vec<String>, Error> {
    let own = worktree.repository(repository);
    if !own.is_clone() {
        return bring_run_without_directory(repository, worktree);
    }
    copy_lfs_contents(&own.common_dir, &own.home().common_dir)?;
    let new = read_new_objects(&own, worktree)?;
    let git = worktree.hardened_git(&own);
    let branch_tip = git.rev_parse_commit(&worktree.record.branch.full_ref())?;
    let new_tip = branch_tip.filter(|tip| new.commits.contains(tip));
    let mut wanted = saved(&own, worktree)?;
    // where another new commit is on top of the branch, its tip is not among `new.tips`
    for id in new.tips.iter().chain(&new_tip).chain(&new.others) {
        if !wanted.iter().any(|fetched| fetched.id == *id) {
            wanted.push(FetchedRef {
                id: id.clone(),
                name: kept_ref(worktree, id),
            });
        }
    }
    fetch(&own, worktree, &wanted)?;
    let mut notes = Vec::new();
    if let Some(tip) = new_tip {
        notes.push(name_incoming(own.home(), worktree, &tip, &mut wanted)?);
    }
    notes.extend(note_of(&wanted));
    Ok(notes)
}

/// Names the tip of a clone's branch by the ref of what came in, instead of the one of `fetched`
/// that is there for it alone; returns what the user should hear of it.
fn name_incoming(
    home: &Repository,
    worktree: &Worktree,
    tip: &CommitId,
    fetched: &mut Vec<FetchedRef>,
) -> Result<String, Error> {
    let name = &worktree.record.name;
    let incoming = incoming_ref(worktree);
    point(home, &incoming, tip, &|id| kept_ref(worktree, id))?;
    let replaced = kept_ref(worktree, tip);
    // it may be work that was saved, which keeps its own name
    if fetched.iter().any(|one| one.name == replaced) {
        let home_git = home.git.with_mode(GitMode::Hardened);
        home_git.delete_ref(&replaced, tip)?;
        fetched.retain(|one| one.name != replaced);
    }
    let short = tip.short();
    Ok(format!(
        "the commits of `{name}` are in {incoming} ({short}); to merge them: git merge {incoming}"
    ))
}

/// Says where objects are that are kept by refs of their own.
fn note_of(kept: &[FetchedRef]) -> Option<String> {
    let (first, others) = kept.split_first()?;
    let first = &first.name;
    let more = match others.len() {
        0 => String::new(),
        more => format!(" and {more} more beside it"),
    };
    Some(format!(
        "what else only the clone had is in {first}{more}; to see it: git show {first}"
    ))
}

/// An object that is fetched from a clone, and the ref that names it at home.
struct FetchedRef {
    id: CommitId,
    name: String,
}

/// Fetches from a clone into its home.
fn fetch(own: &Repository, worktree: &Worktree, wanted: &[FetchedRef]) -> Result<(), Error> {
    if wanted.is_empty() {
        return Ok(());
    }
    let git = own.home().git.with_mode(GitMode::Hardened);
    let mut refspecs = Vec::new();
    for fetched in wanted {
        refspecs.push(format!("{}:{}", fetched.id, fetched.name));
    }
    // history that came from a URL was never ours to look at
    let base = git.rev_parse_commit(worktree.record.base.commit.as_str())?;
    let check = if base.is_some() {
        FetchCheck::Fsck
    } else {
        FetchCheck::Connectivity
    };
    git.fetch_objects(own.common_dir.as_str(), check, &refspecs)?;
    Ok(())
}

/// Fetches what a fenced command left in the record of a worktree whose directory is gone. What git
/// cannot fetch stops nothing: the record goes into the trash with it. Returns what the user should
/// hear of it.
fn bring_run_without_directory(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<String>, Error> {
    let private = PrivateGit::new(worktree);
    // while the directory is there, the next run imports it
    if files::is_directory(&worktree.record.path) || !private.is_there() {
        return Ok(Vec::new());
    }
    let lost = match fetch_run(repository, worktree, &private) {
        Ok(lost) => listed(&lost),
        Err(error) => Some(error.to_string()),
    };
    let mut notes = Vec::new();
    let kept = kept_refs(worktree);
    let git = repository.git.with_mode(GitMode::Hardened);
    if !git.for_each_ref(&[&kept])?.is_empty() {
        notes.push(format!(
            "what a command in a fence left is kept: git log --glob={kept}"
        ));
    }
    if let Some(why) = lost {
        let trash = trash_records(repository);
        notes.push(format!(
            "not all that a command in a fence left can be fetched ({why}): it is kept below \
             {trash}"
        ));
    }
    Ok(notes)
}

/// Names the first of these commits, and counts the others; none where there are none.
fn listed(commits: &[CommitId]) -> Option<String> {
    match commits {
        [] => None,
        [only] => Some(only.to_string()),
        [first, others @ ..] => Some(format!("{first} and {} more", others.len())),
    }
}

/// Fetches all that a run made, each under a kept ref; returns what git cannot fetch. What refs had
/// when the run began is not its work.
fn fetch_run(
    repository: &Repository,
    worktree: &Worktree,
    private: &PrivateGit,
) -> Result<Vec<CommitId>, Error> {
    // a fetch brings objects, and these are files
    copy_lfs_contents(&private.git_dir(), &repository.common_dir)?;
    private.clean()?;
    private.write_mended(repository, worktree)?;
    let run = private.read_result(repository, worktree)?;
    let own = run.head.iter().chain(&run.branch).chain(&run.stashes);
    let others = run.others.iter().map(|(_, id)| id);
    let mut work = BTreeMap::new();
    for id in own.chain(others) {
        if !run.began.contains(id) {
            work.insert(id, kept_ref(worktree, id));
        }
    }
    let git = repository.git.with_mode(GitMode::Hardened);
    let mut lost = fetch_each(&git, private, &work);
    let mut been_on: Vec<&CommitId> = run.been_on.iter().collect();
    been_on.retain(|id| !work.contains_key(*id));
    let named: Vec<&CommitId> = work.keys().copied().collect();
    let began: Vec<&CommitId> = run.began.iter().collect();
    let mut abandoned = BTreeMap::new();
    for id in find_abandoned(repository, private, been_on, &[named, began])? {
        abandoned.insert(id, kept_ref(worktree, id));
    }
    lost.extend(fetch_each(&git, private, &abandoned));
    Ok(lost)
}

/// Moves the ref of what came in to `tip`. What it named of an earlier clone of the same name, and
/// `tip` does not have, is kept first, by the ref that `kept` returns.
///
/// # Errors
/// Fails when git does.
pub fn point(
    home: &Repository,
    incoming: &str,
    tip: &CommitId,
    kept: &dyn Fn(&CommitId) -> String,
) -> Result<(), Error> {
    let git = home.git.with_mode(GitMode::Hardened);
    let before = git.rev_parse_commit(incoming)?;
    if let Some(before) = &before
        && !git.is_ancestor(before, tip)?
        && git.for_each_ref(&[&kept(before)])?.is_empty()
    {
        let reason_to_keep = "agentwt: came in from an earlier clone of this name";
        git.update_ref(&kept(before), before, None, reason_to_keep)?;
    }
    let reason = "agentwt: came in from a clone";
    Ok(git.update_ref(incoming, tip, before.as_ref(), reason)?)
}

/// What only the clone has.
struct NewObjects {
    commits: BTreeSet<CommitId>,
    /// The commits that no other of them has for a parent.
    tips: Vec<CommitId>,
    /// What its refs name beside commits: tags with a message, and other objects that were tagged.
    others: BTreeSet<CommitId>,
}

/// Lists what only the clone has. What the clone had from the beginning is not its work.
fn read_new_objects(own: &Repository, worktree: &Worktree) -> Result<NewObjects, Error> {
    let at_home = ids_at_home(own, worktree)?;
    let mut new = list_new_commits(own, worktree, &at_home)?;
    let objects = own.objects()?;
    let git = own.git.with_mode(GitMode::Hardened);
    for reference in git.for_each_ref(&["refs/"])? {
        // home may have the object without a ref to it: then `git gc` there deletes it
        if !at_home.contains(&reference.id) && objects.has_beside_commits(&reference.id) {
            new.others.insert(reference.id);
        }
    }
    Ok(new)
}

/// Lists the commits that the refs, the reflogs and git's own files of the clone reach, and that
/// the ids in `at_home` do not reach. In the answer, `others` is still empty.
fn list_new_commits(
    own: &Repository,
    worktree: &Worktree,
    at_home: &BTreeSet<CommitId>,
) -> Result<NewObjects, Error> {
    let mut input = String::new();
    // these may be in no ref and in no reflog
    for id in read_put_aside(own, worktree)? {
        input += &format!("{id}\n");
    }
    // without a reflog, so that what was made here counts too: nothing of a clone stays behind
    for id in read_passing(own, worktree, &WorktreeHead::default())? {
        input += &format!("{id}\n");
    }
    for id in at_home {
        input += &format!("^{id}\n");
    }
    let git = own.git.with_mode(GitMode::Hardened);
    let what = "list the commits of the clone";
    let command = "rev-list --parents --ignore-missing --all --reflog --stdin";
    let output = git.perform_with(what, command, &[], input.as_bytes())?;
    let mut commits = BTreeSet::new();
    let mut parents = BTreeSet::new();
    // in each line, a commit and its parents
    for line in output.lines() {
        let words = line.split_str(" ");
        let mut ids = words.filter_map(|id| CommitId::parse(&id.to_str_lossy()).ok());
        commits.extend(ids.next());
        parents.extend(ids);
    }
    Ok(NewObjects {
        tips: commits.difference(&parents).cloned().collect(),
        commits,
        others: BTreeSet::new(),
    })
}

/// Lists what the home of a clone has, and what the clone had from the beginning.
fn ids_at_home(own: &Repository, worktree: &Worktree) -> Result<BTreeSet<CommitId>, Error> {
    let incoming = "refs/agentwt/incoming/";
    let prefixes = ["refs/heads/", "refs/remotes/", "refs/tags/", incoming, KEPT];
    let home = own.home().git.with_mode(GitMode::Hardened);
    let mut ids = BTreeSet::new();
    for reference in home.for_each_ref(&prefixes)? {
        ids.insert(reference.id);
    }
    ids.extend(worktree.recorded_refs()?);
    ids.insert(worktree.record.base.commit.clone());
    Ok(ids)
}

/// What `restore` saved in the clone and is not at home, with its ref there. Where home has
/// something else under that name, it is kept by its commit.
fn saved(own: &Repository, worktree: &Worktree) -> Result<Vec<FetchedRef>, Error> {
    let below = format!("refs/agentwt/rescue/{}/", worktree.record.name);
    let home_git = own.home().git.with_mode(GitMode::Hardened);
    let at_home = home_git.for_each_ref(&[&below])?;
    let own_git = own.git.with_mode(GitMode::Hardened);
    let mut saved = Vec::new();
    for rescue in own_git.for_each_ref(&[&below])? {
        if at_home.contains(&rescue) {
            continue;
        }
        let is_taken = at_home.iter().any(|other| other.name == rescue.name);
        saved.push(FetchedRef {
            name: if is_taken {
                kept_ref(worktree, &rescue.id)
            } else {
                rescue.name.to_string()
            },
            id: rescue.id,
        });
    }
    Ok(saved)
}
