//! Reads what a worktree committed, and what it may have taken over from others: all but the index
//! and the files on disk.

use std::collections::BTreeSet;

use crate::disk::files;
use crate::git::process::Git;
use crate::judge::change::{Change, Kind, Place};
use crate::judge::compare::{Delta, entry_in, same};
use crate::scope::rule::{Access, EntryKind};
use crate::truth::head::WorktreeHead;
use crate::truth::history::History;
use crate::truth::inputs::SurveyInputs;
use crate::truth::outside::{OutsideFacts, read_outside};
use crate::truth::references::ReferenceTrees;
use crate::truth::upstream::{UpstreamStates, read_upstream_states};
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Holds what a worktree committed, and what it may have taken over from others.
pub struct CommitFacts {
    /// What it is on.
    pub head: WorktreeHead,
    /// The trees of what it is on, with the reference trees of each.
    pub references: ReferenceTrees,
    /// What surrounds it.
    pub outside: OutsideFacts,
    /// The commits of its own, the newest first.
    pub commits: Vec<CommitId>,
    /// What those touched.
    pub history: History,
}

impl CommitFacts {
    /// Reads them.
    ///
    /// # Errors
    /// Fails when the base, the record or the common repository cannot be read.
    pub fn read(inputs: &SurveyInputs<'_>) -> Result<Self, Error> {
        let read_policy = &inputs.options.read_policy;
        let mut head = WorktreeHead::read(inputs.repository, inputs.worktree, read_policy)?;
        if let Some(proposed) = &inputs.options.head {
            head.head = Some(proposed.clone());
            head.branch = Some(proposed.clone());
        }
        let mut outside = read_outside(inputs, &head)?;
        let references = ReferenceTrees::read(inputs, &head, &outside);
        let references = read_policy.or(references, || ReferenceTrees::with_nothing_but(inputs))?;
        note_head_problem(inputs, &head, &references, &mut outside);
        let commits = new_commits(&inputs.git, &head, &references.trusted, &outside);
        let commits = read_policy.or(commits, Vec::new)?;
        let history = History::read(&inputs.objects, &commits);
        let history = read_policy.or(history, History::default)?;
        let mut facts = Self {
            head,
            references,
            outside,
            commits,
            history,
        };
        let touched = facts.history.paths();
        if has_protected(inputs, touched) || is_picking(inputs) {
            facts.read_upstream_states(inputs)?;
        }
        Ok(facts)
    }

    /// Reads what upstream had since HEAD left it, where the index or the disk has a change that the
    /// scope does not let the worktree make: a merge may have staged what upstream had then.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn add_upstream_states_for_files(
        &mut self,
        inputs: &SurveyInputs<'_>,
        files: &[&Delta],
    ) -> Result<(), Error> {
        if !self.references.upstream_states.is_read() {
            let changed = files
                .iter()
                .flat_map(|delta| delta.iter())
                .filter(|(path, entry)| !self.is_of_reference(inputs, path, **entry))
                .map(|(path, _)| path);
            if has_protected(inputs, changed) {
                self.read_upstream_states(inputs)?;
            }
        }
        Ok(())
    }

    fn read_upstream_states(&mut self, inputs: &SurveyInputs<'_>) -> Result<(), Error> {
        let states = read_upstream_states(
            inputs,
            &self.outside.tips,
            &self.head,
            self.references.reference(),
            self.references.tip.as_ref(),
        );
        let read_policy = &inputs.options.read_policy;
        self.references.upstream_states = read_policy.or(states, UpstreamStates::default)?;
        Ok(())
    }

    /// True if a reference of the index and the disk has this entry at a path.
    fn is_of_reference(
        &self,
        inputs: &SurveyInputs<'_>,
        path: &RepoPath,
        entry: Option<Entry>,
    ) -> bool {
        let references = &self.references;
        references
            .working
            .iter()
            .chain(&references.tip)
            .any(|reference| same(entry_in(&inputs.manifest, reference, path), entry))
    }

    /// Lists every path of which a difference from the base is known, or that a commit touched.
    pub fn paths(&self) -> Vec<&RepoPath> {
        let references = &self.references;
        let mut deltas: Vec<&Delta> = vec![&references.head];
        deltas.extend(&references.committed);
        deltas.extend(&references.tip);
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

/// Adds what is wrong with where HEAD is to what is wrong, or to what is only to be told.
fn note_head_problem(
    inputs: &SurveyInputs<'_>,
    head: &WorktreeHead,
    references: &ReferenceTrees,
    outside: &mut OutsideFacts,
) {
    let record = &inputs.worktree.record;
    let Some(problem) = head.head_problem(record, references.base_lost) else {
        return;
    };
    let change = Change::detailed(Place::Head, Kind::Ref, problem);
    if references.is_related && is_harmlessly_elsewhere(head, outside) {
        outside.notice = Some(change);
    } else {
        outside.problems.push(change);
    }
}

/// True if it is no harm that HEAD is elsewhere: git took it to a commit, or to a branch that was
/// made here, and the recorded branch is there or was renamed.
fn is_harmlessly_elsewhere(head: &WorktreeHead, outside: &OutsideFacts) -> bool {
    if !head.moved {
        return false;
    }
    let Some(commit) = &head.head else {
        return false;
    };
    match &head.symbolic {
        Some(name) => outside.own_refs.iter().any(|own| own.name == name.as_str()),
        None => {
            let newest = head.reflog.first().map(|entry| &entry.id);
            let was_logged = newest == Some(commit) || outside.journaled_heads.contains(commit);
            head.branch.is_some() && was_logged
        }
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

/// Lists the commits that can be reached from here and are no work of others, the newest first; then
/// those that could be once.
fn new_commits(
    git: &Git,
    head: &WorktreeHead,
    trusted: &[CommitId],
    outside: &OutsideFacts,
) -> Result<Vec<CommitId>, Error> {
    let excluded: Vec<&CommitId> = trusted.iter().chain(&outside.fetched_commits).collect();
    let mut tips: Vec<&CommitId> = head.head.iter().chain(&head.branch).collect();
    tips.extend(outside.own_refs.iter().map(|own| &own.tip));
    tips.retain(|tip| !outside.is_of_others(trusted, tip));
    let mut commits = git.rev_list(&tips, &excluded)?;
    // what was abandoned comes last; a reflog can be made to forget it, the journal cannot
    let reachable: BTreeSet<CommitId> = commits.iter().cloned().collect();
    let mut former: Vec<&CommitId> = head.reflog.iter().map(|entry| &entry.id).collect();
    former.extend(&outside.journaled_heads);
    former.retain(|id| !outside.is_of_others(trusted, id) && !reachable.contains(*id));
    for abandoned in git.rev_list(&former, &excluded)? {
        if !reachable.contains(&abandoned) {
            commits.push(abandoned);
        }
    }
    Ok(commits)
}
