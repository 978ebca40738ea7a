//! Chooses which untracked files a new worktree gets, before anything is made.

use super::super::Session;
use crate::error::Error;
use crate::facts::sync::{self, FromConfig, InWorktree, Into, Selected};
use crate::facts::{Loaded, Main, Repository};
use crate::git::TraceEvent;
use crate::plan::add::AddPlan;
use crate::plan::refusal::Refusal;
use crate::plan::sync::{Force, SyncPlan};
use crate::scope::Scope;
use crate::sync::PatternOrigin;

/// Holds which files are synced, by whose saying.
pub(super) struct Files {
    pub selected: Selected,
    pub globs: Vec<String>,
    pub from_config: FromConfig,
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
        let from_config = if options.no_sync {
            FromConfig::LeftOut
        } else {
            FromConfig::Taken
        };
        let origin = PatternOrigin::Flag("--sync");
        let patterns = sync::patterns(loaded, from_config, &options.globs, &origin)?;
        let selected = sync::select(repository, loaded, from_config, patterns)?;
        session.tell_not_entered(&selected.candidates);
        if selected.is_empty() {
            session
                .trace
                .report(&TraceEvent::Step("no file is to be synced"));
        }
        Ok(Self {
            selected,
            globs: options.globs.clone(),
            from_config,
            is_bare: repository.main == Main::Bare,
        })
    }

    pub fn plan(
        &self,
        repository: &Repository,
        plan: &AddPlan,
        scope: &Scope,
        there: &InWorktree,
    ) -> Result<SyncPlan, Refusal> {
        let (name, path) = (&plan.name, plan.path.as_path());
        let into = Into { name, path, scope };
        if self.is_bare {
            return Ok(SyncPlan::default());
        }
        Ok(self.selected.plan(repository, &into, there, Force::No)?)
    }

    /// What the user should hear of a config that cannot be followed.
    pub fn note(&self) -> Option<String> {
        let has_patterns = self.selected.patterns.len() > 1;
        (self.is_bare && has_patterns).then(|| {
            "the repository is bare: there is no main worktree to sync files from".to_owned()
        })
    }
}
