//! Moves a worktree into the trash, in steps of which each looks whether it is done already.

use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::trash::entry::{REFS, REMOVING, id};
use crate::actions::trash::hold::{Held, hold};
use crate::actions::trash::inner_worktrees::lock_inside;
use crate::actions::trash::list::{free_time, place_of, record_of};
use crate::actions::trash::private_git_dir::{HEAD_BEFORE, PrivateGitDir, detach_head_in};
use crate::actions::trash::registered;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::sweep;
use crate::disk::trash_bin::TrashBin;
use crate::git::refs::Ref;
use crate::record::worktree::{Removal, Term, TrashStamp};
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::toml_file::to_text;
use crate::worktree::gitdir::{TRASHED_GIT_DIR, read_if_whole};
use crate::worktree::loaded::{LOCKED, MadeAt, Worktree};
use crate::worktree::repository::{Repository, WORKTREES, trash_records};

/// What the file `commondir` of a private git directory in a record says; a record is as deep below
/// the common git directory in its place as in the trash.
const COMMON_DIR_FROM_RECORD: &[u8] = b"../../../..\n";
/// The log of the branch, in a record: git deletes it with the branch.
pub(super) const BRANCH_LOG: &str = "branch-log";
/// The file of a record with the `.git` file of before, where a private git directory got another
/// name.
pub(super) const OLD_DOT_GIT: &str = "old-dot-git";

/// What a removal of exactly this worktree has decided that did not come to its end; none when
/// there was none, or it cannot be read: then all is looked at again.
pub fn pending_removal(worktree: &Worktree) -> Option<Removal> {
    let removal = read_if_whole::<Removal>(&worktree.dir.join(REMOVING))?;
    (removal.created == worktree.record.created).then_some(removal)
}

/// A pending removal that has come as far as the directory: the rest is to be done.
pub fn pending_move(repository: &Repository, worktree: &Worktree) -> Option<Removal> {
    let removal = pending_removal(worktree)?;
    is_away(repository, worktree, removal.trash.as_ref()).then_some(removal)
}

/// True if an earlier removal may have deleted files of this worktree in their place.
pub fn is_partly_deleted(worktree: &Worktree) -> bool {
    pending_removal(worktree).is_some_and(|removal| removal.trash.is_none())
}

/// True if the directory of a worktree whose removal has begun is away: what then stands in its
/// place is not it. Else the removal did not come that far, or an undo of it has brought all back.
pub fn is_away(repository: &Repository, worktree: &Worktree, stamp: Option<&TrashStamp>) -> bool {
    if !files::exists(&worktree.record.path) {
        return true;
    }
    stamp.is_some_and(|stamp| {
        let id = id(&worktree.record.name, &stamp.time);
        files::exists(&place_of(repository, &id))
    })
}

/// Writes down what a removal has decided.
///
/// # Errors
/// Fails when the disk does.
pub fn write_removal(worktree: &Worktree, removal: &Removal) -> Result<(), DiskError> {
    files::write(&worktree.dir.join(REMOVING), to_text(removal).as_bytes())
}

/// Writes the ref that keeps these commits for the user, in place of the commit that it has before;
/// none where there are none.
///
/// # Errors
/// Fails when git does.
pub fn keep_commits(
    repository: &Repository,
    name: &WorktreeName,
    time: &str,
    commits: &[CommitId],
    before: Option<&CommitId>,
) -> Result<Option<Ref>, Error> {
    let git = &repository.git;
    let commit = match commits {
        [] => return Ok(None),
        [only] => only.clone(),
        [first, ..] => {
            let tree = repository.objects()?.commit(first)?.tree.to_string();
            let message = format!("git-agentwt: commits of {name} when it was removed\n");
            let parents: Vec<&CommitId> = commits.iter().collect();
            git.commit_tree(&tree, &message, &parents)?
        }
    };
    let reference = format!("{REFS}{name}/{time}");
    git.update_ref(&reference, &commit, before, "agentwt: kept by a removal")?;
    Ok(Some(Ref::new(reference, commit)))
}

/// True if a directory cannot be renamed at all: a mount point, or a lower layer of an overlay.
pub fn cannot_be_renamed(error: &DiskError) -> bool {
    matches!(
        error.source.kind(),
        ErrorKind::CrossesDevices | ErrorKind::ResourceBusy
    )
}

/// Moves the directory of a worktree into the trash. Where it is there already, what stands in its
/// place is not ours, and stays.
///
/// # Errors
/// Fails when the disk does: the next call goes on.
pub fn move_directory(
    repository: &Repository,
    worktree: &Worktree,
    stamp: &TrashStamp,
) -> Result<(), DiskError> {
    let name = &worktree.record.name;
    let id = id(name, &stamp.time);
    lock_git_dir(worktree)?;
    let Some(bin) = TrashBin::open(&repository.root)? else {
        return Ok(());
    };
    if files::exists(&place_of(repository, &id)) {
        return Ok(());
    }
    if files::exists(&worktree.record.path) {
        remove_copies_of_undo(worktree)?;
        lock_inside(repository, &worktree.record.path, &id)?;
    }
    bin.keep(name.as_str(), &id)
}

/// Locks a registered private git directory while it leads nowhere, so that `git worktree prune`
/// leaves it.
fn lock_git_dir(worktree: &Worktree) -> Result<(), DiskError> {
    if let PrivateGitDir::Registered(git_dir) = PrivateGitDir::find(worktree) {
        let lock = git_dir.join("locked");
        if !files::exists(&lock) {
            files::write(&lock, LOCKED.as_bytes())?;
        }
    }
    Ok(())
}

/// Removes from the record what an undo that was killed has brought back from there: work went on
/// since, so the next undo must not bring it back.
fn remove_copies_of_undo(worktree: &Worktree) -> Result<(), DiskError> {
    files::remove_directory(&worktree.dir.join(registered::ADMIN))?;
    for file in [HEAD_BEFORE, BRANCH_LOG, OLD_DOT_GIT] {
        files::remove_file(&worktree.dir.join(file))?;
    }
    Ok(())
}

/// Moves the private git directory of a linked worktree into its record, and holds what it names.
/// What is done already stays; `held` is what this call has held so far.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn move_private_git_dir(
    repository: &Repository,
    worktree: &Worktree,
    stamp: &TrashStamp,
    held: &mut Held,
) -> Result<(), Error> {
    let id = id(&worktree.record.name, &stamp.time);
    if let PrivateGitDir::Registered(git_dir) = PrivateGitDir::find(worktree) {
        sweep(&git_dir, &[""]);
        // where an older version began this removal
        registered::put_files_back(repository, worktree, &git_dir, stamp)?;
        move_git_dir(repository, &id, &git_dir, &worktree.dir, stamp, held)?;
    }
    if let PrivateGitDir::InRecord(git_dir) = PrivateGitDir::find(worktree) {
        point_to_common_dir(&git_dir)?;
        // what a process wrote until it was moved
        hold(
            repository,
            &id,
            &git_dir,
            stamp,
            &worktree.dir.join(REMOVING),
            held,
        )?;
        // git, too, leaves no empty `worktrees`
        files::remove_if_empty(&repository.common_dir.join("worktrees"));
    }
    Ok(())
}

/// Moves a registered private git directory into a record. Git keeps what it names until it is
/// moved, and a ref from then on.
fn move_git_dir(
    repository: &Repository,
    id: &str,
    git_dir: &Utf8Path,
    record_dir: &Utf8Path,
    stamp: &TrashStamp,
    held: &mut Held,
) -> Result<(), Error> {
    let since = record_dir.join(REMOVING);
    hold(repository, id, git_dir, stamp, &since, held)?;
    files::rename(git_dir, &record_dir.join(TRASHED_GIT_DIR))?;
    Ok(())
}

/// Makes a private git directory in a record name the common git directory.
fn point_to_common_dir(git_dir: &Utf8Path) -> Result<(), DiskError> {
    let file = git_dir.join("commondir");
    if files::read(&file)?.as_deref() == Some(COMMON_DIR_FROM_RECORD) {
        return Ok(());
    }
    files::write(&file, COMMON_DIR_FROM_RECORD)
}

/// The worktree as it stands in the trash.
pub fn in_trash(repository: &Repository, worktree: &Worktree, time: &str) -> Worktree {
    let place = place_of(repository, &id(&worktree.record.name, time));
    let admin_dir = match PrivateGitDir::find(worktree) {
        PrivateGitDir::InRecord(git_dir) => git_dir,
        PrivateGitDir::InWorktree => place.join(".git"),
        PrivateGitDir::Registered(_) | PrivateGitDir::Gone => worktree.record.admin_dir.clone(),
    };
    let mut moved = worktree.clone();
    moved.made_at = Some(MadeAt {
        path: std::mem::replace(&mut moved.record.path, place),
        admin_dir: std::mem::replace(&mut moved.record.admin_dir, admin_dir),
    });
    moved
}

/// Copies the log of the branch into the record, before git deletes it with the branch.
///
/// # Errors
/// Fails when the disk does: the next call goes on.
pub fn copy_branch_log(repository: &Repository, worktree: &Worktree) -> Result<(), DiskError> {
    let copy = worktree.dir.join(BRANCH_LOG);
    if files::exists(&copy) || files::exists(&registered::branch_log(worktree)) {
        return Ok(());
    }
    match files::read(&branch_log_file(repository, worktree))? {
        Some(bytes) => files::write(&copy, &bytes),
        None => Ok(()),
    }
}

/// Where git has the log of the branch.
pub(super) fn branch_log_file(repository: &Repository, worktree: &Worktree) -> Utf8PathBuf {
    let logs = repository.home().common_dir.join("logs");
    logs.join(worktree.record.branch.full_ref())
}

/// Moves the record of a worktree into the trash.
///
/// # Errors
/// Fails when the disk does.
pub fn move_record(
    repository: &Repository,
    worktree: &Worktree,
    time: &str,
) -> Result<(), DiskError> {
    files::create_directories(&trash_records(repository))?;
    let kept = record_of(repository, &id(&worktree.record.name, time));
    files::rename(&worktree.dir, &kept)
}

/// Keeps in the trash what a killed `add` left and an agent has worked in, for the long term: as an
/// entry without a record of the worktree. `admin_dir` is its private git directory, if it has one.
/// Returns where its directory is in the trash.
///
/// # Errors
/// Fails when the disk does.
pub fn keep_incomplete(
    repository: &Repository,
    name: &WorktreeName,
    admin_dir: Option<&Utf8Path>,
    now: &str,
) -> Result<Utf8PathBuf, Error> {
    let time = free_time(repository, name, now)?;
    let id = id(name, &time);
    let stamp = TrashStamp {
        time,
        head: admin_dir.and_then(|git_dir| commit_of_head(repository, git_dir)),
        on: None,
        tip: None,
        term: Term::Long,
    };
    let removal = Removal {
        began: now.to_owned(),
        created: now.to_owned(),
        branch_at: None,
        saved: None,
        trash: Some(stamp.clone()),
    };
    let place = place_of(repository, &id);
    let record_dir = record_of(repository, &id);
    files::write(&record_dir.join(REMOVING), to_text(&removal).as_bytes())?;
    if let Some(admin_dir) = admin_dir {
        // before the directory: killed in between, no `add` finds it and deletes it
        keep_incomplete_git_dir(repository, &id, admin_dir, &record_dir, &stamp)?;
    }
    if let Some(bin) = TrashBin::open(&repository.root)? {
        let directory = repository.root.join(WORKTREES).join(name.as_str());
        lock_inside(repository, &directory, &id)?;
        bin.keep(name.as_str(), &id)?;
    }
    if admin_dir.is_some() {
        // no undo brings it back: in the trash its `.git` file leads git to its index
        let link = format!("gitdir: {}\n", record_dir.join(TRASHED_GIT_DIR));
        files::write(&place.join(".git"), link.as_bytes())?;
    }
    Ok(place)
}

/// Moves the private git directory of an incomplete worktree into its entry, where git can read it.
fn keep_incomplete_git_dir(
    repository: &Repository,
    id: &str,
    admin_dir: &Utf8Path,
    record_dir: &Utf8Path,
    stamp: &TrashStamp,
) -> Result<(), Error> {
    let nothing = &mut Held::default();
    move_git_dir(repository, id, admin_dir, record_dir, stamp, nothing)?;
    let kept_git_dir = record_dir.join(TRASHED_GIT_DIR);
    point_to_common_dir(&kept_git_dir)?;
    if let Some(commit) = &stamp.head {
        let git = repository.git.on(&kept_git_dir, None);
        detach_head_in(&git, &kept_git_dir, commit)?;
    }
    Ok(())
}

/// The commit that HEAD of a private git directory is on, if that can be read.
fn commit_of_head(repository: &Repository, git_dir: &Utf8Path) -> Option<CommitId> {
    let git = repository.git.on(git_dir, None);
    git.rev_parse_commit("HEAD").ok().flatten()
}
