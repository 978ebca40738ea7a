//! Says whose work a commit is, by the refs that lead to it.

use crate::record::worktree::Record;
use crate::truth::head::WorktreeHead;
use crate::truth::inputs::SurveyInputs;
use crate::truth::ref_history::OwnRef;
use crate::truth::rewired::rewired_remotes;
use crate::truth::upstream::{Tips, find_tips, recorded_tips};
use crate::words::error::Error;
use crate::words::name::CommitId;

/// Holds which commits count as work of others, and what was made here.
#[derive(Default)]
pub struct RefFacts {
    /// Which commits count as work of others.
    pub tips: Tips,
    /// Where HEAD and the branch have been, as the journal says.
    pub journaled_heads: Vec<CommitId>,
    /// The branches, tags and stashes that were made here.
    pub own_refs: Vec<OwnRef>,
    /// What others brought beside the tips, sorted; only read where HEAD is elsewhere, or there are
    /// own refs.
    pub fetched_commits: Vec<CommitId>,
}

impl RefFacts {
    /// Finds them.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn find(inputs: &SurveyInputs<'_>) -> Result<Self, Error> {
        let record = &inputs.worktree.record;
        let mut facts = Self {
            tips: recorded_tips(record),
            journaled_heads: journaled_heads(inputs, record),
            ..Self::default()
        };
        let Some(refs) = &inputs.refs else {
            return Ok(facts);
        };
        facts.own_refs = refs.own_refs();
        if inputs.head.moved || !facts.own_refs.is_empty() {
            facts.fetched_commits = refs.fetched_commits();
        }
        let seals = &inputs.seals;
        let settings_before = inputs.worktree.settings_as_accepted(&seals.before.settings);
        let rewired = rewired_remotes(&settings_before, &seals.now.settings);
        let tips = find_tips(&inputs.objects, refs, &rewired);
        let read_policy = &inputs.options.read_policy;
        facts.tips = read_policy.or(tips, || recorded_tips(record))?;
        Ok(facts)
    }

    /// True if a commit is one of the trusted ones, or others brought it beside those.
    pub fn is_of_others(&self, trusted: &[CommitId], commit: &CommitId) -> bool {
        trusted.contains(commit) || self.fetched_commits.binary_search(commit).is_ok()
    }

    /// Returns where the own branch was made that HEAD is on; none if HEAD is on no such branch.
    pub fn start_of_branch_at(&self, head: &WorktreeHead) -> Option<&CommitId> {
        let name = head.symbolic.as_deref()?;
        let own = self.own_refs.iter().find(|own| own.name == name)?;
        own.start.as_ref()
    }
}

fn journaled_heads(inputs: &SurveyInputs<'_>, record: &Record) -> Vec<CommitId> {
    let mut commits = Vec::new();
    if let Some(journal) = &inputs.journal.journal {
        for name in ["HEAD", &record.branch.full_ref()] {
            commits.extend(journal.places(name.as_bytes()).cloned());
        }
    }
    commits
}
