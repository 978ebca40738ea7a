//! Finds what is wrong with where HEAD is.

use crate::judge::change::{Change, Kind, Place};
use crate::record::worktree::Record;
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::references::ReferenceTrees;

/// Holds what is wrong with where HEAD is.
pub enum HeadFinding {
    /// It is elsewhere, and that is no harm.
    Harmless(Change),
    /// It is on a branch that is not its own, or without the base.
    Wrong(Change),
}

/// Finds what is wrong with where HEAD is; none if it is on the recorded branch, and that has
/// the base.
pub fn find_head(inputs: &SurveyInputs<'_>, facts: &CommitFacts) -> Option<HeadFinding> {
    let record = &inputs.worktree.record;
    let references = &facts.references;
    let Some(problem) = inputs.head.head_problem(record) else {
        return lost_base(record, references).map(HeadFinding::Wrong);
    };
    let change = Change::detailed(Place::Head, Kind::Ref, problem);
    if references.is_related && is_harmlessly_elsewhere(inputs, facts) {
        return Some(HeadFinding::Harmless(change));
    }
    Some(HeadFinding::Wrong(change))
}

/// Returns the change of a branch that does not have the base any more; none if it has it. It can be
/// accepted where the branch still stands on something of upstream, as after a rebase when the base
/// was merged as another commit: all that it changes is held against that.
fn lost_base(record: &Record, references: &ReferenceTrees) -> Option<Change> {
    if !references.base_lost {
        return None;
    }
    let base = &record.base.commit;
    let problem = format!(
        "{} does not have the base {} any more",
        record.branch,
        base.short()
    );
    let change = Change::detailed(Place::Head, Kind::Ref, problem);
    if references.is_related {
        Some(change.with(Some(base.to_string())))
    } else {
        Some(change)
    }
}

/// True if it is no harm that HEAD is elsewhere: git took it to a commit, or to a branch that was
/// made here, and the recorded branch is there or was renamed.
fn is_harmlessly_elsewhere(inputs: &SurveyInputs<'_>, facts: &CommitFacts) -> bool {
    let head = &inputs.head;
    if !head.moved {
        return false;
    }
    let Some(commit) = &head.head else {
        return false;
    };
    let ref_facts = &facts.ref_facts;
    match &head.symbolic {
        Some(name) => ref_facts
            .own_refs
            .iter()
            .any(|own| own.name == name.as_str()),
        None => {
            let newest = head.reflog.first().map(|entry| &entry.id);
            let was_logged = newest == Some(commit) || ref_facts.journaled_heads.contains(commit);
            head.branch.is_some() && was_logged
        }
    }
}
