//! Reads all that a survey of everything needs: what was committed, the index and the disk, side by
//! side as far as one does not need the other.

use std::thread::ScopedJoinHandle;

use crate::disk::drift::Proof;
use crate::disk::scan::RunningWalk;
use crate::disk::scan::walk::{HashBlob, KnownDirectories, Walk};
use crate::git::index::OpenIndex;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::placed::Placed;
use crate::judge::change::Place;
use crate::judge::compare::Delta;
use crate::truth::checks::integrity;
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::content::LARGE;
use crate::truth::layers::disk::DiskState;
use crate::truth::layers::index::IndexState;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::repository::joined;

/// The index, as another thread reads it; none where it cannot be read.
pub type IndexThread<'t> = ScopedJoinHandle<'t, Option<OpenIndex>>;

/// Holds what was read of a worktree.
pub struct Reading {
    /// What was committed, and what surrounds the worktree.
    pub facts: CommitFacts,
    /// The index.
    pub index: IndexState,
    /// The disk.
    pub disk: DiskState,
    /// What was placed and is not tracked by now.
    pub placed: Placed,
    /// The directories whose names are known now; none when no more of them are than before.
    pub walked: Option<CleanDirectories>,
}

impl Reading {
    /// Reads everything. The list of placed files is laid over the manifest.
    ///
    /// # Errors
    /// Fails when the base, the record or the common repository cannot be read.
    pub fn read(inputs: &mut SurveyInputs<'_>, index: IndexThread<'_>) -> Result<Self, Error> {
        let read_policy = &inputs.options.read_policy;
        // of the manifest as it was recorded
        let walked_before = inputs.worktree.walked(&inputs.manifest);
        let placed = read_policy.or(inputs.worktree.placed(), Placed::default)?;
        // where nothing else is needed to walk, that is done beside everything else
        let mut reading = if placed.leaves(&inputs.manifest) {
            let reading = read_beside_walk(inputs, index, &placed, &walked_before)?;
            Self { placed, ..reading }
        } else {
            read_before_walk(inputs, index, placed, &walked_before)?
        };
        let names_read = std::mem::take(&mut reading.disk.walked);
        if !names_read.is_empty() {
            reading.walked = Some(walked_before.with(names_read));
        }
        note_unreadable(inputs, &mut reading);
        Ok(reading)
    }
}

/// Walks the disk while everything else is read.
fn read_beside_walk(
    inputs: &SurveyInputs<'_>,
    index: IndexThread<'_>,
    placed: &Placed,
    walked_before: &CleanDirectories,
) -> Result<Reading, Error> {
    let format = inputs.repository.format;
    let hash = |size, content: &mut dyn std::io::Read| format.hash_blob(size, content);
    std::thread::scope(|threads| {
        let walk = RunningWalk::begin(threads, walk_of(inputs, placed, walked_before, &hash));
        let (facts, index) = read_facts_and_index(inputs, index)?;
        let disk = DiskState::read(inputs, walk, proof_of(inputs, placed), &facts, &index)?;
        Ok(Reading {
            facts,
            index,
            disk,
            placed: Placed::default(),
            walked: None,
        })
    })
}

/// Walks the disk when it is known what of the placed files is tracked by now.
fn read_before_walk(
    inputs: &mut SurveyInputs<'_>,
    index: IndexThread<'_>,
    placed: Placed,
    walked_before: &CleanDirectories,
) -> Result<Reading, Error> {
    let (facts, index) = read_facts_and_index(inputs, index)?;
    let placed = lay_over(inputs, placed, &facts, &index);
    let inputs = &*inputs;
    let format = inputs.repository.format;
    let hash = |size, content: &mut dyn std::io::Read| format.hash_blob(size, content);
    let disk = std::thread::scope(|threads| {
        let walk = RunningWalk::begin(threads, walk_of(inputs, &placed, walked_before, &hash));
        DiskState::read(inputs, walk, proof_of(inputs, &placed), &facts, &index)
    })?;
    Ok(Reading {
        facts,
        index,
        disk,
        placed,
        walked: None,
    })
}

/// Reads everything but the disk.
fn read_facts_and_index(
    inputs: &SurveyInputs<'_>,
    index: IndexThread<'_>,
) -> Result<(CommitFacts, IndexState), Error> {
    let mut facts = CommitFacts::read(inputs)?;
    let open = joined(index);
    let compared =
        open.and_then(|open| IndexState::compare(inputs.worktree, &inputs.manifest, &open));
    let index = compared.unwrap_or(IndexState {
        damaged: true,
        ..IndexState::default()
    });
    let problems = &mut facts.outside.problems;
    if index.damaged {
        let read_policy = &inputs.options.read_policy;
        read_policy.note(&"cannot read the worktree's index: it is missing or damaged");
        let detail = "it is missing or cannot be read";
        problems.push(integrity::integrity(Place::Admin("index".into()), detail));
    }
    problems.extend(integrity::index_marks(&index));
    Ok((facts, index))
}

/// Returns the walk of the worktree; which submodules there are is not known yet.
fn walk_of<'a>(
    inputs: &'a SurveyInputs<'_>,
    placed: &'a Placed,
    walked_before: &'a CleanDirectories,
    hash: HashBlob<'a>,
) -> Walk<'a> {
    let root = &inputs.worktree.record.path;
    Walk {
        root,
        manifest: &inputs.manifest,
        placed: Some(proof_of(inputs, placed)),
        submodules: None,
        files_to_read: inputs.repository.walking.files_to_read(),
        known_directories: KnownDirectories::of(walked_before, root, inputs.repository.walking),
        unread_above: Some(LARGE),
        hash,
    }
}

fn proof_of<'a>(inputs: &'a SurveyInputs<'_>, placed: &'a Placed) -> Proof<'a> {
    let source = Some(inputs.repository.root.as_path());
    Proof { placed, source }
}

/// Lays the list of placed files over the manifest; what of it is untracked. What upstream has and
/// was not merged is in nothing that the worktree answers for.
fn lay_over(
    inputs: &mut SurveyInputs<'_>,
    placed: Placed,
    facts: &CommitFacts,
    index: &IndexState,
) -> Placed {
    let references = &facts.references;
    let mut tracked: Vec<&Delta> = facts.committed();
    tracked.extend(&references.committed);
    tracked.extend(&references.working);
    tracked.extend(&index.deltas);
    let is_tracked = |path: &RepoPath| {
        let mut entries = tracked.iter().map(|delta| delta.get(path));
        entries.any(|entry| matches!(entry, Some(Some(_))))
    };
    let manifest = std::mem::take(&mut inputs.manifest);
    let (manifest, placed) = placed.laid_over(manifest, &is_tracked);
    inputs.manifest = manifest;
    placed
}

/// Adds what could not be read to what is wrong.
fn note_unreadable(inputs: &SurveyInputs<'_>, reading: &mut Reading) {
    for unreadable in &reading.disk.unreadable {
        let place = unreadable.path.clone().map_or(Place::Worktree, Place::Path);
        let shown = match &unreadable.path {
            Some(path) => path.to_string(),
            None => inputs.worktree.record.path.to_string(),
        };
        let detail = &unreadable.detail;
        let missing = format!("cannot read {shown}: {detail}");
        inputs.options.read_policy.note(&missing);
        let problem = integrity::integrity(place, format!("it cannot be read: {detail}"));
        reading.facts.outside.problems.push(problem);
    }
}
