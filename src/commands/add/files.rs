//! Chooses which untracked files a new worktree gets, before anything is made.

use super::super::Session;
use crate::error::Error;
use crate::facts::{Loaded, Main, Repository};
use crate::git::TraceEvent;
use crate::plan::add::AddPlan;
use crate::plan::refusal::Refusal;
use crate::scope::Scope;
use crate::sync::plan::{SyncFacts, WorktreeFiles, plan as plan_copies};
use crate::sync::{Candidates, PatternOrigin, Selection, SyncPlan};
use crate::worktree::selection::patterns;

/// Holds which files are synced, and why.
pub(super) struct Files {
    pub selection: Selection,
    pub globs: Vec<String>,
    /// Whether the patterns of the config do not count (`--no-sync`).
    pub without_config: bool,
    is_bare: bool,
}

impl Files {
    /// Looks for what is selected, before anything is made.
    pub fn select(
        session: &Session,
        repository: &Repository,
        loaded: &Loaded,
        options: &crate::cli::SyncOptions,
    ) -> Result<Self, Error> {
        let (without_config, globs) = (options.no_sync, options.globs.clone());
        let limits = loaded.config.file_sync.clone();
        let origin = PatternOrigin::Flag("--sync");
        let patterns = patterns(&limits, without_config, &globs, &origin)?;
        let include = limits.enabled && !without_config;
        let is_bare = repository.main == Main::Bare;
        let candidates = if is_bare {
            Candidates::default()
        } else {
            let main = repository.main_worktree();
            main.candidates(&patterns, include)?
        };
        session.tell_not_entered(&candidates);
        if candidates.entries.is_empty() && patterns.len() <= 1 {
            session
                .trace
                .report(&TraceEvent::Step("no file is to be synced"));
        }
        let selection = Selection {
            patterns,
            limits,
            candidates,
        };
        Ok(Self {
            selection,
            globs,
            without_config,
            is_bare,
        })
    }

    pub fn plan(
        &self,
        repository: &Repository,
        plan: &AddPlan,
        scope: &Scope,
        there: &WorktreeFiles,
    ) -> Result<SyncPlan, Refusal> {
        if self.is_bare {
            return Ok(SyncPlan::default());
        }
        let facts = SyncFacts {
            name: plan.name.as_str(),
            path: &plan.path,
            scope,
            there,
            root: &repository.root,
            selection: &self.selection,
            force: false,
        };
        Ok(plan_copies(&facts)?)
    }

    /// What the user should hear of a config that cannot be followed.
    pub fn note(&self) -> Option<String> {
        let has_patterns = self.selection.patterns.len() > 1;
        (self.is_bare && has_patterns).then(|| {
            "the repository is bare: there is no main worktree to sync files from".to_owned()
        })
    }
}
