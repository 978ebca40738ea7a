//! Reads what a worktree committed, and what it may have taken over from others: all but the index
//! and the files on disk.

use std::collections::BTreeSet;

use crate::disk::files;
use crate::judge::compare::{Delta, FormerEntries, entry_in, same};
use crate::scope::rule::{Access, EntryKind};
use crate::truth::history::History;
use crate::truth::inputs::SurveyInputs;
use crate::truth::ref_facts::RefFacts;
use crate::truth::references::ReferenceTrees;
use crate::truth::upstream::UpstreamReader;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Holds what a worktree committed, and what it may have taken over from others.
pub struct CommitFacts {
    /// The trees of what it is on, with the reference trees of each.
    pub references: ReferenceTrees,
    /// Whose work its commits are.
    pub ref_facts: RefFacts,
    /// The commits of its own, the newest first.
    pub commits: Vec<CommitId>,
    /// What those touched.
    pub history: History,
}

impl CommitFacts {
    /// Reads the commits, and the trees with their references.
    ///
    /// # Errors
    /// Fails when the base, the record or the common repository cannot be read.
    pub fn read(inputs: &SurveyInputs<'_>) -> Result<Self, Error> {
        let read_policy = &inputs.options.read_policy;
        let ref_facts = RefFacts::find(inputs)?;
        let references = read_policy.or(ReferenceTrees::read(inputs, &ref_facts), || {
            ReferenceTrees::with_nothing_but(inputs)
        })?;
        let commits = new_commits(inputs, &references.trusted, &ref_facts);
        let mut facts = Self {
            references,
            ref_facts,
            commits: read_policy.or(commits, Vec::new)?,
            history: History::default(),
        };
        let history = History::read(&inputs.objects, &facts.commits);
        facts.history = read_policy.or(history, History::default)?;
        let touched = facts.history.paths();
        if has_protected(inputs, touched) || is_picking(inputs) {
            facts.read_former_entries(inputs)?;
        }
        Ok(facts)
    }

    /// Reads what upstream had since it was left, where the index or the disk has a change that
    /// the scope does not let the worktree make: a merge may have staged what upstream had then.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn add_former_entries_for_files(
        &mut self,
        inputs: &SurveyInputs<'_>,
        files: &[&Delta],
    ) -> Result<(), Error> {
        if self.references.since_head.is_some() {
            return Ok(());
        }
        let entries = files.iter().flat_map(|delta| delta.iter());
        let changed = entries.filter(|(path, entry)| !self.is_of_reference(inputs, path, **entry));
        if has_protected(inputs, changed.map(|(path, _entry)| path)) {
            self.read_former_entries(inputs)?;
        }
        Ok(())
    }

    /// Reads what upstream had since HEAD left it, and since each branch beside HEAD did.
    fn read_former_entries(&mut self, inputs: &SurveyInputs<'_>) -> Result<(), Error> {
        let read_policy = &inputs.options.read_policy;
        let references = &self.references;
        let mut reader = UpstreamReader::new(inputs, &self.ref_facts.tips, &references.tips);
        let head = &inputs.head;
        let here: Vec<&CommitId> = head.head.iter().chain(&head.branch).collect();
        let of_head = reader.read_since(&here, references.reference());
        let since_head = read_policy.or(of_head, FormerEntries::new)?;
        let mut since_branches = Vec::new();
        for branch in &references.branches {
            let of_branch = reader.read_since(&[&branch.tip], branch.reference());
            since_branches.push(read_policy.or(of_branch, FormerEntries::new)?);
        }
        self.references.since_head = Some(since_head);
        for (branch, since) in self.references.branches.iter_mut().zip(since_branches) {
            branch.since = Some(since);
        }
        Ok(())
    }

    /// True if a reference of the index and the disk has this entry at a path.
    fn is_of_reference(
        &self,
        inputs: &SurveyInputs<'_>,
        path: &RepoPath,
        entry: Option<Entry>,
    ) -> bool {
        let mut references = self.references.working.iter().chain(&self.references.tips);
        references.any(|reference| same(entry_in(&inputs.manifest, reference, path), entry))
    }

    /// Lists every path of which a difference from the base is known, or that a commit touched.
    pub fn paths(&self) -> Vec<&RepoPath> {
        let references = &self.references;
        let mut deltas: Vec<&Delta> = vec![&references.head];
        deltas.extend(&references.committed);
        deltas.extend(&references.tips);
        for branch in &references.branches {
            deltas.push(&branch.delta);
            deltas.extend(&branch.references);
        }
        let mut paths: Vec<&RepoPath> = self.history.paths().collect();
        for delta in deltas {
            paths.extend(delta.keys());
        }
        paths
    }

    /// Returns the differences of everything that was committed: HEAD's, and those of own branches.
    pub fn committed(&self) -> Vec<&Delta> {
        let mut committed = vec![&self.references.head];
        for branch in &self.references.branches {
            committed.push(&branch.delta);
        }
        committed
    }
}

/// True if the scope does not let the worktree write one of these paths.
fn has_protected<'p>(
    inputs: &SurveyInputs<'_>,
    mut paths: impl Iterator<Item = &'p RepoPath>,
) -> bool {
    let mut classifier = inputs.worktree.scope.classifier();
    paths.any(|path| classifier.verdict(path, EntryKind::File).access != Access::Write)
}

/// True if a commit is being picked.
fn is_picking(inputs: &SurveyInputs<'_>) -> bool {
    let admin_dir = &inputs.worktree.record.admin_dir;
    files::exists(&admin_dir.join("CHERRY_PICK_HEAD"))
}

/// Lists the commits that can be reached from here and are no work of others, the newest first;
/// then those that could be once.
fn new_commits(
    inputs: &SurveyInputs<'_>,
    trusted: &[CommitId],
    ref_facts: &RefFacts,
) -> Result<Vec<CommitId>, Error> {
    let git = &inputs.git;
    let head = &inputs.head;
    let excluded: Vec<&CommitId> = trusted.iter().chain(&ref_facts.fetched_commits).collect();
    let mut tips: Vec<&CommitId> = head.head.iter().chain(&head.branch).collect();
    tips.extend(ref_facts.own_refs.iter().map(|own| &own.tip));
    tips.retain(|tip| !ref_facts.is_of_others(trusted, tip));
    let mut commits = git.rev_list(&tips, &excluded)?;
    // what was abandoned comes last; a reflog can be made to forget it, the journal cannot
    let reachable: BTreeSet<CommitId> = commits.iter().cloned().collect();
    let mut former: Vec<&CommitId> = head.reflog.iter().map(|entry| &entry.id).collect();
    former.extend(&ref_facts.journaled_heads);
    former.retain(|id| !ref_facts.is_of_others(trusted, id) && !reachable.contains(*id));
    for abandoned in git.rev_list(&former, &excluded)? {
        if !reachable.contains(&abandoned) {
            commits.push(abandoned);
        }
    }
    Ok(commits)
}
