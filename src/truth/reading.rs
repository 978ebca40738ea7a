//! Reads all that a survey of everything needs: what was committed, the index and the disk, side by
//! side as far as one does not need the other.

use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use crate::disk::drift::Proof;
use crate::disk::scan::RunningWalk;
use crate::disk::scan::walk::{HashBlob, KnownDirectories, Walk};
use crate::git::index::OpenIndex;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::manifest::Manifest;
use crate::inventory::placed::Placed;
use crate::judge::change::SharedChange;
use crate::judge::compare::Delta;
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::content::LARGE;
use crate::truth::layers::converted::Filters;
use crate::truth::layers::disk::{DiskReferences, DiskState};
use crate::truth::layers::index::IndexState;
use crate::truth::options::SurveyOptions;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Repository, joined};

/// The index, as another thread reads it; none if it cannot be read.
pub type IndexThread<'t> = ScopedJoinHandle<'t, Option<OpenIndex>>;

/// Finds what is not as it was of what worktrees share: that says whether filters may run.
pub type SharedChecks = fn(&SurveyInputs<'_>, &CommitFacts) -> Result<Vec<SharedChange>, Error>;

/// Says what is read.
pub struct ToRead<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// What is compared with what.
    pub options: &'a SurveyOptions,
    /// What is checked before the files on disk.
    pub shared_checks: SharedChecks,
}

/// Holds what was read of a worktree.
pub struct Reading<'a> {
    /// What was read of all but the files.
    pub inputs: SurveyInputs<'a>,
    /// What was committed.
    pub facts: CommitFacts,
    /// What is not as it was of what worktrees share.
    pub shared: Vec<SharedChange>,
    /// The index.
    pub index: IndexState,
    /// The disk.
    pub disk: DiskState,
    /// What was placed and is not tracked by now.
    pub placed: Placed,
    /// The directories whose names are known now; none when no more of them are than before.
    pub walked: Option<CleanDirectories>,
}

impl<'a> ToRead<'a> {
    /// Reads everything. The list of placed files is laid over the manifest.
    ///
    /// # Errors
    /// Fails when the base, the record or the common repository cannot be read.
    pub fn read(&self, index: IndexThread<'_>) -> Result<Reading<'a>, Error> {
        let worktree = self.worktree;
        let read_policy = &self.options.read_policy;
        let recorded = read_policy.or(worktree.manifest().map(Some), || None)?;
        let manifest = match recorded {
            Some(manifest) => manifest,
            None => worktree.unproven_manifest(&self.repository.objects()?)?,
        };
        // of the manifest as it was recorded
        let walked_before = worktree.walked(&manifest);
        let placed = read_policy.or(worktree.placed(), Placed::default)?;
        // where nothing else is needed to walk, that is done beside everything else
        let mut reading = if placed.leaves(&manifest) {
            self.read_beside_walk(index, &Arc::new(manifest), placed, &walked_before)?
        } else {
            self.read_before_walk(index, manifest, placed, &walked_before)?
        };
        let names_read = std::mem::take(&mut reading.disk.walked);
        if !names_read.is_empty() {
            reading.walked = Some(walked_before.with(names_read));
        }
        self.note_missing(&reading);
        Ok(reading)
    }

    /// Walks the disk while everything else is read.
    fn read_beside_walk(
        &self,
        index: IndexThread<'_>,
        manifest: &Arc<Manifest>,
        placed: Placed,
        walked_before: &CleanDirectories,
    ) -> Result<Reading<'a>, Error> {
        let format = self.repository.format;
        let hash = |size, content: &mut dyn std::io::Read| format.hash_blob(size, content);
        let mut reading = std::thread::scope(|threads| {
            let walk = self.walk_of(manifest, &placed, walked_before, &hash);
            let running = RunningWalk::begin(threads, walk);
            let mut reading = self.read_all_but_disk(index, Arc::clone(manifest))?;
            let proof = self.proof_of(&placed);
            reading.disk = DiskState::read(&reading.disk_references(), running, proof)?;
            Ok::<_, Error>(reading)
        })?;
        reading.placed = placed;
        Ok(reading)
    }

    /// Walks the disk when it is known what of the placed files is tracked by now.
    fn read_before_walk(
        &self,
        index: IndexThread<'_>,
        manifest: Manifest,
        placed: Placed,
        walked_before: &CleanDirectories,
    ) -> Result<Reading<'a>, Error> {
        let mut reading = self.read_all_but_disk(index, Arc::new(manifest))?;
        lay_over(&mut reading, placed);
        let laid_over = Arc::clone(&reading.inputs.manifest);
        let format = self.repository.format;
        let hash = |size, content: &mut dyn std::io::Read| format.hash_blob(size, content);
        reading.disk = std::thread::scope(|threads| {
            let walk = self.walk_of(&laid_over, &reading.placed, walked_before, &hash);
            let running = RunningWalk::begin(threads, walk);
            let proof = self.proof_of(&reading.placed);
            DiskState::read(&reading.disk_references(), running, proof)
        })?;
        Ok(reading)
    }

    /// Reads everything but the disk.
    fn read_all_but_disk(
        &self,
        index: IndexThread<'_>,
        manifest: Arc<Manifest>,
    ) -> Result<Reading<'a>, Error> {
        let mut inputs = SurveyInputs::read(self.repository, self.worktree, self.options)?;
        inputs.manifest = manifest;
        let facts = CommitFacts::read(&inputs)?;
        let shared = (self.shared_checks)(&inputs, &facts)?;
        let open_index = joined(index);
        let compared =
            open_index.and_then(|open| IndexState::compare(self.worktree, &inputs.manifest, &open));
        Ok(Reading {
            inputs,
            facts,
            shared,
            index: compared.unwrap_or(IndexState {
                damaged: true,
                ..IndexState::default()
            }),
            disk: DiskState::default(),
            placed: Placed::default(),
            walked: None,
        })
    }

    /// Returns the walk of the worktree; which submodules there are is not known yet.
    fn walk_of<'w>(
        &'w self,
        manifest: &'w Manifest,
        placed: &'w Placed,
        walked_before: &'w CleanDirectories,
        hash: HashBlob<'w>,
    ) -> Walk<'w> {
        let root = &self.worktree.record.path;
        Walk {
            root,
            manifest,
            placed: Some(self.proof_of(placed)),
            submodules: None,
            files_to_read: self.repository.walking.files_to_read(),
            known_directories: KnownDirectories::of(walked_before, root, self.repository.walking),
            unread_above: Some(LARGE),
            hash,
        }
    }

    /// Returns what the walk holds the placed files against.
    fn proof_of<'w>(&'w self, placed: &'w Placed) -> Proof<'w> {
        let source = Some(self.repository.root.as_path());
        Proof { placed, source }
    }

    /// Notes what is missing where reading goes on without it.
    fn note_missing(&self, reading: &Reading<'_>) {
        let read_policy = &self.options.read_policy;
        if reading.index.damaged {
            read_policy.note(&"cannot read the worktree's index: it is missing or damaged");
        }
        for unreadable in &reading.disk.unreadable {
            let shown = match &unreadable.path {
                Some(path) => path.to_string(),
                None => self.worktree.record.path.to_string(),
            };
            read_policy.note(&format!("cannot read {shown}: {}", unreadable.detail));
        }
    }
}

impl Reading<'_> {
    /// Returns what the disk is compared with.
    fn disk_references(&self) -> DiskReferences<'_> {
        DiskReferences {
            inputs: &self.inputs,
            facts: &self.facts,
            index: &self.index,
            filters: Filters::of(self.inputs.worktree, &self.shared),
        }
    }
}

/// Lays the placed files that are untracked over the manifest. What upstream has and was not merged
/// does not count as tracked: it is in nothing that the worktree answers for.
fn lay_over(reading: &mut Reading<'_>, placed: Placed) {
    let references = &reading.facts.references;
    let mut tracked: Vec<&Delta> = reading.facts.committed();
    tracked.extend(&references.committed);
    tracked.extend(&references.working);
    tracked.extend(&reading.index.deltas);
    let is_tracked = |path: &RepoPath| {
        let mut entries = tracked.iter().map(|delta| delta.get(path));
        entries.any(|entry| matches!(entry, Some(Some(_))))
    };
    let recorded = std::mem::take(&mut reading.inputs.manifest);
    let (manifest, untracked) = placed.laid_over(Arc::unwrap_or_clone(recorded), &is_tracked);
    reading.inputs.manifest = Arc::new(manifest);
    reading.placed = untracked;
}
