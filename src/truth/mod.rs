//! Collects the ground truth: every path that a worktree changed since its base.
//!
//! Neither `git status` nor any other reading of the worktree's index through git takes part:
//! commits are compared as trees, the index entry by entry, and the disk by an own walk that is
//! held against the manifest. Each is compared with the reference trees of the base.
//!
//! 1. [`inputs`]: all that is read of refs, logs, the journal and seals, once; [`options`] says
//!    how.
//! 2. [`attribution`]: who moved which ref; [`ref_facts`] and [`upstream`]: whose work a commit is.
//! 3. [`references`]: what may be taken over from others without a change.
//! 4. [`layers`]: the index, the disk and submodules as differences from the base.
//! 5. [`checks`]: what is wrong, in the one list of passes that stands here.

pub mod attribution;
pub mod checks;
pub mod digests;
pub mod facts;
pub mod git_dirs;
pub mod head;
pub mod history;
pub mod hook_journal;
pub mod inputs;
pub mod keys;
pub mod layered;
pub mod layers;
pub mod live;
pub mod options;
pub mod planted;
pub mod reading;
pub mod ref_facts;
pub mod ref_history;
pub mod references;
pub mod rewired;
pub mod seal;
pub mod stash;
pub mod survey;
pub mod uncommitted;
pub mod upstream;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::disk::files;
use crate::git::index::OpenIndex;
use crate::judge::change::{Change, ChangeSet, Extent, Kind, Place, Seen, SharedChange};
use crate::judge::compare::{Delta, FormerEntries, State};
use crate::record::accepted::Acceptances;
use crate::truth::checks::git_files::find_git_files;
use crate::truth::checks::harmless::find_harmless;
use crate::truth::checks::head::{HeadFinding, find_head};
use crate::truth::checks::history::reverted_paths;
use crate::truth::checks::integrity::{IntegrityChanges, find_integrity, index_marks, integrity};
use crate::truth::checks::leaks::leaks;
use crate::truth::checks::links::links_out;
use crate::truth::checks::net::net_changes;
use crate::truth::checks::refs::{find_refs, name_commits};
use crate::truth::checks::self_ignored::find_self_ignored;
use crate::truth::checks::settings::find_settings;
use crate::truth::checks::shadows::find_shadows;
use crate::truth::facts::CommitFacts;
use crate::truth::history::{History, contents};
use crate::truth::inputs::{SurveyInputs, base_at};
use crate::truth::layered::{CreatedHere, FormerVersions, Layers, WholeBase};
use crate::truth::layers::converted::Filters;
use crate::truth::layers::disk::DiskState;
use crate::truth::layers::index::IndexState;
use crate::truth::layers::untracked::{
    classify_unknown_to_git, find_ignored_beside_base, find_unignored, find_unreadable_output,
};
use crate::truth::options::SurveyOptions;
use crate::truth::reading::{IndexThread, Reading, SharedChecks, ToRead};
use crate::truth::references::{References, Trees};
use crate::truth::rewired::rewired_remotes_now;
use crate::truth::survey::{States, Survey};
use crate::truth::upstream::{Tips, find_tips, recorded_tips};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Says how much of a worktree is looked at.
#[derive(Clone, Copy, Debug)]
pub enum SurveyExtent<'a> {
    /// What was committed, the index and every file.
    Everything,
    /// What was committed: neither the index nor a file is looked at, and of the base only the
    /// paths that a commit touched. It takes as long as the work is large.
    Commits,
    /// The net changes that a commit would make onto which the branch is to be moved.
    Proposed(&'a CommitId),
}

/// Collects everything.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read. Damage inside the
/// worktree is no error but part of the answer.
pub fn collect(repository: &Repository, worktree: &Worktree) -> Result<Survey, Error> {
    collect_with(repository, worktree, &SurveyOptions::default())
}

/// Collects everything as these options say.
///
/// # Errors
/// As [`collect`]; with the best effort, only when there is nothing left to compare with.
pub fn collect_with(
    repository: &Repository,
    worktree: &Worktree,
    options: &SurveyOptions,
) -> Result<Survey, Error> {
    let repository = &worktree.readable_repository(repository);
    if let Err(fault) = worktree.require_applied_scope()
        // `reapply` is refused then, so the verdict says what was planted
        && planted::find(repository, worktree)?.is_empty()
    {
        return Err(fault.into());
    }
    let own_index = worktree.record.admin_dir.join("index");
    let index = options.index.as_ref().unwrap_or(&own_index);
    std::thread::scope(|threads| {
        let index = threads.spawn(|| {
            let is_there = files::exists(index);
            let read = is_there.then(|| OpenIndex::read(index, repository.format));
            read?.ok()
        });
        survey_everything(repository, worktree, options, index)
    })
}

/// Collects the changes that a hook reports, to this extent.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn collect_changes(
    repository: &Repository,
    worktree: &Worktree,
    extent: SurveyExtent<'_>,
) -> Result<ChangeSet, Error> {
    match extent {
        SurveyExtent::Everything => {
            let survey = collect(repository, worktree)?;
            worktree.write_walked(survey.walked.as_ref());
            Ok(survey.changes)
        }
        SurveyExtent::Commits => survey_commits(repository, worktree),
        SurveyExtent::Proposed(commit) => survey_proposed(repository, worktree, commit),
    }
}

/// Holds what the passes found that look at layers and at history.
pub struct PassFindings {
    /// The net changes.
    pub net: Vec<Change>,
    /// What commits touched though it is as before again, and what they held of excluded files.
    pub history: Vec<Change>,
    /// Contents of excluded files in other places.
    pub leaks: Vec<Change>,
}

/// Runs the passes that look at layers and at history: for `verify`, the hooks, `verify --range`,
/// `exec` and `land` alike.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn run_passes(layers: &Layers<'_>, options: &SurveyOptions) -> Result<PassFindings, Error> {
    let read_policy = &options.read_policy;
    let net = net_changes(layers);
    let found_leaks = leaks(layers, &contents(&net, &layers.deltas));
    let leaks_of_net = read_policy.or(found_leaks, Vec::new)?;
    let net_paths = paths_of(&net);
    let mut history = reverted_paths(layers, &net_paths);
    let leaks_of_history = leaks(layers, &layers.history.contents(&net_paths));
    history.extend(read_policy.or(leaks_of_history, Vec::new)?);
    Ok(PassFindings {
        history,
        leaks: leaks_of_net,
        net,
    })
}

/// Lists the paths of changes.
fn paths_of(changes: &[Change]) -> BTreeSet<&RepoPath> {
    changes
        .iter()
        .filter_map(|change| change.place.path())
        .collect()
}

/// Holds the layers of files, and how what is untracked in them is seen.
struct FileLayers<'a> {
    index: &'a IndexState,
    disk: &'a DiskState,
    untracked: &'a BTreeMap<RepoPath, Seen>,
}

/// Compares each state of a worktree with its references: HEAD, the branches beside HEAD and, if
/// `files` are given, the index and the disk. Those two may also have what a merge in progress
/// brings.
fn run_passes_of_worktree(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    files: Option<&FileLayers<'_>>,
) -> Result<PassFindings, Error> {
    let references = &facts.references;
    let committed_references = references.with_tips(&references.committed);
    let working_references = references.with_tips(&references.working);
    let mut branch_references = Vec::new();
    for branch in &references.branches {
        branch_references.push(references.with_tips(&branch.references));
    }
    let seen_in_commit = |path: &RepoPath| facts.history.seen(path);
    let seen_in_file = |path: &RepoPath| seen_on_disk(files, path);
    let is_silent = |path: &RepoPath| is_silent_on_disk(inputs, files, path);
    let since_head = references.since_head.as_ref();
    let mut states = Vec::new();
    if inputs.head.head.is_some() {
        let head = State::new(&references.head, &committed_references, &seen_in_commit);
        states.push(head.with_since(since_head));
    }
    for (branch, its_references) in references.branches.iter().zip(&branch_references) {
        let state = State::new(&branch.delta, its_references, &seen_in_commit);
        states.push(state.with_since(branch.since.as_ref()));
    }
    let mut deltas = facts.committed();
    let mut placed = Vec::new();
    if let Some(files) = files {
        for delta in &files.index.deltas {
            let state = State::new(delta, &working_references, &|_| Seen::Index);
            states.push(state.with_since(since_head));
            deltas.push(delta);
        }
        let disk = State {
            silent: &is_silent,
            ..State::new(&files.disk.delta, &working_references, &seen_in_file)
        };
        states.push(disk.with_since(since_head));
        deltas.push(&files.disk.delta);
        placed.extend(files.disk.placed.values().cloned());
    }
    let layers = Layers {
        states,
        deltas,
        placed,
        ..layers_without_states(inputs, facts, files)
    };
    run_passes(&layers, inputs.options)
}

/// Returns the layers of a worktree with all but the states, their differences and the placed
/// files: the caller adds those.
fn layers_without_states<'a>(
    inputs: &'a SurveyInputs<'_>,
    facts: &'a CommitFacts,
    files: Option<&FileLayers<'_>>,
) -> Layers<'a> {
    let references = &facts.references;
    let mut upstream_trees: Vec<&Delta> = references.working.iter().collect();
    upstream_trees.extend(&references.tips);
    let mut references_of_head: Vec<&Delta> = references.committed.iter().collect();
    references_of_head.extend(&references.tips);
    let mut since: Vec<&FormerEntries> = references.since_head.iter().collect();
    for branch in &references.branches {
        since.extend(&branch.since);
    }
    let manifest = &inputs.manifest;
    // without files, the manifest has only the paths that commits touched
    let whole_base = match files {
        Some(_) => WholeBase::Read(manifest),
        None => WholeBase::Recorded(inputs.worktree),
    };
    Layers {
        references: references_of_head,
        created_here: CreatedHere::Among(commits_head_was_on(inputs, facts)),
        upstream_trees,
        former_versions: former_versions(inputs, &facts.references.trusted),
        since,
        ..Layers::new(&inputs.worktree.scope, manifest, whole_base, &facts.history)
    }
}

/// Returns how a path on disk is seen.
fn seen_on_disk(files: Option<&FileLayers<'_>>, path: &RepoPath) -> Seen {
    let Some(files) = files else {
        return Seen::Disk;
    };
    let hidden = files.index.hidden.get(path);
    let seen = hidden.or_else(|| files.untracked.get(path));
    seen.cloned().unwrap_or(Seen::Disk)
}

/// True if the disk says nothing of a path: the scope leaves it out, or it was placed, which is
/// compared with no reference.
fn is_silent_on_disk(
    inputs: &SurveyInputs<'_>,
    files: Option<&FileLayers<'_>>,
    path: &RepoPath,
) -> bool {
    files.is_some_and(|files| {
        let disk = files.disk;
        disk.placed.contains_key(path) || disk.leaves_out(path, &inputs.worktree.scope)
    })
}

/// Lists the commits that HEAD was on, as the journal and the reflog say.
fn commits_head_was_on<'a>(
    inputs: &'a SurveyInputs<'_>,
    facts: &'a CommitFacts,
) -> HashSet<&'a CommitId> {
    let mut commits: HashSet<&CommitId> = facts.ref_facts.journaled_heads.iter().collect();
    for entry in &inputs.head.reflog {
        commits.insert(&entry.id);
    }
    commits
}

/// Says where the history of upstream is read; none if it is not known when the worktree was made.
fn former_versions<'a>(
    inputs: &'a SurveyInputs<'_>,
    tips: &'a [CommitId],
) -> Option<FormerVersions<'a>> {
    let before = files::created(inputs.worktree.dir.as_std_path())?;
    Some(FormerVersions {
        objects: &inputs.objects,
        before,
        tips,
    })
}

/// Looks at everything; another thread reads the index.
fn survey_everything(
    repository: &Repository,
    worktree: &Worktree,
    options: &SurveyOptions,
    index: IndexThread<'_>,
) -> Result<Survey, Error> {
    let to_read = ToRead {
        repository,
        worktree,
        options,
        shared_checks: run_shared_checks,
    };
    let mut reading = to_read.read(index)?;
    let untracked = UntrackedFiles::find(&reading)?;
    let mut deltas_of_files: Vec<&Delta> = reading.index.deltas.iter().collect();
    deltas_of_files.push(&reading.disk.delta);
    reading
        .facts
        .add_former_entries_for_files(&reading.inputs, &deltas_of_files)?;
    let files = FileLayers {
        index: &reading.index,
        disk: &reading.disk,
        untracked: &untracked.seen,
    };
    let findings = run_passes_of_worktree(&reading.inputs, &reading.facts, Some(&files))?;
    Ok(Survey {
        changes: changes_of_everything(&reading, untracked.self_ignored, findings)?,
        head: reading.inputs.head,
        commits: reading.facts.commits,
        walked: reading.walked,
        states: States {
            manifest: Arc::unwrap_or_clone(reading.inputs.manifest),
            references: reading.facts.references,
            index: reading.index,
            disk: reading.disk,
            untracked: untracked.seen,
            hidden: untracked.hidden,
            unignored: untracked.unignored,
            placed: reading.placed,
        },
    })
}

/// Holds what is on disk and git does not know.
struct UntrackedFiles {
    /// How each path is seen.
    seen: BTreeMap<RepoPath, Seen>,
    /// The ignored paths that the base's own rules do not name.
    hidden: BTreeSet<RepoPath>,
    /// The ignored paths that the worktree's own rules do not ignore any more.
    unignored: BTreeSet<RepoPath>,
    /// The directories that ignore themselves.
    self_ignored: Vec<Change>,
}

impl UntrackedFiles {
    /// Tells untracked files from ignored ones.
    fn find(reading: &Reading<'_>) -> Result<Self, Error> {
        let inputs = &reading.inputs;
        let facts = &reading.facts;
        let index = &reading.index;
        let placed = &reading.placed;
        let disk = &reading.disk.delta;
        let mut seen = classify_unknown_to_git(inputs, facts, placed, disk, index)?;
        let self_ignored = find_self_ignored(inputs, facts, index, placed, &mut seen);
        let unignored = find_unignored(inputs, disk, &seen)?;
        let hidden = find_ignored_beside_base(inputs, facts, disk, &seen, self_ignored.files)?;
        Ok(Self {
            seen,
            hidden,
            unignored,
            self_ignored: self_ignored.directories,
        })
    }
}

/// Assembles the answer from what was found before, and from the last checks: links that lead out,
/// changes beside the net changes, changes that do no harm, and damage.
fn changes_of_everything(
    reading: &Reading<'_>,
    self_ignored: Vec<Change>,
    findings: PassFindings,
) -> Result<ChangeSet, Error> {
    let inputs = &reading.inputs;
    let worktree = inputs.worktree;
    let disk = &reading.disk;
    let links_out = links_out(worktree, &findings.net, &disk.delta);
    let mut changes = changes_beside_net(inputs, &reading.facts, disk, &findings.net);
    changes.extend(disk.copied_though_excluded(&reading.placed, &worktree.scope));
    changes.extend(findings.net);
    changes.sort();
    let filters = Filters::of(worktree, &reading.shared);
    let harmless_result = find_harmless(inputs, filters, &reading.index, &changes);
    let mut apart = self_ignored;
    apart.extend(inputs.options.read_policy.or(harmless_result, Vec::new)?);
    let mut integrity = find_integrity(inputs)?;
    integrity.wrong.extend(find_index_damage(&reading.index));
    let unreadable = UnreadablePaths::find(reading)?;
    integrity.wrong.extend(unreadable.wrong);
    let mut set = change_set(inputs, &reading.facts, changes, integrity);
    set.noted.extend(unreadable.output);
    Ok(ChangeSet {
        history: findings.history,
        leaks: findings.leaks,
        links_out,
        apart,
        shared: reading.shared.clone(),
        ..set
    })
}

/// The checks of what worktrees share; that git takes something for a ref is found by the last.
const SHARED_CHECKS: [SharedChecks; 3] = [find_git_files, find_settings, find_refs];

/// Runs the checks of what worktrees share, and names what was accepted and is as before again.
fn run_shared_checks(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
) -> Result<Vec<SharedChange>, Error> {
    let Some(refs) = &inputs.refs else {
        return Ok(Vec::new());
    };
    let read_policy = &inputs.options.read_policy;
    let mut changes = read_policy.or(find_shared(inputs, facts), Vec::new)?;
    let accepted = Acceptances::new(&inputs.worktree.record.decisions);
    let reverted = accepted.find_reverted(&changes);
    changes.extend(reverted);
    name_commits(refs, &mut changes);
    changes.sort();
    Ok(changes)
}

/// Finds what is not as it was of what worktrees share.
fn find_shared(inputs: &SurveyInputs<'_>, facts: &CommitFacts) -> Result<Vec<SharedChange>, Error> {
    let mut changes = Vec::new();
    for check in SHARED_CHECKS {
        changes.extend(check(inputs, facts)?);
    }
    let shadows = find_shadows(inputs, facts)?;
    for shadow in &shadows {
        // that git takes it for something else says more than that it came
        changes.retain(|change| {
            let is_same_place = change.change.place == shadow.change.place;
            !is_same_place || shadow.cause > change.cause
        });
    }
    changes.extend(shadows);
    Ok(changes)
}

/// Lists the changes on disk that are no net change: excluded files that are there, what is inside
/// submodules, and write bits.
fn changes_beside_net(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    disk: &DiskState,
    net: &[Change],
) -> Vec<Change> {
    let net_paths = paths_of(net);
    let references = &facts.references.working;
    let mut changes = disk.inside.clone();
    changes.extend(disk.present_though_excluded(inputs, references, &net_paths));
    for path in &disk.permissions {
        if !net_paths.contains(path) {
            let place = Place::Path(path.clone());
            changes.push(Change::new(place, Kind::Perm, Seen::Disk));
        }
    }
    changes
}

/// Looks at what was committed.
fn survey_commits(repository: &Repository, worktree: &Worktree) -> Result<ChangeSet, Error> {
    let repository = &worktree.readable_repository(repository);
    let options = SurveyOptions::default();
    let mut inputs = SurveyInputs::read(repository, worktree, &options)?;
    let facts = CommitFacts::read(&inputs)?;
    inputs.manifest = Arc::new(base_at(&inputs.objects, worktree, facts.paths())?);
    let shared = run_shared_checks(&inputs, &facts)?;
    let findings = run_passes_of_worktree(&inputs, &facts, None)?;
    let filters = Filters::of(worktree, &shared);
    let apart = find_harmless(&inputs, filters, &IndexState::default(), &findings.net)?;
    let integrity = find_integrity(&inputs)?;
    Ok(ChangeSet {
        looked: Extent::Commits,
        history: findings.history,
        apart,
        leaks: findings.leaks,
        shared,
        ..change_set(&inputs, &facts, findings.net, integrity)
    })
}

/// Looks at a commit that no ref has yet, as though HEAD were on it: only its tree counts, neither
/// its history nor the files on disk.
fn survey_proposed(
    repository: &Repository,
    worktree: &Worktree,
    commit: &CommitId,
) -> Result<ChangeSet, Error> {
    let record = &worktree.record;
    let base = &record.base.commit;
    let options = SurveyOptions::default();
    let inputs = SurveyInputs::of_proposal(repository, worktree, &options)?;
    let rewired = rewired_remotes_now(repository, worktree)?;
    let tips = match &inputs.refs {
        Some(refs) => find_tips(&inputs.objects, refs, &rewired)?,
        None => recorded_tips(record),
    };
    let mut trees = Trees::new(&inputs.objects, &record.checked_out)?;
    let references = references_of_proposal(&inputs, &mut trees, &tips, commit)?;
    let delta = trees.delta(commit)?;
    let paths = references.iter().chain([&delta]).flat_map(Delta::keys);
    let manifest = base_at(&inputs.objects, worktree, paths)?;
    let seen = |_: &RepoPath| Seen::Commit(commit.clone());
    let history = History::default();
    let whole_base = WholeBase::Recorded(worktree);
    let layers = Layers {
        states: vec![State::new(&delta, &references, &seen)],
        deltas: vec![&delta],
        upstream_trees: references.iter().collect(),
        former_versions: former_versions(&inputs, &tips.trusted),
        ..Layers::new(&worktree.scope, &manifest, whole_base, &history)
    };
    let findings = run_passes(&layers, &options)?;
    Ok(ChangeSet {
        looked: Extent::Commits,
        leaks: findings.leaks,
        ..ChangeSet::new(base.clone(), commit.clone(), findings.net)
    })
}

/// Lists the trees that a proposed commit may be like without a change made here.
fn references_of_proposal(
    inputs: &SurveyInputs<'_>,
    trees: &mut Trees<'_>,
    tips: &Tips,
    commit: &CommitId,
) -> Result<Vec<Delta>, Error> {
    let base = &inputs.worktree.record.base.commit;
    let of_commit = References::find(
        &inputs.git,
        trees,
        commit,
        base,
        &tips.trusted,
        &tips.rewound,
    )?;
    let mut references = of_commit.deltas;
    // as in `ReferenceTrees::with_tips`: to be like the newest of upstream is no change
    let newest = tips.newest(&inputs.git)?;
    references.extend(trees.merged(&inputs.git, &newest)?);
    Ok(references)
}

/// Finds that the index cannot be read, and the marks in it.
fn find_index_damage(index: &IndexState) -> Vec<Change> {
    let mut changes = Vec::new();
    if index.damaged {
        let place = Place::Admin("index".into());
        changes.push(integrity(place, "it is missing or cannot be read"));
    }
    changes.extend(index_marks(index));
    changes
}

/// Holds what cannot be read on disk.
#[derive(Default)]
struct UnreadablePaths {
    /// What may hide a change.
    wrong: Vec<Change>,
    /// What is build output.
    output: Vec<Change>,
}

impl UnreadablePaths {
    /// Tells build output from the rest.
    fn find(reading: &Reading<'_>) -> Result<Self, Error> {
        let inputs = &reading.inputs;
        let unreadable = &reading.disk.unreadable;
        let output = find_unreadable_output(inputs, &reading.facts, &reading.index, unreadable)?;
        let mut paths = Self::default();
        for one in unreadable {
            let place = one.path.clone().map_or(Place::Worktree, Place::Path);
            let change = integrity(place, format!("it cannot be read: {}", one.detail));
            if one.path.as_ref().is_some_and(|path| output.contains(path)) {
                paths.output.push(change);
            } else {
                paths.wrong.push(change);
            }
        }
        Ok(paths)
    }
}

/// Returns the changes with what is wrong with the worktree itself.
fn change_set(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    changes: Vec<Change>,
    mut found: IntegrityChanges,
) -> ChangeSet {
    let recorded_base = &inputs.worktree.record.base.commit;
    let base = inputs.options.base.as_ref().unwrap_or(recorded_base);
    let head = inputs.head.head.as_ref().unwrap_or(base);
    let mut noted: Vec<Change> = found.harmless.into_iter().collect();
    match find_head(inputs, facts) {
        Some(HeadFinding::Harmless(change)) => noted.push(change),
        Some(HeadFinding::Wrong(change)) => found.wrong.push(change),
        None => {}
    }
    found.wrong.sort();
    found.wrong.dedup();
    ChangeSet {
        integrity: found.wrong,
        noted,
        ..ChangeSet::new(base.clone(), head.clone(), changes)
    }
}
