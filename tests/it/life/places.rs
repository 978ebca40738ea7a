//! Looks for texts in every place where the documentation says that work is kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::ledger::{BlobId, Entry, blob_id_of};
use crate::support::TestRepo;

/// No text of the ledger is as long as this.
const LONGEST: u64 = 200;

/// Returns the entries that are found nowhere, each looked for several times: a directory moves
/// while it is read.
pub fn missing(repo: &TestRepo, required: HashMap<BlobId, Entry>) -> Vec<Entry> {
    let mut missing = required;
    for _ in 0..4 {
        if missing.is_empty() {
            break;
        }
        drop_from_disk(repo, &mut missing);
        if !missing.is_empty() {
            drop_from_objects(repo, &mut missing);
        }
    }
    missing.into_values().collect()
}

/// Takes out what is in a file of the main worktree, of a worktree or of the trash.
fn drop_from_disk(repo: &TestRepo, missing: &mut HashMap<BlobId, Entry>) {
    // where it was written comes first: most are still there
    let mut there = Vec::new();
    for (blob, entry) in missing.iter() {
        let root = if entry.name == "main" {
            repo.main().to_owned()
        } else {
            repo.worktree(&entry.name)
        };
        if std::fs::read(root.join(&entry.path)).is_ok_and(|bytes| bytes == entry.text.as_bytes()) {
            there.push(blob.clone());
        }
    }
    for blob in there {
        missing.remove(&blob);
    }
    if missing.is_empty() {
        return;
    }
    for directory in directories(repo) {
        drop_below(&directory, missing);
    }
    drop_below(repo.main(), missing);
}

fn drop_below(directory: &Path, missing: &mut HashMap<BlobId, Entry>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(metadata) = path.symlink_metadata() else {
            continue;
        };
        if metadata.is_dir() {
            if !path.ends_with(".git") && !path.ends_with(".agentwt") {
                drop_below(&path, missing);
            }
        } else if metadata.is_file() && metadata.len() < LONGEST {
            let bytes = std::fs::read(&path).unwrap_or_default();
            missing.remove(&blob_id_of(&bytes));
        }
    }
}

/// Takes out what git reaches: from refs, reflogs and indexes of all worktrees, and from what a
/// fenced command has in its private git directory.
fn drop_from_objects(repo: &TestRepo, missing: &mut HashMap<BlobId, Entry>) {
    let mut git_directories = vec![repo.main().join(".git")];
    for directory in directories(repo) {
        let own = directory.join(".git");
        if own.is_dir() {
            git_directories.push(own);
        }
    }
    let records = repo.main().join(".git/agentwt");
    for room in ["worktrees", "trash"] {
        for record in children(&records.join(room)) {
            let private = record.join("private/git");
            if private.is_dir() {
                git_directories.push(private);
            }
        }
    }
    for git_directory in git_directories {
        let git_directory = git_directory.to_string_lossy().into_owned();
        let selected = ["--objects", "--all", "--reflog", "--indexed-objects"];
        let words = [&["--git-dir", &git_directory, "rev-list"][..], &selected].concat();
        let listed = repo.try_git(repo.main(), &words);
        for line in listed.stdout.lines() {
            let id = line.split(' ').next().unwrap_or_default();
            missing.remove(id);
        }
    }
}

/// Returns the directories of all worktrees, and of those in the trash.
fn directories(repo: &TestRepo) -> Vec<PathBuf> {
    let worktrees = repo.main().join(".agentwt/worktrees");
    let mut directories = children(&worktrees);
    directories.retain(|path| !path.ends_with(".trash"));
    for entry in children(&worktrees.join(".trash")) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(".expired-") {
            directories.push(entry.clone());
        }
    }
    directories
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        children.push(entry.path());
    }
    children
}
