//! Reads the ignore rules of a tree: what an agent adds to a `.gitignore` or to `info/exclude`
//! hides nothing.

use std::collections::BTreeSet;

use bstr::ByteSlice;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::ignore::{IgnoreStack, NameCase};
use crate::git::objects::Objects;
use crate::inventory::manifest::Manifest;
use crate::judge::compare::Delta;
use crate::truth::layers::content::files_of_tree;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::ignore_rules::EXCLUDE_RULE;
use crate::worktree::loaded::Worktree;

/// The name of a file with rules, in any directory.
const RULES_FILE: &[u8] = b".gitignore";

/// The user's own rules (`core.excludesFile`), as `add` recorded them.
pub const EXCLUDES_FILE: &str = "ignore/excludes-file";

/// The rules of `info/exclude`, as `add` recorded them.
pub const INFO_EXCLUDE: &str = "ignore/info-exclude";

/// The rules of one tree, and these of those that were recorded beside it.
///
/// # Errors
/// Fails when an object or a recorded file cannot be read.
pub fn rules(
    worktree: &Worktree,
    manifest: &Manifest,
    objects: &Objects,
    reference: &Delta,
    recorded: &[&str],
) -> Result<IgnoreStack, Error> {
    let mut texts = Vec::new();
    for (path, entry) in files_of_tree(manifest, reference, is_rules_file) {
        texts.push((path.parent(), objects.blob(&entry.id)?));
    }
    stack(worktree, &texts, recorded)
}

/// The rules that a tree has for these paths, and those that were recorded beside it.
///
/// # Errors
/// Fails when an object or a recorded file cannot be read.
pub fn rules_for<'p>(
    worktree: &Worktree,
    objects: &Objects,
    tree: &ObjectId,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<IgnoreStack, Error> {
    let mut files = BTreeSet::from([RepoPath::child(None, RULES_FILE)]);
    for path in paths {
        let mut directory = path.parent();
        while let Some(parent) = directory {
            files.insert(RepoPath::child(Some(&parent), RULES_FILE));
            directory = parent.parent();
        }
    }
    let mut texts = Vec::new();
    for (path, entry) in objects.at(tree, &files)? {
        if entry.mode.is_regular() {
            texts.push((path.parent(), objects.blob(&entry.id)?));
        }
    }
    stack(worktree, &texts, &[EXCLUDES_FILE, INFO_EXCLUDE])
}

/// The rules that git reads on disk now, where `changed_files` are files with rules that are not as
/// in the base, and these of those that were recorded beside it.
///
/// # Errors
/// Fails when an object or a file cannot be read.
pub fn rules_on_disk(
    worktree: &Worktree,
    manifest: &Manifest,
    objects: &Objects,
    changed_files: &Delta,
) -> Result<IgnoreStack, Error> {
    let mut texts = Vec::new();
    for (path, entry) in files_of_tree(manifest, changed_files, is_rules_file) {
        let text = if changed_files.contains_key(path) {
            // no object has it yet
            let file = worktree.record.path.join(path.to_string());
            files::read(&file)?.unwrap_or_default()
        } else {
            objects.blob(&entry.id)?
        };
        texts.push((path.parent(), text));
    }
    stack(worktree, &texts, &[EXCLUDES_FILE, INFO_EXCLUDE])
}

/// Joins the texts of a tree, each with its directory, and these of those that were recorded beside
/// it.
fn stack(
    worktree: &Worktree,
    texts: &[(Option<RepoPath>, Vec<u8>)],
    recorded: &[&str],
) -> Result<IgnoreStack, Error> {
    let mut shared = Vec::new();
    for name in recorded {
        shared.extend(files::read(&worktree.dir.join(name))?);
    }
    let case = if worktree.record.ignore_case {
        NameCase::Folded
    } else {
        NameCase::Sensitive
    };
    Ok(IgnoreStack::new(&shared, texts, case)?)
}

/// True if the rules ignore what stands at a path on disk.
pub fn is_ignored(rules: &mut IgnoreStack, path: &RepoPath, mode: Mode) -> bool {
    match mode {
        Mode::EmptyDirectory => rules.ignores_directory(path),
        Mode::NestedGit => path.parent().is_some_and(|p| rules.ignores_directory(&p)),
        Mode::File | Mode::Executable | Mode::Link | Mode::Gitlink | Mode::Special => {
            rules.ignores_file(path)
        }
    }
}

/// True if git reads ignore rules from a file of this path.
pub fn is_rules_file(path: &RepoPath) -> bool {
    // to look where the name begins takes longer than to see that it does not end so
    path.as_bstr().ends_with(RULES_FILE) && path.file_name() == RULES_FILE
}

/// True if the user had rules of their own at `add`, which no commit has: what they hide may be
/// work.
///
/// # Errors
/// Fails when the disk does.
pub fn has_own_rules(worktree: &Worktree) -> Result<bool, DiskError> {
    for name in [EXCLUDES_FILE, INFO_EXCLUDE] {
        let text = files::read(&worktree.dir.join(name))?.unwrap_or_default();
        for line in text.lines() {
            let rule = line.trim_ascii();
            let is_comment = rule.is_empty() || rule.starts_with(b"#");
            if !is_comment && rule != EXCLUDE_RULE.as_bytes() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
