//! Says which command of git is in progress in a worktree.

use camino::Utf8Path;

use crate::disk::files;
use crate::record::worktree::Record;

/// The files that stand in the private git directory while git works (as `wt_status_get_state`
/// looks for them), and the command that does.
pub const OPERATIONS: [(&str, &str); 7] = [
    ("rebase-apply/applying", "am"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("REVERT_HEAD", "revert"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("sequencer", "cherry-pick"),
];

/// The command of git that is in progress in a worktree, if one is.
pub fn read_operation(record: &Record) -> Option<&'static str> {
    find_operation(&record.admin_dir)
}

/// The command of git that is in progress in a git directory, if one is.
pub fn find_operation(git_dir: &Utf8Path) -> Option<&'static str> {
    for (file, command) in OPERATIONS {
        if files::exists(&git_dir.join(file)) {
            return Some(command);
        }
    }
    None
}
