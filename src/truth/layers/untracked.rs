//! Tells untracked files from ignored ones, by the ignore rules of the base.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::files;
use crate::disk::scan::walk::Unreadable;
use crate::git::ignore::IgnoreStack;
use crate::inventory::manifest::Manifest;
use crate::inventory::placed::Placed;
use crate::judge::change::Seen;
use crate::judge::compare::{Delta, entry_in};
use crate::scope::rule::{Access, EntryKind};
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::ignore_rules::{
    EXCLUDES_FILE, INFO_EXCLUDE, has_own_rules, is_ignored, is_rules_file, rules, rules_on_disk,
};
use crate::truth::layers::index::IndexState;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Says how each path is seen that no tree and no index has, so that git does not know it: it is
/// ignored, untracked, or was placed. `disk` is what differs on disk from the base, and has a placed
/// path only if that is not as it was placed.
///
/// # Errors
/// Fails when the ignore rules of the base cannot be read.
pub fn classify_unknown_to_git(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    placed: &Placed,
    disk: &Delta,
    index: &IndexState,
) -> Result<BTreeMap<RepoPath, Seen>, Error> {
    let trees = trees_of(facts);
    let mut untracked = BTreeMap::new();
    let mut rules = BaseRules::NotRead;
    for (path, entry) in disk {
        let Some(entry) = entry else {
            continue;
        };
        if index.adds(path) || is_in_any(&inputs.manifest, &trees, path) {
            continue;
        }
        let seen = if placed.get(path).is_some() {
            Seen::Synced
        } else if rules.ignore(inputs, facts, path, entry.mode)? {
            Seen::Ignored
        } else {
            Seen::Untracked
        };
        untracked.insert(path.clone(), seen);
    }
    Ok(untracked)
}

/// Finds which of the paths that cannot be read are build output all the same, as the volume of a
/// container is that another user owns: the base ignores the path, no tree and no index has anything
/// there, and no pattern excludes it. It cannot be merged.
///
/// # Errors
/// Fails when the ignore rules of the base cannot be read.
pub fn find_unreadable_output(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    index: &IndexState,
    unreadable: &[Unreadable],
) -> Result<BTreeSet<RepoPath>, Error> {
    let trees = trees_of(facts);
    let mut classifier = inputs.worktree.scope.classifier();
    let mut rules = BaseRules::NotRead;
    let mut output = BTreeSet::new();
    for path in unreadable.iter().filter_map(|one| one.path.as_ref()) {
        let is_known_to_git = index.adds(path)
            || inputs.manifest.has_directory(path)
            || is_in_any(&inputs.manifest, &trees, path);
        // a pipe of such a name stops each git that looks for a repository there
        let may_be_repository = path.file_name().starts_with(b".git");
        if is_known_to_git || may_be_repository {
            continue;
        }
        let is_directory = files::is_directory(&inputs.worktree.record.path.join(path.to_string()));
        let mode = if is_directory {
            Mode::EmptyDirectory
        } else {
            Mode::File
        };
        let verdict = classifier.verdict(path, EntryKind::of(mode));
        let is_excluded = verdict.access == Access::Excluded && verdict.rule.is_some();
        if !is_excluded && rules.ignore(inputs, facts, path, mode)? {
            output.insert(path.clone());
        }
    }
    Ok(output)
}

/// The trees that say what git knows: those of the references, and HEAD's.
fn trees_of(facts: &CommitFacts) -> Vec<&Delta> {
    let mut trees: Vec<&Delta> = facts.references.working.iter().collect();
    trees.push(&facts.references.head);
    trees
}

/// True if one of these trees has something at a path.
fn is_in_any(manifest: &Manifest, trees: &[&Delta], path: &RepoPath) -> bool {
    let mut entries = trees.iter().map(|tree| entry_in(manifest, tree, path));
    entries.any(|entry| entry.is_some())
}

/// Holds the ignore rules of the base, read for the first path.
enum BaseRules {
    NotRead,
    Read(IgnoreStack),
    /// They cannot be read: everything that is untracked counts.
    Unreadable,
}

impl BaseRules {
    /// True if the rules ignore what stands at a path on disk.
    fn ignore(
        &mut self,
        inputs: &SurveyInputs<'_>,
        facts: &CommitFacts,
        path: &RepoPath,
        mode: Mode,
    ) -> Result<bool, Error> {
        if matches!(self, Self::NotRead) {
            let nearest = facts.references.reference_on_disk();
            *self = match read_rules(inputs, nearest, &[EXCLUDES_FILE, INFO_EXCLUDE])? {
                Some(rules) => Self::Read(rules),
                None => Self::Unreadable,
            };
        }
        match self {
            Self::Read(rules) => Ok(is_ignored(rules, path, mode)),
            Self::NotRead | Self::Unreadable => Ok(false),
        }
    }
}

/// Reads the ignore rules of a reference, and these of those that `add` recorded beside it; none
/// if reading goes on without them.
fn read_rules(
    inputs: &SurveyInputs<'_>,
    reference: &Delta,
    recorded: &[&str],
) -> Result<Option<IgnoreStack>, Error> {
    let manifest = &inputs.manifest;
    let read = rules(
        inputs.worktree,
        manifest,
        &inputs.objects,
        reference,
        recorded,
    );
    inputs.options.read_policy.or(read.map(Some), || None)
}

/// Finds the paths that the base ignores and that the worktree's own rules do not ignore any more:
/// git lists these as untracked, so they may be work.
///
/// # Errors
/// Fails when the rules cannot be read.
pub fn find_unignored(
    inputs: &SurveyInputs<'_>,
    disk: &Delta,
    untracked: &BTreeMap<RepoPath, Seen>,
) -> Result<BTreeSet<RepoPath>, Error> {
    let mut unignored = BTreeSet::new();
    let mut changed_files = Delta::new();
    let mut has_changed_rules = false;
    for (path, entry) in disk.iter().filter(|(path, _)| is_rules_file(path)) {
        changed_files.insert(path.clone(), *entry);
        // rules in a directory that is ignored, or ignores itself, let nothing out
        has_changed_rules |= untracked.get(path) != Some(&Seen::Ignored);
    }
    if !has_changed_rules {
        return Ok(unignored);
    }
    let read = rules_on_disk(
        inputs.worktree,
        &inputs.manifest,
        &inputs.objects,
        &changed_files,
    );
    let read_policy = &inputs.options.read_policy;
    let Some(mut rules_now) = read_policy.or(read.map(Some), || None)? else {
        return Ok(unignored);
    };
    for (path, seen) in untracked {
        if let Some(Some(entry)) = disk.get(path)
            && *seen == Seen::Ignored
            && !is_ignored(&mut rules_now, path, entry.mode)
        {
            unignored.insert(path.clone());
        }
    }
    Ok(unignored)
}

/// Finds the ignored paths that the base's own rules do not ignore: upstream's `.gitignore` that
/// was taken over hides them, or a rule of the user's own. Adds them to `self_ignored`, the files
/// in directories that ignore themselves.
///
/// # Errors
/// Fails when the ignore rules of the base cannot be read.
pub fn find_ignored_beside_base(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    disk: &Delta,
    untracked: &BTreeMap<RepoPath, Seen>,
    self_ignored: BTreeSet<RepoPath>,
) -> Result<BTreeSet<RepoPath>, Error> {
    // no rule of the base ignores these either
    let mut hidden = self_ignored;
    let reference = facts.references.reference_on_disk();
    // it has only what differs from the base
    let has_rules_beside_base =
        reference.keys().any(is_rules_file) || has_own_rules(inputs.worktree)?;
    if !has_rules_beside_base {
        // `classify_unknown_to_git` asked the base's own rules and no others
        return Ok(hidden);
    }
    let base_itself = Delta::new();
    let mut rules_of_base = read_rules(inputs, &base_itself, &[])?;
    for (path, seen) in untracked {
        let Some(Some(entry)) = disk.get(path) else {
            continue;
        };
        if *seen != Seen::Ignored {
            continue;
        }
        let is_ignored_by_base = match &mut rules_of_base {
            Some(rules) => is_ignored(rules, path, entry.mode),
            None => false,
        };
        if !is_ignored_by_base {
            hidden.insert(path.clone());
        }
    }
    Ok(hidden)
}
