//! Brings a worktree back out of the trash, in steps of which each looks whether it is done
//! already.

use bstr::{BString, ByteSlice as _};
use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::register::install_hooks;
use crate::actions::trash::enter::{
    BRANCH_LOG, OLD_DOT_GIT, branch_log_file, is_away, pending_removal,
};
use crate::actions::trash::entry::{REMOVING, id};
use crate::actions::trash::hold::release;
use crate::actions::trash::list::{place_of, record_of};
use crate::actions::trash::private_git_dir::{HEAD_BEFORE, PrivateGitDir, put_head_back};
use crate::actions::trash::registered;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::sweep;
use crate::disk::trash_bin::TrashBin;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::git::settings_file::read_settings;
use crate::record::worktree::TrashStamp;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::admin_dir::git_dirs_below;
use crate::worktree::gitdir::{names_git_dir, without_dots};
use crate::worktree::ignore_rules::EXCLUDE;
use crate::worktree::loaded::{Worktree, is_locked_by_us};
use crate::worktree::repository::{Repository, trash_records};

/// The file of a record in the trash that says that the ignored files are deleted.
pub(super) const TRIMMED: &str = "trimmed";
/// What the file `commondir` of a registered private git directory says.
const COMMON_DIR: &[u8] = b"../..\n";

/// Moves the record of a worktree out of the trash; the removal then counts as begun.
///
/// # Errors
/// Fails when the disk does.
pub fn move_record_back(
    repository: &Repository,
    name: &WorktreeName,
    stamp: &TrashStamp,
) -> Result<(), DiskError> {
    files::create_directories(&repository.records_dir())?;
    let kept = record_of(repository, &id(name, &stamp.time));
    files::rename(&kept, &repository.record_dir(name))?;
    files::remove_if_empty(&trash_records(repository));
    Ok(())
}

/// Brings the private git directory and the directory of a worktree back, and ends the removal;
/// what is back already stays. The record has been moved back, or never went.
///
/// # Errors
/// Fails when something stands in its place, or the disk or git does: the next call goes on.
pub fn restore_from_trash(
    repository: &Repository,
    worktree: &Worktree,
    stamp: &TrashStamp,
) -> Result<(), Error> {
    let name = &worktree.record.name;
    let id = id(name, &stamp.time);
    sweep(&worktree.dir, &[""]);
    let returned = return_private_git_dir(repository, worktree, stamp)?;
    if is_away(repository, &returned, Some(stamp)) {
        // before the directory: where that is back, work may have gone on since an earlier undo
        if let PrivateGitDir::Registered(git_dir) = PrivateGitDir::find(&returned) {
            registered::put_files_back(repository, &returned, &git_dir, stamp)?;
        }
        return_branch_log(repository, &returned)?;
        mend_links(repository, &returned, &place_of(repository, &id))?;
    } else {
        mend_links(repository, &returned, &returned.record.path)?;
    }
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.bring_back(&id, name.as_str())?;
    }
    let record = &returned.record;
    let is_registered = matches!(PrivateGitDir::find(&returned), PrivateGitDir::Registered(_));
    if is_registered && !files::exists(&record.path) {
        // the directory was gone before the removal: with its `.git` file, what was staged can be
        // had again
        files::write(&record.path.join(".git"), record.dot_git.as_bytes())?;
    }
    finish_undo(repository, &returned)
}

/// Ends a removal of a worktree that is in its place, if there is one.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn finish_undo(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let record = &worktree.record;
    let dir = &worktree.dir;
    if is_locked_by_us(&record.admin_dir) {
        files::remove_file(&record.admin_dir.join("locked"))?;
    }
    if let Some(stamp) = pending_removal(worktree).and_then(|removal| removal.trash) {
        let id = id(&record.name, &stamp.time);
        release(repository, &id, &dir.join(REMOVING))?;
    }
    for file in [TRIMMED, HEAD_BEFORE, BRANCH_LOG, OLD_DOT_GIT] {
        files::remove_file(&dir.join(file))?;
    }
    // what says that a removal has begun goes last
    files::remove_directory(&dir.join(registered::ADMIN))?;
    Ok(files::remove_file(&dir.join(REMOVING))?)
}

/// Moves the private git directory of a linked worktree back to where git finds it. Where another
/// worktree has its name by now, it gets a new one, as git would give it. Returns the worktree with
/// that name.
fn return_private_git_dir(
    repository: &Repository,
    worktree: &Worktree,
    stamp: &TrashStamp,
) -> Result<Worktree, Error> {
    let mut returned = worktree.clone();
    let PrivateGitDir::InRecord(git_dir) = PrivateGitDir::find(worktree) else {
        return Ok(returned);
    };
    sweep(&git_dir, &[""]);
    let git = repository.git.on(&git_dir, None);
    put_head_back(&git, &git_dir, &worktree.dir.join(HEAD_BEFORE), stamp)?;
    files::write(&git_dir.join("commondir"), COMMON_DIR)?;
    if files::exists(&worktree.record.admin_dir) {
        returned = with_free_name(worktree)?;
    }
    let admin_dir = &returned.record.admin_dir;
    let registered = repository.common_dir.join("worktrees");
    files::create_directories(&registered)?;
    if let Err(error) = files::rename(&git_dir, admin_dir) {
        files::remove_if_empty(&registered);
        return Err(error.into());
    }
    Ok(returned)
}

/// Gives the private git directory of a worktree a name that no other has. The `.git` file of
/// before is written down first: [`mend_links`] changes it.
fn with_free_name(worktree: &Worktree) -> Result<Worktree, Error> {
    let mut renamed = worktree.clone();
    let record = &mut renamed.record;
    let old_dot_git = worktree.dir.join(OLD_DOT_GIT);
    if !files::exists(&old_dot_git) {
        files::write(&old_dot_git, record.dot_git.as_bytes())?;
    }
    let directory = record.path.file_name().unwrap_or_default();
    let mut number = 0_u32;
    while files::exists(&record.admin_dir) {
        number += 1;
        record
            .admin_dir
            .set_file_name(format!("{directory}{number}"));
    }
    let git_dir = Utf8Path::new(record.dot_git.trim_end());
    let name = record.admin_dir.file_name().unwrap_or_default();
    record.dot_git = format!("{}\n", git_dir.with_file_name(name));
    renamed.write_record(&renamed.record)?;
    Ok(renamed)
}

/// Makes what names the private git directory lead to it by its new name, if it has one: the
/// settings and hooks of the worktree at `root`, and the `.git` files of that and of its
/// submodules. What led elsewhere before stays as it is, for `verify` to find.
fn mend_links(repository: &Repository, worktree: &Worktree, root: &Utf8Path) -> Result<(), Error> {
    let Some(old_dot_git) = files::read(&worktree.dir.join(OLD_DOT_GIT))? else {
        return Ok(());
    };
    let record = &worktree.record;
    let old_dot_git = old_dot_git.to_str_lossy();
    let old_name = Utf8Path::new(old_dot_git.trim_end()).file_name();
    let old_admin_dir = record
        .admin_dir
        .with_file_name(old_name.unwrap_or_default());
    mend_settings(repository, worktree, &old_admin_dir)?;
    let link = root.join(".git");
    if names_git_dir(&read_link_file(&link), &record.path, &old_admin_dir) {
        files::write(&link, record.dot_git.as_bytes())?;
    }
    mend_submodule_links(worktree, root, &old_admin_dir)
}

/// Makes the `.git` files of submodules lead to their repositories in the renamed private git
/// directory.
fn mend_submodule_links(
    worktree: &Worktree,
    root: &Utf8Path,
    old_admin_dir: &Utf8Path,
) -> Result<(), Error> {
    let record = &worktree.record;
    let old_part = path_of_modules(old_admin_dir);
    let new_part = path_of_modules(&record.admin_dir);
    for directory in submodules_below(&record.admin_dir.join("modules"))? {
        let Ok(below) = directory.strip_prefix(&record.path) else {
            continue;
        };
        let link = root.join(below).join(".git");
        let old_text = read_link_file(&link);
        if old_text.contains_str(&old_part) {
            let new_text = old_text.replacen(&old_part, &new_part, 1);
            files::write(&link, &new_text)?;
        }
    }
    Ok(())
}

/// Reads a `.git` file; it is empty where there is none, or it cannot be read.
fn read_link_file(link: &Utf8Path) -> Vec<u8> {
    files::read(link).ok().flatten().unwrap_or_default()
}

/// The part of a path that leads to the repositories of submodules in a private git directory.
fn path_of_modules(admin_dir: &Utf8Path) -> String {
    let name = admin_dir.file_name().unwrap_or_default();
    format!("/worktrees/{name}/modules/")
}

/// Installs our hooks anew, as git calls them by their path, and names the file of what is excluded
/// by its new path.
fn mend_settings(
    repository: &Repository,
    worktree: &Worktree,
    old_admin_dir: &Utf8Path,
) -> Result<(), Error> {
    let admin_dir = &worktree.record.admin_dir;
    let is_installed = files::is_directory(&WorktreeHooks::directory_in(admin_dir));
    if !is_installed || !worktree.hooks_are_as_recorded(repository)? {
        return Ok(());
    }
    let Some(program) = files::read(&admin_dir.join("agentwt/bin"))? else {
        return Ok(());
    };
    let program = Utf8PathBuf::from(program.trim_ascii_end().to_str_lossy().into_owned());
    worktree.change_hooks(repository, || {
        mend_exclude_setting(repository, admin_dir, old_admin_dir)?;
        install_hooks(repository, &worktree.record, &program)
    })?;
    Ok(())
}

/// Sets `core.excludesFile` of the worktree to the new path of our file, if it named the old one.
fn mend_exclude_setting(
    repository: &Repository,
    admin_dir: &Utf8Path,
    old_admin_dir: &Utf8Path,
) -> Result<(), Error> {
    let config = admin_dir.join("config.worktree");
    let old_path = BString::from(old_admin_dir.join(EXCLUDE).as_str());
    for (key, value) in read_settings(&config) {
        if key == "core.excludesfile" && value.as_ref() == Some(&old_path) {
            let new_path = admin_dir.join(EXCLUDE);
            let git = &repository.git;
            git.config_file_set(&config, "core.excludesFile", new_path.as_str())?;
            break;
        }
    }
    Ok(())
}

/// The directories of the submodules whose repositories are below a directory.
fn submodules_below(modules: &Utf8Path) -> Result<Vec<Utf8PathBuf>, DiskError> {
    let mut directories = Vec::new();
    for git_dir in git_dirs_below(modules)? {
        for (key, value) in read_settings(&git_dir.join("config")) {
            if key == "core.worktree"
                && let Some(value) = value
            {
                let text = value.to_str_lossy();
                directories.push(without_dots(&git_dir.join(&*text)));
            }
        }
    }
    Ok(directories)
}

/// Moves the log of the branch back, which was made again without it.
fn return_branch_log(repository: &Repository, worktree: &Worktree) -> Result<(), DiskError> {
    let log = branch_log_file(repository, worktree);
    for copy in [
        worktree.dir.join(BRANCH_LOG),
        registered::branch_log(worktree),
    ] {
        // git writes no log of a branch that it does not log
        if files::exists(&copy) && files::exists(&log) {
            // nothing is written beside it: a file among the logs takes the name of a branch
            files::rename(&copy, &log)?;
        }
    }
    Ok(())
}
