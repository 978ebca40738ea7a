//! Collects the ground truth: every path that a worktree changed since its base.
//!
//! Neither `git status` nor any other reading of the worktree's index through git takes part:
//! commits are compared as trees, the index entry by entry, and the disk by an own walk that is
//! held against the manifest. Each is compared with the reference trees of the base.
//!
//! 1. [`inputs`] and [`options`]: what is read from, and how.
//! 2. [`head`], [`ref_history`], [`attribution`], [`outside`]: what the worktree is on, who moved which ref.
//! 3. [`upstream`] and [`references`]: what may be taken over from others without a change.
//! 4. [`layers`]: the index, the disk and submodules as differences from the base.
//! 5. [`checks`]: what is wrong, in the one list of passes that stands here.

pub mod attribution;
pub mod checks;
pub mod facts;
pub mod git_dirs;
pub mod head;
pub mod history;
pub mod inputs;
pub mod keys;
pub mod layered;
pub mod layers;
pub mod live;
pub mod options;
pub mod outside;
pub mod planted;
pub mod reading;
pub mod ref_history;
pub mod references;
pub mod seal;
pub mod survey;
pub mod upstream;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::disk::files;
use crate::git::index::OpenIndex;
use crate::judge::change::{Change, ChangeSet, Extent, Kind, Place, Seen};
use crate::judge::compare::{Delta, State};
use crate::truth::checks::harmless::find_harmless;
use crate::truth::checks::history::reverted_paths;
use crate::truth::checks::leaks::leaks;
use crate::truth::checks::links::links_out;
use crate::truth::checks::net::net_changes;
use crate::truth::checks::self_ignored::find_self_ignored;
use crate::truth::checks::settings::rewired_remotes_now;
use crate::truth::facts::CommitFacts;
use crate::truth::head::WorktreeHead;
use crate::truth::history::{History, contents};
use crate::truth::inputs::{SurveyInputs, base_at};
use crate::truth::layered::{CreatedHere, FormerVersions, Layers, WholeBase};
use crate::truth::layers::disk::DiskState;
use crate::truth::layers::index::IndexState;
use crate::truth::layers::untracked::{classify, find_hidden};
use crate::truth::options::SurveyOptions;
use crate::truth::reading::{IndexThread, Reading};
use crate::truth::ref_history::RefHistory;
use crate::truth::references::{References, Trees};
use crate::truth::survey::{States, Survey};
use crate::truth::upstream::{UpstreamStates, find_tips};
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

/// Collects the changes that a hook tells of, to this extent.
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
    let leaks_of_net = leaks(layers, &contents(&net, &layers.deltas));
    let leaks_of_net = read_policy.or(leaks_of_net, Vec::new)?;
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

/// Holds the layers of a worktree against their references.
fn run_passes_of_worktree(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    files: Option<&FileLayers<'_>>,
) -> Result<PassFindings, Error> {
    let references = &facts.references;
    let committed_references = references.with_tip(&references.committed);
    let working_references = references.with_tip(&references.working);
    let mut branch_references = Vec::new();
    for branch in &references.branches {
        branch_references.push(references.with_tip(&branch.references));
    }
    let seen_in_commit = |path: &RepoPath| facts.history.seen(path);
    let seen_on_disk = |path: &RepoPath| seen_on_disk(files, path);
    let is_silent = |path: &RepoPath| is_silent_on_disk(inputs, files, path);
    let mut states = Vec::new();
    if facts.head.head.is_some() {
        let head = State::new(&references.head, &committed_references, &seen_in_commit);
        states.push(head);
    }
    for (branch, of_branch) in references.branches.iter().zip(&branch_references) {
        states.push(State::new(&branch.delta, of_branch, &seen_in_commit));
    }
    let mut deltas = facts.committed();
    let mut placed = Vec::new();
    if let Some(files) = files {
        for delta in &files.index.deltas {
            states.push(State::new(delta, &working_references, &|_| Seen::Index));
            deltas.push(delta);
        }
        states.push(State {
            silent: &is_silent,
            ..State::new(&files.disk.delta, &working_references, &seen_on_disk)
        });
        deltas.push(&files.disk.delta);
        placed.extend(files.disk.placed.values().cloned());
    }
    let mut upstream_trees: Vec<&Delta> = references.working.iter().collect();
    upstream_trees.extend(&references.tip);
    let mut known_references: Vec<&Delta> = references.committed.iter().collect();
    known_references.extend(&references.tip);
    let scope = &inputs.worktree.scope;
    let manifest = &inputs.manifest;
    let whole_base = match files {
        Some(_) => WholeBase::Read(manifest),
        None => WholeBase::Recorded(inputs.worktree),
    };
    let upstream_states = &references.upstream_states;
    let layers = Layers {
        states,
        deltas,
        placed,
        references: known_references,
        created_here: CreatedHere::Among(commits_head_was_on(facts)),
        upstream_trees,
        former_versions: former_versions(inputs, facts),
        ..Layers::new(scope, manifest, whole_base, &facts.history, upstream_states)
    };
    run_passes(&layers, inputs.options)
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
fn commits_head_was_on(facts: &CommitFacts) -> HashSet<&CommitId> {
    let mut commits: HashSet<&CommitId> = facts.outside.journaled_heads.iter().collect();
    for entry in &facts.head.reflog {
        commits.insert(&entry.id);
    }
    commits
}

/// Says where the history of upstream is read; none where it is not known when the worktree was made.
fn former_versions<'a>(
    inputs: &'a SurveyInputs<'_>,
    facts: &'a CommitFacts,
) -> Option<FormerVersions<'a>> {
    let before = files::created(inputs.worktree.dir.as_std_path())?;
    Some(FormerVersions {
        objects: &inputs.objects,
        before,
        tips: &facts.references.trusted,
    })
}

/// Looks at everything; another thread reads the index.
fn survey_everything(
    repository: &Repository,
    worktree: &Worktree,
    options: &SurveyOptions,
    index: IndexThread<'_>,
) -> Result<Survey, Error> {
    let read_policy = &options.read_policy;
    let mut inputs = SurveyInputs::with_manifest(repository, worktree, options)?;
    let Reading {
        mut facts,
        index,
        disk,
        placed,
        walked,
    } = Reading::read(&mut inputs, index)?;
    let mut untracked = classify(&inputs, &facts, &placed, &disk.delta, &index)?;
    let self_ignored = find_self_ignored(&inputs, &facts, &index, &placed, &mut untracked);
    let hidden = find_hidden(&inputs, &facts, &disk.delta, &untracked, self_ignored.files)?;
    let mut deltas_of_files: Vec<&Delta> = index.deltas.iter().collect();
    deltas_of_files.push(&disk.delta);
    facts.add_upstream_states_for_files(&inputs, &deltas_of_files)?;
    let files = FileLayers {
        index: &index,
        disk: &disk,
        untracked: &untracked,
    };
    let findings = run_passes_of_worktree(&inputs, &facts, Some(&files))?;
    let links_out = links_out(worktree, &findings.net, &disk.delta);
    let beside_net = changes_beside_net(&inputs, &facts, &disk, &findings.net);
    let mut changes = findings.net;
    changes.extend(beside_net);
    let harmless = find_harmless(&inputs, &facts, &index, &changes);
    let mut notices = self_ignored.directories;
    notices.extend(read_policy.or(harmless, Vec::new)?);
    changes.sort();
    let changes = ChangeSet {
        history: findings.history,
        leaks: findings.leaks,
        links_out,
        apart: notices,
        ..change_set(&inputs, &mut facts, changes)
    };
    Ok(Survey {
        changes,
        head: facts.head,
        commits: facts.commits,
        walked,
        states: States {
            manifest: inputs.manifest,
            references: facts.references,
            index,
            disk,
            untracked,
            hidden,
            placed,
        },
    })
}

/// Lists the changes on disk that are no net change: excluded files that are there, what is inside
/// submodules, and write bits.
fn changes_beside_net(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    disk: &DiskState,
    net: &[Change],
) -> Vec<Change> {
    let net = paths_of(net);
    let mut changes = disk.present(inputs, &facts.references.working, &net);
    for path in &disk.permissions {
        if !net.contains(path) {
            changes.push(Change::new(
                Place::Path(path.clone()),
                Kind::Perm,
                Seen::Disk,
            ));
        }
    }
    changes
}

/// Looks at what was committed.
fn survey_commits(repository: &Repository, worktree: &Worktree) -> Result<ChangeSet, Error> {
    let repository = &worktree.readable_repository(repository);
    let options = SurveyOptions::default();
    let mut inputs = SurveyInputs::without_files(repository, worktree, &options)?;
    let mut facts = CommitFacts::read(&inputs)?;
    inputs.manifest = base_at(&inputs.objects, worktree, facts.paths())?;
    let findings = run_passes_of_worktree(&inputs, &facts, None)?;
    let notices = find_harmless(&inputs, &facts, &IndexState::default(), &findings.net)?;
    Ok(ChangeSet {
        looked: Extent::Commits,
        history: findings.history,
        apart: notices,
        leaks: findings.leaks,
        ..change_set(&inputs, &mut facts, findings.net)
    })
}

/// Looks at the tree of a commit without a ref.
fn survey_proposed(
    repository: &Repository,
    worktree: &Worktree,
    commit: &CommitId,
) -> Result<ChangeSet, Error> {
    let record = &worktree.record;
    let base = &record.base.commit;
    let options = SurveyOptions::default();
    let inputs = SurveyInputs::without_files(repository, worktree, &options)?;
    let head = WorktreeHead::read(repository, worktree, &options.read_policy)?;
    let journal = worktree.journal()?.unwrap_or_default();
    let rewired = rewired_remotes_now(repository, worktree)?;
    let moves = RefHistory::read(repository, worktree, &journal, &head)?;
    let tips = find_tips(&inputs.objects, &moves, &rewired)?;
    let mut trees = Trees::new(&inputs.objects, &record.checked_out)?;
    let of_commit = References::find(
        &inputs.git,
        &mut trees,
        commit,
        base,
        &tips.trusted,
        &tips.rewound,
    )?;
    let mut references = of_commit.deltas;
    if let Some(tip) = tips.newest(&inputs.git)? {
        references.push(trees.delta(&tip)?);
    }
    let delta = trees.delta(commit)?;
    let paths = references.iter().chain([&delta]).flat_map(Delta::keys);
    let manifest = base_at(&inputs.objects, worktree, paths)?;
    let seen = |_: &RepoPath| Seen::Commit(commit.clone());
    let history = History::default();
    let upstream_states = UpstreamStates::default();
    let whole_base = WholeBase::Recorded(worktree);
    let layers = Layers {
        states: vec![State::new(&delta, &references, &seen)],
        ..Layers::new(
            &worktree.scope,
            &manifest,
            whole_base,
            &history,
            &upstream_states,
        )
    };
    let findings = run_passes(&layers, &options)?;
    Ok(ChangeSet {
        looked: Extent::Commits,
        ..ChangeSet::new(base.clone(), commit.clone(), findings.net)
    })
}

/// Returns the changes with what is wrong around the worktree.
fn change_set(
    inputs: &SurveyInputs<'_>,
    facts: &mut CommitFacts,
    changes: Vec<Change>,
) -> ChangeSet {
    let recorded_base = &inputs.worktree.record.base.commit;
    let base = inputs.options.base.as_ref().unwrap_or(recorded_base);
    let head = facts.head.head.as_ref().unwrap_or(base);
    let outside = &mut facts.outside;
    outside.problems.sort();
    outside.problems.dedup();
    outside.shared.sort();
    ChangeSet {
        integrity: std::mem::take(&mut outside.problems),
        noted: outside.notice.take().into_iter().collect(),
        shared: std::mem::take(&mut outside.shared),
        ..ChangeSet::new(base.clone(), head.clone(), changes)
    }
}
