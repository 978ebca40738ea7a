//! Tells untracked files from ignored ones, by the ignore rules of the base: what an agent adds
//! to a `.gitignore` or to `info/exclude` hides nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::Seen;
use crate::compare::{Delta, entry_in};
use crate::disk::files;
use crate::entry::Mode;
use crate::git::ignore::IgnoreRules;
use crate::git::objects::Objects;
use crate::manifest::Manifest;
use crate::path::RepoPath;
use crate::placed::Placed;
use crate::truth::ground::{Ground, Sources};
use crate::truth::index::IndexState;
use crate::worktree::{Worktree, WorktreeError};

/// The user's own rules (`core.excludesFile`), as `add` recorded them.
pub const EXCLUDES_FILE: &str = "ignore/excludes-file";

/// Says of every path on disk that git does not know whether it is ignored, or was placed and is
/// not as it was.
pub fn classify(
    ground: &Ground<'_>,
    sources: &Sources,
    placed: &Placed,
    disk: &Delta,
    index: &IndexState,
) -> Result<BTreeMap<RepoPath, Seen>, WorktreeError> {
    let (known, manifest, objects) = (ground.known, &ground.manifest, &ground.objects);
    let (references, head) = (&sources.compared.working, &sources.compared.head);
    let is_unknown = |path: &RepoPath| {
        let mut trees = references.iter().chain([head]);
        !index.adds(path) && !trees.any(|delta| entry_in(manifest, delta, path).is_some())
    };
    let there = disk.iter();
    let there = there.filter_map(|(path, entry)| Some((path, (*entry)?)));
    let untracked = there.filter(|(path, _)| is_unknown(path));
    let mut seen = BTreeMap::new();
    // read for the first; without rules everything that is untracked counts
    let mut rules_of_base: Option<Option<IgnoreRules>> = None;
    for (path, entry) in untracked {
        if placed.get(path).is_some() {
            seen.insert(path.clone(), Seen::Synced);
            continue;
        }
        if rules_of_base.is_none() {
            let nothing = Delta::new();
            let nearest = references.first().unwrap_or(&nothing);
            let recorded = [EXCLUDES_FILE, "ignore/info-exclude"];
            let read = rules(known, manifest, objects, nearest, &recorded);
            rules_of_base = Some(ground.terms.effort.or(read.map(Some), || None)?);
        }
        let mut rules = rules_of_base.iter_mut().flatten();
        let ignored = rules.any(|rules| is_ignored(rules, path, entry.mode));
        let how = if ignored {
            Seen::Ignored
        } else {
            Seen::Untracked
        };
        seen.insert(path.clone(), how);
    }
    Ok(seen)
}

/// Whether the rules ignore what stands at a path on disk.
pub fn is_ignored(rules: &mut IgnoreRules, path: &RepoPath, mode: Mode) -> bool {
    match mode {
        Mode::EmptyDirectory => rules.ignores_directory(path),
        Mode::NestedGit => path.parent().is_some_and(|p| rules.ignores_directory(&p)),
        Mode::File | Mode::Executable | Mode::Link | Mode::Gitlink | Mode::Special => {
            rules.ignores_file(path)
        }
    }
}

/// The rules of one tree, and these of those that were recorded beside it.
pub fn rules(
    known: &Worktree,
    manifest: &Manifest,
    objects: &Objects,
    reference: &Delta,
    recorded: &[&str],
) -> Result<IgnoreRules, WorktreeError> {
    // to look where the name begins takes longer than to see that it does not end so
    let is_rules = |path: &RepoPath| {
        path.as_bstr().ends_with(b".gitignore") && path.file_name() == ".gitignore"
    };
    let base = manifest.items().iter().map(|item| &item.path);
    let paths = base.chain(reference.keys()).filter(|path| is_rules(path));
    let paths: BTreeSet<&RepoPath> = paths.collect();
    let mut texts = Vec::new();
    for path in paths {
        if let Some(entry) = entry_in(manifest, reference, path).filter(|e| e.mode.is_regular()) {
            texts.push((path.parent(), objects.blob(&entry.id)?));
        }
    }
    let mut shared = Vec::new();
    for name in recorded {
        shared.extend(files::read(&known.dir.join(name))?);
    }
    let ignore_case = known.record.ignore_case;
    Ok(IgnoreRules::new(&shared, &texts, ignore_case)?)
}
