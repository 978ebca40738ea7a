//! Finds the directories without a tracked file that ignore themselves, as `uv venv`, pytest and
//! husky make them: a `.gitignore` in them ignores everything.
//!
//! Files in one count as ignored, and the directory is one change. A file that is staged or
//! committed makes the directory an ordinary one.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use crate::disk::open::Opened;
use crate::disk::open::open_below;
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::Delta;
use crate::truth::ground::{Ground, Sources};
use crate::truth::states::IndexState;
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

/// Finds the directories, and marks the untracked files in them as ignored. One that the user's set-up
/// created is no change.
pub fn find_self_ignored(
    ground: &Ground<'_>,
    sources: &Sources,
    index: &IndexState,
    placed: &Placed,
    untracked: &mut BTreeMap<RepoPath, Seen>,
) -> SelfIgnored {
    let rules = untracked.iter().filter(|(path, seen)| {
        **seen == Seen::Untracked && path.as_bstr().ends_with(b"/.gitignore")
    });
    let mut directories: Vec<RepoPath> = rules
        .filter(|(path, _)| ignores_everything(ground, path))
        .filter_map(|(path, _)| path.parent())
        .collect();
    let compared = &sources.compared;
    let trees = compared.working.iter().chain(&index.deltas);
    let trees: Vec<&Delta> = trees.chain([&compared.head]).collect();
    directories.retain(|directory| !has_tracked(ground, &trees, directory));
    let outer = directories.clone();
    let is_below = |one: &RepoPath| outer.iter().any(|other| one.is_below(other.as_bstr()));
    directories.retain(|directory| !is_below(directory));
    let mut found = SelfIgnored::default();
    for directory in directories {
        let is_of_setup = placed.get(&directory).is_some_and(is_output_of_setup);
        let mut files = 0;
        let below = untracked.range_mut(directory.clone()..);
        for (path, seen) in below.filter(|(path, _)| path.is_below(directory.as_bstr())) {
            if *seen == Seen::Untracked {
                *seen = Seen::Ignored;
                files += 1;
                if !is_of_setup {
                    found.files.insert(path.clone());
                }
            }
        }
        if is_of_setup {
            continue;
        }
        let said = format!("the directory ignores itself; untracked files: {files}");
        found.directories.push(Change {
            is_directory: true,
            seen: [Seen::Untracked].into(),
            ..Change::detailed(Place::Path(directory), Kind::Created, said)
        });
    }
    found
}

/// Whether the user's set-up created a directory that ignores itself.
fn is_output_of_setup(file: &PlacedFile) -> bool {
    file.origin == PlacedOrigin::Setup && file.kind == PlacedKind::Directory
}

/// Whether a `.gitignore` on disk has one pattern, `*` (gitignore(5)).
fn ignores_everything(ground: &Ground<'_>, path: &RepoPath) -> bool {
    let opened = open_below(&ground.known.record.path, path);
    let Ok(Opened::File { size, content, .. }) = opened else {
        return false;
    };
    let mut text = Vec::new();
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(content, LONGEST), &mut text);
    let lines = text.lines().map(<[u8]>::trim_ascii_end);
    let patterns = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let patterns: Vec<&[u8]> = patterns.collect();
    size < LONGEST && read.is_ok() && patterns == [b"*"]
}

/// Whether the base or one of these trees has a file below a directory, or in its place.
fn has_tracked(ground: &Ground<'_>, trees: &[&Delta], directory: &RepoPath) -> bool {
    let manifest = &ground.manifest;
    let mut base = manifest.items()[manifest.below(Some(directory))].iter();
    let in_tree = |tree: &Delta| {
        let below = tree.range(RepoPath::child(Some(directory), b"")..);
        let mut below = below.take_while(|(path, _)| path.is_below(directory.as_bstr()));
        below.any(|(_, entry)| entry.is_some()) || tree.get(directory).is_some_and(Option::is_some)
    };
    manifest.base(directory).is_some()
        || base.any(|item| item.base.is_some())
        || trees.iter().any(|tree| in_tree(tree))
}
