//! Finds the directories without a tracked file that ignore themselves, as `uv venv`, pytest and
//! husky make them: a `.gitignore` in them ignores everything.
//!
//! Files in one count as ignored, and the directory is one change. A file that is staged or
//! committed makes the directory an ordinary one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::{BStr, ByteSlice};

use crate::disk::open::{Opened, open_below};
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::Delta;
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::index::IndexState;
use crate::words::path::RepoPath;

/// No program writes a longer `.gitignore` of one pattern.
const LONGEST: u64 = 4096;

/// Holds what ignores itself.
#[derive(Debug, Default)]
pub struct SelfIgnored {
    /// The directories, each as one change.
    pub directories: Vec<Change>,
    /// The files in them, but for what the user's set-up created: that can be created again.
    pub files: BTreeSet<RepoPath>,
}

/// Finds the directories that ignore themselves, and marks the untracked files in them as ignored.
/// A directory that the user's set-up created is no change.
pub fn find_self_ignored(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    index: &IndexState,
    placed: &Placed,
    untracked: &mut BTreeMap<RepoPath, Seen>,
) -> SelfIgnored {
    let directories = outermost(&candidates(inputs, facts, index, untracked));
    let mut self_ignored = SelfIgnored::default();
    for directory in directories {
        let is_of_setup = placed.get(&directory).is_some_and(is_output_of_setup);
        let ignored = ignore_below(untracked, &directory);
        if is_of_setup {
            continue;
        }
        let number = ignored.len();
        self_ignored.files.extend(ignored);
        let detail = format!("the directory ignores itself; untracked files: {number}");
        self_ignored.directories.push(Change {
            is_directory: true,
            seen: [Seen::Untracked].into(),
            ..Change::detailed(Place::Path(directory), Kind::Created, detail)
        });
    }
    self_ignored
}

/// Lists the directories without a tracked file that have a `.gitignore` which ignores everything.
fn candidates(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    index: &IndexState,
    untracked: &BTreeMap<RepoPath, Seen>,
) -> BTreeSet<RepoPath> {
    let mut trees: Vec<&Delta> = facts.references.working.iter().collect();
    trees.extend(&index.deltas);
    trees.push(&facts.references.head);
    let mut directories = BTreeSet::new();
    for (path, seen) in untracked {
        let is_rules_file = path.as_bstr().ends_with(b"/.gitignore");
        if !is_rules_file || *seen != Seen::Untracked || !ignores_everything(inputs, path) {
            continue;
        }
        if let Some(directory) = path.parent()
            && !has_tracked(inputs, &trees, &directory)
        {
            directories.insert(directory);
        }
    }
    directories
}

/// Leaves out the directories that are below another one.
fn outermost(directories: &BTreeSet<RepoPath>) -> Vec<RepoPath> {
    let paths: HashSet<&BStr> = directories.iter().map(RepoPath::as_bstr).collect();
    let is_outermost =
        |directory: &&RepoPath| !directory.parents().any(|above| paths.contains(above));
    directories.iter().filter(is_outermost).cloned().collect()
}

/// Marks the untracked files below a directory as ignored, and returns them. Only what is below is
/// looked at: there can be as many directories as files.
fn ignore_below(untracked: &mut BTreeMap<RepoPath, Seen>, directory: &RepoPath) -> Vec<RepoPath> {
    let mut ignored = Vec::new();
    for (path, seen) in untracked.range_mut(RepoPath::child(Some(directory), b"")..) {
        if !path.is_below(directory.as_bstr()) {
            break;
        }
        if *seen == Seen::Untracked {
            *seen = Seen::Ignored;
            ignored.push(path.clone());
        }
    }
    ignored
}

/// True if the user's set-up created a directory that ignores itself.
fn is_output_of_setup(file: &PlacedFile) -> bool {
    file.origin == PlacedOrigin::Setup && file.kind == PlacedKind::Directory
}

/// True if a `.gitignore` on disk has one pattern, `*` (gitignore(5)).
fn ignores_everything(inputs: &SurveyInputs<'_>, path: &RepoPath) -> bool {
    let opened = open_below(&inputs.worktree.record.path, path);
    let Ok(Opened::File { size, content, .. }) = opened else {
        return false;
    };
    let mut text = Vec::new();
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(content, LONGEST), &mut text);
    let patterns: Vec<&[u8]> = text
        .lines()
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .collect();
    size < LONGEST && read.is_ok() && patterns == [b"*"]
}

/// True if the base or one of these trees has a file below a directory, or in its place.
fn has_tracked(inputs: &SurveyInputs<'_>, trees: &[&Delta], directory: &RepoPath) -> bool {
    let manifest = &inputs.manifest;
    let below = &manifest.items()[manifest.below(Some(directory))];
    manifest.base(directory).is_some()
        || below.iter().any(|item| item.base.is_some())
        || trees.iter().any(|tree| has_in_tree(tree, directory))
}

/// True if a tree has a file below a directory, or in its place.
fn has_in_tree(tree: &Delta, directory: &RepoPath) -> bool {
    let is_file = tree.get(directory).is_some_and(Option::is_some);
    is_file
        || tree
            .range(RepoPath::child(Some(directory), b"")..)
            .take_while(|(path, _)| path.is_below(directory.as_bstr()))
            .any(|(_, entry)| entry.is_some())
}
