//! Says which command of git is in progress in a worktree, and how to end it.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::record::worktree::Record;
use crate::words::name::BranchName;
use crate::words::path::shell_word;
use crate::worktree::gitdir::read_gitdir;

/// The command that applies patches of a mailbox; no commit has those that it has still to apply.
pub const AM: &str = "am";

/// The files that stand in the private git directory while git works (as `wt_status_get_state`
/// looks for them), and the command that does.
const OPERATIONS: [(&str, &str); 6] = [
    ("rebase-apply/applying", AM),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("REVERT_HEAD", "revert"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
];
/// The directory of a cherry-pick or revert of several commits, also between two of them.
const SEQUENCER: &str = "sequencer";

/// The files in which git writes down which branch it works on while HEAD is elsewhere.
const BUSY: [&str; 3] = [
    "rebase-merge/head-name",
    "rebase-apply/head-name",
    "BISECT_START",
];

/// The command of git that is in progress in a worktree, if one is.
pub fn read_operation(record: &Record) -> Option<&'static str> {
    find_operation(&record.admin_dir)
}

/// The command that goes back to the branch of a worktree, for the help of an error.
pub fn way_to_branch(record: &Record) -> String {
    let path = shell_word(record.path.as_str());
    let branch = shell_word(record.branch.as_str());
    format!("git -C {path} switch {branch}")
}

/// The command that gives the branch of a worktree its name back, for the help of an error.
pub fn way_to_name_back(record: &Record) -> String {
    let path = shell_word(record.path.as_str());
    let branch = shell_word(record.branch.as_str());
    format!("git -C {path} branch -m {branch}")
}

/// The commands that end an operation of git in a worktree, for the help of an error.
pub fn ways_to_end(operation: &str, worktree: &Utf8Path) -> String {
    let path = shell_word(worktree.as_str());
    format!(
        "see it: git -C {path} status; finish it: git -C {path} {operation} --continue; \
         or drop it, with what is resolved by now: git -C {path} {operation} --abort"
    )
}

/// The command of git that is in progress in a git directory, if one is.
pub fn find_operation(git_dir: &Utf8Path) -> Option<&'static str> {
    for (file, command) in OPERATIONS {
        if files::exists(&git_dir.join(file)) {
            return Some(command);
        }
    }
    let sequencer = git_dir.join(SEQUENCER);
    if !files::exists(&sequencer) {
        return None;
    }
    // the next command, as `sequencer_get_last_command` of git reads it
    let todo = files::read(&sequencer.join("todo")).ok().flatten();
    let is_revert = todo.is_some_and(|todo| todo.trim_ascii_start().starts_with(b"revert"));
    Some(if is_revert { "revert" } else { "cherry-pick" })
}

/// Finds the directory of a worktree in which a rebase or a bisect of a branch is in progress.
///
/// # Errors
/// Fails when the list of private git directories, or where the worktree is, cannot be read.
pub fn find_worktree_at_work_on(
    branch: &BranchName,
    common_dir: &Utf8Path,
) -> Result<Option<Utf8PathBuf>, DiskError> {
    let worktrees = common_dir.join("worktrees");
    let mut git_dirs = vec![common_dir.to_owned()];
    for id in files::names(&worktrees)? {
        git_dirs.push(worktrees.join(id));
    }
    for git_dir in git_dirs {
        if is_at_work_on(branch, &git_dir) {
            let recorded = read_gitdir(&git_dir)?;
            let dot_git = recorded.unwrap_or_else(|| common_dir.to_owned());
            return Ok(dot_git.parent().map(Utf8Path::to_owned));
        }
    }
    Ok(None)
}

/// True if a rebase or a bisect of a branch is in progress in this git directory.
fn is_at_work_on(branch: &BranchName, git_dir: &Utf8Path) -> bool {
    let full = branch.full_ref();
    for file in BUSY {
        let content = files::read(&git_dir.join(file)).ok().flatten();
        let text = content.unwrap_or_default();
        let named = text.trim_ascii();
        if named == full.as_bytes() || named == branch.as_str().as_bytes() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::name::{BranchName, WorktreeName};

    #[test]
    fn the_way_to_a_branch_can_be_typed_whatever_its_name() {
        let name = WorktreeName::parse("task").expect("a name");
        let mut record = Record::new(name, "/w".into(), String::new());
        record.branch = BranchName::from_git("agentwt/it's");
        assert_eq!(
            way_to_branch(&record),
            r"git -C /w switch 'agentwt/it'\''s'"
        );
    }
}
